#include "pcie_endpoint/debug_registers.h"

#include "common/crc32.h"
#include "gen/bytes.h"

namespace carillon {

namespace {

constexpr std::uint64_t DwordBytes = 4;

cycle_t cycles_of(std::int64_t ns, std::int64_t period_ps) {
  return static_cast<cycle_t>((ns * 1000 + period_ps - 1) / period_ps);
}

}  // namespace

debug_registers::debug_registers(const parameters& params)
    : sram_(static_cast<std::size_t>(params.nic.sram_bytes)),
      firmware_(params.nic.firmware == nic_firmware::Flash ? firmware_state::Running
                                                           : firmware_state::None),
      trained_(cycles_of(params.pcie.training_ns, params.core.clock_period_ps)),
      width_(static_cast<std::uint8_t>(params.pcie.width)),
      generation_(static_cast<std::uint8_t>(params.pcie.generation)) {}

std::optional<std::uint32_t> debug_registers::read(std::uint64_t offset, cycle_t t) const {
  if (offset >= bar4::SramWindow && offset < bar4::SramWindow + bar4::SramWindowBytes) {
    const auto at = place(offset);
    if (!at) {
      return std::nullopt;
    }
    return static_cast<std::uint32_t>(bytes::load_be<DwordBytes>(sram_.data() + *at));
  }
  switch (offset) {
    case bar4::FwStatus:
      return bar4::fw_status_value{.state = static_cast<std::uint8_t>(firmware_)}.pack();
    case bar4::FwLength:
      return length_;
    case bar4::FwCrc:
      return crc_;
    case bar4::LinkStatus:
      return link_status(t);
    case bar4::SramSize:
      return static_cast<std::uint32_t>(sram_.size());
    case bar4::SramAddress:
      return address_;
    default:
      return 0;
  }
}

bool debug_registers::write(std::uint64_t offset, std::uint32_t value, cycle_t t) {
  switch (offset) {
    case bar4::FwControl:
      return control(bar4::fw_control_value::unpack(value), t);
    case bar4::FwLength:
      length_ = value;
      return true;
    case bar4::FwCrc:
      crc_ = value;
      return true;
    case bar4::SramAddress:
      address_ = value;
      return true;
    default:
      break;
  }
  if (offset < bar4::SramWindow || offset >= bar4::SramWindow + bar4::SramWindowBytes) {
    return false;
  }
  const auto at = place(offset);
  if (at) {
    bytes::store_be<DwordBytes>(sram_.data() + *at, value);
  }
  return at.has_value();
}

bool debug_registers::control(bar4::fw_control_value command, cycle_t t) {
  if (command.load != 0) {
    if (firmware_ == firmware_state::Running) {
      return false;
    }
    firmware_ = firmware_state::Loading;
    return true;
  }
  if (command.boot == 0 || firmware_ != firmware_state::Loading) {
    return false;
  }
  const bool right =
      length_ != 0 && length_ <= sram_.size() && crc32_of(sram_.data(), length_) == crc_;
  firmware_ = right ? firmware_state::Running : firmware_state::BadChecksum;
  running_since_ = t;
  return true;
}

std::optional<std::uint64_t> debug_registers::place(std::uint64_t offset) const {
  const std::uint64_t at = address_ + (offset - bar4::SramWindow);
  return at + DwordBytes <= sram_.size() ? std::optional(at) : std::nullopt;
}

std::uint32_t debug_registers::link_status(cycle_t t) const {
  const bool up = t >= trained_;
  bar4::link_status_value status;
  status.ltssm = static_cast<std::uint8_t>(up ? ltssm_state::L0 : ltssm_state::Polling);
  status.width = up ? width_ : 0;
  status.generation = up ? generation_ : 0;
  return status.pack();
}

}  // namespace carillon
