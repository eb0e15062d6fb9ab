// Completions and events as they lie in host memory, byte for byte. "mlx5" is the public driver
// interface: 64-byte CQEs and EQEs, their owner bits, arms. "RoCE rules" are those of the
// InfiniBand transport as its public descriptions and implementations give them.
#include <algorithm>
#include <gtest/gtest.h>

#include "host/event_queue.h"
#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::PeerMac;
using bench::PeerPsn;
using bench::PeerQpn;
using bench::seen_packet;

constexpr std::uint8_t Untouched = 0x77;
constexpr std::size_t EntryBytes = 64;
constexpr std::size_t OpOwn = 63;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// Like peer_bench::connect, but with CQs of 2^log_cq_size entries that report to an EQ.
task<std::unique_ptr<event_queue>> connect_small(peer_bench& b, cpu& core, unsigned log_cq_size) {
  const peer_bench::options wanted = plain();
  co_await b.driver.open(core);
  b.pd = co_await b.driver.alloc_pd(core);
  b.uar = co_await b.driver.alloc_uar(core);
  std::unique_ptr<event_queue> events =
      co_await event_queue::create(b.driver, core, *b.uar, 8, QueueEvents);
  b.send_cq = co_await completion_queue::create(b.driver, core, *b.uar, log_cq_size, events.get());
  b.receive_cq =
      co_await completion_queue::create(b.driver, core, *b.uar, log_cq_size, events.get());
  b.buffer = co_await b.driver.register_memory(core, b.pd, b.host.allocate(65536, 4096), 65536);
  b.qp = co_await queue_pair::create(b.driver, core, b.pd, *b.uar, *b.send_cq, *b.receive_cq,
                                     wanted.qp);
  connection_options connection = wanted.connection;
  connection.psn = OwnPsn;
  co_await b.qp->to_init(core, connection);
  const queue_pair_address peer{PeerQpn, PeerPsn, PeerMac, gid_of_ipv4(0x0a000002), 0};
  co_await b.qp->to_rtr(core, peer, connection);
  co_await b.qp->to_rts(core, connection);
  co_return events;
}

/// An entry of a ring as 16 dwords in hexadecimal, a line for every 16 bytes.
std::string entry(const peer_bench& b, std::uint64_t ring, std::size_t index = 0) {
  std::array<std::uint8_t, EntryBytes> raw{};
  b.host.memory.read(ring + index * EntryBytes, raw.data(), raw.size());
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    text += fmt::format("{:02x}", raw[i]);
    text += i % 16 == 15 ? "\n" : i % 4 == 3 ? " " : "";
  }
  return text;
}

/// A CQE without an error; its time stamp (bytes 0x30 to 0x37) says nothing here.
std::string completed(const peer_bench& b, const completion_queue& cq, std::size_t index = 0) {
  constexpr std::size_t LineText = 36;
  constexpr std::size_t StampText = 17;
  std::string text = entry(b, cq.buffer(), index);
  text.replace(3 * LineText, StampText, "tttttttt tttttttt");
  return text;
}

std::uint8_t op_own(const peer_bench& b, const completion_queue& cq, std::size_t index = 0) {
  std::uint8_t byte = 0;
  b.host.memory.read(cq.buffer() + index * EntryBytes + OpOwn, &byte, 1);
  return byte;
}

/// The first QP of the device has the number 2, and the first receive WQE the index 0.
constexpr const char* Zeros = "00000000 00000000 00000000 00000000\n";

std::string lines(const char* second, const char* third, const char* fourth) {
  return std::string(Zeros) + second + "\n" + third + "\n" + fourth + "\n";
}

// Requester's completions -------------------------------------------------------------------------

struct sent_row {
  wqe_opcode opcode;
  std::uint32_t length;
  const char* third;   ///< line at 0x20, byte count at 0x2c
  const char* fourth;  ///< line at 0x30: time, opcode and QP, WQE index, signature, op_own
};

void PrintTo(const sent_row& row, std::ostream* out) {
  *out << to_string(row.opcode);
}

class sent_completion : public testing::TestWithParam<sent_row> {};

// mlx5, CQE: opcode 0 (REQ), the WQE's opcode and the QP at 0x38, the WQE's index at 0x3c; owner
// bit 0 in the first turn of the ring.
TEST_P(sent_completion, has_its_bytes) {
  const sent_row row = GetParam();
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    bytes_t data;
    if (got.opcode() == bth_opcode::RcReadRequest) {
      out.opcode = bth_opcode::RcReadResponseOnly;
      data = pattern(got.parsed.remote.dma_length);
    } else if (got.parsed.opcode->has_atomiceth) {
      out.opcode = bth_opcode::RcAtomicAcknowledge;
    }
    b.send(out, data);
  };
  b.run([row](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    work_request what = bench.request(row.opcode, row.length);
    what.imm = 0xa1b2c3d4;
    what.invalidate_key = bench.buffer.key;
    what.solicited = true;
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(completed(b, *b.send_cq),
            lines("00000000 00000000 00000000 00000000", row.third, row.fourth));
}

INSTANTIATE_TEST_SUITE_P(
    of, sent_completion,
    testing::Values(sent_row{wqe_opcode::Send, 100, "00000000 00000000 00000000 00000064",
                             "tttttttt tttttttt 0a000002 00000000"},
                    sent_row{wqe_opcode::SendImmediate, 0, "00000000 00000000 00000000 00000000",
                             "tttttttt tttttttt 0b000002 00000000"},
                    sent_row{wqe_opcode::SendInvalidate, 1, "00000000 00000000 00000000 00000001",
                             "tttttttt tttttttt 01000002 00000000"},
                    sent_row{wqe_opcode::RdmaWrite, 3000, "00000000 00000000 00000000 00000bb8",
                             "tttttttt tttttttt 08000002 00000000"},
                    sent_row{wqe_opcode::RdmaWriteImmediate, 8,
                             "00000000 00000000 00000000 00000008",
                             "tttttttt tttttttt 09000002 00000000"},
                    sent_row{wqe_opcode::RdmaRead, 1000, "00000000 00000000 00000000 000003e8",
                             "tttttttt tttttttt 10000002 00000000"},
                    sent_row{wqe_opcode::AtomicCompareSwap, 8,
                             "00000000 00000000 00000000 00000008",
                             "tttttttt tttttttt 11000002 00000000"},
                    sent_row{wqe_opcode::AtomicFetchAdd, 8, "00000000 00000000 00000000 00000008",
                             "tttttttt tttttttt 12000002 00000000"},
                    sent_row{wqe_opcode::LocalInvalidate, 0, "00000000 00000000 00000000 00000000",
                             "tttttttt tttttttt 1b000002 00000000"},
                    sent_row{wqe_opcode::Nop, 0, "00000000 00000000 00000000 00000000",
                             "tttttttt tttttttt 00000002 00000000"}),
    [](const auto& each) { return std::string(to_string(each.param.opcode)); });

// mlx5: the WQE counter is the index of the WQE's first basic block of 64 bytes. An unsignaled WQE
// has no CQE; the next one retires it.
TEST(completion_rules, the_wqe_counter_counts_basic_blocks) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    work_request big = bench.request(wqe_opcode::Send, 0);
    for (unsigned i = 0; i < 8; ++i) {
      big.add({bench.buffer.address, 16, bench.buffer.key});  // 16 + 8 * 16 bytes: 3 blocks
    }
    big.signaled = false;
    co_await bench.post(core, big);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, 10000);
  });
  EXPECT_EQ(completed(b, *b.send_cq),
            lines("00000000 00000000 00000000 00000000", "00000000 00000000 00000000 00000008",
                  "tttttttt tttttttt 0a000002 00030000"));
  EXPECT_EQ(op_own(b, *b.send_cq, 1), 0xf0) << "still as the driver has made it: INVALID";
}

// Responder's completions -------------------------------------------------------------------------

/// The peer's SEND (or WRITE) of 32 bytes to a QP with a receive WQE of 64.
void receives(peer_bench& b, bth_opcode opcode, std::uint8_t solicited) {
  b.run([opcode, solicited](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    co_await bench.post_receive(core, 64);
    packet_description what = bench.remote(opcode, PeerPsn, 32);
    what.dscp = 24;
    what.immediate = 0xa1b2c3d4;
    what.invalidate_rkey = bench.buffer.key;
    what.solicited = solicited;
    bench.send(what, pattern(32));
    co_await bench.receive_completions(core);
  });
}

// mlx5, CQE: opcodes 1 to 4; at 0x18 service level and remote QP, at 0x24 the immediate as on the
// wire or the invalidated key, no opcode at 0x38; bit 1 of the last byte is the solicited event.
TEST(completion_rules, a_received_send_has_its_bytes) {
  peer_bench b;
  receives(b, bth_opcode::RcSendOnly, 0);
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 0300abcd 00000000", "00000000 00000000 00000000 00000020",
                  "tttttttt tttttttt 00000002 00000020"));
}

TEST(completion_rules, a_received_solicited_send_has_its_bytes) {
  peer_bench b;
  receives(b, bth_opcode::RcSendOnly, 1);
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 0300abcd 00000000", "00000000 00000000 00000000 00000020",
                  "tttttttt tttttttt 00000002 00000022"));
}

TEST(completion_rules, a_received_send_with_immediate_has_its_bytes) {
  peer_bench b;
  receives(b, bth_opcode::RcSendOnlyImmediate, 0);
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 0300abcd 00000000", "00000000 a1b2c3d4 00000000 00000020",
                  "tttttttt tttttttt 00000002 00000030"));
}

TEST(completion_rules, a_received_send_with_invalidate_has_its_bytes) {
  peer_bench b;
  receives(b, bth_opcode::RcSendOnlyInvalidate, 0);
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 0300abcd 00000000", "00000000 00000100 00000000 00000020",
                  "tttttttt tttttttt 00000002 00000040"));
}

TEST(completion_rules, a_received_write_with_immediate_has_its_bytes) {
  peer_bench b;
  receives(b, bth_opcode::RcWriteOnlyImmediate, 1);
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 0300abcd 00000000", "00000000 a1b2c3d4 00000000 00000020",
                  "tttttttt tttttttt 00000002 00000012"));
}

// A datagram: the GRH bits, its sender's QP, and 40 bytes more.
TEST(completion_rules, a_received_datagram_has_its_bytes) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Ud;
    co_await bench.connect(core, wanted);
    co_await bench.post_receive(core, 256);
    packet_description what = bench.packet(bth_opcode::UdSendOnlyImmediate, PeerPsn);
    what.dscp = 24;
    what.immediate = 0xa1b2c3d4;
    what.datagram.qkey = wanted.connection.qkey;
    what.datagram.src_qpn = 0xfedcba;
    bench.send(what, pattern(30));
    co_await bench.receive_completions(core);
  });
  EXPECT_EQ(completed(b, *b.receive_cq),
            lines("00000000 00000000 13fedcba 00000000", "00000000 a1b2c3d4 00000000 00000046",
                  "tttttttt tttttttt 00000002 00000030"));
}

// Owner bit ---------------------------------------------------------------------------------------

// mlx5: hardware writes owner = bit log2(size) of the producer index; before its first turn an
// entry is INVALID (opcode 15).
TEST(completion_rules, the_owner_bit_changes_with_every_turn_of_the_ring) {
  peer_bench b;
  b.acknowledges_everything();
  std::vector<unsigned> seen;
  b.run([&seen](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 2);
    for (unsigned i = 0; i < 4; ++i) {
      EXPECT_EQ(op_own(bench, *bench.send_cq, i), 0xf0);
    }
    for (unsigned i = 0; i < 14; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
      co_await bench.send_completions(core);
      seen.push_back(op_own(bench, *bench.send_cq, i % 4));
    }
  });
  EXPECT_EQ(seen, (std::vector<unsigned>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1}));
}

// Overrun -----------------------------------------------------------------------------------------

// mlx5: an entry that the driver has not consumed is not overwritten; the completion is lost, and
// an event tells of the CQ (type 4, the CQ's number at 0x20, syndrome 1 at 0x2b).
TEST(completion_rules, a_full_queue_loses_the_entry_and_tells) {
  peer_bench b;
  b.acknowledges_everything();
  std::vector<event> told(4);
  unsigned events_told = 0;
  std::string first;
  std::unique_ptr<event_queue> events;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    events = co_await connect_small(bench, core, 1);
    for (unsigned i = 0; i < 2; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8 + i));
    }
    co_await bench.wait_ns(core, 10000);
    first = entry(bench, bench.send_cq->buffer(), 0) + entry(bench, bench.send_cq->buffer(), 1);
    EXPECT_EQ(bench.count(counter::CqOverruns), 0U) << "full, but nothing is lost";
    EXPECT_FALSE(events->ready());
    for (unsigned i = 2; i < 4; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8 + i));
    }
    co_await bench.wait_ns(core, 10000);
    events_told = co_await events->poll(core, told);
  });
  EXPECT_EQ(entry(b, b.send_cq->buffer(), 0) + entry(b, b.send_cq->buffer(), 1), first);
  EXPECT_EQ(b.count(counter::CqOverruns), 1U);
  EXPECT_EQ(b.count(counter::CqesDropped), 2U);
  ASSERT_EQ(events_told, 1U);
  EXPECT_EQ(told[0].kind, event_type::CqError);
  EXPECT_EQ(entry(b, events->buffer()),
            "00040000 00000000 00000000 00000000\n"
            "00000000 00000000 00000000 00000000\n"
            "00000001 00000000 00000001 00000000\n"
            "00000000 00000000 00000000 00000000\n");
}

// As soon as an entry is consumed there is room for one.
TEST(completion_rules, a_consumed_entry_is_written_again) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 1);
    for (unsigned i = 0; i < 2; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    }
    co_await bench.wait_ns(core, 10000);
    co_await bench.send_completions(core, 1);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    co_await bench.send_completions(core, 2);
    EXPECT_FALSE(events->ready());
  });
  EXPECT_EQ(b.count(counter::CqesDropped), 0U);
}

// Events ------------------------------------------------------------------------------------------

/// The peer sends `count` SENDs of 8 bytes, the last one solicited or not.
task<> peer_sends(peer_bench& b, cpu& core, std::uint32_t psn, unsigned count, bool solicited) {
  for (unsigned i = 0; i < count; ++i) {
    co_await b.post_receive(core, 8);
  }
  for (unsigned i = 0; i < count; ++i) {
    packet_description what = b.packet(bth_opcode::RcSendOnly, psn + i);
    what.solicited = solicited && i + 1 == count ? 1 : 0;
    b.send(what, pattern(8));
  }
  co_await b.wait_ns(core, 10000);
}

unsigned events_in(peer_bench& b) {
  return static_cast<unsigned>(b.count(counter::Eqes));
}

// mlx5, EQE: type 0 (completion) in byte 1, the CQ's number at 0x38, the owner bit in the last
// byte.
TEST(completion_rules, an_armed_queue_tells_of_one_completion) {
  peer_bench b;
  std::unique_ptr<event_queue> events;
  b.run([&events](peer_bench& bench, cpu& core) -> task<> {
    events = co_await connect_small(bench, core, 4);
    co_await bench.receive_cq->arm(core);
    co_await peer_sends(bench, core, PeerPsn, 3, false);
    EXPECT_EQ(events_in(bench), 1U) << "of three completions";
  });
  EXPECT_EQ(entry(b, events->buffer()),
            "00000000 00000000 00000000 00000000\n"
            "00000000 00000000 00000000 00000000\n"
            "00000000 00000000 00000000 00000000\n"
            "00000000 00000000 00000002 00000000\n");
}

TEST(completion_rules, a_queue_that_is_not_armed_tells_nothing) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await peer_sends(bench, core, PeerPsn, 2, true);
    EXPECT_EQ(bench.count(counter::Cqes), 2U);
    EXPECT_EQ(events_in(bench), 0U);
  });
}

// mlx5: an arm names the entries consumed; what is there beyond them is told at once.
TEST(completion_rules, an_arm_after_the_completion_tells_at_once) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await peer_sends(bench, core, PeerPsn, 2, false);
    co_await bench.receive_completions(core, 1);
    co_await bench.receive_cq->arm(core);
    co_await bench.wait_ns(core, 5000);
    EXPECT_EQ(events_in(bench), 1U);
  });
}

TEST(completion_rules, an_arm_after_everything_is_consumed_waits_for_the_next) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await peer_sends(bench, core, PeerPsn, 2, false);
    co_await bench.receive_completions(core, 2);
    co_await bench.receive_cq->arm(core);
    co_await bench.wait_ns(core, 5000);
    EXPECT_EQ(events_in(bench), 0U);
    co_await peer_sends(bench, core, PeerPsn + 2, 1, false);
    EXPECT_EQ(events_in(bench), 1U);
  });
}

// Each event consumed and each arm after it give one more event.
TEST(completion_rules, every_arm_is_answered_once) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    for (unsigned i = 0; i < 6; ++i) {
      co_await bench.receive_cq->arm(core);
      co_await peer_sends(bench, core, PeerPsn + i, 1, false);
      event one;
      EXPECT_EQ(co_await events->poll(core, std::span(&one, 1)), 1U);
      EXPECT_EQ(one.kind, event_type::Completion);
      EXPECT_EQ(one.number, bench.receive_cq->cqn());
      co_await bench.receive_completions(core, 1);
    }
    EXPECT_EQ(events_in(bench), 6U);
  });
}

// mlx5, arm word bit 24: solicited completions alone.
TEST(completion_rules, an_arm_for_solicited_completions_passes_over_others) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await bench.receive_cq->arm(core, true);
    co_await peer_sends(bench, core, PeerPsn, 2, false);
    EXPECT_EQ(events_in(bench), 0U);
    co_await peer_sends(bench, core, PeerPsn + 2, 1, true);
    EXPECT_EQ(events_in(bench), 1U);
  });
}

// RoCE rules: a completion with an error counts as solicited.
TEST(completion_rules, an_error_is_told_to_who_waits_for_solicited_completions) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await bench.send_cq->arm(core, true);
    work_request wrong = bench.request(wqe_opcode::Send, 8);
    wrong.sges[0].lkey ^= 1;
    co_await bench.post(core, wrong);
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, 5000);
    event one;
    EXPECT_EQ(co_await events->poll(core, std::span(&one, 1)), 1U);
    EXPECT_EQ(one.number, bench.send_cq->cqn());
  });
}

// mlx5, ce 3: CQE and EQE.
TEST(completion_rules, a_request_may_demand_an_event_itself) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    work_request telling = bench.request(wqe_opcode::RdmaWrite, 8);
    telling.event = true;
    co_await bench.post(core, telling);
    co_await bench.send_completions(core, 2);
    co_await bench.wait_ns(core, 5000);
    EXPECT_EQ(events_in(bench), 1U);
  });
}

// Looked at every nanosecond: what the event tells of is there.
TEST(completion_rules, nobody_sees_an_event_before_its_completion) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const auto events = co_await connect_small(bench, core, 4);
    co_await bench.receive_cq->arm(core);
    bench.put(0x8000, bytes_t(64, Untouched));
    co_await bench.post_receive(core, 64);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(64));
    for (unsigned i = 0; i < 10000 && !events->ready(); ++i) {
      co_await bench.wait_ns(core, 1);
    }
    EXPECT_TRUE(events->ready());
    EXPECT_EQ(op_own(bench, *bench.receive_cq), 0x20);
    EXPECT_EQ(bench.get(0x8000, 64), pattern(64));
  });
}

}  // namespace
}  // namespace carillon
