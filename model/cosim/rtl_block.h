// A Verilated block as the rest of the RTL side sees it: pins by port, and a clock. Nothing here
// knows Verilator, and nothing that includes a Verilated header knows SystemC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

/// The pins of one stream. `data` is little-endian, bit 0 of the packed beat first.
struct rtl_pins {
  const char* name;
  bool input;         ///< into the block
  std::size_t bytes;  ///< of `data`
  std::uint8_t* valid;
  std::uint8_t* ready;
  void* data;
  const std::uint8_t* push;  ///< outputs: a beat enters the block's output FIFO at this edge
};

/// A question that a block asks of a table outside, and the answer that it gets in the same cycle;
/// both little-endian as the data of streams are.
struct rtl_lookup {
  const char* name;
  std::size_t query_bytes;
  const void* query;
  std::size_t answer_bytes;
  void* answer;
};

/// A flop or memory of a block, by its path in the RTL.
struct rtl_flop {
  std::string name;
  std::span<const std::byte> data;
};

class rtl_block {
 public:
  rtl_block() = default;
  rtl_block(const rtl_block&) = delete;
  rtl_block& operator=(const rtl_block&) = delete;
  virtual ~rtl_block() = default;

  /// In the order of the stage's port table.
  [[nodiscard]] virtual std::span<const rtl_pins> pins() const = 0;

  /// Likewise, in the order in which they are answered.
  [[nodiscard]] virtual std::span<const rtl_lookup> lookups() const { return {}; }

  /// Two edges with the reset active.
  virtual void reset() = 0;
  /// Settles the logic with the clock low.
  virtual void settle() = 0;
  /// One rising edge.
  virtual void edge() = 0;
  /// False promises that an edge without a transfer would change no flop.
  [[nodiscard]] virtual bool busy() const = 0;
  /// All flops, for the audit of that promise.
  [[nodiscard]] virtual std::vector<rtl_flop> flops() = 0;
};

/// Makers of blocks by stage and variant. The variant "" is the twin itself; test benches add
/// broken ones.
class rtl_registry {
 public:
  using maker = std::function<std::unique_ptr<rtl_block>()>;

  /// The one registry, with the twins of this build.
  static rtl_registry& instance();

  void add(std::string_view stage, std::string_view variant, maker make);

  /// Throws config_error, naming what there is, if the variant is unknown.
  [[nodiscard]] std::unique_ptr<rtl_block> make(std::string_view stage,
                                                std::string_view variant) const;

  /// Stages with a twin in this build.
  [[nodiscard]] std::vector<std::string> stages() const;

 private:
  rtl_registry();

  struct entry {
    std::string stage;
    std::string variant;
    maker make;
  };

  std::vector<entry> entries_;
};

}  // namespace carillon
