#include "host/device_info.h"

#include <algorithm>
#include <array>

#include "gen/pci.h"
#include "gen/registers.h"

namespace carillon {

namespace {

task<> read_firmware(cpu& core, pci_bus& slot, device_info& into) {
  const std::uint64_t registers = slot.function(into.function).bar0;
  const std::uint64_t revision = co_await core.load(registers + bar0::FwRev, 4);
  const std::uint64_t sub = co_await core.load(registers + bar0::CmdifRevFwSub, 4);
  const auto firmware = bar0::fw_rev_value::unpack(static_cast<std::uint32_t>(revision));
  into.firmware_major = firmware.major;
  into.firmware_minor = firmware.minor;
  into.firmware_sub = bar0::cmdif_rev_fw_sub_value::unpack(static_cast<std::uint32_t>(sub)).fw_sub;
}

/// As they are now: what the driver read at its start knows nothing of what VFs were given later.
task<hca_cap> query_capabilities(cpu& core, device& adapter) {
  cmd_in head;
  head.opcode = command_opcode::QueryHcaCap;
  std::array<std::uint8_t, cmd_in::Size> input{};
  head.pack(input.data());
  std::array<std::uint8_t, cmd_out::Size + hca_cap::Size> output{};
  co_await adapter.command(core, input, output);
  co_return hca_cap::unpack(output.data() + cmd_out::Size);
}

task<> query_port(cpu& core, device& adapter, device_info& into) {
  vport_state_in ask;
  ask.opcode = command_opcode::QueryNicVportContext;
  std::array<std::uint8_t, vport_state_in::Size> input{};
  ask.pack(input.data());
  std::array<std::uint8_t, query_nic_vport_context_out::Size> context{};
  co_await adapter.command(core, input, context);
  into.port = query_nic_vport_context_out::unpack(context.data()).nic_vport_context;

  ask.opcode = command_opcode::QueryVportState;
  ask.pack(input.data());
  std::array<std::uint8_t, query_vport_state_out::Size> raw{};
  co_await adapter.command(core, input, raw);
  const query_vport_state_out state = query_vport_state_out::unpack(raw.data());
  into.link_up = state.state != 0;
  into.link_admin = static_cast<vport_link_state>(state.admin_state);
}

task<> query_gids(cpu& core, device& adapter, device_info& into) {
  for (unsigned index = 0; index < into.capabilities.num_gids; ++index) {
    query_roce_address_in ask;
    ask.opcode = command_opcode::QueryRoceAddress;
    ask.roce_address_index = static_cast<std::uint16_t>(index);
    std::array<std::uint8_t, query_roce_address_in::Size> input{};
    ask.pack(input.data());
    std::array<std::uint8_t, query_roce_address_out::Size> output{};
    co_await adapter.command(core, input, output);
    const roce_addr_layout entry = query_roce_address_out::unpack(output.data()).roce_address;
    const auto& bytes = entry.source_l3_address;
    if (std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; })) {
      into.gids.push_back({index, entry});
    }
  }
}

/// A VF's configuration space has no IDs of its own.
task<> read_identity(cpu& core, pci_bus& slot, device_info& into) {
  const std::uint16_t pf = slot.function(0).routing_id;
  const std::uint32_t id = co_await slot.read(core, pf, pci_header::VendorId, 4);
  into.vendor_id = static_cast<std::uint16_t>(id);
  into.device_id = static_cast<std::uint16_t>(id >> 16);
  into.routing_id = slot.function(into.function).routing_id;
  if (into.function == 0) {
    const std::uint32_t total = co_await slot.read(core, pf, pci_sriov::TotalVfs, 2);
    into.total_vfs = static_cast<std::uint16_t>(total);
    const std::uint32_t control = co_await slot.read(core, pf, pci_sriov::Control, 2);
    const auto value = pci_sriov::control_value::unpack(static_cast<std::uint16_t>(control));
    if (value.vf_enable != 0) {
      const std::uint32_t enabled = co_await slot.read(core, pf, pci_sriov::NumVfs, 2);
      into.enabled_vfs = static_cast<std::uint16_t>(enabled);
    }
  } else {
    const std::uint32_t vf = co_await slot.read(core, pf, pci_sriov::VfDeviceId, 2);
    into.device_id = static_cast<std::uint16_t>(vf);
  }
}

}  // namespace

task<device_info> query_device(cpu& core, pci_bus& slot, device& adapter, unsigned function) {
  device_info info;
  info.function = function;
  co_await read_identity(core, slot, info);
  co_await read_firmware(core, slot, info);
  info.capabilities = co_await query_capabilities(core, adapter);
  co_await query_port(core, adapter, info);
  co_await query_gids(core, adapter, info);
  co_return info;
}

}  // namespace carillon
