#include "dcqcn/dcqcn.h"

#include <algorithm>

#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::dcqcn;

/// From leaving the slot to being visible, and until the QP can be read again.
constexpr cycle_t Steps = spec::Latency - 1;

}  // namespace

// The rules
// -------------------------------------------------------------------------------------------

dcqcn_rules::dcqcn_rules(nic_shared& /*nic*/, trace_site /*site*/, const dcqcn_ports& io, bool rtl)
    : io_(io), rtl_(rtl) {
  static_assert(std::tuple_size_v<decltype(recent_)> == Steps - 1);
  if (io.rates.depth() != spec::Depth) {
    throw config_error(fmt::format("{}: depth {}, but dcqcn is built for {}", io.rates.name(),
                                   io.rates.depth(), spec::Depth));
  }
  io_.slices.tap(this);
}

std::vector<twin_rules::wait_list> dcqcn_rules::waits() {
  return {{&io_.slices,
           {blocker::condition("slot", [this](cycle_t t) { return held(t); }),
            blocker::credit(io_.rates)}}};
}

void dcqcn_rules::on_take(cycle_t t, const rate_slice_item& slice) {
  const bool setup = slice.op == rate_op::Setup;
  issued_ = t + 1;
  for (const issue& before : recent_) {
    if (before.at != 0 && (setup || before.setup || before.slot == slice.slot)) {
      issued_ = std::max(issued_, before.at + Steps);
    }
  }
  recent_[next_] = {issued_, slice.slot, setup};
  next_ = (next_ + 1) % recent_.size();
  if (rtl_) {
    io_.rates.reserve(t, 1);
  }
}

twin_rules::departure dcqcn_rules::departs(unsigned /*port*/, cycle_t visible) {
  return {{}, visible - spec::Latency};
}

// The stage
// -------------------------------------------------------------------------------------------

dcqcn::dcqcn(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row),
      ports_(connected),
      rules_(nic, site(), connected, false),
      engine_(spec::Contexts) {
  ports_.slices.to(*this, site());
  ports_.rates.from(*this, site());
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void dcqcn::evaluate(cycle_t t) {
  if (!ports_.slices.takeable(t)) {
    return;
  }
  if (rules_.held(t)) {
    wake(rules_.issued());
    return;
  }
  if (!ports_.rates.has_credit(t)) {
    ports_.rates.ask_credit(t);
    return;
  }
  const rate_slice_item slice = ports_.slices.take(t);
  const auto latency = static_cast<unsigned>(rules_.issued() + Steps - t);
  ports_.rates.push(t, latency, engine_.serve(slice));
}

}  // namespace carillon
