// What the host's effects do to a core: polling memory of another socket, interruptions of a poll
// loop, locks that are passed on, a device that is shared, packets that software handles.
#include <gtest/gtest.h>

#include "host/machine.h"
#include "tb/common/link_script.h"
#include "tb/common/span_story.h"

namespace carillon {
namespace {

constexpr std::uint64_t Buffer = machine::MemoryBase + 0x1000;
constexpr ps_t Us = 1'000'000;

using story = bench::span_story;

parameters core_parameters() {
  parameters params = slow_link();
  params.cpu.poll_interval_ps = 10'000;
  return params;
}

class effects_on_cores : public testing::Test {
 protected:
  void build(const parameters& params, unsigned count = 1) {
    context = std::make_unique<sim_context>(params, 1, 0);
    steps = std::make_unique<script>(*context);
    host = std::make_unique<machine>("host0", *context, tlps, count);
    device = std::make_unique<recording_device>("device", *context);
    host->bus.port.connect(device->port);
    flag = std::make_unique<polled_byte>(host->memory, context->trace, Buffer);
  }

  /// A message of the device writes 7 at this time.
  void written_at(ps_t when) {
    steps->at(when, [this, when] {
      const std::uint8_t seven = 7;
      host->memory.writer = context->trace.open(when, {.node = "host0"});
      host->memory.write(Buffer, &seven, 1);
      host->memory.writer = {};
    });
  }

  [[nodiscard]] story chain(trace_ref ref) const { return bench::story_of(context->trace, ref); }

  tlp_pool tlps;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<script> steps;
  std::unique_ptr<machine> host;
  std::unique_ptr<recording_device> device;
  std::unique_ptr<polled_byte> flag;
};

task<> poll_from(cpu& core, polled_byte& flag, ps_t from, ps_t& seen, trace_ref& end) {
  core.idle_until(from);
  flag.expect(7);
  co_await core.poll(flag);
  end = core.seen(flag.take_writer());
  seen = core.time();
}

// Polling across the sockets: 16 bytes of request and 64 of data at 100 ps a byte.

parameters far_memory() {
  parameters params = core_parameters();
  params.host.memory_node = 1;
  params.numa.hop_ps = 100'000;
  params.numa.link_gbps = 80;
  return params;
}

TEST_F(effects_on_cores, what_was_written_to_far_memory_is_fetched_across_the_sockets) {
  build(far_memory());
  written_at(33'000);
  ps_t seen = 0;
  trace_ref end;
  host->core(0).run(poll_from(host->core(0), *flag, 2'000, seen, end));
  sc_core::sc_start();
  EXPECT_EQ(chain(end), (story{
                            "host0.cpu0 wait poll 42000",
                            "host0.socket_link flight 143600",
                            "host0.socket_link flight 250000",
                        }));
  EXPECT_EQ(seen, 250'000U);
}

TEST_F(effects_on_cores, what_was_there_before_is_fetched_too) {
  build(far_memory());
  written_at(1'000);
  ps_t seen = 0;
  trace_ref end;
  host->core(0).run(poll_from(host->core(0), *flag, 2'000, seen, end));
  sc_core::sc_start();
  EXPECT_EQ(chain(end).front(), "host0.cpu0 wait cpu_busy 2000");
  EXPECT_EQ(seen, 210'000U);
}

TEST_F(effects_on_cores,
       memory_of_the_cores_own_socket_is_polled_in_its_cache_wherever_the_nic_is) {
  parameters params = far_memory();
  params.host.core_node = 1;
  build(params);
  written_at(33'000);
  ps_t seen = 0;
  trace_ref end;
  host->core(0).run(poll_from(host->core(0), *flag, 2'000, seen, end));
  sc_core::sc_start();
  EXPECT_EQ(seen, 42'000U);
}

// Interruptions: an os_noise of the same seed and name knows when they are.

TEST_F(effects_on_cores, a_poll_that_is_due_in_an_interruption_comes_at_its_end) {
  parameters params = core_parameters();
  params.cpu.noise = true;
  params.cpu.noise_interval_ps = 100 * static_cast<std::int64_t>(Us);
  params.cpu.noise_duration_ps = static_cast<std::int64_t>(Us);
  params.cpu.noise_shape = 200;
  build(params);
  os_noise same(params, 1, "host0.cpu0");
  const interruption first = same.after(0);
  written_at(first.begin + 500);
  ps_t seen = 0;
  trace_ref end;
  host->core(0).run(poll_from(host->core(0), *flag, 2'000, seen, end));
  sc_core::sc_start();
  EXPECT_EQ(seen, first.end);
  EXPECT_EQ(chain(end), story{"host0.cpu0 wait os_noise " + std::to_string(first.end)});
}

TEST_F(effects_on_cores, an_interruption_between_two_messages_delays_nobody) {
  parameters params = core_parameters();
  params.cpu.noise = true;
  params.cpu.noise_interval_ps = 100 * static_cast<std::int64_t>(Us);
  params.cpu.noise_duration_ps = static_cast<std::int64_t>(Us);
  params.cpu.noise_shape = 200;
  build(params);
  os_noise same(params, 1, "host0.cpu0");
  const interruption first = same.after(0);
  written_at(first.end + 1);
  ps_t seen = 0;
  trace_ref end;
  host->core(0).run(poll_from(host->core(0), *flag, 2'000, seen, end));
  sc_core::sc_start();
  EXPECT_LE(seen, first.end + 1 + 10'000) << "the next turn of the loop";
}

// Locks

task<> hold_lock(cpu& core, cpu_lock& lock, ps_t from, ps_t duration, std::vector<ps_t>& taken) {
  core.idle_until(from);
  co_await core.sync();
  co_await core.acquire(lock);
  taken.push_back(core.time());
  core.spend(duration);
  co_await core.sync();
  core.release(lock);
}

TEST_F(effects_on_cores, a_lock_that_somebody_waits_for_takes_its_time_to_be_passed_on) {
  parameters params = core_parameters();
  params.cpu.lock_handover_ps = 7'000;
  build(params, 3);
  cpu_lock lock;
  std::vector<ps_t> taken;
  host->core(0).run(hold_lock(host->core(0), lock, 1'000, 50'000, taken));
  host->core(1).run(hold_lock(host->core(1), lock, 2'000, 10'000, taken));
  host->core(2).run(hold_lock(host->core(2), lock, 500'000, 10'000, taken));
  sc_core::sc_start();
  // 1000 + 50,000 + 7000; the third finds it free.
  EXPECT_EQ(taken, (std::vector<ps_t>{1'000, 58'000, 500'000}));
}

TEST_F(effects_on_cores, each_further_core_that_spins_delays_the_handing_over) {
  parameters params = core_parameters();
  params.cpu.lock_handover_ps = 7'000;
  params.cpu.lock_spin_ps = 5'000;
  build(params, 4);
  cpu_lock lock;
  std::vector<ps_t> taken;
  host->core(0).run(hold_lock(host->core(0), lock, 1'000, 50'000, taken));
  host->core(1).run(hold_lock(host->core(1), lock, 2'000, 10'000, taken));
  host->core(2).run(hold_lock(host->core(2), lock, 3'000, 10'000, taken));
  host->core(3).run(hold_lock(host->core(3), lock, 4'000, 10'000, taken));
  sc_core::sc_start();
  // 1000 + 50,000 + 7000 and 2 * 5000 of those who go on spinning; 10,000 + 7000 + 5000; 10,000 +
  // 7000.
  EXPECT_EQ(taken, (std::vector<ps_t>{1'000, 68'000, 90'000, 107'000}));
}

// A shared device

parameters shared_device() {
  parameters params = core_parameters();
  params.sharing.tenants = 1;
  params.sharing.interval_ps = 1'000'000'000'000;  // nobody comes
  params.sharing.switch_ps = 200'000;
  params.sharing.hold_ps = 100'000;
  return params;
}

task<> enter_at(cpu& core, ps_t from, trace_ref history, trace_ref& end) {
  core.idle_until(from);
  co_await core.sync();
  end = core.enter_device(history);
}

TEST_F(effects_on_cores, a_post_to_a_shared_device_takes_the_lock_and_switches_the_queues) {
  build(shared_device(), 2);
  trace_ref first;
  trace_ref second;
  host->core(0).run(enter_at(host->core(0), 0, context->trace.open(0, {.node = "host0"}), first));
  host->core(1).run(
      enter_at(host->core(1), 50'000, context->trace.open(50'000, {.node = "host0"}), second));
  sc_core::sc_start();
  EXPECT_EQ(chain(first), story{"host0.shared_device service 200000"});
  // The first keeps it for 100 ns behind its switch.
  EXPECT_EQ(chain(second), (story{
                               "host0.shared_device wait device_lock 300000",
                               "host0.shared_device service 500000",
                           }));
  EXPECT_EQ(host->core(1).time(), 500'000U);
}

TEST_F(effects_on_cores, a_device_of_ones_own_costs_nothing) {
  build(core_parameters());
  trace_ref end;
  host->core(0).run(enter_at(host->core(0), 0, context->trace.open(0, {.node = "host0"}), end));
  sc_core::sc_start();
  EXPECT_EQ(chain(end), story{});
  EXPECT_EQ(host->core(0).time(), 0U);
}

TEST(device_sharing,
     posts_wait_for_a_holder_that_lost_its_core_in_proportion_to_how_often_it_does) {
  // Visits at random see the time average. Of one post in 100 us one in ten loses its core for
  // 20 us (and 100 ns of the post itself): M/G/1 with the mean wait of Pollaczek and Khinchin,
  // rate * E[S^2] / (2 * (1 - rho)), in us: ordinary posts 0.1 at 0.009 / us, others 20.1 at
  // 0.001 / us; rho 0.021, E: 0.001 * 404.01 + 0.009 * 0.01 = 0.4041; 0.2064.
  parameters params = shared_device();
  params.sharing.interval_ps = 100 * static_cast<std::int64_t>(Us);
  params.sharing.preempted_permille = 100;
  params.sharing.preempted_ps = 20 * static_cast<std::int64_t>(Us);
  params.sharing.preempted_max_ps = params.sharing.preempted_ps;
  params.sharing.switch_ps = 0;
  params.cpu.lock_handover_ps = 0;
  sim_context context(params, 1, 0);
  device_sharing sharing(context, "host0.shared_device");
  random_stream random(1, "visitor");
  ps_t now = 0;
  double waited = 0;
  constexpr int Visits = 200'000;
  for (int i = 0; i < Visits; ++i) {
    now += draw_exponential(random, 1000 * Us);  // rare: its own 100 ns do not count
    trace_ref none;
    waited += static_cast<double>(sharing.enter(now, 0, none) - now);
  }
  EXPECT_NEAR(waited / Visits / 1e6, 0.2064, 0.2064 * 0.08);
}

// Software on the way

TEST_F(effects_on_cores, software_handles_one_packet_after_the_other) {
  parameters params = core_parameters();
  params.software.service_ps = 15 * static_cast<std::int64_t>(Us);
  sim_context own(params, 1, 0);
  software_path path(own, "host0.software_path");
  trace_ref none;
  EXPECT_EQ(path.pass(1'000, 0, none), 1'000 + 15 * Us);
  EXPECT_EQ(path.pass(2'000, 0, none), 1'000 + 30 * Us);
}

TEST_F(effects_on_cores, a_message_passes_the_software_at_the_place_of_its_name) {
  parameters params = core_parameters();
  params.software.service_ps = 15 * static_cast<std::int64_t>(Us);
  build(params);
  const trace_ref end = host->core(0).pass_software(context->trace.open(0, {.node = "host0"}));
  EXPECT_EQ(chain(end), story{"host0.software_path service " + std::to_string(15 * Us)});
}

}  // namespace
}  // namespace carillon
