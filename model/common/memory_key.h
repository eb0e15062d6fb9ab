// What a memory key allows, and where its addresses are.
//
// Plain cores: `check_key` looks at a key's line, `page_walk` turns a range of virtual addresses
// into pieces of IOVA space with the translation lines that the key's page list needs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/types.h"
#include "gen/contexts.h"

namespace carillon {

enum class key_right : std::uint8_t {
  local_read,
  local_write,
  remote_read,
  remote_write,
  remote_atomic
};

constexpr bool writes(key_right right) {
  return right == key_right::local_write || right == key_right::remote_write ||
         right == key_right::remote_atomic;
}

/// Who uses a key, and for what. `length` 0 is checked like an empty range at `address`.
struct key_use {
  std::uint32_t key = 0;
  std::uint32_t pd = 0;
  std::uint32_t qpn = 0;
  std::uint16_t function = 0;
  key_right right = key_right::local_read;
  std::uint64_t address = 0;  ///< virtual
  std::uint64_t length = 0;   ///< bytes
  bool checked = false;       ///< protection domain, QP and right were checked before
  std::uint64_t message = 0;  ///< if more than `length`: the range that must be allowed
};

/// Why a key does not serve, in the order in which it is looked at.
enum class key_fault : std::uint8_t {
  none,
  index,     ///< no such key
  free,      ///< never created, destroyed or invalidated
  variant,   ///< the low 8 bits differ
  function,  ///< of another function
  pd,        ///< of another protection domain
  qp,        ///< bound to another QP
  right,     ///< the access is not allowed
  range,     ///< not within the region
  page       ///< a page of its list does not allow the access
};

[[nodiscard]] key_fault check_key(const mkey_line& key, bool exists, const key_use& use);

/// A piece of IOVA space.
struct iova_piece {
  std::uint64_t address = 0;
  std::uint32_t length = 0;

  bool operator==(const iova_piece&) const = default;
};

/// The way of one range through a key's page list. The range was checked against the key.
///
/// The first entry of the list is the page that holds `start_addr`. Pieces end at page ends, except
/// where the next page follows in IOVA space as well.
class page_walk {
 public:
  static constexpr unsigned EntriesPerLine = 8;

  page_walk() = default;
  page_walk(const mkey_line& key, key_right right, std::uint64_t address, std::uint32_t length);

  /// All pieces are known. A contiguous key is done from the start.
  [[nodiscard]] bool done() const { return left_ == 0; }

  /// The translation line that it needs next.
  [[nodiscard]] std::uint32_t line() const { return entry_ / EntriesPerLine; }

  /// Takes that line as far as it goes; false if an entry does not allow the access.
  [[nodiscard]] bool take(const std::array<std::uint8_t, mtt_line::Size>& line);

  [[nodiscard]] const std::vector<iova_piece>& pieces() const { return pieces_; }

  /// Starts again for another range, keeping the memory of the pieces.
  void restart(const mkey_line& key, key_right right, std::uint64_t address, std::uint32_t length);

 private:
  void append(std::uint64_t address, std::uint32_t length);

  std::uint64_t needed_ = 0;  ///< access bits
  std::uint64_t page_bytes_ = 1;
  std::uint64_t offset_ = 0;  ///< in the page of `entry_`
  std::uint32_t entry_ = 0;
  std::uint32_t left_ = 0;  ///< bytes without a piece
  std::vector<iova_piece> pieces_;
};

}  // namespace carillon
