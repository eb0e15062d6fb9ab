// Completions with an error, byte for byte, of both sides. mlx5, error CQE: vendor syndrome at
// 0x36, syndrome at 0x37, the WQE's opcode (0 of a receive) and the QP at 0x38, the WQE's index at
// 0x3c, opcode 13 or 14 and owner in the last byte. "RoCE rules" are those of the InfiniBand
// transport as its public descriptions and implementations give them; "ours" is a vendor syndrome,
// whose values are not public.
#include <algorithm>
#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::PeerMac;
using bench::PeerPsn;
using bench::seen_packet;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// An entry of a ring as 16 dwords in hexadecimal, a line for every 16 bytes.
std::string entry(const peer_bench& b, const completion_queue& cq, std::size_t index = 0) {
  std::array<std::uint8_t, 64> raw{};
  b.host.memory.read(cq.buffer() + index * raw.size(), raw.data(), raw.size());
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    text += fmt::format("{:02x}", raw[i]);
    text += i % 16 == 15 ? "\n" : i % 4 == 3 ? " " : "";
  }
  return text;
}

/// The first QP of the device has the number 2.
std::string failed(const char* last_line) {
  return std::string(
             "00000000 00000000 00000000 00000000\n"
             "00000000 00000000 00000000 00000000\n"
             "00000000 00000000 00000000 00000000\n") +
         last_line + "\n";
}

using make_request = std::function<work_request(peer_bench&)>;

/// Posts one request behind a NOP of one basic block, so that its WQE has the index 1.
void posts(peer_bench& b, const make_request& make, const peer_bench::options& wanted = plain()) {
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, wanted);
    work_request first;
    first.opcode = wqe_opcode::Nop;
    const work_request second = make(bench);
    co_await bench.post(core, first);
    co_await bench.post(core, second);
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::None);
}

work_request send_8(peer_bench& b) {
  return b.request(wqe_opcode::Send, 8);
}

work_request read_2000(peer_bench& b) {
  return b.request(wqe_opcode::RdmaRead, 2000);
}

// Local errors of a requester ---------------------------------------------------------------------

// More than 2^31 bytes.
TEST(completion_error_rules, local_length_of_a_send) {
  peer_bench b;
  posts(b, [](peer_bench& bench) {
    work_request what = bench.request(wqe_opcode::RdmaWrite, 0x40000000);
    what.add({bench.buffer.address, 0x40000001, bench.buffer.key});
    return what;
  });
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000001 08000002 000100d0"));
}

// A datagram longer than the MTU; ours: 9.
TEST(completion_error_rules, local_length_of_a_datagram) {
  peer_bench b;
  peer_bench::options wanted = plain();
  wanted.qp.service = qpc_service::Ud;
  posts(
      b,
      [](peer_bench& bench) {
        work_request what = bench.request(wqe_opcode::Send, 1025);
        what.to.mac = PeerMac;
        what.to.address = gid_of_ipv4(0x0a000002);
        return what;
      },
      wanted);
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000901 0a000002 000100d0"));
  EXPECT_TRUE(b.packets.empty());
}

// An operation that the chip does not have.
TEST(completion_error_rules, local_operation_of_a_send) {
  peer_bench b;
  posts(b, [](peer_bench& bench) { return bench.request(wqe_opcode::BindMemoryWindow, 8); });
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000002 18000002 000100d0"));
}

TEST(completion_error_rules, local_protection_of_a_send) {
  peer_bench b;
  posts(b, [](peer_bench& bench) {
    work_request what = bench.request(wqe_opcode::SendImmediate, 8);
    what.sges[0].lkey ^= 1;
    what.solicited = true;
    return what;
  });
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000004 0b000002 000100d0"));
}

// A WQE behind a failed one.
TEST(completion_error_rules, flushed_send) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x62)); };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 8));
    co_await bench.post(core, bench.request(wqe_opcode::AtomicFetchAdd, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(entry(b, *b.send_cq, 0), failed("00000000 00000013 08000002 000000d0"));
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000005 12000002 000100d0"));
}

// What the peer answers ---------------------------------------------------------------------------

struct answer_row {
  const char* name;
  make_request request;
  bth_opcode opcode;
  std::uint8_t syndrome;
  std::size_t payload;
  const char* last_line;
};

void PrintTo(const answer_row& row, std::ostream* out) {
  *out << row.name;
}

class bad_answer : public testing::TestWithParam<answer_row> {};

TEST_P(bad_answer, is_the_error_of_its_request) {
  const answer_row row = GetParam();
  peer_bench b;
  b.answer = [&](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn(), row.syndrome);
    out.opcode = row.opcode;
    b.send(out, pattern(row.payload));
  };
  posts(b, row.request);
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed(row.last_line));
}

// RoCE rules: an answer of the wrong kind, place or length is a bad response (0x10); ours: 3, 4, 5.
// NAK codes 1, 2, 3 are 0x12, 0x13, 0x14.
INSTANTIATE_TEST_SUITE_P(
    of, bad_answer,
    testing::Values(answer_row{"the_wrong_kind", read_2000, bth_opcode::RcAtomicAcknowledge, 0x1f,
                               0, "00000000 00000310 10000002 000100d0"},
                    answer_row{"data_for_a_send", send_8, bth_opcode::RcReadResponseOnly, 0x1f, 8,
                               "00000000 00000310 0a000002 000100d0"},
                    answer_row{"the_wrong_place", read_2000, bth_opcode::RcReadResponseOnly, 0x1f,
                               1024, "00000000 00000410 10000002 000100d0"},
                    answer_row{"the_wrong_length", read_2000, bth_opcode::RcReadResponseFirst, 0x1f,
                               1023, "00000000 00000510 10000002 000100d0"},
                    answer_row{"an_invalid_request", send_8, bth_opcode::RcAcknowledge, 0x61, 0,
                               "00000000 00000012 0a000002 000100d0"},
                    answer_row{"a_remote_access_error", read_2000, bth_opcode::RcAcknowledge, 0x62,
                               0, "00000000 00000013 10000002 000100d0"},
                    answer_row{"a_remote_operational_error", send_8, bth_opcode::RcAcknowledge,
                               0x63, 0, "00000000 00000014 0a000002 000100d0"}),
    [](const auto& each) { return std::string(each.param.name); });

peer_bench::options one_retry(std::uint8_t ack_timeout) {
  peer_bench::options wanted = plain();
  wanted.connection.ack_timeout = ack_timeout;
  wanted.connection.retry_count = 1;
  wanted.connection.rnr_retry = 1;
  return wanted;
}

// Retries that are used up: 0x15; ours: 6 the timer, 7 a NAK, 8 a lost response.
TEST(completion_error_rules, retries_used_up_by_the_timer) {
  peer_bench b;
  posts(b, send_8, one_retry(1));
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000615 0a000002 000100d0"));
}

TEST(completion_error_rules, retries_used_up_by_sequence_naks) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x60)); };
  posts(b, send_8, one_retry(0));
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000715 0a000002 000100d0"));
}

// The last response comes, the first never does.
TEST(completion_error_rules, retries_used_up_by_a_lost_response) {
  peer_bench::options wanted = plain();
  wanted.connection.retry_count = 0;
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn() + 1);
    out.opcode = bth_opcode::RcReadResponseLast;
    b.send(out, pattern(976));
  };
  posts(b, read_2000, wanted);
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000815 10000002 000100d0"));
}

TEST(completion_error_rules, rnr_retries_used_up) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn(), 0x21)); };
  posts(b, send_8, one_retry(0));
  EXPECT_EQ(entry(b, *b.send_cq, 1), failed("00000000 00000016 0a000002 000100d0"));
}

// Receive WQEs ------------------------------------------------------------------------------------

/// Two receive WQEs, then what the peer sends; both complete.
void receives(peer_bench& b, const receive_request& first,
              const std::function<void(peer_bench&)>& peer, bool is_signed = false) {
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.wq_signature = is_signed;
    co_await bench.connect(core, wanted);
    receive_request one = first;
    for (std::uint32_t i = 0; i < one.sge_count; ++i) {
      one.sges[i].address += bench.buffer.address;
      one.sges[i].lkey ^= bench.buffer.key;
    }
    EXPECT_TRUE(co_await bench.qp->post_receive(core, one));
    if (is_signed) {
      const std::uint8_t wrong = 0x40;  // in the first WQE, behind the signature
      bench.host.memory.write(bench.qp->receive_buffer() + 9, &wrong, 1);
    }
    co_await bench.post_receive(core, 64);
    peer(bench);
    co_await bench.receive_completions(core, 2);
  });
  EXPECT_EQ(entry(b, *b.receive_cq, 1), failed("00000000 00000005 00000002 000100e0"))
      << "the second one is flushed";
}

/// A receive WQE of `length` bytes, its key changed by `flaw`.
receive_request receive(std::uint32_t length, std::uint32_t flaw = 0) {
  receive_request result;
  result.add({0x8000, length, flaw});
  return result;
}

void sends_64(peer_bench& b) {
  b.send(b.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(64));
}

// RoCE rules: a SEND longer than the receive buffers is 0x01 here and NAK 0x61 there.
TEST(completion_error_rules, local_length_of_a_receive) {
  peer_bench b;
  receives(b, receive(63), sends_64);
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000001 00000002 000000e0"));
  EXPECT_EQ(b.packets.at(0).syndrome(), 0x61);
}

// A receive WQE that is not as it was signed.
TEST(completion_error_rules, local_operation_of_a_receive) {
  peer_bench b;
  receives(b, receive(64), sends_64, true);
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000002 00000002 000000e0"));
  EXPECT_EQ(b.packets.at(0).syndrome(), 0x63);
}

TEST(completion_error_rules, local_protection_of_a_receive) {
  peer_bench b;
  receives(b, receive(64, 1), sends_64);
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000004 00000002 000000e0"));
  EXPECT_EQ(b.packets.at(0).syndrome(), 0x63);
}

// A fault while serving a SEND: a page that cannot be written.
TEST(completion_error_rules, local_access_of_a_receive) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    create_mkey_in request;
    request.opcode = command_opcode::CreateMkey;
    request.translations_octword_actual_size = 1;
    mkc& key = request.memory_key_mkey_entry;
    key.lr = key.lw = 1;
    key.access_mode_1_0 = mkey_access_mode::Mtt;
    key.qpn = MkeyAnyQp;
    key.pd = bench.pd;
    key.start_addr = 0x10000;
    key.len = 4096;
    key.log_page_size = 12;
    key.translations_octword_size = 1;
    std::array<std::uint8_t, create_mkey_in::Size + 16> input{};
    request.pack(input.data());
    bytes::store_be<8>(input.data() + create_mkey_in::Size, bench.buffer.address | 1);
    const command_reply reply = co_await bench.driver.command(core, input);
    receive_request what;
    what.add({0x10000, 64, make_key(reply.number, 0)});
    EXPECT_TRUE(co_await bench.qp->post_receive(core, what));
    sends_64(bench);
    co_await bench.receive_completions(core);
  });
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000011 00000002 000000e0"));
  EXPECT_EQ(b.packets.at(0).syndrome(), 0x63);
  EXPECT_EQ(b.get(0, 64), bytes_t(64));
}

// RoCE rules: of a SEND that goes on as something else the WQE in use completes with 0x12 (as
// rdma_rxe does), the peer has NAK 0x61.
TEST(completion_error_rules, invalid_request_in_the_middle_of_a_receive) {
  peer_bench b;
  receives(b, receive(4096), [](peer_bench& bench) {
    bench.send(bench.packet(bth_opcode::RcSendFirst, PeerPsn), pattern(1024));
    bench.send(bench.packet(bth_opcode::RcWriteMiddle, PeerPsn + 1), pattern(1024));
  });
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000012 00000002 000000e0"));
  EXPECT_EQ(b.packets.back().syndrome(), 0x61);
}

// A request that has used no receive WQE fails none: all are flushed.
TEST(completion_error_rules, flushed_receives) {
  peer_bench b;
  receives(b, receive(64), [](peer_bench& bench) {
    packet_description what = bench.remote(bth_opcode::RcWriteOnly, PeerPsn, 64);
    what.remote.rkey ^= 1;
    bench.send(what, pattern(64));
  });
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000005 00000002 000000e0"));
  EXPECT_EQ(b.packets.at(0).syndrome(), 0x62);
}

// Both sides of a QP that is moved to the error state.
TEST(completion_error_rules, a_queue_pair_in_error_flushes_both_sides) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    co_await bench.post_receive(core, 64);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.wait_ns(core, 3000);
    co_await bench.qp->to_error(core);
    co_await bench.send_completions(core);
    co_await bench.receive_completions(core);
  });
  EXPECT_EQ(entry(b, *b.send_cq), failed("00000000 00000005 0a000002 000000d0"));
  EXPECT_EQ(entry(b, *b.receive_cq), failed("00000000 00000005 00000002 000000e0"));
}

}  // namespace
}  // namespace carillon
