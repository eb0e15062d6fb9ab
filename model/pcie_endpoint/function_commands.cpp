// The commands about functions: who may work, what each has of the context RAM, and what the PF
// decides about it.
//
// A VF works when the PF has enabled it (ENABLE_HCA of the VF), which needs a partition, and it has
// initialised itself. Its partition is taken out of the PF's numbers, so the PF's pools say at once
// what is beyond the chip, another VF's, or in use.
#include <algorithm>
#include <bit>

#include "gen/wqe.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr unsigned LogMaxMessage = 31;
constexpr unsigned LogMttLineEntries = 3;
constexpr std::uint32_t FirstUar = 1;  // page 0 belongs to the device
constexpr std::uint32_t KilobitsAMegabit = 1000;
constexpr std::uint16_t MaxVlan = 4094;

constexpr std::array AllTables = {table_kind::qps,  table_kind::cqs,   table_kind::eqs,
                                  table_kind::srqs, table_kind::mkeys, table_kind::mtt_lines};

/// QPs 0 and 1 are the special ones of management; other numbers begin at 1, as 0 says "none".
/// Translation lines have no such number.
constexpr std::uint32_t first_number(table_kind kind) {
  switch (kind) {
    case table_kind::qps:
      return 2;
    case table_kind::mtt_lines:
      return 0;
    default:
      return 1;
  }
}

constexpr std::uint64_t lines_of(table_kind kind) {
  return kind == table_kind::qps ? 4 : 1;
}

/// Rounded down; 0 for none.
std::uint8_t log2_of(std::uint32_t count) {
  return static_cast<std::uint8_t>(count == 0 ? 0 : std::bit_width(count) - 1);
}

by_table<context_range> partition_of(const function_context& context) {
  by_table<context_range> part;
  part[table_kind::qps] = context.qps;
  part[table_kind::cqs] = context.cqs;
  part[table_kind::eqs] = context.eqs;
  part[table_kind::srqs] = context.srqs;
  part[table_kind::mkeys] = context.mkeys;
  part[table_kind::mtt_lines] = context.mtt_lines;
  return part;
}

bool is_vlan(std::uint16_t vlan) {
  return vlan != 0 && vlan <= MaxVlan;
}

}  // namespace

// What functions begin with

std::uint32_t command_core::table_end(table_kind kind) const {
  switch (kind) {
    case table_kind::qps:
      return 1U << limits_.log_max_qp;
    case table_kind::cqs:
      return 1U << limits_.log_max_cq;
    case table_kind::eqs:
      return 1U << limits_.log_max_eq;
    case table_kind::srqs:
      return 1U << limits_.log_max_srq;
    case table_kind::mkeys:
      return 1U << limits_.log_max_mkey;
    case table_kind::mtt_lines:
      break;
  }
  return 1U << limits_.log_max_mtt_lines;
}

function_record command_core::fresh_function(std::uint16_t function) const {
  const bool pf = function == 0;
  function_record fresh;
  fresh.admitted = pf;
  if (pf) {
    for (const table_kind kind : AllTables) {
      fresh.partition[kind] = {0, table_end(kind)};
      fresh.numbers[kind] = {first_number(kind), table_end(kind)};
    }
  }
  fresh.uars = {FirstUar, limits_.uar_pages};
  fresh.gids.resize(limits_.num_gids);
  fresh.pkeys = limits_.pkeys;
  port_record& port = fresh.port;
  port.qos = limits_.priority;
  port.spoof_check = !pf;
  port.trust = pf;
  port.admin_mac = limits_.mac + function;
  port.context.roce_en = 1;
  port.context.mtu = limits_.port_mtu;
  give_address(port, port.admin_mac);
  return fresh;
}

std::vector<function_record> command_core::fresh_functions() const {
  std::vector<function_record> all;
  all.reserve(limits_.functions);
  for (std::uint16_t i = 0; i < limits_.functions; ++i) {
    all.push_back(fresh_function(i));
  }
  return all;
}

// What functions have

hca_cap command_core::capabilities(std::uint16_t function) const {
  const function_record& record = tables_.functions[function];
  const auto count = [&record](table_kind kind) { return record.partition[kind].count; };
  const bool pf = function == 0;
  hca_cap cap;
  cap.num_qps = count(table_kind::qps);
  cap.num_cqs = count(table_kind::cqs);
  cap.num_eqs = count(table_kind::eqs);
  cap.num_srqs = count(table_kind::srqs);
  cap.num_mkeys = count(table_kind::mkeys);
  cap.num_mtt_lines = count(table_kind::mtt_lines);
  cap.log_max_qp = log2_of(cap.num_qps);
  cap.log_max_cq = log2_of(cap.num_cqs);
  cap.log_max_eq = log2_of(cap.num_eqs);
  cap.log_max_srq = log2_of(cap.num_srqs);
  cap.log_max_mkey = log2_of(cap.num_mkeys);
  cap.log_max_mtt = log2_of(cap.num_mtt_lines << LogMttLineEntries);
  cap.log_max_qp_size = limits_.log_max_qp_size;
  cap.log_max_cq_size = limits_.log_max_cq_size;
  cap.log_max_eq_size = limits_.log_max_eq_size;
  cap.log_max_srq_size = limits_.log_max_srq_size;
  cap.log_max_msg = LogMaxMessage;
  cap.log_max_ra_req_qp = limits_.log_max_rd_atomic;
  cap.log_max_ra_res_qp = limits_.log_max_rd_atomic;
  cap.max_wqe_sz_sq = 16 * WqebbBytes;
  cap.num_uar_pages = limits_.uar_pages;
  cap.log_bf_reg_size = 9;  // two halves of MaxBlueFlameBytes
  cap.num_gids = limits_.num_gids;
  cap.num_pkeys = static_cast<std::uint8_t>(limits_.pkeys.size());
  cap.num_vfs = pf ? vfs_ : 0;
  cap.max_vfs = pf ? limits_.max_vfs : 0;
  cap.function_id = function;
  cap.num_msix = limits_.msix_vectors;
  cap.roce = 1;
  cap.roce_v2 = 1;
  cap.atomic = 1;
  cap.vport_group_manager = pf ? 1 : 0;
  cap.trust = record.port.trust ? 1 : 0;
  cap.qos = record.port.qos;
  cap.max_mtu = mtu_code::Mtu4096;
  cap.clock_mhz = limits_.clock_mhz;
  cap.link_gbps = limits_.link_gbps;
  return cap;
}

partition_table command_core::partitions() const {
  constexpr std::array Kinds = {context_kind::qpc_common, context_kind::cqc,  context_kind::eqc,
                                context_kind::srq,        context_kind::mkey, context_kind::mtt};
  partition_table table;
  for (std::uint16_t i = 0; i < tables_.functions.size(); ++i) {
    for (std::size_t kind = 0; kind < TableKinds; ++kind) {
      const context_range& part = tables_.functions[i].partition[AllTables[kind]];
      table.set(i, Kinds[kind], {part.first, part.count});
    }
  }
  return table;
}

by_table<std::uint64_t> command_core::context_bytes(std::uint16_t function) const {
  by_table<std::uint64_t> bytes{};
  for (const table_kind kind : AllTables) {
    bytes[kind] =
        tables_.functions[function].partition[kind].count * lines_of(kind) * ContextLineBytes;
  }
  return bytes;
}

bool command_core::has_objects(std::uint16_t function) const {
  // All other objects refer to one of these.
  const auto has = [function](const auto& table) {
    return std::any_of(table.begin(), table.end(), [function](const auto& each) {
      return each.second.function == function;
    });
  };
  return has(tables_.pds) || has(tables_.cqs) || has(tables_.eqs);
}

bool command_core::has_vfs() const {
  return std::any_of(tables_.functions.begin() + 1, tables_.functions.end(),
                     [](const function_record& each) { return each.admitted; });
}

// Who may work

/// function_id 0 is the caller itself, as drivers say it.
command_result command_core::enable(const cmd_in& head) {
  const auto function = static_cast<std::uint16_t>(head.number);
  if (function >= tables_.functions.size()) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  if (function == 0 || function == caller_) {
    return enable_own();
  }
  return enable_vf(function);
}

/// What the PF has enabled is enabled; the VF may say so again.
command_result command_core::enable_own() {
  const bool known_enabled = caller_ != 0 && mine().state == function_state::enabled;
  if (!mine().admitted || (mine().state != function_state::reset && !known_enabled)) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  mine().state = function_state::enabled;
  return done();
}

command_result command_core::enable_vf(std::uint16_t function) {
  if (caller_ != 0) {
    return fail(command_status::BadParameter, command_syndrome::PrivilegedFunction);
  }
  function_record& vf = tables_.functions[function];
  if (mine().state != function_state::initialised || vf.admitted || has_objects(function)) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  const bool nothing = std::all_of(vf.partition.begin(), vf.partition.end(),
                                   [](const context_range& each) { return each.count == 0; });
  if (nothing) {
    return fail(command_status::NoResources, command_syndrome::Partition);
  }
  vf.admitted = true;
  vf.state = function_state::enabled;
  return done();
}

command_result command_core::disable(const cmd_in& head) {
  const auto function = static_cast<std::uint16_t>(head.number);
  if (function >= tables_.functions.size()) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  const command_result wrong_state =
      fail(command_status::BadSystemState, command_syndrome::FunctionState);
  if (function == 0 || function == caller_) {
    if (mine().state != function_state::enabled) {
      return wrong_state;
    }
    mine().state = function_state::reset;
    return done();
  }
  if (caller_ != 0) {
    return fail(command_status::BadParameter, command_syndrome::PrivilegedFunction);
  }
  function_record& vf = tables_.functions[function];
  if (!vf.admitted) {
    return wrong_state;
  }
  vf.admitted = false;
  vf.state = function_state::reset;
  effects_.vports = true;
  effects_.teardown = function;
  return done();
}

command_result command_core::init() {
  if (mine().state != function_state::enabled) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  mine().state = function_state::initialised;
  effects_.vports = true;
  return done();
}

command_result command_core::teardown(const cmd_in& head) {
  const std::uint32_t profile = head.number & 0xffff;
  if (profile > TeardownForce) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  const bool vfs = caller_ == 0 && has_vfs();
  if (vfs || (profile != TeardownForce && has_objects(caller_))) {
    return busy();
  }
  mine().state = function_state::enabled;
  effects_.vports = true;
  if (has_objects(caller_)) {
    mine().after_teardown = function_state::enabled;
    effects_.teardown = caller_;
  } else {
    release(caller_);
  }
  return done();
}

// What the PF decides

command_result command_core::query_function(const cmd_in& head, std::uint8_t* output) {
  if (caller_ != 0) {
    return fail(command_status::BadOperation, command_syndrome::PrivilegedFunction);
  }
  const auto function = static_cast<std::uint16_t>(head.number);
  if (function >= tables_.functions.size()) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  const function_record& record = tables_.functions[function];
  const port_record& port = record.port;
  query_function_out answer;
  function_context& context = answer.function_context;
  context.link_state = port.link;
  context.spoof_check = port.spoof_check ? 1 : 0;
  context.trust = port.trust ? 1 : 0;
  context.vlan_valid = port.vlan.has_value() ? 1 : 0;
  context.vlan = port.vlan.value_or(0);
  context.qos = port.qos;
  context.arbitration = function == 0 ? tables_.arbitration : function_arbitration{};
  context.promiscuous = port.promiscuous() ? 1 : 0;
  context.max_tx_rate = port.max_rate_mbps;
  context.weight = port.weight;
  context.urgency = port.urgency;
  context.mac = port.context.permanent_address;
  context.qps = record.partition[table_kind::qps];
  context.cqs = record.partition[table_kind::cqs];
  context.eqs = record.partition[table_kind::eqs];
  context.srqs = record.partition[table_kind::srqs];
  context.mkeys = record.partition[table_kind::mkeys];
  context.mtt_lines = record.partition[table_kind::mtt_lines];
  answer.pack(output);
  return {.output_bytes = query_function_out::Size};
}

command_result command_core::modify_function(command_input input) {
  if (caller_ != 0) {
    return fail(command_status::BadOperation, command_syndrome::PrivilegedFunction);
  }
  if (input.size() < modify_function_in::Size) {
    return too_short();
  }
  const modify_function_in wanted = modify_function_in::unpack(input.data());
  const std::uint16_t function = wanted.function_id;
  if (function >= tables_.functions.size()) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  constexpr std::uint32_t OfPorts = FunctionMac | FunctionVlan | FunctionSpoofCheck |
                                    FunctionTrust | FunctionRate | FunctionLink | FunctionShare |
                                    FunctionScheduler;
  if ((wanted.field_select & ~(OfPorts | FunctionPartition)) != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  // Changes are made on a copy, so that a refused command leaves nothing behind.
  port_record port = tables_.functions[function].port;
  if (const failure refused = decide(wanted, port)) {
    return *refused;
  }
  if ((wanted.field_select & FunctionPartition) != 0) {
    if (const failure refused = divide(function, partition_of(wanted.function_context))) {
      return *refused;
    }
    effects_.partitions = true;
  }
  if ((wanted.field_select & FunctionScheduler) != 0) {
    tables_.arbitration = wanted.function_context.arbitration;
  }
  tables_.functions[function].port = port;
  effects_.vports = (wanted.field_select & OfPorts) != 0;
  return done();
}

/// Of a function's port; the scheduler is only checked.
command_core::failure command_core::decide(const modify_function_in& wanted,
                                           port_record& port) const {
  const function_context& values = wanted.function_context;
  const bool pf = wanted.function_id == 0;
  const auto selected = [&wanted](std::uint32_t field) {
    return (wanted.field_select & field) != 0;
  };
  if (selected(FunctionMac)) {
    if (!is_station(values.mac)) {
      return refused_field();
    }
    port.admin_mac = values.mac;
    give_address(port, values.mac);
  }
  if (selected(FunctionVlan)) {
    const bool tagged = values.vlan_valid != 0;
    if (tagged && !is_vlan(values.vlan)) {
      return refused_field();
    }
    port.vlan = tagged ? std::optional<std::uint16_t>(values.vlan) : std::nullopt;
    port.qos = values.qos;
  }
  if (selected(FunctionSpoofCheck)) {
    port.spoof_check = values.spoof_check != 0;
  }
  if (selected(FunctionTrust)) {
    if (pf && values.trust == 0) {
      return refused_field();
    }
    port.trust = values.trust != 0;
  }
  if (selected(FunctionRate)) {
    if (values.max_tx_rate > limits_.link_gbps * KilobitsAMegabit) {
      return refused_field();
    }
    port.max_rate_mbps = values.max_tx_rate;
  }
  if (selected(FunctionLink)) {
    if (values.link_state > vport_link_state::Auto) {
      return refused_field();
    }
    port.link = values.link_state;
  }
  if (selected(FunctionShare)) {
    if (values.weight == 0) {
      return refused_field();
    }
    port.weight = values.weight;
    port.urgency = values.urgency;
  }
  if (selected(FunctionScheduler) && (!pf || values.arbitration > function_arbitration::Strict)) {
    return refused_field();
  }
  return std::nullopt;
}

/// The partition of a VF that does not work, as a whole.
command_core::failure command_core::divide(std::uint16_t function,
                                           const by_table<context_range>& wanted) {
  if (function == 0) {
    return fail(command_status::BadParameter, command_syndrome::Partition);
  }
  function_record& pf = tables_.functions[0];
  function_record& vf = tables_.functions[function];
  if (vf.admitted || has_objects(function)) {
    return fail(command_status::BadSystemState, command_syndrome::FunctionState);
  }
  by_table<context_range> part = wanted;
  by_table<number_pool> rest = pf.numbers;
  by_table<number_pool> own{};
  for (const table_kind kind : AllTables) {
    context_range& range = part[kind];
    rest[kind].give_back(vf.partition[kind].first, vf.partition[kind].count);
    if (range.count == 0) {
      range = {};
      continue;
    }
    const std::uint32_t end = table_end(kind);
    if (range.first < first_number(kind) || range.first >= end || range.count > end - range.first) {
      return fail(command_status::BadParameter, command_syndrome::Partition);
    }
    if (!rest[kind].take_at(range.first, range.count)) {
      return fail(command_status::NoResources, command_syndrome::Partition);
    }
    own[kind].give_back(range.first, range.count);
  }
  for (const table_kind kind : AllTables) {
    pf.partition[kind].count += vf.partition[kind].count - part[kind].count;
  }
  pf.numbers = rest;
  vf.numbers = own;
  vf.partition = part;
  return std::nullopt;
}

}  // namespace carillon
