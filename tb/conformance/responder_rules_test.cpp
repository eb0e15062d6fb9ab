// The responder's rules on the wire: SEND and WRITE of a reliable connection, acknowledges, gaps,
// duplicates, and receivers that are not ready. READs, atomics and remote keys are in
// responder_reads_rules_test.cpp, other services, states and errors in
// responder_services_rules_test.cpp. Each case is named after its rule. "RoCE rules" are those of
// the InfiniBand transport as its public descriptions and implementations give them (Linux
// rdma_rxe, the RoCEv2 annex); "mlx5" is the public driver interface.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::PeerQpn;
using bench::seen_packet;

using op = bth_opcode;
using numbers = std::vector<std::uint64_t>;

constexpr ps_t Us = 1000000;
constexpr ps_t PsPerNs = 1000;
constexpr std::uint64_t Receives = 0x8000;  ///< receive i has the 4 KiB at Receives + i * 4 KiB
constexpr std::uint32_t ReceiveBytes = 4096;
constexpr std::uint32_t Immediate = 0xa1b2c3d4;

bytes_t part(const bytes_t& all, std::size_t from, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(count, all.size() - from))};
}

/// The NIC serves a scripted peer; MTU 1024.
class responder_rules : public testing::Test {
 protected:
  responder_rules() { wanted.connection.mtu = mtu_code::Mtu1024; }

  /// Connects, runs the program, lets everything be answered and takes all completions.
  void run(const std::function<task<>(cpu&)>& what) {
    b.run([&](peer_bench&, cpu& core) -> task<> {
      co_await b.connect(core, wanted);
      co_await what(core);
      co_await settle(core);
      while (b.receive_cq->ready()) {
        co_await b.receive_completions(core);
      }
    });
  }

  /// Posts so many receives, then the peer sends.
  void serve(unsigned receives, const std::function<void()>& packets) {
    run([&](cpu& core) -> task<> {
      for (unsigned i = 0; i < receives; ++i) {
        co_await b.post_receive(core, ReceiveBytes, Receives + i * ReceiveBytes);
      }
      packets();
    });
  }

  /// Until all that was said is answered.
  task<> settle(cpu& core) const {
    core.idle_until(std::max(core.time(), next_) + 30 * Us);
    co_await core.sync();
  }

  /// A request of the peer: `n` counts its PSNs, a WRITE goes to `offset` of the buffer.
  [[nodiscard]] packet_description request(op opcode, std::uint32_t n, std::size_t length = 0,
                                           std::uint64_t offset = 0) const {
    packet_description what =
        b.remote(opcode, PeerPsn + n, static_cast<std::uint32_t>(length), offset);
    what.immediate = Immediate;
    return what;
  }

  /// The peer sends it `apart` after what it said before, so that that has been answered.
  void say(const packet_description& what, const bytes_t& payload = {}) {
    next_ = std::max({next_, b.now(), b.host.core(0).time()}) + apart;
    b.send(what, payload, (next_ - b.now()) / PsPerNs);
  }

  void say(op opcode, std::uint32_t n, const bytes_t& payload = {}, std::uint64_t offset = 0) {
    say(request(opcode, n, payload.size(), offset), payload);
  }

  /// A message of several packets, of which the last one asks for an acknowledge.
  void say_message(const std::array<op, 3>& labels, std::uint32_t n, const bytes_t& data,
                   std::uint64_t offset = 0) {
    const std::size_t mtu = 128U << static_cast<unsigned>(wanted.connection.mtu);
    for (std::size_t from = 0; from < data.size(); from += mtu) {
      const bool last = from + mtu >= data.size();
      const op label = last ? labels[2] : labels[from == 0 ? 0 : 1];
      packet_description what = request(label, n++, data.size(), offset);
      what.ack_request = last ? 1 : 0;
      say(what, part(data, from, mtu));
    }
  }

  /// What the NIC sent, as "syndrome PSN MSN"; PSNs count from the peer's first.
  [[nodiscard]] std::string answers() const {
    std::string result;
    for (const seen_packet& each : b.packets) {
      EXPECT_EQ(each.opcode(), op::RcAcknowledge);
      EXPECT_EQ(each.parsed.base.dest_qpn, PeerQpn);
      result += fmt::format("{}{:02x} {} {}", result.empty() ? "" : ", ", each.syndrome(),
                            static_cast<std::int32_t>((each.psn() - PeerPsn) << 8) >> 8,
                            each.parsed.acknowledge.msn);
    }
    return result;
  }

  /// Which receives completed, all of them well.
  [[nodiscard]] numbers completed() const {
    numbers result;
    for (const completion& each : b.receives) {
      EXPECT_FALSE(each.failed());
      result.push_back((each.id - Receives) / ReceiveBytes);
    }
    return result;
  }

  peer_bench b;
  peer_bench::options wanted;
  ps_t apart = 3 * Us;

 private:
  ps_t next_ = 0;
};

constexpr std::array Send = {op::RcSendFirst, op::RcSendMiddle, op::RcSendLast};
constexpr std::array SendImmediate = {op::RcSendFirst, op::RcSendMiddle, op::RcSendLastImmediate};
constexpr std::array Write = {op::RcWriteFirst, op::RcWriteMiddle, op::RcWriteLast};
constexpr std::array WriteImmediate = {op::RcWriteFirst, op::RcWriteMiddle,
                                       op::RcWriteLastImmediate};

// Messages ---------------------------------------------------------------------------------------

// RoCE rules: a SEND consumes a receive WQE; mlx5: the CQE has opcode RESP_SEND and the length. An
// ACK without flow control has credit code 0x1f, as rdma_rxe sends it (ConnectX: 0).
TEST_F(responder_rules, a_send_fills_a_receive_and_is_acknowledged) {
  serve(1, [this] { say(op::RcSendOnly, 0, pattern(100)); });
  ASSERT_EQ(b.receives.size(), 1U);
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSend);
  EXPECT_EQ(b.receives[0].id, Receives);
  EXPECT_EQ(b.receives[0].bytes, 100U);
  EXPECT_EQ(b.receives[0].qpn, b.qp->qpn());
  EXPECT_FALSE(b.receives[0].with_imm);
  EXPECT_EQ(b.get(Receives, 100), pattern(100));
  EXPECT_EQ(answers(), "1f 0 1");
}

TEST_F(responder_rules, a_send_of_several_packets_is_one_message) {
  serve(2, [this] { say_message(Send, 0, pattern(2500)); });
  ASSERT_EQ(completed(), (numbers{0}));
  EXPECT_EQ(b.receives[0].bytes, 2500U);
  EXPECT_EQ(b.get(Receives, 2500), pattern(2500));
  EXPECT_EQ(answers(), "1f 2 1");
}

class responder_mtu : public responder_rules, public testing::WithParamInterface<unsigned> {};

// MTU codes 1 to 5 are 256 to 4096 bytes.
TEST_P(responder_mtu, first_and_middle_packets_carry_the_path_mtu) {
  const std::uint32_t length = 2 * (128U << GetParam()) + 7;
  wanted.connection.mtu = static_cast<mtu_code>(GetParam());
  serve(0, [this, length] { say_message(Write, 0, pattern(length)); });
  EXPECT_EQ(b.get(0, length), pattern(length));
  EXPECT_EQ(answers(), "1f 2 1");
}

INSTANTIATE_TEST_SUITE_P(code, responder_mtu, testing::Values(1U, 2U, 3U, 4U, 5U));

// mlx5: a receive WQE is a list of data segments; bytes fill them in order, wherever packets end.
TEST_F(responder_rules, the_pieces_of_a_receive_are_filled_one_after_the_other) {
  wanted.qp.max_receive_sges = 4;
  const bytes_t data = pattern(2500);
  run([this, &data](cpu& core) -> task<> {
    receive_request pieces;
    pieces.add({b.buffer.address + 0x8000, 100, b.buffer.key});
    pieces.add({b.buffer.address + 0xa000, 1500, b.buffer.key});
    pieces.add({b.buffer.address + 0xb003, 1, b.buffer.key});
    pieces.add({b.buffer.address + 0xc000, 2000, b.buffer.key});
    EXPECT_TRUE(co_await b.qp->post_receive(core, pieces));
    say_message(Send, 0, data);
  });
  EXPECT_EQ(b.receives.at(0).bytes, 2500U);
  EXPECT_EQ(b.get(0x8000, 100), part(data, 0, 100));
  EXPECT_EQ(b.get(0x8000 + 100, 8), bytes_t(8));
  EXPECT_EQ(b.get(0xa000, 1500), part(data, 100, 1500));
  EXPECT_EQ(b.get(0xa000 + 1500, 8), bytes_t(8));
  EXPECT_EQ(b.get(0xb003, 1), part(data, 1600, 1));
  EXPECT_EQ(b.get(0xb004, 8), bytes_t(8));
  EXPECT_EQ(b.get(0xc000, 899), part(data, 1601, 899));
  EXPECT_EQ(b.get(0xc000 + 899, 8), bytes_t(8));
}

// A message may be as long as its receive, and as short as nothing.
TEST_F(responder_rules, a_send_may_fill_its_receive_to_the_last_byte_or_not_at_all) {
  serve(2, [this] {
    say_message(Send, 0, pattern(ReceiveBytes));
    say(op::RcSendOnly, 4);
  });
  ASSERT_EQ(completed(), (numbers{0, 1}));
  EXPECT_EQ(b.receives[0].bytes, ReceiveBytes);
  EXPECT_EQ(b.receives[1].bytes, 0U);
  EXPECT_EQ(b.get(Receives, ReceiveBytes), pattern(ReceiveBytes));
  EXPECT_EQ(answers(), "1f 3 1, 1f 4 2");
}

// Pad bytes fill the packet to whole dwords and belong to nobody.
TEST_F(responder_rules, padding_reaches_neither_memory_nor_the_byte_count) {
  serve(1, [this] {
    b.put(Receives, bytes_t(8, 0xee));
    say(op::RcSendOnly, 0, {1, 2, 3, 4, 5});
  });
  EXPECT_EQ(b.get(Receives, 8), (bytes_t{1, 2, 3, 4, 5, 0xee, 0xee, 0xee}));
  EXPECT_EQ(b.receives.at(0).bytes, 5U);
}

// mlx5: RESP_SEND_IMM, the immediate as on the wire.
TEST_F(responder_rules, the_immediate_of_a_send_is_in_its_completion) {
  serve(2, [this] {
    say_message(SendImmediate, 0, pattern(1500));
    say(op::RcSendOnlyImmediate, 2, pattern(4));
  });
  ASSERT_EQ(completed(), (numbers{0, 1}));
  for (const completion& each : b.receives) {
    EXPECT_EQ(each.opcode, cqe_opcode::ResponderSendImmediate);
    EXPECT_TRUE(each.with_imm);
    EXPECT_EQ(each.imm, Immediate);
  }
  EXPECT_EQ(b.receives[0].bytes, 1500U);
}

// mlx5: RESP_SEND_INV with the key; RoCE rules: the key is invalid from then on (NAK 0x62).
TEST_F(responder_rules, a_send_with_invalidate_makes_the_key_useless) {
  memory_region other;
  run([this, &other](cpu& core) -> task<> {
    other = co_await b.driver.register_memory(core, b.pd, b.buffer.address, 4096);
    co_await b.post_receive(core, ReceiveBytes);
    packet_description write = request(op::RcWriteOnly, 0, 8);
    write.remote.rkey = other.key;
    say(write, pattern(8, 1));
    packet_description invalidate = request(op::RcSendOnlyInvalidate, 1);
    invalidate.invalidate_rkey = other.key;
    say(invalidate, pattern(16));
    write.psn += 2;
    say(write, pattern(8, 2));
  });
  ASSERT_EQ(b.receives.size(), 1U);
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSendInvalidate);
  EXPECT_TRUE(b.receives[0].with_invalidate);
  EXPECT_EQ(b.receives[0].invalidated_key, other.key);
  EXPECT_EQ(b.receives[0].bytes, 16U);
  EXPECT_EQ(b.get(0, 8), pattern(8, 1));
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 2, 62 2 2");
}

// A WRITE is invisible to the program: no receive WQE, no CQE. Any address, any length.
TEST_F(responder_rules, a_write_goes_where_its_reth_says_and_nobody_is_told) {
  serve(1, [this] {
    say(op::RcWriteOnly, 0, pattern(77), 0x123);
    say_message(Write, 1, pattern(2500, 2), 0x2001);
  });
  EXPECT_EQ(b.get(0x123, 77), pattern(77));
  EXPECT_EQ(b.get(0x122, 1), bytes_t(1));
  EXPECT_EQ(b.get(0x123 + 77, 8), bytes_t(8));
  EXPECT_EQ(b.get(0x2001, 2500), pattern(2500, 2));
  EXPECT_EQ(b.get(0x2000, 1), bytes_t(1));
  EXPECT_EQ(b.get(0x2001 + 2500, 8), bytes_t(8));
  EXPECT_TRUE(b.receives.empty());
  EXPECT_EQ(answers(), "1f 0 1, 1f 3 2");
}

// WRITE with immediate consumes a receive WQE at its last packet, and only its CQE tells.
TEST_F(responder_rules, a_write_with_immediate_takes_a_receive_but_not_its_buffer) {
  serve(2, [this] {
    say_message(WriteImmediate, 0, pattern(1500));
    say(op::RcWriteOnlyImmediate, 2, pattern(9), 0x1000);
  });
  ASSERT_EQ(completed(), (numbers{0, 1}));
  for (const completion& each : b.receives) {
    EXPECT_EQ(each.opcode, cqe_opcode::ResponderWriteImmediate);
    EXPECT_EQ(each.imm, Immediate);
  }
  EXPECT_EQ(b.receives[0].bytes, 1500U);
  EXPECT_EQ(b.receives[1].bytes, 9U);
  EXPECT_EQ(b.get(0, 1500), pattern(1500));
  EXPECT_EQ(b.get(0x1000, 9), pattern(9));
  EXPECT_EQ(b.get(Receives, 2 * ReceiveBytes), bytes_t(2 * ReceiveBytes));
  EXPECT_EQ(answers(), "1f 1 1, 1f 2 2");
}

// Operations of length zero skip the check of the remote key.
TEST_F(responder_rules, an_empty_write_needs_no_key) {
  serve(1, [this] {
    packet_description what = request(op::RcWriteOnly, 0);
    what.remote.rkey = 0xdead00;
    what.remote.va = 0;
    say(what);
    what.opcode = op::RcWriteOnlyImmediate;
    what.psn += 1;
    say(what);
  });
  ASSERT_EQ(completed(), (numbers{0}));
  EXPECT_EQ(b.receives[0].bytes, 0U);
  EXPECT_EQ(b.receives[0].imm, Immediate);
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 2");
}

// mlx5: bit SE of the CQE.
TEST_F(responder_rules, a_solicited_message_has_a_solicited_completion) {
  serve(3, [this] {
    packet_description what = request(op::RcSendOnly, 0);
    what.solicited = 1;
    say(what);
    say(op::RcSendOnly, 1);
    what = request(op::RcWriteOnlyImmediate, 2);
    what.solicited = 1;
    say(what);
  });
  ASSERT_EQ(completed(), (numbers{0, 1, 2}));
  EXPECT_TRUE(b.receives[0].solicited);
  EXPECT_FALSE(b.receives[1].solicited);
  EXPECT_TRUE(b.receives[2].solicited);
}

// Acknowledges -----------------------------------------------------------------------------------

// An ACK must be sent where AckReq is set; one is for everything before it.
TEST_F(responder_rules, who_does_not_ask_is_not_acknowledged) {
  serve(1, [this] {
    packet_description quiet = request(op::RcSendOnly, 0);
    quiet.ack_request = 0;
    say(quiet);
    quiet = request(op::RcWriteOnly, 1, 8);
    quiet.ack_request = 0;
    say(quiet, pattern(8));
    say(op::RcWriteOnly, 2, pattern(8));
  });
  EXPECT_EQ(answers(), "1f 2 3");
}

// MSN + 1 when a message completes: packets inside it are acknowledged with the number before it.
TEST_F(responder_rules, the_msn_counts_whole_messages) {
  serve(1, [this] {
    say(op::RcWriteOnly, 0, pattern(8));
    say(op::RcSendFirst, 1, pattern(1024));
    say(op::RcSendMiddle, 2, pattern(1024));
    say(op::RcSendLast, 3, pattern(1));
    say(op::RcWriteOnly, 4);
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 1, 1f 2 1, 1f 3 2, 1f 4 3");
}

// ACKs may be coalesced: one names the last packet that it answers, and the last is answered.
TEST_F(responder_rules, a_burst_is_acknowledged_in_order_up_to_its_last_packet) {
  apart = 0;
  serve(0, [this] {
    for (std::uint32_t i = 0; i < 40; ++i) {
      say(op::RcWriteOnly, i, pattern(8, i), i * 8);
    }
  });
  ASSERT_FALSE(b.packets.empty());
  for (const seen_packet& each : b.packets) {
    EXPECT_EQ(each.parsed.acknowledge.msn, each.psn() - PeerPsn + 1);
  }
  for (std::size_t i = 1; i < b.packets.size(); ++i) {
    EXPECT_GT(b.packets[i].psn(), b.packets[i - 1].psn());
  }
  EXPECT_EQ(b.packets.back().psn(), PeerPsn + 39);
  for (unsigned i = 0; i < 40; ++i) {
    EXPECT_EQ(b.get(std::uint64_t{i} * 8, 8), pattern(8, i));
  }
}

// PSNs are modulo 2^24; a new connection begins with the PSN that it is told, and MSN 0.
TEST_F(responder_rules, psns_wrap_behind_the_24th_bit) {
  run([this](cpu& core) -> task<> {
    say(op::RcWriteOnly, 0, pattern(8));
    co_await settle(core);
    co_await b.qp->to_reset(core);
    co_await b.qp->to_init(core, wanted.connection);
    const queue_pair_address peer{PeerQpn, 0xfffffe, bench::PeerMac, gid_of_ipv4(0x0a000002)};
    co_await b.qp->to_rtr(core, peer, wanted.connection);
    co_await b.post_receive(core, ReceiveBytes);
    say_message(Send, 0xfffffe - PeerPsn, pattern(2500));
    say(op::RcWriteOnly, 2 - PeerPsn, pattern(8));  // PSN 1 is lost
    say(op::RcWriteOnly, 0xffffff - PeerPsn, pattern(8));
  });
  EXPECT_EQ(b.get(Receives, 2500), pattern(2500));
  EXPECT_EQ(answers(), "1f 0 1, 1f -4096 1, 60 -4095 1, 1f -4096 1");  // PSNs 0, 1 and 0
}

// Gaps -------------------------------------------------------------------------------------------

// Beyond the expected PSN: one NAK 0x60 with the expected PSN, then silence; nothing is done.
TEST_F(responder_rules, a_gap_has_one_nak_and_nothing_behind_it_is_done) {
  serve(2, [this] {
    say(op::RcWriteOnly, 0, pattern(8));
    say(op::RcWriteOnly, 2, pattern(8), 0x100);
    say(op::RcSendOnly, 3, pattern(8));
    say(op::RcWriteOnly, 4, pattern(8), 0x200);
  });
  EXPECT_EQ(answers(), "1f 0 1, 60 1 1");
  EXPECT_EQ(b.get(0x100, 8), bytes_t(8));
  EXPECT_EQ(b.get(0x200, 8), bytes_t(8));
  EXPECT_TRUE(b.receives.empty());
}

// The expected packet ends the gap; the next gap has a NAK of its own.
TEST_F(responder_rules, after_the_missing_packet_a_new_gap_has_a_new_nak) {
  serve(0, [this] {
    for (const std::uint32_t n : {1U, 2U, 0U, 1U, 3U, 4U, 2U}) {
      say(op::RcWriteOnly, n, pattern(8, n), std::uint64_t{n} * 8);
    }
  });
  EXPECT_EQ(answers(), "60 0 0, 1f 0 1, 1f 1 2, 60 2 2, 1f 2 3");
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(b.get(std::uint64_t{n} * 8, 8), pattern(8, n));
  }
  EXPECT_EQ(b.get(3 * 8, 16), bytes_t(16));
}

// rdma_rxe likewise: only an expected packet makes the next NAK possible.
TEST_F(responder_rules, a_duplicate_does_not_end_a_gap) {
  serve(0, [this] {
    for (const std::uint32_t n : {0U, 2U, 0U, 3U}) {
      say(op::RcWriteOnly, n, pattern(8));
    }
  });
  EXPECT_EQ(answers(), "1f 0 1, 60 1 1, 1f 0 1");
}

TEST_F(responder_rules, a_message_goes_on_where_it_was_interrupted) {
  const bytes_t data = pattern(2500);
  serve(1, [this, &data] {
    say(op::RcSendFirst, 0, part(data, 0, 1024));
    say(op::RcSendLast, 2, part(data, 2048, 1024));
    say(op::RcSendMiddle, 1, part(data, 1024, 1024));
    say(op::RcSendLast, 2, part(data, 2048, 1024));
  });
  EXPECT_EQ(answers(), "1f 0 0, 60 1 0, 1f 1 0, 1f 2 1");
  EXPECT_EQ(completed(), (numbers{0}));
  EXPECT_EQ(b.get(Receives, 2500), data);
}

// The window is 2^23: what is less far ahead is a gap, everything else a duplicate.
TEST_F(responder_rules, half_of_all_psns_are_ahead_and_half_behind) {
  serve(0, [this] {
    say(op::RcWriteOnly, 0x800000, pattern(8));
    say(op::RcWriteOnly, 0x7fffff, pattern(8));
  });
  EXPECT_EQ(answers(), "1f -1 0, 60 0 0");
  EXPECT_EQ(b.get(0, 8), bytes_t(8));
}

// Duplicates -------------------------------------------------------------------------------------

// A duplicate SEND or WRITE: ACK with the PSN of the last packet taken, nothing is done twice.
TEST_F(responder_rules, a_duplicate_send_is_acknowledged_but_takes_no_receive) {
  serve(2, [this] {
    say(op::RcSendOnly, 0, pattern(8, 1));
    say(op::RcSendOnly, 0, pattern(8, 2));
    say(op::RcSendOnly, 1, pattern(8, 3));
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 0 1, 1f 1 2");
  EXPECT_EQ(completed(), (numbers{0, 1}));
  EXPECT_EQ(b.get(Receives, 8), pattern(8, 1));
  EXPECT_EQ(b.get(Receives + ReceiveBytes, 8), pattern(8, 3));
}

TEST_F(responder_rules, a_duplicate_write_is_acknowledged_but_not_written) {
  serve(2, [this] {
    say(op::RcWriteOnly, 0, pattern(8, 1));
    say(op::RcWriteOnlyImmediate, 1, pattern(8, 2), 8);
    say(op::RcWriteOnly, 0, pattern(8, 3));
    say(op::RcWriteOnlyImmediate, 1, pattern(8, 4), 8);
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 2, 1f 1 2, 1f 1 2");
  EXPECT_EQ(completed(), (numbers{0}));
  EXPECT_EQ(b.get(0, 8), pattern(8, 1));
  EXPECT_EQ(b.get(8, 8), pattern(8, 2));
}

TEST_F(responder_rules, a_duplicate_inside_a_message_in_progress_changes_nothing) {
  const bytes_t data = pattern(2500);
  serve(1, [this, &data] {
    say(op::RcSendFirst, 0, part(data, 0, 1024));
    say(op::RcSendMiddle, 1, part(data, 1024, 1024));
    say(op::RcSendFirst, 0, pattern(1024, 9));
    say(op::RcSendLast, 2, part(data, 2048, 1024));
  });
  EXPECT_EQ(answers(), "1f 0 0, 1f 1 0, 1f 1 0, 1f 2 1");
  EXPECT_EQ(b.get(Receives, 2500), data);
}

// Only the PSN of a duplicate counts: it was judged when it came first.
TEST_F(responder_rules, a_duplicate_is_not_judged_again) {
  serve(0, [this] {
    say(op::RcWriteOnly, 0, pattern(8));
    packet_description wrong = request(op::RcWriteOnly, 0, 99999);
    wrong.remote.rkey = 0xdead00;
    say(wrong, pattern(8, 2));
    say(op::RcSendMiddle, 0, pattern(3));
    say(op::RcWriteOnly, 1, pattern(8, 3));
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 0 1, 1f 0 1, 1f 1 2");
  EXPECT_EQ(b.get(0, 8), pattern(8, 3));
}

// Receiver not ready -----------------------------------------------------------------------------

// No receive WQE: RNR NAK with the packet's PSN, and the same PSN is expected again; what follows
// is dropped in silence.
TEST_F(responder_rules, without_a_receive_a_send_is_refused_until_there_is_one) {
  const bytes_t data = pattern(1500);
  run([this, &data](cpu& core) -> task<> {
    say(op::RcWriteOnly, 0, pattern(8));
    say_message(Send, 1, data);
    say(op::RcWriteOnly, 3, pattern(8), 0x100);
    co_await settle(core);
    EXPECT_EQ(answers(), "1f 0 1, 2c 1 1") << "the code is the QP's, 12";
    EXPECT_EQ(b.get(0x100, 8), bytes_t(8));
    co_await b.post_receive(core, ReceiveBytes);
    say_message(Send, 1, data);
    say(op::RcWriteOnly, 3, pattern(8), 0x100);
  });
  EXPECT_EQ(answers(), "1f 0 1, 2c 1 1, 1f 2 2, 1f 3 3");
  EXPECT_EQ(completed(), (numbers{0}));
  EXPECT_EQ(b.get(Receives, 1500), data);
}

TEST_F(responder_rules, every_attempt_without_a_receive_has_its_rnr_nak) {
  serve(0, [this] {
    for (unsigned i = 0; i < 3; ++i) {
      say(op::RcSendOnly, 0, pattern(8));
    }
  });
  EXPECT_EQ(answers(), "2c 0 0, 2c 0 0, 2c 0 0");
}

// WRITE with immediate is refused at its last packet only; the bytes before it are there.
TEST_F(responder_rules, without_a_receive_a_write_with_immediate_is_refused_at_its_end) {
  const bytes_t data = pattern(1500);
  run([this, &data](cpu& core) -> task<> {
    say_message(WriteImmediate, 0, data);
    co_await settle(core);
    EXPECT_EQ(answers(), "2c 1 0");
    EXPECT_EQ(b.get(0, 1024), part(data, 0, 1024));
    EXPECT_EQ(b.get(1024, 476), bytes_t(476));
    co_await b.post_receive(core, ReceiveBytes);
    say(op::RcWriteLastImmediate, 1, part(data, 1024, 1024));
  });
  EXPECT_EQ(answers(), "2c 1 0, 1f 1 1");
  EXPECT_EQ(b.get(0, 1500), data);
  EXPECT_EQ(b.receives.at(0).bytes, 1500U);
}

class responder_rnr : public responder_rules, public testing::WithParamInterface<unsigned> {};

// The low five bits of the syndrome are the QP's min_rnr_nak.
TEST_P(responder_rnr, the_rnr_nak_has_the_timer_code_of_the_queue_pair) {
  wanted.connection.min_rnr_nak = static_cast<std::uint8_t>(GetParam());
  serve(0, [this] { say(op::RcSendOnly, 0); });
  EXPECT_EQ(answers(), fmt::format("{:02x} 0 0", 0x20 | GetParam()));
}

INSTANTIATE_TEST_SUITE_P(code, responder_rnr, testing::Values(0U, 1U, 14U, 31U));

// mlx5: min_rnr_nak may be changed in RTS.
TEST_F(responder_rules, a_new_timer_code_holds_from_the_next_rnr_nak_on) {
  run([this](cpu& core) -> task<> {
    say(op::RcSendOnly, 0);
    co_await settle(core);
    connection_options changed = wanted.connection;
    changed.min_rnr_nak = 5;
    co_await b.qp->update(core, changed);
    say(op::RcSendOnly, 0);
  });
  EXPECT_EQ(answers(), "2c 0 0, 25 0 0");
}

}  // namespace
}  // namespace carillon
