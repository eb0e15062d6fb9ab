// The send side of one QP in tx_sched, without time: what its next packet is and what that has to
// wait for.
//
// PSNs are given here, so here is kept what makes them safe: a packet gets the next PSN and no
// other; only a restart sets that back, to a packet of a WQE that is fetched again and gets the
// same PSNs again. So no PSN is ever used for another WQE.
#pragma once

#include <cstdint>

#include "common/held_history.h"
#include "common/items.h"
#include "common/ring.h"

namespace carillon {

enum class work_kind : std::uint8_t {
  message,  ///< SEND, WRITE: its data goes out in packets of one MTU
  read,     ///< one packet, as many PSNs as its response has packets
  atomic,
  local  ///< sends nothing
};

[[nodiscard]] work_kind work_kind_of(std::uint8_t wqe_opcode);

/// Packets of a message of so many bytes.
[[nodiscard]] std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu);

/// What byte 11 of the control segment says of a completion.
struct sched_flags {
  bool signaled = false;
  bool event = false;
  bool solicited = false;
};

[[nodiscard]] sched_flags sched_flags_of(std::uint8_t fm_ce_se);

/// A work request that waits or is being sent.
struct held_work {
  work_item item;
  cycle_t available = 0;        ///< its last beat is in
  held_history next;            ///< of its next packet
  std::uint32_t mtu = 0;        ///< bytes of payload a packet
  std::uint32_t offset = 0;     ///< bytes granted so far; those answered or acknowledged before
  std::uint32_t first_psn = 0;  ///< once it has begun
  bool begun = false;           ///< it has had a grant

  [[nodiscard]] work_kind kind() const { return work_kind_of(item.opcode); }

  /// Payload bytes of its next packet.
  [[nodiscard]] std::uint32_t next_bytes() const;
  /// PSNs that its next packet takes.
  [[nodiscard]] std::uint32_t next_psns() const;
};

/// Why a QP may not send: until the requester, a command or nobody says otherwise.
enum class sched_hold : std::uint8_t { none, drain, fence, max_rd_atomic, window };

inline constexpr std::size_t SchedHolds = 5;

/// A note that waits until the data of the packets before it has been read.
struct held_note {
  sent_packet note;
  std::uint32_t after = 0;  ///< so many packets have left payload_dma
  held_history history;
};

struct sched_queue {
  ring<held_work> works;
  ring<held_note> notes;
  std::uint32_t psn = 0;    ///< of the next packet
  std::uint32_t acked = 0;  ///< oldest one without acknowledge, as far as told
  std::uint32_t reads = 0;  ///< READs and atomics granted and not answered, as far as told
  std::uint32_t max_reads = 1;
  std::uint32_t deficit = 0;  ///< bytes it may still send in its turn, or is owed for the next
  std::uint32_t since_ack_request = 0;
  unsigned flushing = 0;               ///< so many works are flushed, whatever they say
  std::uint32_t to_payload = 0;        ///< packets ever given to payload_dma
  std::uint32_t left_payload = 0;      ///< of those, how many have left it
  std::uint32_t stale_in_payload = 0;  ///< the first so many were granted before a restart
  std::uint32_t resume_skip = 0;
  std::uint16_t resume_index = 0;
  std::uint16_t begun_to = 0;        ///< WQE index behind the last one that has begun
  std::uint16_t function = 0;        ///< of its works
  std::uint16_t rate_slot = 0xffff;  ///< of its rate; qp_rates::NoSlot without
  std::uint8_t epoch = 0;
  bool resume = false;      ///< the next work begins `resume_skip` packets into its message
  bool active = false;      ///< in the round
  bool parked = false;      ///< not in the round: its head is held
  std::uint32_t lives = 0;  ///< resets: the epochs of one life are not those of the next
  bool noting = false;      ///< in line to send a note
  bool marking = false;     ///< in line to send its mark
  bool ready = false;       ///< it was moved to RTS
  bool ipv6 = false;        ///< of its path
  bool tagged = false;
  std::uint8_t priority = 0;  ///< of its path
  bool stopped = false;       ///< parked because that is paused
  bool reliable = true;       ///< RC: packets are acknowledged
  bool reset = false;         ///< what still comes in is dropped
  bool error = false;         ///< everything is flushed
  bool failed = false;  ///< a WQE failed; what is behind it is flushed, unless the queue goes back
  bool draining = false;     ///< SQD: no WQE begins
  bool invalidates = false;  ///< it has ended keys: those of its works are looked at again
  bool mark_wanted = false;  ///< the requester is to be told when nothing begun is left

  /// Its works take slots: those of a queue that cannot move would take them from the others.
  [[nodiscard]] bool counted() const { return !draining && !parked; }

  [[nodiscard]] std::uint32_t in_payload() const { return to_payload - left_payload; }

  [[nodiscard]] bool passed(std::uint32_t after) const {
    return static_cast<std::int32_t>(left_payload - after) >= 0;
  }

  /// The head has its first grant.
  void begin();

  /// With what the head fails, or 0.
  [[nodiscard]] std::uint8_t head_syndrome() const;

  /// It owes the requester a mark, and nothing that has begun is left.
  [[nodiscard]] bool drained() const {
    return mark_wanted && notes.empty() && (works.empty() || !works.front().begun);
  }

  /// What keeps the head from its next packet, with a window of so many packets.
  [[nodiscard]] sched_hold hold(std::uint32_t window) const;
};

}  // namespace carillon
