// What a fault rule says, as plain data: which frames it selects and what it does to them.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/types.h"

namespace carillon {

enum class fault_action : std::uint8_t { drop, corrupt, duplicate, delay, reorder };

inline constexpr std::size_t FaultActionCount = 5;

/// Which check finds a corrupted frame.
enum class corrupt_target : std::uint8_t {
  fcs,   ///< any bit of the frame or its FCS: the frame ends at the receiving MAC
  icrc,  ///< a bit that the ICRC protects; the FCS is made good again
};

enum class fault_direction : std::uint8_t { host0_to_host1, host1_to_host0, both };

/// Of the cable; `both` is none of its own.
inline constexpr std::size_t FaultDirectionCount = 2;

const char* to_string(fault_action action);
const char* to_string(corrupt_target target);
const char* to_string(fault_direction direction);

/// By BTH opcode.
using opcode_set = std::bitset<256>;

/// The opcode of that name in the specification, or all of a class: request, response,
/// acknowledge, read_response, atomic. Nothing for an unknown word.
std::optional<opcode_set> opcodes_named(std::string_view word);

/// The words that opcodes_named knows, classes first.
std::vector<std::string> opcode_words();

/// A frame is selected if it matches all that is given. Counting is done for each direction on its
/// own.
struct fault_rule {
  /// Probabilities are whole numbers of this part of 1, exact in every double.
  static constexpr std::uint64_t Certain = std::uint64_t{1} << 53;
  static constexpr ps_t DefaultHold = 5'000'000;

  fault_action action = fault_action::drop;
  fault_direction direction = fault_direction::both;

  std::optional<opcode_set> opcodes;
  std::optional<std::uint32_t> psn;
  std::optional<std::uint32_t> qpn;     ///< destination QP
  ps_t from = 0;                        ///< when the first bit leaves the sender
  ps_t to = NeverPs;                    ///< not included
  std::uint64_t every = 1;              ///< of the frames that match what stands above
  std::optional<std::uint64_t> chance;  ///< of Certain; drawn for what `every` lets through
  std::vector<std::uint64_t> nth;       ///< of those that are left, from 1; sorted; empty: all
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();  ///< acts at most so often

  corrupt_target target = corrupt_target::fcs;
  /// Bit b is bit b % 8, from the least significant, of the frame's byte b / 8; those behind the
  /// frame's last byte are the FCS's. A frame without that bit does not match. Unset: drawn.
  std::optional<std::uint32_t> bit;
  /// Delay and duplicate: how much later. Reorder: how long it waits at most, DefaultHold if 0.
  ps_t by = 0;
  std::uint32_t behind = 1;  ///< reorder: so many later frames go first
};

}  // namespace carillon
