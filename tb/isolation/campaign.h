// A run of the suite: opens the house, lets the victim's traffic run, does hostile operations in a
// seeded order, each bin as often as it must at least, and compares after each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tb/isolation/counters.h"
#include "tb/isolation/hostile.h"
#include "tb/isolation/state.h"
#include "tb/isolation/victim.h"

namespace carillon::isolation {

struct campaign_options {
  std::uint64_t seed = 1;
  std::uint64_t shuffle = 0;  ///< of the evaluation order within a cycle
  std::uint64_t operations = 0;
  unsigned least = 5;  ///< operations in every bin
  /// A part of a bin's name: no others then. For looking into one.
  std::string only;
  /// A hole, planted before the first operation, for tests of the suite.
  std::function<task<>(cpu&, tenant_house&)> sabotage;
};

struct campaign_report {
  std::vector<std::uint64_t> done;     ///< by bin
  std::vector<std::uint64_t> counted;  ///< by bin: refusals
  std::uint64_t operations = 0;
  std::uint64_t victim_messages = 0;
  std::uint64_t digest = 0;  ///< of everything that the offenders were told, counters, final state
  std::vector<std::string> failures;  ///< the first one of each bin
  std::uint64_t failed = 0;
  bool ended = false;

  /// Bin, operations, refusals counted, how it is reported.
  [[nodiscard]] std::string table() const;
};

class campaign {
 public:
  explicit campaign(const campaign_options& options);

  campaign_report run();

 private:
  task<> program(cpu& core);
  task<> attack(cpu& core);
  task<> one(cpu& core, std::size_t bin);
  task<> everything_still_works(cpu& core);
  task<> settle_first_errors(cpu& core);
  [[nodiscard]] std::vector<std::uint16_t> schedule();
  void fail(std::size_t bin, const std::string& what);

  void digest(std::uint64_t what) {
    report_.digest = (report_.digest ^ what) * 0x100000001b3ULL + 1;
  }

  const campaign_options options_;
  random_stream random_;
  tenant_house house_;
  victim_traffic victim_;
  rendezvous open_{2};
  rendezvous ready_{2};
  std::optional<tenant_state> state_;
  std::optional<counter_watch> counters_;
  campaign_report report_;
  std::size_t present_ = 0;       ///< bin
  std::set<std::size_t> failed_;  ///< bins whose first failure was told
};

}  // namespace carillon::isolation
