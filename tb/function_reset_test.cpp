// Function-level reset of functions that work: nothing of them is left, and nobody else notices.
#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "host/sriov.h"
#include "tb/common/reset_bench.h"

namespace carillon {
namespace {

using bench::Outstanding;
using bench::PacketsEach;
using bench::sender;

/// Everything that a host sees of its device, and the wire of it.
struct traffic {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t frames = 0;

  bool operator==(const traffic&) const = default;
};

class flr : public bench::bus_bench {
 protected:
  [[nodiscard]] traffic seen() {
    const auto& stats = home().host.bus.stats();
    return {stats.reads, stats.writes, count(counter::TxPackets)};
  }

  rendezvous start_{2};
};

TEST_F(flr, after_it_not_a_TLP_nor_a_frame_of_the_function_comes_however_much_was_under_way) {
  build({"nic.total_vfs=8"}, 1);
  sender work(home(), system_->at(1), home().driver);
  traffic before;
  traffic after;
  traffic later;
  bool done = false;
  cpu& core = home().host.core(0);
  cpu& far = system_->at(1).host.core(0);
  const auto resetting = [&](pci_bus& slot) -> task<> {
    co_await work.open(core);
    before = seen();
    co_await work.flood(core);
    co_await slot.reset(core, 0);
    after = seen();
    co_await wait_us(core, 1000);
    later = seen();
    done = true;
  };
  core.run(resetting(home().slot));
  far.run(work.open_far(far));
  system_->run();
  ASSERT_TRUE(done);
  EXPECT_GT(after.frames, before.frames) << "else there was nothing to stop";
  EXPECT_LT(after.frames - before.frames, Outstanding * PacketsEach)
      << "all that was posted was sent before";
  EXPECT_EQ(later, after);
  EXPECT_GT(count(counter::DmaReadsRefused), 0U);
  system_->check_drained();
  system_->context.trace.close();
}

TEST_F(flr, the_quiet_time_is_longer_than_anything_of_the_function_stays_in_the_chip) {
  build({"nic.total_vfs=8"}, 2);
  sender work(home(), system_->at(1), home().driver);
  bool done = false;
  ps_t reset_ended = 0;
  ps_t last_seen = 0;
  cpu& core = home().host.core(0);
  cpu& other = home().host.core(1);
  cpu& far = system_->at(1).host.core(0);
  const auto resetting = [&](pci_bus& slot) -> task<> {
    co_await work.open(core);
    co_await core.meet(start_);
    co_await work.flood(core);
    co_await slot.reset(core, 0);
    reset_ended = core.time();
    done = true;
  };
  const auto watching = [&]() -> task<> {
    co_await other.meet(start_);
    traffic before;
    while (!done) {
      if (const traffic now = seen(); now != before) {
        before = now;
        last_seen = other.time();
      }
      other.idle_until(other.time() + 100'000);
      co_await other.sync();
    }
  };
  core.run(resetting(home().slot));
  other.run(watching());
  far.run(work.open_far(far));
  system_->run();
  ASSERT_TRUE(done);
  ASSERT_GT(last_seen, 0U);
  // A wide margin, as other traffic may slow down what is left.
  EXPECT_LT(last_seen + 10'000'000, reset_ended);
  system_->check_drained();
  system_->context.trace.close();
}

TEST_F(flr, all_objects_are_gone_and_a_driver_finds_the_function_as_new) {
  build({"nic.total_vfs=8"}, 1);
  sender first(home(), system_->at(1), home().driver);
  device fresh(home().host, home().slot, 0, home().adapter.shared().posted,
               gid_of_ipv4(0x0a000001));
  sender second(home(), system_->at(1), fresh);
  bool done = false;
  cpu& core = home().host.core(0);
  cpu& far = system_->at(1).host.core(0);
  const auto resetting = [&](pci_bus& slot) -> task<> {
    co_await first.open(core);
    co_await first.send(core, 10);
    co_await slot.reset(core, 0);
    co_await second.open(core);
    co_await second.send(core, 10);
    done = true;
  };
  const auto far_program = [&]() -> task<> {
    co_await first.open_far(far);
    co_await second.open_far(far);
  };
  core.run(resetting(home().slot));
  far.run(far_program());
  system_->run();
  ASSERT_TRUE(done);
  EXPECT_EQ(second.qpn(), first.qpn()) << "the lowest number is free again";
  EXPECT_TRUE(second.good);
  EXPECT_EQ(second.done, 10U);
  system_->check_drained();
  system_->context.trace.close();
}

// The device has forgotten the queue: nobody would ever answer.
TEST_F(flr, commands_of_a_driver_that_outlived_it_fail_instead_of_waiting) {
  build({"nic.total_vfs=8"}, 40);
  std::vector<command_delivery> ends;
  const auto ask = [&](cpu& core) -> task<> {
    cmd_in head;
    head.opcode = command_opcode::AllocPd;
    std::array<std::uint8_t, cmd_in::Size> input{};
    head.pack(input.data());
    const command_reply reply = co_await home().driver.try_command(core, input);
    ends.push_back(reply.delivery);
  };
  run([&](pci_bus& slot, cpu& core) -> task<> {
    co_await home().driver.open(core);
    // More than there are entries, so that some wait for one.
    for (unsigned i = 1; i < 40; ++i) {
      cpu& other = home().host.core(i);
      other.run(ask(other));
    }
    co_await slot.reset(core, 0);
    co_await ask(core);
  });
  ASSERT_EQ(ends.size(), 40U);
  EXPECT_EQ(ends.back(), command_delivery::Internal);
  for (unsigned i = 1; i < 40; ++i) {
    EXPECT_FALSE(home().host.core(i).busy()) << i;
  }
}

TEST_F(flr, nobody_else_notices) {
  build({"nic.total_vfs=8"}, 2);
  device vf(home().host, home().slot, 1, home().adapter.shared().posted, gid_of_ipv4(0x0a000003));
  device_settings settings;
  settings.sriov = true;
  settings.vfs = 2;
  sriov functions(home().slot, home().driver, settings, [&](unsigned function) {
    return function == 1 ? &vf : &home().make_device(function);
  });
  sender victim(home(), system_->at(1), vf);
  sender bystander(home(), system_->at(1), home().driver);
  cpu& core = home().host.core(0);
  cpu& other = home().host.core(1);
  cpu& far = system_->at(1).host.core(0);
  unsigned at_reset = 0;
  unsigned at_end = 0;
  const auto resetting = [&](pci_bus& slot) -> task<> {
    co_await functions.open(core);
    co_await victim.open(core);
    co_await core.meet(start_);
    co_await victim.flood(core);
    at_reset = bystander.done;
    co_await slot.reset(core, 1);
    at_end = bystander.done;
  };
  const auto working = [&]() -> task<> {
    co_await bystander.open(other);
    co_await other.meet(start_);
    co_await bystander.send(other, 300);
  };
  const auto far_program = [&]() -> task<> {
    co_await victim.open_far(far);
    co_await bystander.open_far(far);
  };
  core.run(resetting(home().slot));
  other.run(working());
  far.run(far_program());
  system_->run();
  EXPECT_EQ(bystander.done, 300U);
  EXPECT_TRUE(bystander.good);
  EXPECT_GT(at_end, at_reset + 40) << "20 us of 16 KiB each 330 ns";
  EXPECT_LT(at_end, 300U) << "... and was not over before";
  EXPECT_EQ(home().adapter.counters().value_for(1, counter::FunctionResets), 1U);
  system_->check_drained();
  system_->context.trace.close();
}

}  // namespace
}  // namespace carillon
