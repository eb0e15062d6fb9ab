// What every tenant has on the NIC and in host memory, as one image that is taken outside of time
// and without side effects, hashed by tenant, and compared bit by bit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/counters.h"
#include "pcie_endpoint/tables.h"
#include "tb/isolation/tenants.h"

namespace carillon::isolation {

/// A hash in the manner of xxHash: multiplications and rotations over words of 8 bytes. Every step
/// is a bijection of the state, so images that differ in one word have different hashes.
std::uint64_t hash_words(const std::uint64_t* words, std::size_t count, std::uint64_t seed);

enum class cell_kind : std::uint8_t {
  context_line,   ///< index: kind << 32 | number
  config_space,   ///< index: dword
  command_queue,  ///< where it is; state of the function
  rate_register,
  msix_table,
  msix_pending,
  memory,  ///< index: address
};

inline constexpr std::size_t CellKinds = 7;

const char* to_string(cell_kind kind);

/// A part of the image.
struct cell {
  cell_kind kind = cell_kind::context_line;
  std::uint16_t owner = 0;
  std::uint64_t index = 0;
  std::uint32_t begin = 0;  ///< words of the image
  std::uint32_t words = 0;

  [[nodiscard]] std::string name() const;
};

using counter_row = std::array<std::uint64_t, CounterCount>;

class tenant_state {
 public:
  /// To be called when the house is open and the victim's traffic has its QPs, `busy`: their
  /// responder lines change all the time and are not in the image.
  tenant_state(tenant_house& house, std::vector<std::uint32_t> busy);

  /// Takes what there is now for right.
  void accept();
  /// Takes what a function has now for right.
  void accept(std::uint16_t function);

  /// What has changed of anybody's but `offender`'s since it was accepted last; nothing if all is
  /// well. What the offender has is accepted.
  std::optional<std::string> changed(std::uint16_t offender);

  /// By function, as accepted last.
  [[nodiscard]] std::uint64_t hash(std::uint16_t function) const { return hashes_[function]; }

  [[nodiscard]] const std::vector<cell>& cells() const { return cells_; }

  /// Flips a bit of what was accepted, for tests: `changed` must see it.
  void flip(const cell& where, unsigned bit);

  /// Likewise in the command tables: the object of a kind that a function has.
  void change_table(const std::function<void(command_tables&)>& how) { how(tables_); }

 private:
  void add(cell_kind kind, std::uint16_t owner, std::uint64_t index, std::uint32_t bytes);
  void add_lines(std::uint16_t function);
  void add_memory(std::uint16_t function, std::uint64_t address, std::uint64_t bytes);
  void capture();
  void capture(const cell& what);
  [[nodiscard]] std::uint64_t hash_now(std::uint16_t function) const;
  [[nodiscard]] std::optional<std::string> first_difference(std::uint16_t function) const;
  [[nodiscard]] std::optional<std::string> tables_changed(std::uint16_t offender);

  tenant_house& house_;
  const std::vector<std::uint32_t> busy_;
  std::vector<cell> cells_;  ///< one tenant's behind the other
  std::array<std::uint32_t, Functions + 1> first_word_{};
  std::vector<std::uint64_t> now_;
  std::vector<std::uint64_t> right_;
  std::array<std::uint64_t, Functions> hashes_{};
  command_tables tables_;
};

}  // namespace carillon::isolation
