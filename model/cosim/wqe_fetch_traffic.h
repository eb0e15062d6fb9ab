// Constrained-random traffic for the bench of wqe_fetch: doorbells, BlueFlame WQEs, commands and
// queues that go back, legal and not; contexts, and the bytes of the send queues. What happens in a
// cycle is known to others in the next one, so the order of the stages of the bench does not count.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/buffer.h"
#include "common/items.h"
#include "common/random.h"
#include "common/ring.h"
#include "cosim/bench_parts.h"
#include "gen/contexts.h"

namespace carillon {

class wqe_fetch_traffic {
 public:
  wqe_fetch_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover);

  /// Learns what came out before cycle t; to be called before anything is made in t.
  void catch_up(cycle_t t);
  /// Nothing if all the queues that were drawn are full.
  std::optional<doorbell> make_doorbell();
  qp_command make_command(cycle_t t);
  /// Nothing if the queue that was drawn has nowhere to go.
  std::optional<refetch> make_refetch(cycle_t t);
  context_line answer(cycle_t t, const context_read& read);
  /// Fills in what lies at the read's address in cycle t, when others are under way.
  dma_read_done answer(cycle_t t, const dma_read& read, std::size_t others);
  /// A WQE came out.
  void see(cycle_t t, const wqe_item& wqe);

 private:
  /// More than may have an unfinished WQE, or a read under way.
  static constexpr unsigned Queues = 128;

  /// What the host does for a while: it fills all queues; posts now and then, to a few queues,
  /// nearly all of which is fetched before it posts again; or posts single WQEBBs to queues that
  /// are empty, so that reads are short and many.
  enum class phase_e : std::uint8_t { full, few, single, count_ };

  /// What it has posted: anything; nearly nothing but long WQEs; short ones, and a long one where a
  /// read ends, so that many queues have an unfinished WQE of a single WQEBB.
  enum class content_e : std::uint8_t { any, long_wqes, tails, count_ };

  /// What the host knows of a send queue.
  struct send_queue {
    std::uint32_t qpn = 0;
    std::uint64_t base = 0;
    unsigned log_size = 0;
    std::uint16_t function = 0;
    std::uint16_t posted = 0;    ///< first index not posted
    std::uint16_t consumed = 0;  ///< first index that has not come out
    std::uint64_t expected = 0;  ///< address of the next read, 0 if anything may come
    unsigned handed = 0;         ///< WQEBBs that have come out in this life
    unsigned lives = 0;
    std::uint8_t epoch = 0;
    bool down = false;    ///< reset and not moved to RTS
    cycle_t changed = 0;  ///< when that was said last
    cycle_t refused = 0;  ///< while down it was told to go back: before RTS that has to arrive

    [[nodiscard]] unsigned size() const { return 1U << log_size; }

    [[nodiscard]] unsigned used() const { return static_cast<std::uint16_t>(posted - consumed); }

    [[nodiscard]] unsigned room() const { return used() < size() ? size() - used() : 0; }
  };

  /// A WQE that came out.
  struct seen_wqe {
    cycle_t cycle = 0;
    std::uint32_t qpn = 0;
    std::uint16_t behind = 0;
    std::uint8_t wqebbs = 0;
    std::uint8_t epoch = 0;
  };

  send_queue& pick();

  send_queue* find(std::uint32_t qpn);
  void number_queues();
  void move(send_queue& queue);
  static qpc_common context_of(random_stream& random, const send_queue& queue);
  std::uint8_t pick_size(unsigned wqebbs);
  void ring_for_nothing(send_queue& queue, doorbell& bell);
  void burst(send_queue& queue, doorbell& bell);
  [[nodiscard]] content_e content(cycle_t t) const;
  std::uint8_t size_in_memory(cycle_t t, bool last);

  buffer_pool& buffers_;
  random_stream random_;
  random_stream contexts_;
  random_stream memory_;
  coverage& cover_;
  std::array<send_queue, Queues> queues_;
  ring<seen_wqe> seen_;
  phase_e phase_ = phase_e::full;
  std::uint64_t content_salt_;
  unsigned few_ = 0;  ///< the first of the queues that are used then
  cycle_t phase_ends_ = 0;
};

}  // namespace carillon
