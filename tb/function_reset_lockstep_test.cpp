// Function-level reset of a VF that works, with twins in the chip: the same run, event for event.
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "cli/subprocess.h"
#include "cosim/bench_parts.h"
#include "cosim/rtl_domain.h"
#include "host/sriov.h"
#include "tb/common/reset_bench.h"

namespace carillon {
namespace {

using bench::sender;

class flr_with_twins : public bench::bus_bench {
 protected:
  /// Two VFs ring their doorbells; one is reset meanwhile, twice, the other is not. The digest of
  /// all that the chips did.
  std::string reset_in_mid_traffic(const std::string& impl) {
    impl_ = {impl};
    make_twins_ = [](sim_context& context) {
      return std::make_unique<rtl_domain>(context, rtl_options{});
    };
    build({"nic.total_vfs=8"}, 2);
    run_digest digest(system_->context);
    device first(home().host, home().slot, 1, posted(), gid_of_ipv4(0x0a000003));
    device second(home().host, home().slot, 2, posted(), gid_of_ipv4(0x0a000004));
    device_settings settings;
    settings.sriov = true;
    settings.vfs = 2;
    sriov functions(home().slot, home().driver, settings,
                    [&](unsigned function) { return function == 1 ? &first : &second; });
    sender victim(home(), system_->at(1), first);
    sender bystander(home(), system_->at(1), second);
    cpu& core = home().host.core(0);
    cpu& other = home().host.core(1);
    cpu& far = system_->at(1).host.core(0);
    const auto resetting = [&](pci_bus& slot) -> task<> {
      co_await functions.open(core);
      co_await victim.open(core);
      co_await bystander.open(core);
      co_await core.meet(start_);
      co_await wait_us(core, 1);
      co_await slot.reset(core, 1);
      co_await slot.reset(core, 1);
    };
    const auto working = [&]() -> task<> {
      co_await other.meet(start_);
      co_await victim.trickle(other);
      co_await bystander.send(other, 50);
    };
    const auto far_program = [&]() -> task<> {
      co_await victim.open_far(far);
      co_await bystander.open_far(far);
    };
    core.run(resetting(home().slot));
    other.run(working());
    far.run(far_program());
    system_->run();
    EXPECT_EQ(bystander.done, 50U);
    EXPECT_TRUE(bystander.good);
    EXPECT_EQ(count(counter::FunctionResets), 2U);
    system_->check_drained();
    system_->context.trace.close();
    return fmt::format("{:016x} in cycle {}", digest.value(), system_->context.clock.now());
  }

 private:
  [[nodiscard]] posted_work& posted() { return home().adapter.shared().posted; }

  rendezvous start_{2};
};

TEST_F(flr_with_twins, uar_is_its_model_in_every_cycle) {
  EXPECT_FALSE(reset_in_mid_traffic("uar=lockstep").empty());
}

TEST_F(flr_with_twins, uar_in_the_models_place_writes_the_same_traces) {
  const std::string model = run_in_child([&] { return reset_in_mid_traffic("uar=model"); });
  EXPECT_EQ(reset_in_mid_traffic("uar=rtl"), model);
}

}  // namespace
}  // namespace carillon
