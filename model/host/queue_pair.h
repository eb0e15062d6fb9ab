// Queue pairs in the manner of verbs, over the rings in host memory and the doorbells that a
// ConnectX-style driver uses.
//
// A post is one message for each work request in the trace: opened when the core begins with it,
// continued over WQE, doorbell record, fence and doorbell into the doorbell's TLP. In a batch only
// the last request's history is the doorbell's; the others end with their WQE in memory and are
// continued by the NIC when it has fetched them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gen/contexts.h"
#include "gen/wqe.h"
#include "host/completion_queue.h"
#include "host/cpu.h"
#include "host/driver.h"
#include "host/receive_wqe.h"
#include "host/send_wqe.h"
#include "host/shared_receive_queue.h"

namespace carillon {

enum class doorbell_mode : std::uint8_t {
  automatic,      ///< BlueFlame where the driver rules allow it
  doorbell_only,  ///< always the 8-byte doorbell
};

struct queue_pair_options {
  qpc_service service = qpc_service::Rc;  ///< Rc, Uc or Ud
  unsigned log_sq_size = 6;               ///< in WQEBBs
  unsigned log_rq_size = 4;
  unsigned max_receive_sges = 1;
  doorbell_mode doorbell = doorbell_mode::automatic;
  bool wq_signature = false;            ///< of the WQEs of both its queues
  shared_receive_queue* srq = nullptr;  ///< instead of a receive queue of its own
};

/// What the peer must know, exchanged out of band.
struct queue_pair_address {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  ///< of the first packet that this side sends
  std::uint64_t mac = 0;
  gid address{};
  std::uint32_t qkey = 0;  ///< of datagrams to it
};

/// Attributes of the state transitions. Each transition takes those that belong to it.
struct connection_options {
  // To INIT, where they can be changed until RTS and beyond (update)
  bool remote_read = true;
  bool remote_write = true;
  bool remote_atomic = false;
  std::uint16_t pkey_index = 0;
  std::uint32_t qkey = 0x11111111;  ///< of a UD QP
  // To RTR
  mtu_code mtu = mtu_code::Mtu4096;
  std::uint8_t min_rnr_nak = 12;
  std::uint8_t log_max_dest_rd_atomic = 4;    ///< READs and atomics of the peer at a time
  std::uint8_t gid_index = 0;                 ///< own address, in the device's table
  std::optional<std::uint8_t> traffic_class;  ///< default: as the run's parameters say
  std::optional<std::uint8_t> priority;       ///< likewise
  std::uint32_t flow_label = 0;               ///< also chooses the UDP source port
  std::uint8_t hop_limit = 64;
  // To RTS
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t log_max_rd_atomic = 4;  ///< own READs and atomics at a time
  std::optional<std::uint32_t> psn;    ///< first one; default random. To be told to to_init too
};

struct queue_memory;

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
  task<> to_init(cpu& core, const connection_options& options = {});
  /// A UD QP names its peers in its work requests: `peer` is not looked at.
  task<> to_rtr(cpu& core, const queue_pair_address& peer, const connection_options& options);
  task<> to_rts(cpu& core, const connection_options& options);
  /// Changes, in RTS, what was granted: RC access rights and min_rnr_nak, UC remote_write, UD qkey.
  task<> update(cpu& core, const connection_options& options);
  /// Work that has begun is finished, other work waits until from_sqd. An SqDrained event (or the
  /// queried state) tells when that is so.
  task<> to_sqd(cpu& core);
  task<> from_sqd(cpu& core);
  /// UC and UD: after a failed send the send queue goes on.
  task<> sqer_to_rts(cpu& core);
  task<> to_error(cpu& core);
  /// Everything posted is forgotten, with completions that nobody has polled.
  task<> to_reset(cpu& core);
  /// To the error state, and until everything posted has completed (of a QP with a shared receive
  /// queue: its send queue). The result is what its CQs held, of other QPs too, in polled order.
  task<std::vector<completion>> drain(cpu& core);
  /// Ends the QP; the object is good for nothing more.
  task<> destroy(cpu& core);
  /// The device's view of it.
  task<qpc> query(cpu& core);

  // Work
  /// False, and nothing is posted, if the queue has no room or the request fits no WQE.
  task<bool> post_send(cpu& core, const work_request& request);
  /// All or nothing, with one doorbell.
  task<bool> post_send(cpu& core, std::span<const work_request> batch);
  task<bool> post_receive(cpu& core, const receive_request& request);
  /// All or nothing, with one store to the doorbell record.
  task<bool> post_receive(cpu& core, std::span<const receive_request> batch);

  /// What a datagram to `peer` needs, by the attributes of this side.
  [[nodiscard]] address_handle handle_of(const queue_pair_address& peer,
                                         const connection_options& options = {}) const;

  /// In which order the 64-byte blocks of a BlueFlame WQE are copied; for tests of the NIC's
  /// assembly.
  void copy_blocks_in(const std::array<std::uint8_t, 4>& order) { block_order_ = order; }

  [[nodiscard]] std::uint32_t qpn() const { return qpn_; }

  [[nodiscard]] qpc_service service() const { return options_.service; }

  /// With the address of that entry of the device's table.
  [[nodiscard]] queue_pair_address address(unsigned gid_index = 0) const;

  [[nodiscard]] std::uint32_t free_wqebbs() const {
    return send_size() - (send_producer_ - send_consumer_);
  }

  [[nodiscard]] std::uint32_t free_receives() const {
    return receive_size() - (receive_producer_ - receive_consumer_);
  }

  [[nodiscard]] shared_receive_queue* shared_receives() const { return options_.srq; }

  [[nodiscard]] std::uint64_t send_buffer() const { return send_buffer_; }

  [[nodiscard]] std::uint64_t receive_buffer() const { return receive_buffer_; }

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

  [[nodiscard]] std::uint32_t receive_size() const {
    return options_.srq == nullptr ? 1U << options_.log_rq_size : 0;
  }

  [[nodiscard]] bool datagram() const { return options_.service == qpc_service::Ud; }

  [[nodiscard]] ads path_to(const queue_pair_address& peer,
                            const connection_options& options) const;
  [[nodiscard]] qpc context_for(const queue_memory& buffer) const;
  [[nodiscard]] bool blueflame(std::size_t requests) const;
  trace_ref build(cpu& core, const work_request& request, trace_ref history);
  void write_ring(std::uint16_t wqe_index);
  task<> ring_doorbell(cpu& core, trace_ref history, std::size_t requests);
  trace_ref copy_blocks(cpu& core, trace_ref history);
  task<> modify(cpu& core, command_opcode opcode, const qpc& context, std::uint32_t options = 0);
  void forget_work();

  struct markers {
    std::optional<std::uint16_t> send;
    std::optional<std::uint16_t> receive;
  };

  [[nodiscard]] bool is_marker(const completion& entry, const markers& last) const;
  task<> collect(cpu& core, completion_queue& from, const markers& last,
                 std::vector<completion>& into);

  /// Retires everything up to the WQE that starts at `wqe_counter`; earlier ones complete silently.
  /// The id of that WQE's request.
  std::uint64_t retire_send(std::uint16_t wqe_counter);
  std::uint64_t retire_receive(std::uint16_t wqe_counter, std::uint32_t srqn);

  device& device_;
  const std::uint32_t pd_;
  uar_handle& uar_;
  completion_queue& send_cq_;
  completion_queue& receive_cq_;
  const queue_pair_options options_;
  tracer& trace_;
  name_id lock_reason_;
  const std::uint32_t receive_stride_;
  std::uint32_t qpn_ = 0;
  std::uint32_t psn_ = 0;
  std::uint32_t qkey_ = 0;
  std::uint64_t receive_buffer_ = 0;
  std::uint64_t send_buffer_ = 0;
  std::uint64_t record_ = 0;

  std::uint32_t send_producer_ = 0;  ///< WQEBBs, free running
  std::uint32_t send_consumer_ = 0;
  std::vector<send_entry> sends_;  ///< by slot of the WQE's first WQEBB
  std::uint32_t receive_producer_ = 0;
  std::uint32_t receive_consumer_ = 0;
  std::vector<std::uint64_t> receives_;  ///< ids by slot
  bool invalidated_ = false;             ///< the last send WQE was a local invalidation
  built_wqe wqe_;                        ///< the last one built
  std::array<std::uint8_t, MaxReceiveWqeBytes> receive_wqe_{};
  std::array<std::uint8_t, 4> block_order_ = {0, 1, 2, 3};
  bool inlined_ = false;  ///< the last send WQE has inline data
};

}  // namespace carillon
