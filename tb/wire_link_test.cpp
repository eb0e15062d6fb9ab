#include "fabric/wire_link.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/buffer.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr ps_t Delay = 10000;

struct arrival {
  std::uint32_t length;
  ps_t first_bit;
  ps_t last_bit;
  trace_ref trace;
};

struct recorder : wire_listener, frame_tap {
  std::vector<arrival> arrivals;
  std::vector<ps_t> tapped;
  std::vector<std::string> fates;

  void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
    arrivals.push_back({frame.length, first_bit, last_bit, frame.trace});
  }

  void on_frame(ps_t first_bit, const frame_item&) override { tapped.push_back(first_bit); }

  void on_fate(std::string_view what) override { fates.emplace_back(what); }
};

/// Two ends of one cable. SystemC elaborates once per process, so each test is one.
struct wire_link : testing::Test {
  parameters params;
  sim_context context{params, 1, 0};
  buffer_pool buffers;
  recorder at_left;
  recorder at_right;

  void connect(wire_port& left, wire_port& right) {
    left.connect(right);
    left.listen(at_left);
    right.listen(at_right);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }

  static void run_to(ps_t time) {
    sc_core::sc_start(sc_core::sc_time::from_value(time - now_ps()));
  }

  frame_item frame(std::uint32_t length) {
    frame_item item;
    item.bytes = buffers.take();
    item.length = length;
    return item;
  }
};

}  // namespace

TEST(wire_speed, is_an_exact_fraction) {
  EXPECT_EQ(wire_speed::of_gbps(800), (wire_speed{10, 1}));
  EXPECT_EQ(wire_speed::of_gbps(400), (wire_speed{20, 1}));
  EXPECT_EQ(wire_speed::of_gbps(200), (wire_speed{40, 1}));
  EXPECT_EQ(wire_speed::of_gbps(100), (wire_speed{80, 1}));
  EXPECT_EQ(wire_speed::of_gbps(50), (wire_speed{160, 1}));
  EXPECT_EQ(wire_speed::of_gbps(40), (wire_speed{200, 1}));
  EXPECT_EQ(wire_speed::of_gbps(25), (wire_speed{320, 1}));
  EXPECT_EQ(wire_speed::of_gbps(10), (wire_speed{800, 1}));
  EXPECT_EQ(wire_speed::of_gbps(3), (wire_speed{8000, 3}));
  EXPECT_THROW(wire_speed::of_gbps(0), config_error);
  EXPECT_THROW(wire_speed::of_gbps(-100), config_error);
}

// 64 bytes with FCS, 8 of preamble, 12 of gap: the 84 bytes that make 14.88 million frames a second
// at 10 Gb/s.
TEST(wire_speed, smallest_frame_occupies_84_bytes) {
  EXPECT_EQ(wire_bytes(60), 84U);
}

// The 4 KiB WRITE of the reference: 4170 bytes and FCS at 20 ps a byte.
TEST_F(wire_link, a_lone_frame_leaves_at_once) {
  wire_port left("left", context);
  wire_port right("right", context);
  connect(left, right);
  left.send(frame(4170), 470000);
  ASSERT_EQ(at_right.arrivals.size(), 1U);
  EXPECT_EQ(at_right.arrivals[0].length, 4170U);
  EXPECT_EQ(at_right.arrivals[0].first_bit, 470000U + Delay);
  EXPECT_EQ(at_right.arrivals[0].last_bit, 470000U + 4174 * 20 + Delay);
  EXPECT_EQ(left.free_at(), 470000U + 4194 * 20);
  EXPECT_TRUE(at_left.arrivals.empty());
  EXPECT_EQ(left.sent_frames(), 1U);
  EXPECT_EQ(left.sent_bytes(), 4194U);
}

TEST_F(wire_link, frames_follow_each_other_without_a_gap_more) {
  wire_port left("left", context);
  wire_port right("right", context);
  left.tap(at_left);
  connect(left, right);
  for (int i = 0; i < 3; ++i) {
    left.send(frame(60), 0);
  }
  // The fourth comes when the wire has just become free, the fifth a little later.
  left.send(frame(60), 3 * 1680);
  left.send(frame(60), 4 * 1680 + 7);
  EXPECT_EQ(at_left.tapped, (std::vector<ps_t>{0, 1680, 3360, 5040, 6727}));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(at_right.arrivals[i].first_bit, at_left.tapped[i] + Delay);
    EXPECT_EQ(at_right.arrivals[i].last_bit, at_left.tapped[i] + Delay + 64 * 20);
  }
}

// 8000/3 ps a byte: each time is rounded down on its own and every third frame starts on a whole
// picosecond again.
TEST_F(wire_link, fractions_never_accumulate) {
  wire_port left("left", context, wire_speed::of_gbps(3), 0);
  wire_port right("right", context, wire_speed::of_gbps(3), 0);
  left.tap(at_left);
  connect(left, right);
  for (int i = 0; i < 4; ++i) {
    left.send(frame(61), 0);  // 85 bytes: 226666.67 ps
  }
  EXPECT_EQ(at_left.tapped, (std::vector<ps_t>{0, 226666, 453333, 680000}));
  EXPECT_EQ(at_right.arrivals[0].last_bit, 173333U);  // 65 bytes
  EXPECT_EQ(at_right.arrivals[1].last_bit, 400000U);  // 150 bytes
  for (int i = 4; i < 3000; ++i) {
    left.send(frame(61), 0);
  }
  EXPECT_EQ(left.free_at(), 3000U * 85 * 8000 / 3);
}

TEST_F(wire_link, directions_do_not_disturb_each_other) {
  wire_port left("left", context);
  wire_port right("right", context);
  connect(left, right);
  left.send(frame(1000), 100);
  right.send(frame(60), 200);
  EXPECT_EQ(at_right.arrivals.at(0).first_bit, 100 + Delay);
  EXPECT_EQ(at_left.arrivals.at(0).first_bit, 200 + Delay);
}

TEST_F(wire_link, a_loopback_plug_returns_everything) {
  wire_port port("port", context);
  port.connect(port);
  port.listen(at_left);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  port.send(frame(60), 0);
  EXPECT_EQ(at_left.arrivals.at(0).first_bit, Delay);
}

TEST_F(wire_link, explains_every_picosecond_of_a_traced_message) {
  wire_port left("left", context);
  wire_port right("right", context);
  connect(left, right);
  tracer& trace = context.trace;
  const trace_site stage = trace.site("nic0.tx_mac", "tx_mac");
  const trace_ref posted = trace.open(0, {"node", 1, 0, 8, 5000});

  // Two packets of one message; the second is ready while the first still leaves.
  frame_item first = frame(4170);
  first.first = true;
  first.trace = trace.service(posted, stage, 0, 470000);
  frame_item second = frame(970);
  second.last = true;
  second.trace = trace.service(posted, stage, 0, 480000);
  left.send(first, 470000);
  left.send(second, 480000);

  const message_record* record = trace.record(posted.message);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->time_of(milestone::first_bit), 470000U);
  const ps_t second_leaves = 470000 + 4194 * 20;
  EXPECT_EQ(record->time_of(milestone::last_bit), second_leaves + 974 * 20);

  std::vector<span> chain;
  for (std::uint32_t at = at_right.arrivals.at(1).trace.span; at != 0;
       at = record->spans[at].previous) {
    chain.insert(chain.begin(), record->spans[at]);
  }
  ASSERT_EQ(chain.size(), 4U);
  EXPECT_EQ(chain[1].kind, span_kind::wait);
  EXPECT_EQ(trace.name(chain[1].reason), "wire");
  EXPECT_EQ(trace.name(chain[1].place), "left");
  EXPECT_EQ(trace.name(chain[1].row), "wire");
  EXPECT_EQ(chain[1].begin, 480000U);
  EXPECT_EQ(chain[1].end, second_leaves);
  EXPECT_EQ(chain[2].kind, span_kind::service);
  EXPECT_EQ(chain[2].end, second_leaves + 974 * 20);
  EXPECT_EQ(chain[3].kind, span_kind::flight);
  EXPECT_EQ(chain[3].end, at_right.arrivals[1].last_bit);
  trace.release(posted);
}

// A packet sent again later does not move the first bit, but the last.
TEST_F(wire_link, milestones_survive_retransmission) {
  wire_port left("left", context);
  wire_port right("right", context);
  connect(left, right);
  tracer& trace = context.trace;
  const trace_site stage = trace.site("nic0.tx_mac", "tx_mac");
  const trace_ref posted = trace.open(0, {"node", 1, 0, 8, 64});
  for (const ps_t when : {1000, 900000}) {
    frame_item only = frame(100);
    only.first = only.last = true;
    only.trace = trace.service(posted, stage, 0, when);
    left.send(only, when);
  }
  const message_record* record = trace.record(posted.message);
  EXPECT_EQ(record->time_of(milestone::first_bit), 1000U);
  EXPECT_EQ(record->time_of(milestone::last_bit), 900000U + 104 * 20);
  trace.release(posted);
}

TEST_F(wire_link, a_filter_decides_what_becomes_of_frames) {
  struct filter : wire_filter {
    explicit filter(wire_port& sender) : sender_(sender) {}

    void on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) override {
      if (frame.length == 60) {
        sender_.tell_fate("lost");
      } else {
        sender_.deliver(std::move(frame), first_bit + 5, last_bit + 5);
      }
    }

    wire_port& sender_;
  };

  wire_port left("left", context);
  wire_port right("right", context);
  filter between(left);
  left.tap(at_left);
  left.insert(between);
  connect(left, right);
  left.send(frame(60), 0);
  left.send(frame(100), 0);
  right.send(frame(60), 0);
  ASSERT_EQ(at_right.arrivals.size(), 1U);
  EXPECT_EQ(at_right.arrivals[0].length, 100U);
  EXPECT_EQ(at_right.arrivals[0].first_bit, 84 * 20 + Delay + 5);
  EXPECT_EQ(at_left.tapped.size(), 2U);  // the tap is in front of the filter
  EXPECT_EQ(at_left.fates, (std::vector<std::string>{"lost"}));
  EXPECT_EQ(at_left.arrivals.size(), 1U);  // the other direction has none
}

TEST_F(wire_link, refuses_the_past_and_loose_ends) {
  wire_port left("left", context);
  wire_port right("right", context);
  wire_port loose("loose", context);
  left.connect(right);
  run_to(5000);
  EXPECT_THROW(left.send(frame(60), 5000), model_error);  // nobody listens
  right.listen(at_right);
  EXPECT_THROW(left.send(frame(60), 4999), model_error);
  EXPECT_THROW(loose.send(frame(60), 6000), model_error);
  left.send(frame(60), 5000);
  EXPECT_EQ(at_right.arrivals.size(), 1U);
}

}  // namespace carillon
