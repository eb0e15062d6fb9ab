#include "rate_control/rate_control.h"

#include "common/congestion.h"
#include "gen/stages.h"
#include "rate_control/rate_parameters.h"

namespace carillon {

namespace {

namespace spec = stage_spec::rate_control;

constexpr ps_t PsPerNs = 1000;
constexpr ps_t PsPerUs = 1'000'000;

cnp_scope scope_of(dcqcn_cnp_scope scope) {
  switch (scope) {
    case dcqcn_cnp_scope::Qp:
      return cnp_scope::Qp;
    case dcqcn_cnp_scope::Destination:
      return cnp_scope::Destination;
    case dcqcn_cnp_scope::Port:
      break;
  }
  return cnp_scope::Port;
}

}  // namespace

rate_control::rate_control(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io)
    : stage(name, nic.context, "rate_control"),
      nic_(nic),
      io_(io),
      limiter_(cnp_scope::Port, 0, 1),
      contexts_(stage_spec::dcqcn::Contexts),
      slots_(std::size_t{1} << nic.context.params.nic.log_max_qp, NoSlot),
      due_(contexts_.size()) {
  // What comes is always taken.
  io_.commands.to(*this, site());
  io_.requests.to(*this, site());
  io_.responses.to(*this, site());
  io_.charges.to(*this, site());
  io_.rates.to(*this, site());
  watch(io_.commands, {});
  watch(io_.requests, {});
  watch(io_.responses, {});
  watch(io_.charges, {});
  watch(io_.rates, {});
  io_.slices.from(*this, site());
  io_.limits.from(*this, site());
  io_.values.from(*this, site());
  for (std::uint16_t slot = 0; slot < contexts_.size(); ++slot) {
    free_.push(slot);
  }
  set_notification(notification_parameters(nic.context.params));
  set_up(chosen_settings(nic.context.params));
  wake(1);
}

void rate_control::evaluate(cycle_t t) {
  if (io_.rates.takeable(t)) {
    take_rate(t, io_.rates.take(t));
  }
  if (io_.commands.takeable(t)) {
    take_command(t, io_.commands.take(t));
  }
  if (io_.requests.takeable(t)) {
    take_note(t, io_.requests.take(t));
  }
  if (io_.responses.takeable(t)) {
    take_note(t, io_.responses.take(t));
  }
  if (io_.charges.takeable(t)) {
    take_charge(t, io_.charges.take(t));
  }
  std::uint32_t slot = 0;
  while (due_.take_due(t, slot)) {
    contexts_[slot].time_asked = true;
    add(static_cast<std::uint16_t>(slot), {rate_op::Time, 0, ns_of(t)});
  }
  send(t);
}

// Parameters ----

void rate_control::set_up(const dcqcn_settings& settings) {
  setup_.clear();
  for (unsigned i = 0; i <= static_cast<unsigned>(rate_setting::ByteReset); ++i) {
    rate_slice_item slice;
    slice.slot = static_cast<std::uint16_t>(i);
    slice.op = rate_op::Setup;
    slice.value = setting_of(settings, static_cast<rate_setting>(i));
    setup_.push(slice);
  }
}

void rate_control::set_notification(const roce_ecn_np& np) {
  np_ = np;
  limiter_ = cnp_limiter(scope_of(context_.params.dcqcn.cnp_scope),
                         np.min_time_between_cnps * PsPerUs, spec::Flows);
}

void rate_control::take_command(cycle_t t, const rate_command& item) {
  switch (item.kind) {
    case rate_command_kind::forget:
      forget(item.qpn);
      break;
    case rate_command_kind::write:
      if (const std::uint16_t slot = context_of(t, item.qpn); slot != NoSlot) {
        contexts_[slot].pinned = true;
        add(slot, {item.op, item.value, ns_of(t)});
      }
      break;
    case rate_command_kind::reaction:
      set_up(chosen_settings(context_.params, item.rp));
      break;
    case rate_command_kind::notification:
      set_notification(item.np);
      break;
  }
}

// What happens ----

void rate_control::take_note(cycle_t t, const congestion_note& item) {
  if (item.kind == note_kind::marked) {
    if (limiter_.marked({item.qpn, item.address_high, item.address_low}, time_of(t))) {
      rate_limit cnp;
      cnp.kind = limit_kind::cnp;
      cnp.function = item.function;
      cnp.qpn = item.qpn;
      cnp.dscp = np_.cnp_dscp;
      cnp.priority = np_.cnp_802p_prio;
      limits_.push(cnp);
    }
    return;
  }
  const std::uint16_t slot = context_of(t, item.qpn);
  nic_.counters.add_for(item.function,
                        slot == NoSlot ? counter::RpCnpIgnored : counter::RpCnpHandled);
  if (slot != NoSlot) {
    add(slot, {rate_op::Cnp, 0, ns_of(t)});
  }
}

/// Packets that wait together count as one.
void rate_control::take_charge(cycle_t t, const rate_charge& item) {
  rate_context& context = contexts_[item.slot];
  if (!context.used || context.qpn != item.qpn) {
    return;  // it was sent before the QP was reset
  }
  ring<event>& events = context.events;
  if (events.size() > (context.busy ? 1U : 0U) && events.back().op == rate_op::Sent) {
    events.back().value += item.bytes;
    events.back().now = ns_of(t);
    return;
  }
  add(item.slot, {rate_op::Sent, item.bytes, ns_of(t)});
}

void rate_control::add(std::uint16_t slot, const event& happened) {
  rate_context& context = contexts_[slot];
  context.events.push(happened);
  if (!context.busy && context.events.size() == 1) {
    ready_.push(slot);
  }
}

// What becomes of it ----

void rate_control::take_rate(cycle_t t, const rate_update_item& item) {
  if (item.op == rate_op::Setup) {
    return;
  }
  rate_context& context = contexts_[item.slot];
  context.busy = false;
  if (context.forgotten) {
    context.forgotten = false;
    give_back(item.slot);
    return;
  }
  if (!item.again) {
    if (context.events.pop().op == rate_op::Time) {
      context.time_asked = false;
    }
  }
  if (!context.events.empty()) {
    ready_.push(item.slot);
  }
  const bool was_limited = context.limited;
  context.limited = item.limited || item.pending;
  if (!context.limited && (was_limited || item.op == rate_op::Cnp)) {
    context.released = ++releases_;
  }
  if (item.due == NeverRate) {
    due_.clear(item.slot);
  } else if (!context.time_asked && !item.again) {
    due_.set(item.slot, std::max(t + 1, cycle_of(item.due)));
  }
  limit(item.slot, item.limited ? item.current : 0);
  context.alpha = item.alpha;
  if (context.current != item.current || context.target != item.target) {
    context.current = item.current;
    context.target = item.target;
    values_.push({{}, context.qpn, item.current, item.target});
  }
}

void rate_control::limit(std::uint16_t slot, std::uint32_t rate) {
  rate_context& context = contexts_[slot];
  if (context.told == rate) {
    return;
  }
  context.told = rate;
  rate_limit told;
  told.qpn = context.qpn;
  told.slot = slot;
  told.rate = rate;
  limits_.push(told);
}

// Contexts ----

/// That of the QP; one that begins if it has none; NoSlot if there is none for it.
std::uint16_t rate_control::context_of(cycle_t t, std::uint32_t qpn) {
  if (slots_[qpn] != NoSlot) {
    return slots_[qpn];
  }
  const std::uint16_t slot = free_context();
  if (slot == NoSlot) {
    nic_.counters.add(counter::RpContextsExhausted);
    return NoSlot;
  }
  slots_[qpn] = slot;
  rate_context& context = contexts_[slot];
  context.qpn = qpn;
  context.used = true;
  ++used_;
  add(slot, {rate_op::Start, 0, ns_of(t)});
  return slot;
}

std::uint16_t rate_control::free_context() {
  if (free_.empty()) {
    std::uint16_t oldest = NoSlot;
    for (std::uint16_t slot = 0; slot < contexts_.size(); ++slot) {
      if (contexts_[slot].idle() &&
          (oldest == NoSlot || contexts_[slot].released < contexts_[oldest].released)) {
        oldest = slot;
      }
    }
    if (oldest == NoSlot) {
      return NoSlot;
    }
    give_back(oldest);
  }
  return free_.pop();
}

/// The QP was reset: nobody has a limit any more.
void rate_control::forget(std::uint32_t qpn) {
  const std::uint16_t slot = slots_[qpn];
  if (slot == NoSlot) {
    return;
  }
  rate_context& context = contexts_[slot];
  slots_[qpn] = NoSlot;
  due_.clear(slot);
  limit(slot, 0);
  values_.push({{}, qpn, 0, 0});  // one may be on its way
  context.used = false;
  --used_;
  const bool listed = !context.busy && !context.events.empty();
  context.events.clear();
  if (context.busy || listed) {
    context.forgotten = true;
  } else {
    give_back(slot);
  }
}

void rate_control::give_back(std::uint16_t slot) {
  rate_context& context = contexts_[slot];
  if (context.used) {
    slots_[context.qpn] = NoSlot;
    --used_;
  }
  due_.clear(slot);
  context = rate_context{};
  free_.push(slot);
}

void rate_control::list(std::vector<qp_rate>& into) const {
  std::size_t left = used_;
  for (auto each = contexts_.begin(); left != 0; ++each) {
    left -= each->used ? 1 : 0;
    if (each->used && each->current != 0) {
      into.push_back({each->qpn, each->current, each->target, each->alpha});
    }
  }
}

// What leaves ----

void rate_control::send(cycle_t t) {
  if (!setup_.empty() || !ready_.empty()) {
    if (!io_.slices.has_credit(t)) {
      io_.slices.ask_credit(t);
    } else if (!setup_.empty()) {
      io_.slices.push(t, spec::Latency, setup_.pop());
    } else {
      const std::uint16_t slot = ready_.pop();
      rate_context& context = contexts_[slot];
      if (context.forgotten) {
        context.forgotten = false;
        give_back(slot);
      } else {
        const event& first = context.events.front();
        context.busy = true;
        io_.slices.push(t, spec::Latency, {{}, slot, first.op, first.value, first.now});
      }
    }
  }
  if (!limits_.empty()) {
    if (!io_.limits.has_credit(t)) {
      io_.limits.ask_credit(t);
    } else {
      io_.limits.push(t, spec::Latency, limits_.pop());
    }
  }
  if (!values_.empty()) {
    if (!io_.values.has_credit(t)) {
      io_.values.ask_credit(t);
    } else {
      io_.values.push(t, spec::Latency, values_.pop());
    }
  }
  const bool slices = (!setup_.empty() || !ready_.empty()) && io_.slices.has_credit(t);
  const bool limits = !limits_.empty() && io_.limits.has_credit(t);
  const bool values = !values_.empty() && io_.values.has_credit(t);
  if (slices || limits || values) {
    wake(t + 1);
  }
  if (due_.look() != NeverCycle) {
    wake(std::max(t + 1, due_.look()));
  }
}

std::uint64_t rate_control::ns_of(cycle_t t) const {
  return time_of(t) / PsPerNs;
}

/// The first one in which that time has come.
cycle_t rate_control::cycle_of(std::uint64_t ns) const {
  const ps_t period = context_.clock.period();
  return (ns * PsPerNs + period - 1) / period;
}

}  // namespace carillon
