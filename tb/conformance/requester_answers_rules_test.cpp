// The requester's rules on the wire: READs, atomics, local errors, services, states, one host and
// NIC against a scripted peer. Each case is named after its rule; the comment says where the rule
// is public.
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/requester_rules.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::carried;
using bench::numbers;
using bench::opcodes;
using bench::ops;
using bench::outcomes;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::plain;
using bench::psns;
using bench::seen_packet;
using bench::serve_reads;
using bench::syndromes;
using bench::Us;

// READ -------------------------------------------------------------------------------------------

TEST(requester_rules, the_data_of_a_read_lands_in_its_pieces) {
  peer_bench b;
  serve_reads(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request what = bench.request(wqe_opcode::RdmaRead, 100, 0x1000);
    what.add({bench.buffer.address + 0x3000, 2400, bench.buffer.key});
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  const bytes_t data = pattern(2500);
  EXPECT_EQ(b.get(0x1000, 100), bytes_t(data.begin(), data.begin() + 100));
  EXPECT_EQ(b.get(0x3000, 2400), bytes_t(data.begin() + 100, data.end()));
  EXPECT_EQ(b.sends[0].bytes, 2500U);
}

/// Serves a READ of three packets but leaves out the n-th response of the first request.
void lose_response(peer_bench& b, std::uint32_t n) {
  b.answer = [&b, n](const seen_packet& got) {
    const bool again = b.packets.size() > 1;
    const std::uint32_t length = got.parsed.remote.dma_length;
    const std::uint32_t skipped = 2500 - length;
    const bytes_t data = pattern(2500);
    const std::uint32_t count = (length + 1023) / 1024;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!again && i == n) {
        continue;
      }
      packet_description out = b.acknowledge(got.psn() + i);
      const bool first = i == 0;
      const bool last = i + 1 == count;
      out.opcode = first && last ? bth_opcode::RcReadResponseOnly
                   : first       ? bth_opcode::RcReadResponseFirst
                   : last        ? bth_opcode::RcReadResponseLast
                                 : bth_opcode::RcReadResponseMiddle;
      const std::size_t from = skipped + std::size_t{i} * 1024;
      b.send(out, bytes_t(data.begin() + static_cast<std::ptrdiff_t>(from),
                          data.begin() + static_cast<std::ptrdiff_t>(
                                             std::min<std::size_t>(from + 1024, 2500))));
    }
  };
}

void read_2500(peer_bench& b) {
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 3;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2500, 0x1000));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
  EXPECT_EQ(b.get(0x1000, 2500), pattern(2500));
}

// Implied NAK: a response beyond the expected one says that that one was lost. The retry asks for
// what is missing: address, length and PSN advanced.
TEST(requester_rules, a_read_goes_on_at_the_missing_response) {
  peer_bench b;
  lose_response(b, 1);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn + 1);
  EXPECT_EQ(b.packets[1].parsed.remote.va, 0x70000U + 1024);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U - 1024);
}

TEST(requester_rules, a_read_whose_first_response_is_lost_starts_again) {
  peer_bench b;
  lose_response(b, 0);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn);
  EXPECT_EQ(b.packets[1].parsed.remote.va, 0x70000U);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U);
}

TEST(requester_rules, a_read_whose_last_response_is_lost_is_asked_for_by_the_timer) {
  peer_bench b;
  lose_response(b, 2);
  read_2500(b);
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].psn(), OwnPsn + 2);
  EXPECT_EQ(b.packets[1].parsed.remote.dma_length, 2500U - 2048);
  EXPECT_GE(b.packets[1].arrived - b.packets[0].arrived, 32768000U);  // 4.096 us * 2^3
}

// A READ is answered by its response only. An ACK beyond it says that the response was lost.
TEST(requester_rules, an_acknowledge_beyond_a_read_is_an_implied_nak) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    const auto reads = std::count_if(b.packets.begin(), b.packets.end(), [](const auto& each) {
      return each.opcode() == bth_opcode::RcReadRequest;
    });
    if (got.opcode() == bth_opcode::RcReadRequest && reads == 2) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(64));
    } else if (got.opcode() == bth_opcode::RcSendOnly) {
      b.send(b.acknowledge(got.psn()));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 64, 0x1000));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcReadRequest, bth_opcode::RcSendOnly,
                             bth_opcode::RcReadRequest, bth_opcode::RcSendOnly}));
  EXPECT_EQ(b.get(0x1000, 64), pattern(64));
}

TEST(requester_rules, a_response_that_comes_twice_is_taken_once) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcReadResponseOnly;
    b.send(out, pattern(64, 1));
    b.send(out, pattern(64, 2));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 64, 0x1000));
    co_await bench.send_completions(core);
    co_await bench.wait_ns(core, 20000);
  });
  EXPECT_EQ(b.get(0x1000, 64), pattern(64, 1));
}

/// A READ of 2000 bytes is answered by one packet.
cqe_syndrome answered_by(bth_opcode opcode, std::size_t bytes) {
  peer_bench b;
  b.answer = [&b, opcode, bytes](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = opcode;
    b.send(out, pattern(bytes));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 2000, 0x1000));
    co_await bench.send_completions(core);
  });
  return b.sends.at(0).syndrome;
}

// Unexpected opcode or length of a response: bad response error.
TEST(requester_rules, a_short_first_response_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseFirst, 1000), cqe_syndrome::BadResponse);
}

TEST(requester_rules, an_only_response_to_a_longer_read_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseOnly, 1024), cqe_syndrome::BadResponse);
}

TEST(requester_rules, a_middle_response_that_should_be_first_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcReadResponseMiddle, 1024), cqe_syndrome::BadResponse);
}

TEST(requester_rules, an_atomic_response_to_a_read_is_a_bad_response) {
  EXPECT_EQ(answered_by(bth_opcode::RcAtomicAcknowledge, 0), cqe_syndrome::BadResponse);
}

// max_rd_atomic READs and atomics are on the way at most.
TEST(requester_rules, reads_on_the_way_are_limited) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcReadResponseOnly;
    b.send(out, pattern(8), 50000);
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.log_max_rd_atomic = 1;
    co_await bench.connect(core, wanted);
    for (unsigned i = 0; i < 3; ++i) {
      co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8, i * 8));
    }
    co_await bench.send_completions(core, 3);
  });
  ASSERT_EQ(b.packets.size(), 3U);
  EXPECT_LT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
  EXPECT_GT(b.packets[2].arrived, b.packets[0].arrived + 50 * Us) << "after the first response";
}

// A fence holds a request until all earlier READs and atomics are answered.
TEST(requester_rules, a_fence_waits_for_reads) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.opcode() == bth_opcode::RcReadRequest) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(8), 50000);
    } else {
      b.send(b.acknowledge(got.psn()));
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    work_request fenced = bench.request(wqe_opcode::Send, 8, 8);
    fenced.fence = true;
    co_await bench.post(core, fenced);
    co_await bench.send_completions(core, 2);
  });
  EXPECT_GT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
}

TEST(requester_rules, without_a_fence_a_send_passes_an_unanswered_read) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (got.opcode() == bth_opcode::RcReadRequest) {
      packet_description out = b.acknowledge(got.psn());
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(8), 50000);
    } else {
      b.send(b.acknowledge(got.psn()), {}, 60000);
    }
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 8));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_LT(b.packets[1].arrived, b.packets[0].arrived + 50 * Us);
  EXPECT_EQ(b.sends[0].id, 100U) << "completions keep the order of posting";
}

// Atomics ----------------------------------------------------------------------------------------

work_request atomic(peer_bench& b, wqe_opcode opcode) {
  work_request what = b.request(opcode, 8, 0x1000);
  what.swap_or_add = 0x1122334455667788;
  what.compare = 0x99;
  return what;
}

void answer_atomic(peer_bench& b, std::size_t from_packet = 1) {
  b.answer = [&b, from_packet](const seen_packet& got) {
    if (b.packets.size() < from_packet) {
      return;
    }
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcAtomicAcknowledge;
    out.atomic_result.original = 0x0102030405060708;
    b.send(out);
  };
}

TEST(requester_rules, a_fetch_and_add_returns_the_original_value) {
  peer_bench b;
  answer_atomic(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcFetchAdd}));
  EXPECT_EQ(b.packets[0].parsed.atomic.swap_add, 0x1122334455667788U);
  // A host integer, least significant byte first.
  EXPECT_EQ(b.get(0x1000, 8), (bytes_t{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(b.sends[0].bytes, 8U);
}

TEST(requester_rules, a_compare_and_swap_carries_both_operands) {
  peer_bench b;
  answer_atomic(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicCompareSwap));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::RcCompareSwap}));
  EXPECT_EQ(b.packets[0].parsed.atomic.swap_add, 0x1122334455667788U);
  EXPECT_EQ(b.packets[0].parsed.atomic.compare, 0x99U);
}

// A lost answer is asked for again with the same PSN, so that the peer can tell.
TEST(requester_rules, an_atomic_that_is_not_answered_is_sent_again_as_it_was) {
  peer_bench b;
  answer_atomic(b, 2);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(psns(b), (numbers{OwnPsn, OwnPsn}));
  EXPECT_EQ(b.packets[0].frame, b.packets[1].frame);
}

TEST(requester_rules, a_plain_acknowledge_does_not_complete_an_atomic) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    if (b.packets.size() == 1) {
      b.send(b.acknowledge(got.psn()));
      return;
    }
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcAtomicAcknowledge;
    b.send(out);
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.connection.ack_timeout = 2;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, atomic(bench, wqe_opcode::AtomicFetchAdd));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 2U);
}

// Local errors -----------------------------------------------------------------------------------

// A bad local key: 0x04, in the order of posting, nothing on the wire.
TEST(requester_rules, a_bad_local_key_fails_in_its_turn) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    work_request wrong = bench.request(wqe_opcode::Send, 8, 8);
    wrong.sges[0].lkey ^= 0x100;
    co_await bench.post(core, wrong);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8, 16));
    co_await bench.send_completions(core, 3);
  });
  EXPECT_EQ(syndromes(b),
            (outcomes{cqe_syndrome::None, cqe_syndrome::LocalProtection, cqe_syndrome::WrFlushed}));
  EXPECT_EQ(b.packets.size(), 1U);
}

// Messages are at most 2^31 bytes.
TEST(requester_rules, a_message_beyond_two_gigabytes_is_a_local_length_error) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    work_request what = bench.request(wqe_opcode::RdmaWrite, 0x40000000);
    what.add({bench.buffer.address, 0x40000001, bench.buffer.key});
    co_await bench.post(core, what);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::LocalLength}));
}

// Services ---------------------------------------------------------------------------------------

// UC asks for no acknowledge and completes when the data has left memory.
TEST(requester_rules, an_unreliable_connection_completes_without_an_acknowledge) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(2000));
    co_await bench.post(core, bench.request(wqe_opcode::RdmaWrite, 2000));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(opcodes(b), (ops{bth_opcode::UcWriteFirst, bth_opcode::UcWriteLast}));
  EXPECT_EQ(carried(b), pattern(2000));
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

TEST(requester_rules, an_unreliable_connection_has_no_reads) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(wqe_opcode::RdmaRead, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::LocalQpOperation}));
}

// UC and UD: a local error stops the send queue only; SQERR2RTS makes it go on.
TEST(requester_rules, a_local_error_of_an_unreliable_connection_stops_its_send_queue_only) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.service = qpc_service::Uc;
    co_await bench.connect(core, wanted);
    work_request wrong = bench.request(wqe_opcode::Send, 8);
    wrong.sges[0].lkey ^= 0x100;
    co_await bench.post(core, wrong);
    co_await bench.send_completions(core);
    EXPECT_EQ((co_await bench.qp->query(core)).state, qpc_state::Sqer);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
    co_await bench.qp->sqer_to_rts(core);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b),
            (outcomes{cqe_syndrome::LocalProtection, cqe_syndrome::WrFlushed, cqe_syndrome::None}));
}

// States -----------------------------------------------------------------------------------------

TEST(requester_rules, the_error_state_flushes_what_is_outstanding) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.wait_ns(core, 5000);
    co_await bench.qp->to_error(core);
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::WrFlushed, cqe_syndrome::WrFlushed}));
}

TEST(requester_rules, sqd_holds_new_work_until_rts) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    co_await bench.qp->to_sqd(core);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 8));
    co_await bench.wait_ns(core, 20000);
    EXPECT_TRUE(bench.packets.empty());
    co_await bench.qp->from_sqd(core);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(syndromes(b), (outcomes{cqe_syndrome::None}));
}

}  // namespace
}  // namespace carillon
