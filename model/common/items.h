// What travels on the streams between the stages of one NIC. Stages know these types and each
// other's not at all.
//
// Every item carries `trace`, its history. `qpn` is chip-global. Lengths are bytes unless said
// otherwise; a "beat" is 64 bytes on a 512-bit stream.
#pragma once

#include <array>
#include <cstdint>

#include "common/buffer.h"
#include "common/tracer.h"
#include "common/types.h"
#include "gen/stages.h"

namespace carillon {

constexpr unsigned beats_of(std::uint64_t bytes) {
  return bytes == 0 ? 1U : static_cast<unsigned>((bytes + BeatBytes - 1) / BeatBytes);
}

// From pcie_rx
// -----------------------------------------------------------------------------------------

/// A posted write that hit a BAR. Writes longer than 64 bytes keep their first 64 (nobody accepts
/// them).
struct mmio_write {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint8_t bar = 0;
  std::uint64_t offset = 0;  ///< in the function's BAR
  std::uint16_t length = 0;
  std::array<std::uint8_t, BeatBytes> data{};
};

/// A read that hit a BAR; answered through mmio_answer.
struct mmio_read {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint8_t bar = 0;
  std::uint64_t offset = 0;
  std::uint16_t length = 0;  ///< 4 or 8; others are answered "unsupported request"
  std::uint16_t requester = 0;
  std::uint16_t tag = 0;
};

struct mmio_answer {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint16_t requester = 0;
  std::uint16_t tag = 0;
  std::uint8_t status = 0;  ///< PCIe completion status
  std::uint16_t length = 0;
  std::uint8_t lower_address = 0;
  bool without_data = false;  ///< of success, too: a configuration write
  std::array<std::uint8_t, 8> data{};
};

/// A configuration request for one dword; answered through mmio_answer.
struct config_request {
  trace_ref trace;
  std::uint16_t destination = 0;  ///< routing ID: bus << 8 | device and function
  bool local = true;              ///< of type 0: for the bus of the link, which the device captures
  bool write = false;
  std::uint16_t offset = 0;
  std::uint8_t enables = 0;  ///< its bytes that count
  std::uint32_t value = 0;   ///< byte 0 is the least significant
  std::uint16_t requester = 0;
  std::uint16_t tag = 0;
};

/// What a function reports of the TLPs that it saw (pcie_rx, dma_engine -> pcie_endpoint).
enum class pcie_error_kind : std::uint8_t {
  unsupported_request,    ///< came and was refused
  poisoned_request,       ///< likewise, for its poison bit
  poisoned_completion,    ///< for a read of ours
  refused,                ///< a read of ours was answered Unsupported Request
  aborted,                ///< ... or Completer Abort
  completion_timeout,     ///< ... or not at all
  unexpected_completion,  ///< for no read of ours
};

struct pcie_error {
  trace_ref trace;
  std::uint16_t function = 0;  ///< 0 if it is nobody's
  pcie_error_kind kind = pcie_error_kind::unsupported_request;
};

/// A completion (with or without data) of one of our reads.
struct read_completion {
  trace_ref trace;
  std::uint16_t tag = 0;
  std::uint8_t status = 0;
  bool poisoned = false;
  std::uint16_t byte_count = 0;  ///< bytes still to come, this one's included
  std::uint8_t lower_address = 0;
  std::uint16_t length = 0;  ///< payload bytes of this TLP (whole dwords)
  buffer_ref data;           ///< payload from its first dword
};

// DMA
// --------------------------------------------------------------------------------------------------

enum class dma_status : std::uint8_t {
  ok,
  unsupported_request,
  completer_abort,
  poisoned,
  timeout
};

/// Reads `length` bytes at IOVA `address` into `into` from `into_offset` on. The response comes
/// when the last byte is in; the requester has reserved its slot.
struct dma_read {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  buffer_ref into;
  std::uint32_t into_offset = 0;
  std::uint64_t cookie = 0;  ///< returned as it was
  /// It is sent only when so many of the responder's writes have been: what a READ or an atomic
  /// reads includes the WRITEs before it.
  std::uint64_t writes_before = 0;
};

struct dma_read_done {
  trace_ref trace;
  std::uint64_t cookie = 0;
  dma_status status = dma_status::ok;
  buffer_ref data;  ///< the request's `into`
};

/// A posted write of `length` bytes from `from` + `from_offset` to IOVA `address`. Writes of one
/// stream reach memory in order.
struct dma_write {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  buffer_ref from;
  std::uint32_t from_offset = 0;
  milestone point =
      milestone::count_;  ///< reached when the write is visible in memory; count_: none
  bool point_last = false;
};

// Context RAM
// ------------------------------------------------------------------------------------------

enum class context_kind : std::uint8_t {
  qpc_common,
  qpc_address,
  qpc_requester,
  qpc_responder,
  cqc,
  mkey,
  mtt,
  srq,
  eqc,
};

inline constexpr std::size_t ContextKinds = 9;

/// Reads one 64-byte line. `index` is the QPN, CQN, mkey index, translation line, SRQ or EQ number.
struct context_read {
  trace_ref trace;
  context_kind kind = context_kind::qpc_common;
  std::uint32_t index = 0;
  std::uint16_t function = 0;  ///< on whose behalf: it reaches its own partition, the PF all
};

struct context_line {
  trace_ref trace;
  context_kind kind = context_kind::qpc_common;
  std::uint32_t index = 0;
  bool valid = false;  ///< the index exists (an object that was never created still reads as zeros)
  std::array<std::uint8_t, BeatBytes> data{};
};

/// Invalidates a memory key: a set-only bit over its line until a command writes it (tx_sched for
/// LOCAL_INVAL, responder for SEND_INVAL -> qpc_ram). The index alone; the variant was checked.
struct key_invalidation {
  trace_ref trace;
  std::uint32_t index = 0;
};

/// Writes one whole line.
struct context_write {
  trace_ref trace;
  context_kind kind = context_kind::qpc_common;
  std::uint32_t index = 0;
  std::array<std::uint8_t, BeatBytes> data{};
};

// Transmit path
// ----------------------------------------------------------------------------------------

/// A doorbell or a complete BlueFlame WQE, ownership checked (uar -> wqe_fetch).
struct doorbell {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint16_t wqe_index = 0;  ///< of the last posted WQE
  std::uint8_t ds = 0;          ///< its size in 16-byte units
  bool blueflame = false;       ///< `wqe` holds the WQE itself
  buffer_ref wqe;
};

enum class wqe_origin : std::uint8_t { fetched, blueflame };

/// One WQE with its bytes (wqe_fetch -> wqe_parser); `beats_of(ds * 16)` beats.
struct wqe_item {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint16_t wqe_index = 0;  ///< expected index: where it was fetched
  std::uint8_t ds = 0;          ///< 16-byte units in `bytes`, from the fetched control segment
  wqe_origin origin = wqe_origin::fetched;
  dma_status status = dma_status::ok;
  std::uint8_t epoch = 0;  ///< go-back count of the send queue when it was fetched
  buffer_ref bytes;
};

inline constexpr unsigned MaxSge = 30;

/// Bytes of the datagram segment that the body of a UD work request begins with, and of the header
/// of inline data behind it.
inline constexpr std::uint32_t DatagramBytes = 48;
inline constexpr std::uint32_t InlineHeaderBytes = 4;

/// A checked work request (wqe_parser -> tx_sched). Its fields travel beside every beat and count
/// in the first; `body` holds 64 bytes a beat: the inline bytes from offset 0, or the mlx5 data
/// segments (16 bytes each, as in the WQE). The body of a UD request is the WQE behind its control
/// segment as it is: the datagram segment, then the data segments or the inline segment with its
/// header. So an item has max(1, ceil(body bytes / 64)) beats, and its body is complete only with
/// its last beat. The data segments of a READ or an atomic say where the response goes.
struct work_item {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint16_t wqe_index = 0;
  std::uint8_t wqebbs = 0;
  std::uint8_t opcode = 0;  ///< mlx5 send opcode
  std::uint8_t fm_ce_se = 0;
  std::uint8_t syndrome = 0;  ///< not 0: the WQE failed and completes with this error
  bool drop = false;          ///< the QP was not ready to send: counted, no completion
  std::uint8_t epoch = 0;     ///< of the wqe_item
  bool is_inline = false;
  bool paged = false;        ///< a key of its data segments has a page list
  std::uint8_t service = 0;  ///< mlx5 service type
  std::uint8_t mtu_code = 0;
  std::uint8_t sge_count = 0;
  std::uint32_t imm = 0;     ///< as in the control segment: immediate, or the key to invalidate
  std::uint32_t length = 0;  ///< total payload bytes
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_add = 0;  ///< of an atomic
  std::uint64_t compare = 0;
  std::uint32_t send_cqn = 0;
  buffer_ref body;  ///< empty if there is no payload

  [[nodiscard]] bool datagram() const { return service == UdService; }

  /// Where the inline bytes or the data segments begin in the body.
  [[nodiscard]] std::uint32_t data_offset() const {
    return datagram() ? DatagramBytes + (is_inline ? InlineHeaderBytes : 0) : 0;
  }

  [[nodiscard]] std::uint32_t body_bytes() const {
    if (is_inline) {
      return data_offset() + length;
    }
    return data_offset() + sge_count * 16U;
  }

  static constexpr std::uint8_t UdService = 2;
};

enum class packet_source : std::uint8_t { request, acknowledge, atomic_acknowledge, read_response };

/// One packet to build (tx_sched -> payload_dma -> packet_builder). In payload_dma's output `frame`
/// holds the payload at PayloadOffset.
struct packet_item {
  trace_ref trace;
  packet_source source = packet_source::request;
  std::uint64_t order = 0;  ///< of the grant, over all packets of the NIC
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;        ///< local QP
  std::uint8_t life = 0;        ///< resets of the QP before it was granted: qpc_address.life
  std::uint8_t wqe_opcode = 0;  ///< mlx5 send opcode of a request; of a CNP that of its BTH
  std::uint8_t service = 0;     ///< transport service
  bool solicited = false;
  bool ack_request = false;
  std::uint32_t psn = 0;
  std::uint32_t payload = 0;  ///< bytes
  bool first = false;         ///< first packet of its message
  bool last = false;          ///< last packet of its message
  // RETH (of the first packet), ImmDt (of the last)
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;
  std::uint32_t imm = 0;  ///< also the key of a SEND with invalidate
  // AtomicETH (with the remote address and key); AtomicAckETH has the original value in `swap_add`
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  // AETH
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  // Where the payload is: in the body, by the body's data segments, or, for a read_response, at
  // `remote_address` + `message_offset` under the key `rkey`.
  bool is_inline = false;
  bool paged = false;  ///< a key has a page list: addresses must be translated
  std::uint8_t sge_count = 0;
  std::uint32_t data_offset = 0;     ///< of the inline bytes or data segments in the body
  std::uint32_t message_offset = 0;  ///< of this packet's first byte in the message
  std::uint64_t writes_before = 0;   ///< of a read_response: see dma_read
  buffer_ref body;                   ///< of the work_item; a UD request's begins with its address
  buffer_ref frame;                  ///< payload at PayloadOffset, once payload_dma has it
  bool poisoned = false;             ///< a read of its payload failed
};

/// Where payload_dma puts the payload in a frame's buffer: room for the longest headers in front of
/// it, so that the builder writes them without moving a byte.
inline constexpr std::uint32_t PayloadOffset = 128;

/// What tx_sched tells the requester of every request packet that it has granted, in PSN order; and
/// of WQEs that end without one.
struct sent_packet {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint8_t epoch = 0;  ///< of its WQE: older ones than the requester's are of no interest
  std::uint32_t psn = 0;
  std::uint32_t first_psn = 0;  ///< of the WQE
  std::uint32_t last_psn = 0;   ///< of the WQE; of a READ, of its last response
  bool last = false;            ///< last packet of the WQE
  bool no_packet = false;       ///< the WQE sends nothing (LOCAL_INVAL, NOP) and takes no PSN
  bool drain_mark = false;      ///< no WQE: in SQD, and what has begun has been told before
  bool ack_request = false;
  std::uint16_t wqe_index = 0;
  std::uint8_t wqebbs = 0;
  std::uint8_t opcode = 0;
  std::uint8_t service = 0;
  std::uint8_t mtu_code = 0;
  bool signaled = false;
  bool solicited_event = false;  ///< its completion raises an event (ce 3)
  /// Not 0: the WQE completes with this error when those before it have. Its packets from `psn` on
  /// were not sent.
  std::uint8_t syndrome = 0;
  std::uint8_t vendor_syndrome = 0;
  std::uint32_t length = 0;
  std::uint32_t send_cqn = 0;
  std::uint16_t function = 0;
  // Of READs and atomics: where the response goes.
  bool paged = false;
  std::uint8_t sge_count = 0;
  buffer_ref body;
};

/// The first epoch of a QP's life: what is still on its way from a life before it has another one.
/// wqe_fetch, tx_sched and requester count the resets alike.
constexpr std::uint8_t first_epoch(std::uint32_t resets) {
  return static_cast<std::uint8_t>(resets * 16);
}

/// How the requester governs what tx_sched sends of a QP.
enum class send_control_kind : std::uint8_t {
  progress,  ///< packets before `psn` are acknowledged, `reads_done` READs and atomics are answered
  halt,      ///< from now on only WQEs of the new epoch count; nothing is sent until a restart
  restart,   ///< like halt; then go on at `psn`, which is `skip` packets into WQE `wqe_index`
  error,     ///< the QP is in error (UC, UD: its send queue): what comes is flushed
};

struct send_control {
  trace_ref trace;
  send_control_kind kind = send_control_kind::progress;
  std::uint32_t qpn = 0;
  std::uint8_t epoch = 0;
  std::uint32_t psn = 0;
  std::uint32_t skip = 0;
  std::uint16_t wqe_index = 0;
  std::uint8_t reads_done = 0;  ///< since the last such item
};

/// tx_sched -> wqe_fetch: go on fetching at `wqe_index`; what was fetched before is of no use. The
/// messages' histories are in nic_shared::posted.
struct refetch {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint8_t epoch = 0;
  std::uint16_t wqe_index = 0;
};

// Frames
// -----------------------------------------------------------------------------------------------

/// An Ethernet frame without preamble and gap. `bytes` from `offset`, `length` bytes, FCS not
/// included.
struct frame_item {
  trace_ref trace;
  buffer_ref bytes;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t fcs = 0;
  bool fcs_known =
      false;  ///< `fcs` was computed over these very bytes and nobody touched them since
  bool icrc_known = false;  ///< likewise for the ICRC in the frame
  std::uint8_t priority = 0;
  bool first = false;  ///< first packet of its message (for milestones)
  bool last = false;
  std::uint16_t function = 0;  ///< that sends it; of no meaning when it came by the wire
  bool looped = false;         ///< it never was on the wire
};

// Receive path
// -----------------------------------------------------------------------------------------

enum class rx_verdict : std::uint8_t { accept, duplicate, gap, no_qp, bad_state, response };

/// A RoCE packet with its headers parsed and its ICRC checked (rx_parser -> responder or
/// requester).
struct rx_packet {
  trace_ref trace;
  rx_verdict verdict = rx_verdict::accept;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;  ///< destination QP
  std::uint8_t bth_opcode = 0;
  bool solicited = false;
  bool ack_request = false;
  std::uint32_t psn = 0;
  std::uint64_t remote_address = 0;  ///< RETH, AtomicETH
  std::uint32_t rkey = 0;
  std::uint32_t dma_length = 0;
  std::uint32_t imm = 0;       ///< ImmDt; IETH: the key to invalidate
  std::uint64_t swap_add = 0;  ///< AtomicETH
  std::uint64_t compare = 0;
  std::uint64_t atomic_result = 0;  ///< AtomicAckETH
  std::uint32_t source_qpn = 0;     ///< DETH
  std::uint32_t qkey = 0;
  bool ipv6 = false;
  std::uint8_t priority = 0;
  std::uint32_t ip_offset = 0;  ///< of the IP header in `bytes`
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  std::uint32_t payload = 0;  ///< bytes, padding removed
  std::uint32_t payload_offset = 0;
  buffer_ref bytes;
  std::array<std::uint8_t, BeatBytes> common{};     ///< qpc_common line as looked up
  std::array<std::uint8_t, BeatBytes> responder{};  ///< qpc_responder line as looked up
};

enum class response_kind : std::uint8_t { acknowledge, atomic, read };

/// An answer to send (responder -> tx_sched). Those of one QP leave in the order in which they are
/// pushed; of different QPs, acknowledges and atomic results go before READ data.
struct response_item {
  trace_ref trace;
  response_kind kind = response_kind::acknowledge;
  std::uint16_t function = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;  ///< of the packet answered; of a READ, of its first response
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  /// A READ or an atomic that counts for what was agreed: tx_sched says when its answer has left.
  bool saved = false;
  std::uint8_t generation = 0;  ///< of the QP in responder, for that
  std::uint64_t atomic_result = 0;
  // READ
  std::uint64_t address = 0;  ///< virtual
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  std::uint8_t mtu_code = 0;
  bool paged = false;
  std::uint64_t writes_before = 0;  ///< see dma_read
};

/// The data of a READ could not be read (tx_sched -> responder): the response stops before `psn`.
struct response_failure {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
};

/// The last packet of the answer to a saved READ or atomic has left for packet_builder (tx_sched ->
/// responder): the peer may ask for one more.
struct response_left {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint8_t generation = 0;  ///< of the response_item
};

/// The responder has decided about a request packet and written the QP's line (responder ->
/// rx_parser): the next one of the QP may be looked up.
struct qp_commit {
  trace_ref trace;
  std::uint32_t qpn = 0;
};

/// A CQE to write (requester, responder -> completion).
struct cqe_item {
  trace_ref trace;
  std::uint32_t cqn = 0;
  std::uint32_t qpn = 0;
  std::uint8_t cqe_opcode = 0;
  std::uint8_t wqe_opcode = 0;
  std::uint8_t syndrome = 0;
  std::uint8_t vendor_syndrome = 0;
  std::uint16_t wqe_counter = 0;
  std::uint32_t byte_count = 0;
  std::uint32_t imm = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t srqn = 0;
  std::uint8_t service_level = 0;
  bool grh = false;        ///< the buffer begins with 40 bytes of IP header
  bool solicited = false;  ///< counts for a CQ that is armed for solicited completions
  bool event = false;      ///< raises an event even if the CQ is not armed (ce 3)
  milestone point = milestone::count_;
};

/// Something that an EQ should tell (responder, requester, pcie_endpoint -> completion).
struct async_event {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint8_t kind = 0;  ///< event_type
  std::uint8_t sub_type = 0;
  std::uint8_t queue_type = 0;
  std::uint32_t number = 0;  ///< of the queue; of Command: entries that are done, a bit each
};

/// A CQ or EQ doorbell, ownership not yet checked (uar -> completion).
struct queue_doorbell {
  trace_ref trace;
  std::uint16_t function = 0;
  std::uint32_t uar_page = 0;
  bool eq = false;              ///< EQ doorbell, else CQ arm
  bool arm = false;             ///< EQ: arms it
  bool solicited_only = false;  ///< CQ
  std::uint8_t arm_sn = 0;      ///< CQ
  std::uint32_t number = 0;
  std::uint32_t consumer_index = 0;
};

// Commands
// ---------------------------------------------------------------------------------------------

/// Moves a QP to the error state. Over its qpc_common line (requester, responder -> qpc_ram) it is
/// a set-only bit; between requester and responder it says that the other half failed.
struct qp_error {
  trace_ref trace;
  std::uint32_t qpn = 0;
  bool send_queue_only = false;  ///< UC, UD: to SQER, the receive side goes on
};

/// Says that a packet of this QP has left payload_dma (payload_dma -> tx_sched), so that one
/// without a payload to fetch may follow it past that stage.
struct payload_left {
  trace_ref trace;
  std::uint32_t qpn = 0;
  bool response = false;  ///< a read_response
  std::uint32_t psn = 0;
  dma_status status = dma_status::ok;  ///< not ok: the packet is dropped
};

/// Tells the owners of per-QP state that a command changed it (pcie_endpoint -> wqe_fetch,
/// tx_sched, requester, responder, each by its own stream). The lines in the context RAM are
/// written before.
struct qp_command {
  trace_ref trace;
  std::uint32_t qpn = 0;
  std::uint8_t state = 0;  ///< chip code of the new state
  std::uint8_t service = 0;
  std::uint8_t log_sq_size = 0;
  std::uint8_t log_rq_size = 0;
  std::uint32_t send_psn = 0;
  std::uint32_t receive_psn = 0;
  // Of its path, what makes headers longer, and what PFC stops.
  bool ipv6 = false;
  bool tagged = false;
  std::uint8_t priority = 0;
  // The lines as the command has left them.
  std::array<std::uint8_t, BeatBytes> common{};
  std::array<std::uint8_t, BeatBytes> requester{};
  std::array<std::uint8_t, BeatBytes> responder{};
};

/// Tells completion that a CQ or EQ was created or destroyed (pcie_endpoint -> completion): its
/// counters start again.
struct cq_command {
  trace_ref trace;
  std::uint32_t cqn = 0;  ///< or EQ number
  bool eq = false;
  bool modify = false;  ///< a CQ that lives on: only its moderation changes
  std::array<std::uint8_t, BeatBytes> line{};
};

enum class msix_command_kind : std::uint8_t {
  entry,    ///< an entry of the table was written
  control,  ///< enable and function mask in the configuration space were written
  reset,    ///< function-level reset: the table, what is pending and the EQs are gone
};

/// Tells completion what the host does to a function's MSI-X (pcie_endpoint -> completion).
struct msix_command {
  trace_ref trace;
  msix_command_kind kind = msix_command_kind::entry;
  std::uint16_t function = 0;
  std::uint16_t vector = 0;   ///< of an entry, the whole of which follows
  std::uint64_t address = 0;  ///< of an entry
  std::uint32_t data = 0;     ///< of an entry
  bool masked = false;        ///< the vector, or with `control` the function
  bool enabled = false;       ///< of `control`
};

/// Tells the responder that an SRQ was created or destroyed (pcie_endpoint -> responder).
struct srq_command {
  trace_ref trace;
  std::uint32_t srqn = 0;
  std::array<std::uint8_t, BeatBytes> line{};  ///< srq_line
};

}  // namespace carillon
