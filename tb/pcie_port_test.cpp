// Two ports and a link: arrival times, credits, order, trace spans. One lane of generation 1
// without derate takes 4000 ps a byte, so the times can be done in the head.
#include "common/pcie_port.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/tlp_codec.h"
#include "common/tlp_egress.h"
#include "tb/common/link_script.h"

namespace carillon {
namespace {

constexpr ps_t Delay = 20'000;
constexpr ps_t Byte = SlowByte;

struct arrival {
  ps_t told;
  ps_t first;
  ps_t last;
  std::uint64_t address;
  tlp_kind kind;
};

class end : public pcie_listener {
 public:
  end(const char* name, sim_context& context, const std::array<flow_credits, 3>& advertised)
      : port(name, context, advertised) {
    port.listen(*this);
  }

  void on_tlp(tlp* packet) override {
    const tlp_header header = decode(*packet);
    seen.push_back(
        {now_ps(), packet->first_symbol, packet->last_symbol, header.address, header.kind});
    last_trace = packet->trace;
    packet->release();
  }

  void on_credits() override {
    credit_times.push_back(now_ps());
    if (credits) {
      credits();
    }
  }

  pcie_port port;
  std::vector<arrival> seen;
  std::vector<ps_t> credit_times;
  std::function<void()> credits;
  trace_ref last_trace;
};

class pcie_port_test : public testing::Test {
 protected:
  void connect(const std::array<flow_credits, 3>& credits) {
    left = std::make_unique<end>("left", context, std::array<flow_credits, 3>{});
    right = std::make_unique<end>("right", context, credits);
    left->port.connect(right->port);
  }

  tlp* write(std::uint64_t address, std::uint32_t bytes) {
    tlp* packet = pool.take();
    make_memory_write(*packet, 0, address, nullptr, bytes);
    packet->row = context.trace.intern("some_stage");
    return packet;
  }

  tlp* read(std::uint64_t address, std::uint32_t bytes) {
    tlp* packet = pool.take();
    make_memory_read(*packet, 0, 0, address, bytes);
    return packet;
  }

  void run() { sc_core::sc_start(sc_core::SC_ZERO_TIME), sc_core::sc_start(); }

  sim_context context{slow_link(), 1, 0};
  tlp_pool pool;
  script steps{context};
  std::unique_ptr<end> left;
  std::unique_ptr<end> right;
};

TEST_F(pcie_port_test, a_tlp_arrives_a_link_delay_after_it_left) {
  connect({});
  steps.at(1000, [&] { left->port.send(write(0x1000, 64)); });
  run();
  ASSERT_EQ(right->seen.size(), 1U);
  EXPECT_EQ(right->seen[0].told, 1000U);
  EXPECT_EQ(right->seen[0].first, 1000 + Delay);
  EXPECT_EQ(right->seen[0].last, 1000 + Delay + (12 + 64 + 8) * Byte);
  EXPECT_EQ(left->port.sent_bytes(), 84U);
}

TEST_F(pcie_port_test, the_next_waits_for_the_serializer) {
  connect({});
  steps.at(1000, [&] {
    left->port.send(write(0x1000, 64));
    EXPECT_EQ(left->port.free_at(), 1000 + 84 * Byte);
    left->port.send(write(0x2000, 4));
  });
  run();
  ASSERT_EQ(right->seen.size(), 2U);
  EXPECT_EQ(right->seen[1].first, 1000 + 84 * Byte + Delay);
  EXPECT_EQ(right->seen[1].last, 1000 + (84 + 24) * Byte + Delay);
}

TEST_F(pcie_port_test, both_directions_are_independent) {
  connect({});
  steps.at(1000, [&] {
    left->port.send(write(0x1000, 64));
    right->port.send(write(0x2000, 64));
  });
  run();
  EXPECT_EQ(right->seen[0].first, 1000 + Delay);
  EXPECT_EQ(left->seen[0].first, 1000 + Delay);
}

TEST_F(pcie_port_test, a_header_credit_is_spent_and_comes_home_a_link_delay_after_it_was_freed) {
  connect({flow_credits{1, 0}, {}, {}});
  steps.at(1000, [&] {
    EXPECT_TRUE(left->port.can_send(tlp_class::posted, 64));
    left->port.send(write(0x1000, 64));
    EXPECT_FALSE(left->port.can_send(tlp_class::posted, 4));
    EXPECT_TRUE(left->port.can_send(tlp_class::non_posted, 0));
  });
  steps.at(500'000, [&] { right->port.consumed(tlp_class::posted, 64); });
  steps.at(500'000 + Delay - 1, [&] { EXPECT_FALSE(left->port.can_send(tlp_class::posted, 4)); });
  left->credits = [&] { EXPECT_TRUE(left->port.can_send(tlp_class::posted, 4)); };
  run();
  EXPECT_EQ(left->credit_times, (std::vector<ps_t>{500'000 + Delay}));
}

TEST_F(pcie_port_test, data_credits_are_units_of_16_bytes) {
  // 5 units hold 64 + 16 bytes or 68 bytes.
  connect({flow_credits{0, 5}, {}, {}});
  steps.at(1000, [&] {
    EXPECT_TRUE(left->port.can_send(tlp_class::posted, 80));
    EXPECT_FALSE(left->port.can_send(tlp_class::posted, 84));
    left->port.send(write(0x1000, 64));
    EXPECT_TRUE(left->port.can_send(tlp_class::posted, 16));
    EXPECT_FALSE(left->port.can_send(tlp_class::posted, 20));
    right->port.consumed(tlp_class::posted, 64);
  });
  steps.at(1000 + Delay, [&] {
    EXPECT_TRUE(left->port.can_send(tlp_class::posted, 80));
    EXPECT_FALSE(left->port.can_send(tlp_class::posted, 84));
  });
  run();
}

TEST_F(pcie_port_test, credits_that_nobody_waits_for_cost_no_event) {
  connect({flow_credits{10, 100}, {}, {}});
  steps.at(1000, [&] { left->port.send(write(0x1000, 64)); });
  steps.at(2000, [&] { right->port.consumed(tlp_class::posted, 64); });
  run();
  EXPECT_EQ(context.line.callbacks(), 2U);
  EXPECT_TRUE(left->credit_times.empty());
}

TEST_F(pcie_port_test, sending_without_credits_is_our_bug) {
  connect({flow_credits{1, 0}, {}, {}});
  steps.at(1000, [&] {
    left->port.send(write(0x1000, 64));
    EXPECT_THROW(left->port.send(write(0x1000, 64)), model_error);
  });
  run();
}

TEST_F(pcie_port_test, the_trace_has_the_wait_for_the_link_and_the_flight) {
  connect({});
  trace_ref message;
  steps.at(1000, [&] {
    message = context.trace.open(1000, {});
    left->port.send(write(0x1000, 64));
    tlp* traced = write(0x2000, 4);
    traced->trace = message;
    left->port.send(traced);
  });
  run();
  const message_record* record = context.trace.record(message.message);
  ASSERT_EQ(record->spans.size(), 3U);
  EXPECT_EQ(record->spans[1].kind, span_kind::wait);
  EXPECT_EQ(context.trace.name(record->spans[1].reason), "link");
  EXPECT_EQ(record->spans[1].end, 1000 + 84 * Byte);
  EXPECT_EQ(record->spans[2].kind, span_kind::flight);
  EXPECT_EQ(context.trace.name(record->spans[2].place), "left");
  EXPECT_EQ(context.trace.name(record->spans[2].row), "some_stage");
  EXPECT_EQ(context.trace.end_of(right->last_trace), right->seen[1].first);
}

TEST_F(pcie_port_test, tlps_come_back_to_the_pool) {
  connect({});
  steps.at(1000, [&] {
    for (int i = 0; i < 10; ++i) {
      left->port.send(write(0x1000, 64));
    }
  });
  run();
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_EQ(pool.allocated(), 1U);
}

TEST(pcie_port_limits, a_link_without_delay_is_refused) {
  parameters params = slow_link();
  params.pcie.link_delay_ps = 0;
  sim_context context(params, 1, 0);
  EXPECT_THROW(pcie_port("port", context, {}), config_error);
}

// The queue in front of a port --------------------------------------------------------------------

TEST_F(pcie_port_test, the_queue_sends_the_oldest_when_the_link_is_free) {
  connect({});
  tlp_egress queue(context, left->port, context.trace.intern("left"));
  steps.at(1000, [&] {
    queue.push(write(0x1000, 64));
    queue.push(read(0x2000, 4));
    queue.push(write(0x3000, 4));
    EXPECT_EQ(queue.waiting(), 2U);
    EXPECT_EQ(right->seen.size(), 1U);
  });
  run();
  ASSERT_EQ(right->seen.size(), 3U);
  EXPECT_EQ(right->seen[1].told, 1000 + 84 * Byte);
  EXPECT_EQ(right->seen[1].address, 0x2000U);
  EXPECT_EQ(right->seen[2].told, 1000 + (84 + 20) * Byte);
}

TEST_F(pcie_port_test, a_write_passes_a_read_that_has_no_credits) {
  connect({flow_credits{}, flow_credits{1, 0}, flow_credits{}});
  tlp_egress queue(context, left->port, context.trace.intern("left"));
  steps.at(1000, [&] {
    queue.push(read(0x1000, 4));
    queue.push(read(0x2000, 4));
    queue.push(write(0x3000, 4));
  });
  left->credits = [&] { queue.pump(); };
  steps.at(900'000, [&] { right->port.consumed(tlp_class::non_posted, 0); });
  run();
  ASSERT_EQ(right->seen.size(), 3U);
  EXPECT_EQ(right->seen[1].address, 0x3000U);
  EXPECT_EQ(right->seen[2].address, 0x2000U);
  EXPECT_EQ(right->seen[2].told, 900'000 + Delay);
}

TEST_F(pcie_port_test, a_read_never_passes_a_write_that_has_no_credits) {
  connect({flow_credits{1, 0}, {}, {}});
  tlp_egress queue(context, left->port, context.trace.intern("left"));
  steps.at(1000, [&] {
    queue.push(write(0x1000, 4));
    queue.push(write(0x2000, 4));
    queue.push(read(0x3000, 4));
  });
  left->credits = [&] { queue.pump(); };
  steps.at(900'000, [&] { right->port.consumed(tlp_class::posted, 4); });
  run();
  ASSERT_EQ(right->seen.size(), 3U);
  EXPECT_EQ(right->seen[1].address, 0x2000U);
  EXPECT_EQ(right->seen[2].address, 0x3000U);
}

TEST_F(pcie_port_test, the_queue_names_what_each_wait_was_for) {
  connect({flow_credits{2, 0}, {}, {}});
  tlp_egress queue(context, left->port, context.trace.intern("left"));
  trace_ref message;
  steps.at(1000, [&] {
    message = context.trace.open(1000, {});
    queue.push(write(0x1000, 4));
    queue.push(write(0x2000, 4));
    tlp* traced = write(0x3000, 4);
    traced->trace = message;
    queue.push(traced);
  });
  left->credits = [&] { queue.pump(); };
  steps.at(900'000, [&] { right->port.consumed(tlp_class::posted, 4); });
  run();
  // The link is free after two writes of 24 bytes; then it waits for the credit.
  const message_record* record = context.trace.record(message.message);
  ASSERT_EQ(record->spans.size(), 4U);
  EXPECT_EQ(context.trace.name(record->spans[1].reason), "link");
  EXPECT_EQ(record->spans[1].end, 1000 + 48 * Byte);
  EXPECT_EQ(context.trace.name(record->spans[2].reason), "flow_control");
  EXPECT_EQ(record->spans[2].end, 900'000 + Delay);
  EXPECT_EQ(record->spans[3].kind, span_kind::flight);
}

}  // namespace
}  // namespace carillon
