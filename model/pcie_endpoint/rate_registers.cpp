// What the RP_* registers hold. A function selects a QP by RP_QPN, one of its own unless it is the
// PF, and sees the values of that QP. Rates are privileged.
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

const qp_record* selected(const command_tables& tables, std::uint16_t function,
                          std::uint32_t qpn) {
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
      return qp->rate.current;
    case rp_register::timer:
      return qp->rate.timer;
    case rp_register::qpn:
      break;
  }
  return qpn;
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

}  // namespace carillon
