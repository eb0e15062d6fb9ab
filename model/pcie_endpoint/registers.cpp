// The part of the stage that reads and writes registers.
#include <algorithm>
#include <array>
#include <string_view>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "pcie_endpoint.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_endpoint;

constexpr unsigned DwordBytes = 4;
constexpr std::uint32_t QueueAddressMask = 0xfffff000;
constexpr std::uint32_t HealthCountMask = 0xffffff;
constexpr std::uint64_t LowDword = 0xffffffff;
constexpr std::uint32_t Initialised = 2;  ///< in the register init_state

/// What each dword of a block allows; Ro where there is nothing.
template <std::uint32_t Size>
constexpr std::array<register_access, Size / DwordBytes> access_of(const char* block) {
  std::array<register_access, Size / DwordBytes> access{};
  access.fill(register_access::Ro);
  for (const register_desc& each : RegisterTable) {
    if (std::string_view(block) != each.block) {
      continue;
    }
    for (std::uint32_t at = each.offset; at < each.offset + each.bytes; at += DwordBytes) {
      access[at / DwordBytes] = each.access;
    }
  }
  return access;
}

register_access access_at(std::uint8_t bar, std::uint64_t offset) {
  static const auto Bar0 = access_of<bar0::Size>("bar0");
  static const auto Bar4 = access_of<bar4::Size>("bar4");
  return bar == 0 ? Bar0[offset / DwordBytes] : Bar4[offset / DwordBytes];
}

constexpr std::uint64_t size_of(std::uint8_t bar) {
  return bar == 0 ? bar0::Size : bar4::Size;
}

/// Which of the congestion control registers this is, if any.
std::optional<rp_register> rate_at(std::uint64_t offset) {
  switch (offset) {
    case bar0::RpRate:
      return rp_register::rate;
    case bar0::RpTarget:
      return rp_register::target;
    case bar0::RpCurrent:
      return rp_register::current;
    case bar0::RpTimer:
      return rp_register::timer;
    case bar0::RpQpn:
      return rp_register::qpn;
    default:
      return std::nullopt;
  }
}

/// The dword of a layout that is shown in a window.
template <class Layout>
std::uint32_t dword_of(const Layout& shown, std::uint64_t at) {
  std::array<std::uint8_t, Layout::Size> raw{};
  shown.pack(raw.data());
  return static_cast<std::uint32_t>(bytes::load_be<DwordBytes>(raw.data() + at));
}

constexpr bool within(std::uint64_t offset, std::uint32_t window, std::uint32_t bytes) {
  return offset >= window && offset < window + bytes;
}

}  // namespace

std::uint32_t pcie_endpoint::read_function(std::uint16_t function, std::uint64_t offset,
                                           cycle_t t) const {
  if (within(offset, bar0::HcaCap, bar0::HcaCapBytes)) {
    return dword_of(core_.capabilities(function), offset - bar0::HcaCap);
  }
  if (within(offset, bar0::HcaNicVportContext, bar0::HcaNicVportContextBytes)) {
    return dword_of(core_.vport(function), offset - bar0::HcaNicVportContext);
  }
  const auto unreadable = queue_.unreadable(function);
  const auto syndrome = unreadable ? health_syndrome::FetchError : health_syndrome::None;
  if (within(offset, bar0::Health, bar0::HealthBytes)) {
    health_buffer health;
    health.fw_version = bar0::FwRevReset;
    health.hw_id = PciDeviceIdPf;
    health.syndrome = syndrome;
    health.extended_syndrome = unreadable.value_or(0);
    return dword_of(health, offset - bar0::Health);
  }
  if (const auto rate = rate_at(offset)) {
    return core_.rp_read(function, *rate);
  }
  switch (offset) {
    case bar0::FwRev:
      return bar0::FwRevReset;
    case bar0::CmdifRevFwSub:
      return bar0::CmdifRevFwSubReset;
    case bar0::CmdqAddrH:
      return functions_[function].queue_high;
    case bar0::CmdqAddrLSz:
      return functions_[function].queue_low;
    case bar0::IcmBase:
      return function == 0 ? static_cast<std::uint32_t>(icm_base_ >> 32) : 0;
    case bar0::IcmBase + DwordBytes:
      return function == 0 ? static_cast<std::uint32_t>(icm_base_) : 0;
    case bar0::Initializing:
      return bar0::initializing_value{.initializing =
                                          initializing() ? std::uint8_t{1} : std::uint8_t{0}}
          .pack();
    case bar0::InternalTimer:
      return static_cast<std::uint32_t>(t >> 32);
    case bar0::InternalTimer + DwordBytes:
      return static_cast<std::uint32_t>(t);
    case bar0::HealthCounter:
      return bar0::health_counter_value{
          .syndrome = static_cast<std::uint8_t>(syndrome),
          .count = static_cast<std::uint32_t>(debug_.runs_for(t) / HealthCycles & HealthCountMask)}
          .pack();
    case bar0::FunctionNumber:
      return function;
    case bar0::InitState:
      return core_.init_state(function);
    default:
      return 0;
  }
}

std::optional<std::uint32_t> pcie_endpoint::read_dword(std::uint16_t function, std::uint8_t bar,
                                                       std::uint64_t offset, cycle_t t) const {
  if (access_at(bar, offset) == register_access::Wo) {
    return 0;
  }
  return bar == 0 ? read_function(function, offset, t) : debug_.read(offset, t);
}

bool pcie_endpoint::read_register(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                                  std::span<std::uint8_t> into, cycle_t t) const {
  if (function >= functions_.size() || (bar == 4 && function != 0) || offset % DwordBytes != 0 ||
      into.size() % DwordBytes != 0 || offset + into.size() > size_of(bar) ||
      space_.resetting(function)) {
    return false;
  }
  if (bar == 0 && msix_registers::holds(offset)) {
    msix_.read(function, offset, into, ports_.msix_pending_bits.read(t));
    return true;
  }
  for (std::size_t i = 0; i < into.size(); i += DwordBytes) {
    const auto value = read_dword(function, bar, offset + i, t);
    if (!value) {
      return false;
    }
    bytes::store_be<DwordBytes>(into.data() + i, *value);
  }
  return true;
}

bool pcie_endpoint::debug_read(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                               std::span<std::uint8_t> into) {
  return (bar == 0 || bar == 4) && read_register(function, bar, offset, into, context_.clock.now());
}

void pcie_endpoint::answer(const mmio_read& access, cycle_t t) {
  mmio_answer out;
  out.trace = access.trace;
  out.function = access.function;
  out.requester = access.requester;
  out.tag = access.tag;
  out.length = access.length;
  out.lower_address = static_cast<std::uint8_t>(access.offset & 0x7f);
  const bool shape = access.length == 4 || access.length == 8;
  if (!shape || !read_register(access.function, access.bar, access.offset,
                               std::span(out.data).first(access.length), t)) {
    out.status = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
    nic_.counters.add_for(access.function, access.bar == 4 && access.function != 0
                                               ? counter::Bar4Denied
                                               : counter::RegisterDenied);
  }
  ports_.answers.push(t, spec::RegisterRead, out);
}

bool pcie_endpoint::write_function(std::uint16_t function, std::uint64_t offset,
                                   std::uint32_t value, cycle_t t) {
  function_registers& mine = functions_[function];
  if (const auto rate = rate_at(offset)) {
    return write_rate(function, *rate, value);
  }
  switch (offset) {
    case bar0::CmdqAddrH:
      mine.queue_high = value;
      break;
    case bar0::CmdqAddrLSz:
      mine.queue_low = (value & QueueAddressMask) | bar0::CmdqAddrLSzReset;
      break;
    case bar0::CmdDbell:
      if (initializing()) {
        return false;
      }
      queue_.ring(function, value);
      return true;
    case bar0::IcmBase:
      return write_icm_base(function, std::uint64_t{value} << 32 | (icm_base_ & LowDword), t);
    case bar0::IcmBase + DwordBytes:
      return write_icm_base(function, (icm_base_ & ~LowDword) | value, t);
    default:
      return false;
  }
  queue_.place(function,
               std::uint64_t{mine.queue_high} << 32 | (mine.queue_low & QueueAddressMask));
  return true;
}

/// Contexts stay where they are while there can be any.
bool pcie_endpoint::write_icm_base(std::uint16_t function, std::uint64_t address, cycle_t t) {
  if (function != 0 || core_.init_state(0) == Initialised) {
    return false;
  }
  icm_base_ = address;
  if (ports_.icm_base != nullptr) {
    ports_.icm_base->write(t, icm_base_ & ~std::uint64_t{IcmPageBytes - 1});
  }
  return true;
}

bool pcie_endpoint::write_dword(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                                std::uint32_t value, cycle_t t) {
  return bar == 0 ? write_function(function, offset, value, t) : debug_.write(offset, value, t);
}

/// A write of which something is nowhere or read-only is ignored.
void pcie_endpoint::write(const mmio_write& access, cycle_t t) {
  if (access.function >= functions_.size() || (access.bar == 4 && access.function != 0) ||
      space_.resetting(access.function)) {
    nic_.counters.add_for(access.function,
                          access.bar == 4 ? counter::Bar4Denied : counter::RegisterDenied);
    return;
  }
  if (access.bar == 0 && msix_registers::holds(access.offset)) {
    const std::size_t bytes = std::min<std::size_t>(access.length, access.data.size());
    if (!msix_.write(access.function, access.offset, std::span(access.data).first(bytes))) {
      nic_.counters.add_for(access.function, counter::RegisterDenied);
    }
    return;
  }
  bool denied = access.offset % DwordBytes != 0 || access.length % DwordBytes != 0 ||
                access.length > access.data.size() ||
                access.offset + access.length > size_of(access.bar);
  for (std::uint64_t at = 0; !denied && at < access.length; at += DwordBytes) {
    denied = access_at(access.bar, access.offset + at) == register_access::Ro;
  }
  for (std::uint64_t at = 0; !denied && at < access.length; at += DwordBytes) {
    const auto value =
        static_cast<std::uint32_t>(bytes::load_be<DwordBytes>(access.data.data() + at));
    denied = !write_dword(access.function, access.bar, access.offset + at, value, t);
  }
  if (denied) {
    nic_.counters.add_for(access.function, counter::RegisterDenied);
  }
}

}  // namespace carillon
