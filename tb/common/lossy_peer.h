// A peer behind a network that loses packets, in both directions: takes what tx_sched grants, is a
// small RC responder, and answers the requester. It knows a message by its remote key.
#pragma once

#include <cstdint>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/psn.h"
#include "common/random.h"
#include "gen/wire.h"
#include "gen/wqe.h"
#include "stage_bench.h"

namespace carillon::bench {

/// Chances in a thousand.
struct misfortune {
  unsigned request_lost = 0;
  unsigned response_lost = 0;
  unsigned not_ready = 0;
  unsigned unreadable = 0;  ///< the payload of a packet
};

/// What a READ of that address returns.
inline std::uint8_t remote_byte(std::uint64_t address) {
  return static_cast<std::uint8_t>(address * 7 + (address >> 8));
}

class lossy_peer final : public stage {
 public:
  static constexpr std::uint32_t Mtu = 256;
  static constexpr cycle_t WireTime = 200;

  lossy_peer(stage_bench& bench, stream<packet_item>& payload, stream<packet_item>& direct,
             stream<payload_left>& left, stream<rx_packet>& responses, const misfortune& bad,
             std::uint64_t seed)
      : stage("peer", bench.context, "bench"),
        bench_(bench),
        payload_(payload),
        direct_(direct),
        left_(left),
        responses_(responses),
        bad_(bad),
        random_(seed, "lossy_peer") {
    payload_.to(*this, site());
    direct_.to(*this, site());
    left_.from(*this, site());
    responses_.from(*this, site());
    watch(payload_, {});
    watch(direct_, {});
  }

  struct peer_qp {
    std::uint32_t expected = 0;  ///< PSN
    std::uint32_t msn = 0;
    bool nak_sent = false;
    bool rnr_sent = false;
    std::uint32_t offset = 0;                        ///< in the message in progress
    std::vector<std::uint32_t> executed;             ///< remote keys of the messages, in order
    std::map<std::uint32_t, std::uint64_t> results;  ///< of atomics, by PSN
    std::uint64_t counter = 0;                       ///< what they add to
  };

  peer_qp& qp(std::uint32_t qpn) { return qps_[qpn]; }

 private:
  void evaluate(cycle_t t) override {
    if (payload_.takeable(t)) {
      // Its data is there some time later, in order.
      const cycle_t due = std::max(t + 20 + random_.below(60), fetched_until_ + 1);
      fetched_until_ = due;
      fetching_.emplace_back(due, payload_.take(t));
    }
    if (!fetching_.empty() && fetching_.front().first <= t && left_.has_credit(t)) {
      packet_item packet = std::move(fetching_.front().second);
      fetching_.pop_front();
      payload_left note;
      note.qpn = packet.qpn;
      note.psn = packet.psn;
      const bool unreadable = happens(bad_.unreadable);
      note.status = unreadable ? dma_status::timeout : dma_status::ok;
      left_.push(t, 1, note);
      if (!unreadable) {
        transmit(t, std::move(packet));
      }
    }
    if (direct_.takeable(t)) {
      transmit(t, direct_.take(t));
    }
    while (!arriving_.empty() && arriving_.front().first <= t) {
      receive(t, arriving_.front().second);
      arriving_.pop_front();
    }
    if (!answers_.empty() && answers_.front().first <= t && responses_.has_credit(t)) {
      responses_.push(t, 1, std::move(answers_.front().second));
      answers_.pop_front();
    }
    if (!fetching_.empty() || !arriving_.empty() || !answers_.empty()) {
      wake(t + 1);
    }
  }

  bool happens(unsigned per_mille) { return random_.below(1000) < per_mille; }

  void transmit(cycle_t t, packet_item packet) {
    if (!happens(bad_.request_lost)) {
      arriving_.emplace_back(t + WireTime, std::move(packet));
    }
  }

  void answer(cycle_t t, rx_packet packet) {
    if (!happens(bad_.response_lost)) {
      answers_.emplace_back(t + WireTime, std::move(packet));
    }
  }

  rx_packet response(const packet_item& to, std::uint32_t psn, bth_opcode opcode) {
    rx_packet packet;
    packet.verdict = rx_verdict::response;
    packet.qpn = to.qpn;
    packet.bth_opcode = static_cast<std::uint8_t>(opcode);
    packet.psn = psn;
    packet.syndrome = 0x1f;
    packet.msn = qps_[to.qpn].msn;
    return packet;
  }

  void acknowledge(cycle_t t, const packet_item& to, std::uint32_t psn, std::uint8_t syndrome) {
    rx_packet packet = response(to, psn, bth_opcode::RcAcknowledge);
    packet.syndrome = syndrome;
    answer(t, packet);
  }

  void receive(cycle_t t, const packet_item& packet) {
    peer_qp& qp = qps_[packet.qpn];
    const auto opcode = static_cast<wqe_opcode>(packet.wqe_opcode);
    const bool read = opcode == wqe_opcode::RdmaRead;
    const bool atomic = opcode == wqe_opcode::AtomicFetchAdd;
    if (psn_before(qp.expected, packet.psn)) {
      if (!qp.nak_sent && !qp.rnr_sent) {
        qp.nak_sent = true;
        acknowledge(t, packet, qp.expected, 0x60);
      }
      return;
    }
    if (psn_before(packet.psn, qp.expected)) {
      if (read) {
        send_data(t, packet);
      } else if (atomic) {
        send_result(t, packet);
      } else {
        acknowledge(t, packet, psn_add(qp.expected, PsnMask), 0x1f);
      }
      return;
    }
    qp.nak_sent = false;
    qp.rnr_sent = false;
    if (opcode == wqe_opcode::Send && packet.first && happens(bad_.not_ready)) {
      qp.rnr_sent = true;
      acknowledge(t, packet, packet.psn, 0x21);  // 10 us
      return;
    }
    if (packet.last) {
      qp.executed.push_back(packet.rkey);
      ++qp.msn;
    }
    if (read) {
      qp.expected =
          psn_add(packet.psn, packet.dma_length == 0 ? 1 : (packet.dma_length - 1) / Mtu + 1);
      send_data(t, packet);
      return;
    }
    qp.expected = psn_add(packet.psn, 1);
    if (atomic) {
      qp.results[packet.psn] = qp.counter;
      qp.counter += packet.swap_add;
      send_result(t, packet);
      return;
    }
    EXPECT_EQ(packet.message_offset, packet.first ? 0 : qp.offset);
    EXPECT_EQ(packet.payload, std::min(Mtu, packet.dma_length - packet.message_offset));
    qp.offset = packet.message_offset + packet.payload;
    if (packet.ack_request) {
      acknowledge(t, packet, packet.psn, 0x1f);
    }
  }

  void send_data(cycle_t t, const packet_item& to) {
    const std::uint32_t packets = to.dma_length == 0 ? 1 : (to.dma_length - 1) / Mtu + 1;
    for (std::uint32_t i = 0; i < packets; ++i) {
      const bool first = i == 0;
      const bool last = i + 1 == packets;
      rx_packet packet = response(to, psn_add(to.psn, i),
                                  first && last ? bth_opcode::RcReadResponseOnly
                                  : first       ? bth_opcode::RcReadResponseFirst
                                  : last        ? bth_opcode::RcReadResponseLast
                                                : bth_opcode::RcReadResponseMiddle);
      packet.payload = std::min(Mtu, to.dma_length - i * Mtu);
      packet.payload_offset = 64;
      packet.bytes = bench_.nic.buffers.take();
      for (std::uint32_t at = 0; at < packet.payload; ++at) {
        packet.bytes.data()[64 + at] = remote_byte(to.remote_address + i * Mtu + at);
      }
      answer(t, std::move(packet));
    }
  }

  void send_result(cycle_t t, const packet_item& to) {
    const auto saved = qps_[to.qpn].results.find(to.psn);
    ASSERT_NE(saved, qps_[to.qpn].results.end()) << "an atomic took another's PSN";
    rx_packet packet = response(to, to.psn, bth_opcode::RcAtomicAcknowledge);
    packet.atomic_result = saved->second;
    answer(t, packet);
  }

  stage_bench& bench_;
  stream<packet_item>& payload_;
  stream<packet_item>& direct_;
  stream<payload_left>& left_;
  stream<rx_packet>& responses_;
  misfortune bad_;
  random_stream random_;
  cycle_t fetched_until_ = 0;
  std::deque<std::pair<cycle_t, packet_item>> fetching_;
  std::deque<std::pair<cycle_t, packet_item>> arriving_;
  std::deque<std::pair<cycle_t, rx_packet>> answers_;
  std::map<std::uint32_t, peer_qp> qps_;
};

}  // namespace carillon::bench
