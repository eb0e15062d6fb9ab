#include "pcie_endpoint/reset_objects.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
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

/// A command that nobody has given; our own error if it is refused.
bool execute(command_core& core, std::uint16_t function, command_opcode opcode,
             std::uint32_t number) {
  cmd_in head;
  head.opcode = opcode;
  head.number = number;
  std::array<std::uint8_t, cmd_in::Size> input{};
  head.pack(input.data());
  std::vector<std::uint8_t> window(command_core::WindowBytes);
  const command_result result =
      core.execute(function, input, std::span(window).first<command_core::WindowBytes>());
  CARILLON_CHECK(result.status == command_status::Ok,
                 "the reset of function {} cannot do {}: {} ({})", function, to_string(opcode),
                 to_string(result.status), to_string(result.syndrome));
  return true;
}

}  // namespace

bool reset_one_object(command_core& core, std::uint16_t function) {
  const command_tables& tables = core.tables();
  const function_record& mine = tables.functions[function];
  if (const auto qpn = first_of(tables.qps, function)) {
    return execute(core, function, command_opcode::DestroyQp, *qpn);
  }
  if (const auto srqn = first_of(tables.srqs, function)) {
    return execute(core, function, command_opcode::DestroySrq, *srqn);
  }
  if (const auto cqn = first_of(tables.cqs, function)) {
    return execute(core, function, command_opcode::DestroyCq, *cqn);
  }
  if (const auto eqn = first_of(tables.eqs, function)) {
    return execute(core, function, command_opcode::DestroyEq, *eqn);
  }
  if (const auto key = first_of(tables.mkeys, function)) {
    return execute(core, function, command_opcode::DestroyMkey, *key);
  }
  if (const auto pd = first_of(tables.pds, function)) {
    return execute(core, function, command_opcode::DeallocPd, *pd);
  }
  if (!mine.uar_pages.empty()) {
    return execute(core, function, command_opcode::DeallocUar, *mine.uar_pages.begin());
  }
  if (mine.state == function_state::initialised) {
    return execute(core, function, command_opcode::TeardownHca, 0);
  }
  if (mine.state == function_state::enabled) {
    return execute(core, function, command_opcode::DisableHca, function);
  }
  return false;
}

}  // namespace carillon
