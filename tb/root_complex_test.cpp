// A device reads and writes host memory through the root complex, and the CPU reaches the device. A
// byte on the link takes 4000 ps and the link 20 ns, so each expected time is a sum that can be
// done by hand.
#include "host/root_complex.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tb/common/root_complex_bench.h"

namespace carillon {
namespace {

using bench::host_parameters;
using bench::root_complex_test;
using bytes = std::vector<std::uint8_t>;
using lines = std::vector<std::string>;

// Reads -------------------------------------------------------------------------------------------

TEST_F(root_complex_test, a_read_brings_what_memory_holds_when_its_time_has_come) {
  build();
  memory.fill(0x1000, 0x5a, 64);
  trace_ref message;
  steps->at(1000, [&] {
    message = context->trace.open(1000, {});
    tlp* packet = read(0x1000, 64, 9);
    packet->trace = message;
    device->port.send(packet);
  });
  run();
  ASSERT_EQ(device->seen.size(), 1U);
  const auto& got = device->seen[0];
  EXPECT_EQ(got.header.tag, 9);
  EXPECT_EQ(got.header.status, completion_status::Success);
  EXPECT_EQ(got.data, bytes(64, 0x5a));
  // 20 bytes of request, 84 of completion.
  EXPECT_EQ(story(got.trace), (lines{
                                  "device flight 21000",
                                  "root_complex.port flight 101000",
                                  "root_complex service 126000",
                                  "memory service 161000",
                                  "root_complex service 186000",
                                  "root_complex.port flight 206000",
                              }));
  EXPECT_EQ(got.first, 206'000U);
  EXPECT_EQ(got.last, 206'000 + 84 * SlowByte);
}

TEST_F(root_complex_test, the_data_is_sampled_at_the_end_of_the_memory_access) {
  build();
  steps->at(1000, [&] { device->port.send(read(0x1000, 4)); });
  steps->at(160'999, [&] { memory.fill(0x1000, 1, 4); });
  steps->at(161'001, [&] { memory.fill(0x1000, 2, 4); });
  run();
  EXPECT_EQ(device->seen[0].data, bytes(4, 1));
}

TEST_F(root_complex_test, a_page_comes_in_completions_of_the_maximum_payload) {
  build();
  trace_ref message;
  steps->at(1000, [&] {
    message = context->trace.open(1000, {});
    tlp* packet = read(0x1000, 4096);
    packet->trace = message;
    device->port.send(packet);
  });
  run();
  ASSERT_EQ(device->seen.size(), 8U);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(device->seen[i].header.byte_count, 4096 - 512 * i);
    EXPECT_EQ(device->seen[i].data.size(), 512U);
    // One behind the other: 532 bytes each.
    EXPECT_EQ(device->seen[i].first, 206'000 + 532 * SlowByte * i);
  }
  // Each completion forks from the request's history; behind those of its own message it is on its
  // way.
  EXPECT_EQ(story(device->seen[1].trace)[5],
            "root_complex flight " + std::to_string(186'000 + 532 * SlowByte));
}

TEST_F(root_complex_test, completions_can_be_cut_at_every_boundary) {
  parameters params = host_parameters();
  params.pcie.completion_split = pcie_completion_split::EveryRcb;
  build(params);
  for (std::uint8_t i = 0; i < 100; ++i) {
    memory.fill(0x1030 + i, i, 1);
  }
  steps->at(1000, [&] { device->port.send(read(0x1030, 100)); });
  run();
  ASSERT_EQ(device->seen.size(), 3U);
  EXPECT_EQ(device->seen[0].data.size(), 16U);
  EXPECT_EQ(device->seen[0].header.lower_address, 0x30);
  EXPECT_EQ(device->seen[1].header.byte_count, 84);
  EXPECT_EQ(device->seen[1].header.lower_address, 0x40);
  EXPECT_EQ(device->seen[1].data[0], 16);
  EXPECT_EQ(device->seen[2].header.byte_count, 20);
  EXPECT_EQ(device->seen[2].header.lower_address, 0x00);
}

TEST_F(root_complex_test, a_read_of_nothing_is_answered_with_one_dword) {
  build();
  memory.fill(0x1000, 0xff, 4);
  steps->at(1000, [&] { device->port.send(read(0x1000, 0)); });
  run();
  ASSERT_EQ(device->seen.size(), 1U);
  EXPECT_EQ(device->seen[0].header.byte_count, 1);
  EXPECT_EQ(device->seen[0].data, bytes(4, 0));
}

TEST_F(root_complex_test, memory_takes_the_next_request_when_its_bandwidth_allows) {
  parameters params = host_parameters();
  params.host.memory_gbps = 1;  // 8000 ps a byte
  build(params);
  steps->at(1000, [&] {
    device->port.send(read(0x1000, 64, 1));
    device->port.send(read(0x2000, 64, 2));
  });
  run();
  // The first occupies it from 126,000 for 64 * 8000 ps; then 35,000 of access and 25,000 on the
  // way out.
  EXPECT_EQ(device->seen[1].told, 126'000 + 64 * 8000 + 35'000 + 25'000U);
}

// Writes ------------------------------------------------------------------------------------------

TEST_F(root_complex_test, a_write_is_visible_after_root_complex_and_memory) {
  build();
  trace_ref message;
  steps->at(1000, [&] {
    message = context->trace.open(1000, {});
    tlp* packet = write(0x1000, bytes(64, 0x77));
    packet->trace = message;
    packet->point = milestone::delivered;
    device->port.send(packet);
  });
  // 84 bytes: 336,000 ps; then 25,000 and 30,000.
  steps->at(411'999, [&] {
    EXPECT_EQ(contents(0x1000, 1), bytes{0});
    EXPECT_FALSE(context->trace.record(message.message)->reached(milestone::delivered));
  });
  steps->at(412'001, [&] { EXPECT_EQ(contents(0x1000, 64), bytes(64, 0x77)); });
  run();
  const message_record* record = context->trace.record(message.message);
  ASSERT_TRUE(record->reached(milestone::delivered));
  EXPECT_EQ(record->time_of(milestone::delivered), 412'000U);
  EXPECT_EQ(story({message.message, record->span_at(milestone::delivered)}),
            (lines{"device flight 21000", "root_complex.port flight 357000",
                   "root_complex service 382000", "memory service 412000"}));
}

TEST_F(root_complex_test, a_write_to_the_cache_has_its_own_latency) {
  parameters params = host_parameters();
  params.host.ddio = true;
  params.host.llc_write_ps = 10'000;
  build(params);
  memory.set_attributes(0x2000, 0x1000, {0, false});
  steps->at(1000, [&] { device->port.send(write(0x1000, {1, 1, 1, 1})); });
  // 24 bytes, and 10,000 instead of 30,000.
  steps->at(21'000 + 96'000 + 35'000 - 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(21'000 + 96'000 + 35'000 + 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{1}); });
  steps->at(1'001'000, [&] { device->port.send(write(0x2000, {1, 1, 1, 1})); });
  steps->at(1'021'000 + 96'000 + 55'000 - 1, [&] { EXPECT_EQ(contents(0x2000, 1), bytes{0}); });
  run();
  EXPECT_EQ(contents(0x2000, 1), bytes{1});
}

TEST_F(root_complex_test, a_fast_write_does_not_overtake_a_slow_one) {
  parameters params = host_parameters();
  params.host.ddio = true;
  params.host.llc_write_ps = 10'000;
  params.host.memory_write_ps = 500'000;
  build(params);
  memory.set_attributes(0x2000, 0x1000, {0, false});
  steps->at(1000, [&] {
    device->port.send(write(0x2000, {1, 1, 1, 1}));
    device->port.send(write(0x1000, {2, 2, 2, 2}));
  });
  // The first: 117,000 + 25,000 + 500,000.
  steps->at(641'999, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(642'001, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{2}); });
  run();
}

TEST_F(root_complex_test, only_enabled_bytes_are_written) {
  build();
  memory.fill(0x1000, 0xee, 8);
  steps->at(1000, [&] {
    device->port.send(write(0x1003, {1, 2}));
    tlp* holes = write(0x1010, {1, 2, 3, 4});
    auto header = tlp_mem32::unpack(holes->header.data());
    header.first_be = 0b1001;
    header.pack(holes->header.data());
    device->port.send(holes);
  });
  run();
  EXPECT_EQ(contents(0x1002, 4), (bytes{0xee, 1, 2, 0xee}));
  EXPECT_EQ(contents(0x1010, 4), (bytes{1, 0, 0, 4}));
}

TEST_F(root_complex_test, a_read_never_passes_an_earlier_write) {
  parameters params = host_parameters();
  params.host.memory_write_ps = 200'000;
  build(params);
  steps->at(1000, [&] {
    device->port.send(write(0x1000, {7, 7, 7, 7}));
    device->port.send(read(0x1000, 4));
  });
  run();
  // Write visible at 117,000 + 25,000 + 200,000; without it the read were through memory at
  // 257,000.
  EXPECT_EQ(device->seen[0].data, bytes(4, 7));
  EXPECT_EQ(device->seen[0].told, 342'000 + 25'000U);
}

TEST_F(root_complex_test, a_poisoned_write_changes_nothing_and_is_counted) {
  build();
  steps->at(1000, [&] {
    tlp* packet = write(0x1000, {7, 7, 7, 7});
    set_poisoned(*packet);
    device->port.send(packet);
  });
  run();
  EXPECT_EQ(contents(0x1000, 4), bytes(4, 0));
  EXPECT_EQ(host->stats().poisoned_writes, 1U);
}

TEST_F(root_complex_test, credits_come_home_when_the_write_is_in_memory) {
  parameters params = host_parameters();
  params.pcie.rc_credits_ph = 1;
  build(params);
  steps->at(1000, [&] {
    device->port.send(write(0x1000, {7, 7, 7, 7}));
    EXPECT_FALSE(device->port.can_send(tlp_class::posted, 4));
  });
  // 117,000 + 25,000 + 30,000 and a link delay.
  steps->at(191'999, [&] { EXPECT_FALSE(device->port.can_send(tlp_class::posted, 4)); });
  steps->at(192'000, [&] { EXPECT_TRUE(device->port.can_send(tlp_class::posted, 4)); });
  run();
}

// The CPU's accesses ------------------------------------------------------------------------------

TEST_F(root_complex_test, cpu_writes_leave_in_order) {
  build();
  steps->at(1000, [&] {
    const bytes first(8, 1);
    const bytes second(64, 2);
    host->mmio_write({}, 0, 0x8000'0000, first.data(), 8);
    host->mmio_write({}, 0, 0x8000'0800, second.data(), 64);
  });
  run();
  ASSERT_EQ(device->seen.size(), 2U);
  EXPECT_EQ(device->seen[0].header.address, 0x8000'0000U);
  EXPECT_EQ(device->seen[0].first, 1000 + 25'000 + 20'000U);
  EXPECT_EQ(device->seen[1].header.address, 0x8000'0800U);
  EXPECT_EQ(device->seen[1].data, bytes(64, 2));
  EXPECT_EQ(device->seen[1].first, 46'000 + 28 * SlowByte);
}

TEST_F(root_complex_test, a_cpu_read_gets_its_data) {
  build();
  const bytes value = {1, 2, 3, 4};
  device->then = [&](const recording_device::arrival& got) {
    steps->at(got.last, [&, got] {
      tlp* packet = pool.take();
      make_completion(*packet, 0x100, got.header.requester, got.header.tag,
                      completion_status::Success, 4, first_lower_address(got.header), value.data(),
                      4);
      device->port.send(packet);
    });
  };
  std::uint16_t tag = 99;
  steps->at(1000, [&] { tag = host->mmio_read({}, 0, 0x8000'0004, 4, core); });
  run();
  ASSERT_EQ(core.answers.size(), 1U);
  EXPECT_EQ(core.answers[0].tag, tag);
  EXPECT_EQ(core.answers[0].data, value);
  EXPECT_EQ(core.answers[0].status, completion_status::Success);
  // Request: 46,000 and 20 bytes; answer: 20,000, 24 bytes and 25,000.
  EXPECT_EQ(core.answers[0].when, 46'000 + 80'000 + 20'000 + 96'000 + 25'000U);
}

TEST_F(root_complex_test, a_refused_cpu_read_gives_all_ones) {
  build();
  device->then = [&](const recording_device::arrival& got) {
    tlp* packet = pool.take();
    make_completion(*packet, 0x100, got.header.requester, got.header.tag,
                    completion_status::UnsupportedRequest, 4, 0, nullptr, 0);
    device->port.send(packet);
  };
  steps->at(1000, [&] { host->config_read({}, 0, 0x0100, 0x10, core); });
  run();
  ASSERT_EQ(core.answers.size(), 1U);
  EXPECT_EQ(core.answers[0].data, bytes(4, 0xff));
  EXPECT_EQ(core.answers[0].status, completion_status::UnsupportedRequest);
  EXPECT_EQ(device->seen[0].header.kind, tlp_kind::config_read);
}

TEST_F(root_complex_test, when_a_cpu_read_returns_the_writes_before_its_answer_are_visible) {
  parameters params = host_parameters();
  params.host.memory_write_ps = 900'000;
  build(params);
  device->then = [&](const recording_device::arrival& got) {
    device->port.send(write(0x1000, {5, 5, 5, 5}));
    tlp* packet = pool.take();
    make_completion(*packet, 0x100, got.header.requester, got.header.tag,
                    completion_status::Success, 4, 0, nullptr, 4);
    device->port.send(packet);
  };
  steps->at(1000, [&] { host->mmio_read({}, 0, 0x8000'0000, 4, core); });
  run();
  // Told at 26,000, the write is in at 26,000 + 20,000 + 96,000, visible 925,000 later.
  ASSERT_EQ(core.answers.size(), 1U);
  EXPECT_EQ(core.answers[0].when, 142'000 + 925'000U);
}

// Outside time ------------------------------------------------------------------------------------

TEST_F(root_complex_test, a_debug_access_reaches_memory_through_the_link) {
  build();
  recording_device other("other", *context);
  root_complex second("second_root_complex", *context, memory, pool);
  second.add_window(0x1000, 0x1000);
  other.port.connect(second.port);
  steps->at(1000, [&] {
    bytes data = {1, 2, 3};
    tlm::tlm_generic_payload access;
    access.set_command(tlm::TLM_WRITE_COMMAND);
    access.set_address(0x1ffd);
    access.set_data_ptr(data.data());
    access.set_data_length(3);
    EXPECT_EQ(other.port.transmit->transport_dbg(access), 3U);
    EXPECT_EQ(contents(0x1ffd, 3), data);
    access.set_address(0x1ffe);
    EXPECT_EQ(other.port.transmit->transport_dbg(access), 0U);
    access.set_command(tlm::TLM_READ_COMMAND);
    access.set_address(0x1ffc);
    EXPECT_EQ(other.port.transmit->transport_dbg(access), 3U);
    EXPECT_EQ(data, (bytes{0, 1, 2}));
  });
  run();
}

TEST_F(root_complex_test, a_direct_pointer_is_granted_for_reading_a_page) {
  build();
  recording_device other("other", *context);
  root_complex second("second_root_complex", *context, memory, pool);
  second.add_window(0x1000, 0x1000);
  other.port.connect(second.port);
  steps->at(1000, [&] {
    tlm::tlm_generic_payload access;
    tlm::tlm_dmi granted;
    access.set_command(tlm::TLM_READ_COMMAND);
    access.set_address(0x1234);
    ASSERT_TRUE(other.port.transmit->get_direct_mem_ptr(access, granted));
    EXPECT_EQ(granted.get_start_address(), 0x1000U);
    EXPECT_EQ(granted.get_end_address(), 0x1fffU);
    EXPECT_TRUE(granted.is_read_allowed());
    EXPECT_FALSE(granted.is_write_allowed());
    memory.fill(0x1234, 0x42, 1);
    EXPECT_EQ(granted.get_dmi_ptr()[0x234], 0x42);
    access.set_command(tlm::TLM_WRITE_COMMAND);
    EXPECT_FALSE(other.port.transmit->get_direct_mem_ptr(access, granted));
    access.set_command(tlm::TLM_READ_COMMAND);
    access.set_address(0x2000);
    EXPECT_FALSE(other.port.transmit->get_direct_mem_ptr(access, granted));
  });
  run();
}

// The reference link ------------------------------------------------------------------------------

TEST_F(root_complex_test, the_reference_read_of_64_bytes_takes_80_7_ns_and_a_page_72_8_ns_more) {
  build(parameters{});
  memory.fill(0x1'0000, 1, 4096);
  host->add_window(0x1'0000'0000, 0x1'0000'0000);
  steps->at(1'000'000, [&] { device->port.send(read(0x1'0001'0000, 64, 1)); });
  steps->at(2'000'000, [&] { device->port.send(read(0x1'0001'0000, 4096, 2)); });
  run();
  const ps_t small = device->seen[0].last - 1'000'000;
  const ps_t page = device->seen[8].last - 2'000'000;
  // Twice link 12, root complex 25, memory 29.8, and 24 + 84 bytes at 458.493 Gb/s.
  EXPECT_NEAR(static_cast<double>(small), 2 * 12'000 + 25'000 + 29'800 + 1'884, 2);
  // 8 * 532 - 84 bytes at 458.493 Gb/s.
  EXPECT_NEAR(static_cast<double>(page - small), 72'795, 2);
}

}  // namespace
}  // namespace carillon
