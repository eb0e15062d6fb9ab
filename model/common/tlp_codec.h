// TLP headers: from and to the bytes on the link, and the rules by which requests and completions
// are cut.
#pragma once

#include <cstdint>

#include "common/random.h"
#include "common/tlp.h"
#include "gen/tlp.h"

namespace carillon {

enum class tlp_kind : std::uint8_t {
  memory_read,
  memory_write,
  completion,  ///< with or without data
  config_read,
  config_write,
  message,
  other,  ///< well-formed as far as its length goes, but nothing that we serve
};

/// Why a header is no header.
enum class tlp_fault : std::uint8_t {
  none,
  header_length,   ///< not 12 or 16 bytes, or not what fmt says
  reserved_code,   ///< fmt or type
  payload_length,  ///< other than the length field says, or more than 4 KiB
  byte_enables,    ///< against the rules for the length
  page_crossing,   ///< a memory request over a 4 KiB boundary
};

const char* to_string(tlp_kind kind);
const char* to_string(tlp_fault fault);

/// A decoded header. Which fields mean something depends on the kind; the others are 0.
struct tlp_header {
  tlp_fault fault = tlp_fault::none;
  tlp_kind kind = tlp_kind::other;
  bool four_dw = false;
  bool has_data = false;
  bool poisoned = false;
  bool ecrc = false;
  bool relaxed_ordering = false;
  bool no_snoop = false;
  std::uint8_t traffic_class = 0;
  address_type translation = address_type::Untranslated;
  std::uint16_t length_dw = 0;  ///< 1 to 1024; of a completion without data 0
  std::uint16_t requester = 0;
  std::uint16_t tag = 0;  ///< 10 bits

  // Requests.
  std::uint8_t first_be = 0;
  std::uint8_t last_be = 0;
  std::uint64_t address = 0;          ///< of the first dword
  std::uint16_t destination = 0;      ///< configuration requests: the function
  std::uint16_t config_register = 0;  ///< configuration requests: byte offset of the dword
  bool other_bus = false;             ///< ... of type 1: not for the bus of the link
  std::uint8_t message_code = 0;

  // Completions.
  std::uint16_t completer = 0;
  completion_status status = completion_status::Success;
  std::uint16_t byte_count = 0;  ///< 1 to 4096, this TLP's included
  std::uint8_t lower_address = 0;

  [[nodiscard]] bool valid() const { return fault == tlp_fault::none; }

  bool operator==(const tlp_header&) const = default;
};

/// Never fails: a malformed packet gives a header with a fault, whose other fields are not to be
/// used.
tlp_header decode(const tlp& packet);

// Byte enables ------------------------------------------------------------------------------------

/// The bytes from the first enabled one to the last.
struct byte_range {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;

  bool operator==(const byte_range&) const = default;
};

struct byte_enables {
  std::uint16_t length_dw = 0;
  std::uint8_t first = 0;
  std::uint8_t last = 0;

  bool operator==(const byte_enables&) const = default;
};

/// Enables for `bytes` bytes at `address`; 0 bytes: one dword with nothing enabled.
byte_enables enables_for(std::uint64_t address, std::uint32_t bytes);

/// What a memory request touches; `bytes` is 0 for a request of zero length.
byte_range touched(const tlp_header& request);

/// Whether byte `index` of the request's data (0 is the first byte of its first dword) is enabled.
bool enabled(const tlp_header& request, std::uint32_t index);

/// Lower address and byte count of the first completion of a read. A read of zero length is
/// answered with one dword and byte count 1.
std::uint8_t first_lower_address(const tlp_header& read);
std::uint16_t total_byte_count(const tlp_header& read);

// Builders ----------------------------------------------------------------------------------------
// They set header, flow class and payload length. Requests below 4 GiB get the short header.

/// `bytes` from 0 (a flushing read) to 4096, within one 4 KiB page.
void make_memory_read(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                      std::uint64_t address, std::uint32_t bytes);

/// Copies `data`, or leaves the payload to the caller if it is nullptr: write_payload() is where.
void make_memory_write(tlp& packet, std::uint16_t requester, std::uint64_t address,
                       const std::uint8_t* data, std::uint32_t bytes);

/// A completion with `bytes` bytes of data from the address whose low bits are `lower_address` on;
/// 0 bytes: without data. `byte_count` is what is left of the request, this TLP's bytes included.
void make_completion(tlp& packet, std::uint16_t completer, std::uint16_t requester,
                     std::uint16_t tag, completion_status status, std::uint32_t byte_count,
                     std::uint8_t lower_address, const std::uint8_t* data, std::uint32_t bytes);

/// One dword of configuration space; `enables` are its byte enables. The request is of type 0, for
/// the bus of the link; set_other_bus makes it one of type 1.
void make_config_read(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                      std::uint16_t destination, std::uint16_t offset, std::uint8_t enables = 0xf);
void make_config_write(tlp& packet, std::uint16_t requester, std::uint16_t tag,
                       std::uint16_t destination, std::uint16_t offset, std::uint32_t value,
                       std::uint8_t enables = 0xf);

void set_other_bus(tlp& packet);

void set_poisoned(tlp& packet);
void set_ecrc(tlp& packet);

/// Lets later requests pass this write, and it earlier ones.
void set_relaxed_ordering(tlp& packet);

/// Where the data of a write or completion begins in the payload: unaligned data is preceded by the
/// bytes of its first dword that are not enabled.
inline std::uint8_t* write_payload(tlp& packet, std::uint64_t address) {
  return packet.payload.data() + (address & 3);
}

/// Bytes on the link, framing included.
std::uint32_t wire_bytes(const tlp& packet);

// Cutting -----------------------------------------------------------------------------------------

/// How many of `remaining` bytes at `address` the next request takes: at most `max_bytes` of whole
/// dwords (MPS for a write, MRRS for a read) and never over a 4 KiB boundary.
std::uint32_t next_request(std::uint64_t address, std::uint64_t remaining, std::uint32_t max_bytes);

/// A completer may cut a read's data at every read completion boundary, or as rarely as MPS allows.
/// Either way all completions but the last end on a multiple of the boundary.
enum class completion_cut : std::uint8_t { every_boundary, largest_fit };

/// How many of `remaining` bytes at `address` the next completion carries.
std::uint32_t next_completion(std::uint64_t address, std::uint64_t remaining,
                              std::uint32_t max_payload, std::uint32_t boundary,
                              completion_cut policy);

/// The same for a completer that cuts at any boundary up to the largest fit.
std::uint32_t random_completion(std::uint64_t address, std::uint64_t remaining,
                                std::uint32_t max_payload, std::uint32_t boundary,
                                random_stream& random);

}  // namespace carillon
