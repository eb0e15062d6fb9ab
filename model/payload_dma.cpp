#include "payload_dma.h"

#include <algorithm>
#include <utility>

#include "gen/wqe.h"

namespace carillon {

namespace {

namespace spec = stage_spec::payload_dma;
namespace dma = stage_spec::dma_engine;

/// A lookup's cookie is the packet's number and the offset of the piece in its frame buffer.
constexpr unsigned OffsetBits = 16;

}  // namespace

void cut_gather_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                     std::uint32_t length, std::vector<gather_piece>& pieces) {
  std::uint64_t at = 0;  // of the entry's first byte in the message
  const std::uint64_t begin = offset;
  const std::uint64_t end = begin + length;
  for (unsigned i = 0; i < count && at < end; ++i) {
    const data_seg entry = data_seg::unpack(segments + i * data_seg::Size);
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + entry.byte_count);
    if (from < to) {
      pieces.push_back(
          {entry.address + (from - at), static_cast<std::uint32_t>(to - from), entry.lkey});
    }
    at += entry.byte_count;
  }
}

payload_dma::payload_dma(const sc_core::sc_module_name& name, nic_shared& nic,
                         const ports& connected)
    : stage(name, nic.context, "payload_dma"),
      nic_(nic),
      ports_(connected),
      keys_(nic.context, site(), connected.key_reads, connected.key_lines),
      order_reason_(nic.context.trace.intern("order")) {
  ports_.key_reads.from(*this, site());
  ports_.key_lines.to(*this, site());
  ports_.packets.to(*this, site());
  ports_.reads.from(*this, site());
  ports_.done.to(*this, site());
  ports_.filled.from(*this, site());
  ports_.left.from(*this, site());
  watch(ports_.packets,
        {blocker::condition("packet_slots",
                            [this](cycle_t) { return pending_.size() >= spec::Outstanding; }),
         blocker::credit(ports_.filled, spec::MaxBeats), blocker::credit(ports_.reads, MaxSge),
         blocker::credit(ports_.left)});
  watch(ports_.done, {});
  watch(ports_.key_lines, {});
}

void payload_dma::evaluate(cycle_t t) {
  take_done(t);
  take_key(t);
  issue_ready(t);
  take_packet(t);
  if (keys_.issue(t)) {
    wake(t + 1);
  }
}

void payload_dma::take_done(cycle_t t) {
  if (!ports_.done.takeable(t)) {
    return;
  }
  const dma_read_done item = ports_.done.take(t);
  pending& answered = pending_[item.cookie - first_];
  --answered.missing;
  answered.trace = item.trace;
  fail(answered, item.status);
  release(t);
}

/// Of several failures the first one counts.
void payload_dma::fail(pending& packet, dma_status status) {
  if (packet.status == dma_status::ok) {
    packet.status = status;
  }
}

void payload_dma::take_key(cycle_t t) {
  keys_.take(t, [&](const key_lookup::answer& found) {
    const std::uint64_t number = found.cookie >> OffsetBits;
    pending& asker = pending_[number - first_];
    --asker.missing;
    asker.trace = found.trace;
    if (found.fault != key_fault::none) {
      fail(asker, dma_status::unsupported_request);  // the key does not serve any more
    } else {
      auto offset = static_cast<std::uint32_t>(found.cookie & ((1U << OffsetBits) - 1));
      for (const iova_piece& piece : *found.pieces) {
        ready_.push({number, piece, offset, held_history(found.trace, t, order_reason_)});
        offset += piece.length;
        ++asker.missing;
      }
    }
    release(t);
  });
}

void payload_dma::issue_ready(cycle_t t) {
  if (ready_.empty()) {
    return;
  }
  if (!ports_.reads.has_credit(t)) {
    ports_.reads.ask_credit(t);
    return;
  }
  ready_read next = ready_.pop();
  const packet_item& packet = pending_[next.packet - first_].packet;
  const cycle_t due = t + spec::Issue + dma::RequestHop;
  const cycle_t visible = std::max(due, ports_.reads.port_free());
  dma_read read;
  read.trace = next.history.wait_until(context_, site(), t);
  read.trace = context_.trace.service(read.trace, site(), time_of(t), time_of(due));
  read.trace =
      context_.trace.wait(read.trace, site(), order_reason_, time_of(due), time_of(visible));
  read.function = packet.function;
  read.address = next.piece.address;
  read.length = next.piece.length;
  read.into = packet.frame;
  read.into_offset = next.into_offset;
  read.cookie = next.packet;
  read.writes_before = packet.writes_before;
  nic_.counters.add(counter::PayloadReads);
  ports_.reads.push_booked(t, static_cast<unsigned>(visible - t), std::move(read));
  if (!ready_.empty()) {
    wake(t + 1);
  }
}

void payload_dma::release(cycle_t t) {
  while (!pending_.empty() && pending_.front().missing == 0) {
    pending& front = pending_.front();
    const unsigned beats = beats_of(front.packet.payload);
    packet_item packet = std::move(front.packet);
    // What came in before an older packet was complete waited for it.
    packet.trace = context_.trace.wait(front.trace, site(), order_reason_,
                                       context_.trace.end_of(front.trace), time_of(t));
    const cycle_t visible = std::max<cycle_t>(t + spec::Release, ports_.filled.port_free());
    packet.trace =
        context_.trace.service(packet.trace, site(), time_of(t), time_of(t + spec::Release));
    packet.trace = context_.trace.wait(packet.trace, site(), order_reason_,
                                       time_of(t + spec::Release), time_of(visible));
    payload_left note;
    note.qpn = packet.qpn;
    note.response = packet.source == packet_source::read_response;
    note.psn = packet.psn;
    note.status = front.status;
    packet.poisoned = front.status != dma_status::ok;
    ports_.filled.push_reserved_booked(t, static_cast<unsigned>(visible - t), std::move(packet),
                                       beats);
    // Behind other packets at the port it is still inside: nothing of its QP may pass it by before
    // it is visible.
    const cycle_t told = std::max(visible, ports_.left.port_free());
    ports_.left.push_reserved(t, static_cast<unsigned>(told - t), note);
    pending_.pop_front();
    ++first_;
  }
}

void payload_dma::take_packet(cycle_t t) {
  if (!ports_.packets.takeable(t) || pending_.size() >= spec::Outstanding) {
    return;  // an answer that completes a packet wakes this stage
  }
  if (!ports_.filled.has_credit(t, spec::MaxBeats)) {
    ports_.filled.ask_credit(t, spec::MaxBeats);
    return;
  }
  if (!ports_.reads.has_credit(t, MaxSge)) {
    ports_.reads.ask_credit(t, MaxSge);
    return;
  }
  if (!ports_.left.has_credit(t)) {
    ports_.left.ask_credit(t);
    return;
  }
  pending added;
  added.packet = ports_.packets.take(t);
  packet_item& packet = added.packet;
  packet.frame = nic_.buffers.take();
  pieces_.clear();
  if (packet.source == packet_source::read_response) {
    pieces_.push_back({packet.remote_address + packet.message_offset, packet.payload, packet.rkey});
  } else {
    cut_gather_list(packet.body.data() + packet.data_offset, packet.sge_count,
                    packet.message_offset, packet.payload, pieces_);
  }
  CARILLON_CHECK(!pieces_.empty(), "{}: a packet of QP {} without payload in cycle {}", path(),
                 packet.qpn, t);
  added.missing = static_cast<unsigned>(pieces_.size());
  ports_.filled.reserve(t, beats_of(packet.payload));
  ports_.left.reserve(t, 1);
  const std::uint64_t number = first_ + pending_.size();
  nic_.counters.add(counter::PayloadBytes, packet.payload);
  if (packet.paged) {
    translate(t, number, packet);
  } else {
    read_at_once(t, number, packet);
  }
  pending_.push_back(std::move(added));
}

void payload_dma::translate(cycle_t t, std::uint64_t number, const packet_item& packet) {
  const held_history history(packet.trace, t, order_reason_);
  std::uint32_t offset = PayloadOffset;
  for (const gather_piece& each : pieces_) {
    key_use use;
    use.key = each.key;
    use.checked = true;
    use.function = packet.function;
    use.right = packet.source == packet_source::read_response ? key_right::remote_read
                                                              : key_right::local_read;
    use.address = each.address;
    use.length = each.length;
    keys_.ask(t, number << OffsetBits | offset, use, history);
    offset += each.length;
  }
}

void payload_dma::read_at_once(cycle_t t, std::uint64_t number, const packet_item& packet) {
  std::uint32_t offset = PayloadOffset;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    dma_read read;
    // Requests leave one a cycle; each further one waits for those before it.
    const cycle_t issued =
        std::max<cycle_t>(t + i, ports_.reads.port_free() > t + spec::Issue + dma::RequestHop
                                     ? ports_.reads.port_free() - spec::Issue - dma::RequestHop
                                     : 0);
    read.trace =
        context_.trace.wait(packet.trace, site(), order_reason_, time_of(t), time_of(issued));
    const cycle_t visible = issued + spec::Issue + dma::RequestHop;
    read.trace = context_.trace.service(read.trace, site(), time_of(issued), time_of(visible));
    read.function = packet.function;
    read.address = pieces_[i].address;
    read.length = pieces_[i].length;
    read.into = packet.frame;
    read.into_offset = offset;
    read.cookie = number;
    read.writes_before = packet.writes_before;
    offset += pieces_[i].length;
    nic_.counters.add(counter::PayloadReads);
    ports_.reads.push_booked(t, static_cast<unsigned>(visible - t), std::move(read));
  }
}

}  // namespace carillon
