// What becomes of a packet: whether it is accepted, which receive WQE its message takes, and where
// its bytes go.
#include <algorithm>
#include <optional>
#include <utility>

#include "gen/wqe.h"
#include "responder.h"

namespace carillon {
namespace {

constexpr std::uint32_t FirstSegment = 16;  ///< bytes in front of the data segments, if any

}  // namespace

void responder::advance(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.at == phase::settle) {
    settle(t, id);
  }
  if (slot.at == phase::credit) {
    find_credit(t, slot);
  }
  if (slot.at == phase::decided && behind_invalidation(id)) {
    slot.history.waits_for(context_, site(), t, order_);  // its leaving wakes us
  } else if (slot.at == phase::decided && may_commit(t, &slot.history)) {
    decide(t, id);
  }
  if (slot.at == phase::receive) {
    find_receive(t, id);
  }
}

/// A UC message that is refused must not take a receive WQE, and nobody sends it again: so all that
/// may refuse it comes first.
void responder::settle(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.step.has_reth && slot.packet.payload != 0 && !slot.keyed) {
    slot.keyed = true;
    ask_remote_key(t, id, key_right::remote_write, slot.packet.payload, slot.packet.dma_length);
    return;
  }
  if (older_of_qp(id)) {
    slot.history.waits_for(context_, site(), t, order_);
    return;  // its leaving wakes us
  }
  slot.dropped = slot.fault != request_fault::none || slot.row->refused_message == slot.message;
  slot.at = slot.dropped ? phase::decided : phase::credit;
}

/// Is there a receive WQE? The record is read for the packet before it is refused.
void responder::find_credit(cycle_t t, packet_slot& slot) {
  qp_row& row = *slot.row;
  const record_reader& record = row.shared != nullptr ? row.shared->record : row.record;
  if (can_take(row)) {
    // A shared queue's last one may go to another QP while this packet cannot be decided.
    if (row.shared == nullptr || may_commit(t, &slot.history)) {
      slot.at = phase::decided;
    }
  } else if (record.answered > slot.asked_before ||
             (row.shared != nullptr && !row.shared->exists)) {
    slot.refused = true;
    slot.at = phase::decided;
  } else {
    slot.history.waits_for(context_, site(), t, record_);
    if (row.shared != nullptr) {
      want_srq_record(t, *row.shared);
    } else {
      want_record(t, row);
    }
  }
}

bool responder::can_take(const qp_row& row) {
  return row.kept ||
         (row.shared != nullptr ? row.shared->queue.has_credit() : row.queue.has_credit());
}

bool responder::needs_wqe(const packet_slot& slot) {
  const bool uses = slot.step.is_send() || slot.step.takes_receive;
  return (slot.step.is_send() &&
          (slot.packet.payload != 0 || slot.common.service == qp_service::Ud)) ||
         (uses && (slot.row->signature || slot.row->shared != nullptr));
}

std::uint16_t responder::take_receive(cycle_t t, qp_row& row, bool needs_bytes) {
  if (row.kept) {
    row.kept = false;
    return row.message_receive;
  }
  std::uint16_t taken = 0;
  if (row.shared != nullptr) {
    taken = row.shared->queue.consume();
    if (row.shared->armed && row.shared->queue.available() < row.shared->line.lwm) {
      want_srq_record(t, *row.shared);  // it may have been filled meanwhile
    }
  } else {
    taken = row.queue.consume(needs_bytes);
  }
  row.open_receives.push(taken);
  return taken;
}

void responder::decide(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  qp_row& row = *slot.row;
  request_step& step = slot.step;
  slot.at = phase::write;
  slot.ready = t + KeyLookup;
  wake(slot.ready);
  if (slot.abandoned || row.error) {
    commit(t, slot.packet.qpn, nullptr);
    return;
  }
  if (slot.common.service == qp_service::Ud && (slot.refused || step.ignored)) {
    commit(t, row.qpn, nullptr);
    return;
  }
  if (slot.refused && slot.common.service == qp_service::Rc) {
    row.line.nak_sent = 0;
    row.line.rnr_sent = 1;
    commit(t, row.qpn, &row.line);
    return;
  }
  if (slot.refused || slot.dropped || step.ignored) {  // UC
    row.line.in_message = 0;
    row.line.next_rcv_psn = step.next.next_rcv_psn;
    commit(t, row.qpn, &row.line);
    return;
  }
  if (slot.fault != request_fault::none) {
    row.line.error = 1;
    commit(t, row.qpn, &row.line);
    return;
  }

  slot.undecided = false;
  if (step.takes_receive) {
    row.message_receive = take_receive(t, row, needs_wqe(slot));
  }
  slot.receive = row.message_receive;
  slot.receive_index = slot.receive;
  if (step.is_saved()) {
    const opcode_info* opcode = find_opcode(slot.packet.bth_opcode);
    row.saved.save({true, opcode->verb, slot.packet.psn, step.psns, step.address, slot.packet.rkey,
                    step.message_bytes, false, 0});
  }
  const qpc_responder before = row.line;
  if (step.kind == request_kind::write && !step.has_reth) {
    slot.packet.rkey = before.cur_rkey;
    slot.map = row.map;  // the next message may begin before this one's receive WQE is there
  }
  row.line = step.next;
  row.line.error |= before.error;
  row.line.min_rnr_nak = before.min_rnr_nak;
  row.line.rq_db_rec = before.rq_db_rec;
  row.line.rq_consumer = row.shared != nullptr ? before.rq_consumer : row.queue.consumer();
  commit(t, row.qpn, &row.line);
  read_ahead(t, slot);
  if (step.kind == request_kind::write && step.first && !step.last) {
    row.map = {slot.message, false, false, false, 0};
  }
  if (needs_wqe(slot)) {
    slot.at = phase::receive;
  } else {
    place(t, id);
  }
}

/// So that the next message need not wait.
void responder::read_ahead(cycle_t t, const packet_slot& slot) {
  qp_row& row = *slot.row;
  if (row.shared != nullptr) {
    if (slot.step.takes_receive && !row.shared->queue.has_credit()) {
      want_srq_record(t, *row.shared);
    }
    want_wqe(t, *row.shared);
    return;
  }
  if (slot.step.takes_receive && !row.queue.has_credit()) {
    want_record(t, row);
  }
  want_batch(t, row);
}

/// The packet's receive WQE, if it is there.
std::optional<responder::receive_wqe> responder::look_up(const packet_slot& slot) {
  const qp_row& row = *slot.row;
  if (row.shared != nullptr) {
    const shared_wqe_queue& queue = row.shared->queue;
    const shared_wqe* found = queue.find(slot.receive);
    if (found == nullptr || !found->arrived) {
      return std::nullopt;
    }
    return receive_wqe{found->index, found->status, row.shared->line.wq_signature != 0,
                       found->bytes ? found->bytes.data() : nullptr, queue.stride()};
  }
  const receive_batch* batch = row.queue.find(slot.receive);
  if (batch == nullptr || !batch->arrived) {
    return std::nullopt;
  }
  return receive_wqe{slot.receive, batch->status, row.signature,
                     row.queue.wqe(*batch, slot.receive), row.queue.stride()};
}

void responder::find_receive(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  const std::optional<receive_wqe> found = look_up(slot);
  if (!found) {
    slot.history.waits_for(context_, site(), t, receive_wqe_);
    return;  // the read's answer wakes us
  }
  slot.history.waits_for(context_, site(), t, order_);
  slot.receive_index = found->index;
  if (found->status != dma_status::ok ||
      (found->is_signed && !signature_holds(found->bytes, found->stride))) {
    slot.at = phase::write;
    slot.ready = t;
    slot.fault = request_fault::local_operation;
    return;
  }
  const std::uint32_t skip = slot.row->shared != nullptr || found->is_signed ? FirstSegment : 0;
  slot.segments = found->bytes + skip;
  slot.segment_bytes = found->stride - skip;
  place(t, id);
}

void responder::place(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  switch (slot.step.kind) {
    case request_kind::send:
      place_send(t, id);
      return;
    case request_kind::write:
      place_write(t, id);
      return;
    case request_kind::read:
      if (slot.step.message_bytes == 0) {
        no_place(slot);
      } else {
        ask_remote_key(t, id, key_right::remote_read, 0, slot.step.message_bytes);
      }
      return;
    case request_kind::atomic:
      ask_remote_key(t, id, key_right::remote_atomic, slot.step.message_bytes, 0);
      return;
  }
}

/// A packet without a key to look up spends the time of a lookup all the same.
void responder::no_place(packet_slot& slot) {
  slot.at = phase::write;
  slot.history.wait_until(context_, site(), slot.ready - KeyLookup);
  slot.history.served_until(context_, site(), slot.ready);
}

void responder::place_send(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.common.service == qp_service::Ud) {
    add_grh(slot);
  }
  slot.pieces.count = 0;
  if (slot.packet.payload != 0 && !scatter(slot.segments, slot.segment_bytes, slot.step.offset,
                                           slot.packet.payload, slot.pieces)) {
    slot.at = phase::write;
    slot.ready = t;
    slot.fault = request_fault::local_length;
    return;
  }
  const qp_row& row = *slot.row;
  key_use use;
  use.pd = row.shared != nullptr ? row.shared->line.pd : slot.common.pd;
  use.right = key_right::local_write;
  for (unsigned i = 0; i < slot.pieces.count; ++i) {
    const scatter_piece& piece = slot.pieces.piece[i];
    use.key = piece.key;
    use.address = piece.address;
    use.length = piece.length;
    ask_key(t, id, i, use);
  }
  if (slot.step.invalidates) {
    use = {};
    use.key = slot.packet.imm;
    use.pd = slot.common.pd;
    use.right = key_right::remote_read;
    ask_key(t, id, InvalidationCookie, use);
  }
  if (slot.keys_wanted == 0) {
    no_place(slot);
  }
}

/// The payload of a datagram begins with its IP header. The frame's buffer may be shared, so the
/// two are put together elsewhere.
void responder::add_grh(packet_slot& slot) {
  rx_packet& packet = slot.packet;
  buffer_ref whole = shared_.buffers.take();
  write_grh(packet.bytes.data() + packet.ip_offset, packet.ipv6, whole.data());
  std::copy_n(packet.bytes.data() + packet.payload_offset, packet.payload, whole.data() + GrhBytes);
  packet.bytes = std::move(whole);
  packet.payload_offset = 0;
  packet.payload += GrhBytes;
}

void responder::place_write(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.packet.payload == 0 || slot.keyed) {
    no_place(slot);
    return;
  }
  if (slot.step.has_reth) {
    ask_remote_key(t, id, key_right::remote_write, slot.packet.payload, slot.packet.dma_length);
    return;
  }
  CARILLON_CHECK(slot.map.message == slot.message,
                 "{}: a WRITE packet of QP {} behind no first one", path(), slot.packet.qpn);
  if (slot.map.known) {
    apply_map(t, id);
  } else {
    slot.at = phase::mapping;
  }
}

void responder::apply_map(cycle_t t, std::uint8_t id) {
  packet_slot& slot = slots_[id];
  if (slot.map.paged && !slot.map.refused) {
    ask_remote_key(t, id, key_right::remote_write, slot.packet.payload, 0);
    return;
  }
  if (!slot.map.refused) {
    slot.targets.push_back({slot.step.address + slot.map.delta, slot.packet.payload, 0});
  }
  no_place(slot);
}

/// The first packet of a WRITE has its key: those behind it know where they go, or may look.
void responder::publish_map(cycle_t t, const packet_slot& first, const key_lookup::answer& answer) {
  write_map map{first.message, true, answer.fault != key_fault::none, answer.paged, 0};
  if (!map.refused) {
    map.delta = answer.pieces->front().address - first.step.address;
  }
  if (first.row->map.message == map.message) {
    first.row->map = map;
  }
  for (const std::uint8_t id : age_) {
    packet_slot& slot = slots_[id];
    if (slot.row == first.row && slot.message == map.message) {
      slot.map = map;
      if (slot.at == phase::mapping) {
        apply_map(t, id);
      }
    }
  }
}

// Memory keys
// ------------------------------------------------------------------------------------------------

void responder::ask_key(cycle_t t, std::uint8_t id, std::uint64_t segment, key_use use) {
  packet_slot& slot = slots_[id];
  use.qpn = slot.packet.qpn;
  use.function = slot.packet.function;
  slot.at = phase::keys;
  ++slot.keys_wanted;
  keys_.ask(t, id | segment << SegmentShift, use, slot.history);
}

void responder::ask_remote_key(cycle_t t, std::uint8_t id, key_right right, std::uint64_t length,
                               std::uint64_t message) {
  const packet_slot& slot = slots_[id];
  key_use use;
  use.key = slot.packet.rkey;
  use.pd = slot.common.pd;
  use.right = right;
  use.address = slot.step.address;
  use.length = length;
  use.message = message;
  ask_key(t, id, 0, use);
}

/// What the answer says about the packet.
void responder::note_key(packet_slot& slot, std::uint64_t segment,
                         const key_lookup::answer& answer) {
  if (segment == InvalidationCookie) {
    // Its rights and range do not matter.
    const bool good = answer.fault == key_fault::none || answer.fault == key_fault::right ||
                      answer.fault == key_fault::range;
    if (!good && slot.fault == request_fault::none) {
      slot.fault = request_fault::invalidation;
    }
    return;
  }
  if (answer.fault != key_fault::none) {
    slot.fault = !slot.step.is_send()              ? request_fault::remote_access
                 : answer.fault == key_fault::page ? request_fault::local_access
                                                   : request_fault::local_protection;
    return;
  }
  slot.paged = answer.paged;
  for (const iova_piece& piece : *answer.pieces) {
    const target added{piece.address, piece.length, static_cast<std::uint8_t>(segment)};
    slot.targets.insert(
        std::upper_bound(slot.targets.begin(), slot.targets.end(), added,
                         [](const target& a, const target& b) { return a.segment < b.segment; }),
        added);
  }
}

void responder::take_key(cycle_t t, const key_lookup::answer& answer) {
  packet_slot& slot = slots_[answer.cookie & SlotMask];
  note_key(slot, answer.cookie >> SegmentShift, answer);
  if (slot.step.kind == request_kind::write && slot.step.has_reth && !slot.step.last) {
    publish_map(t, slot, answer);
  }
  if (--slot.keys_wanted == 0) {
    slot.history = held_history(answer.trace, t, order_);
    slot.at = !slot.undecided ? phase::write : slot.abandoned ? phase::decided : phase::settle;
    slot.ready = t;
  }
}

}  // namespace carillon
