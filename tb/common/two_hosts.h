// Two hosts and their NICs for tests of programs: a program a host on its first core, run to the
// end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "host/sriov.h"
#include "host/vf_pool.h"

namespace carillon::bench {

inline run_point point_of(const std::string& text) {
  return parse_scenario(text, "test.toml").points.front();
}

class two_hosts {
 public:
  explicit two_hosts(const std::string& text, unsigned cores = 2)
      : point(point_of(text)), system(point, cores, {}) {}

  const run_point point;
  system_model system;

  [[nodiscard]] node& at(unsigned index) { return system.at(index); }

  [[nodiscard]] cpu& core(unsigned host, unsigned index = 0) {
    return system.at(host).host.core(index);
  }

  /// What the administrator of a host works with.
  std::unique_ptr<sriov> functions_of(unsigned host) {
    node& home = system.at(host);
    return std::make_unique<sriov>(
        home.slot, home.driver, point.devices.at(host),
        [&home](unsigned function) { return &home.make_device(function); });
  }

  /// Runs one program; true if it came to its end.
  bool run(unsigned host, task<> program) {
    bool ended = false;
    core(host).run(std::move(program), [&ended] { ended = true; });
    system.run();
    return ended;
  }

  [[nodiscard]] std::uint64_t count(counter which, unsigned host = 0) {
    return system.at(host).adapter.counters().value(which);
  }
};

}  // namespace carillon::bench
