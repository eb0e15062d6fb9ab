// What the context RAM holds, without time: lines by kind and index, and the marks over them.
//
// Marks are bits that stay on the chip wherever the lines are: a QP's error, its send queue's
// error, an invalidated key, and whether a QP's last written state was RESET (an error of a QP in
// RESET belongs to the life before).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/context_sizes.h"
#include "common/items.h"

namespace carillon {

class context_store {
 public:
  using line = std::array<std::uint8_t, BeatBytes>;

  /// `on_chip`: the lines are here; else only their marks are.
  explicit context_store(const context_sizes& sizes, bool on_chip = true);

  [[nodiscard]] const context_sizes& sizes() const { return sizes_; }

  [[nodiscard]] bool valid(context_kind kind, std::uint32_t index) const {
    return sizes_.valid(kind, index);
  }

  /// The line as a reader sees it; zeros for an index that does not exist.
  [[nodiscard]] line read(context_kind kind, std::uint32_t index) const;
  /// False, and nothing happens, for an index that does not exist.
  bool write(context_kind kind, std::uint32_t index, const line& data);

  /// Lays the marks over a line of an index that exists.
  void overlay(context_kind kind, std::uint32_t index, line& data) const;
  /// What a written line, of an index that exists, does to the marks.
  void mark_written(context_kind kind, std::uint32_t index, const line& data);
  void set_error(std::uint32_t qpn, bool send_queue_only = false);
  void invalidate(std::uint32_t mkey);

  /// The bits over a line; false where its kind has none.
  struct marks {
    bool error = false;
    bool send_error = false;
    bool alive = false;   ///< its last written state is not RESET
    bool struck = false;  ///< an invalidated key
  };

  // Of an index that exists:
  [[nodiscard]] marks marks_of(context_kind kind, std::uint32_t index) const;
  /// The line below the marks.
  [[nodiscard]] const line& raw(context_kind kind, std::uint32_t index) const;

 private:
  context_sizes sizes_;
  std::array<std::vector<line>, ContextKinds> banks_;  ///< empty if the lines are elsewhere
  std::vector<bool> errors_;
  std::vector<bool> send_errors_;
  std::vector<bool> in_reset_;
  std::vector<bool> invalid_keys_;
};

}  // namespace carillon
