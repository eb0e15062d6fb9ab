// A whole NIC in a host's slot, for what the host's PCI code makes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "gen/registers.h"

namespace carillon::bench {

/// The first of two hosts, each with its NIC; the test's programs run on its cores.
class bus_bench : public testing::Test {
 protected:
  using program = std::function<task<>(pci_bus&, cpu&)>;

  void build(const std::vector<std::string>& set = {"nic.total_vfs=8"}, unsigned cores = 2) {
    scenario_overrides overrides;
    overrides.set = set;
    overrides.impl = impl_;
    const scenario what = load_scenario("scenarios/doorbell_to_wire.toml", overrides);
    system_ = std::make_unique<system_model>(what.points.front(), cores, make_twins_);
  }

  /// Runs the programs on cores 0, 1 ... of the first host until nothing is left to happen.
  void run(const std::vector<program>& programs) {
    for (unsigned i = 0; i < programs.size(); ++i) {
      cpu& core = home().host.core(i);
      core.run(programs[i](home().slot, core));
    }
    system_->run();
    for (unsigned i = 0; i < programs.size(); ++i) {
      ASSERT_FALSE(home().host.core(i).busy()) << "program " << i << " waits for ever";
    }
    system_->check_drained();
    system_->context.trace.close();
  }

  void run(const program& one) { run(std::vector<program>{one}); }

  [[nodiscard]] node& home() { return system_->at(0); }

  [[nodiscard]] std::uint64_t count(counter which) {
    return home().adapter.counters().value(which);
  }

  /// The number that the function behind this BAR0 has of itself.
  static task<std::uint64_t> number_at(cpu& core, std::uint64_t bar0) {
    co_return co_await core.load(bar0 + bar0::FunctionNumber, 4);
  }

  static task<> wait_us(cpu& core, std::uint64_t us) {
    core.idle_until(core.time() + us * 1'000'000);
    co_await core.sync();
  }

  // Before build().
  std::vector<std::string> impl_;  ///< as --impl
  std::function<std::unique_ptr<twin_host>(sim_context&)> make_twins_;

  std::unique_ptr<system_model> system_;
};

}  // namespace carillon::bench
