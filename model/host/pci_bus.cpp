#include "host/pci_bus.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <utility>

#include "common/error.h"
#include "gen/pci.h"
#include "gen/registers.h"

namespace carillon {

namespace {

constexpr std::uint16_t NoVendor = 0xffff;
constexpr unsigned MaxCapabilities = 48;  ///< a list that is longer runs in a circle
constexpr std::uint16_t FirstExtended = 0x100;
constexpr std::uint32_t AllOnes = 0xffffffff;
constexpr std::uint32_t BarType64 = 0x4;
constexpr std::uint32_t BarPrefetchable = 0x8;
constexpr std::uint32_t BarFlags = 0xf;
constexpr std::uint32_t Page4K = 1;
/// A reset that lasts longer has failed; a hundred milliseconds are allowed.
constexpr ps_t ResetLimit = 1'000'000'000'000;

// Capabilities may lie anywhere; the registers within them may not.
constexpr std::uint16_t in_express(std::uint16_t offset) {
  return offset - pci_express::At;
}

constexpr std::uint16_t in_sriov(std::uint16_t offset) {
  return offset - pci_sriov::At;
}

/// Code n for 128 << n bytes.
std::uint8_t size_code(std::int64_t bytes) {
  return static_cast<std::uint8_t>(std::countr_zero(static_cast<std::uint64_t>(bytes) / 128));
}

}  // namespace

pci_bus::pci_bus(machine& slot_of) : host_(slot_of) {
  const auto& host = slot_of.context().params.host;
  low_.next = static_cast<std::uint64_t>(host.mmio_base);
  low_.end = low_.next + static_cast<std::uint64_t>(host.mmio_bytes);
  high_.next = static_cast<std::uint64_t>(host.mmio_prefetchable_base);
  high_.end = high_.next + static_cast<std::uint64_t>(host.mmio_prefetchable_bytes);
}

void pci_bus::adopt(std::vector<pci_function> functions) {
  functions_ = std::move(functions);
  enumerated_ = true;
}

const pci_function& pci_bus::function(unsigned number) const {
  if (number >= functions_.size()) {
    throw config_error(fmt::format("{}: function {} is not there: {} VFs are enabled", host_.name(),
                                   number, functions_.empty() ? 0 : functions_.size() - 1));
  }
  return functions_[number];
}

// Accesses

task<std::uint32_t> pci_bus::read(cpu& core, std::uint16_t routing_id, std::uint16_t offset,
                                  unsigned bytes) {
  cpu::config_access access;
  access.routing_id = routing_id;
  access.offset = offset & 0xffc;
  const ps_t begin = core.time();
  for (;;) {
    const cpu::config_reply reply = co_await core.config(access);
    if (reply.status != completion_status::ConfigRetry) {
      const std::uint32_t value = reply.value >> (8 * (offset & 3U));
      co_return bytes == 4 ? value : value&((1U << (8 * bytes)) - 1);
    }
    if (core.time() - begin > ResetLimit) {
      throw config_error(fmt::format("{}: function {:04x} does not come back from its reset",
                                     host_.name(), routing_id));
    }
    core.idle_until(core.time() + static_cast<ps_t>(core.params().host.config_retry_ps));
    co_await core.sync();
  }
}

task<> pci_bus::write(cpu& core, std::uint16_t routing_id, std::uint16_t offset,
                      std::uint32_t value, unsigned bytes) {
  const unsigned lead = offset & 3U;
  cpu::config_access access;
  access.routing_id = routing_id;
  access.offset = offset & 0xffc;
  access.write = true;
  access.enables = static_cast<std::uint8_t>(((1U << bytes) - 1) << lead);
  access.value = value << (8 * lead);
  co_await core.config(access);
}

task<> pci_bus::set_bits(cpu& core, std::uint16_t routing_id, std::uint16_t offset,
                         std::uint16_t mask, std::uint16_t bits) {
  const std::uint32_t before = co_await read(core, routing_id, offset, 2);
  co_await write(core, routing_id, offset, (before & ~std::uint32_t{mask}) | bits, 2);
}

// Enumeration

task<pci_function> pci_bus::enumerate(cpu& core) {
  co_await core.sync();
  co_await core.acquire(lock_);
  if (!enumerated_) {
    co_await discover(core);
    enumerated_ = true;
  }
  co_await core.sync();
  core.release(lock_);
  co_return functions_.front();
}

task<> pci_bus::discover(cpu& core) {
  const std::uint32_t id = co_await read(core, PfId, pci_header::VendorId, 4);
  if ((id & NoVendor) != PciVendorId) {
    throw config_error(
        fmt::format("{}: no device of vendor {:04x} answers on bus {}: its ID reads {:#010x}",
                    host_.name(), PciVendorId, Bus, id));
  }
  express_ = co_await find_capability(core, pci_express::CapabilityId & 0xff);
  msix_ = co_await find_capability(core, pci_msix::CapabilityId & 0xff);
  sriov_ = co_await find_extended(core, pci_sriov::CapabilityId);
  pf_bars_ = co_await size_bars(core, pci_header::Bar0);
  place(pf_bars_, 1);
  if (sriov_ != 0) {
    total_vfs_ = co_await read(core, PfId, sriov_ + in_sriov(pci_sriov::TotalVfs), 2);
    co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::SystemPageSize), Page4K, 4);
    vf_bars_ = co_await size_bars(core, sriov_ + in_sriov(pci_sriov::Bar0));
    place(vf_bars_, total_vfs_);
  }
  co_await configure_pf(core);
  functions_ = {{0, PfId, pf_bars_[0].base, pf_bars_[1].base, pf_bars_[2].base}};
}

/// Writes everything that a reset takes away.
task<> pci_bus::configure_pf(cpu& core) {
  co_await write_bars(core, pci_header::Bar0, pf_bars_);
  if (sriov_ != 0) {
    co_await configure_sriov(core);
  }
  const auto& params = core.params().pcie;
  pci_express::device_control_value control;
  control.max_payload = size_code(params.mps);
  control.max_read_request = size_code(params.mrrs);
  control.extended_tags = params.tags > 32 ? 1 : 0;
  control.relaxed_ordering = 1;
  control.no_snoop = 1;
  co_await write(core, PfId, express_ + in_express(pci_express::DeviceControl), control.pack(), 2);
  pci_express::device_control2_value more;
  more.ten_bit_tags = params.tags > 256 ? 1 : 0;
  co_await write(core, PfId, express_ + in_express(pci_express::DeviceControl2), more.pack(), 2);
  pci_header::command_value command;
  command.memory_enable = 1;
  command.bus_master = 1;
  co_await write(core, PfId, pci_header::Command, command.pack(), 2);
}

task<> pci_bus::configure_sriov(cpu& core) {
  co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::SystemPageSize), Page4K, 4);
  co_await write_bars(core, sriov_ + in_sriov(pci_sriov::Bar0), vf_bars_);
  pci_sriov::control_value control;
  control.ari_hierarchy = 1;
  co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::Control), control.pack(), 2);
}

task<std::uint16_t> pci_bus::find_capability(cpu& core, std::uint8_t id) {
  std::uint32_t at = co_await read(core, PfId, pci_header::Capabilities, 1);
  for (unsigned i = 0; at != 0 && i < MaxCapabilities; ++i) {
    const std::uint32_t head = co_await read(core, PfId, static_cast<std::uint16_t>(at), 2);
    if ((head & 0xff) == id) {
      co_return static_cast<std::uint16_t>(at);
    }
    at = head >> 8;
  }
  co_return 0;
}

task<std::uint16_t> pci_bus::find_extended(cpu& core, std::uint16_t id) {
  std::uint32_t at = FirstExtended;
  for (unsigned i = 0; at != 0 && i < MaxCapabilities; ++i) {
    const std::uint32_t head = co_await read(core, PfId, static_cast<std::uint16_t>(at), 4);
    if ((head & 0xffff) == id) {
      co_return static_cast<std::uint16_t>(at);
    }
    at = head >> 20;
  }
  co_return 0;
}

/// The BARs of 64 bits from the register at `first` on: what of all ones can be read back says how
/// large they are.
task<pci_bus::bar_list> pci_bus::size_bars(cpu& core, std::uint16_t first) {
  bar_list bars;
  for (unsigned i = 0; i < Bars; ++i) {
    const auto low = static_cast<std::uint16_t>(first + 8 * i);
    const auto high = static_cast<std::uint16_t>(low + 4);
    co_await write(core, PfId, low, AllOnes, 4);
    co_await write(core, PfId, high, AllOnes, 4);
    const std::uint64_t lower = co_await read(core, PfId, low, 4);
    const std::uint64_t upper = co_await read(core, PfId, high, 4);
    if ((lower & BarType64) == 0) {
      continue;
    }
    bars[i].bytes = ~(upper << 32 | (lower & ~std::uint64_t{BarFlags})) + 1;
    bars[i].prefetchable = (lower & BarPrefetchable) != 0;
  }
  co_return bars;
}

/// Gives each BAR the room of `copies`. Largest first, so that alignment leaves no holes.
void pci_bus::place(bar_list& bars, unsigned copies) {
  std::array<bar*, Bars> order{};
  for (unsigned i = 0; i < Bars; ++i) {
    order[i] = &bars[i];
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const bar* a, const bar* b) { return a->bytes > b->bytes; });
  for (bar* each : order) {
    const std::uint64_t bytes = each->bytes * copies;
    if (bytes == 0) {
      continue;
    }
    window& from = each->prefetchable ? high_ : low_;
    each->base = (from.next + each->bytes - 1) & ~(each->bytes - 1);
    if (each->base + bytes > from.end) {
      throw config_error(fmt::format(
          "{}: BARs of {} times {} bytes do not fit what host.{} leaves", host_.name(), copies,
          each->bytes, each->prefetchable ? "mmio_prefetchable_bytes" : "mmio_bytes"));
    }
    from.next = each->base + bytes;
  }
}

task<> pci_bus::write_bars(cpu& core, std::uint16_t first, bar_list bars) {
  for (unsigned i = 0; i < Bars; ++i) {
    const auto low = static_cast<std::uint16_t>(first + 8 * i);
    co_await write(core, PfId, low, static_cast<std::uint32_t>(bars[i].base), 4);
    co_await write(core, PfId, low + 4, static_cast<std::uint32_t>(bars[i].base >> 32), 4);
  }
}

// VFs

pci_function pci_bus::vf(unsigned index) const {
  pci_function result;
  result.number = index + 1;
  result.routing_id = static_cast<std::uint16_t>(PfId + first_vf_offset_ + index * vf_stride_);
  result.bar0 = vf_bars_[0].base + index * vf_bars_[0].bytes;
  result.bar2 = vf_bars_[1].base + index * vf_bars_[1].bytes;
  return result;
}

task<std::vector<pci_function>> pci_bus::enable_vfs(cpu& core, unsigned count) {
  co_await enumerate(core);
  co_await core.acquire(lock_);
  if (functions_.size() > 1 || count > total_vfs_) {
    core.release(lock_);
    throw config_error(
        functions_.size() > 1
            ? fmt::format("{}: {} VFs are enabled already; their number changes only when they "
                          "are disabled",
                          host_.name(), functions_.size() - 1)
            : fmt::format("{}: {} VFs were asked for, but the device has {} (nic.total_vfs)",
                          host_.name(), count, total_vfs_));
  }
  if (count != 0) {
    co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::NumVfs), count, 2);
    // Both may depend on NumVFs.
    first_vf_offset_ = static_cast<std::uint16_t>(
        co_await read(core, PfId, sriov_ + in_sriov(pci_sriov::FirstVfOffset), 2));
    vf_stride_ = static_cast<std::uint16_t>(
        co_await read(core, PfId, sriov_ + in_sriov(pci_sriov::VfStride), 2));
    pci_sriov::control_value control;
    control.ari_hierarchy = 1;
    control.vf_memory_enable = 1;
    control.vf_enable = 1;
    co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::Control), control.pack(), 2);
    pci_header::command_value command;
    command.bus_master = 1;
    for (unsigned i = 0; i < count; ++i) {
      const pci_function added = vf(i);
      // One that is still being reset lets itself be waited for.
      co_await read(core, added.routing_id, pci_header::Command, 2);
      co_await write(core, added.routing_id, pci_header::Command, command.pack(), 2);
      functions_.push_back(added);
    }
  }
  co_await core.sync();
  core.release(lock_);
  co_return std::vector<pci_function>(functions_.begin() + 1, functions_.end());
}

task<> pci_bus::disable_vfs(cpu& core) {
  co_await core.sync();
  co_await core.acquire(lock_);
  if (functions_.size() > 1) {
    co_await clear_vf_enable(core);
    tell_reset(1, total_vfs_);
    functions_.resize(1);
  }
  co_await core.sync();
  core.release(lock_);
}

task<> pci_bus::clear_vf_enable(cpu& core) {
  pci_sriov::control_value control;
  control.ari_hierarchy = 1;
  co_await write(core, PfId, sriov_ + in_sriov(pci_sriov::Control), control.pack(), 2);
}

// One function

task<> pci_bus::reset(cpu& core, unsigned number) {
  const pci_function which = function(number);
  co_await core.sync();
  co_await core.acquire(lock_);
  // A VF's capabilities lie where the PF's do.
  const std::uint16_t msix = msix_ == 0 ? 0 : msix_ + pci_msix::Control - pci_msix::At;
  const std::uint32_t command = co_await read(core, which.routing_id, pci_header::Command, 2);
  const std::uint32_t vectors = msix == 0 ? 0 : co_await read(core, which.routing_id, msix, 2);
  pci_express::device_control_value control;
  control.function_level_reset = 1;
  co_await set_bits(core, which.routing_id, express_ + in_express(pci_express::DeviceControl),
                    control.pack(), control.pack());
  co_await read(core, which.routing_id, pci_header::Command, 2);
  tell_reset(number, number == 0 ? total_vfs_ : number);
  if (number == 0) {
    functions_.resize(1);
    co_await configure_pf(core);
  }
  if (msix != 0) {
    co_await write(core, which.routing_id, msix, vectors, 2);
  }
  co_await write(core, which.routing_id, pci_header::Command, command, 2);
  co_await core.sync();
  core.release(lock_);
}

void pci_bus::leave(const reset_listener& who) {
  std::erase_if(listeners_, [&who](const listener& each) { return each.who == &who; });
}

void pci_bus::tell_reset(unsigned first, unsigned last) {
  for (const listener& each : listeners_) {
    if (each.function >= first && each.function <= last) {
      each.who->function_reset();
    }
  }
}

task<> pci_bus::enable_msix(cpu& core, unsigned number, bool on) {
  const pci_function which = function(number);
  if (msix_ == 0) {
    throw config_error(fmt::format("{}: the device has no MSI-X capability", host_.name()));
  }
  pci_msix::control_value control;
  control.enable = 1;
  co_await set_bits(core, which.routing_id, msix_ + pci_msix::Control - pci_msix::At,
                    control.pack(), on ? control.pack() : 0);
}

}  // namespace carillon
