// The responder's rules on the wire: requests that no responder takes, errors of its own receive
// queue and what follows from them, unreliable connections, datagrams, and the states of a QP. SEND
// and WRITE are in responder_rules_test.cpp, where the sources of the rules are named too.
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

constexpr ps_t Us = 1000000;
constexpr std::uint64_t Receives = 0x8000;  ///< receive i has the 4 KiB at Receives + i * 4 KiB
constexpr std::uint32_t ReceiveBytes = 4096;
constexpr std::uint32_t Immediate = 0xa1b2c3d4;

bytes_t part(const bytes_t& all, std::size_t from, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(count, all.size() - from))};
}

/// The name that a table gives its row.
template <class T>
std::string name_of(const testing::TestParamInfo<T>& row) {
  return row.param.name;
}

/// The NIC serves a scripted peer; MTU 1024.
class responder_service_rules : public testing::Test {
 protected:
  explicit responder_service_rules(qpc_service service = qpc_service::Rc) {
    wanted.qp.service = service;
    wanted.connection.mtu = mtu_code::Mtu1024;
    wanted.connection.ack_timeout = 0;
  }

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
      co_await post(core, receives);
      packets();
    });
  }

  task<> post(cpu& core, unsigned receives, unsigned first = 0) {
    for (unsigned i = first; i < first + receives; ++i) {
      co_await b.post_receive(core, ReceiveBytes, Receives + i * ReceiveBytes);
    }
  }

  /// Until what was said is answered.
  task<> settle(cpu& core) const {
    core.idle_until(std::max(core.time(), next_) + 30 * Us);
    co_await core.sync();
  }

  /// The peer sends it 3 us after what it said before, so that that has been answered.
  void say(const packet_description& what, const bytes_t& payload = {}) {
    next_ = std::max({next_, b.now(), b.host.core(0).time()}) + 3 * Us;
    b.send(what, payload, (next_ - b.now()) / 1000);
  }

  /// `n` counts the peer's PSNs; a WRITE of `length` bytes, this packet's by default, goes to
  /// `offset` of the buffer.
  void say(op opcode, std::uint32_t n, const bytes_t& payload = {}, std::uint64_t offset = 0,
           std::size_t length = 0) {
    const auto bytes = static_cast<std::uint32_t>(length != 0 ? length : payload.size());
    packet_description what = b.remote(opcode, PeerPsn + n, bytes, offset);
    what.immediate = Immediate;
    say(what, payload);
  }

  /// What the NIC sent, as "syndrome PSN MSN"; PSNs count from the peer's first.
  [[nodiscard]] std::string answers() const {
    std::string result;
    for (const seen_packet& each : b.packets) {
      EXPECT_EQ(each.parsed.base.dest_qpn, PeerQpn);
      if (each.parsed.opcode->has_aeth) {
        result += fmt::format("{}{:02x} {} {}", result.empty() ? "" : ", ", each.syndrome(),
                              (each.psn() - PeerPsn) & 0xffffff, each.parsed.acknowledge.msn);
      }
    }
    return result;
  }

  /// The receives that completed: which one, with which syndrome if any.
  [[nodiscard]] std::string completed() const {
    std::string result;
    for (const completion& each : b.receives) {
      result += result.empty() ? "" : ", ";
      result += std::to_string((each.id - Receives) / ReceiveBytes);
      result += each.failed() ? fmt::format(" {:02x}", static_cast<unsigned>(each.syndrome)) : "";
      EXPECT_EQ(each.failed(), each.opcode == cqe_opcode::ResponderError);
    }
    return result;
  }

  peer_bench b;
  peer_bench::options wanted;

 private:
  ps_t next_ = 0;
};

// Requests that nobody takes ---------------------------------------------------------------------

/// Packets of so many bytes, the last of which breaks a rule. `reth` is the length they announce.
struct offence {
  const char* name;
  std::vector<std::pair<op, std::size_t>> packets;
  std::uint32_t reth = 0;
};

class responder_offence : public responder_service_rules,
                          public testing::WithParamInterface<offence> {};

// RoCE rules: NAK 0x61 with the packet's PSN, and the QP is in error.
TEST_P(responder_offence, has_a_nak_of_an_invalid_request) {
  const offence& what = GetParam();
  run([this, &what](cpu& core) -> task<> {
    co_await post(core, 1);
    std::uint32_t n = 0;
    for (const auto& [opcode, bytes] : what.packets) {
      packet_description out = b.remote(opcode, PeerPsn + n++, what.reth);
      out.ack_request = 0;
      say(out, pattern(bytes));
    }
    say(op::RcWriteOnly, n, pattern(8), 0x4000);
    co_await settle(core);
    EXPECT_EQ((co_await b.qp->query(core)).state, qpc_state::Err);
  });
  EXPECT_EQ(answers(), fmt::format("61 {} 0", what.packets.size() - 1));
  EXPECT_EQ(b.get(0x4000, 8), bytes_t(8)) << "nothing comes behind it";
  ASSERT_EQ(b.receives.size(), 1U);
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderError);
}

// FIRST follows LAST or ONLY; MIDDLE and LAST continue the same verb.
const offence Sequences[] = {
    {"send_middle_alone", {{op::RcSendMiddle, 1024}}},
    {"send_last_alone", {{op::RcSendLast, 8}}},
    {"write_middle_alone", {{op::RcWriteMiddle, 1024}}},
    {"write_last_alone", {{op::RcWriteLast, 8}}},
    {"first_in_a_send", {{op::RcSendFirst, 1024}, {op::RcSendFirst, 1024}}},
    {"only_in_a_send", {{op::RcSendFirst, 1024}, {op::RcSendOnly, 8}}},
    {"write_middle_in_a_send", {{op::RcSendFirst, 1024}, {op::RcWriteMiddle, 1024}}},
    {"write_last_in_a_send", {{op::RcSendFirst, 1024}, {op::RcWriteLast, 8}}},
    {"write_only_in_a_send", {{op::RcSendFirst, 1024}, {op::RcWriteOnly, 8}}, 8},
    {"read_in_a_send", {{op::RcSendFirst, 1024}, {op::RcReadRequest, 0}}, 8},
    {"atomic_in_a_send", {{op::RcSendFirst, 1024}, {op::RcFetchAdd, 0}}},
    {"first_in_a_write", {{op::RcWriteFirst, 1024}, {op::RcWriteFirst, 1024}}, 2048},
    {"send_last_in_a_write", {{op::RcWriteFirst, 1024}, {op::RcSendLast, 8}}, 1032},
    {"read_in_a_write", {{op::RcWriteFirst, 1024}, {op::RcReadRequest, 0}}, 2048},
};

// FIRST and MIDDLE carry the MTU, LAST 1 to MTU, ONLY up to MTU, a WRITE what its RETH says, no
// message more than 2^31.
const offence Lengths[] = {
    {"send_first_below_the_mtu", {{op::RcSendFirst, 1020}}},
    {"send_first_above_the_mtu", {{op::RcSendFirst, 1028}}},
    {"send_middle_below_the_mtu", {{op::RcSendFirst, 1024}, {op::RcSendMiddle, 1020}}},
    {"send_last_empty", {{op::RcSendFirst, 1024}, {op::RcSendLast, 0}}},
    {"send_last_above_the_mtu", {{op::RcSendFirst, 1024}, {op::RcSendLast, 1025}}},
    {"send_only_above_the_mtu", {{op::RcSendOnly, 1025}}},
    {"write_only_below_its_length", {{op::RcWriteOnly, 8}}, 9},
    {"write_only_above_its_length", {{op::RcWriteOnly, 8}}, 7},
    {"write_only_above_the_mtu", {{op::RcWriteOnly, 1028}}, 1028},
    {"write_last_below_its_length", {{op::RcWriteFirst, 1024}, {op::RcWriteLast, 8}}, 1033},
    {"write_last_above_its_length", {{op::RcWriteFirst, 1024}, {op::RcWriteLast, 8}}, 1031},
    {"write_above_two_gigabytes", {{op::RcWriteFirst, 1024}}, 0x80000001},
};

INSTANTIATE_TEST_SUITE_P(sequence, responder_offence, testing::ValuesIn(Sequences),
                         name_of<offence>);
INSTANTIATE_TEST_SUITE_P(length, responder_offence, testing::ValuesIn(Lengths), name_of<offence>);

// Errors of the receive queue ---------------------------------------------------------------------

// NAK 0x61, local length error 0x01; nothing is written behind the end of the receive.
TEST_F(responder_service_rules, a_send_longer_than_its_receive_is_a_local_length_error) {
  run([this](cpu& core) -> task<> {
    co_await b.post_receive(core, 1500, Receives);
    say(op::RcSendFirst, 0, pattern(1024));
    say(op::RcSendLast, 1, pattern(477));
  });
  EXPECT_EQ(answers(), "1f 0 0, 61 1 0");
  EXPECT_EQ(completed(), "0 01");
  EXPECT_EQ(b.get(Receives + 1500, 100), bytes_t(100));
}

/// What a receive WQE says of its place.
struct bad_place {
  const char* name;
  std::uint32_t key_change;
  std::uint64_t offset;
  bool local_write;
};

class responder_place : public responder_service_rules,
                        public testing::WithParamInterface<bad_place> {};

// Local resources that cannot be used: NAK 0x63, local protection error 0x04.
TEST_P(responder_place, is_a_local_protection_error) {
  const bad_place& what = GetParam();
  run([this, &what](cpu& core) -> task<> {
    const memory_access_rights rights{what.local_write, true, false, false, true};
    const memory_region region = co_await b.driver.register_memory(
        core, b.pd, b.buffer.address + Receives, ReceiveBytes, rights);
    receive_request receive;
    receive.id = Receives;
    receive.add({region.address + what.offset, 64, region.key ^ what.key_change});
    EXPECT_TRUE(co_await b.qp->post_receive(core, receive));
    co_await post(core, 1, 1);
    say(op::RcSendOnly, 0, pattern(64));
  });
  EXPECT_EQ(answers(), "63 0 0");
  EXPECT_EQ(completed(), "0 04, 1 05");
  EXPECT_EQ(b.get(Receives, 2 * ReceiveBytes), bytes_t(2 * ReceiveBytes));
}

const bad_place Places[] = {
    {"a_receive_with_an_unknown_key", 0xf00000, 0, true},
    {"a_receive_with_an_old_variant_of_its_key", 1, 0, true},
    {"a_receive_beyond_its_region", 0, ReceiveBytes - 63, true},
    {"a_receive_that_may_not_be_written", 0, 0, false},
};

INSTANTIATE_TEST_SUITE_P(receive, responder_place, testing::ValuesIn(Places), name_of<bad_place>);

// After a NAK that ends the QP both its queues are flushed with 0x05, also what is posted later,
// and packets are ignored.
TEST_F(responder_service_rules, after_a_fatal_nak_everything_is_flushed_and_nothing_answered) {
  run([this](cpu& core) -> task<> {
    co_await post(core, 3);
    co_await b.post(core, b.request(wqe_opcode::RdmaWrite, 8));
    say(op::RcSendOnly, 0, pattern(8));
    packet_description wrong = b.remote(op::RcWriteOnly, PeerPsn + 1, 8);
    wrong.remote.rkey ^= 1;
    say(wrong, pattern(8));
    say(op::RcSendOnly, 1, pattern(8));
    say(op::RcSendOnly, 2, pattern(8));
    say(op::RcWriteOnly, 0, pattern(8));
    co_await settle(core);
    co_await post(core, 2, 3);
    co_await b.post(core, b.request(wqe_opcode::RdmaWrite, 8));
    co_await b.send_completions(core, 2);
  });
  EXPECT_EQ(answers(), "1f 0 1, 62 1 1");
  EXPECT_EQ(completed(), "0, 1 05, 2 05, 3 05, 4 05");
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::WrFlushed);
  EXPECT_EQ(b.sends[1].syndrome, cqe_syndrome::WrFlushed);
}

// The receive of a message in progress is flushed too.
TEST_F(responder_service_rules, a_message_in_progress_is_flushed_when_its_qp_fails) {
  b.answer = [this](const seen_packet& got) {
    if (got.opcode() == op::RcWriteOnly) {
      b.send(b.acknowledge(got.psn(), 0x62));
    }
  };
  run([this](cpu& core) -> task<> {
    co_await post(core, 2);
    say(op::RcSendFirst, 0, pattern(1024));
    co_await settle(core);
    co_await b.post(core, b.request(wqe_opcode::RdmaWrite, 8));
    co_await b.send_completions(core);
    say(op::RcSendLast, 1, pattern(8));
  });
  EXPECT_EQ(answers(), "1f 0 0");
  EXPECT_EQ(completed(), "0 05, 1 05");
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::RemoteAccess);
}

// Unreliable connections --------------------------------------------------------------------------

class responder_uc_rules : public responder_service_rules {
 protected:
  responder_uc_rules() : responder_service_rules(qpc_service::Uc) {}

  ~responder_uc_rules() override { EXPECT_TRUE(b.packets.empty()) << "UC answers nothing"; }
};

TEST_F(responder_uc_rules, messages_are_taken_as_on_a_reliable_connection) {
  const bytes_t data = pattern(2500);
  serve(3, [this, &data] {
    say(op::UcSendOnly, 0, pattern(9));
    say(op::UcSendFirst, 1, part(data, 0, 1024));
    say(op::UcSendMiddle, 2, part(data, 1024, 1024));
    say(op::UcSendLastImmediate, 3, part(data, 2048, 1024));
    say(op::UcWriteOnly, 4, pattern(11), 0x3000);
    say(op::UcWriteFirst, 5, part(data, 0, 1024), 0x1000, 2500);
    say(op::UcWriteMiddle, 6, part(data, 1024, 1024));
    say(op::UcWriteLastImmediate, 7, part(data, 2048, 1024));
  });
  ASSERT_EQ(completed(), "0, 1, 2");
  EXPECT_EQ(b.get(Receives, 9), pattern(9));
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSend);
  EXPECT_EQ(b.get(Receives + ReceiveBytes, 2500), data);
  EXPECT_EQ(b.receives[1].opcode, cqe_opcode::ResponderSendImmediate);
  EXPECT_EQ(b.receives[1].bytes, 2500U);
  EXPECT_EQ(b.receives[1].imm, Immediate);
  EXPECT_EQ(b.get(0x3000, 11), pattern(11));
  EXPECT_EQ(b.get(0x1000, 2500), data);
  EXPECT_EQ(b.receives[2].opcode, cqe_opcode::ResponderWriteImmediate);
  EXPECT_EQ(b.receives[2].bytes, 2500U);
}

// RoCE rules: a FIRST or ONLY is taken whatever its PSN; the next packet of its message has the
// next one. What is lost is not asked for.
TEST_F(responder_uc_rules, a_message_begins_with_any_psn) {
  serve(4, [this] {
    for (const std::uint32_t n : {0U, 1000U, 5U, 5U}) {
      say(op::UcSendOnly, n, pattern(8, n));
    }
  });
  EXPECT_EQ(completed(), "0, 1, 2, 3");
}

// A message that lacks a packet is dropped, its receive serves the next one.
TEST_F(responder_uc_rules, without_its_middle_a_message_is_dropped_and_its_receive_is_not_lost) {
  serve(2, [this] {
    say(op::UcSendFirst, 0, pattern(1024, 1));
    say(op::UcSendLast, 2, pattern(100, 1));
    say(op::UcSendOnly, 3, pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.receives.at(0).bytes, 8U);
  EXPECT_EQ(b.get(Receives, 8), pattern(8, 2));
}

TEST_F(responder_uc_rules, without_its_last_packet_a_message_ends_with_the_next_first) {
  const bytes_t data = pattern(1500, 2);
  serve(2, [this, &data] {
    say(op::UcSendFirst, 0, pattern(1024, 1));
    say(op::UcSendFirst, 2, part(data, 0, 1024));
    say(op::UcSendLast, 3, part(data, 1024, 1024));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.receives.at(0).bytes, 1500U);
  EXPECT_EQ(b.get(Receives, 1500), data);
}

TEST_F(responder_uc_rules, without_its_first_packet_nothing_of_a_message_is_taken) {
  serve(1, [this] {
    say(op::UcSendMiddle, 1, pattern(1024));
    say(op::UcSendLast, 2, pattern(8));
    say(op::UcWriteLast, 3, pattern(8));
    say(op::UcSendOnly, 4, pattern(16, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(Receives, 16), pattern(16, 2));
  EXPECT_EQ(b.get(0, 8), bytes_t(8));
}

TEST_F(responder_uc_rules, behind_a_gap_the_rest_of_a_write_is_not_written) {
  serve(1, [this] {
    say(op::UcWriteFirst, 0, pattern(1024), 0, 2000);
    say(op::UcWriteLastImmediate, 2, pattern(976));  // of the length that is missing
    say(op::UcWriteOnly, 3, pattern(8, 2), 0x3000);
  });
  EXPECT_EQ(completed(), "");
  EXPECT_EQ(b.get(1024, 976), bytes_t(976));
  EXPECT_EQ(b.get(0x3000, 8), pattern(8, 2));
}

// What would be a fatal NAK only drops the message.
TEST_F(responder_uc_rules, a_request_that_is_not_allowed_is_dropped_and_the_qp_lives_on) {
  run([this](cpu& core) -> task<> {
    co_await post(core, 1);
    packet_description wrong = b.remote(op::UcWriteOnlyImmediate, PeerPsn, 8);
    wrong.remote.rkey ^= 1;
    say(wrong, pattern(8));
    say(op::UcSendFirst, 1, pattern(1000));       // below the MTU
    say(op::UcWriteOnly, 2, pattern(8), 0, 9);    // not its length
    say(op::UcWriteOnly, 3, pattern(8), 0xffff);  // beyond the region
    say(op::UcWriteOnly, 4, pattern(8), 0x100);
    co_await settle(core);
    wanted.connection.remote_write = false;
    co_await b.qp->update(core, wanted.connection);
    say(op::UcWriteOnly, 5, pattern(8), 0x200);
    say(op::UcSendOnly, 6, pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(0, 8), bytes_t(8));
  EXPECT_EQ(b.get(0x100, 8), pattern(8));
  EXPECT_EQ(b.get(0x200, 8), bytes_t(8));
  EXPECT_EQ(b.get(Receives, 8), pattern(8, 2));
}

// There is no RNR NAK: a message that finds no receive is lost, to its last packet.
TEST_F(responder_uc_rules, without_a_receive_a_message_is_dropped) {
  run([this](cpu& core) -> task<> {
    say(op::UcSendFirst, 0, pattern(1024));
    say(op::UcWriteOnlyImmediate, 1, pattern(8));
    co_await settle(core);
    co_await post(core, 2);
    say(op::UcSendLast, 1, pattern(8));
    say(op::UcSendOnly, 2, pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(Receives, 8), pattern(8, 2));
  EXPECT_EQ(b.get(0, 8), bytes_t(8));
  EXPECT_EQ(b.count(counter::RxOutOfBuffer), 2U);
}

// Datagrams ---------------------------------------------------------------------------------------

class responder_ud_rules : public responder_service_rules {
 protected:
  responder_ud_rules() : responder_service_rules(qpc_service::Ud) {}

  ~responder_ud_rules() override { EXPECT_TRUE(b.packets.empty()) << "UD answers nothing"; }

  [[nodiscard]] packet_description datagram(std::uint32_t n, op opcode = op::UdSendOnly) const {
    packet_description what = b.packet(opcode, PeerPsn + n);
    what.datagram.qkey = wanted.connection.qkey;
    what.datagram.src_qpn = 0xfedcba;
    what.immediate = Immediate;
    return what;
  }
};

// mlx5: the first 40 bytes are for the IP header, IPv4's is in the last 20; byte_cnt counts them.
TEST_F(responder_ud_rules, an_ipv4_datagram_follows_its_header_in_the_last_20_of_40_bytes) {
  serve(1, [this] { say(datagram(0), pattern(100)); });
  const bytes_t frame = b.frame_of(datagram(0), pattern(100));
  ASSERT_EQ(completed(), "0");
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSend);
  EXPECT_EQ(b.receives[0].bytes, 140U);
  EXPECT_EQ(b.receives[0].remote_qpn, 0xfedcbaU);
  EXPECT_TRUE(b.receives[0].grh);
  EXPECT_EQ(b.get(Receives + 20, 20), part(frame, 14, 20)) << "behind the Ethernet header";
  EXPECT_EQ(b.get(Receives + 40, 100), pattern(100));
}

TEST_F(responder_ud_rules, an_ipv6_datagram_follows_its_header_in_the_40_bytes) {
  bytes_t frame;
  serve(1, [this, &frame] {
    packet_description what = datagram(0);
    what.ipv6 = true;
    what.source = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    what.destination = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    say(what, pattern(100));
    frame = b.frame_of(what, pattern(100));
  });
  ASSERT_EQ(completed(), "0");
  EXPECT_EQ(b.receives[0].bytes, 140U);
  EXPECT_TRUE(b.receives[0].grh);
  EXPECT_EQ(b.get(Receives, 40), part(frame, 14, 40));
  EXPECT_EQ(b.get(Receives + 40, 100), pattern(100));
}

TEST_F(responder_ud_rules, immediate_and_solicited_bit_come_with_the_completion) {
  serve(2, [this] {
    packet_description what = datagram(0, op::UdSendOnlyImmediate);
    what.solicited = 1;
    say(what, pattern(8));
    say(datagram(1));
  });
  ASSERT_EQ(completed(), "0, 1");
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSendImmediate);
  EXPECT_EQ(b.receives[0].imm, Immediate);
  EXPECT_TRUE(b.receives[0].solicited);
  EXPECT_FALSE(b.receives[1].solicited);
  EXPECT_EQ(b.receives[1].bytes, 40U) << "an empty one";
}

// A datagram with another Q_Key is dropped in silence and takes no receive.
TEST_F(responder_ud_rules, another_queue_key_is_dropped) {
  serve(2, [this] {
    packet_description wrong = datagram(0);
    wrong.datagram.qkey ^= 0x80000000;
    say(wrong, pattern(8, 1));
    say(datagram(1), pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(Receives + 40, 8), pattern(8, 2));
}

TEST_F(responder_ud_rules, without_a_receive_a_datagram_is_dropped) {
  run([this](cpu& core) -> task<> {
    say(datagram(0), pattern(8, 1));
    co_await settle(core);
    co_await post(core, 1);
    say(datagram(1), pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(Receives + 40, 8), pattern(8, 2));
  EXPECT_EQ(b.count(counter::RxOutOfBuffer), 1U);
}

TEST_F(responder_ud_rules, datagrams_are_taken_in_any_order_of_psns_up_to_the_mtu) {
  serve(4, [this] {
    for (const std::uint32_t n : {7U, 0U, 0U}) {
      say(datagram(n), pattern(1024, n));
    }
    say(datagram(1), pattern(1025));
  });
  EXPECT_EQ(completed(), "0, 1, 2");
  EXPECT_EQ(b.get(Receives + 40, 1024), pattern(1024, 7));
}

// Services and states -----------------------------------------------------------------------------

/// The opcodes of one packet messages, by service.
constexpr std::array Sends = {op::RcSendOnly, op::UcSendOnly, op::UdSendOnly};

class responder_stranger : public responder_service_rules,
                           public testing::WithParamInterface<unsigned> {
 protected:
  responder_stranger() : responder_service_rules(static_cast<qpc_service>(GetParam())) {}
};

// A packet meets only a QP of its service; the QP is not harmed.
TEST_P(responder_stranger, packets_of_other_services_are_dropped) {
  const op own = Sends.at(GetParam());
  serve(1, [this, own] {
    packet_description what = b.packet(own, PeerPsn);
    what.datagram.qkey = wanted.connection.qkey;
    for (const op other : Sends) {
      if (other != own) {
        what.opcode = other;
        say(what, pattern(8, 1));
      }
    }
    what.opcode = own;
    say(what, pattern(8, 2));
  });
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.get(Receives + (own == op::UdSendOnly ? 40 : 0), 8), pattern(8, 2));
  EXPECT_EQ(answers(), own == op::RcSendOnly ? "1f 0 1" : "");
}

INSTANTIATE_TEST_SUITE_P(service, responder_stranger, testing::Values(0U, 1U, 2U));

// RESET and INIT drop packets, though INIT may post receives; RTR receives and answers.
TEST_F(responder_service_rules, a_queue_pair_receives_from_rtr_on) {
  run([this](cpu& core) -> task<> {
    co_await b.qp->to_reset(core);
    say(op::RcWriteOnly, 0, pattern(8));
    co_await settle(core);
    wanted.connection.remote_atomic = true;
    co_await b.qp->to_init(core, wanted.connection);
    co_await post(core, 1);
    say(op::RcSendOnly, 0, pattern(8));
    say(op::RcWriteOnly, 0, pattern(8));
    co_await settle(core);
    EXPECT_EQ(answers(), "");
    EXPECT_EQ(b.get(0, 8), bytes_t(8));
    const queue_pair_address peer{PeerQpn, PeerPsn, bench::PeerMac, gid_of_ipv4(0x0a000002)};
    co_await b.qp->to_rtr(core, peer, wanted.connection);
    say(op::RcSendOnly, 0, pattern(8));
    say(op::RcFetchAdd, 1);
    say(op::RcReadRequest, 2, {}, Receives, 8);
    say(op::RcSendOnly, 3);
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 2, 1f 2 3, 2c 3 3");
  EXPECT_EQ(completed(), "0");
  EXPECT_EQ(b.packets.at(2).payload(), pattern(8));
}

// SQD stops new requests of its own, not those of the peer.
TEST_F(responder_service_rules, a_queue_pair_that_drains_its_send_queue_still_serves) {
  run([this](cpu& core) -> task<> {
    co_await b.qp->to_sqd(core);
    co_await post(core, 1);
    say(op::RcSendOnly, 0, pattern(8));
    say(op::RcReadRequest, 1, {}, Receives, 8);
  });
  EXPECT_EQ(answers(), "1f 0 1, 1f 1 2");
  EXPECT_EQ(completed(), "0");
}

}  // namespace
}  // namespace carillon
