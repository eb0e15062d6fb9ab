// responder: serves the requests of RC, UC and UD. Checks the message, finds where its bytes go,
// writes them, executes atomics, answers and reports.
//
// A packet's decision (accepted or not, the new ePSN) is made in the cycle in which it is taken and
// announced to the parser by a commit; only a message that takes a receive WQE without a known
// credit, and a UC WRITE with immediate, have to wait for theirs. The rest follows at its own pace:
// packets of one QP finish in order, packets of different QPs do not wait for each other's receive
// WQEs, keys or atomics.
#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/key_lookup.h"
#include "common/nic_shared.h"
#include "common/rate_items.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "responder/queue_rows.h"
#include "responder/rules.h"

namespace carillon {

class responder : public stage {
 public:
  struct ports {
    stream<rx_packet>& packets;                ///< requests with a verdict - rx_parser
    stream<qp_command>& commands;              ///< state changes - pcie_endpoint
    stream<srq_command>& srq_commands;         ///< shared receive queues - pcie_endpoint
    stream<qp_error>& requester_faults;        ///< the QP's other half failed - requester
    stream<response_failure>& failures;        ///< data of a READ that could not be read - tx_sched
    stream<response_left>& answered;           ///< answers to READs and atomics left - tx_sched
    stream<context_read>& key_reads;           ///< memory keys - qpc_ram
    stream<context_line>& key_lines;           ///< their answers - qpc_ram
    stream<dma_read>& reads;                   ///< records, receive WQEs, atomics - dma_engine
    stream<dma_read_done>& reads_done;         ///< their answers - dma_engine
    stream<dma_write>& writes;                 ///< payload - dma_engine
    stream<context_write>& lines;              ///< qpc_responder - qpc_ram
    stream<qp_error>& errors;                  ///< QPs that failed - qpc_ram
    stream<key_invalidation>& invalidations;   ///< of SENDs with invalidate - qpc_ram
    stream<qp_error>& faults;                  ///< QPs that failed - requester
    stream<qp_commit>& commits;                ///< decided requests - rx_parser
    stream<response_item>& responses;          ///< ACKs, NAKs, READs, atomics - tx_sched
    stream<cqe_item>& cqes;                    ///< completions of receive WQEs - completion
    stream<async_event>& events;               ///< completion
    stream<congestion_note>* notes = nullptr;  ///< marked packets - rate_control, if there is any
  };

  /// Packets between take and last write.
  static constexpr unsigned Slots = stage_spec::responder::Outstanding;

  /// DMA reads under way; `reads_done` has room for their answers.
  static constexpr unsigned MaxReads = 64;

  responder(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io);

 private:
  enum class phase : std::uint8_t {
    settle,   ///< UC WRITE with immediate: are its bytes good?
    credit,   ///< is there a receive WQE?
    decided,  ///< wants to commit
    receive,  ///< waits for the receive WQE's bytes
    mapping,  ///< waits for the key of its message's first packet
    keys,     ///< waits for memory keys
    write     ///< knows where its bytes go
  };

  /// What a packet that changes nothing is answered with.
  enum class answer_kind : std::uint8_t { none, sequence_nak, duplicate_ack, replay };

  /// Bytes of a packet that go to one place in IOVA space.
  struct target {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint8_t segment = 0;  ///< of the receive WQE
  };

  struct packet_slot {
    bool used = false;
    rx_packet packet;
    qpc_common common;
    request_step step;
    phase at = phase::write;
    answer_kind answer = answer_kind::none;
    request_fault fault = request_fault::none;
    bool refused = false;    ///< no receive WQE: ePSN stays
    bool dropped = false;    ///< without a word
    bool abandoned = false;  ///< the QP was reset
    bool undecided = false;  ///< what is found out comes before its decision
    bool keyed = false;      ///< its key was looked up before its decision
    qp_row* row = nullptr;
    cycle_t ready = 0;  ///< earliest write
    std::uint32_t message = 0;
    std::uint64_t asked_before = 0;
    std::uint16_t receive = 0;  ///< sequence number of its WQE; the index, of a private queue
    std::uint16_t receive_index = 0;
    std::uint32_t answer_psn = 0;
    std::uint32_t answer_msn = 0;
    const std::uint8_t* segments = nullptr;  ///< of its receive WQE, while it is placed
    std::uint32_t segment_bytes = 0;
    write_map map;  ///< of a WRITE packet behind the first: where its message goes
    scatter_list pieces;
    std::vector<target> targets;  ///< in the order of the bytes
    std::size_t written = 0;      ///< of them
    std::uint32_t bytes_written = 0;
    unsigned keys_wanted = 0;
    bool paged = false;  ///< the remote key is
    held_history history;
  };

  struct receive_wqe {
    std::uint16_t index = 0;
    dma_status status = dma_status::ok;
    bool is_signed = false;
    const std::uint8_t* bytes = nullptr;
    std::uint32_t stride = 0;
  };

  enum class read_kind : std::uint8_t { record, batch, srq_record, srq_wqe, atomic };

  struct read_request {
    read_kind kind = read_kind::record;
    std::uint32_t number = 0;  ///< QP or SRQ
  };

  struct atomic_job {
    qp_row* row = nullptr;
    std::uint8_t generation = 0;
    rx_packet packet;
    std::uint32_t msn = 0;
    std::uint32_t msn_before = 0;
    std::uint64_t address = 0;  ///< IOVA
    held_history history;
  };

  struct failed_read {
    response_failure what;
    held_history history;
  };

  enum class atomic_phase : std::uint8_t { idle, wanted, reading, finishing };

  /// What there is to flush of a QP in error.
  enum class flush_step : std::uint8_t {
    reset,    ///< it is not in error any more
    done,     ///< nothing
    unknown,  ///< a WQE of a shared queue that was not read yet
    ready     ///< a WQE
  };

  struct late_look {
    cycle_t due = 0;
    std::uint32_t qpn = 0;
    std::uint8_t generation = 0;
  };

  /// A request that ends its QP.
  struct failure {
    request_fault fault = request_fault::none;
    std::uint32_t psn = 0;
    std::uint32_t msn = 0;
    bool took_receive = false;  ///< its message has the oldest open receive WQE
  };

  static constexpr unsigned KeyLookup = stage_spec::qpc_ram::Latency;
  static constexpr unsigned WriteLatency = stage_spec::responder::Latency - KeyLookup;
  static constexpr std::uint8_t NoSlot = 0xff;

  // The cookie of a key lookup: its slot, and above it the segment.
  static constexpr unsigned SegmentShift = 8;
  static constexpr std::uint64_t SlotMask = 0xff;
  static constexpr std::uint64_t InvalidationCookie = 0xff;  ///< in place of a segment

  void evaluate(cycle_t t) override;

  // Commands (responder.cpp)
  void take_commands(cycle_t t);
  qp_row& row_of(std::uint32_t qpn);
  void reset(cycle_t t, qp_row& row);
  static void release(cycle_t t, packet_slot& slot);
  static void start(qp_row& row, const qpc_responder& line);
  void configure(qp_row& row, const qpc_common& common);

  // A packet comes (responder.cpp)
  void take_packet(cycle_t t);
  bool accept(cycle_t t, packet_slot& slot);
  bool take_out_of_sequence(cycle_t t, packet_slot& slot);
  bool take_duplicate(cycle_t t, std::uint8_t id);
  [[nodiscard]] std::uint8_t free_slot() const;
  [[nodiscard]] bool older_of_qp(std::uint8_t id) const;
  [[nodiscard]] bool behind_invalidation(std::uint8_t id) const;
  [[nodiscard]] bool any_at(phase at) const;

  // Its decision and its places (responder/decision.cpp)
  void advance(cycle_t t, std::uint8_t id);
  void settle(cycle_t t, std::uint8_t id);
  void find_credit(cycle_t t, packet_slot& slot);
  [[nodiscard]] static bool can_take(const qp_row& row);
  [[nodiscard]] static bool needs_wqe(const packet_slot& slot);
  std::uint16_t take_receive(cycle_t t, qp_row& row, bool needs_bytes);
  void decide(cycle_t t, std::uint8_t id);
  void read_ahead(cycle_t t, const packet_slot& slot);
  static std::optional<receive_wqe> look_up(const packet_slot& slot);
  void find_receive(cycle_t t, std::uint8_t id);
  void place(cycle_t t, std::uint8_t id);
  void no_place(packet_slot& slot);
  void place_send(cycle_t t, std::uint8_t id);
  void add_grh(packet_slot& slot);
  void place_write(cycle_t t, std::uint8_t id);
  void apply_map(cycle_t t, std::uint8_t id);
  void publish_map(cycle_t t, const packet_slot& first, const key_lookup::answer& answer);
  void ask_key(cycle_t t, std::uint8_t id, std::uint64_t segment, key_use use);
  void ask_remote_key(cycle_t t, std::uint8_t id, key_right right, std::uint64_t length,
                      std::uint64_t message);
  static void note_key(packet_slot& slot, std::uint64_t segment, const key_lookup::answer& answer);
  void take_key(cycle_t t, const key_lookup::answer& answer);

  // Its end (responder/finish.cpp)
  void write(cycle_t t);
  bool write_one(cycle_t t, std::uint8_t id);
  bool may_end(cycle_t t, packet_slot& slot);
  bool write_target(cycle_t t, packet_slot& slot);
  void push_write(cycle_t t, dma_write out);
  void end_packet(cycle_t t, packet_slot& slot, trace_ref history);
  void report(cycle_t t, packet_slot& slot, trace_ref history);
  void finish_receive(cycle_t t, qp_row& row);
  void respond(cycle_t t, const packet_slot& slot, std::uint8_t syndrome, std::uint32_t psn,
               std::uint32_t msn, trace_ref history);
  void respond_read(cycle_t t, const packet_slot& slot, std::uint32_t msn, trace_ref history,
                    bool saved);
  bool refuse(cycle_t t, packet_slot& slot);
  bool give_answer(cycle_t t, packet_slot& slot);
  void leave(cycle_t t, std::uint8_t id);
  bool lacks(cycle_t t, stream_base& output, name_id reason, held_history* waiting);

  // Errors and events (responder/failure.cpp)
  bool fail(cycle_t t, qp_row& row, const failure& what, held_history& history);
  bool fail_packet(cycle_t t, packet_slot& slot);
  void take_failures(cycle_t t);
  void take_answered(cycle_t t);
  void enter_error(cycle_t t, qp_row& row);
  void push_error(cycle_t t, qp_row& row, cqe_syndrome syndrome, trace_ref history);
  void flush(cycle_t t);
  static flush_step flush_state(const qp_row& row);
  void flush_one(cycle_t t, qp_row& row);
  void flush_late(cycle_t t, qp_row& row);
  void look_late(cycle_t t);
  void tell(const qp_row& row, event_type kind);
  void tell(const srq_row& row, event_type kind);
  void tell_events(cycle_t t);

  // Atomics (responder/atomics.cpp)
  void start_atomic(cycle_t t, packet_slot& slot);
  void run_atomics(cycle_t t);
  bool issue_atomic(cycle_t t);
  void take_atomic_read(cycle_t t, const dma_read_done& done);
  bool finish_atomic(cycle_t t, atomic_job& job);
  void respond_atomic(cycle_t t, const rx_packet& packet, std::uint32_t msn, std::uint64_t result,
                      trace_ref history, const qp_row* saved);
  void end_atomic(cycle_t t);

  // Requests to others, shared receive queues (responder/requests.cpp)
  static std::uint64_t cookie_of(read_kind kind, std::uint32_t number, std::uint8_t generation);
  bool may_commit(cycle_t t, held_history* waiting);
  void commit(cycle_t t, std::uint32_t qpn, const qpc_responder* line);
  void write_line(cycle_t t, std::uint32_t qpn, const qpc_responder& line);
  static bool want(record_reader& record);
  void want_record(cycle_t t, qp_row& row);
  void want_srq_record(cycle_t t, srq_row& row);
  void want_batch(cycle_t t, qp_row& row);
  void want_wqe(cycle_t t, srq_row& row);
  bool may_read(cycle_t t);
  void push_read(cycle_t t, dma_read read);
  bool cancelled(const read_request& asked);
  void issue_reads(cycle_t t);
  void issue(cycle_t t, const read_request& asked);
  static std::uint8_t ask_record(record_reader& record, std::uint64_t address, dma_read& read,
                                 std::uint8_t waiting);
  std::uint8_t ask_wqe(srq_row& row, dma_read& read) const;
  std::uint8_t ask_batch(qp_row& row, dma_read& read) const;
  void issue_for(cycle_t t, dma_read read, std::uint8_t waiting);
  [[nodiscard]] std::uint8_t waiting_at(phase at, const qp_row& row) const;
  [[nodiscard]] std::uint8_t waiting_at(phase at, const srq_row& row) const;
  [[nodiscard]] std::uint8_t waiting_for(const srq_row& row, std::uint16_t sequence) const;
  void join(cycle_t t, const dma_read_done& done, std::uint8_t waiting);
  static bool take_record(record_reader& record, dma_status status, std::uint32_t& value);
  void take_reads(cycle_t t);
  srq_row& srq_of(std::uint32_t srqn);
  void take_srq_command(cycle_t t);
  void take_srq_read(cycle_t t, srq_row& row, read_kind kind, const dma_read_done& done);

  nic_shared& shared_;
  ports io_;
  key_lookup keys_;
  std::array<packet_slot, Slots> slots_;
  std::vector<std::uint8_t> age_;                    ///< used slots, oldest first
  std::unordered_map<std::uint32_t, qp_row> rows_;   // never iterated
  std::unordered_map<std::uint32_t, srq_row> srqs_;  // never iterated
  ring<read_request> read_queue_;
  ring<failed_read> failures_;
  ring<std::uint32_t> flushing_;  ///< QPs with receive WQEs to flush
  ring<late_look> late_looks_;    ///< in the order of their time
  ring<async_event> events_;      ///< not yet told
  ring<atomic_job> atomics_;      ///< the first one is in the unit
  atomic_phase atomic_at_ = atomic_phase::idle;
  dma_status atomic_status_ = dma_status::ok;
  buffer_ref atomic_word_;
  std::uint64_t writes_pushed_ = 0;
  unsigned reads_under_way_ = 0;
  cycle_t late_interval_;
  cycle_t last_commit_ = NeverCycle;
  cycle_t last_write_ = NeverCycle;
  name_id order_;
  name_id arbiter_;
  name_id commit_;
  name_id record_;
  name_id receive_wqe_;
  name_id atomic_unit_;
  name_id line_credit_;
  name_id commit_credit_;
  name_id write_credit_;
  name_id response_credit_;
  name_id cqe_credit_;
  name_id error_credit_;
  name_id fault_credit_;
  name_id invalidation_credit_;
};

}  // namespace carillon
