// Configuration requests and function-level resets at the stage: answers, routing IDs, what the
// level of functions says and when. What registers hold is tested in config_space_test.cpp.
#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "tb/common/endpoint_bench.h"

namespace carillon {
namespace {

constexpr std::uint16_t Command = 0x04;
constexpr std::uint16_t DeviceControl = 0x68;
constexpr std::uint16_t AerStatus = 0x104;
constexpr std::uint16_t SriovControl = 0x188;
constexpr std::uint16_t NumVfs = 0x190;
constexpr std::uint16_t VfBar0 = 0x1a4;
constexpr std::uint32_t Flr = 0x8000;
constexpr cycle_t Quiet = 500;

constexpr auto Success = static_cast<std::uint8_t>(completion_status::Success);
constexpr auto Unsupported = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
constexpr auto Retry = static_cast<std::uint8_t>(completion_status::ConfigRetry);

parameters four_vfs() {
  parameters params;
  params.nic.total_vfs = 4;
  params.nic.flr_quiesce_ns = Quiet;  // at 1 GHz
  return params;
}

struct config_bench : bench::endpoint_bench {
  explicit config_bench(std::uint64_t shuffle, cycle_t answer_period = 1)
      : endpoint_bench(shuffle, 1, four_vfs(), answer_period) {}

  void config(cycle_t when, std::uint16_t destination, std::uint16_t offset, bool write = false,
              std::uint32_t value = 0, std::uint8_t enables = 0xf) {
    config_request item;
    item.destination = destination;
    item.offset = offset & 0xffc;
    item.write = write;
    item.value = value << (8 * (offset % 4));
    item.enables = static_cast<std::uint8_t>(enables << (offset % 4));
    item.requester = 0x42;
    item.tag = static_cast<std::uint16_t>(when);
    config_source.at(when, item, 1, false);
  }

  void store(cycle_t when, std::uint16_t destination, std::uint16_t offset, std::uint32_t value,
             unsigned bytes = 2) {
    config(when, destination, offset, true, value, static_cast<std::uint8_t>((1U << bytes) - 1));
  }

  void load(cycle_t when, std::uint16_t destination, std::uint16_t offset) {
    config(when, destination, offset);
  }

  void register_read(cycle_t when, std::uint16_t function) {
    mmio_read item;
    item.function = function;
    item.offset = bar0::FunctionNumber;
    item.length = 4;
    item.tag = static_cast<std::uint16_t>(when);
    read_source.at(when, item, 1, false);
  }

  /// The PF on bus 5, with VFs 0 and 1 as bus masters; done in cycle 10.
  void enable_two_vfs() {
    store(1, 0x0500, Command, 6);
    store(2, 0x0500, VfBar0, 0x9000'0000, 4);
    store(3, 0x0500, NumVfs, 2);
    store(4, 0x0500, SriovControl, 9);
    store(5, 0x0501, Command, 4);
    store(6, 0x0502, Command, 4);
  }

  [[nodiscard]] const mmio_answer& answer(std::uint16_t tag) const {
    for (const auto& each : answer_sink.items) {
      if (each.item.tag == tag) {
        return each.item;
      }
    }
    throw std::out_of_range("no answer");
  }

  [[nodiscard]] std::uint32_t value(std::uint16_t tag) const {
    const auto& data = answer(tag).data;
    return static_cast<std::uint32_t>(data[0] | data[1] << 8 | data[2] << 16) |
           std::uint32_t{data[3]} << 24;
  }

  [[nodiscard]] const function_map& map() { return functions.read(context.clock.now() + 1); }
};

class endpoint_configuration : public testing::TestWithParam<std::uint64_t> {};

TEST_P(endpoint_configuration,
       a_read_is_answered_with_its_dword_after_the_time_of_a_register_read) {
  config_bench bench(GetParam());
  bench.load(10, 0x0500, 0x00);  // visible in 11
  bench.run(100);
  ASSERT_EQ(bench.answer_sink.items.size(), 1U);
  EXPECT_EQ(bench.answer_sink.items[0].visible, 11 + stage_spec::pcie_endpoint::RegisterRead);
  const mmio_answer& answer = bench.answer(10);
  EXPECT_EQ(answer.status, Success);
  EXPECT_FALSE(answer.without_data);
  EXPECT_EQ(answer.length, 4U);
  EXPECT_EQ(answer.requester, 0x42U);
  EXPECT_EQ(bench.value(10), 0x1021'15b3U) << "vendor in the first two bytes";
  EXPECT_EQ(bench.count(counter::ConfigRequests), 1U);
}

TEST_P(endpoint_configuration, a_write_is_answered_without_data) {
  config_bench bench(GetParam());
  bench.store(10, 0x0500, Command, 6);
  bench.run(100);
  EXPECT_EQ(bench.answer(10).status, Success);
  EXPECT_TRUE(bench.answer(10).without_data);
}

TEST_P(endpoint_configuration, a_function_that_is_not_there_is_an_unsupported_request) {
  config_bench bench(GetParam());
  bench.load(10, 0x0501, 0x00);
  bench.store(20, 0x0508, Command, 4);
  bench.run(100);
  EXPECT_EQ(bench.answer(10).status, Unsupported);
  EXPECT_EQ(bench.answer(20).status, Unsupported);
}

TEST_P(endpoint_configuration, the_bus_number_is_that_of_the_last_write) {
  config_bench bench(GetParam());
  bench.load(10, 0x0700, 0x00);
  bench.run(30);
  EXPECT_EQ(bench.map().routing_id(0), 0U) << "a read tells nothing";
  bench.store(40, 0x0500, Command, 0);
  bench.run(60);
  EXPECT_EQ(bench.map().routing_id(0), 0x0500U);
}

TEST_P(endpoint_configuration, a_write_reaches_the_other_stages_in_the_next_cycle) {
  config_bench bench(GetParam());
  bench.store(10, 0x0500, Command, 6);  // taken in 11
  bench.run(50);
  EXPECT_TRUE(bench.map().pf_memory_enable);
  EXPECT_TRUE(bench.map().masters(0));
  EXPECT_FALSE(bench.functions.read(11).masters(0));
}

TEST_P(endpoint_configuration, requests_wait_for_register_reads_and_for_room_for_answers) {
  config_bench bench(GetParam(), 50);
  for (cycle_t t = 10; t < 16; ++t) {
    bench.load(t, 0x0500, 0x00);
    bench.register_read(t, 0);
  }
  bench.run(2000);
  EXPECT_EQ(bench.answer_sink.items.size(), 12U);
  bench.context.check_drained();
}

TEST_P(endpoint_configuration, errors_of_other_stages_are_found_in_the_functions_registers) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  pcie_error error;
  error.function = 2;
  error.kind = pcie_error_kind::completion_timeout;
  bench.error_source.at(30, error, 1, false);
  bench.load(40, 0x0502, AerStatus);
  bench.load(41, 0x0501, AerStatus);
  bench.run(100);
  EXPECT_EQ(bench.value(40), 1U << 14);
  EXPECT_EQ(bench.value(41), 0U);
}

// Reset

TEST_P(endpoint_configuration, a_function_that_is_reset_masters_nothing_and_hits_nothing_at_once) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0501, DeviceControl, Flr);  // taken in 101
  bench.run(110);
  EXPECT_TRUE(bench.functions.read(101).resets == 0 || bench.map().resets == 1);
  EXPECT_FALSE(bench.map().masters(1));
  EXPECT_TRUE(bench.map().gone(1));
  EXPECT_FALSE(bench.map().find(0x9000'0000).hit);
  EXPECT_TRUE(bench.map().find(0x9000'0000 + bar0::Size).hit) << "VF 1's";
  EXPECT_TRUE(bench.map().masters(2));
}

TEST_P(endpoint_configuration, it_is_told_that_its_reset_has_begun_and_then_to_come_again) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0501, DeviceControl, Flr);
  bench.load(110, 0x0501, Command);
  bench.load(111, 0x0502, Command);
  bench.load(112, 0x0500, Command);
  bench.run(200);
  EXPECT_EQ(bench.answer(100).status, Success);
  EXPECT_EQ(bench.answer(110).status, Retry);
  EXPECT_EQ(bench.answer(111).status, Success);
  EXPECT_EQ(bench.answer(112).status, Success);
}

TEST_P(endpoint_configuration, without_objects_a_reset_lasts_its_quiet_time) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0501, DeviceControl, Flr);  // taken in 101, found without objects then
  bench.load(101 + Quiet - 10, 0x0501, Command);
  bench.load(101 + Quiet + 10, 0x0501, Command);
  bench.run(2000);
  EXPECT_EQ(bench.answer(101 + Quiet - 10).status, Retry);
  EXPECT_EQ(bench.answer(101 + Quiet + 10).status, Success);
  EXPECT_EQ(bench.value(101 + Quiet + 10) & 0xffff, 0U) << "bus master no more";
  EXPECT_FALSE(bench.map().gone(1));
  EXPECT_EQ(bench.count(counter::FunctionResets), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(1, counter::FunctionResets), 1U);
}

TEST_P(endpoint_configuration, registers_of_a_function_that_is_reset_are_refused) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0501, DeviceControl, Flr);
  bench.register_read(103, 1);  // under way when the reset began
  bench.register_read(104, 2);
  bench.run(200);
  EXPECT_EQ(bench.answer(103).status, Unsupported);
  EXPECT_EQ(bench.answer(104).status, Success);
}

TEST_P(endpoint_configuration, a_reset_of_the_PF_resets_its_VFs) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0500, DeviceControl, Flr);
  bench.load(110, 0x0500, Command);
  bench.load(111, 0x0501, Command);
  bench.run(120);
  EXPECT_EQ(bench.map().vfs, 0U);
  EXPECT_EQ(bench.map().resets, 3U);
  bench.run(2000);
  EXPECT_EQ(bench.answer(110).status, Retry);
  EXPECT_EQ(bench.answer(111).status, Unsupported) << "VF Enable is cleared";
  EXPECT_EQ(bench.count(counter::FunctionResets), 3U);
}

// What was lent to the chip is the host's again, who may give it to somebody else.
TEST_P(endpoint_configuration, a_reset_of_the_PF_gives_back_the_memory_of_contexts) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  mmio_write lend;
  lend.offset = bar0::IcmBase;
  lend.length = 8;
  bytes::store_be<8>(lend.data.data(), 0x4000'0000);
  bench.write_source.at(50, lend, 1, false);
  mmio_read ask;
  ask.offset = bar0::IcmBase;
  ask.length = 8;
  const auto base = [&](std::uint16_t tag) {
    return bytes::load_be<8>(bench.answer(tag).data.data());
  };
  ask.tag = 60;
  bench.read_source.at(60, ask, 1, false);
  bench.store(100, 0x0501, DeviceControl, Flr);
  ask.tag = 110;
  bench.read_source.at(110, ask, 1, false);
  bench.store(120, 0x0500, DeviceControl, Flr);
  ask.tag = 1500;
  bench.read_source.at(1500, ask, 1, false);
  bench.run(2000);
  EXPECT_EQ(base(60), 0x4000'0000U);
  EXPECT_EQ(base(110), 0x4000'0000U) << "a VF's reset leaves it alone";
  EXPECT_EQ(base(1500), 0U);
}

TEST_P(endpoint_configuration, VFs_that_vanish_are_reset_and_answer_retry_if_they_come_too_early) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0500, SriovControl, 0);
  bench.load(110, 0x0501, Command);
  bench.store(120, 0x0500, SriovControl, 9);
  bench.load(130, 0x0501, Command);
  bench.load(1500, 0x0501, Command);
  bench.run(2000);
  EXPECT_EQ(bench.answer(110).status, Unsupported);
  EXPECT_EQ(bench.answer(130).status, Retry);
  EXPECT_EQ(bench.answer(1500).status, Success);
  EXPECT_EQ(bench.count(counter::FunctionResets), 2U);
}

// What is written for it would be dropped; so nothing may be acknowledged any more.
TEST_P(endpoint_configuration, the_port_goes_down_with_the_reset_though_a_command_is_served) {
  config_bench bench(GetParam());
  bench.store(5, 0x0500, Command, 6);
  bench.command(10, bench::simple(command_opcode::EnableHca));
  bench.command(2000, bench::simple(command_opcode::InitHca));
  bench.command(5000, bench::simple(command_opcode::AllocPd));  // takes 1000 cycles
  bench.store(5500, 0x0500, DeviceControl, Flr);                // taken in 5501
  bench.run(5510);
  EXPECT_TRUE(bench.vports.read(5501).at(0).enabled);
  EXPECT_FALSE(bench.vports.read(5502).at(0).enabled);
}

TEST_P(endpoint_configuration, VFs_that_vanish_during_their_reset_lose_what_the_PF_decided) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.command(10, bench::simple(command_opcode::EnableHca));
  bench.command(2000, bench::simple(command_opcode::InitHca));
  modify_function_in decided;
  decided.opcode = command_opcode::ModifyFunction;
  decided.function_id = 1;
  decided.field_select = FunctionTrust;
  decided.function_context.trust = 1;
  bench.command(4000, bench::packed(decided));
  bench.run(6000);
  EXPECT_TRUE(bench.vports.read(6000).at(1).any_vlan) << "what trust gives";
  bench.store(6010, 0x0501, DeviceControl, Flr);
  bench.run(300);
  EXPECT_TRUE(bench.vports.read(6300).at(1).any_vlan) << "a reset leaves it";
  bench.store(6310, 0x0500, SriovControl, 0);
  bench.run(1000);
  EXPECT_FALSE(bench.vports.read(7300).at(1).any_vlan);
}

TEST_P(endpoint_configuration, a_second_reset_while_the_first_lasts_is_the_same) {
  config_bench bench(GetParam());
  bench.enable_two_vfs();
  bench.store(100, 0x0501, DeviceControl, Flr);
  bench.store(150, 0x0500, SriovControl, 0);  // VFs 0 and 1 vanish
  bench.run(3000);
  EXPECT_EQ(bench.map().resets, 2U);
  EXPECT_EQ(bench.count(counter::FunctionResets), 2U);
}

INSTANTIATE_TEST_SUITE_P(orders, endpoint_configuration, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
