// The golden frames of tb/golden/roce_vectors.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::test {

using frame_bytes = std::vector<std::uint8_t>;

frame_bytes from_hex(std::string_view hex);

struct roce_vector {
  std::string name;
  bool rocev2 = false;   ///< a receiver must accept it
  bool icrc_ok = false;  ///< it carries the ICRC that its bytes have
  frame_bytes icrc;      ///< that ICRC, in the order of the wire
  frame_bytes frame;     ///< from the Ethernet header on, without FCS
};

/// All of them, read once.
const std::vector<roce_vector>& roce_vectors();

/// Those that a receiver must accept.
std::vector<roce_vector> positive_vectors();

/// By name; throws if there is none.
const roce_vector& vector_named(std::string_view name);

// Where things stand in a frame over IP, typed from the header layouts and not taken from the
// generated constants, so that a wrong constant shows.

inline std::uint16_t word(const frame_bytes& frame, std::size_t at) {
  return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}

inline bool tagged(const frame_bytes& frame) {
  return word(frame, 12) == 0x8100;
}

inline std::size_t ip_at(const frame_bytes& frame) {
  return tagged(frame) ? 18 : 14;
}

inline bool is_ipv6(const frame_bytes& frame) {
  return frame[ip_at(frame)] >> 4 == 6;
}

inline std::size_t udp_at(const frame_bytes& frame) {
  return ip_at(frame) + (is_ipv6(frame) ? 40 : 20);
}

}  // namespace carillon::test
