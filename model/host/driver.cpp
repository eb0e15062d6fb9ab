#include "host/driver.h"

#include <utility>

#include "gen/bytes.h"

namespace carillon {

namespace {

constexpr std::uint32_t WordBytes = 8;
/// RoCE version 2 and the address families in the GID table.
constexpr std::uint8_t RoceV2 = 2;
constexpr std::uint8_t L3Ipv4 = 0;
constexpr std::uint8_t L3Ipv6 = 1;

template <std::size_t Bytes>
std::span<const std::uint8_t> big_endian(std::array<std::uint8_t, Bytes>& into,
                                         std::uint64_t value) {
  bytes::store_be<Bytes>(into.data(), value);
  return into;
}

}  // namespace

command_refused::command_refused(command_opcode refused, command_status why,
                                 command_syndrome detail)
    : config_error(fmt::format("the device refused {}: {} ({})", to_string(refused), to_string(why),
                               to_string(detail))),
      opcode(refused),
      status(why),
      syndrome(detail) {}

device::device(machine& host, device_location where, posted_work& posted, const gid& address)
    : host_(host), where_(where), posted_(posted), address_(address) {}

void device::enter(std::uint32_t qpn, queue_pair* qp) {
  if (qpn >= qps_.size()) {
    qps_.resize(qpn + 1, nullptr);
  }
  qps_[qpn] = qp;
}

task<std::uint64_t> device::load(cpu& core, std::uint32_t offset, std::uint32_t bytes) {
  co_return co_await core.load(where_.bar0 + offset, bytes);
}

task<command_reply> device::try_command(cpu& core, std::span<const std::uint8_t> input,
                                        std::span<std::uint8_t> output) {
  co_await core.sync();
  co_await core.acquire(command_lock_);
  for (std::size_t at = 0; at < input.size(); at += WordBytes) {
    core.store_uncached(where_.bar0 + bar0::CmdIn + at, input.subspan(at, WordBytes));
  }
  std::array<std::uint8_t, 4> doorbell{};
  core.store_uncached(where_.bar0 + bar0::CmdDoorbell, big_endian(doorbell, input.size()));
  for (;;) {
    const std::uint64_t word = co_await load(core, bar0::CmdStatus, 4);
    const auto state = bar0::cmd_status_value::unpack(static_cast<std::uint32_t>(word));
    if (state.busy == 0 && state.done != 0) {
      break;
    }
  }
  std::array<std::uint8_t, cmd_out::Size> raw{};
  co_await read_output(core, raw);
  if (!output.empty()) {
    co_await read_output(core, output);
  }
  co_await core.sync();
  core.release(command_lock_);
  const cmd_out head = cmd_out::unpack(raw.data());
  co_return command_reply{head.status, static_cast<command_syndrome>(head.syndrome), head.number};
}

task<> device::read_output(cpu& core, std::span<std::uint8_t> output) {
  for (std::uint32_t at = 0; at < output.size(); at += WordBytes) {
    const std::uint64_t word = co_await load(core, bar0::CmdOut + at, WordBytes);
    bytes::store_be<WordBytes>(output.data() + at, word);
  }
}

task<command_reply> device::command(cpu& core, std::span<const std::uint8_t> input,
                                    std::span<std::uint8_t> output) {
  const command_reply reply = co_await try_command(core, input, output);
  if (reply.status != command_status::Ok) {
    throw command_refused(cmd_in::unpack(input.data()).opcode, reply.status, reply.syndrome);
  }
  co_return reply;
}

task<command_reply> device::command(cpu& core, command_opcode opcode, std::uint32_t number) {
  std::array<std::uint8_t, cmd_in::Size> raw{};
  cmd_in head;
  head.opcode = opcode;
  head.number = number;
  head.pack(raw.data());
  co_return co_await command(core, raw);
}

task<> device::open(cpu& core) {
  co_await core.sync();
  co_await core.acquire(open_lock_);
  if (!opened_) {
    co_await bring_up(core);
    opened_ = true;
  }
  co_await core.sync();
  core.release(open_lock_);
}

task<> device::bring_up(cpu& core) {
  const std::uint64_t id = co_await load(core, bar0::DeviceId, 4);
  if (bar0::device_id_value::unpack(static_cast<std::uint32_t>(id)).vendor != PciVendorId) {
    throw config_error(
        fmt::format("no device of vendor {:04x} answers at BAR0 {:#x}: it reads {:#010x}",
                    PciVendorId, where_.bar0, id));
  }
  co_await command(core, command_opcode::EnableHca, where_.function);
  std::array<std::uint8_t, hca_cap::Size> raw{};
  for (std::uint32_t at = 0; at < hca_cap::Size; at += WordBytes) {
    const std::uint64_t word = co_await load(core, bar0::HcaCap + at, WordBytes);
    bytes::store_be<WordBytes>(raw.data() + at, word);
  }
  capabilities_ = hca_cap::unpack(raw.data());
  // The address is the low 48 bits of the 8 bytes that end with it.
  const std::uint32_t at = bar0::HcaNicVportContext + nic_vport_context::at::PermanentAddress;
  const std::uint64_t high = co_await load(core, at & ~3U, 4);
  const std::uint64_t low = co_await load(core, (at & ~3U) + 4, 4);
  mac_ = (high << 32 | low) & 0xffffffffffff;
  co_await command(core, command_opcode::InitHca, 0);

  set_roce_address_in gid_entry;
  gid_entry.opcode = command_opcode::SetRoceAddress;
  gid_entry.roce_address_index = 0;
  gid_entry.roce_address.source_l3_address = address_;
  gid_entry.roce_address.source_mac = mac_;
  gid_entry.roce_address.roce_l3_type = is_ipv4_gid(address_) ? L3Ipv4 : L3Ipv6;
  gid_entry.roce_address.roce_version = RoceV2;
  std::array<std::uint8_t, set_roce_address_in::Size> entry{};
  gid_entry.pack(entry.data());
  co_await command(core, entry);
}

task<std::uint32_t> device::alloc_pd(cpu& core) {
  const command_reply reply = co_await command(core, command_opcode::AllocPd, 0);
  co_return reply.number;
}

task<uar_handle*> device::alloc_uar(cpu& core) {
  const command_reply reply = co_await command(core, command_opcode::AllocUar, 0);
  auto& page = uars_.emplace_back(std::make_unique<uar_handle>());
  page->number = reply.number;
  page->address = where_.bar2 + std::uint64_t{reply.number} * UarPageBytes;
  co_return page.get();
}

task<memory_region> device::register_memory(cpu& core, std::uint32_t pd, std::uint64_t address,
                                            std::uint64_t length, memory_access_rights rights,
                                            std::uint8_t variant) {
  create_mkey_in create;
  create.opcode = command_opcode::CreateMkey;
  mkc& key = create.memory_key_mkey_entry;
  key.access_mode_1_0 = mkey_access_mode::Physical;
  key.lr = 1;
  key.lw = rights.local_write ? 1 : 0;
  key.rr = rights.remote_read ? 1 : 0;
  key.rw = rights.remote_write ? 1 : 0;
  key.qpn = MkeyAnyQp;
  key.mkey_7_0 = variant;
  key.pd = pd;
  key.start_addr = address;
  key.len = length;
  std::array<std::uint8_t, create_mkey_in::Size> input{};
  create.pack(input.data());
  const command_reply reply = co_await command(core, input);
  co_return memory_region{address, length, reply.number << MkeyVariantBits | variant};
}

task<> device::deregister_memory(cpu& core, memory_region region) {
  co_await command(core, command_opcode::DestroyMkey, region.index());
}

}  // namespace carillon
