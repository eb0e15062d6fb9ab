// What interrupts cost a host: when a handler runs and where, whom it wakes, whom it delays. The
// core's costs are round numbers: a message's handler begins 600 ns after it and runs for 1000 ns.
#include "host/interrupts.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "host/machine.h"
#include "tb/common/link_script.h"
#include "tb/common/span_story.h"

namespace carillon {
namespace {

constexpr std::uint64_t Buffer = machine::MemoryBase + 0x1000;
constexpr ps_t Entry = 600'000;
constexpr ps_t Handler = 1'000'000;

parameters core_parameters() {
  parameters params = slow_link();
  params.host.root_complex_ps = 50'000;  // 25 ns each way
  params.host.memory_write_ps = 900'000;
  params.cpu.interrupt_ps = Entry;
  params.cpu.interrupt_handler_ps = Handler;
  params.cpu.poll_interval_ps = 10'000;
  params.cpu.mmio_store_ps = 5'000;
  return params;
}

using story = bench::span_story;
using times = std::vector<ps_t>;

class interrupted : public testing::Test {
 protected:
  explicit interrupted(const parameters& params = core_parameters())
      : context(params, 1, 0),
        steps(context),
        host("host0", context, tlps, 2),
        device("device", context) {
    host.bus.port.connect(device.port);
  }

  cpu& core(unsigned index = 0) { return host.core(index); }

  void message_at(ps_t when, interrupt_line& line, trace_ref trace = {}) {
    steps.at(when, [this, &line, trace] {
      host.controller.on_message(line.address(), line.data(), trace);
    });
  }

  void run(task<> program, unsigned index = 0) {
    core(index).run(std::move(program));
    sc_core::sc_start();
    EXPECT_FALSE(core(index).busy());
  }

  trace_ref message(ps_t begin = 0) { return context.trace.open(begin, {.node = "host0"}); }

  [[nodiscard]] story chain(trace_ref ref) const { return bench::story_of(context.trace, ref); }

  tlp_pool tlps;
  sim_context context;
  script steps;
  machine host;
  recording_device device;
};

// Waking ------------------------------------------------------------------------------------------

task<> sleep_on(cpu& core, interrupt_line& line, times& woken, unsigned times_to_sleep = 1) {
  for (unsigned i = 0; i < times_to_sleep; ++i) {
    co_await core.sleep(line);
    woken.push_back(core.time());
  }
}

TEST_F(interrupted, a_program_that_sleeps_goes_on_at_the_end_of_the_handler) {
  interrupt_line& line = host.bind_interrupt(0);
  times woken;
  message_at(5'000'000, line);
  run(sleep_on(core(), line, woken));
  EXPECT_EQ(woken, times{5'000'000 + Entry + Handler});
  EXPECT_EQ(line.handled(), 1U);
}

TEST_F(interrupted, an_interrupt_before_the_sleep_is_not_lost) {
  interrupt_line& line = host.bind_interrupt(0);
  times woken;
  message_at(1'000, line);
  core().run([](cpu& on, interrupt_line& it, times& when) -> task<> {
    on.idle_until(9'000'000);
    co_await on.sync();
    co_await on.sleep(it);
    when.push_back(on.time());
  }(core(), line, woken));
  sc_core::sc_start();
  EXPECT_EQ(woken, times{9'000'000});
}

TEST_F(interrupted, an_interrupt_wakes_once) {
  interrupt_line& line = host.bind_interrupt(0);
  times woken;
  message_at(1'000'000, line);
  core().run(sleep_on(core(), line, woken, 2));
  sc_core::sc_start();
  EXPECT_EQ(woken.size(), 1U);
  EXPECT_TRUE(core().busy()) << "the second sleep goes on";
}

TEST_F(interrupted, a_program_on_another_core_is_woken_too) {
  interrupt_line& line = host.bind_interrupt(1);
  times woken;
  message_at(1'000'000, line);
  run(sleep_on(core(0), line, woken));
  EXPECT_EQ(woken, times{1'000'000 + Entry + Handler});
}

// Coalescing --------------------------------------------------------------------------------------

TEST_F(interrupted, messages_that_come_before_the_handler_begins_are_handled_by_it) {
  interrupt_line& line = host.bind_interrupt(0);
  for (const ps_t when : {1'000'000U, 1'000'001U, 1'599'999U}) {
    message_at(when, line);
  }
  sc_core::sc_start();
  EXPECT_EQ(line.handled(), 1U);
  EXPECT_EQ(line.coalesced(), 2U);
}

TEST_F(interrupted, a_message_while_the_handler_runs_is_handled_behind_it) {
  interrupt_line& line = host.bind_interrupt(0);
  times woken;
  message_at(1'000'000, line);
  message_at(1'600'000, line);  // it has just begun
  run(sleep_on(core(), line, woken));
  EXPECT_EQ(woken, times{3'600'000}) << "the core is not the program's before";
  EXPECT_EQ(line.handled(), 2U);
  EXPECT_EQ(line.coalesced(), 0U);
}

TEST_F(interrupted, handlers_of_a_core_follow_each_other_and_those_of_two_cores_do_not) {
  interrupt_line& first = host.bind_interrupt(0);
  interrupt_line& second = host.bind_interrupt(0);
  interrupt_line& elsewhere = host.bind_interrupt(1);
  times woken;
  message_at(1'000'000, first);
  message_at(1'100'000, second);
  message_at(1'200'000, elsewhere);
  times other;
  core(1).run(sleep_on(core(1), elsewhere, other));
  run(sleep_on(core(), second, woken));
  EXPECT_EQ(woken, times{1'000'000 + Entry + 2 * Handler});
  EXPECT_EQ(other, times{1'200'000 + Entry + Handler});
}

// Binding -----------------------------------------------------------------------------------------

TEST_F(interrupted, the_address_names_the_core_and_the_data_the_vector) {
  interrupt_line& first = host.bind_interrupt(0);
  interrupt_line& second = host.bind_interrupt(0);
  interrupt_line& elsewhere = host.bind_interrupt(1);
  // Intel's manual: bits 31:20 are 0xfee, 19:12 the core; vectors from 0x20 on are not exceptions.
  EXPECT_EQ(first.address(), 0xfee00000U);
  EXPECT_EQ(second.address(), 0xfee00000U);
  EXPECT_EQ(elsewhere.address(), 0xfee01000U);
  EXPECT_EQ(first.data(), 0x20U);
  EXPECT_EQ(second.data(), 0x21U);
  EXPECT_EQ(elsewhere.data(), 0x20U);
}

TEST_F(interrupted, messages_for_vectors_that_nobody_bound_are_spurious) {
  interrupt_line& line = host.bind_interrupt(0);
  steps.at(1'000, [&] {
    host.controller.on_message(line.address(), 0x21, {});
    host.controller.on_message(line.address(), 0x1f, {});
    host.controller.on_message(line.address() + 0x1000, 0x20, {});
  });
  sc_core::sc_start();
  EXPECT_EQ(host.controller.spurious(), 3U);
  EXPECT_EQ(line.handled(), 0U);
}

TEST_F(interrupted, a_core_has_no_more_vectors_than_an_interrupt_controller_knows) {
  for (unsigned i = 0x20; i < 0x100; ++i) {
    host.bind_interrupt(0);
  }
  EXPECT_THROW(host.bind_interrupt(0), config_error);
}

// Whom it delays ----------------------------------------------------------------------------------

/// Works for 3 us without looking, then for 100 ns more.
task<> work(cpu& core, trace_ref history, trace_ref& end, times& when) {
  history = core.spend(3'000'000, history);
  co_await core.sync();
  when.push_back(core.time());
  end = core.spend(100'000, history);
  co_await core.sync();
  when.push_back(core.time());
}

TEST_F(interrupted, a_handler_takes_its_time_from_the_work_of_its_core) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);
  times when;
  trace_ref end;
  run(work(core(), message(), end, when));
  EXPECT_EQ(when, (times{3'000'000 + Handler, 3'100'000 + Handler}));
  EXPECT_EQ(chain(end), (story{"host0.cpu0 service 3000000", "host0.cpu0 wait interrupt 4000000",
                               "host0.cpu0 service 4100000"}));
}

TEST_F(interrupted, work_on_another_core_is_not_delayed) {
  interrupt_line& line = host.bind_interrupt(1);
  message_at(1'000'000, line);
  times when;
  trace_ref end;
  run(work(core(0), message(), end, when));
  EXPECT_EQ(when, (times{3'000'000, 3'100'000}));
}

TEST_F(interrupted, work_that_begins_before_a_handler_that_is_known_is_cut_in_two_by_it) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);  // its handler: from 1600 ns to 2600 ns
  times when;
  trace_ref end;
  core().run([](cpu& on, trace_ref history, trace_ref& last, times& seen) -> task<> {
    on.idle_until(1'100'000);
    co_await on.sync();
    last = on.spend(800'000, history);
    co_await on.sync();
    seen.push_back(on.time());
  }(core(), message(1'100'000), end, when));
  sc_core::sc_start();
  EXPECT_EQ(when, times{1'900'000 + Handler});
  EXPECT_EQ(chain(end), (story{"host0.cpu0 service 1600000", "host0.cpu0 wait interrupt 2600000",
                               "host0.cpu0 service 2900000"}));
}

task<> idle_until(cpu& core, ps_t end, times& seen) {
  core.idle_until(end);
  co_await core.sync();
  seen.push_back(core.time());
}

TEST_F(interrupted, a_core_that_does_nothing_loses_nothing) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);
  times when;
  core().run(idle_until(core(), 5'000'000, when));
  sc_core::sc_start();
  EXPECT_EQ(when, times{5'000'000});
}

TEST_F(interrupted, a_step_that_is_due_while_a_handler_runs_comes_behind_it) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);
  times when;
  core().run(idle_until(core(), 2'000'000, when));
  sc_core::sc_start();
  EXPECT_EQ(when, times{2'600'000});
}

TEST_F(interrupted, each_of_several_handlers_delays_the_work) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(100'000, line);
  message_at(1'000'000, line);  // runs behind the first
  message_at(3'100'000, line);  // when the work has moved back, this handler is in its way, too
  times when;
  trace_ref end;
  run(work(core(), message(), end, when));
  EXPECT_EQ(when, (times{3'000'000 + 3 * Handler, 3'100'000 + 3 * Handler}));
}

task<> poll_flag(cpu& core, polled_byte& flag, times& seen, trace_ref& end) {
  flag.expect(7);
  co_await core.poll(flag);
  seen.push_back(core.time());
  const trace_ref writer = flag.take_writer();
  end = core.seen(writer);
}

TEST_F(interrupted, a_poll_loop_goes_on_behind_the_handler) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);
  polled_byte flag(host.memory, context.trace, Buffer);
  const trace_ref written = message(2'000'000);
  steps.at(2'000'000, [&] {
    const std::uint8_t seven = 7;
    host.memory.writer = written;
    host.memory.write(Buffer, &seven, 1);
    host.memory.writer = {};
  });
  times seen;
  trace_ref end;
  run(poll_flag(core(), flag, seen, end));
  EXPECT_EQ(seen, times{2'600'000});
  EXPECT_EQ(chain(end), (story{"host0.cpu0 wait interrupt 2600000"}));
}

TEST_F(interrupted, a_poll_between_two_messages_is_on_time) {
  interrupt_line& line = host.bind_interrupt(0);
  message_at(1'000'000, line);
  polled_byte flag(host.memory, context.trace, Buffer);
  const std::uint8_t seven = 7;
  steps.at(4'000'001, [&] { host.memory.write(Buffer, &seven, 1); });
  times seen;
  trace_ref end;
  run(poll_flag(core(), flag, seen, end));
  EXPECT_EQ(seen, times{4'010'000}) << "the next turn of the grid";
}

// What the trace says -----------------------------------------------------------------------------

TEST_F(interrupted, the_message_that_interrupted_goes_on_from_its_handler) {
  interrupt_line& line = host.bind_interrupt(0);
  const trace_ref cause = message(1'000'000);
  message_at(1'000'000, line, cause);
  trace_ref end;
  trace_ref other_end;
  const trace_ref other = message(1'200'000);
  core().run([](cpu& on, interrupt_line& it, trace_ref mine, trace_ref others, trace_ref& first,
                trace_ref& second) -> task<> {
    co_await on.sleep(it);
    on.spend(50'000);  // the program takes the event
    on.begin_polling();
    first = on.seen(mine);
    second = on.seen(others);
  }(core(), line, cause, other, end, other_end));
  sc_core::sc_start();
  EXPECT_EQ(chain(end),
            (story{"host0.cpu0.interrupt service 1600000", "host0.cpu0.interrupt service 2600000",
                   "host0.cpu0 wait cpu_busy 2650000"}));
  // Another one, that was there before the program woke, waited for that.
  EXPECT_EQ(chain(other_end),
            (story{"host0.cpu0 wait asleep 2600000", "host0.cpu0 wait cpu_busy 2650000"}));
}

TEST_F(interrupted, a_message_waits_for_the_handlers_before_its_own) {
  interrupt_line& first = host.bind_interrupt(0);
  interrupt_line& second = host.bind_interrupt(0);
  message_at(1'000'000, first);
  const trace_ref cause = message(1'100'000);
  message_at(1'100'000, second, cause);
  trace_ref end;
  core().run([](cpu& on, interrupt_line& it, trace_ref mine, trace_ref& last) -> task<> {
    co_await on.sleep(it);
    on.begin_polling();
    last = on.seen(mine);
  }(core(), second, cause, end));
  sc_core::sc_start();
  EXPECT_EQ(chain(end), (story{"host0.cpu0.interrupt service 1700000",
                               "host0.cpu0.interrupt wait interrupt 2600000",
                               "host0.cpu0.interrupt service 3600000"}));
}

// From the link -----------------------------------------------------------------------------------

class messages_by_link : public interrupted {
 protected:
  void write_at(ps_t when, std::uint64_t address, std::uint32_t length) {
    steps.at(when, [this, address, length] {
      const std::array<std::uint8_t, 8> data{0x20, 0, 0, 0, 0x20};
      tlp* packet = tlps.take();
      make_memory_write(*packet, 0, address, data.data(), length);
      device.port.send(packet);
    });
  }
};

TEST_F(messages_by_link, a_write_into_the_window_interrupts_and_touches_no_memory) {
  interrupt_line& line = host.bind_interrupt(0);
  times woken;
  write_at(1'000'000, line.address(), 4);
  run(sleep_on(core(), line, woken));
  // 12 bytes of header and 4 of data and 8 of framing at 4 ns a byte, 20 ns of the link, 25 ns of
  // the root complex.
  EXPECT_EQ(woken, times{1'000'000 + 24 * SlowByte + 20'000 + 25'000 + Entry + Handler});
  EXPECT_EQ(host.bus.stats().messages, 1U);
  EXPECT_EQ(host.bus.stats().writes, 0U);
  EXPECT_EQ(host.bus.stats().unsupported, 0U);
}

TEST_F(messages_by_link, a_message_is_one_aligned_word) {
  interrupt_line& line = host.bind_interrupt(0);
  write_at(1'000'000, line.address(), 8);
  write_at(2'000'000, line.address() + 2, 2);
  write_at(3'000'000, line.address() + 0x100000, 4);  // behind the window
  sc_core::sc_start();
  EXPECT_EQ(line.handled(), 0U);
  EXPECT_EQ(host.bus.stats().unsupported, 3U);
  EXPECT_EQ(host.bus.stats().messages, 0U);
}

TEST_F(messages_by_link, a_message_comes_behind_the_writes_in_front_of_it) {
  interrupt_line& line = host.bind_interrupt(0);
  ps_t visible = 0;

  struct watcher final : memory_watcher {
    explicit watcher(ps_t& to) : when(to) {}

    void on_memory_write(std::uint64_t /*address*/, std::uint64_t /*length*/) override {
      when = sc_core::sc_time_stamp().value();
    }

    ps_t& when;
  } watch(visible);

  host.memory.watch(Buffer, 8, watch);
  host.memory.set_attributes(Buffer, 4096, {0, false});
  write_at(1'000'000, Buffer, 8);
  write_at(1'000'000, line.address(), 4);
  times woken;
  run(sleep_on(core(), line, woken));
  host.memory.unwatch(Buffer, 8, watch);
  ASSERT_NE(visible, 0U);
  EXPECT_GE(woken.at(0), visible + Entry + Handler);
}

}  // namespace
}  // namespace carillon
