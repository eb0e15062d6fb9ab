#include "common/tlp_codec.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint64_t FourGigabytes = std::uint64_t{1} << 32;
constexpr std::uint16_t MaxLengthDw = 1024;

bool contiguous(unsigned mask) {
  const unsigned low = mask & (~mask + 1);
  return ((mask + low) & mask) == 0;
}

/// Enables may have holes in requests of one dword, and of two that form an aligned quadword.
bool enables_allowed(const tlp_header& x) {
  if (x.length_dw == 1) {
    return x.last_be == 0;
  }
  if (x.first_be == 0 || x.last_be == 0) {
    return false;
  }
  if (x.length_dw == 2 && x.address % 8 == 0) {
    return true;
  }
  // From some byte on in the first dword, up to some byte in the last.
  return contiguous(x.first_be) && (x.first_be & 8) != 0 && contiguous(x.last_be) &&
         (x.last_be & 1) != 0;
}

/// The fields that all layouts of requests share.
template <class Layout>
void take_request(tlp_header& x, const Layout& from) {
  x.requester = from.requester;
  x.tag = static_cast<std::uint16_t>(from.t9 << 9 | from.t8 << 8 | from.tag);
}

template <class Layout>
void put_tag(Layout& layout, std::uint16_t tag) {
  layout.t9 = static_cast<std::uint8_t>((tag >> 9) & 1);
  layout.t8 = static_cast<std::uint8_t>((tag >> 8) & 1);
  layout.tag = static_cast<std::uint8_t>(tag);
}

void decode_memory(tlp_header& x, const tlp& packet) {
  x.kind = x.has_data ? tlp_kind::memory_write : tlp_kind::memory_read;
  if (x.four_dw) {
    const auto mem = tlp_mem64::unpack(packet.header.data());
    take_request(x, mem);
    x.first_be = mem.first_be;
    x.last_be = mem.last_be;
    x.address =
        std::uint64_t{mem.address_63_32} << 32 | static_cast<std::uint64_t>(mem.address_31_2) << 2;
  } else {
    const auto mem = tlp_mem32::unpack(packet.header.data());
    take_request(x, mem);
    x.first_be = mem.first_be;
    x.last_be = mem.last_be;
    x.address = static_cast<std::uint64_t>(mem.address_31_2) << 2;
  }
  if (!enables_allowed(x)) {
    x.fault = tlp_fault::byte_enables;
  } else if (x.address % PageBoundaryBytes + 4U * x.length_dw > PageBoundaryBytes) {
    x.fault = tlp_fault::page_crossing;
  }
}

void decode_completion(tlp_header& x, const tlp& packet) {
  if (x.four_dw) {
    x.fault = tlp_fault::reserved_code;
    return;
  }
  const auto cpl = tlp_cpl::unpack(packet.header.data());
  x.kind = tlp_kind::completion;
  take_request(x, cpl);
  x.completer = cpl.completer;
  x.status = cpl.status;
  x.byte_count = cpl.byte_count == 0 ? 4096 : cpl.byte_count;
  x.lower_address = cpl.lower_address;
  if (!x.has_data) {
    x.length_dw = 0;
  }
}

void decode_config(tlp_header& x, const tlp& packet) {
  if (x.four_dw) {
    x.fault = tlp_fault::reserved_code;
    return;
  }
  const auto cfg = tlp_cfg::unpack(packet.header.data());
  x.kind = x.has_data ? tlp_kind::config_write : tlp_kind::config_read;
  take_request(x, cfg);
  x.first_be = cfg.first_be;
  x.last_be = cfg.last_be;
  x.destination = cfg.destination;
  x.config_register = static_cast<std::uint16_t>(cfg.register_11_2 << 2);
  x.other_bus = cfg.kind == tlp_type::Config1;
  if (x.length_dw != 1) {
    x.fault = tlp_fault::payload_length;
  } else if (x.last_be != 0) {
    x.fault = tlp_fault::byte_enables;
  }
}

void decode_message(tlp_header& x, const tlp& packet) {
  if (!x.four_dw) {
    x.fault = tlp_fault::reserved_code;
    return;
  }
  const auto msg = tlp_msg::unpack(packet.header.data());
  x.kind = tlp_kind::message;
  take_request(x, msg);
  x.message_code = msg.code;
}

tlp_fmt format(bool four_dw, bool data) {
  if (four_dw) {
    return data ? tlp_fmt::Dw4Data : tlp_fmt::Dw4;
  }
  return data ? tlp_fmt::Dw3Data : tlp_fmt::Dw3;
}

void build_memory(tlp& packet, bool write, std::uint16_t requester, std::uint16_t tag,
                  std::uint64_t address, std::uint32_t bytes) {
  CARILLON_CHECK(address % PageBoundaryBytes + bytes <= PageBoundaryBytes,
                 "a request of {} bytes at {:#x} crosses a page", bytes, address);
  const byte_enables enables = enables_for(address, bytes);
  const auto fill = [&](auto& mem) {
    mem.kind = tlp_type::Memory;
    mem.length = enables.length_dw % MaxLengthDw;
    mem.requester = requester;
    put_tag(mem, tag);
    mem.first_be = enables.first;
    mem.last_be = enables.last;
    mem.address_31_2 = static_cast<std::uint32_t>((address >> 2) & 0x3fff'ffff);
  };
  if (address < FourGigabytes) {
    tlp_mem32 mem;
    mem.fmt = format(false, write);
    fill(mem);
    mem.pack(packet.header.data());
    packet.header_bytes = tlp_mem32::Size;
  } else {
    tlp_mem64 mem;
    mem.fmt = format(true, write);
    fill(mem);
    mem.address_63_32 = static_cast<std::uint32_t>(address >> 32);
    mem.pack(packet.header.data());
    packet.header_bytes = tlp_mem64::Size;
  }
  packet.flow = write ? tlp_class::posted : tlp_class::non_posted;
  packet.payload_bytes = write ? static_cast<std::uint16_t>(4U * enables.length_dw) : 0;
}

/// Copies data behind the bytes of its first dword that it leaves out; those and the ones at the
/// end are zero, so that equal packets have equal bytes.
void fill_payload(tlp& packet, unsigned lead, const std::uint8_t* data, std::uint32_t bytes) {
  if (packet.payload_bytes == 0) {
    return;
  }
  std::memset(packet.payload.data(), 0, lead);
  std::memset(packet.payload.data() + packet.payload_bytes - 4, 0, 4);
  if (lead != 0) {
    std::memset(packet.payload.data(), 0, 4);
  }
  if (data != nullptr && bytes != 0) {
    std::memcpy(packet.payload.data() + lead, data, bytes);
  }
}

void build_config(tlp& packet, bool write, std::uint16_t requester, std::uint16_t tag,
                  std::uint16_t destination, std::uint16_t offset, std::uint8_t enables) {
  tlp_cfg cfg;
  cfg.fmt = format(false, write);
  cfg.kind = tlp_type::Config0;
  cfg.length = 1;
  cfg.requester = requester;
  put_tag(cfg, tag);
  cfg.first_be = enables;
  cfg.destination = destination;
  cfg.register_11_2 = static_cast<std::uint16_t>((offset >> 2) & 0x3ff);
  cfg.pack(packet.header.data());
  packet.header_bytes = tlp_cfg::Size;
  packet.flow = tlp_class::non_posted;
  packet.payload_bytes = write ? 4 : 0;
}

/// Changes the dword that every TLP begins with.
template <class Change>
void change_dw0(tlp& packet, Change change) {
  auto dw0 = tlp_dw0::unpack(packet.header.data());
  change(dw0);
  dw0.pack(packet.header.data());
}

}  // namespace

const char* to_string(tlp_kind kind) {
  switch (kind) {
    case tlp_kind::memory_read:
      return "memory_read";
    case tlp_kind::memory_write:
      return "memory_write";
    case tlp_kind::completion:
      return "completion";
    case tlp_kind::config_read:
      return "config_read";
    case tlp_kind::config_write:
      return "config_write";
    case tlp_kind::message:
      return "message";
    case tlp_kind::other:
      return "other";
  }
  return "?";
}

const char* to_string(tlp_fault fault) {
  switch (fault) {
    case tlp_fault::none:
      return "none";
    case tlp_fault::header_length:
      return "header_length";
    case tlp_fault::reserved_code:
      return "reserved_code";
    case tlp_fault::payload_length:
      return "payload_length";
    case tlp_fault::byte_enables:
      return "byte_enables";
    case tlp_fault::page_crossing:
      return "page_crossing";
  }
  return "?";
}

tlp_header decode(const tlp& packet) {
  tlp_header x;
  if (packet.header_bytes != 12 && packet.header_bytes != 16) {
    x.fault = tlp_fault::header_length;
    return x;
  }
  const auto dw0 = tlp_dw0::unpack(packet.header.data());
  if (dw0.fmt > tlp_fmt::Dw4Data) {
    x.fault = tlp_fault::reserved_code;
    return x;
  }
  x.four_dw = dw0.fmt == tlp_fmt::Dw4 || dw0.fmt == tlp_fmt::Dw4Data;
  x.has_data = dw0.fmt == tlp_fmt::Dw3Data || dw0.fmt == tlp_fmt::Dw4Data;
  x.poisoned = dw0.ep != 0;
  x.ecrc = dw0.td != 0;
  x.relaxed_ordering = dw0.ro != 0;
  x.no_snoop = dw0.ns != 0;
  x.traffic_class = dw0.tc;
  x.translation = dw0.at_type;
  x.length_dw = dw0.length == 0 ? MaxLengthDw : dw0.length;
  if (packet.header_bytes != (x.four_dw ? 16 : 12)) {
    x.fault = tlp_fault::header_length;
    return x;
  }
  if (packet.payload_bytes != (x.has_data ? 4U * x.length_dw : 0U)) {
    x.fault = tlp_fault::payload_length;
    return x;
  }
  switch (dw0.kind) {
    case tlp_type::Memory:
      decode_memory(x, packet);
      break;
    case tlp_type::Completion:
    case tlp_type::CompletionLocked:
      decode_completion(x, packet);
      break;
    case tlp_type::Config0:
    case tlp_type::Config1:
      decode_config(x, packet);
      break;
    case tlp_type::MessageToRoot:
    case tlp_type::MessageByAddress:
    case tlp_type::MessageById:
    case tlp_type::MessageBroadcast:
    case tlp_type::MessageLocal:
    case tlp_type::MessageGathered:
      decode_message(x, packet);
      break;
    case tlp_type::MemoryLocked:
    case tlp_type::Io:
    case tlp_type::FetchAdd:
    case tlp_type::Swap:
    case tlp_type::CompareSwap:
      // Requests without an owner here still need requester and tag for their answer.
      take_request(x, tlp_mem32::unpack(packet.header.data()));
      break;
    default:
      x.fault = tlp_fault::reserved_code;
      break;
  }
  return x;
}

byte_enables enables_for(std::uint64_t address, std::uint32_t bytes) {
  if (bytes == 0) {
    return {1, 0, 0};
  }
  const auto lead = static_cast<unsigned>(address & 3);
  const unsigned end = lead + bytes;
  const unsigned trail = (4 - end % 4) % 4;  // bytes of the last dword that are left out
  const auto from = static_cast<std::uint8_t>((0xf << lead) & 0xf);
  const auto up_to = static_cast<std::uint8_t>(0xf >> trail);
  const auto length = static_cast<std::uint16_t>((end + 3) / 4);
  if (length == 1) {
    return {1, static_cast<std::uint8_t>(from & up_to), 0};
  }
  return {length, from, up_to};
}

byte_range touched(const tlp_header& request) {
  if (request.first_be == 0) {
    return {request.address, 0};
  }
  const auto lead = static_cast<unsigned>(__builtin_ctz(request.first_be));
  const unsigned last = request.length_dw == 1 ? request.first_be : request.last_be;
  const auto used = static_cast<unsigned>(32 - __builtin_clz(last | 1U));  // of the last dword
  return {request.address + lead, 4U * (request.length_dw - 1U) + used - lead};
}

bool enabled(const tlp_header& request, std::uint32_t index) {
  const unsigned mask = index / 4 == 0                       ? request.first_be
                        : index / 4 + 1 == request.length_dw ? request.last_be
                                                             : 0xfU;
  return ((mask >> (index % 4)) & 1) != 0;
}

std::uint8_t first_lower_address(const tlp_header& read) {
  return static_cast<std::uint8_t>(touched(read).address & 0x7f);
}

std::uint16_t total_byte_count(const tlp_header& read) {
  const std::uint32_t bytes = touched(read).bytes;
  return static_cast<std::uint16_t>(bytes == 0 ? 1 : bytes);
}

void make_memory_read(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                      std::uint64_t address, std::uint32_t bytes) {
  build_memory(packet, false, requester, tag, address, bytes);
}

void make_memory_write(tlp& packet, std::uint16_t requester, std::uint64_t address,
                       const std::uint8_t* data, std::uint32_t bytes) {
  build_memory(packet, true, requester, 0, address, bytes);
  fill_payload(packet, address & 3, data, bytes);
}

void make_completion(tlp& packet, std::uint16_t completer, std::uint16_t requester,
                     std::uint16_t tag, completion_status status, std::uint32_t byte_count,
                     std::uint8_t lower_address, const std::uint8_t* data, std::uint32_t bytes) {
  const unsigned lead = lower_address & 3U;
  const unsigned dwords = bytes == 0 ? 0 : (lead + bytes + 3) / 4;
  CARILLON_CHECK(dwords <= MaxLengthDw && byte_count >= 1 && byte_count <= 4096,
                 "a completion with {} bytes of {}", bytes, byte_count);
  tlp_cpl cpl;
  cpl.fmt = format(false, bytes != 0);
  cpl.kind = tlp_type::Completion;
  cpl.length = static_cast<std::uint16_t>(dwords % MaxLengthDw);
  cpl.completer = completer;
  cpl.status = status;
  cpl.byte_count = static_cast<std::uint16_t>(byte_count % 4096);
  cpl.requester = requester;
  put_tag(cpl, tag);
  cpl.lower_address = lower_address & 0x7f;
  cpl.pack(packet.header.data());
  packet.header_bytes = tlp_cpl::Size;
  packet.flow = tlp_class::completion;
  packet.payload_bytes = static_cast<std::uint16_t>(4 * dwords);
  fill_payload(packet, lead, data, bytes);
}

void make_config_read(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                      std::uint16_t destination, std::uint16_t offset, std::uint8_t enables) {
  build_config(packet, false, requester, tag, destination, offset, enables);
}

void make_config_write(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                       std::uint16_t destination, std::uint16_t offset, std::uint32_t value,
                       std::uint8_t enables) {
  build_config(packet, true, requester, tag, destination, offset, enables);
  // Data goes out in address order: the least significant byte first.
  for (unsigned i = 0; i < 4; ++i) {
    packet.payload[i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

void set_other_bus(tlp& packet) {
  change_dw0(packet, [](tlp_dw0& dw0) { dw0.kind = tlp_type::Config1; });
}

void set_poisoned(tlp& packet) {
  change_dw0(packet, [](tlp_dw0& dw0) { dw0.ep = 1; });
}

void set_ecrc(tlp& packet) {
  change_dw0(packet, [](tlp_dw0& dw0) { dw0.td = 1; });
}

void set_relaxed_ordering(tlp& packet) {
  change_dw0(packet, [](tlp_dw0& dw0) { dw0.ro = 1; });
}

std::uint32_t wire_bytes(const tlp& packet) {
  const bool ecrc = tlp_dw0::unpack(packet.header.data()).td != 0;
  return packet.header_bytes + packet.payload_bytes + TlpFramingBytes + (ecrc ? EcrcBytes : 0U);
}

std::uint32_t next_request(std::uint64_t address, std::uint64_t remaining,
                           std::uint32_t max_bytes) {
  const std::uint64_t by_size = max_bytes - (address & 3);
  const std::uint64_t by_page = PageBoundaryBytes - address % PageBoundaryBytes;
  return static_cast<std::uint32_t>(std::min({remaining, by_size, by_page}));
}

std::uint32_t next_completion(std::uint64_t address, std::uint64_t remaining,
                              std::uint32_t max_payload, std::uint32_t boundary,
                              completion_cut policy) {
  const std::uint64_t room =
      (policy == completion_cut::every_boundary ? boundary : max_payload) - address % boundary;
  return static_cast<std::uint32_t>(std::min(remaining, room));
}

std::uint32_t random_completion(std::uint64_t address, std::uint64_t remaining,
                                std::uint32_t max_payload, std::uint32_t boundary,
                                random_stream& random) {
  const std::uint32_t largest =
      next_completion(address, remaining, max_payload, boundary, completion_cut::largest_fit);
  const auto nearest = static_cast<std::uint32_t>(boundary - address % boundary);
  if (largest <= nearest) {
    return largest;
  }
  const std::uint32_t further = (largest - nearest + boundary - 1) / boundary;
  return std::min(largest,
                  static_cast<std::uint32_t>(nearest + boundary * random.below(further + 1)));
}

}  // namespace carillon
