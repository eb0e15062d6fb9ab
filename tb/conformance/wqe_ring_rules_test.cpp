// How send WQEs come to be executed: around the end of the ring, in which order, by doorbell or by
// BlueFlame, and by which doorbells not. They are written byte by byte and rung for by hand.
//
// "mlx5" is the public driver interface: geometry of the send queue, fences of the control segment,
// doorbells and BlueFlame.
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "tb/common/raw_queue.h"

namespace carillon::bench::raw {
namespace {

constexpr std::uint64_t Us = 1000000;  ///< in ps

// The ring ----------------------------------------------------------------------------------------

class wqe_wrap : public testing::TestWithParam<unsigned> {};

// mlx5: a WQE may go beyond the end of the ring; its segments go on at the ring's beginning.
TEST_P(wqe_wrap, pointers_go_on_at_the_beginning_of_the_ring) {
  constexpr unsigned LogSize = 4;
  const unsigned start = GetParam();
  peer_bench b;
  b.acknowledges_everything();
  b.run([start](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.log_sq_size = LogSize;
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(3000));
    raw_queue queue(bench, LogSize);
    for (unsigned i = 0; i < start; ++i) {
      queue.put(of(Nop, {}));
    }
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
    hand_made what = of(Write, remote());  // 32 segments: 8 WQEBBs of the 16
    for (unsigned i = 0; i < 30; ++i) {
      what.segments = what.segments + piece(bench, 50, i * 100);
    }
    queue.put(what);
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  bytes_t expected;
  const bytes_t memory = pattern(3000);
  for (unsigned i = 0; i < 3000; ++i) {
    if (i % 100 < 50) {
      expected.push_back(memory[i]);
    }
  }
  EXPECT_EQ(carried(b), expected);
  ASSERT_EQ(cqes(b).size(), start + 1);
  EXPECT_EQ(cqes(b).back(), done(b, Write, start));
}

INSTANTIATE_TEST_SUITE_P(from_wqebb, wqe_wrap, testing::Range(9U, 17U));

TEST(wqe_ring_rules, inline_data_goes_on_at_the_beginning_of_the_ring) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    for (unsigned i = 0; i < 62; ++i) {
      queue.put(of(Nop, {}));
    }
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
    queue.put(of(Send, inline_data(pattern(301))));  // 6 WQEBBs, two before the end
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(carried(b), pattern(301));
  EXPECT_EQ(cqes(b).back(), done(b, Send, 62));
}

// mlx5: the index of a WQE has 16 bits and is not that of its place in the ring.
TEST(wqe_ring_rules, indices_go_on_at_zero_after_16_bits) {
  constexpr unsigned LogSize = 10;
  constexpr unsigned Size = 1U << LogSize;
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.log_sq_size = LogSize;
    co_await bench.connect(core, wanted);
    raw_queue queue(bench, LogSize);
    hand_made nothing = of(Nop, {});
    nothing.flags = 0;
    while (queue.next() != 0xfffe) {
      for (unsigned i = 0; i < Size && queue.next() != 0xfffe; ++i) {
        queue.put(nothing);
      }
      co_await queue.ring(core);
      co_await bench.wait_ns(core, SettleNs);
    }
    hand_made large = send_of(bench, 8);
    for (unsigned i = 0; i < 4; ++i) {
      large.segments = large.segments + piece(bench, 8);
    }
    queue.put(send_of(bench, 8));
    queue.put(large);  // 0xffff and 0x0000
    queue.put(send_of(bench, 8));
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0xfffe), done(b, Send, 0xffff), done(b, Send, 1)}));
  EXPECT_EQ(b.packets.size(), 3U);
}

// Order -------------------------------------------------------------------------------------------

// mlx5: NOP does nothing, and completes in its turn.
TEST(wqe_ring_rules, a_nop_completes_without_a_packet_behind_what_is_before_it) {
  peer_bench b;
  entries early;
  b.answer = [&b](const seen_packet& got) { b.send(b.acknowledge(got.psn()), {}, 10000); };
  b.run([&early](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    queue.put(of(Nop, {}));
    queue.put(send_of(bench, 8));
    queue.put(of(Nop, {}));
    co_await queue.ring(core);
    co_await bench.wait_ns(core, 8000);
    early = cqes(bench);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(early, (entries{done(b, Nop, 0)}));
  EXPECT_EQ(cqes(b), (entries{done(b, Nop, 0), done(b, Send, 1), done(b, Nop, 2)}));
  EXPECT_EQ(b.packets.size(), 1U);
}

struct fence_case {
  std::uint8_t before;
  unsigned fence;
  bool waits;
};

class wqe_fence : public testing::TestWithParam<fence_case> {};

// mlx5, fm: 1 waits for local invalidations, 2 and 4 for earlier READs and atomics too, 3 (strong
// ordering) for everything earlier.
TEST_P(wqe_fence, waits_for_what_its_mode_says) {
  const auto& [before, fence, waits] = GetParam();
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    if (got.opcode() == bth_opcode::RcReadRequest) {
      out.opcode = bth_opcode::RcReadResponseOnly;
      b.send(out, pattern(8), 10000);
    } else if (got.opcode() == bth_opcode::RcFetchAdd) {
      out.opcode = bth_opcode::RcAtomicAcknowledge;
      b.send(out, {}, 10000);
    } else {
      b.send(out, {}, 10000);
    }
  };
  b.run([first = before, mode = fence](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    hand_made what = send_of(bench, 8);
    what.opcode = first;
    if (first != Send) {
      what.segments = remote() + (first == FetchAdd ? operands() : bytes_t{}) + what.segments;
    }
    queue.put(what);
    hand_made fenced = of(Send, inline_data(pattern(8)));
    fenced.flags = static_cast<std::uint8_t>(mode << 5 | Signaled);
    queue.put(fenced);
    co_await queue.ring(core);
    co_await bench.wait_ns(core, 2 * SettleNs);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[1].arrived > b.packets[0].arrived + 10 * Us, waits);
  EXPECT_EQ(cqes(b), (entries{done(b, before, 0), done(b, Send, 1)}));
}

INSTANTIATE_TEST_SUITE_P(
    mode, wqe_fence,
    testing::Values(fence_case{Read, 0, false}, fence_case{Read, 1, false},
                    fence_case{Read, 2, true}, fence_case{Read, 3, true}, fence_case{Read, 4, true},
                    fence_case{FetchAdd, 0, false}, fence_case{FetchAdd, 1, false},
                    fence_case{FetchAdd, 2, true}, fence_case{FetchAdd, 3, true},
                    fence_case{FetchAdd, 4, true}, fence_case{Send, 0, false},
                    fence_case{Send, 1, false}, fence_case{Send, 2, false},
                    fence_case{Send, 3, true}, fence_case{Send, 4, false}),
    [](const auto& each) {
      const std::uint8_t before = each.param.before;
      const char* name = before == Read ? "read" : before == FetchAdd ? "atomic" : "send";
      return std::string(name) + "_mode" + std::to_string(each.param.fence);
    });

// Doorbells and BlueFlame -------------------------------------------------------------------------

class wqe_pushed : public testing::TestWithParam<unsigned> {};

// mlx5: BlueFlame carries the WQE that a doorbell lets the device fetch; what is done is the same.
TEST_P(wqe_pushed, makes_the_packets_that_a_fetched_one_makes) {
  const unsigned pointers = GetParam() * 4 - 1;  // fills that many blocks
  peer_bench b;
  std::uint64_t fetches = 0;
  b.acknowledges_everything();
  b.run([pointers, &fetches](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    bench.put(0, pattern(4000));
    raw_queue queue(bench);
    hand_made what = of(Send, {});
    for (unsigned i = 0; i < pointers; ++i) {
      what.segments = what.segments + piece(bench, 40 + i, i * 150);
    }
    queue.put(what);
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
    fetches = bench.count(counter::WqeFetches);
    core.drain_by(drain_order::newest_first);  // whatever order the blocks come in
    co_await queue.push(core, queue.put(what));
    co_await bench.wait_ns(core, SettleNs);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.count(counter::BfExecuted), 1U);
  EXPECT_EQ(b.count(counter::WqeFetches), fetches) << "nothing was fetched for it";
  std::array<bytes_t, 2> frames = {b.packets[0].frame, b.packets[1].frame};
  ASSERT_EQ(frames[0].size(), frames[1].size());
  EXPECT_EQ(b.packets[1].psn(), OwnPsn + 1);
  for (bytes_t& each : frames) {
    each.resize(each.size() - 4);        // ICRC
    each[51] = each[52] = each[53] = 0;  // PSN: behind Ethernet, IPv4, UDP and 9 bytes of BTH
  }
  EXPECT_EQ(frames[0], frames[1]);
}

INSTANTIATE_TEST_SUITE_P(blocks, wqe_pushed, testing::Range(1U, 5U));

// mlx5: one doorbell, that of the last WQE, is enough for all before it.
TEST(wqe_ring_rules, one_doorbell_is_enough_for_all_before_it) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    for (unsigned i = 0; i < 20; ++i) {
      queue.put(of(Send, inline_data(pattern(100, i))));  // two WQEBBs each
    }
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  ASSERT_EQ(b.packets.size(), 20U);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(b.packets[i].payload(), pattern(100, i));
    EXPECT_EQ(cqes(b)[i], done(b, Send, 2 * i));
  }
}

// What nobody rang for is not looked at.
TEST(wqe_ring_rules, what_lies_behind_the_doorbell_is_not_executed) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    raw_queue ahead(bench);
    ahead.put(send_of(bench, 8));
    ahead.put(of(Send, {0xff}));
    queue.put(send_of(bench, 8));
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0)}));
  EXPECT_EQ(b.packets.size(), 1U);
}

TEST(wqe_ring_rules, a_doorbell_that_comes_again_executes_nothing_again) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    queue.put(send_of(bench, 8));
    queue.put(send_of(bench, 8));
    for (unsigned i = 0; i < 3; ++i) {
      co_await queue.ring(core);
      co_await bench.wait_ns(core, i == 0 ? 0 : SettleNs);
    }
    co_await queue.ring(core, 0, bench.qp->qpn(), bench.uar->address);  // of the one before
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0), done(b, Send, 1)}));
}

class wqe_far_doorbell : public testing::TestWithParam<unsigned> {};

// An index that is not within the queue's size cannot be meant; the next good one serves.
TEST_P(wqe_far_doorbell, beyond_the_ring_is_ignored) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([index = GetParam()](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    raw_queue queue(bench);
    queue.put(send_of(bench, 8));
    co_await queue.ring(core, static_cast<std::uint16_t>(index), bench.qp->qpn(),
                        bench.uar->address);
    co_await bench.wait_ns(core, SettleNs);
    EXPECT_TRUE(bench.packets.empty());
    EXPECT_TRUE(cqes(bench).empty());
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(b.count(counter::DbIgnoredRange), 1U);
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0)}));
}

INSTANTIATE_TEST_SUITE_P(index, wqe_far_doorbell, testing::Values(64U, 0x7000U, 0x9000U, 0xff00U));

// mlx5: the device honours a doorbell from the page of the queue's owner only.
TEST(wqe_ring_rules, a_doorbell_in_another_page_or_of_no_queue_pair_is_ignored) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain());
    const uar_handle* other = co_await bench.driver.alloc_uar(core);
    raw_queue queue(bench);
    queue.put(send_of(bench, 8));
    co_await queue.ring(core, 0, bench.qp->qpn(), other->address);
    co_await queue.ring(core, 0, bench.qp->qpn() + 5, bench.uar->address);
    co_await queue.ring(core, 0, 0xffffff, bench.uar->address);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(b.count(counter::DbIgnoredOwner), 3U);
  EXPECT_TRUE(b.packets.empty());
  EXPECT_TRUE(cqes(b).empty());
}

}  // namespace
}  // namespace carillon::bench::raw
