// What a command shows of counters does not depend on who counts first in a cycle.
#include "pcie_endpoint/counter_snapshot.h"

#include <gtest/gtest.h>

#include <systemc>

#include "common/stream_bench.h"

namespace carillon {
namespace {

using bench::run;
using bench::script;

class snapshot : public testing::TestWithParam<std::uint64_t> {
 protected:
  snapshot() {
    for (cycle_t t = 1; t < 20; ++t) {
      for (script* each : {&first, &second}) {
        each->at(t, [this](cycle_t) { counters.add_for(3, counter::RxPackets); });
      }
    }
  }

  core_clock clock{"clock", 1000, GetParam()};
  counter_block counters;
  script first{clock, "first"};
  script asking{clock, "asking"};
  script second{clock, "second"};
  counter_snapshot counted{clock, counters, "counted"};
};

TEST_P(snapshot, has_all_that_was_counted_up_to_the_end_of_its_cycle) {
  asking.at(2, [this](cycle_t t) { counted.take(t, 7); });
  std::uint64_t seen = 0;
  asking.at(8, [&](cycle_t) { seen = counted.seen().value_for(3, counter::RxPackets); });
  run(clock, 100);
  EXPECT_EQ(seen, 2U * 7) << "two a cycle, and nothing of cycle 8";
}

TEST_P(snapshot, can_be_of_the_cycle_in_which_it_is_asked_for) {
  asking.at(7, [this](cycle_t t) { counted.take(t, t); });
  std::uint64_t seen = 0;
  asking.at(8, [&](cycle_t) { seen = counted.seen().value(counter::RxPackets); });
  run(clock, 100);
  EXPECT_EQ(seen, 2U * 7);
}

INSTANTIATE_TEST_SUITE_P(orders, snapshot, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace carillon
