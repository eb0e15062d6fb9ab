// Reads of host memory that go wrong, for each kind of read: what its client is told, that its tag
// serves again, that nobody else notices and that it is counted.
#include "host/pcie_faults.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tb/common/pcie_bench.h"

namespace carillon {
namespace {

using bench::chain_of;
using bench::pcie_bench;
using bench::reader;
using bench::waited_for;

// The shortest time-out that PCIe allows: 50 us, which are 50,000 cycles.
constexpr cycle_t Timeout = 50'000;

parameters impatient() {
  parameters params;
  params.pcie.completion_timeout_ps = Timeout * 1000;
  return params;
}

// Every fault for every kind of read --------------------------------------------------------------

struct kind_of_read {
  read_kind kind;
  const char* client;
  std::uint32_t bytes;
};

/// What the NIC reads of a host: send WQEs, payload, doorbell records, receive WQEs, the operand of
/// an atomic, consumer indices.
constexpr kind_of_read Kinds[] = {
    {read_kind::wqe, "wqe_fetch", 64},         {read_kind::record, "wqe_fetch", 4},
    {read_kind::payload, "payload_dma", 700},  {read_kind::record, "responder", 4},
    {read_kind::receive_wqe, "responder", 32}, {read_kind::atomic, "responder", 8},
    {read_kind::cq_record, "completion", 8},   {read_kind::context, "qpc_ram", 64},
};

struct consequence {
  read_fault fault;
  dma_status status;
  unsigned errors;    ///< dma_errors
  unsigned timeouts;  ///< dma_timeouts
  bool unexpected;    ///< pcie_rx_unexpected_completions counts
  bool poisoned;      ///< pcie_rx_poisoned counts
};

constexpr consequence Faults[] = {
    {read_fault::unsupported_request, dma_status::unsupported_request, 1, 0, false, false},
    {read_fault::completer_abort, dma_status::completer_abort, 1, 0, false, false},
    {read_fault::poisoned, dma_status::poisoned, 1, 0, false, true},
    {read_fault::never, dma_status::timeout, 1, 1, false, false},
    {read_fault::stray, dma_status::ok, 0, 0, true, false},
    {read_fault::late, dma_status::timeout, 1, 1, true, false},
};

class pcie_fault_matrix
    : public testing::TestWithParam<std::tuple<kind_of_read, consequence, int>> {};

TEST_P(pcie_fault_matrix, the_client_is_told_and_everybody_else_goes_on) {
  const auto& [kind, expected, shuffle] = GetParam();
  pcie_bench pcie(static_cast<std::uint64_t>(shuffle), impatient());
  pcie.fill_memory(0, 0x10000, 3);
  read_fault_rule rule;
  rule.fault = expected.fault;
  rule.kind = kind.kind;
  rule.first = rule.last = 0x1000;
  rule.nth = 1;
  rule.delay = 60'000'000;  // of a late answer: longer than the time-out
  pcie.host.inject(rule);

  reader& client = pcie.by_name(kind.client);
  const dma_read bad = pcie.read(0x1000, kind.bytes, 1);
  const dma_read next = pcie.read(0x1000, kind.bytes, 2);
  client.ask->at(10, dma_read(bad));
  std::vector<dma_read> others;
  for (reader* each : pcie.readers()) {
    others.push_back(pcie.read(0x4000, 500, 3));
    each->ask->at(20, dma_read(others.back()));
  }
  client.ask->at(120'000, dma_read(next));
  pcie.bench.run(200'000);

  unsigned answered = 0;
  for (const auto& each : client.answers->items) {
    answered += each.item.cookie == 1 ? 1 : 0;
    EXPECT_EQ(each.item.status, each.item.cookie == 1 ? expected.status : dma_status::ok)
        << each.item.cookie;
  }
  EXPECT_EQ(answered, 1U);
  EXPECT_EQ(client.answers->items.size(), 3U);
  if (expected.status == dma_status::ok) {
    EXPECT_TRUE(pcie.holds(bad.into, 0x1000, kind.bytes));
  } else {
    EXPECT_TRUE(pcie.untouched(bad.into)) << "bad data is not used";
  }
  EXPECT_TRUE(pcie.holds(next.into, 0x1000, kind.bytes));
  for (const dma_read& each : others) {
    EXPECT_TRUE(pcie.holds(each.into, 0x4000, 500));
  }
  EXPECT_EQ(pcie.host.injected(), 1U);
  EXPECT_EQ(pcie.bench.count(counter::DmaReads), 2U + others.size());
  EXPECT_EQ(pcie.bench.count(counter::DmaErrors), expected.errors);
  EXPECT_EQ(pcie.bench.count(counter::DmaTimeouts), expected.timeouts);
  EXPECT_EQ(pcie.bench.count(counter::PcieRxUnexpectedCompletions) != 0, expected.unexpected);
  EXPECT_EQ(pcie.bench.count(counter::PcieRxPoisoned) != 0, expected.poisoned);
  EXPECT_EQ(pcie.bench.tlps.in_use(), 0U);
  pcie.finish();
}

INSTANTIATE_TEST_SUITE_P(kinds, pcie_fault_matrix,
                         testing::Combine(testing::ValuesIn(Kinds), testing::ValuesIn(Faults),
                                          testing::Values(0, 77)));

// A fault frees the tag: with one tag in all, the next read waits for it.
class pcie_one_tag : public testing::TestWithParam<read_fault> {};

TEST_P(pcie_one_tag, a_failed_read_gives_its_tag_to_the_next) {
  parameters params = impatient();
  params.pcie.tags = 1;
  pcie_bench pcie(0, params);
  pcie.host.fail_reads(0x1000, 4096, GetParam(), 1);
  pcie.payload.ask->at(10, pcie.read(0x1000, 700, 1));
  pcie.payload.ask->at(11, pcie.read(0x1000, 700, 2));
  pcie.bench.run(1000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 2U);
  EXPECT_NE(pcie.payload.answers->items[0].item.status, dma_status::ok);
  EXPECT_EQ(pcie.payload.answers->items[1].item.status, dma_status::ok);
  pcie.finish();
}

INSTANTIATE_TEST_SUITE_P(faults, pcie_one_tag,
                         testing::Values(read_fault::unsupported_request,
                                         read_fault::completer_abort, read_fault::poisoned));

// The completion time-out -------------------------------------------------------------------------

class pcie_timeout : public testing::TestWithParam<int> {
 protected:
  pcie_bench& make(const parameters& params = impatient()) {
    made_ = std::make_unique<pcie_bench>(static_cast<std::uint64_t>(GetParam()), params);
    return *made_;
  }

 private:
  std::unique_ptr<pcie_bench> made_;
};

TEST_P(pcie_timeout, a_read_ends_in_the_first_cycle_after_its_time_and_its_wait_has_a_name) {
  pcie_bench& pcie = make();
  pcie.host.fail_reads(0x1000, 64, read_fault::never);
  pcie.fetch.ask->at(10, pcie.read(0x1000, 64, 1));  // visible and sent in 11
  pcie.bench.run(200'000);
  ASSERT_EQ(pcie.fetch.answers->items.size(), 1U);
  const auto& answer = pcie.fetch.answers->items[0];
  EXPECT_EQ(answer.item.status, dma_status::timeout);
  EXPECT_EQ(answer.visible, 11 + Timeout + 1 + 2);
  const tracer& trace = pcie.bench.context.trace;
  EXPECT_EQ(waited_for(trace, answer.item.trace, "completion_timeout"), (Timeout + 1) * 1000);
  const auto chain = chain_of(trace, answer.item.trace);
  ASSERT_FALSE(chain.empty());
  EXPECT_EQ(trace.name(chain.back().row), "wqe_fetch");
  EXPECT_EQ(pcie.host.stats().unanswered, 1U);
  pcie.finish();
}

TEST_P(pcie_timeout, reads_that_leave_in_a_row_end_in_a_row) {
  pcie_bench& pcie = make();
  pcie.host.fail_reads(0x1000, 64, read_fault::never);
  for (std::uint64_t i = 0; i < 20; ++i) {
    pcie.fetch.ask->at(10, pcie.read(0x1000, 64, i));
  }
  pcie.bench.run(200'000);
  ASSERT_EQ(pcie.fetch.answers->items.size(), 20U);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(pcie.fetch.answers->items[i].item.cookie, i);
    EXPECT_EQ(pcie.fetch.answers->items[i].item.status, dma_status::timeout);
    EXPECT_EQ(pcie.fetch.answers->items[i].visible, 11 + i + Timeout + 1 + 2);
  }
  EXPECT_EQ(pcie.bench.count(counter::DmaTimeouts), 20U);
  pcie.finish();
}

TEST_P(pcie_timeout, an_answered_request_of_a_read_waits_for_the_one_that_is_given_up) {
  parameters params = impatient();
  params.pcie.mrrs = 128;
  pcie_bench& pcie = make(params);
  pcie.fill_memory(0x1000, 384, 1);
  pcie.host.fail_reads(0x1080, 128, read_fault::never);
  const dma_read read = pcie.read(0x1000, 384, 1);
  pcie.payload.ask->at(10, dma_read(read));
  pcie.bench.run(200'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 1U);
  EXPECT_EQ(pcie.payload.answers->items[0].item.status, dma_status::timeout);
  EXPECT_GT(pcie.payload.answers->items[0].cycle, Timeout);
  EXPECT_EQ(pcie.bench.count(counter::DmaErrors), 1U) << "once a read";
  pcie.finish();
}

TEST_P(pcie_timeout, the_first_error_of_a_read_is_its_status) {
  parameters params = impatient();
  params.pcie.mrrs = 128;
  pcie_bench& pcie = make(params);
  pcie.host.fail_reads(0x1000, 128, read_fault::never);
  pcie.host.fail_reads(0x1080, 128, read_fault::completer_abort);
  pcie.host.fail_reads(0x1100, 128, read_fault::unsupported_request);
  pcie.payload.ask->at(10, pcie.read(0x1000, 384, 1));
  pcie.bench.run(200'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 1U);
  EXPECT_EQ(pcie.payload.answers->items[0].item.status, dma_status::completer_abort);
  EXPECT_EQ(pcie.bench.count(counter::DmaErrors), 1U);
  pcie.finish();
}

TEST_P(pcie_timeout, a_lost_tag_serves_again_when_the_late_answer_has_come) {
  parameters params = impatient();
  params.pcie.tags = 1;
  pcie_bench& pcie = make(params);
  pcie.fill_memory(0x1000, 2048, 4);
  read_fault_rule rule;
  rule.fault = read_fault::late;
  rule.nth = 1;
  rule.delay = 70'000'000;
  pcie.host.inject(rule);
  const dma_read next = pcie.read(0x1000, 2048, 2);
  pcie.payload.ask->at(10, pcie.read(0x1000, 2048, 1));
  pcie.payload.ask->at(60'000, dma_read(next));
  pcie.bench.run(300'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 2U);
  EXPECT_EQ(pcie.payload.answers->items[0].item.status, dma_status::timeout);
  EXPECT_EQ(pcie.payload.answers->items[1].item.status, dma_status::ok);
  EXPECT_TRUE(pcie.holds(next.into, 0x1000, 2048));
  // The answer comes some 125 cycles and 70 us after the request; the next read takes as long.
  EXPECT_NEAR(static_cast<double>(pcie.payload.answers->items[1].cycle), 70'000 + 2 * 160, 60);
  // Four completions of 512 bytes for nobody.
  EXPECT_EQ(pcie.bench.count(counter::PcieRxUnexpectedCompletions), 4U);
  pcie.finish();
}

TEST_P(pcie_timeout, a_lost_tag_without_any_answer_rests_for_a_second_time_out) {
  parameters params = impatient();
  params.pcie.tags = 1;
  pcie_bench& pcie = make(params);
  pcie.host.fail_reads(0x1000, 64, read_fault::never, 1);
  pcie.payload.ask->at(10, pcie.read(0x1000, 64, 1));
  pcie.payload.ask->at(60'000, pcie.read(0x1000, 64, 2));
  pcie.bench.run(300'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 2U);
  EXPECT_EQ(pcie.payload.answers->items[1].item.status, dma_status::ok);
  // Given up in 11 + Timeout + 1, rested in the first cycle after another time-out; a read of 64
  // bytes takes 121 to 126 cycles.
  EXPECT_NEAR(static_cast<double>(pcie.payload.answers->items[1].cycle),
              static_cast<double>(11 + 2 * (Timeout + 1) + 124), 4);
  EXPECT_EQ(
      waited_for(pcie.bench.context.trace, pcie.payload.answers->items[1].item.trace, "pcie_tag"),
      (11 + 2 * (Timeout + 1) - 60'001) * 1000);
  pcie.finish();
}

TEST_P(pcie_timeout, another_tag_is_taken_before_a_lost_one) {
  parameters params = impatient();
  params.pcie.tags = 2;
  pcie_bench& pcie = make(params);
  pcie.host.fail_reads(0x1000, 64, read_fault::never, 1);
  pcie.payload.ask->at(10, pcie.read(0x1000, 64, 1));
  for (std::uint64_t i = 0; i < 5; ++i) {
    pcie.payload.ask->at(60'000 + 500 * i, pcie.read(0x2000, 64, 2 + i));
  }
  pcie.bench.run(300'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 6U);
  // None waited: a read takes 126 cycles.
  EXPECT_LT(pcie.payload.answers->items[5].cycle, 62'130U);
  pcie.finish();
}

TEST_P(pcie_timeout, more_lost_tags_than_there_are_do_not_stop_the_engine) {
  parameters params = impatient();
  params.pcie.tags = 4;
  pcie_bench& pcie = make(params);
  pcie.host.fail_reads(0x1000, 64, read_fault::never, 10);
  for (std::uint64_t i = 0; i < 12; ++i) {
    pcie.payload.ask->at(10, pcie.read(0x1000, 64, i));
  }
  pcie.bench.run(1'000'000);
  ASSERT_EQ(pcie.payload.answers->items.size(), 12U);
  EXPECT_EQ(pcie.bench.count(counter::DmaTimeouts), 10U);
  for (const auto& each : pcie.payload.answers->items) {
    EXPECT_EQ(each.item.status, each.item.cookie < 10 ? dma_status::timeout : dma_status::ok);
  }
  pcie.finish();
}

TEST_P(pcie_timeout, one_timer_serves_all_reads_and_does_not_prolong_the_run) {
  parameters params = impatient();
  params.pcie.rc_credits_nph = 255;
  pcie_bench& pcie = make(params);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    pcie.fetch.ask->at(10 + 10 * i, pcie.read(0x1000, 64, i));
  }
  pcie.bench.run(300'000);
  ASSERT_EQ(pcie.fetch.answers->items.size(), 1000U);
  // The root complex has two a read: data sampled, completions ready. One timer, which expires when
  // all is long over.
  EXPECT_EQ(pcie.bench.context.line.callbacks(), 2 * 1000 + 1U);
  EXPECT_LT(pcie.bench.context.line.last(), 10'200'000U);
  EXPECT_EQ(pcie.bench.count(counter::DmaTimeouts), 0U);
  pcie.finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, pcie_timeout, testing::Values(0, 77));

// Rules -------------------------------------------------------------------------------------------

class pcie_rules : public testing::Test {
 protected:
  /// The numbers of the reads, from 1 on, that the rules hit.
  std::vector<unsigned> hit(const std::vector<read_fault_rule>& rules, unsigned reads,
                            byte_range range = {0x1000, 64}, const char* row = "wqe_fetch",
                            std::uint64_t seed = 1) {
    pcie_faults faults(trace, seed, "host0.root_complex");
    for (const read_fault_rule& each : rules) {
      faults.add(each);
    }
    std::vector<unsigned> result;
    for (unsigned i = 1; i <= reads; ++i) {
      if (faults.pick(range, trace.intern(row)) != nullptr) {
        result.push_back(i);
      }
    }
    EXPECT_EQ(faults.hits(), result.size());
    return result;
  }

  tracer trace;
  read_fault_rule rule;
};

using numbers = std::vector<unsigned>;

TEST_F(pcie_rules, a_rule_that_says_nothing_hits_every_read) {
  EXPECT_EQ(hit({rule}, 3), (numbers{1, 2, 3}));
}

TEST_F(pcie_rules, the_nth_read_is_hit_and_no_other) {
  rule.nth = 3;
  EXPECT_EQ(hit({rule}, 9), (numbers{3}));
}

TEST_F(pcie_rules, every_nth_read_is_hit) {
  rule.every = 3;
  EXPECT_EQ(hit({rule}, 10), (numbers{3, 6, 9}));
}

TEST_F(pcie_rules, with_both_the_nth_is_the_first) {
  rule.nth = 2;
  rule.every = 3;
  EXPECT_EQ(hit({rule}, 10), (numbers{2, 5, 8}));
}

TEST_F(pcie_rules, count_is_the_end) {
  rule.every = 2;
  rule.count = 2;
  EXPECT_EQ(hit({rule}, 10), (numbers{2, 4}));
}

TEST_F(pcie_rules, a_probability_hits_its_share_and_the_same_reads_for_the_same_seed) {
  rule.probability = 0.25;
  const numbers once = hit({rule}, 4000);
  // Binomial: 1000 expected, standard deviation 27.
  EXPECT_NEAR(static_cast<double>(once.size()), 1000, 4 * 27.4);
  EXPECT_EQ(hit({rule}, 4000), once);
  EXPECT_NE(hit({rule}, 4000, {0x1000, 64}, "wqe_fetch", 2), once) << "another seed";
}

TEST_F(pcie_rules, a_read_that_touches_the_addresses_is_meant) {
  rule.first = 0x1010;
  rule.last = 0x101f;
  EXPECT_EQ(hit({rule}, 1, {0x1000, 0x10}), numbers{});
  EXPECT_EQ(hit({rule}, 1, {0x1000, 0x11}), numbers{1});
  EXPECT_EQ(hit({rule}, 1, {0x101f, 4}), numbers{1});
  EXPECT_EQ(hit({rule}, 1, {0x1020, 4}), numbers{});
}

TEST_F(pcie_rules, a_length_is_that_of_the_request) {
  rule.min_bytes = 16;
  rule.max_bytes = 64;
  EXPECT_EQ(hit({rule}, 1, {0x1000, 15}), numbers{});
  EXPECT_EQ(hit({rule}, 1, {0x1000, 16}), numbers{1});
  EXPECT_EQ(hit({rule}, 1, {0x1000, 64}), numbers{1});
  EXPECT_EQ(hit({rule}, 1, {0x1000, 65}), numbers{});
}

TEST_F(pcie_rules, kinds_are_told_apart_by_account_and_length) {
  for (const kind_of_read& meant : Kinds) {
    rule.kind = meant.kind;
    for (const kind_of_read& read : Kinds) {
      EXPECT_EQ(hit({rule}, 1, {0x1000, read.bytes}, read.client).size(),
                meant.kind == read.kind ? 1U : 0U)
          << meant.client << " " << meant.bytes << ", " << read.client << " " << read.bytes;
    }
  }
}

TEST_F(pcie_rules, the_first_rule_that_hits_decides_and_the_others_count_all_the_same) {
  rule.nth = 2;
  read_fault_rule second;
  second.fault = read_fault::poisoned;
  second.nth = 3;
  EXPECT_EQ(hit({rule, second}, 5), (numbers{2, 3}));
  pcie_faults faults(trace, 1, "x");
  rule.nth = 0;
  faults.add(rule);
  faults.add(second);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(faults.pick({0, 4}, 0)->fault, read_fault::unsupported_request);
  }
}

}  // namespace
}  // namespace carillon
