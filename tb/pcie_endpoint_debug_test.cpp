// BAR4: loading firmware, link training, the SRAM; and what the chip refuses until firmware runs.
#include <gtest/gtest.h>

#include "common/crc32.h"
#include "gen/bytes.h"
#include "gen/tlp.h"
#include "tb/common/endpoint_bench.h"

namespace carillon {
namespace {

using bench::endpoint_bench;
using bench::input;
using bench::placed_command;
using bench::simple;

parameters without_firmware() {
  parameters params = bench::endpoint_parameters();
  params.nic.firmware = nic_firmware::Host;
  params.nic.sram_bytes = 8192;
  return params;
}

class debug_bar : public testing::TestWithParam<std::uint64_t> {
 protected:
  debug_bar() : bench(GetParam(), 1, without_firmware()) {}

  void store(std::uint64_t offset, std::uint32_t value) {
    bench.store(now_, offset, endpoint_bench::dword(value), 0, 4);
    now_ += 5;
  }

  void load(std::uint64_t offset, std::uint16_t bytes = 4) {
    bench.load(now_, offset, bytes, 0, 4);
    now_ += 5;
  }

  /// The image of the tests: 16 bytes.
  void push_image() {
    bench.store(now_, bar4::SramWindow, {'f', 'i', 'r', 'm', 'w', 'a', 'r', 'e'}, 0, 4);
    bench.store(now_ + 1, bar4::SramWindow + 8, {1, 2, 3, 4, 5, 6, 7, 8}, 0, 4);
    now_ += 5;
  }

  static std::uint32_t crc_of_image() {
    const input image = {'f', 'i', 'r', 'm', 'w', 'a', 'r', 'e', 1, 2, 3, 4, 5, 6, 7, 8};
    return crc32_of(image.data(), image.size());
  }

  endpoint_bench bench;
  cycle_t now_ = 10;
};

TEST_P(debug_bar, firmware_runs_when_its_image_is_there_and_right) {
  load(bar4::FwStatus);
  store(bar4::FwLength, 16);
  store(bar4::FwCrc, crc_of_image());
  store(bar4::FwControl, 1);  // load
  load(bar4::FwStatus);
  bench.load(now_, bar0::Initializing, 4, 1);
  push_image();
  store(bar4::FwControl, 2);  // boot
  load(bar4::FwStatus);
  bench.load(now_, bar0::Initializing, 4, 1);
  const placed_command enable = bench.command(now_ + 5, simple(command_opcode::EnableHca));
  bench.run(1000);
  EXPECT_EQ(bench.value(0), 0U) << "none";
  EXPECT_EQ(bench.value(1), 1U) << "loading";
  EXPECT_EQ(bench.value(2), 0x80000000U) << "no function takes commands";
  EXPECT_EQ(bench.value(3), 2U) << "running";
  EXPECT_EQ(bench.value(4), 0U);
  EXPECT_TRUE(bench.done(enable));
  EXPECT_EQ(bench.count(counter::RegisterDenied), 0U);
}

TEST_P(debug_bar, a_wrong_checksum_is_said_and_the_image_may_be_loaded_again) {
  store(bar4::FwLength, 16);
  store(bar4::FwCrc, crc_of_image() ^ 1);
  store(bar4::FwControl, 1);
  push_image();
  store(bar4::FwControl, 2);
  load(bar4::FwStatus);
  bench.load(now_, bar0::Initializing);
  store(bar4::FwControl, 2);  // there is nothing to boot: denied
  store(bar4::FwCrc, crc_of_image());
  store(bar4::FwControl, 1);
  store(bar4::FwControl, 2);
  load(bar4::FwStatus);
  store(bar4::FwControl, 1);  // it runs: denied
  load(bar4::FwStatus);
  bench.run(1000);
  EXPECT_EQ(bench.value(0), 3U) << "bad checksum";
  EXPECT_EQ(bench.value(1), 0x80000000U);
  EXPECT_EQ(bench.value(2), 2U);
  EXPECT_EQ(bench.value(3), 2U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 2U);
}

TEST_P(debug_bar, an_image_longer_than_the_sram_is_not_right) {
  store(bar4::FwLength, 8193);
  store(bar4::FwControl, 1);
  store(bar4::FwControl, 2);
  load(bar4::FwStatus);
  bench.run(500);
  EXPECT_EQ(bench.value(0), 3U);
}

TEST_P(debug_bar, without_firmware_a_doorbell_is_denied_and_health_stands_still) {
  const placed_command early = bench.command(10, simple(command_opcode::EnableHca));
  bench.load(70'000, bar0::HealthCounter);
  bench.run(71'000);
  EXPECT_EQ(bench.last_byte(early), 1U) << "still the device's";
  EXPECT_EQ(bench.count(counter::RegisterDenied), 1U);
  EXPECT_EQ(bench.value(0), 0U);
}

TEST_P(debug_bar, the_window_shows_the_sram_and_ends_with_it) {
  load(bar4::SramSize);
  store(bar4::SramAddress, 8192 - 8);
  push_image();  // its second half is beyond the end
  load(bar4::SramWindow, 8);
  load(bar4::SramWindow + 8);
  store(bar4::SramAddress, 8192 - 4);
  load(bar4::SramWindow);
  store(bar4::SramAddress, 0xfffffffc);
  load(bar4::SramWindow);
  bench.run(500);
  const auto unsupported = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  EXPECT_EQ(bench.value(0), 8192U);
  EXPECT_EQ(bench.value(1), 0x6669726d77617265U) << "firmware";
  EXPECT_EQ(bench.answer_sink.items.at(2).item.status, unsupported);
  EXPECT_EQ(bench.value(3), 0x77617265U);
  EXPECT_EQ(bench.answer_sink.items.at(4).item.status, unsupported);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 3U) << "a write and two reads";
}

TEST_P(debug_bar, a_virtual_function_has_no_bar4) {
  bench.store(10, bar4::FwControl, endpoint_bench::dword(1), 1, 4);
  bench.load(20, bar4::FwStatus, 4, 0, 4);
  bench.run(200);
  EXPECT_EQ(bench.value(0), 0U);
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::Bar4Denied), 1U);
}

TEST_P(debug_bar, the_link_is_in_l0_when_its_training_is_over) {
  parameters params = bench::endpoint_parameters();
  params.pcie.training_ns = 100;  // a hundred cycles of 1 ns
  endpoint_bench trained(GetParam(), 1, params);
  trained.load(98, bar4::LinkStatus, 4, 0, 4);  // taken in 99
  trained.load(99, bar4::LinkStatus, 4, 0, 4);
  trained.run(200);
  EXPECT_EQ(trained.value(0), 0x00010000U) << "polling";
  EXPECT_EQ(trained.value(1), 0x00031005U) << "L0, 16 lanes, generation 5";
}

INSTANTIATE_TEST_SUITE_P(orders, debug_bar, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
