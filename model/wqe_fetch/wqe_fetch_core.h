// What wqe_fetch knows and decides, without streams and histories. Whatever it holds has the size
// of a memory of its RTL twin, rtl/wqe_fetch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/buffer.h"
#include "common/items.h"
#include "common/ring.h"
#include "common/types.h"
#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

/// A - b of two free-running 16-bit indices.
constexpr int index_distance(std::uint16_t a, std::uint16_t b) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b));
}

/// A WQE occupies at least one WQEBB, whatever it says.
constexpr unsigned wqebbs_of(std::uint8_t ds) {
  return ds == 0 ? 1U : (ds + 3U) / 4U;
}

class wqe_fetch_core {
 public:
  static constexpr unsigned Lookups = stage_spec::wqe_fetch::Lookups;
  static constexpr unsigned Reads = stage_spec::wqe_fetch::Outstanding;
  static constexpr unsigned Room = stage_spec::wqe_fetch::Depth;
  static constexpr unsigned Grant = stage_spec::wqe_fetch::GrantWqebbs;

  struct queue_state {
    std::uint64_t base = 0;
    std::uint16_t producer = 0;  ///< first index not posted
    std::uint16_t fetch = 0;     ///< first index not requested
    std::uint16_t function = 0;
    std::uint8_t log_size = 0;
    std::uint8_t epoch = 0;  ///< go-back count
    std::uint8_t life = 0;   ///< resets, as far as they show in an epoch
    bool reset = false;      ///< not moved to RTS since
    bool queued = false;     ///< in line, or on the way there

    [[nodiscard]] bool has_work() const { return producer != fetch; }
  };

  struct lookup {
    doorbell rang;
    bool stale = false;  ///< the QP was reset since
  };

  /// Reads leave in order and end in order.
  struct read {
    std::uint32_t qpn = 0;
    std::uint16_t index = 0;
    std::uint8_t wqebbs = 0;
    bool stale = false;  ///< the QP was reset or went back since
    bool done = false;
    dma_status status = dma_status::ok;
    buffer_ref bytes;
    trace_ref trace;
  };

  /// A WQE of which only the first WQEBBs have arrived.
  struct unfinished_wqe {
    std::uint32_t qpn = 0;
    std::uint16_t index = 0;
    std::uint8_t wqebbs = 0;  ///< 0: this place is free
    std::uint8_t ds = 0;
    buffer_ref bytes;
  };

  struct handed_wqe {
    std::uint16_t index = 0;
    std::uint8_t ds = 0;
    std::uint8_t wqebbs = 0;
    buffer_ref bytes;
  };

  /// What became of an answered read.
  struct ended_read {
    read from;
    bool stale = false;
    unsigned count = 0;  ///< of WQEs
    std::array<handed_wqe, Grant> wqes;
  };

  enum class learnt : std::uint8_t { dropped, ignored, old, coalesced, moved };

  enum class turn : std::uint8_t {
    none,      ///< nobody has work, or all reads are in flight
    again,     ///< what was in the way is gone: look again in the next cycle
    no_credit  ///< the one in front waits for room
  };

  struct granted {
    turn why_not = turn::none;
    bool any = false;
    unsigned wqebbs = 0;    ///< that it takes
    unsigned given_up = 0;  ///< WQEBBs of an unfinished WQE whose room others need
    std::uint32_t qpn = 0;
    std::uint16_t index = 0;
    std::uint64_t address = 0;
    unsigned slot = 0;  ///< of the read
  };

  wqe_fetch_core(unsigned queues, buffer_pool& buffers) : queues_(queues), buffers_(buffers) {}

  [[nodiscard]] std::size_t queues() const { return queues_.size(); }

  [[nodiscard]] const queue_state& queue(std::uint32_t qpn) const { return queues_[qpn]; }

  // Commands, and going back. What is given up is counted in WQEBBs.
  unsigned reset(std::uint32_t qpn);
  void ready(std::uint32_t qpn, const qpc_common& common);
  unsigned go_back(cycle_t t, const refetch& to);

  // Doorbells
  [[nodiscard]] std::size_t lookups() const { return lookups_.size(); }

  /// The WQE of a BlueFlame doorbell is its QP's next, and nothing of the QP is under way.
  [[nodiscard]] bool executes(const doorbell& rang) const;
  void execute(const doorbell& rang);

  void look_up(doorbell rang) { lookups_.push({std::move(rang), false}); }

  lookup answered() { return lookups_.pop(); }

  learnt learn(cycle_t t, const doorbell& rang, const qpc_common& common);

  // Reads
  [[nodiscard]] bool any_read() const { return !reads_.empty(); }

  /// The oldest read is answered.
  [[nodiscard]] bool read_ends() const { return !reads_.empty() && reads_.front().done; }

  void answer(std::uint64_t slot, dma_status status, buffer_ref bytes, trace_ref trace);
  ended_read end_read();

  /// Whose turn it is in cycle t, with `credits` WQEBBs of room at the parser.
  granted grant(cycle_t t, unsigned credits);

  /// When grant() is to be asked again: in the next cycle if that makes sense and somebody is in
  /// line, or else when somebody comes into line.
  [[nodiscard]] cycle_t next_in_line(cycle_t t, bool again) const;

 private:
  static constexpr std::uint32_t Nobody = 0xffffffff;

  struct candidate {
    std::uint32_t qpn = 0;
    cycle_t eligible = 0;
  };

  void enqueue(cycle_t t, std::uint32_t qpn);
  void forget_reads(std::uint32_t qpn);
  [[nodiscard]] bool reading(std::uint32_t qpn) const;
  unfinished_wqe* find_unfinished(std::uint32_t qpn);
  [[nodiscard]] const unfinished_wqe* find_unfinished(std::uint32_t qpn) const;
  unsigned give_up(unfinished_wqe& wqe);
  /// Without it no credit would ever come home: somebody is served first until its WQE is complete,
  /// and the others give up theirs, one a cycle. False if there is nothing to give up.
  bool make_room(unsigned& given_up);
  [[nodiscard]] unsigned chunk(const queue_state& queue) const;

  std::vector<queue_state> queues_;
  buffer_pool& buffers_;
  ring<lookup> lookups_;
  ring<candidate> coming_;     ///< in the arbiter's pipeline, at most one for each of its cycles
  ring<std::uint32_t> ready_;  ///< QPs with work, in the order in which they are served: each once
  ring<read> reads_;
  unsigned oldest_slot_ = 0;  ///< of the oldest read
  std::array<unfinished_wqe, Room> unfinished_;
  unsigned held_ = 0;             ///< WQEBBs of all unfinished WQEs
  unsigned asked_ = 0;            ///< WQEBBs of all reads in flight
  std::uint32_t first_ = Nobody;  ///< QP that is served first until its WQE is complete
};

}  // namespace carillon
