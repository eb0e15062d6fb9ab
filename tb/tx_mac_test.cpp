// tx_mac: 20 cycles from a frame's first beat to its first bit, and never a frame that the wire
// cannot take at once.
#include "tx_mac.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/stage_bench.h"
#include "fabric/wire_link.h"

namespace carillon {
namespace {

using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

/// A wire that keeps its books in the open: a byte takes `byte_ps`, preamble and gap are 20 bytes.
class counting_wire : public frame_sink {
 public:
  explicit counting_wire(ps_t byte_ps) : byte_ps_(byte_ps) {}

  struct sent_frame {
    ps_t offered;
    ps_t first_bit;
    std::uint32_t length;
    ps_t called;
    trace_ref trace;
  };

  [[nodiscard]] ps_t free_at() const override { return free_; }

  void send(frame_item frame, ps_t first_bit) override {
    const ps_t leaves = std::max(first_bit, free_);
    sent.push_back({first_bit, leaves, frame.length, now_ps(), frame.trace});
    free_ = leaves + (frame.length + 4 + 20) * byte_ps_;
  }

  std::vector<sent_frame> sent;

 private:
  ps_t byte_ps_;
  ps_t free_ = 0;
};

frame_item frame_of(stage_bench& bench, std::uint32_t length) {
  frame_item frame;
  frame.bytes = bench.nic.buffers.take();
  frame.length = length;
  return frame;
}

class tx_mac_bench : public testing::TestWithParam<int> {
 protected:
  tx_mac_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        in(bench.port<frame_item>("frames", 264, 66)),
        frames("source", bench, in) {}

  void send(cycle_t t, std::uint32_t length) {
    frames.at(t, frame_of(bench, length), beats_of(length));
  }

  stage_bench bench;
  stream<frame_item>& in;
  source<frame_item> frames;
};

TEST_P(tx_mac_bench, the_first_bit_leaves_20_cycles_after_the_first_beat) {
  counting_wire wire(20);  // 400 Gb/s
  tx_mac dut("tx_mac", bench.nic, {in, wire});
  send(10, 4170);  // visible in 11
  bench.run(200);
  ASSERT_EQ(wire.sent.size(), 1U);
  EXPECT_EQ(wire.sent[0].first_bit, 31000U);
  EXPECT_EQ(bench.context.trace.end_of(wire.sent[0].trace), 31000U);
  EXPECT_EQ(bench.count(counter::TxPackets), 1U);
  EXPECT_EQ(bench.count(counter::TxBytes), 4170U);
  bench.context.check_drained();
}

TEST_P(tx_mac_bench, frames_leave_back_to_back_with_the_gap_of_the_wire_between_them) {
  counting_wire wire(20);
  tx_mac dut("tx_mac", bench.nic, {in, wire});
  for (unsigned i = 0; i < 20; ++i) {
    send(10, 4170);
  }
  bench.run(2000);
  ASSERT_EQ(wire.sent.size(), 20U);
  // 4170 + 4 + 20 bytes of 20 ps are 83.88 ns, more than the 66 cycles of a frame's beats: the wire
  // never idles.
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(wire.sent[i].first_bit, 31000U + 83880U * i);
  }
  // The second frame is there in 77; the wire is free in 114.88, so it is taken in 94, 20 cycles
  // before that cycle.
  EXPECT_EQ(waited_for(bench.context.trace, wire.sent[1].trace, "wire"), 17000U);
  bench.context.check_drained();
}

TEST_P(tx_mac_bench, a_frame_is_never_held_longer_than_its_first_bit_needs) {
  counting_wire wire(80);  // 100 Gb/s
  tx_mac dut("tx_mac", bench.nic, {in, wire});
  for (unsigned i = 0; i < 8; ++i) {
    send(10, 60 + 97 * i);
  }
  bench.run(2000);
  ASSERT_EQ(wire.sent.size(), 8U);
  for (const auto& each : wire.sent) {
    // It is handed over 20 cycles before its first bit is due, and that is less than a cycle before
    // the wire is free.
    EXPECT_EQ(each.offered, each.called + 20000U);
    EXPECT_LT(each.first_bit - each.offered, 1000U);
  }
  for (std::size_t i = 1; i < wire.sent.size(); ++i) {
    const auto& before = wire.sent[i - 1];
    EXPECT_EQ(wire.sent[i].first_bit, before.first_bit + (before.length + 24) * 80U)
        << "no idle time";
  }
  bench.context.check_drained();
}

TEST_P(tx_mac_bench, a_frame_that_leaves_has_its_beats_in_time) {
  // At the core's own rate, 512 Gb/s, the wire takes a beat a cycle: the last beat is in before its
  // first byte is due.
  counting_wire wire(
      15);  // faster than the core would allow, to be on the safe side of the arithmetic
  tx_mac dut("tx_mac", bench.nic, {in, wire});
  for (unsigned i = 0; i < 6; ++i) {
    send(10, 4170);
  }
  bench.run(1000);
  ASSERT_EQ(wire.sent.size(), 6U);
  for (const auto& each : wire.sent) {
    for (std::uint32_t beat = 0; beat < 66; ++beat) {
      const ps_t in_mac = each.called + beat * 1000;
      const ps_t due = each.first_bit + beat * 64 * 15;
      ASSERT_LE(in_mac, due);
    }
  }
  bench.context.check_drained();
}

TEST_P(tx_mac_bench, with_the_links_own_wire_the_frame_arrives_bit_by_bit) {
  struct listener : wire_listener {
    void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
      seen.push_back({first_bit, last_bit, frame.length});
    }

    struct arrival {
      ps_t first;
      ps_t last;
      std::uint32_t length;
    };

    std::vector<arrival> seen;
  };

  struct adapter : frame_sink {
    explicit adapter(wire_port& to) : port(to) {}

    [[nodiscard]] ps_t free_at() const override { return port.free_at(); }

    void send(frame_item frame, ps_t first_bit) override { port.send(std::move(frame), first_bit); }

    wire_port& port;
  };

  wire_port port("port", bench.context);
  wire_port far("far", bench.context);
  port.connect(far);
  listener ears;
  far.listen(ears);
  adapter wire(port);
  tx_mac dut("tx_mac", bench.nic, {in, wire});
  send(10, 4170);
  send(10, 62);
  bench.run(500);
  ASSERT_EQ(ears.seen.size(), 2U);
  EXPECT_EQ(ears.seen[0].first, 31000U + 10000U);  // the cable's 10 ns
  EXPECT_EQ(ears.seen[0].last, 41000U + 4174 * 20);
  EXPECT_EQ(ears.seen[1].first, 41000U + 4194 * 20);
  bench.context.check_drained();
}

INSTANTIATE_TEST_SUITE_P(shuffle, tx_mac_bench, testing::Values(0, 77));

/// The text of the refusal of such a configuration, "" if it is accepted.
std::string refusal(std::int64_t rate_gbps, std::int64_t period_ps) {
  parameters params;
  params.wire.rate_gbps = rate_gbps;
  params.core.clock_period_ps = period_ps;
  stage_bench bench(0, params);
  stream<frame_item>& in = bench.port<frame_item>("frames", 132, 66);
  counting_wire wire(20);
  try {
    tx_mac dut("tx_mac", bench.nic, {in, wire});
  } catch (const config_error& error) {
    return error.what();
  }
  return "";
}

// 64 bytes a cycle are 512 Gb/s at 1 GHz, 400 Gb/s at 1280 ps.
TEST(tx_mac_limits, a_wire_as_fast_as_the_core_is_accepted) {
  EXPECT_EQ(refusal(512, 1000), "");
}

TEST(tx_mac_limits, a_wire_faster_than_the_core_is_refused_and_the_limit_named) {
  const std::string text = refusal(513, 1000);
  EXPECT_NE(text.find("wire.rate_gbps 513"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 512"), std::string::npos) << text;
  EXPECT_NE(text.find("tx_mac"), std::string::npos) << text;
}

TEST(tx_mac_limits, the_limit_follows_the_clock) {
  const std::string text = refusal(401, 1280);
  EXPECT_NE(text.find("at most 400"), std::string::npos) << text;
}

TEST(tx_mac_limits, a_slow_clock_carries_what_it_can) {
  EXPECT_EQ(refusal(400, 1280), "");
}

}  // namespace
}  // namespace carillon
