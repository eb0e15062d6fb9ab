// rate_control with dcqcn behind it: contexts, timers, CNPs. The rates are those of the published
// algorithm on a line of 100 Gb/s, by hand: alpha 0.5 cuts to 3/4, each period of 55 us then goes
// half of the way back.
#include "rate_control/rate_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

#include "common/congestion.h"
#include "common/fixed_point.h"
#include "dcqcn/dcqcn.h"
#include "tb/common/stage_bench.h"

namespace carillon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t Qpn = 0x42;
constexpr cycle_t Us = 1000;  // cycles

/// So many sixteenths of the line's 12.5 bytes a nanosecond.
constexpr wire_rate sixteenths(std::uint32_t count) {
  return (25U << 19) * count;
}

parameters paper() {
  parameters params;
  params.wire.rate_gbps = 100;
  params.dcqcn.rule = dcqcn_rule::Paper;
  params.dcqcn.alpha = 0.5;
  return params;
}

class bench_of_rates : private bench::stage_bench {
 public:
  explicit bench_of_rates(const parameters& params = paper(), std::uint64_t shuffle = 0)
      : stage_bench(shuffle, params) {}

  using stage_bench::count;
  using stage_bench::run;

  void cnp(cycle_t at, std::uint32_t qpn = Qpn) {
    congestion_note note;
    note.kind = note_kind::cnp;
    note.qpn = qpn;
    responses_.at(at, note, 1, false);
  }

  void mark(cycle_t at, std::uint32_t qpn = Qpn, std::uint64_t address = 1) {
    congestion_note note;
    note.qpn = qpn;
    note.address_low = address;
    requests_.at(at, note, 1, false);
  }

  void charge(cycle_t at, std::uint32_t bytes, std::uint16_t slot = 0, std::uint32_t qpn = Qpn) {
    charges_.at(at, {{}, slot, qpn, bytes}, 1, false);
  }

  void command(cycle_t at, rate_command_kind kind, std::uint32_t qpn = Qpn,
               rate_op op = rate_op::Current, std::uint32_t value = 0) {
    rate_command item;
    item.kind = kind;
    item.qpn = qpn;
    item.op = op;
    item.value = value;
    commands_.at(at, item, 1, false);
  }

  void modify(cycle_t at, const roce_ecn_rp& parameters) {
    rate_command item;
    item.kind = rate_command_kind::reaction;
    item.rp = parameters;
    commands_.at(at, item, 1, false);
  }

  /// What tx_sched was told of the QP's rate.
  [[nodiscard]] std::vector<wire_rate> rates(std::uint32_t qpn = Qpn) const {
    std::vector<wire_rate> result;
    for (const auto& each : limits_.items) {
      if (each.item.kind == limit_kind::rate && each.item.qpn == qpn) {
        result.push_back(each.item.rate);
      }
    }
    return result;
  }

  /// When it was told.
  [[nodiscard]] std::vector<cycle_t> times(limit_kind kind = limit_kind::rate) const {
    std::vector<cycle_t> result;
    for (const auto& each : limits_.items) {
      if (each.item.kind == kind) {
        result.push_back(each.visible);
      }
    }
    return result;
  }

  [[nodiscard]] const auto& values() const { return values_.items; }

 private:
  stream<rate_command>& to_commands_ = port<rate_command>("commands");
  stream<congestion_note>& to_requests_ = port<congestion_note>("requests");
  stream<congestion_note>& to_responses_ = port<congestion_note>("responses");
  stream<rate_charge>& to_charges_ = port<rate_charge>("charges");
  stream<rate_slice_item>& slices_ = port<rate_slice_item>("slices");
  stream<rate_update_item>& updates_ = port<rate_update_item>("updates");
  stream<rate_limit>& to_limits_ = port<rate_limit>("limits");
  stream<rate_value>& to_values_ = port<rate_value>("values");
  rate_control control_{"nic_rate_control",
                        nic,
                        {to_commands_, to_requests_, to_responses_, to_charges_, updates_, slices_,
                         to_limits_, to_values_}};
  dcqcn machine_{"nic_dcqcn", nic, {slices_, updates_}};
  bench::source<rate_command> commands_{"commands", *this, to_commands_};
  bench::source<congestion_note> requests_{"requests", *this, to_requests_};
  bench::source<congestion_note> responses_{"responses", *this, to_responses_};
  bench::source<rate_charge> charges_{"charges", *this, to_charges_};
  bench::sink<rate_limit> limits_{"limits", *this, to_limits_};
  bench::sink<rate_value> values_{"values", *this, to_values_};
};

TEST(rate_control, tells_nothing_of_a_qp_without_a_cnp) {
  bench_of_rates b;
  b.mark(100);
  b.run(200 * Us);
  EXPECT_THAT(b.rates(), IsEmpty());
  EXPECT_THAT(b.values(), IsEmpty());
}

TEST(rate_control, a_cnp_gives_the_qp_a_rate) {
  bench_of_rates b;
  b.cnp(Us);
  b.run(2 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12)));
  ASSERT_EQ(b.values().size(), 2U);  // that of the start, and the cut
  EXPECT_EQ(b.values().back().item.current, sixteenths(12));
  EXPECT_EQ(b.values().back().item.target, sixteenths(16));
  EXPECT_EQ(b.count(counter::RpCnpHandled), 1U);
}

/// The CNP comes at 1 us; the timer of 55 us raises at 56 and 111 us, however long nothing else
/// happens.
TEST(rate_control, raises_the_rate_when_the_timer_is_due) {
  bench_of_rates b;
  b.cnp(Us);
  b.run(112 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12), sixteenths(14), sixteenths(15)));
  const std::vector<cycle_t> at = b.times();
  EXPECT_NEAR(static_cast<double>(at[1]), 56 * Us, 30);
  EXPECT_NEAR(static_cast<double>(at[2]), 111 * Us, 30);
}

TEST(rate_control, bytes_raise_the_rate_when_the_counter_is_full) {
  parameters params = paper();
  params.dcqcn.byte_counter = 10'000;
  bench_of_rates b(params);
  b.cnp(Us);
  b.charge(2 * Us, 4178);
  b.charge(3 * Us, 4178);
  b.charge(4 * Us, 4178);
  b.run(5 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12), sixteenths(14)));
  EXPECT_NEAR(static_cast<double>(b.times()[1]), 4 * Us, 30);
}

/// All are counted although dcqcn takes one slice of a QP at a time.
TEST(rate_control, bytes_that_come_faster_than_slices_are_all_counted) {
  parameters params = paper();
  params.dcqcn.byte_counter = 10'000;
  bench_of_rates b(params);
  b.cnp(Us);
  for (unsigned i = 0; i < 99; ++i) {
    b.charge(2 * Us + i, 100);
  }
  b.charge(4 * Us, 99);
  b.charge(5 * Us, 1);
  b.run(6 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12), sixteenths(14)));
  EXPECT_NEAR(static_cast<double>(b.times()[1]), 5 * Us, 30);
}

TEST(rate_control, a_reset_ends_the_rate) {
  bench_of_rates b;
  b.cnp(Us);
  b.command(2 * Us, rate_command_kind::forget);
  b.charge(3 * Us, 100);  // was on its way
  b.run(200 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12), 0U));
  EXPECT_EQ(b.values().back().item.current, 0U);
}

TEST(rate_control, a_reset_while_dcqcn_works_on_the_qp_ends_the_rate_too) {
  bench_of_rates b;
  b.cnp(Us);
  b.cnp(2 * Us);
  b.command(2 * Us + 4, rate_command_kind::forget);
  b.cnp(3 * Us);  // of its next life, in which alpha begins anew
  b.run(4 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(12), 0U, sixteenths(12)));
}

TEST(rate_control, a_written_rate_holds_until_something_happens) {
  bench_of_rates b;
  b.command(Us, rate_command_kind::write, Qpn, rate_op::Current, sixteenths(4));
  b.run(2 * Us);
  EXPECT_THAT(b.rates(), ElementsAre(sixteenths(4)));
}

/// The vendor cuts at the end of the monitor period of 4 us, and at once if there is none.
TEST(rate_control, modified_parameters_hold_for_the_next_cnp) {
  parameters params = paper();
  params.dcqcn.rule = dcqcn_rule::Vendor;
  roce_ecn_rp at_once = reaction_parameters(params);
  at_once.rate_reduce_monitor_period = 0;
  bench_of_rates b(params);
  b.cnp(Us);
  b.modify(20 * Us, at_once);
  b.cnp(30 * Us, Qpn + 1);
  b.run(31 * Us);
  ASSERT_EQ(b.rates().size(), 1U);
  ASSERT_EQ(b.rates(Qpn + 1).size(), 1U);
  const std::vector<cycle_t> at = b.times();
  // Four periods of alpha are over by then, and take a slice each.
  EXPECT_NEAR(static_cast<double>(at[0]), 5 * Us, 50);
  EXPECT_NEAR(static_cast<double>(at[1]), 30 * Us, 30);
}

// Contexts
// ---------------------------------------------------------------------------------------

TEST(rate_control, the_257th_qp_gets_no_rate) {
  bench_of_rates b;
  for (std::uint32_t i = 0; i < 257; ++i) {
    b.cnp(Us + 10 * i, Qpn + i);
  }
  b.run(10 * Us);
  EXPECT_EQ(b.count(counter::RpCnpHandled), 256U);
  EXPECT_EQ(b.count(counter::RpCnpIgnored), 1U);
  EXPECT_EQ(b.count(counter::RpContextsExhausted), 1U);
  EXPECT_THAT(b.rates(Qpn + 255), ElementsAre(sixteenths(12)));
  EXPECT_THAT(b.rates(Qpn + 256), IsEmpty());
}

/// With a timer of 1 us the halves of the way back end within 30 us.
TEST(rate_control, a_qp_at_the_highest_rate_makes_room) {
  parameters params = paper();
  params.dcqcn.rate_timer_us = 1;
  bench_of_rates b(params);
  for (std::uint32_t i = 0; i < 256; ++i) {
    b.cnp(Us + 10 * i, Qpn + i);
  }
  b.cnp(60 * Us, Qpn + 256);
  b.run(60 * Us + 500);
  EXPECT_EQ(b.rates(Qpn).back(), 0U);
  EXPECT_EQ(b.count(counter::RpCnpHandled), 257U);
  EXPECT_THAT(b.rates(Qpn + 256), ElementsAre(sixteenths(12)));
}

TEST(rate_control, a_qp_that_was_reset_makes_room) {
  bench_of_rates b;
  for (std::uint32_t i = 0; i < 256; ++i) {
    b.cnp(Us + 10 * i, Qpn + i);
  }
  b.command(10 * Us, rate_command_kind::forget, Qpn + 7);
  b.cnp(11 * Us, Qpn + 256);
  b.run(12 * Us);
  EXPECT_THAT(b.rates(Qpn + 256), ElementsAre(sixteenths(12)));
}

TEST(rate_control, a_qp_with_a_written_register_makes_no_room) {
  bench_of_rates b;
  for (std::uint32_t i = 0; i < 256; ++i) {
    b.command(Us + 10 * i, rate_command_kind::write, Qpn + i, rate_op::Slope, 1000);
  }
  b.cnp(10 * Us, Qpn + 256);
  b.run(12 * Us);
  EXPECT_EQ(b.count(counter::RpCnpIgnored), 1U);
}

// The notification point
// -------------------------------------------------------------------------

std::vector<cycle_t> cnps_of(dcqcn_cnp_scope scope) {
  parameters params = paper();
  params.dcqcn.cnp_scope = scope;
  params.dcqcn.min_time_between_cnps = 4;
  bench_of_rates b(params);
  b.mark(Us, 1, 10);
  b.mark(Us + 100, 2, 10);
  b.mark(Us + 200, 1, 10);
  b.mark(Us + 300, 3, 11);
  b.mark(5 * Us - 1, 1, 10);
  b.mark(5 * Us + 400, 1, 10);
  b.run(7 * Us);
  std::vector<cycle_t> result = b.times(limit_kind::cnp);
  for (cycle_t& each : result) {
    each -= 2;  // a cycle of the stream's, one of the stage's
  }
  return result;
}

TEST(rate_control, each_qp_gets_a_cnp_an_interval) {
  EXPECT_THAT(cnps_of(dcqcn_cnp_scope::Qp), ElementsAre(Us, Us + 100, Us + 300, 5 * Us + 400));
}

TEST(rate_control, each_destination_gets_a_cnp_an_interval) {
  EXPECT_THAT(cnps_of(dcqcn_cnp_scope::Destination), ElementsAre(Us, Us + 300, 5 * Us + 400));
}

TEST(rate_control, the_port_sends_a_cnp_an_interval) {
  EXPECT_THAT(cnps_of(dcqcn_cnp_scope::Port), ElementsAre(Us, 5 * Us + 400));
}

TEST(rate_control, a_new_interval_counts_from_the_next_mark_on) {
  bench_of_rates b;
  b.mark(Us);
  b.command(Us + 10, rate_command_kind::notification);  // an interval of 0
  b.mark(Us + 20);
  b.mark(Us + 30);
  b.run(2 * Us);
  EXPECT_EQ(b.times(limit_kind::cnp).size(), 3U);
}

}  // namespace
}  // namespace carillon
