#include "pcie_endpoint/config_space.h"

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "gen/pci.h"
#include "gen/registers.h"

namespace carillon {

namespace {

constexpr unsigned DwordBytes = 4;
constexpr std::uint32_t AllOnes = 0xffffffff;
/// What a BAR says of itself.
constexpr std::uint32_t Bar64 = 0x4;
constexpr std::uint32_t BarPrefetchable = 0x8;
constexpr std::array<bool, BarNumbers.size()> Prefetchable = {false, true, false};
constexpr unsigned LogPageBytes = 12;
constexpr unsigned LinkBitsAt = 4;

constexpr std::size_t dword(std::uint16_t offset) {
  return offset / DwordBytes;
}

constexpr unsigned shift(std::uint16_t offset) {
  return 8 * (offset % DwordBytes);
}

constexpr std::uint32_t ones(unsigned bytes) {
  return bytes == DwordBytes ? AllOnes : (1U << (8 * bytes)) - 1;
}

/// Code n for 128 << n bytes.
constexpr std::uint32_t size_code(std::uint16_t bytes) {
  return static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(bytes) / 128));
}

std::uint16_t bytes_of_code(std::uint8_t code) {
  return static_cast<std::uint16_t>(128U << std::min<unsigned>(code, 5));
}

/// The bit of the error in the uncorrectable status register; 0 if it has none.
std::uint32_t uncorrectable(pcie_error_kind kind) {
  pci_aer::uncorrectable_status_value status;
  switch (kind) {
    case pcie_error_kind::unsupported_request:
      status.unsupported_request = 1;
      break;
    case pcie_error_kind::poisoned_request:
    case pcie_error_kind::poisoned_completion:
      status.poisoned = 1;
      break;
    case pcie_error_kind::completion_timeout:
      status.completion_timeout = 1;
      break;
    case pcie_error_kind::unexpected_completion:
      status.unexpected_completion = 1;
      break;
    case pcie_error_kind::refused:
    case pcie_error_kind::aborted:
      break;
  }
  return status.pack();
}

/// Its bits in the header's status register.
std::uint16_t legacy(pcie_error_kind kind) {
  pci_header::status_value status;
  switch (kind) {
    case pcie_error_kind::poisoned_request:
      status.detected_parity_error = 1;
      break;
    case pcie_error_kind::poisoned_completion:
      status.detected_parity_error = 1;
      status.master_data_parity_error = 1;
      break;
    case pcie_error_kind::refused:
      status.received_master_abort = 1;
      break;
    case pcie_error_kind::aborted:
      status.received_target_abort = 1;
      break;
    case pcie_error_kind::unsupported_request:
    case pcie_error_kind::completion_timeout:
    case pcie_error_kind::unexpected_completion:
      break;
  }
  return status.pack();
}

}  // namespace

config_space::config_space(const config_shape& shape)
    : shape_(shape),
      pf_rules_(lay_out(false)),
      vf_rules_(lay_out(true)),
      resetting_(shape.total_vfs + std::size_t{1}) {
  adapt_pf();
  for (rules* of : {&pf_rules_, &vf_rules_}) {
    pci_express::device_capabilities_value device = pci_express::device_capabilities_value::unpack(
        of->reset.value[dword(pci_express::DeviceCapabilities)]);
    device.max_payload = static_cast<std::uint8_t>(size_code(shape_.max_payload));
    set_reset(*of, pci_express::DeviceCapabilities, 4, device.pack());
    pci_express::link_capabilities_value link = pci_express::link_capabilities_value::unpack(
        of->reset.value[dword(pci_express::LinkCapabilities)]);
    link.width = shape_.link_width;
    link.speed = shape_.link_generation;
    set_reset(*of, pci_express::LinkCapabilities, 4, link.pack());
    set_reset(*of, pci_express::LinkCapabilities2, 4, ((1U << shape_.link_generation) - 1) << 1);
    pci_msix::control_value vectors;
    vectors.last_vector = static_cast<std::uint16_t>(shape_.msix_vectors - 1);
    set_reset(*of, pci_msix::Control, 2, vectors.pack());
  }
  images_.assign(resetting_.size(), vf_rules_.reset);
  images_[0] = pf_rules_.reset;
  size_vf_bars();
}

config_space::rules config_space::lay_out(bool vf) {
  rules result;
  for (const config_register_desc& each : ConfigRegisterTable) {
    if (vf && !each.vf) {
      continue;
    }
    const std::size_t at = dword(each.offset);
    CARILLON_CHECK(at < Dwords, "configuration register {} at {:#x} is beyond what is kept",
                   each.name, each.offset);
    const unsigned by = shift(each.offset);
    result.reset.value[at] |= (vf ? each.vf_reset : each.reset) << by;
    result.writable.value[at] |= (vf ? each.vf_writable : each.writable) << by;
    result.clearable.value[at] |= (vf ? each.vf_clearable : each.clearable) << by;
    result.sticky.value[at] |= each.sticky << by;
  }
  return result;
}

void config_space::set_reset(rules& of, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
  std::uint32_t& word = of.reset.value[dword(offset)];
  word = (word & ~(ones(bytes) << shift(offset))) | value << shift(offset);
}

/// What only the PF has, and what of it depends on the chip.
void config_space::adapt_pf() {
  pci_express::link_status_value link;
  link.slot_clock = 1;
  link.width = shape_.link_width;
  link.speed = shape_.link_generation;
  set_reset(pf_rules_, pci_express::LinkStatus, 2, link.pack());
  set_reset(pf_rules_, pci_express::LinkControl2, 2, shape_.link_generation);
  size_bars(pf_rules_, pci_header::Bar0, shape_.pf_bars.size(), shape_.pf_bars.data());
  set_reset(pf_rules_, pci_sriov::InitialVfs, 2, shape_.total_vfs);
  set_reset(pf_rules_, pci_sriov::TotalVfs, 2, shape_.total_vfs);
  if (shape_.total_vfs == 0) {
    // The list goes on behind the capability, as a VF's does.
    set_reset(pf_rules_, pci_ari::Header, 4, vf_rules_.reset.value[dword(pci_ari::Header)]);
    for (std::size_t i = dword(pci_sriov::At); i < dword(pci_ats::At); ++i) {
      pf_rules_.reset.value[i] = 0;
      pf_rules_.writable.value[i] = 0;
    }
  }
}

/// A BAR can be written where its address has to be aligned: the ones that can be read back say how
/// large it is.
void config_space::size_bars(rules& of, std::uint16_t first, std::size_t count,
                             const std::uint64_t* sizes) {
  for (std::size_t i = 0; i < count; ++i) {
    CARILLON_CHECK(std::has_single_bit(sizes[i]) && sizes[i] >= 16, "a BAR of {} bytes", sizes[i]);
    const std::uint64_t mask = ~(sizes[i] - 1);
    const std::size_t at = dword(first) + 2 * i;
    of.reset.value[at] = Bar64 | (Prefetchable[i] ? BarPrefetchable : 0);
    of.writable.value[at] = static_cast<std::uint32_t>(mask);
    of.writable.value[at + 1] = static_cast<std::uint32_t>(mask >> 32);
  }
}

/// VF BARs are as large as the system's pages at least, so that no page is two VFs'.
void config_space::size_vf_bars() {
  if (shape_.total_vfs == 0) {
    return;
  }
  const std::array<std::uint64_t, VfBars> sizes = {vf_bar_bytes(0), vf_bar_bytes(1)};
  size_bars(pf_rules_, pci_sriov::Bar0, sizes.size(), sizes.data());
  for (std::size_t i = 0; i < 2 * sizes.size(); ++i) {
    const std::size_t at = dword(pci_sriov::Bar0) + i;
    std::uint32_t& word = images_[0].value[at];
    word = (word & pf_rules_.writable.value[at]) | pf_rules_.reset.value[at];
  }
}

std::uint64_t config_space::vf_bar_bytes(std::size_t index) const {
  const std::uint32_t pages = get(0, pci_sriov::SystemPageSize, 4);
  const std::uint64_t page = std::uint64_t{pages} << LogPageBytes;
  return std::max(shape_.vf_bars[index], page);
}

// Who is there

bool config_space::vf_enable() const {
  return shape_.total_vfs != 0 &&
         pci_sriov::control_value::unpack(static_cast<std::uint16_t>(get(0, pci_sriov::Control, 2)))
                 .vf_enable != 0;
}

std::uint16_t config_space::vfs() const {
  return vf_enable() ? static_cast<std::uint16_t>(get(0, pci_sriov::NumVfs, 2)) : 0;
}

std::optional<std::uint16_t> config_space::find(std::uint16_t routing_id, bool local) const {
  const unsigned pf_id = unsigned{bus_} << 8;
  // On the link's bus, the number of which a request of type 0 may be the first to tell.
  const unsigned index = local ? routing_id & 0xffU : routing_id - pf_id;
  if (!local && (routing_id >> 8) <= bus_) {
    return std::nullopt;
  }
  if (index == 0) {
    return 0;
  }
  if (shape_.total_vfs == 0) {
    return std::nullopt;
  }
  const std::uint32_t first = get(0, pci_sriov::FirstVfOffset, 2);
  const std::uint32_t stride = get(0, pci_sriov::VfStride, 2);
  if (index < first || (index - first) % stride != 0 || (index - first) / stride >= vfs()) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>((index - first) / stride + 1);
}

bool config_space::capture_bus(std::uint8_t bus) {
  const bool changes = bus != bus_;
  bus_ = bus;
  return changes;
}

// Accesses

std::uint32_t config_space::get(std::uint16_t function, std::uint16_t offset,
                                unsigned bytes) const {
  return (images_[function].value[dword(offset)] >> shift(offset)) & ones(bytes);
}

/// Sets bits of the dword that holds `offset`, seen from there.
void config_space::set(std::uint16_t function, std::uint16_t offset, std::uint32_t bits) {
  images_[function].value[dword(offset)] |= bits << shift(offset);
}

std::uint32_t config_space::read(std::uint16_t function, std::uint16_t offset) const {
  const std::size_t at = dword(offset);
  return at < Dwords ? images_[function].value[at] : 0;
}

config_space::effects config_space::write(std::uint16_t function, std::uint16_t offset,
                                          std::uint32_t value, std::uint8_t enables) {
  effects done;
  const std::size_t at = dword(offset);
  if (at >= Dwords) {
    return done;
  }
  std::uint32_t enabled = 0;
  for (unsigned i = 0; i < DwordBytes; ++i) {
    enabled |= ((enables >> i) & 1) != 0 ? 0xffU << (8 * i) : 0;
  }
  const rules& law = rules_of(function);
  const std::uint32_t writable = law.writable.value[at] & enabled;
  const std::uint32_t cleared = law.clearable.value[at] & enabled & value;
  const std::uint32_t before = images_[function].value[at];
  std::uint32_t after = ((before & ~writable) | (value & writable)) & ~cleared;
  const std::uint16_t aligned = offset & ~std::uint16_t{DwordBytes - 1};
  if (function == 0) {
    after = guard_sriov(aligned, before, after);
  }
  const std::uint16_t vfs_before = vfs();
  images_[function].value[at] = after;
  if (function == 0 && aligned == pci_sriov::SystemPageSize && before != after) {
    size_vf_bars();
  }
  if (aligned == (pci_express::DeviceControl & ~3U)) {
    const auto control =
        pci_express::device_control_value::unpack(static_cast<std::uint16_t>(value & enabled));
    if (control.function_level_reset != 0) {
      done.reset = function;
    }
  }
  if (function == 0 && aligned == (pci_sriov::Control & ~3U) && vfs_before != vfs()) {
    if (vfs_before != 0) {
      done.vfs_vanishing = vfs_before;
    }
    for (std::uint16_t i = 1; i <= shape_.total_vfs; ++i) {
      images_[i] = vf_rules_.reset;
    }
  }
  done.map = before != after;
  return done;
}

/// NumVFs and the page size stay while VF Enable is set, NumVFs never exceeds TotalVFs, and a page
/// size is one that is supported: anything else is undefined by the rules, and ignored here.
std::uint32_t config_space::guard_sriov(std::uint16_t offset, std::uint32_t before,
                                        std::uint32_t after) const {
  if (shape_.total_vfs == 0) {
    return after;
  }
  if (offset == (pci_sriov::NumVfs & ~3U)) {
    const std::uint32_t count = (after >> shift(pci_sriov::NumVfs)) & ones(2);
    return vf_enable() || count > shape_.total_vfs ? before : after;
  }
  if (offset == pci_sriov::SystemPageSize) {
    const bool supported =
        std::has_single_bit(after) && (after & get(0, pci_sriov::SupportedPageSizes, 4)) != 0;
    return vf_enable() || !supported ? before : after;
  }
  return after;
}

// Reset

void config_space::begin_reset(std::uint16_t function) {
  const rules& law = rules_of(function);
  image& mine = images_[function];
  for (std::size_t i = 0; i < Dwords; ++i) {
    mine.value[i] =
        (mine.value[i] & law.sticky.value[i]) | (law.reset.value[i] & ~law.sticky.value[i]);
  }
  resetting_[function] = true;
  ++resets_;
  if (function == 0) {
    size_vf_bars();
  }
}

void config_space::end_reset(std::uint16_t function) {
  resetting_[function] = false;
}

// Errors

void config_space::report(std::uint16_t function, pcie_error_kind kind) {
  set(function, pci_header::Status, legacy(kind));
  const std::uint32_t bit = uncorrectable(kind);
  if (bit == 0) {
    return;
  }
  note_first_error(function, bit);
  set(function, pci_aer::UncorrectableStatus, bit);
  // Severity is the PF's for all functions.
  const bool fatal = (get(0, pci_aer::UncorrectableSeverity, 4) & bit) != 0;
  pci_express::device_status_value status;
  status.unsupported_request = kind == pcie_error_kind::unsupported_request ? 1 : 0;
  status.fatal_error = fatal ? 1 : 0;
  status.nonfatal_error = fatal ? 0 : 1;
  set(function, pci_express::DeviceStatus, status.pack());
}

/// Of the errors that are not masked, the first since they were all cleared.
void config_space::note_first_error(std::uint16_t function, std::uint32_t status) {
  const std::uint32_t mask = get(0, pci_aer::UncorrectableMask, 4);
  const std::uint32_t noted = get(function, pci_aer::UncorrectableStatus, 4) & ~mask;
  if (noted != 0 || (status & ~mask) == 0) {
    return;
  }
  std::uint32_t& word = images_[function].value[dword(pci_aer::Control)];
  pci_aer::control_value control;
  control.first_error = static_cast<std::uint8_t>(std::countr_zero(status));
  pci_aer::control_value field;
  field.first_error = 0x1f;
  word = (word & ~field.pack()) | control.pack();
}

// The map

std::uint64_t config_space::bar(std::uint16_t offset) const {
  const std::uint64_t low = get(0, offset, 4) & ~std::uint64_t{0xf};
  return std::uint64_t{get(0, offset + DwordBytes, 4)} << 32 | low;
}

function_map config_space::map() const {
  const auto command_of = [this](std::uint16_t function) {
    return pci_header::command_value::unpack(
        static_cast<std::uint16_t>(get(function, pci_header::Command, 2)));
  };
  function_map result;
  for (std::size_t i = 0; i < result.pf.size(); ++i) {
    result.pf[i] = {bar(static_cast<std::uint16_t>(pci_header::Bar0 + 8 * i)), shape_.pf_bars[i]};
  }
  result.pf_memory_enable = command_of(0).memory_enable != 0;
  result.pf_id = static_cast<std::uint16_t>(bus_ << 8);
  if (shape_.total_vfs != 0) {
    for (std::size_t i = 0; i < result.vf.size(); ++i) {
      result.vf[i] = {bar(static_cast<std::uint16_t>(pci_sriov::Bar0 + 8 * i)), vf_bar_bytes(i)};
    }
    result.vfs = vfs();
    const auto control =
        pci_sriov::control_value::unpack(static_cast<std::uint16_t>(get(0, pci_sriov::Control, 2)));
    result.vf_memory_enable = control.vf_memory_enable != 0;
    result.first_vf_offset = static_cast<std::uint16_t>(get(0, pci_sriov::FirstVfOffset, 2));
    result.vf_stride = static_cast<std::uint16_t>(get(0, pci_sriov::VfStride, 2));
  }
  result.functions.resize(images_.size());
  for (std::uint16_t i = 0; i < images_.size(); ++i) {
    const auto vectors =
        pci_msix::control_value::unpack(static_cast<std::uint16_t>(get(i, pci_msix::Control, 2)));
    result.functions[i] = {.bus_master = command_of(i).bus_master != 0,
                           .resetting = resetting_[i],
                           .msix_enable = vectors.enable != 0,
                           .msix_mask = vectors.function_mask != 0};
  }
  result.resets = resets_;
  const auto control = pci_express::device_control_value::unpack(
      static_cast<std::uint16_t>(get(0, pci_express::DeviceControl, 2)));
  const auto more = pci_express::device_control2_value::unpack(
      static_cast<std::uint16_t>(get(0, pci_express::DeviceControl2, 2)));
  result.max_payload = bytes_of_code(control.max_payload);
  result.max_read = bytes_of_code(control.max_read_request);
  result.relaxed_ordering = control.relaxed_ordering != 0;
  result.tags = more.ten_bit_tags != 0 ? 1024 : control.extended_tags != 0 ? 256 : 32;
  return result;
}

}  // namespace carillon
