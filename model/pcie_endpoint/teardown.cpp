// The end of a function: its objects go one after the other, as if it destroyed them itself, those
// that refer to others first.
#include <algorithm>

#include "common/error.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

template <class Record>
std::optional<std::uint32_t> first_of(const number_table<Record>& table, std::uint16_t function) {
  const auto found = std::find_if(table.begin(), table.end(), [function](const auto& each) {
    return each.second.function == function;
  });
  return found != table.end() ? std::optional<std::uint32_t>(found->first) : std::nullopt;
}

}  // namespace

bool command_core::teardown_step(std::uint16_t function) {
  clear_effects();
  function_record& record = tables_.functions[function];
  const bool pf_reset = function == 0 && record.after_teardown == function_state::reset;
  const auto stop = [this](function_record& each, function_state state) {
    effects_.vports = effects_.vports || each.state == function_state::initialised;
    each.state = state;
  };
  bool something = false;
  if (pf_reset) {
    for (function_record& each : tables_.functions) {
      stop(each, function_state::reset);
    }
    // From the last one on, so that the PF goes when nobody needs it.
    for (std::size_t i = tables_.functions.size(); i-- > 0 && !something;) {
      something = destroy_one(static_cast<std::uint16_t>(i));
    }
    something = something || release_all();
  } else {
    stop(record, record.after_teardown);
    something = destroy_one(function) || release(function);
  }
  if (!something && !effects_.vports) {
    tables_.functions[function].after_teardown = function_state::reset;
    return false;
  }
  effects_.teardown = function;
  return true;
}

void command_core::stop(std::uint16_t function) {
  tables_.functions[function].state = function_state::reset;
}

bool command_core::destroy_one(std::uint16_t function) {
  caller_ = function;
  if (const auto qpn = first_of(tables_.qps, function)) {
    destroy_qp(*qpn);
  } else if (const auto srqn = first_of(tables_.srqs, function)) {
    destroy_srq(*srqn);
  } else if (const auto cqn = first_of(tables_.cqs, function)) {
    destroy_cq(*cqn);
  } else if (const auto key = first_of(tables_.mkeys, function)) {
    destroy_mkey(*key);
  } else if (const auto eqn = first_of(tables_.eqs, function)) {
    destroy_eq(*eqn);
  } else {
    return false;
  }
  return true;
}

/// What has no lines: PDs, UAR pages, GID entries, and what the function has decided itself. True
/// if there was something.
bool command_core::release(std::uint16_t function) {
  const std::size_t pds = std::erase_if(tables_.pds, [this, function](const auto& each) {
    if (each.second.function != function) {
      return false;
    }
    tables_.pd_numbers.give_back(each.first);
    return true;
  });
  const function_record fresh = fresh_function(function);
  function_record& record = tables_.functions[function];
  const function_record before = record;
  record.uars = fresh.uars;
  record.uar_pages.clear();
  record.gids = fresh.gids;
  record.rate_qpn = 0;
  record.port.own_up = fresh.port.own_up;
  record.port.context = fresh.port.context;
  give_address(record.port, record.port.admin_mac);
  if (record.taken_away) {
    forget(function);
  }
  effects_.vports = effects_.vports || before.gids != record.gids || before.port != record.port;
  return pds != 0 || before != record;
}

/// What the PF has decided about a VF that has nothing any more.
void command_core::forget(std::uint16_t vf) {
  function_record& record = tables_.functions[vf];
  record.admitted = false;
  effects_.partitions = record.partition != by_table<context_range>{};
  const failure refused = divide(vf, {});
  CARILLON_CHECK(!refused, "pcie_endpoint: VF {} has objects, and is taken away", vf);
  record = fresh_function(vf);
}

/// The same of all functions, and what the PF has decided about them.
bool command_core::release_all() {
  const bool pds = !tables_.pds.empty();
  for (const auto& each : tables_.pds) {
    tables_.pd_numbers.give_back(each.first);
  }
  tables_.pds.clear();
  std::vector<function_record> fresh = fresh_functions();
  const bool others =
      fresh != tables_.functions || tables_.arbitration != function_arbitration::RoundRobin;
  tables_.functions = std::move(fresh);
  tables_.arbitration = function_arbitration::RoundRobin;
  effects_.vports = effects_.vports || others;
  effects_.partitions = others;
  const bool congestion = reset_congestion();
  return pds || others || congestion;
}

}  // namespace carillon
