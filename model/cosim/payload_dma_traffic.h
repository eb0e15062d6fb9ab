// Constrained-random packets for the bench of payload_dma, and the host memory, keys and pages that
// they meet: lists and ranges of every shape, each way for a key or a page to refuse, and the
// corners of all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/buffer.h"
#include "common/items.h"
#include "common/random.h"
#include "cosim/bench_parts.h"
#include "gen/contexts.h"

namespace carillon {

/// Keys and translation lines. The low bits of a key's number are k, those of its page list's first
/// entry are k * ListEntries and a bit; above them is anything. Pages are of every size from 4 KiB
/// to 1 TiB, which is more than a command makes. Four pages at a time follow each other in IOVA
/// space, a few pages may not be read, and a few lines are not there.
struct payload_dma_contexts {
  static constexpr unsigned Functions = 4;
  static constexpr unsigned Keys = 64;
  static constexpr unsigned ListEntries = 1U << 14;

  // The first key of each kind; which function a key belongs to is the remainder by Functions.
  static constexpr unsigned Invalid = 0;
  static constexpr unsigned Contiguous = 4;
  static constexpr unsigned Whole = 16;  ///< the whole address space, contiguous
  static constexpr unsigned Paged = 20;

  explicit payload_dma_contexts(std::uint64_t seed);

  /// The key of this value, nullptr if there is none of its number.
  [[nodiscard]] const mkey_line* find(std::uint32_t key) const {
    const std::uint32_t number = key >> MkeyVariantBits;
    return numbers[number % Keys] == number ? &keys[number % Keys] : nullptr;
  }

  [[nodiscard]] context_line line_of(const context_read& read) const;

  /// Where a virtual address is, if the key and its page serve.
  [[nodiscard]] std::optional<std::uint64_t> iova(std::uint32_t key, std::uint64_t address) const;

  [[nodiscard]] std::uint64_t entry(std::uint32_t index) const;
  [[nodiscard]] static bool line_exists(std::uint32_t line);

  std::array<std::uint16_t, Functions> functions{};
  std::array<std::uint32_t, Keys> numbers{};
  std::array<mkey_line, Keys> keys{};
};

/// What host memory holds at an IOVA.
constexpr std::uint8_t payload_byte(std::uint64_t iova) {
  return static_cast<std::uint8_t>((iova * 167) ^ (iova >> 8) ^ (iova >> 17) ^ (iova >> 40));
}

class payload_dma_traffic {
 public:
  /// Bytes of a packet as its list has them.
  struct range {
    std::uint64_t address = 0;  ///< virtual
    std::uint32_t length = 0;
    std::uint32_t key = 0;
    bool paged = false;  ///< to be translated
  };

  struct made {
    packet_item packet;
    std::vector<range> ranges;
  };

  payload_dma_traffic(const payload_dma_contexts& what, buffer_pool& buffers, std::uint64_t seed,
                      coverage& cover)
      : what_(what), buffers_(buffers), random_(seed, "payload_dma_bench/packet"), cover_(cover) {}

  made make();

 private:
  /// Stretches of packets of one sort, so that each resource is once the scarce one.
  enum class phase_e : std::uint8_t { mixed, tiny, big, many_segments, paged, paged_many, count_ };

  std::uint32_t pick_payload();
  std::uint32_t pick_distance();
  unsigned pick_segments();
  range pick_range(std::uint32_t length, bool paged);
  void spoil(range& of);
  [[nodiscard]] std::uint32_t key_value(unsigned index) const;
  void make_list(made& of);
  void cover_pages(const range& each);

  const payload_dma_contexts& what_;
  buffer_pool& buffers_;
  random_stream random_;
  coverage& cover_;
  std::uint64_t count_ = 0;
  phase_e phase_ = phase_e::mixed;
  unsigned phase_left_ = 0;  ///< packets of it to come
  bool spoiling_ = false;    ///< many ranges of the phase cannot be read
  unsigned owner_ = 0;       ///< of the packet that is made, as a remainder of keys
};

}  // namespace carillon
