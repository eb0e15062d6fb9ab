// A NIC that talks to itself: two queue pairs of one function exchange every verb, and what is for
// the NIC's own address never is on the wire. At the other end of the cable sits the scripted peer.
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>

#include "tb/common/peer_bench.h"

namespace carillon::bench {
namespace {

constexpr std::uint64_t OwnMac = 0x020000000001;
constexpr std::uint32_t MessageBytes = 20000;  // five packets of 4 KiB
constexpr std::uint64_t BufferBytes = 1 << 20;

/// The parts of the buffer: what each of the two sends, and where it gets what the other sends.
constexpr std::uint64_t FromA = 0;
constexpr std::uint64_t FromB = 0x40000;
constexpr std::uint64_t ToA = 0x80000;
constexpr std::uint64_t ToB = 0xc0000;

/// Keeps a copy of the message of one queue pair's first work request.
struct first_message final : message_observer {
  void on_message(const message_record& message) override {
    if (message.info.qpn == qpn && message.info.wqe_index == 0 && message.info.bytes == bytes) {
      seen = message;
    }
  }

  std::uint32_t qpn = 0;
  std::uint64_t bytes = 0;
  message_record seen;
};

parameters buffer_of(std::int64_t bytes) {
  parameters params;
  params.nic.rx_buffer_bytes = bytes;
  return params;
}

class loopback : public testing::TestWithParam<int> {
 protected:
  /// Queue pairs a and b, connected to each other; the bench's own is connected to the peer.
  task<> connect(peer_bench& bench, cpu& core, qpc_service service = qpc_service::Rc) {
    peer_bench::options wanted;
    wanted.buffer_bytes = BufferBytes;
    wanted.qp.service = service;
    wanted.qp.log_sq_size = 7;
    wanted.qp.log_rq_size = 7;
    wanted.connection.remote_atomic = true;
    wanted.connection.ack_timeout = 4;  // 65.5 us
    co_await bench.connect(core, wanted);
    a = co_await queue_pair::create(bench.driver, core, bench.pd, *bench.uar, *bench.send_cq,
                                    *bench.receive_cq, wanted.qp);
    b = co_await queue_pair::create(bench.driver, core, bench.pd, *bench.uar, *bench.send_cq,
                                    *bench.receive_cq, wanted.qp);
    co_await a->to_init(core, wanted.connection);
    co_await b->to_init(core, wanted.connection);
    co_await a->to_rtr(core, b->address(), wanted.connection);
    co_await b->to_rtr(core, a->address(), wanted.connection);
    co_await a->to_rts(core, wanted.connection);
    co_await b->to_rts(core, wanted.connection);
  }

  static work_request work(peer_bench& bench, wqe_opcode opcode, std::uint32_t length,
                           std::uint64_t local, std::uint64_t remote) {
    work_request what = bench.request(opcode, length, local);
    what.remote_address = bench.buffer.address + remote;
    what.rkey = bench.buffer.key;
    return what;
  }

  static task<> receive(peer_bench& bench, cpu& core, queue_pair& at, std::uint64_t offset,
                        std::uint32_t length) {
    receive_request what;
    what.id = offset;
    what.add({bench.buffer.address + offset, length, bench.buffer.key});
    EXPECT_TRUE(co_await at.post_receive(core, what));
  }

  static void expect_all_well(const peer_bench& bench) {
    for (const std::vector<completion>* each : {&bench.sends, &bench.receives}) {
      for (const completion& one : *each) {
        EXPECT_FALSE(one.failed()) << static_cast<unsigned>(one.syndrome);
      }
    }
  }

  std::unique_ptr<queue_pair> a;
  std::unique_ptr<queue_pair> b;
};

TEST_P(loopback, two_queue_pairs_of_a_function_exchange_every_verb_inside_the_nic) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    bench.put(FromA, pattern(MessageBytes, 1));
    bench.put(FromB, pattern(MessageBytes, 2));
    // WRITE and SEND, each one way.
    co_await receive(bench, core, *a, ToA, MessageBytes);
    co_await a->post_send(core, work(bench, wqe_opcode::RdmaWrite, MessageBytes, FromA, ToB));
    co_await b->post_send(core, work(bench, wqe_opcode::Send, MessageBytes, FromB, 0));
    co_await bench.send_completions(core, 2);
    co_await bench.receive_completions(core);
    EXPECT_EQ(bench.get(ToB, MessageBytes), pattern(MessageBytes, 1));
    EXPECT_EQ(bench.get(ToA, MessageBytes), pattern(MessageBytes, 2));
    EXPECT_EQ(bench.receives[0].bytes, MessageBytes);
    EXPECT_EQ(bench.receives[0].qpn, a->qpn());
    // READs both ways.
    co_await a->post_send(core, work(bench, wqe_opcode::RdmaRead, MessageBytes, ToA, FromA));
    co_await b->post_send(core, work(bench, wqe_opcode::RdmaRead, MessageBytes, ToB, FromB));
    co_await bench.send_completions(core, 2);
    EXPECT_EQ(bench.get(ToA, MessageBytes), pattern(MessageBytes, 1));
    EXPECT_EQ(bench.get(ToB, MessageBytes), pattern(MessageBytes, 2));
    // Atomics on one word: 0 + 5 + 7.
    bench.put(FromA, bytes_t(8, 0));
    work_request add = work(bench, wqe_opcode::AtomicFetchAdd, 8, ToA, FromA);
    add.swap_or_add = 5;
    co_await a->post_send(core, add);
    co_await bench.send_completions(core);
    add.sges[0].address = bench.buffer.address + ToB;
    add.swap_or_add = 7;
    co_await b->post_send(core, add);
    co_await bench.send_completions(core);
    const auto sum = bench.get(FromA, 8);
    EXPECT_EQ(std::accumulate(sum.begin(), sum.end(), 0), 12) << "one byte of the word is 12";
  });
  expect_all_well(bed);
  EXPECT_TRUE(bed.packets.empty()) << "nothing of it is on the wire";
  EXPECT_EQ(bed.count(counter::TxPackets), 0U);
  EXPECT_EQ(bed.count(counter::RxPackets), bed.count(counter::TxLoopbackPackets));
  EXPECT_EQ(bed.adapter.counters().value_for(0, counter::RxPackets),
            bed.count(counter::TxLoopbackPackets));
  // 5 + 5 packets of data, 2 READ requests with 5 responses each, 2 atomics and their answers: 26,
  // and ACKs for the WRITE and the SEND.
  EXPECT_GE(bed.count(counter::TxLoopbackPackets), 28U);
}

TEST_P(loopback, a_looped_message_has_no_time_on_the_wire_and_no_hole) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  first_message watch;
  bed.context.trace.observe(watch);
  bed.run([this, &watch](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    watch.qpn = a->qpn();
    watch.bytes = 2000;
    co_await a->post_send(core, work(bench, wqe_opcode::RdmaWrite, 2000, FromA, ToB));
    co_await bench.send_completions(core);
  });
  const message_record& seen = watch.seen;
  ASSERT_TRUE(seen.reached(milestone::cqe_seen));
  EXPECT_TRUE(seen.reached(milestone::doorbell));
  EXPECT_TRUE(seen.reached(milestone::delivered));
  EXPECT_FALSE(seen.reached(milestone::first_bit));
  EXPECT_FALSE(seen.reached(milestone::last_bit));
  // 14 + 20 + 8 + 12 + 16 + 2000 + 4 = 2074 bytes, 33 beats: 32 cycles from the first beat to the
  // last, then rx_mac's 20.
  ps_t at_rx_mac = 0;
  ps_t at = seen.time_of(milestone::post);
  for (const span& part : seen.path(milestone::post, milestone::delivered)) {
    EXPECT_EQ(part.begin, at);
    at = part.end;
    const std::string& stage = bed.context.trace.name(part.row);
    EXPECT_NE(stage, "wire");
    EXPECT_NE(stage, "tx_mac");
    at_rx_mac += stage == "rx_mac" ? part.end - part.begin : 0;
  }
  EXPECT_EQ(at, seen.time_of(milestone::delivered));
  EXPECT_EQ(at_rx_mac, 52000U);
}

TEST_P(loopback, a_datagram_reaches_the_queue_pair_that_sent_it) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core, qpc_service::Ud);
    bench.put(FromA, pattern(1000, 3));
    co_await receive(bench, core, *a, ToA, 2000);
    work_request what = bench.request(wqe_opcode::Send, 1000, FromA);
    what.to = a->handle_of(a->address());
    co_await a->post_send(core, what);
    co_await bench.send_completions(core);
    co_await bench.receive_completions(core);
    EXPECT_EQ(bench.receives[0].bytes, 1040U);
    EXPECT_EQ(bench.receives[0].remote_qpn, a->qpn());
    EXPECT_EQ(bench.get(ToA + 40, 1000), pattern(1000, 3));
  });
  expect_all_well(bed);
  EXPECT_TRUE(bed.packets.empty());
}

/// Both sides WRITE and READ as much as their queues hold, at once.
TEST_P(loopback, both_directions_are_saturated_and_nothing_stands_still) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    bench.put(FromA, pattern(0x20000, 1));
    bench.put(FromB, pattern(0x20000, 2));
    for (unsigned i = 0; i < 16; ++i) {
      const std::uint64_t at = i * std::uint64_t{0x2000};
      co_await a->post_send(core, work(bench, wqe_opcode::RdmaWrite, 0x2000, FromA + at, ToB + at));
      co_await b->post_send(core, work(bench, wqe_opcode::RdmaWrite, 0x2000, FromB + at, ToA + at));
      co_await a->post_send(
          core, work(bench, wqe_opcode::RdmaRead, 0x2000, ToA + 0x20000 + at, FromA + at));
      co_await b->post_send(
          core, work(bench, wqe_opcode::RdmaRead, 0x2000, ToB + 0x20000 + at, FromB + at));
    }
    co_await bench.send_completions(core, 64);
    EXPECT_EQ(bench.get(ToB, 0x20000), pattern(0x20000, 1));
    EXPECT_EQ(bench.get(ToA, 0x20000), pattern(0x20000, 2));
    EXPECT_EQ(bench.get(ToA + 0x20000, 0x20000), pattern(0x20000, 1));
    EXPECT_EQ(bench.get(ToB + 0x20000, 0x20000), pattern(0x20000, 2));
  });
  expect_all_well(bed);
  EXPECT_TRUE(bed.packets.empty());
}

/// The buffer holds one frame of 4 KiB, and the wire is full of frames for nobody: together more
/// than the parser takes.
TEST_P(loopback, what_a_full_buffer_drops_is_sent_again) {
  peer_bench bed(buffer_of(4224), static_cast<std::uint64_t>(GetParam()));
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    bench.put(FromA, pattern(0x40000, 1));
    bench.put(FromB, pattern(0x40000, 2));
    for (unsigned i = 0; i < 32; ++i) {
      co_await receive(bench, core, *a, ToA + i * std::uint64_t{0x1000}, 0x1000);
      co_await receive(bench, core, *b, ToB + i * std::uint64_t{0x1000}, 0x1000);
    }
    packet_description noise = bench.remote(bth_opcode::RcWriteOnly, PeerPsn, 4096);
    noise.mac_destination = OwnMac + 1;
    for (unsigned i = 0; i < 200; ++i) {
      bench.send(noise, bytes_t(4096));
    }
    for (unsigned i = 0; i < 32; ++i) {
      const std::uint64_t at = i * std::uint64_t{0x1000};
      co_await a->post_send(core, work(bench, wqe_opcode::Send, 0x1000, FromA + at, 0));
      co_await b->post_send(core, work(bench, wqe_opcode::Send, 0x1000, FromB + at, 0));
    }
    co_await bench.send_completions(core, 64);
    co_await bench.receive_completions(core, 64);
    EXPECT_EQ(bench.get(ToB, 0x20000), pattern(0x20000, 1));
    EXPECT_EQ(bench.get(ToA, 0x20000), pattern(0x20000, 2));
  });
  expect_all_well(bed);
  EXPECT_GT(bed.count(counter::RxDropBuffer), 0U) << "or the case proves nothing";
  EXPECT_GT(bed.count(counter::ReqGoBacks), 0U);
}

/// The peer WRITEs at line rate while a and b talk.
TEST_P(loopback, frames_from_the_wire_and_looped_ones_share_the_receive_path) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  bed.acknowledges_everything();
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    bench.put(FromA, pattern(0x20000, 1));
    for (unsigned i = 0; i < 16; ++i) {
      const std::uint64_t at = i * std::uint64_t{0x2000};
      co_await a->post_send(core, work(bench, wqe_opcode::RdmaWrite, 0x2000, FromA + at, ToB + at));
    }
    for (unsigned i = 0; i < 32; ++i) {
      bench.send(
          bench.remote(bth_opcode::RcWriteOnly, PeerPsn + i, 4096, ToA + i * std::uint64_t{4096}),
          pattern(4096, i));
    }
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 4096, FromB));
    co_await bench.send_completions(core, 17);
    EXPECT_EQ(bench.get(ToB, 0x20000), pattern(0x20000, 1));
    co_await bench.wait_ns(core, 10000);
    for (unsigned i = 0; i < 32; ++i) {
      EXPECT_EQ(bench.get(ToA + i * std::uint64_t{4096}, 4096), pattern(4096, i)) << i;
    }
  });
  expect_all_well(bed);
  EXPECT_EQ(bed.count(counter::RxDropBuffer), 0U);
  for (const seen_packet& each : bed.packets) {
    EXPECT_EQ(each.parsed.mac_destination, PeerMac) << "what loops is not on the wire";
  }
}

/// Frames from the wire that would be the next request of a's queue pair but for their addresses.
TEST_P(loopback, attacks_from_the_wire_leave_the_queue_pair_as_it_was) {
  peer_bench bed({}, static_cast<std::uint64_t>(GetParam()));
  bed.run([this](peer_bench& bench, cpu& core) -> task<> {
    co_await connect(bench, core);
    bench.put(ToB, pattern(64, 9));
    const auto image = [](const qpc& context) {
      std::array<std::uint8_t, qpc::Size> bytes{};
      context.pack(bytes.data());
      return bytes;
    };
    const auto before = image(co_await b->query(core));
    packet_description next = bench.remote(bth_opcode::RcWriteOnly, a->address().psn, 64, ToB);
    next.dest_qpn = b->qpn();
    packet_description answer = bench.acknowledge(b->address().psn, 0x60);  // NAK: sequence
    answer.dest_qpn = b->qpn();
    for (packet_description attack : {next, answer}) {
      const bytes_t payload = attack.opcode == next.opcode ? pattern(64, 1) : bytes_t{};
      attack.mac_destination = OwnMac + 1;  // nobody's
      bench.send(attack, payload);
      attack.mac_destination = 0x01005e000001;  // multicast
      bench.send(attack, payload);
      attack.mac_destination = OwnMac;
      attack.mac_source = OwnMac;  // the address of its true peer, but from the wire
      bench.send(attack, payload);
    }
    co_await bench.wait_ns(core, 10000);
    EXPECT_EQ(bench.count(counter::RxSteerOverflow), 4U);
    EXPECT_EQ(bench.count(counter::RxSteerSource), 2U);
    EXPECT_EQ(image(co_await b->query(core)), before);
    EXPECT_EQ(bench.get(ToB, 64), pattern(64, 9));
    EXPECT_TRUE(bench.packets.empty()) << "no NAK";
    // Its true peer goes on with that PSN.
    bench.put(FromA, pattern(64, 4));
    co_await a->post_send(core, work(bench, wqe_opcode::RdmaWrite, 64, FromA, ToB));
    co_await bench.send_completions(core);
    EXPECT_EQ(bench.get(ToB, 64), pattern(64, 4));
    EXPECT_NE(image(co_await b->query(core)), before) << "the comparison sees the next PSN";
  });
  expect_all_well(bed);
}

INSTANTIATE_TEST_SUITE_P(shuffle, loopback, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon::bench
