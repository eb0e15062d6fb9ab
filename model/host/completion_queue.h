// Completion queues: polled rings of CQEs, armed for events if somebody wants to sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gen/wqe.h"
#include "host/cpu.h"
#include "host/driver.h"
#include "host/task.h"

namespace carillon {

class event_queue;
class queue_pair;

struct completion {
  std::uint64_t id = 0;  ///< of the work request
  cqe_opcode opcode = cqe_opcode::Requester;
  cqe_syndrome syndrome = cqe_syndrome::None;
  std::uint8_t vendor_syndrome = 0;
  std::uint32_t qpn = 0;
  std::uint32_t remote_qpn = 0;  ///< of a datagram: its sender
  std::uint16_t wqe_counter = 0;
  std::uint32_t bytes = 0;  ///< of a datagram with `grh`: including its 40 bytes
  std::uint32_t imm = 0;
  std::uint32_t invalidated_key = 0;
  std::uint32_t srqn = 0;             ///< 0: from the QP's own receive queue
  wqe_opcode work = wqe_opcode::Nop;  ///< of the completed send WQE
  bool grh = false;                   ///< the buffer begins with 40 bytes of IP header
  bool with_imm = false;              ///< `imm` came with the message
  bool with_invalidate = false;       ///< the message has made `invalidated_key` useless
  bool solicited = false;

  [[nodiscard]] bool failed() const { return syndrome != cqe_syndrome::None; }

  /// Of a send queue; else of a receive queue.
  [[nodiscard]] bool requester() const {
    return opcode == cqe_opcode::Requester || opcode == cqe_opcode::RequesterError;
  }
};

/// When the device tells of completions: after so many, or so long after the first. 0: not this.
struct event_moderation {
  std::uint16_t count = 0;
  std::uint16_t period_us = 0;
};

class completion_queue final : public polled_memory {
 public:
  /// Creates it: 2^log_size entries. Its events go to `events`.
  static task<std::unique_ptr<completion_queue>> create(device& owner, cpu& core,
                                                        const uar_handle& uar, unsigned log_size,
                                                        const event_queue* events = nullptr,
                                                        event_moderation moderated = {});
  ~completion_queue() override;

  /// One poll: takes up to out.size() entries. An empty poll costs a turn of the poll loop.
  task<unsigned> poll(cpu& core, std::span<completion> out);
  /// Polls until there is at least one.
  task<unsigned> wait(cpu& core, std::span<completion> out);

  /// Sleeps until there is at least one: arms, looks once more, and waits for the interrupt of
  /// `events`, the EQ that it was created with. One program at a time.
  task<unsigned> sleep(cpu& core, event_queue& events, std::span<completion> out);

  /// Asks for one event at the first completion beyond those polled so far (that is solicited or
  /// failed, if only those count), at once if it is there already.
  task<> arm(cpu& core, bool solicited_only = false);

  /// Removes the entries of a QP that will not exist any more; WQEs of its shared receive queue are
  /// given back.
  void clean(const queue_pair& qp);

  [[nodiscard]] std::uint32_t cqn() const { return cqn_; }

  [[nodiscard]] bool ready() const override { return ready(consumer_); }

  [[nodiscard]] std::uint64_t buffer() const { return buffer_; }

  [[nodiscard]] std::uint64_t doorbell_record() const { return record_; }

 private:
  friend class event_queue;

  completion_queue(device& owner, const uar_handle& uar, std::uint64_t buffer, std::uint64_t record,
                   unsigned log_size);

  [[nodiscard]] std::uint64_t entry_of(std::uint32_t index) const {
    return buffer_ + (index & ((1U << log_size_) - 1)) * std::uint64_t{cqe64::Size};
  }

  [[nodiscard]] bool ready(std::uint32_t index) const;
  void written(std::uint64_t address, std::uint64_t length) override;
  task<unsigned> take(cpu& core, std::span<completion> out);
  void take_one(cpu& core, completion& out);
  void write_consumer();

  device& device_;
  const uar_handle& uar_;
  tracer& trace_;
  const std::uint64_t buffer_;
  const std::uint64_t record_;
  const unsigned log_size_;
  std::uint32_t cqn_ = 0;
  std::uint32_t consumer_ = 0;
  std::uint32_t arm_sn_ = 0;        ///< events of it that were consumed
  std::vector<trace_ref> writers_;  ///< by slot: the history of its last write, held
};

}  // namespace carillon
