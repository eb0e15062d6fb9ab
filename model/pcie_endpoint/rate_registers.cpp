// What the RP_* registers hold. A function selects a QP by RP_QPN, one of its own unless it is the
// PF, and sees the values of that QP. Rates are privileged.
#include "pcie_endpoint.h"

namespace carillon {

namespace {

rate_op written(rp_register which) {
  switch (which) {
    case rp_register::rate:
      return rate_op::Slope;
    case rp_register::target:
      return rate_op::Target;
    case rp_register::current:
      return rate_op::Current;
    case rp_register::timer:
    case rp_register::qpn:
      break;
  }
  return rate_op::Timer;
}

const qp_record* selected(const command_tables& tables, std::uint16_t function, std::uint32_t qpn) {
  const auto found = tables.qps.find(qpn);
  const bool reached =
      found != tables.qps.end() && (function == 0 || found->second.function == function);
  return reached ? &found->second : nullptr;
}

}  // namespace

std::uint32_t command_core::rp_read(std::uint16_t function, rp_register which) const {
  const std::uint32_t qpn = tables_.functions[function].rate_qpn;
  const qp_record* qp = selected(tables_, function, qpn);
  if (qp == nullptr) {
    return 0;
  }
  switch (which) {
    case rp_register::rate:
      return qp->rate.rate;
    case rp_register::target:
      return qp->rate.target;
    case rp_register::current:
      return qp->rate.current != 0 ? qp->rate.current : limits_.line_rate;
    case rp_register::timer:
      return qp->rate.timer;
    case rp_register::qpn:
      break;
  }
  return qpn;
}

void command_core::observe_rate(std::uint32_t qpn, std::uint32_t current, std::uint32_t target) {
  const auto found = tables_.qps.find(qpn);
  if (found != tables_.qps.end()) {
    found->second.rate.current = current;
    found->second.rate.target = target;
  }
}

bool command_core::rp_write(std::uint16_t function, rp_register which, std::uint32_t value) {
  function_record& record = tables_.functions[function];
  const bool selects = which == rp_register::qpn;
  const std::uint32_t qpn = selects ? value : record.rate_qpn;
  if (selected(tables_, function, qpn) == nullptr) {
    return false;
  }
  if (selects) {
    record.rate_qpn = value;
    return true;
  }
  if (function != 0 && !record.port.trust) {
    return false;
  }
  rate_values& rate = tables_.qps.at(qpn).rate;
  switch (which) {
    case rp_register::rate:
      rate.rate = value;
      break;
    case rp_register::target:
      rate.target = value;
      break;
    case rp_register::current:
      rate.current = value;
      break;
    case rp_register::timer:
    case rp_register::qpn:
      rate.timer = static_cast<std::uint16_t>(value);
      break;
  }
  return true;
}

// What rate control is told ----

bool pcie_endpoint::write_rate(std::uint16_t function, rp_register which, std::uint32_t value) {
  if (!core_.rp_write(function, which, value)) {
    return false;
  }
  if (which != rp_register::qpn && ports_.rates != nullptr) {
    rate_command command;
    command.kind = rate_command_kind::write;
    command.qpn = core_.rp_selected(function);
    command.op = written(which);
    command.value = value;
    rates_.push(command);
  }
  return true;
}

/// A QP that is reset begins anew.
void pcie_endpoint::forget_rate(const qp_command& command) {
  if (ports_.rates != nullptr && static_cast<qp_state>(command.state) == qp_state::Reset) {
    rate_command forget;
    forget.qpn = command.qpn;
    rates_.push(forget);
  }
}

void pcie_endpoint::set_congestion() {
  const command_effects& effects = core_.effects();
  if (ports_.rates == nullptr) {
    return;
  }
  rate_command command;
  command.rp = core_.tables().reaction;
  command.np = core_.tables().notification;
  if (effects.reaction) {
    command.kind = rate_command_kind::reaction;
    rates_.push(command);
  }
  if (effects.notification) {
    command.kind = rate_command_kind::notification;
    rates_.push(command);
  }
}

/// One a cycle.
void pcie_endpoint::tell_rates(cycle_t t) {
  if (rates_.empty()) {
    return;
  }
  if (!ports_.rates->has_credit(t)) {
    ports_.rates->ask_credit(t);
    return;
  }
  ports_.rates->push(t, 1, rates_.pop());
  if (!rates_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
