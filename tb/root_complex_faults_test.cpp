// What can go wrong at the root complex, by itself and on purpose; what relaxed ordering lets pass.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "host/root_complex.h"
#include "tb/common/root_complex_bench.h"

namespace carillon {
namespace {

using bench::host_parameters;
using bench::root_complex_test;
using bytes = std::vector<std::uint8_t>;
using lines = std::vector<std::string>;

// What can go wrong -------------------------------------------------------------------------------

TEST_F(root_complex_test, addresses_outside_memory_are_unsupported) {
  build();
  steps->at(1000, [&] {
    device->port.send(read(0x1'0000'0000, 64, 3));
    device->port.send(write(0x1'0000'0000, {1, 2, 3, 4}));
  });
  run();
  ASSERT_EQ(device->seen.size(), 1U);
  EXPECT_EQ(device->seen[0].header.status, completion_status::UnsupportedRequest);
  EXPECT_FALSE(device->seen[0].header.has_data);
  EXPECT_EQ(device->seen[0].header.tag, 3);
  EXPECT_EQ(host->stats().unsupported, 2U);
}

TEST_F(root_complex_test, reads_fail_as_the_test_wants) {
  build();
  host->fail_reads(0x1000, 0x1000, read_fault::unsupported_request);
  host->fail_reads(0x2000, 0x1000, read_fault::completer_abort);
  host->fail_reads(0x3000, 0x1000, read_fault::poisoned, 1);
  steps->at(1000, [&] {
    device->port.send(read(0x1ffc, 4, 1));
    device->port.send(read(0x2000, 4, 2));
    device->port.send(read(0x3000, 4, 3));
    device->port.send(read(0x3000, 4, 4));
  });
  run();
  ASSERT_EQ(device->seen.size(), 4U);
  EXPECT_EQ(device->seen[0].header.status, completion_status::UnsupportedRequest);
  EXPECT_EQ(device->seen[1].header.status, completion_status::CompleterAbort);
  EXPECT_TRUE(device->seen[2].header.poisoned);
  EXPECT_EQ(device->seen[2].header.status, completion_status::Success);
  EXPECT_FALSE(device->seen[3].header.poisoned);
}

TEST_F(root_complex_test, a_read_can_stay_unanswered) {
  build();
  host->fail_reads(0x1000, 4, read_fault::never);
  steps->at(1000, [&] { device->port.send(read(0x1000, 4, 1)); });
  run();
  EXPECT_TRUE(device->seen.empty());
  EXPECT_EQ(host->stats().unanswered, 1U);
  checker->finish();
  EXPECT_EQ(checker->violations(), (lines{"leftover: the request with tag 1 is not answered"}));
}

TEST_F(root_complex_test, a_completion_that_nobody_asked_for_is_counted) {
  build();
  steps->at(1000, [&] {
    tlp* packet = pool.take();
    make_completion(*packet, 0x100, 0, 77, completion_status::Success, 4, 0, nullptr, 4);
    device->port.send(packet);
  });
  sc_core::sc_start();
  EXPECT_EQ(host->stats().unexpected_completions, 1U);
  EXPECT_EQ(checker->violations(), (lines{"completion: nobody asked with tag 77"}));
}

TEST_F(root_complex_test, a_late_answer_comes_when_its_delay_is_over_and_others_pass_it) {
  build();
  read_fault_rule rule;
  rule.fault = read_fault::late;
  rule.nth = 1;
  rule.delay = 1'000'000;
  host->inject(rule);
  trace_ref message;
  steps->at(1000, [&] {
    message = context->trace.open(1000, {});
    tlp* packet = read(0x1000, 64, 1);
    packet->trace = message;
    device->port.send(packet);
    device->port.send(read(0x2000, 64, 2));
  });
  run();
  ASSERT_EQ(device->seen.size(), 2U);
  EXPECT_EQ(device->seen[0].header.tag, 2);
  EXPECT_EQ(device->seen[1].header.tag, 1);
  // Without the fault it were told in 186,000.
  EXPECT_EQ(device->seen[1].told, 1'186'000U);
  EXPECT_EQ(story(device->seen[1].trace)[5], "root_complex wait fault 1186000");
  EXPECT_EQ(host->injected(), 1U);
}

TEST_F(root_complex_test, a_stray_completion_comes_before_the_answer) {
  build();
  read_fault_rule rule;
  rule.fault = read_fault::stray;
  host->inject(rule);
  steps->at(1000, [&] { device->port.send(read(0x1000, 64, 1)); });
  sc_core::sc_start();
  ASSERT_EQ(device->seen.size(), 2U);
  EXPECT_EQ(device->seen[0].header.tag, 0x3ff);
  EXPECT_EQ(device->seen[1].header.tag, 1);
  EXPECT_EQ(checker->violations(), (lines{"completion: nobody asked with tag 1023"}));
}

TEST_F(root_complex_test, random_pieces_leave_in_the_order_of_their_addresses_read_by_read) {
  parameters params = host_parameters();
  params.pcie.completion_split = pcie_completion_split::Random;
  build(params);  // the checker of the link knows the rules
  for (std::uint16_t tag = 1; tag <= 20; ++tag) {
    steps->at(1000, [this, tag] { device->port.send(read(0x1000 + 3U * tag, 2000, tag)); });
  }
  run();
  unsigned changes = 0;
  for (std::size_t i = 1; i < device->seen.size(); ++i) {
    changes += device->seen[i].header.tag != device->seen[i - 1].header.tag ? 1 : 0;
  }
  EXPECT_GT(device->seen.size(), 20U * 4) << "more pieces than the largest fit";
  EXPECT_GT(changes, 40U) << "twice as many as if each read came in one go";
}

// Relaxed ordering --------------------------------------------------------------------------------

parameters slow_and_fast_memory() {
  parameters params = host_parameters();
  params.host.ddio = true;
  params.host.llc_write_ps = 10'000;
  params.host.memory_write_ps = 500'000;
  return params;
}

TEST_F(root_complex_test, a_relaxed_write_passes_a_slow_one) {
  build(slow_and_fast_memory());
  memory.set_attributes(0x2000, 0x1000, {0, false});
  steps->at(1000, [&] {
    device->port.send(write(0x2000, {1, 1, 1, 1}));
    tlp* relaxed = write(0x1000, {2, 2, 2, 2});
    set_relaxed_ordering(*relaxed);
    device->port.send(relaxed);
  });
  // 24 bytes each: in at 117,000 and 213,000; then 25,000 and 500,000 or 10,000.
  steps->at(247'999, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(248'001, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{2}); });
  steps->at(641'999, [&] { EXPECT_EQ(contents(0x2000, 1), bytes{0}); });
  run();
  EXPECT_EQ(contents(0x2000, 1), bytes{1});
}

TEST_F(root_complex_test, a_strict_write_passes_no_relaxed_one_and_neither_does_a_read) {
  build(slow_and_fast_memory());
  memory.set_attributes(0x2000, 0x1000, {0, false});
  steps->at(1000, [&] {
    tlp* relaxed = write(0x2000, {1, 1, 1, 1});
    set_relaxed_ordering(*relaxed);
    device->port.send(relaxed);
    tlp* second = write(0x1000, {2, 2, 2, 2});
    set_relaxed_ordering(*second);
    device->port.send(second);
    device->port.send(write(0x1100, {3, 3, 3, 3}));
    device->port.send(read(0x2000, 4));
  });
  steps->at(641'999, [&] { EXPECT_EQ(contents(0x1100, 1), bytes{0}); });
  steps->at(642'001, [&] { EXPECT_EQ(contents(0x1100, 1), bytes{3}); });
  run();
  EXPECT_EQ(device->seen.at(0).data, bytes(4, 1));
}

}  // namespace
}  // namespace carillon
