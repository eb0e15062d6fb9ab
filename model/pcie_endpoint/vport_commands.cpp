// The commands about virtual ports and their addresses, and what a function may set of its own
// traffic. Privileged are priority, DSCP, VLAN, MAC address, promiscuous mode and rate: a VF
// without trust has what the PF gave it.
#include <algorithm>

#include "gen/bytes.h"
#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr std::uint16_t MinMtu = 68;  // of IPv4
constexpr unsigned DscpClassBits = 3;
constexpr std::size_t CounterBytes = 8;

bool same_vlan(const port_record& a, const port_record& b) {
  return !a.vlan || !b.vlan || a.vlan == b.vlan;
}

}  // namespace

// What ports have

/// The GUIDs are the usual derivation of an EUI-64 from a MAC address: ff:fe in the middle.
void command_core::give_address(port_record& port, std::uint64_t mac) {
  nic_vport_context& context = port.context;
  context.permanent_address = mac;
  context.node_guid = (mac >> 24) << 40 | std::uint64_t{0xfffe} << 24 | (mac & 0xffffff);
  context.port_guid = context.node_guid;
  context.system_image_guid = context.node_guid;
}

vport_table command_core::vports() const {
  std::vector<carillon::vport> ports(tables_.functions.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const function_record& function = tables_.functions[i];
    const port_record& from = function.port;
    carillon::vport& port = ports[i];
    port.enabled =
        function.state == function_state::initialised && from.up() && from.context.roce_en != 0;
    port.mac = from.context.permanent_address;
    port.vlan = from.vlan;
    port.priority = from.qos;
    port.any_vlan = from.trust;
    port.spoof_check = from.spoof_check;
    port.promiscuous = from.promiscuous();
    port.max_rate_mbps = from.max_rate_mbps;
    port.weight = from.weight;
    port.urgency = from.urgency;
    port.sources.resize(function.gids.size());
    for (std::size_t gid = 0; gid < port.sources.size(); ++gid) {
      port.sources[gid] = {function.gids[gid].valid, function.gids[gid].address.source_l3_address};
    }
  }
  return vport_table(std::move(ports), static_cast<vport_arbitration>(tables_.arbitration));
}

/// The port that a command is about. A VF may name its own only.
command_core::failure command_core::find_port(command_input input, std::uint16_t& function) const {
  const vport_state_in in = vport_state_in::unpack(input.data());
  function = in.other_vport != 0 ? in.vport_number : caller_;
  if (caller_ != 0 && function != caller_) {
    return fail(command_status::BadParameter, command_syndrome::PrivilegedFunction);
  }
  if (function >= tables_.functions.size()) {
    return fail(command_status::BadParameter, command_syndrome::BadFunction);
  }
  return std::nullopt;
}

// Commands

command_result command_core::query_vport(command_input input, std::uint8_t* output) {
  std::uint16_t function = 0;
  if (const failure refused = find_port(input, function)) {
    return *refused;
  }
  vport(function).pack(output + query_nic_vport_context_out::at::NicVportContext);
  return {.output_bytes = query_nic_vport_context_out::Size};
}

command_result command_core::modify_vport(command_input input) {
  if (input.size() < modify_nic_vport_context_in::Size) {
    return too_short();
  }
  std::uint16_t function = 0;
  if (const failure refused = find_port(input, function)) {
    return *refused;
  }
  const auto in = modify_nic_vport_context_in::unpack(input.data());
  constexpr std::uint32_t Privileged =
      VportSelectAddress | VportSelectPromisc | VportSelectPortGuid | VportSelectNodeGuid;
  if ((in.field_select & ~(Privileged | VportSelectRoce | VportSelectMtu)) != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  const nic_vport_context& wanted = in.nic_vport_context;
  port_record port = tables_.functions[function].port;
  const nic_vport_context before = port.context;
  if ((in.field_select & VportSelectRoce) != 0) {
    port.context.roce_en = wanted.roce_en;
  }
  if ((in.field_select & VportSelectMtu) != 0) {
    if (wanted.mtu < MinMtu || wanted.mtu > limits_.port_mtu) {
      return fail(command_status::BadParameter, command_syndrome::Mtu);
    }
    port.context.mtu = wanted.mtu;
  }
  if ((in.field_select & VportSelectAddress) != 0) {
    if (!is_station(wanted.permanent_address)) {
      return refused_field();
    }
    if (wanted.permanent_address != before.permanent_address && !trusted()) {
      return not_trusted();
    }
    if (takes_address(function, wanted.permanent_address)) {
      return fail(command_status::BadParameter, command_syndrome::Spoofed);
    }
    give_address(port, wanted.permanent_address);
    if (function != caller_) {
      port.admin_mac = wanted.permanent_address;
    }
  }
  if ((in.field_select & VportSelectPromisc) != 0) {
    const bool any = wanted.promisc_uc != 0 || wanted.promisc_mc != 0 || wanted.promisc_all != 0;
    if (any && !trusted()) {
      return not_trusted();
    }
    port.context.promisc_uc = wanted.promisc_uc;
    port.context.promisc_mc = wanted.promisc_mc;
    port.context.promisc_all = wanted.promisc_all;
  }
  if ((in.field_select & VportSelectPortGuid) != 0) {
    port.context.port_guid = wanted.port_guid;
  }
  if ((in.field_select & VportSelectNodeGuid) != 0) {
    port.context.node_guid = wanted.node_guid;
  }
  if ((in.field_select & (VportSelectPortGuid | VportSelectNodeGuid)) != 0 && !trusted()) {
    return not_trusted();
  }
  tables_.functions[function].port = port;
  effects_.vports = true;
  return done();
}

/// Trust does not go so far that a VF takes another port's address.
bool command_core::takes_address(std::uint16_t function, std::uint64_t mac) const {
  if (caller_ == 0) {
    return false;
  }
  for (std::size_t i = 0; i < tables_.functions.size(); ++i) {
    const port_record& other = tables_.functions[i].port;
    // What the PF gave it is its own also while it uses another one.
    if (i != function && (other.context.permanent_address == mac || other.admin_mac == mac) &&
        same_vlan(other, tables_.functions[function].port)) {
      return true;
    }
  }
  return false;
}

command_result command_core::query_vport_state(command_input input, std::uint8_t* output) {
  std::uint16_t function = 0;
  if (const failure refused = find_port(input, function)) {
    return *refused;
  }
  const std::uint16_t whose = vport_state_in::unpack(input.data()).op_mod;
  if (whose != VportStateNic && whose != VportStateEswitch) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  const port_record& port = tables_.functions[function].port;
  const vport_link_state own = port.own_up ? vport_link_state::Up : vport_link_state::Down;
  query_vport_state_out answer;
  answer.admin_state = static_cast<std::uint8_t>(whose == VportStateNic ? own : port.link);
  answer.state = port.up() ? 1 : 0;
  answer.pack(output);
  return {.output_bytes = query_vport_state_out::Size};
}

command_result command_core::modify_vport_state(command_input input) {
  std::uint16_t function = 0;
  if (const failure refused = find_port(input, function)) {
    return *refused;
  }
  const vport_state_in in = vport_state_in::unpack(input.data());
  const auto state = static_cast<vport_link_state>(in.admin_state);
  port_record& port = tables_.functions[function].port;
  switch (in.op_mod) {
    case VportStateNic:
      if (state != vport_link_state::Down && state != vport_link_state::Up) {
        return refused_field();
      }
      port.own_up = state == vport_link_state::Up;
      break;
    case VportStateEswitch:
      if (caller_ != 0) {
        return fail(command_status::BadParameter, command_syndrome::PrivilegedFunction);
      }
      if (in.admin_state > static_cast<std::uint8_t>(vport_link_state::Auto)) {
        return refused_field();
      }
      port.link = state;
      break;
    default:
      return fail(command_status::BadParameter, command_syndrome::Option);
  }
  effects_.vports = true;
  return done();
}

command_result command_core::query_vport_counter(command_input input, std::uint8_t* output) {
  if (input.size() < query_vport_counter_in::Size) {
    return too_short();
  }
  const auto in = query_vport_counter_in::unpack(input.data());
  const bool chip = caller_ == 0 && in.other_vport != 0 && in.vport_number == VportUplink;
  std::uint16_t function = 0;
  if (!chip) {
    if (const failure refused = find_port(input, function)) {
      return *refused;
    }
  }
  if (in.clear != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  query_vport_counter_out head;
  head.count = static_cast<std::uint32_t>(CounterCount);
  head.pack(output);
  for (std::size_t i = 0; i < CounterCount && counters_ != nullptr; ++i) {
    const auto which = static_cast<counter>(i);
    bytes::store_be<CounterBytes>(
        output + query_vport_counter_out::Size + i * CounterBytes,
        chip ? counters_->value(which) : counters_->value_for(function, which));
  }
  return {.output_bytes = query_vport_counter_out::Size + CounterCount * CounterBytes};
}

// Addresses

command_result command_core::query_roce_address(command_input input, std::uint8_t* output) {
  const std::uint16_t index = query_roce_address_in::unpack(input.data()).roce_address_index;
  if (index >= mine().gids.size()) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  query_roce_address_out answer;
  answer.roce_address = mine().gids[index].address;
  answer.pack(output);
  return {.output_bytes = query_roce_address_out::Size};
}

command_result command_core::set_roce_address(command_input input) {
  if (input.size() < set_roce_address_in::Size) {
    return too_short();
  }
  const set_roce_address_in wanted = set_roce_address_in::unpack(input.data());
  if (wanted.roce_address_index >= mine().gids.size()) {
    return fail(command_status::BadIndex, command_syndrome::NoGid);
  }
  // The driver deletes an entry by writing zeros.
  const bool deleted = wanted.roce_address.source_l3_address == std::array<std::uint8_t, 16>{};
  if (!deleted) {
    if (const failure refused = check_source(wanted.roce_address)) {
      return *refused;
    }
  }
  mine().gids[wanted.roce_address_index] =
      deleted ? gid_entry{} : gid_entry{true, wanted.roce_address};
  effects_.vports = true;
  return done();
}

// Trust

/// An entry without a MAC address or a VLAN has the port's.
command_core::failure command_core::check_source(const roce_addr_layout& source) const {
  const port_record& port = mine().port;
  const bool other_mac =
      source.source_mac != 0 && source.source_mac != port.context.permanent_address;
  const bool other_vlan = source.vlan_valid != 0 && source.vlan_id != port.vlan;
  if ((other_mac || other_vlan) && !trusted()) {
    return not_trusted();
  }
  return std::nullopt;
}

/// Without trust a QP has its port's priority and a DSCP of that class, or the one that goes with
/// the port's default priority.
command_core::failure command_core::check_class(const ads& path, std::uint8_t traffic_class) const {
  if (trusted()) {
    return std::nullopt;
  }
  const unsigned qos = mine().port.qos;
  const unsigned dscp = traffic_class >> 2U;
  const bool in_class =
      dscp >> DscpClassBits == qos || (qos == limits_.priority && dscp == limits_.dscp);
  if (path.eth_prio != qos || (path.sl != 0 && path.sl != qos) || !in_class) {
    return not_trusted();
  }
  return std::nullopt;
}

}  // namespace carillon
