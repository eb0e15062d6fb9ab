// Event queues: what a device reports by itself. Programs poll the entries, or sleep until the EQ's
// MSI-X vector has interrupted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "gen/wqe.h"
#include "host/cpu.h"
#include "host/driver.h"
#include "host/fifo.h"
#include "host/task.h"

namespace carillon {

struct event {
  event_type kind = event_type::Completion;
  std::uint8_t sub_type = 0;
  std::uint8_t queue_type = 0;
  std::uint32_t number = 0;   ///< of the CQ, QP or SRQ; of Command: entries that are done
  std::uint8_t cq_error = 0;  ///< of a CqError: 1 overrun, 2 access
};

/// The set of events that an EQ takes.
constexpr std::uint64_t events_of(std::initializer_list<event_type> kinds) {
  std::uint64_t mask = 0;
  for (const event_type kind : kinds) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  return mask;
}

/// What can happen to queues, beside completions.
inline constexpr std::uint64_t QueueEvents =
    events_of({event_type::CommunicationEstablished, event_type::SqDrained, event_type::CqError,
               event_type::WqCatastrophic, event_type::WqInvalidRequest, event_type::WqAccessError,
               event_type::SrqCatastrophic, event_type::SrqLastWqe, event_type::SrqLimit});

class event_queue final : public polled_memory {
 public:
  /// Creates it with 2^log_size entries, of which SpareEqEntries stay free, and arms it. It takes
  /// the kinds of events named and the completion events of the CQs that are created with it.
  static task<std::unique_ptr<event_queue>> create(device& owner, cpu& core, const uar_handle& uar,
                                                   unsigned log_size, std::uint64_t kinds,
                                                   std::uint16_t vector = 0);

  /// One poll: takes up to out.size() entries and tells the device so.
  task<unsigned> poll(cpu& core, std::span<event> out);
  /// Polls until there is at least one.
  task<unsigned> wait(cpu& core, std::span<event> out);
  /// Sleeps until there is at least one; its vector must be bound (device::bind_vector). One
  /// program at a time.
  task<unsigned> sleep(cpu& core, std::span<event> out);
  /// Asks for an interrupt at the next event, at once if there is one that nobody has taken.
  task<> arm(cpu& core);

  [[nodiscard]] std::uint32_t eqn() const { return eqn_; }

  [[nodiscard]] bool ready() const override;

  [[nodiscard]] std::uint64_t buffer() const { return buffer_; }

 private:
  event_queue(device& owner, const uar_handle& uar, std::uint64_t buffer, unsigned log_size,
              std::uint16_t vector);

  void written(std::uint64_t /*address*/, std::uint64_t /*length*/) override {}

  friend class completion_queue;

  /// Sleeps until there is something; completion events are counted for their CQs, the others kept
  /// for the next who asks.
  task<> sleep_for_completions(cpu& core);
  task<> sleep_until_ready(cpu& core);
  unsigned take_kept(std::span<event> out);
  task<unsigned> take(cpu& core, std::span<event> out, std::uint32_t doorbell);
  task<> ring(cpu& core, std::uint32_t where);

  device& device_;
  const uar_handle& uar_;
  const std::uint64_t buffer_;
  const unsigned log_size_;
  const std::uint16_t vector_;
  std::uint32_t eqn_ = 0;
  std::uint32_t consumer_ = 0;
  bool armed_ = false;  ///< and neither polled nor interrupted since
  fifo<event> kept_;
};

}  // namespace carillon
