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

/// The pins of a level: a value that is no item, such as a setting or the fill of a queue.
struct rtl_level {
  const char* name;
  std::size_t bytes;
  void* data;
};

/// Whether the blocks of this program can write waves (CARILLON_WAVES).
bool rtl_has_waves();

/// Whether their flops begin with a seed's values (CARILLON_RTL_RANDOM_RESET).
bool rtl_has_random_reset();

/// The read port of a memory beside the block: which line it wants comes from flops, and `data` is
/// that line, byte 0 in the most significant byte, in the same cycle.
struct rtl_store_pins {
  const std::uint16_t* line = nullptr;
  std::uint32_t* data = nullptr;
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

/// The port at which a block is asked for a word that it remembers, when a run has ended: the
/// answer is there after one edge.
struct rtl_content_pins {
  std::uint8_t* ask = nullptr;
  std::size_t query_bytes = 0;
  void* query = nullptr;
  std::size_t answer_bytes = 0;
  const void* answer = nullptr;
};

/// What a block knows of time without being clocked: the number of the cycle that it is in, and
/// before which cycle an idle one has nothing to do by itself (all ones: none).
struct rtl_timer_pins {
  std::uint64_t* cycle = nullptr;
  const std::uint64_t* wake_at = nullptr;
};

/// A level that the block tells others.
struct rtl_value {
  const char* name;
  std::size_t bytes;
  const void* data;
};

/// All that a block has beside its clock and reset, each kind in the order of the stage's port
/// table.
struct block_pins {
  std::vector<rtl_pins> streams;
  std::vector<rtl_level> levels = {};
  std::vector<rtl_value> values = {};
  std::vector<rtl_lookup> lookups = {};  ///< in the order in which they are answered
  rtl_store_pins store = {};             ///< without `line` if the block has no such port
  rtl_content_pins content = {};         ///< without `ask` likewise
  rtl_timer_pins timer = {};             ///< without `cycle` likewise
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

  [[nodiscard]] virtual const block_pins& pins() const = 0;

  /// Two edges with the reset active.
  virtual void reset() = 0;
  /// Settles the logic with the clock low.
  virtual void settle() = 0;
  /// One rising edge.
  virtual void edge() = 0;
  /// False promises that an edge without a transfer would change no flop, in no cycle before the
  /// one that the timer's `wake_at` says.
  [[nodiscard]] virtual bool busy() const = 0;

  /// Of a netlist with mutations (scripts/mutate.sh): obeys mutation `which`, counted from 1, from
  /// now on. False for any other block.
  virtual bool mutate(unsigned /*which*/) { return false; }

  /// Opens a file for the signals of the block. False if this program has no waves.
  virtual bool open_waves(const std::string& /*file*/) { return false; }

  /// Writes them as they are at `time`, which never goes back.
  virtual void dump_waves(std::uint64_t /*time*/) {}

  /// All flops, for the audit of that promise.
  [[nodiscard]] virtual std::vector<rtl_flop> flops() = 0;
};

class rtl_registry;

/// Adds the twins of this build. Generated (cmake/twin_blocks.cmake).
void add_twin_blocks(rtl_registry& registry);

/// Makers of blocks by stage and variant. The variant "" is the twin itself; test benches add
/// broken ones.
class rtl_registry {
 public:
  using maker = std::function<std::unique_ptr<rtl_block>(unsigned reset_seed)>;

  /// The one registry, with the twins of this build.
  static rtl_registry& instance();

  void add(std::string_view stage, std::string_view variant, maker make);

  /// Throws config_error, naming what there is, if the variant is unknown. "mutation<N>" is the
  /// twin itself with mutation N, if it was built with mutations. What no reset sets begins as
  /// `reset_seed` says, 0 for zeros.
  [[nodiscard]] std::unique_ptr<rtl_block> make(std::string_view stage, std::string_view variant,
                                                unsigned reset_seed = 0) const;

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
