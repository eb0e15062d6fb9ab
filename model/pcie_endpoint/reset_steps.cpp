#include "pcie_endpoint/reset_steps.h"

#include <algorithm>
#include <vector>

#include "common/error.h"

namespace carillon {

namespace {

/// The first object of the function in a table.
template <class Record>
std::optional<std::uint32_t> first_of(const number_table<Record>& table, std::uint16_t function) {
  const auto found = std::find_if(table.begin(), table.end(), [function](const auto& each) {
    return each.second.function == function;
  });
  return found == table.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace

void teardown_step::execute(command_core& core) const {
  std::vector<std::uint8_t> window(command_core::WindowBytes);
  const command_result result =
      core.execute(function, input, std::span(window).first<command_core::WindowBytes>());
  CARILLON_CHECK(result.status == command_status::Ok,
                 "the reset of function {} cannot do {}: {} ({})", function,
                 to_string(cmd_in::unpack(input.data()).opcode), to_string(result.status),
                 to_string(result.syndrome));
}

std::optional<teardown_step> next_teardown(const command_tables& tables, std::uint16_t function) {
  const auto step = [function](command_opcode opcode, std::uint32_t number) {
    cmd_in head;
    head.opcode = opcode;
    head.number = number;
    teardown_step result;
    result.function = function;
    head.pack(result.input.data());
    return result;
  };
  const function_record& mine = tables.functions[function];
  if (const auto qpn = first_of(tables.qps, function)) {
    return step(command_opcode::DestroyQp, *qpn);
  }
  if (const auto srqn = first_of(tables.srqs, function)) {
    return step(command_opcode::DestroySrq, *srqn);
  }
  if (const auto cqn = first_of(tables.cqs, function)) {
    return step(command_opcode::DestroyCq, *cqn);
  }
  if (const auto eqn = first_of(tables.eqs, function)) {
    return step(command_opcode::DestroyEq, *eqn);
  }
  if (const auto key = first_of(tables.mkeys, function)) {
    return step(command_opcode::DestroyMkey, *key);
  }
  if (const auto pd = first_of(tables.pds, function)) {
    return step(command_opcode::DeallocPd, *pd);
  }
  if (!mine.uar_pages.empty()) {
    return step(command_opcode::DeallocUar, *mine.uar_pages.begin());
  }
  if (mine.state == function_state::initialised) {
    return step(command_opcode::TeardownHca, 0);
  }
  if (mine.state == function_state::enabled) {
    return step(command_opcode::DisableHca, function);
  }
  return std::nullopt;
}

}  // namespace carillon
