// Completion queues and queue pairs in the manner of verbs, over the rings in host memory and the
// doorbells that a ConnectX-style driver uses.
//
// A post is one message for each work request in the trace: opened when the core begins with it,
// continued over WQE, doorbell record, fence and doorbell into the doorbell's TLP. In a batch only
// the last request's history is the doorbell's; the others end with their WQE in memory and are
// continued by the NIC when it has fetched them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gen/contexts.h"
#include "gen/wqe.h"
#include "host/cpu.h"
#include "host/driver.h"
#include "host/send_wqe.h"

namespace carillon {

struct completion {
  std::uint64_t id = 0;  ///< of the work request
  cqe_opcode opcode = cqe_opcode::Requester;
  cqe_syndrome syndrome = cqe_syndrome::None;
  std::uint8_t vendor_syndrome = 0;
  std::uint32_t qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint16_t wqe_counter = 0;
  std::uint32_t bytes = 0;
  std::uint32_t imm = 0;

  [[nodiscard]] bool failed() const { return syndrome != cqe_syndrome::None; }
};

class completion_queue final : public polled_memory {
 public:
  /// Creates it: 2^log_size entries.
  static task<std::unique_ptr<completion_queue>> create(device& owner, cpu& core,
                                                        const uar_handle& uar, unsigned log_size);
  ~completion_queue() override;

  /// One poll: takes up to out.size() entries. An empty poll costs a turn of the poll loop.
  task<unsigned> poll(cpu& core, std::span<completion> out);
  /// Polls until there is at least one.
  task<unsigned> wait(cpu& core, std::span<completion> out);

  [[nodiscard]] std::uint32_t cqn() const { return cqn_; }

  [[nodiscard]] bool ready() const override;

 private:
  completion_queue(device& owner, std::uint64_t buffer, std::uint64_t record, unsigned log_size);

  void written(std::uint64_t address, std::uint64_t length) override;
  task<unsigned> take(cpu& core, std::span<completion> out);
  void take_one(cpu& core, completion& out);

  device& device_;
  tracer& trace_;
  const std::uint64_t buffer_;
  const std::uint64_t record_;
  const unsigned log_size_;
  std::uint32_t cqn_ = 0;
  std::uint32_t consumer_ = 0;
  std::vector<trace_ref> writers_;  ///< by slot: the history of its last write, held
};

enum class doorbell_mode : std::uint8_t {
  automatic,      ///< BlueFlame where the driver rules allow it
  doorbell_only,  ///< always the 8-byte doorbell
};

struct queue_pair_options {
  qpc_service service = qpc_service::Rc;
  unsigned log_sq_size = 6;  ///< in WQEBBs
  unsigned log_rq_size = 4;
  unsigned max_receive_sges = 1;
  doorbell_mode doorbell = doorbell_mode::automatic;
};

/// What the peer must know, exchanged out of band.
struct queue_pair_address {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  ///< of the first packet that this side sends
  std::uint64_t mac = 0;
  gid address{};
};

struct connection_options {
  mtu_code mtu = mtu_code::Mtu4096;
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_nak = 12;
  std::uint8_t log_ra_max = 4;
  std::uint8_t hop_limit = 64;
};

class queue_pair {
 public:
  static task<std::unique_ptr<queue_pair>> create(device& owner, cpu& core, std::uint32_t pd,
                                                  uar_handle& uar, completion_queue& send_cq,
                                                  completion_queue& receive_cq,
                                                  const queue_pair_options& options);
  queue_pair(const queue_pair&) = delete;
  queue_pair& operator=(const queue_pair&) = delete;
  ~queue_pair();

  // States
  task<> to_init(cpu& core);
  task<> to_rtr(cpu& core, const queue_pair_address& peer, const connection_options& options);
  task<> to_rts(cpu& core, const connection_options& options);
  task<> to_error(cpu& core);
  task<> to_reset(cpu& core);
  /// The device's view of it.
  task<qpc> query(cpu& core);

  // Work
  /// False, and nothing is posted, if the queue has no room or the request fits no WQE.
  task<bool> post_send(cpu& core, const work_request& request);
  /// All or nothing, with one doorbell.
  task<bool> post_send(cpu& core, std::span<const work_request> batch);
  task<bool> post_receive(cpu& core, const receive_request& request);

  /// In which order the 64-byte blocks of a BlueFlame WQE are copied; for tests of the NIC's
  /// assembly.
  void copy_blocks_in(const std::array<std::uint8_t, 4>& order) { block_order_ = order; }

  [[nodiscard]] std::uint32_t qpn() const { return qpn_; }

  [[nodiscard]] queue_pair_address address() const;

  [[nodiscard]] std::uint32_t free_wqebbs() const {
    return send_size() - (send_producer_ - send_consumer_);
  }

  [[nodiscard]] std::uint64_t send_buffer() const { return send_buffer_; }

  [[nodiscard]] std::uint64_t doorbell_record() const { return record_; }

 private:
  friend class completion_queue;

  struct send_entry {
    std::uint64_t id = 0;
    trace_ref trace;
    std::uint16_t wqe_index = 0;
    std::uint8_t wqebbs = 0;
  };

  queue_pair(device& owner, std::uint32_t pd, uar_handle& uar, completion_queue& send_cq,
             completion_queue& receive_cq, const queue_pair_options& options);

  [[nodiscard]] std::uint32_t send_size() const { return 1U << options_.log_sq_size; }

  [[nodiscard]] std::uint32_t receive_size() const { return 1U << options_.log_rq_size; }

  [[nodiscard]] std::uint32_t receive_stride() const;
  [[nodiscard]] bool blueflame(std::size_t requests) const;
  trace_ref build(cpu& core, const work_request& request, trace_ref history);
  void write_ring(std::uint16_t wqe_index);
  task<> ring_doorbell(cpu& core, trace_ref history, std::size_t requests);
  trace_ref copy_blocks(cpu& core, trace_ref history);
  task<> modify(cpu& core, command_opcode opcode, const qpc& context, std::uint32_t options = 0);

  /// Retires everything up to the WQE that starts at `wqe_counter`; earlier ones complete silently.
  send_entry retire_send(std::uint16_t wqe_counter);
  std::uint64_t retire_receive(std::uint16_t wqe_counter);

  device& device_;
  const std::uint32_t pd_;
  uar_handle& uar_;
  completion_queue& send_cq_;
  completion_queue& receive_cq_;
  const queue_pair_options options_;
  tracer& trace_;
  name_id lock_reason_;
  std::uint32_t qpn_ = 0;
  std::uint32_t psn_ = 0;
  std::uint32_t peer_qpn_ = 0;
  std::uint64_t receive_buffer_ = 0;
  std::uint64_t send_buffer_ = 0;
  std::uint64_t record_ = 0;

  std::uint32_t send_producer_ = 0;  ///< WQEBBs, free running
  std::uint32_t send_consumer_ = 0;
  std::vector<send_entry> sends_;  ///< by slot of the WQE's first WQEBB
  std::uint32_t receive_producer_ = 0;
  std::uint32_t receive_consumer_ = 0;
  std::vector<std::uint64_t> receives_;  ///< ids by slot
  built_wqe wqe_;                        ///< the last one built
  std::array<std::uint8_t, 4> block_order_ = {0, 1, 2, 3};
};

}  // namespace carillon
