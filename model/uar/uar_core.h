// What UAR pages make of the writes they see, without time: doorbells recognised, BlueFlame bursts
// put together.
//
// A burst ends in one of three ways: complete (the WQE is handed on), discarded with its control
// segment seen (it becomes a plain doorbell), or discarded without (it is only counted). The page
// then remembers which of its bytes came, so that the rest of a discarded burst is swallowed
// instead of being taken for a new one: otherwise the rest of one WQE would complete with the
// beginning of the next, although a single writer wrote them one after the other. The memory ends
// with a chunk that cannot belong to the dead burst (its bytes came already, or lie beyond its
// length), or with its last byte; not with time, for a core may be interrupted for any time between
// two lines.
//
// An 8-byte store to the start of the buffer with no burst open is a doorbell at once, because it
// cannot be told from the first chunk of a burst of 8-byte stores. So a burst that begins so is
// dead from its beginning, and its rest is swallowed.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

#include "common/counters.h"
#include "common/tracer.h"
#include "common/types.h"
#include "gen/registers.h"

namespace carillon {

/// One UAR page of one function.
struct uar_page_id {
  std::uint16_t function = 0;
  std::uint32_t page = 0;

  auto operator<=>(const uar_page_id&) const = default;
};

/// A doorbell, or a whole BlueFlame WQE, whose ownership is still to be checked.
struct uar_event {
  uar_page_id page;
  bool blueflame = false;  ///< the WQE is in `wqe`
  std::array<std::uint8_t, 16>
      record{};  ///< the control segment as far as written: 8 bytes, then zeros
  std::array<std::uint8_t, uar_page::BfBufferBytes> wqe{};
  trace_ref trace;  ///< of the write that completed it
};

class uar_core {
 public:
  /// At most `slots` bursts are assembled at a time; one that is not complete `timeout` cycles
  /// after its first chunk is discarded.
  uar_core(unsigned slots, cycle_t timeout, counter_block& counters)
      : slots_(slots), timeout_(timeout), counters_(counters) {}

  /// A write of `length` bytes at `offset` of the page, in cycle t. Appends what it leads to:
  /// nothing, one event, or two (a discarded burst that becomes a doorbell, then the write's own).
  /// Data beyond 64 bytes is not looked at.
  void write(cycle_t t, uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
             std::uint16_t length, trace_ref trace, std::vector<uar_event>& events);

  /// Discards the bursts that have timed out in cycle t.
  void expire(cycle_t t, std::vector<uar_event>& events);

  /// The cycle in which the next burst times out; NeverCycle if none is open.
  [[nodiscard]] cycle_t next_timeout() const;

  /// What a read of DB_REC returns: the last accepted value, as a big-endian number.
  [[nodiscard]] std::uint64_t doorbell_record(uar_page_id page) const;

  /// How much of each kind was lost.
  struct remains {
    std::size_t bursts = 0;
    std::size_t dead = 0;
    std::size_t halves = 0;
    std::size_t records = 0;
  };

  /// A function-level reset: its pages are as new, and what was open on them is nothing.
  remains forget(std::uint16_t function);

  /// The record of a doorbell whose ownership was found right.
  void accepted(uar_page_id page, const std::array<std::uint8_t, 16>& record);

 private:
  /// Chunks are multiples of this, and so is what a page remembers of them.
  static constexpr std::uint32_t GrainBytes = 8;
  using coverage = std::bitset<uar_page::BfBufferBytes / GrainBytes>;

  /// Which bytes of a burst came, and how many there must be.
  struct extent {
    coverage have;
    std::uint32_t expected = 0;  ///< bytes, from `ds` in the first chunk; 0 without it

    [[nodiscard]] bool has_first() const { return expected != 0; }

    [[nodiscard]] bool complete() const {
      return has_first() && have.count() * GrainBytes == expected;
    }

    [[nodiscard]] bool gapped() const;
    /// Bytes came that the burst must not have.
    [[nodiscard]] bool too_long() const;
    void add(std::uint32_t offset, std::uint32_t length, const std::uint8_t* data);
  };

  struct assembly {
    uar_page_id page;
    cycle_t opened = 0;
    std::array<std::uint8_t, uar_page::BfBufferBytes> bytes{};
    extent seen;
    trace_ref first_trace;  ///< of the chunk that holds the control segment
  };

  void doorbell_write(uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
                      std::uint16_t length, trace_ref trace, std::vector<uar_event>& events);
  void blueflame_write(cycle_t t, uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
                       std::uint16_t length, trace_ref trace, std::vector<uar_event>& events);
  /// Puts a chunk into its page's burst, which is open.
  void assemble(std::size_t index, std::uint32_t offset, const std::uint8_t* data,
                std::uint16_t length, trace_ref trace, std::vector<uar_event>& events);
  /// True if the chunk belongs to the page's dead burst.
  bool swallow(uar_page_id page, std::uint32_t offset, const std::uint8_t* data,
               std::uint16_t length, trace_ref trace, std::vector<uar_event>& events);
  void ring(uar_page_id page, const std::uint8_t* record, trace_ref trace,
            std::vector<uar_event>& events) const;
  /// Counts and removes an open burst; one whose control segment was seen becomes a doorbell.
  void discard(std::size_t index, counter why, std::vector<uar_event>& events);
  [[nodiscard]] std::size_t find(uar_page_id page) const;
  [[nodiscard]] static coverage grains(std::uint32_t offset, std::uint32_t length);

  unsigned slots_;
  cycle_t timeout_;
  counter_block& counters_;
  std::vector<assembly> open_;          ///< in the order in which they were opened
  std::map<uar_page_id, extent> dead_;  ///< what came of the last discarded burst
  std::map<uar_page_id, std::array<std::uint8_t, 4>> halves_;
  std::map<uar_page_id, std::uint64_t> records_;
};

}  // namespace carillon
