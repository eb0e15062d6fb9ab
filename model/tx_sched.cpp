#include "tx_sched.h"

#include <string_view>
#include <utility>

#include "common/error.h"
#include "gen/stages.h"

namespace carillon {

tx_sched::tx_sched(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io)
    : stage(name, nic.context, Row), io_(io), rules_(nic, site(), io) {
  io_.work.to(*this, site());
  io_.acknowledges.to(*this, site());
  io_.left.to(*this, site());
  io_.commands.to(*this, site());
  io_.controls.to(*this, site());
  io_.payload.from(*this, site());
  io_.direct.from(*this, site());
  io_.sent.from(*this, site());
  io_.refetches.from(*this, site());
  io_.invalidations.from(*this, site());
  io_.failures.from(*this, site());
  io_.answered.from(*this, site());
  if (io_.limits != nullptr) {
    io_.limits->to(*this, site());
    io_.charges->from(*this, site());
  }
  io_.vports.wakes(*this);
  for (level<std::uint8_t>* each : {io_.paused, io_.crowded}) {
    if (each != nullptr) {
      each->wakes(*this);
    }
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void tx_sched::check_twin(const nic_shared& nic) {
  const auto& asked = nic.context.params.nic;
  const parameters built_for;
  const auto bound = [](std::string_view what, std::int64_t value, std::int64_t most) {
    if (value > most) {
      throw config_error(
          fmt::format("nic.{} {}: the RTL of tx_sched has room for {}; choose tx_sched=model", what,
                      value, most));
    }
  };
  bound("log_max_qp", asked.log_max_qp, built_for.nic.log_max_qp);
  bound("total_vfs", asked.total_vfs, std::int64_t{stage_spec::tx_sched::Functions} - 1);
}

void tx_sched::evaluate(cycle_t t) {
  take_inputs(t);
  rules_.settle(t);
  send();
  if (rules_.next() != NeverCycle) {
    wake(rules_.next());
  }
}

void tx_sched::take_inputs(cycle_t t) {
  if (io_.commands.takeable(t)) {
    io_.commands.take(t);
  }
  if (io_.controls.takeable(t)) {
    if (io_.refetches.has_credit(t)) {
      io_.controls.take(t);
    } else {
      io_.refetches.ask_credit(t);
    }
  }
  if (io_.left.takeable(t)) {
    io_.left.take(t);
  }
  if (io_.work.takeable(t) && !rules_.slots_full(t)) {
    io_.work.take(t);
  }
  if (io_.acknowledges.takeable(t) && !rules_.responses_full(t)) {
    io_.acknowledges.take(t);
  }
  if (io_.limits != nullptr && io_.limits->takeable(t) && !rules_.cnps_full(t)) {
    io_.limits->take(t);
  }
}

void tx_sched::send() {
  const auto push_all = [](auto& leaving, auto& port) {
    while (!leaving.empty()) {
      auto [item, pushed, visible] = leaving.pop();
      port.push_reserved(pushed, static_cast<unsigned>(visible - pushed), std::move(item));
    }
  };
  push_all(rules_.payload, io_.payload);
  push_all(rules_.direct, io_.direct);
  push_all(rules_.sent, io_.sent);
  push_all(rules_.refetches, io_.refetches);
  push_all(rules_.invalidations, io_.invalidations);
  push_all(rules_.failures, io_.failures);
  push_all(rules_.answered, io_.answered);
  if (io_.charges != nullptr) {
    push_all(rules_.charges, *io_.charges);
  }
}

}  // namespace carillon
