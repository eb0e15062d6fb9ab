#include "tx_sched/sched_responses.h"

#include <algorithm>

#include "common/psn.h"
#include "gen/wire.h"
#include "tx_sched/sched_queue.h"

namespace carillon {

namespace {

constexpr unsigned KindShift = 5;

bool positive(const response_item& item) {
  return item.kind == response_kind::acknowledge &&
         static_cast<aeth_kind>(item.syndrome >> KindShift) == aeth_kind::Ack;
}

std::uint32_t mtu_of(const response_item& item) {
  return 128U << item.mtu_code;
}

}  // namespace

bool sched_responses::add(const response_item& item, const held_history& history) {
  if (!waiting_.empty() && positive(item) && positive(waiting_.back().item)) {
    waiting_.back() = {item, 0, history};
    return false;
  }
  waiting_.push({item, 0, history});
  return true;
}

bool sched_responses::cut(packet_item& packet) {
  held_response& front = waiting_.front();
  const response_item& item = front.item;
  packet.function = item.function;
  packet.qpn = item.qpn;
  packet.psn = item.psn;
  packet.syndrome = item.syndrome;
  packet.msn = item.msn;
  packet.first = true;
  packet.last = true;
  switch (item.kind) {
    case response_kind::acknowledge:
      packet.source = packet_source::acknowledge;
      break;
    case response_kind::atomic:
      packet.source = packet_source::atomic_acknowledge;
      packet.swap_add = item.atomic_result;
      break;
    case response_kind::read: {
      const std::uint32_t packets = packets_of(item.length, mtu_of(item));
      packet.source = packet_source::read_response;
      packet.psn = psn_add(item.psn, front.granted);
      packet.message_offset = front.granted * mtu_of(item);
      packet.payload = std::min(item.length - packet.message_offset, mtu_of(item));
      packet.remote_address = item.address;
      packet.rkey = item.rkey;
      packet.dma_length = item.length;
      packet.paged = item.paged;
      packet.writes_before = item.writes_before;
      packet.first = front.granted == 0;
      packet.last = ++front.granted == packets;
      break;
    }
  }
  if (packet.last) {
    waiting_.pop();
  }
  return packet.last;
}

bool sched_responses::ending() const {
  const held_response& front = waiting_.front();
  return !reads() || front.granted + 1 == packets_of(front.item.length, mtu_of(front.item));
}

bool sched_responses::fail(std::uint32_t psn) {
  if (waiting_.empty() || !reads()) {
    return false;
  }
  const held_response& front = waiting_.front();
  if (front.granted == 0 || psn_distance(front.item.psn, psn) >= front.granted) {
    return false;
  }
  waiting_.pop();
  return true;
}

}  // namespace carillon
