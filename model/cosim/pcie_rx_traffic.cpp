#include "cosim/pcie_rx_traffic.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gen/stages.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_rx;

/// Offsets have 32 bits.
constexpr std::uint64_t LargestLog = 32;

template <class T, std::size_t N>
const T& one_of(random_stream& random, const std::array<T, N>& all) {
  return all[random.below(N)];
}

/// Changes the dword that every TLP begins with.
template <class Change>
void change_dw0(tlp& packet, Change change) {
  auto dw0 = tlp_dw0::unpack(packet.header.data());
  change(dw0);
  dw0.pack(packet.header.data());
}

template <class Layout, class Change>
void change(tlp& packet, Change how) {
  auto header = Layout::unpack(packet.header.data());
  how(header);
  header.pack(packet.header.data());
}

}  // namespace

// Maps
// -------------------------------------------------------------------------------------------------

bar_window pcie_rx_maps::window(std::uint64_t least, std::uint64_t most) {
  const std::uint64_t log = random_.between(least, random_.chance(1, 4) ? LargestLog : most);
  const std::uint64_t bytes = std::uint64_t{1} << log;
  constexpr std::array<unsigned, 4> Spaces = {32, 32, 44, 64};
  const unsigned space = one_of(random_, Spaces);
  // Behind the last one of all there is nothing, and VFs may have theirs there.
  const std::uint64_t base =
      (random_.chance(1, 16) ? ~std::uint64_t{0} : random_.next() >> (64 - space)) & ~(bytes - 1);
  return random_.chance(1, 24) ? bar_window{random_.chance(1, 2) ? base : 0, 0}
                               : bar_window{base, bytes};
}

void pcie_rx_maps::renew() {
  map_ = {};
  map_.pf = {window(12, 16), window(12, 24), window(12, 14)};
  map_.pf_memory_enable = true;
  map_.vf = {window(12, 16), window(12, 20)};
  map_.vf_memory_enable = true;
  constexpr std::array<std::uint16_t, 6> Vfs = {0, 1, 2, 7, 128, spec::Functions - 1};
  map_.vfs = random_.chance(1, 4) ? static_cast<std::uint16_t>(random_.below(spec::Functions))
                                  : one_of(random_, Vfs);
  map_.functions.resize(random_.chance(1, 2) ? spec::Functions : map_.vfs + 1U);
}

void pcie_rx_maps::reset_some() {
  for (unsigned i = 0; i < 8; ++i) {
    map_.functions[random_.below(map_.vfs + 1U)].resetting = random_.chance(3, 4);
  }
  map_.functions[0].resetting = random_.chance(1, 3);
  map_.functions[map_.vfs].resetting = random_.chance(1, 2);
}

const function_map& pcie_rx_maps::next() {
  if (map_.functions.empty()) {
    renew();
    return map_;
  }
  switch (random_.below(12)) {
    case 0:
      map_.pf_memory_enable = !map_.pf_memory_enable;
      break;
    case 1:
      map_.vf_memory_enable = !map_.vf_memory_enable;
      break;
    case 2:
      map_.pf[random_.below(map_.pf.size())] = window(12, 16);
      break;
    case 3:
      map_.vf[random_.below(map_.vf.size())] = window(12, 16);
      break;
    case 4:
    case 5:
      reset_some();
      break;
    case 6:
      for (function_enables& each : map_.functions) {
        each.resetting = false;
      }
      break;
    case 7:
      map_.functions.clear();  // not even a PF
      map_.vfs = 0;
      break;
    default:
      renew();
      break;
  }
  // What is off does not stay so for long.
  map_.pf_memory_enable = map_.pf_memory_enable || random_.chance(1, 2);
  map_.vf_memory_enable = map_.vf_memory_enable || random_.chance(1, 2);
  return map_;
}

// TLPs
// -------------------------------------------------------------------------------------------------

void pcie_rx_traffic::make(tlp& packet, const function_map& map) {
  if (storm_ == 0) {
    storm_ = random_.chance(1, 2) ? 1 : static_cast<unsigned>(random_.below(300));
    storm_kind_ = static_cast<unsigned>(random_.below(16));
    storm_bar_ = static_cast<unsigned>(random_.below(8));
  } else {
    --storm_;
  }
  for (std::size_t i = 0; i < packet.payload.size(); i += 8) {
    const std::uint64_t value = random_.next();
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&value), 8, packet.payload.data() + i);
  }
  switch (storm_ > 1 ? storm_kind_ : static_cast<unsigned>(random_.below(16))) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      write(packet, map);
      break;
    case 5:
    case 6:
    case 7:
      read(packet, map);
      break;
    case 8:
    case 9:
    case 10:
      completion(packet);
      break;
    case 11:
    case 12:
      config(packet);
      break;
    case 13:
      message(packet);
      break;
    case 14:
      other(packet, map);
      break;
    default:
      anything(packet);
      break;
  }
  if (random_.chance(1, 24)) {
    set_poisoned(packet);
  }
  if (random_.chance(1, 24)) {
    spoil(packet);
  }
}

pcie_rx_traffic::target pcie_rx_traffic::pick_bar(const function_map& map) {
  const auto which = storm_ > 1 && random_.chance(3, 4) ? storm_bar_ : random_.below(8);
  if (which < map.pf.size()) {
    return {map.pf[which].base, map.pf[which].bytes};
  }
  const bar_window& row = map.vf[which % VfBars];
  std::uint64_t vf = map.vfs == 0 ? 0 : random_.below(map.vfs);
  if (random_.chance(1, 4) && map.vfs != 0) {
    vf = map.vfs - 1U;
  }
  if (random_.chance(1, 8)) {
    // One that a reset may be about.
    for (std::uint64_t i = 0; i < map.vfs; ++i) {
      if (map.functions[i + 1].resetting) {
        vf = i;
      }
    }
  }
  if (random_.chance(1, 16)) {
    vf = map.vfs;
  }
  return {row.base + vf * row.bytes, row.bytes};
}

std::uint64_t pcie_rx_traffic::address(const function_map& map, std::uint32_t bytes) {
  const target bar = pick_bar(map);
  const std::uint64_t size = std::max<std::uint64_t>(bar.bytes, 4096);
  std::uint64_t at = bar.base;
  // A BAR that is not there has no first byte either.
  switch (bar.bytes == 0 && random_.chance(1, 2) ? 0 : random_.below(24)) {
    case 0:
      break;
    case 1:
      at += size - std::min<std::uint64_t>(size, std::max(bytes, 1U));
      break;
    case 2:
      at += size;  // behind it
      break;
    case 3:
      at -= std::min<std::uint64_t>(at, std::max(bytes, 1U));  // below it
      break;
    case 4:
      at = random_.next() >> random_.below(40);
      break;
    default:
      at += random_.below(size);
      break;
  }
  if (random_.chance(3, 4)) {
    at &= ~std::uint64_t{random_.chance(1, 2) ? 7U : 3U};
  }
  // Within a page.
  const std::uint64_t in_page = at % PageBoundaryBytes;
  return in_page + bytes > PageBoundaryBytes ? at - in_page + PageBoundaryBytes - bytes : at;
}

void pcie_rx_traffic::write(tlp& packet, const function_map& map) {
  constexpr std::array<std::uint32_t, 20> Lengths = {0,  1,  2,  3,  4,  4,  5,  7,  8,   8,
                                                     16, 32, 61, 62, 63, 64, 64, 65, 128, 256};
  std::uint32_t bytes = one_of(random_, Lengths);
  if (random_.chance(1, 3)) {
    bytes = static_cast<std::uint32_t>(random_.below(random_.chance(1, 5) ? 4097 : 68));
  }
  make_memory_write(packet, static_cast<std::uint16_t>(random_.next()), address(map, bytes),
                    nullptr, bytes);
  // What fill_payload has cleared.
  for (std::uint32_t i = 0; i < 4; ++i) {
    packet.payload[i] = static_cast<std::uint8_t>(random_.next());
    packet.payload[packet.payload_bytes - 4U + i] = static_cast<std::uint8_t>(random_.next());
  }
  lengthen_header(packet);
  if (random_.chance(1, 6)) {
    // Any enables, of which only those of one or two dwords are allowed.
    packet.header[7] = static_cast<std::uint8_t>(packet.payload_bytes == 4 ? random_.below(16)
                                                                           : random_.below(256));
  }
}

/// The header for 64-bit addresses may hold any address.
void pcie_rx_traffic::lengthen_header(tlp& packet) {
  if (packet.header_bytes != tlp_mem32::Size || !random_.chance(1, 4)) {
    return;
  }
  std::copy_n(packet.header.begin() + 8, 4, packet.header.begin() + 12);
  std::fill_n(packet.header.begin() + 8, 4, std::uint8_t{0});
  packet.header_bytes = tlp_mem64::Size;
  change_dw0(packet, [](tlp_dw0& dw0) {
    dw0.fmt = dw0.fmt == tlp_fmt::Dw3Data ? tlp_fmt::Dw4Data : tlp_fmt::Dw4;
  });
}

void pcie_rx_traffic::read(tlp& packet, const function_map& map) {
  constexpr std::array<std::uint32_t, 16> Lengths = {4, 4, 4, 4, 4, 4, 8,  8,
                                                     8, 8, 8, 8, 0, 2, 16, 4096};
  std::uint32_t bytes = one_of(random_, Lengths);
  if (random_.chance(1, 16)) {
    bytes = static_cast<std::uint32_t>(random_.below(4097));
  } else if (random_.chance(1, 8)) {
    // Differs from what is served in one bit.
    bytes = (random_.chance(1, 2) ? 4U : 8U) ^ 1U << random_.below(12);
  }
  make_memory_read(packet, static_cast<std::uint16_t>(random_.next()),
                   static_cast<std::uint16_t>(random_.below(1024)), address(map, bytes), bytes);
  lengthen_header(packet);
  if (random_.chance(1, 16)) {
    packet.header[7] = static_cast<std::uint8_t>(random_.below(256));
  }
}

void pcie_rx_traffic::completion(tlp& packet) {
  constexpr std::array<std::uint32_t, 12> Lengths = {0,   4,   8,   64,  64,   65,
                                                     128, 256, 512, 512, 1024, 4096};
  std::uint32_t bytes = one_of(random_, Lengths);
  if (random_.chance(1, 8)) {
    bytes = static_cast<std::uint32_t>(random_.below(4090));
  }
  const auto lower = static_cast<std::uint8_t>(bytes > 4090 ? 0 : random_.below(128));
  constexpr std::array Statuses = {
      completion_status::Success,     completion_status::Success,
      completion_status::Success,     completion_status::UnsupportedRequest,
      completion_status::ConfigRetry, completion_status::CompleterAbort};
  make_completion(
      packet, static_cast<std::uint16_t>(random_.next()),
      static_cast<std::uint16_t>(random_.next()), static_cast<std::uint16_t>(random_.below(1024)),
      one_of(random_, Statuses),
      random_.chance(1, 8) ? 4096 : static_cast<std::uint32_t>(random_.between(1, 4096)), lower,
      nullptr, bytes);
  if (random_.chance(1, 24)) {
    change<tlp_cpl>(packet, [this](tlp_cpl& cpl) {
      cpl.status = static_cast<completion_status>(random_.below(8));
    });
  }
  if (random_.chance(1, 32)) {
    change_dw0(packet, [](tlp_dw0& dw0) { dw0.kind = tlp_type::CompletionLocked; });
  }
}

void pcie_rx_traffic::config(tlp& packet) {
  const auto requester = static_cast<std::uint16_t>(random_.next());
  const auto tag = static_cast<std::uint16_t>(random_.below(1024));
  const auto destination = static_cast<std::uint16_t>(random_.next());
  const auto offset = static_cast<std::uint16_t>(random_.below(1024) * 4);
  const auto enables = static_cast<std::uint8_t>(random_.below(16));
  if (random_.chance(1, 2)) {
    make_config_read(packet, requester, tag, destination, offset, enables);
  } else {
    make_config_write(packet, requester, tag, destination, offset,
                      static_cast<std::uint32_t>(random_.next()), enables);
  }
  if (random_.chance(1, 4)) {
    set_other_bus(packet);
  }
}

void pcie_rx_traffic::message(tlp& packet) {
  constexpr std::array Kinds = {tlp_type::MessageToRoot, tlp_type::MessageByAddress,
                                tlp_type::MessageById,   tlp_type::MessageBroadcast,
                                tlp_type::MessageLocal,  tlp_type::MessageGathered};
  tlp_msg header;
  const bool data = random_.chance(1, 3);
  header.fmt = data ? tlp_fmt::Dw4Data : tlp_fmt::Dw4;
  header.kind = one_of(random_, Kinds);
  header.length = static_cast<std::uint16_t>(data ? random_.between(1, 64) : 0);
  header.requester = static_cast<std::uint16_t>(random_.next());
  header.tag = static_cast<std::uint8_t>(random_.next());
  header.code = static_cast<std::uint8_t>(random_.next());
  header.pack(packet.header.data());
  packet.header_bytes = tlp_msg::Size;
  packet.flow = tlp_class::posted;
  packet.payload_bytes = data ? static_cast<std::uint16_t>(4 * header.length) : 0;
}

/// Requests as those for memory, but of a type that nobody serves.
void pcie_rx_traffic::other(tlp& packet, const function_map& map) {
  constexpr std::array Kinds = {tlp_type::MemoryLocked, tlp_type::Io, tlp_type::FetchAdd,
                                tlp_type::Swap, tlp_type::CompareSwap};
  if (random_.chance(1, 2)) {
    write(packet, map);
    change_dw0(packet, [this](tlp_dw0& dw0) { dw0.t8 = random_.chance(1, 2) ? 1 : 0; });
    packet.header[6] = static_cast<std::uint8_t>(random_.next());
  } else {
    read(packet, map);
  }
  packet.flow = tlp_class::non_posted;
  const tlp_type kind = one_of(random_, Kinds);
  change_dw0(packet, [kind](tlp_dw0& dw0) { dw0.kind = kind; });
}

void pcie_rx_traffic::anything(tlp& packet) {
  for (auto& each : packet.header) {
    each = static_cast<std::uint8_t>(random_.next());
  }
  change_dw0(packet, [this](tlp_dw0& dw0) {
    dw0.fmt = static_cast<tlp_fmt>(random_.below(random_.chance(1, 8) ? 8 : 4));
    dw0.length = static_cast<std::uint16_t>(random_.below(random_.chance(1, 4) ? 1024 : 32));
  });
  const auto dw0 = tlp_dw0::unpack(packet.header.data());
  const bool four = (static_cast<unsigned>(dw0.fmt) & 1) != 0;
  const bool data = (static_cast<unsigned>(dw0.fmt) & 2) != 0;
  packet.header_bytes = four ? tlp_mem64::Size : tlp_mem32::Size;
  packet.payload_bytes =
      data ? static_cast<std::uint16_t>(dw0.length == 0 ? 4096 : 4 * dw0.length) : 0;
  packet.flow = static_cast<tlp_class>(random_.below(3));
}

/// A bit of the header is turned, or the framing says something else.
void pcie_rx_traffic::spoil(tlp& packet) {
  switch (random_.below(6)) {
    case 0:
      packet.header_bytes = static_cast<std::uint8_t>(
          random_.chance(1, 2) ? 28 - packet.header_bytes : 4 * random_.below(16));
      break;
    case 1:
      packet.payload_bytes =
          static_cast<std::uint16_t>(4 * random_.below(random_.chance(1, 2) ? 32 : 1025));
      break;
    case 2:
      // To the end of its page, if that is an address.
      packet.header[packet.header_bytes - 2U] |= 0x0f;
      packet.header[packet.header_bytes - 1U] |= 0xfc;
      break;
    default:
      packet.header[random_.below(16)] ^= static_cast<std::uint8_t>(1U << random_.below(8));
      break;
  }
}

}  // namespace carillon
