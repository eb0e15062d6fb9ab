// A core's stores, loads, polls and locks, with hand-made times: the link carries a byte in 4000
// ps, the root complex takes 25 ns each way, and the core's own costs are round numbers.
#include "host/cpu.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "host/machine.h"
#include "tb/common/link_script.h"
#include "tb/common/span_story.h"

namespace carillon {
namespace {

constexpr std::uint64_t Bar = 0x80000000;
constexpr std::uint64_t Buffer = machine::MemoryBase + 0x1000;

parameters core_parameters() {
  parameters params = slow_link();
  params.host.root_complex_ps = 50'000;  // 25 ns each way
  params.cpu.mmio_store_ps = 5'000;
  params.cpu.wc_store_ps = 4'000;
  params.cpu.wc_flush_ps = 20'000;
  params.cpu.fence_ps = 30'000;
  params.cpu.wc_buffers = 3;
  params.cpu.poll_interval_ps = 10'000;
  return params;
}

using story = bench::span_story;

class cores : public testing::Test {
 protected:
  void build(const parameters& params = core_parameters(), unsigned count = 1) {
    context = std::make_unique<sim_context>(params, 1, 0);
    steps = std::make_unique<script>(*context);
    host = std::make_unique<machine>("host0", *context, tlps, count);
    device = std::make_unique<recording_device>("device", *context);
    host->bus.port.connect(device->port);
  }

  /// Runs a program on a core to its end.
  void run(task<> program) {
    host->core(0).run(std::move(program));
    sc_core::sc_start();
    EXPECT_FALSE(host->core(0).busy());
  }

  /// When the store was handed to the root complex: the first symbol arrives 25 ns and the 20 ns of
  /// the link later.
  [[nodiscard]] ps_t handed_over(std::size_t index) const {
    return device->seen.at(index).first - 45'000;
  }

  [[nodiscard]] story chain(trace_ref ref) const { return bench::story_of(context->trace, ref); }

  tlp_pool tlps;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<script> steps;
  std::unique_ptr<machine> host;
  std::unique_ptr<recording_device> device;
};

std::vector<std::uint8_t> numbers(std::size_t count, std::uint8_t first = 0) {
  std::vector<std::uint8_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<std::uint8_t>(first + i);
  }
  return result;
}

// Stores

task<> two_uncached(cpu& core) {
  core.store_uncached(Bar, numbers(8));
  core.store_uncached(Bar + 8, numbers(4));
  co_return;
}

TEST_F(cores, uncached_stores_leave_one_by_one_as_they_are) {
  build();
  run(two_uncached(host->core(0)));
  ASSERT_EQ(device->seen.size(), 2U);
  EXPECT_EQ(handed_over(0), 5'000U);
  EXPECT_EQ(device->seen[0].data, numbers(8));
  EXPECT_EQ(device->seen[0].header.address, Bar);
  EXPECT_EQ(device->seen[1].data, numbers(4));
}

task<> one_line(cpu& core) {
  const auto data = numbers(64);
  for (std::size_t at = 0; at < 64; at += 16) {
    core.store_combined(Bar + 0x800 + at, std::span(data).subspan(at, 16));
  }
  co_return;
}

TEST_F(cores, stores_to_a_line_are_combined_and_leave_when_it_is_full) {
  build();
  run(one_line(host->core(0)));
  ASSERT_EQ(device->seen.size(), 1U);
  EXPECT_EQ(device->seen[0].data, numbers(64));
  // Four quarters of 4 ns and the 20 ns of the buffer.
  EXPECT_EQ(handed_over(0), 24'000U);
}

task<> half_line_and_fence(cpu& core, ps_t& after) {
  core.store_combined(Bar, numbers(32));
  core.fence();
  after = core.time();
  co_return;
}

TEST_F(cores, a_fence_drains_what_is_left_and_waits_for_it) {
  build();
  ps_t after = 0;
  run(half_line_and_fence(host->core(0), after));
  ASSERT_EQ(device->seen.size(), 1U);
  EXPECT_EQ(device->seen[0].data, numbers(32));
  EXPECT_EQ(handed_over(0), 22'000U);  // 2 for half a line, 20 for the buffer
  EXPECT_EQ(after, 32'000U);           // 2, and 30 for the fence: longer than the drain
}

TEST_F(cores, a_short_fence_ends_with_its_drain) {
  parameters params = core_parameters();
  params.cpu.fence_ps = 1'000;
  build(params);
  ps_t after = 0;
  run(half_line_and_fence(host->core(0), after));
  EXPECT_EQ(after, 22'000U);
}

task<> many_lines(cpu& core) {
  for (std::uint64_t line = 0; line < 4; ++line) {
    core.store_combined(Bar + line * 64, numbers(8, static_cast<std::uint8_t>(line)));
  }
  core.fence();
  co_return;
}

TEST_F(cores, a_line_is_evicted_when_the_buffers_are_used_up) {
  build();
  run(many_lines(host->core(0)));
  ASSERT_EQ(device->seen.size(), 4U);
  EXPECT_EQ(device->seen[0].header.address, Bar);
  EXPECT_EQ(handed_over(0), 22'000U);  // 4 * 8/64 ns a store: the fourth finds no buffer at 2 ns
  EXPECT_EQ(device->seen[3].header.address, Bar + 192);
}

TEST_F(cores, in_which_order_a_fence_drains_can_be_chosen) {
  build();
  host->core(0).drain_by(drain_order::newest_first);
  run(many_lines(host->core(0)));
  ASSERT_EQ(device->seen.size(), 4U);
  EXPECT_EQ(device->seen[0].header.address, Bar);  // evicted before
  EXPECT_EQ(device->seen[1].header.address, Bar + 192);
  EXPECT_EQ(device->seen[2].header.address, Bar + 128);
  EXPECT_EQ(device->seen[3].header.address, Bar + 64);
}

task<> line_with_a_hole(cpu& core) {
  core.store_combined(Bar, numbers(8, 1));
  core.store_combined(Bar + 16, numbers(8, 2));
  core.store_uncached(Bar + 64, numbers(8, 3));
  co_return;
}

TEST_F(cores, an_uncached_store_drains_the_lines_and_follows_them) {
  build();
  run(line_with_a_hole(host->core(0)));
  ASSERT_EQ(device->seen.size(), 3U) << "a line with a hole leaves in two pieces";
  EXPECT_EQ(device->seen[0].data, numbers(8, 1));
  EXPECT_EQ(device->seen[1].header.address, Bar + 16);
  EXPECT_EQ(device->seen[2].data, numbers(8, 3));
}

task<> traced_stores(cpu& core, trace_ref message) {
  const trace_ref built = core.spend(1'000, message);
  core.store_combined(Bar, numbers(8), built);
  core.spend(3'000);
  core.fence();
  co_return;
}

TEST_F(cores, a_stores_history_says_where_its_time_went) {
  build();
  run(traced_stores(host->core(0), context->trace.open(0, {.node = "host0"})));
  const story way = chain(device->seen.at(0).trace);
  ASSERT_GE(way.size(), 5U);
  EXPECT_EQ(way[0], "host0.cpu0 service 1000");               // before
  EXPECT_EQ(way[1], "host0.cpu0 service 1500");               // the store
  EXPECT_EQ(way[2], "host0.cpu0 wait write_combining 4500");  // until somebody drains the buffer
  EXPECT_EQ(way[3], "host0.cpu0 service 24500");              // the buffer
  EXPECT_EQ(way[4], "host0.root_complex service 49500");
}

// Loads

task<> load_after_store(cpu& core, std::uint64_t& value, ps_t& when) {
  core.store_combined(Bar, numbers(8));
  value = co_await core.load(Bar + 8, 8);
  when = core.time();
}

TEST_F(cores, a_load_pushes_stores_ahead_and_waits_for_its_answer) {
  build();
  device->then = [this](const recording_device::arrival& got) {
    if (got.header.kind != tlp_kind::memory_read) {
      return;
    }
    steps->at(got.last, [this, got] {
      tlp* answer = tlps.take();
      make_completion(*answer, 0, got.header.requester, got.header.tag, completion_status::Success,
                      8, 8, numbers(8, 0x10).data(), 8);
      device->port.send(answer);
    });
  };
  std::uint64_t value = 0;
  ps_t when = 0;
  run(load_after_store(host->core(0), value, when));
  ASSERT_EQ(device->seen.size(), 2U);
  EXPECT_EQ(device->seen[0].data, numbers(8));
  EXPECT_EQ(value, 0x1011121314151617U);
  // Store: 0.5 ns, 20 ns of the buffer; both TLPs 25 ns in the root complex; the store (12 + 8 + 8
  // bytes) and the load (12 + 8) follow each other on the link, 20 ns away; the completion (12 + 8
  // + 8) comes back and spends 25 ns again.
  EXPECT_EQ(when, 500U + 20'000 + 25'000 + (28 + 20) * SlowByte + 20'000 + 28 * SlowByte + 20'000 +
                      25'000);
}

// Polling

task<> poll_byte(cpu& core, polled_byte& flag, ps_t from, std::vector<ps_t>& seen) {
  core.idle_until(from);
  flag.expect(7);
  co_await core.poll(flag);
  seen.push_back(core.time());
}

TEST_F(cores, a_poll_sees_a_write_at_the_next_turn_of_its_grid) {
  build();
  polled_byte flag(host->memory, context->trace, Buffer);
  const std::uint8_t other = 3;
  const std::uint8_t seven = 7;
  steps->at(20'000, [&] { host->memory.write(Buffer, &other, 1); });
  steps->at(33'333, [&] { host->memory.write(Buffer, &seven, 1); });
  std::vector<ps_t> seen;
  run(poll_byte(host->core(0), flag, 2'000, seen));
  EXPECT_EQ(seen, std::vector<ps_t>{42'000}) << "2 ns + 4 turns of 10 ns";
}

TEST_F(cores, a_poll_sees_a_write_that_is_visible_exactly_then) {
  build();
  polled_byte flag(host->memory, context->trace, Buffer);
  const std::uint8_t seven = 7;
  steps->at(22'000, [&] { host->memory.write(Buffer, &seven, 1); });
  std::vector<ps_t> seen;
  run(poll_byte(host->core(0), flag, 2'000, seen));
  EXPECT_EQ(seen, std::vector<ps_t>{22'000});
}

TEST_F(cores, the_first_poll_sees_what_was_there_before) {
  build();
  polled_byte flag(host->memory, context->trace, Buffer);
  const std::uint8_t seven = 7;
  host->memory.write(Buffer, &seven, 1);
  std::vector<ps_t> seen;
  run(poll_byte(host->core(0), flag, 5'000, seen));
  EXPECT_EQ(seen, std::vector<ps_t>{5'000});
}

task<> poll_traced(cpu& core, polled_byte& flag, ps_t from, trace_ref& end) {
  core.idle_until(from);
  flag.expect(7);
  co_await core.poll(flag);
  end = core.spend(15'000, core.seen(flag.take_writer()));
}

TEST_F(cores, what_the_device_wrote_is_followed_until_the_core_has_seen_it) {
  build();
  polled_byte flag(host->memory, context->trace, Buffer);
  const std::uint8_t seven = 7;
  trace_ref message;
  steps->at(30'000, [&] {
    message = context->trace.open(30'000, {.node = "host0"});
    host->memory.writer = message;
    host->memory.write(Buffer, &seven, 1);
    host->memory.writer = {};
  });
  trace_ref end;
  run(poll_traced(host->core(0), flag, 41'000, end));
  // The loop began after the write: until then the core did something else.
  EXPECT_EQ(chain(end), (story{"host0.cpu0 wait cpu_busy 41000", "host0.cpu0 service 56000"}));
  EXPECT_EQ(context->trace.record(message.message)->holders, 2U) << "its own and the flag's";
}

TEST_F(cores, waiting_in_the_loop_is_booked_as_poll) {
  build();
  polled_byte flag(host->memory, context->trace, Buffer);
  const std::uint8_t seven = 7;
  steps->at(33'000, [&] {
    host->memory.writer = context->trace.open(33'000, {.node = "host0"});
    host->memory.write(Buffer, &seven, 1);
  });
  trace_ref end;
  run(poll_traced(host->core(0), flag, 1'000, end));
  EXPECT_EQ(chain(end), (story{"host0.cpu0 wait poll 41000", "host0.cpu0 service 56000"}));
}

// Noise

task<> work_for_long(cpu& core, trace_ref message, trace_ref& end, ps_t& when) {
  end = message;
  for (int i = 0; i < 1000; ++i) {
    end = core.spend(1'000'000, end);
  }
  when = core.time();
  co_return;
}

TEST_F(cores, interruptions_lengthen_work_and_are_booked) {
  parameters params = core_parameters();
  params.cpu.noise = true;
  params.cpu.noise_interval_ps = 10'000'000;
  params.cpu.noise_duration_ps = 1'000'000;
  build(params);
  const trace_ref message = context->trace.open(0, {.node = "host0"});
  trace_ref end;
  ps_t when = 0;
  run(work_for_long(host->core(0), message, end, when));
  ps_t worked = 0;
  ps_t interrupted = 0;
  const message_record* record = context->trace.record(message.message);
  for (std::uint32_t at = end.span; at != 0; at = record->spans[at].previous) {
    const span& s = record->spans[at];
    (s.kind == span_kind::service ? worked : interrupted) += s.end - s.begin;
  }
  EXPECT_EQ(worked, 1'000'000'000U);
  EXPECT_EQ(worked + interrupted, when);
  // One interruption of 1 us on average in 10 us of work: 100 us, give or take three standard
  // deviations.
  EXPECT_NEAR(static_cast<double>(interrupted), 1e8, 3e7);
}

// Other cores

task<> hold_lock(cpu& core, cpu_lock& lock, ps_t from, ps_t duration, std::vector<ps_t>& taken) {
  core.idle_until(from);
  co_await core.sync();
  co_await core.acquire(lock);
  taken.push_back(core.time());
  core.spend(duration);
  co_await core.sync();
  core.release(lock);
}

TEST_F(cores, a_lock_goes_to_the_cores_in_the_order_in_which_they_asked) {
  build(core_parameters(), 3);
  cpu_lock lock;
  std::vector<ps_t> taken;
  host->core(0).run(hold_lock(host->core(0), lock, 1'000, 50'000, taken));
  host->core(2).run(hold_lock(host->core(2), lock, 2'000, 10'000, taken));
  host->core(1).run(hold_lock(host->core(1), lock, 3'000, 10'000, taken));
  sc_core::sc_start();
  EXPECT_EQ(taken, (std::vector<ps_t>{1'000, 51'000, 61'000}));
  EXPECT_FALSE(lock.held());
}

task<> come_at(cpu& core, rendezvous& where, ps_t when, std::vector<ps_t>& left) {
  core.idle_until(when);
  co_await core.meet(where);
  left.push_back(core.time());
}

TEST_F(cores, a_rendezvous_lasts_until_the_last_has_come) {
  build(core_parameters(), 2);
  rendezvous where(2);
  std::vector<ps_t> left;
  host->core(0).run(come_at(host->core(0), where, 5'000, left));
  host->core(1).run(come_at(host->core(1), where, 70'000, left));
  sc_core::sc_start();
  EXPECT_EQ(left, (std::vector<ps_t>{70'000, 70'000}));
}

task<> fails(cpu& core) {
  co_await core.sync();
  throw config_error("no such thing");
}

task<> calls(cpu& core, std::string& caught) {
  try {
    co_await fails(core);
  } catch (const config_error& error) {
    caught = error.what();
  }
}

TEST_F(cores, an_exception_reaches_the_caller_of_a_task) {
  build();
  std::string caught;
  run(calls(host->core(0), caught));
  EXPECT_EQ(caught, "no such thing");
}

}  // namespace
}  // namespace carillon
