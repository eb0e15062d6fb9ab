// How commands come into the chip and how their answers leave it: the entries and mailboxes of the
// mlx5 command interface, its delivery errors, and what waits for what.
#include <gtest/gtest.h>
#include <string>

#include "gen/bytes.h"
#include "tb/common/endpoint_bench.h"

namespace carillon {
namespace {

using bench::endpoint_bench;
using bench::gid_request;
using bench::input;
using bench::ip;
using bench::mkey_request;
using bench::packed;
using bench::placed_command;
using bench::simple;

/// Makes the exclusive or of `count` bytes from `at` on 0xff by the one at `signature`.
void sign(endpoint_bench& bench, std::uint64_t at, std::size_t count, std::uint64_t signature) {
  bench.memory.at(signature) = 0;
  std::uint8_t sum = 0;
  for (const std::uint8_t each : bench.get(at, count)) {
    sum ^= each;
  }
  bench.memory.at(signature) = sum ^ 0xff;
}

void sign_box(endpoint_bench& bench, std::uint64_t box) {
  sign(bench, box + 512, 63, box + 574);
  sign(bench, box, 576, box + 575);
}

std::uint8_t sum_of(endpoint_bench& bench, std::uint64_t at, std::size_t count) {
  std::uint8_t sum = 0;
  for (const std::uint8_t each : bench.get(at, count)) {
    sum ^= each;
  }
  return sum;
}

class transport : public testing::TestWithParam<std::uint64_t> {
 protected:
  transport() : bench(GetParam()) {}

  /// Brings the function up, from cycle 10 on; returns a cycle by which that is over.
  cycle_t bring_up(std::uint16_t function = 0) {
    bench.command(10, simple(command_opcode::EnableHca, function), function);
    bench.command(11, simple(command_opcode::InitHca), function);
    return 400;
  }

  endpoint_bench bench;
};

TEST_P(transport, an_entry_is_the_one_of_mlx5) {
  // mlx5_cmd_layout: type, input length, input pointer, input, output, output pointer, output
  // length, token, signature, status and ownership. ENABLE_HCA is 0x104.
  const input entry = {
      0x07, 0,    0,    0,    0,    0,    0,    0x10, 0, 0, 0, 0,    0,    0, 0, 0,  //
      0x01, 0x04, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0, 0, 0,  //
      0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,  // what was there before
      0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,  //
      0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0x10, 0x77, 0, 0, 0x01};
  bench.put(endpoint_bench::QueueAt + 3 * 64, entry);
  bench.ring(10, 0b1000);
  bench.load(300, bar0::InitState);
  bench.run(400);
  EXPECT_EQ(bench.value(0), 1U) << "enabled";
  input answered = entry;
  std::fill_n(answered.begin() + 0x20, 16, std::uint8_t{0});
  answered[0x3f] = 0;
  EXPECT_EQ(bench.get(endpoint_bench::QueueAt + 3 * 64, 64), answered);
}

TEST_P(transport, what_16_bytes_do_not_hold_goes_on_in_mailboxes) {
  const cycle_t up = bring_up();
  // Laid out by hand: 48 bytes of SET_ROCE_ADDRESS, 32 of them in a mailbox at 0x3000400, whose
  // control part is at 0x200: next 0x230, block number 0x238, token 0x23d.
  const input command = packed(gid_request(3, ip(9)));
  ASSERT_EQ(command.size(), 48U);
  input box(576);
  std::copy(command.begin() + 16, command.end(), box.begin());
  box[0x23d] = 0x99;
  bench.put(0x3000400, box);
  input entry(64);
  entry[0] = 7;
  entry[7] = 48;
  bytes::store_be<8>(&entry[8], 0x3000400);
  std::copy_n(command.begin(), 16, entry.begin() + 0x10);
  entry[0x3b] = 16;
  entry[0x3c] = 0x99;
  entry[0x3f] = 1;
  bench.put(endpoint_bench::QueueAt + 9 * 64, entry);
  bench.ring(up, 1U << 9);
  bench.run(up + 300);
  EXPECT_EQ(bench.memory.at(endpoint_bench::QueueAt + 9 * 64 + 0x3f), 0U);
  const auto& gids = bench.endpoint.commands().tables().functions[0].gids;
  EXPECT_TRUE(gids[3].valid);
  EXPECT_EQ(gids[3].address.source_l3_address, ip(9));
}

TEST_P(transport, an_output_fills_its_mailboxes_and_leaves_their_chain) {
  cycle_t t = bring_up();
  bench.command(t, simple(command_opcode::AllocPd));
  bench.command(t + 200, packed(mkey_request(1)));
  // Room for more than the answer has: 272 bytes, then zeros.
  const placed_command query = bench.place(simple(command_opcode::QueryMkey, 1), 0, 16 + 512 + 100);
  ASSERT_EQ(query.outputs.size(), 2U);
  for (const std::uint64_t box : query.outputs) {
    bench.memory.at(box + 5) = 0xee;
  }
  bench.ring(t + 600, query);
  bench.run(t + 1200);
  EXPECT_TRUE(bench.done(query));
  const mkc key = mkc::unpack(bench.output(query).data() + 16);
  EXPECT_EQ(key.start_addr, 0x10000U);
  EXPECT_EQ(bench.memory.at(query.outputs[1] + 5), 0U);
  EXPECT_EQ(bytes::load_be<8>(bench.get(query.outputs[0] + 0x230, 8).data()), query.outputs[1]);
  EXPECT_EQ(bench.memory.at(query.outputs[1] + 0x23b), 1U) << "block number";
  EXPECT_EQ(bench.memory.at(query.outputs[1] + 0x23d), endpoint_bench::Token);
  EXPECT_EQ(bench.memory.at(query.outputs[1] + 0x23f), 0U) << "not signed, as the driver did not";
  bench.context.check_drained();
}

TEST_P(transport, mailboxes_are_in_memory_before_the_entry_and_the_entry_before_the_event) {
  cycle_t t = bring_up();
  bench.command(t, simple(command_opcode::AllocUar));
  create_eq_in eq = bench::eq_request(1);
  eq.event_bitmask[6] = 0x04;  // 1 << Command, in the last of the first word's bytes but one
  bench.command(t + 200, packed(eq, {0x7000}));
  const placed_command query = bench.command(t + 600, simple(command_opcode::QueryEq, 1), 0, 272);
  bench.run(t + 1200);
  ASSERT_TRUE(bench.done(query));
  const auto& written = bench.memory.written;
  const auto entry = std::find_if(written.begin(), written.end(), [&](const auto& each) {
    return each.write.address == query.entry;
  });
  ASSERT_NE(entry, written.end());
  ASSERT_NE(entry, written.begin());
  EXPECT_EQ((entry - 1)->write.address, query.outputs[0]);
  EXPECT_LT((entry - 1)->cycle, entry->cycle);
  // One event for CREATE_EQ itself, one for the query; completion writes at the earliest ten cycles
  // after it has taken one.
  ASSERT_EQ(bench.event_sink.items.size(), 2U);
  const auto& told = bench.event_sink.items[1];
  EXPECT_EQ(told.item.kind, static_cast<unsigned>(event_type::Command));
  EXPECT_EQ(told.item.number, 1U << query.number);
  EXPECT_EQ(told.item.function, 0U);
  EXPECT_GE(told.visible, entry->visible);
}

TEST_P(transport, without_an_event_queue_for_commands_nobody_is_told) {
  const cycle_t up = bring_up();
  bench.run(up);
  EXPECT_EQ(bench.count(counter::Commands), 2U);
  EXPECT_TRUE(bench.event_sink.items.empty());
}

TEST_P(transport, an_input_of_64_kib_is_served) {
  cycle_t t = bring_up();
  bench.command(t, simple(command_opcode::AllocPd));
  // 65536 bytes less the 272 of CREATE_MKEY are 8158 pages; 16 bytes inline, 128 mailboxes.
  create_mkey_in in = mkey_request(1);
  in.memory_key_mkey_entry.access_mode_1_0 = mkey_access_mode::Mtt;
  in.memory_key_mkey_entry.log_page_size = 12;
  in.memory_key_mkey_entry.len = std::uint64_t{8158} * 4096;
  in.translations_octword_actual_size = 4079;
  std::vector<std::uint64_t> pages;
  for (std::uint64_t i = 0; i < 8158; ++i) {
    pages.push_back(0x200001 + i * 0x1000);
  }
  const placed_command large = bench.command(t + 300, packed(in, pages));
  EXPECT_EQ(large.inputs.size(), 128U);
  bench.run(t + 6000);
  EXPECT_TRUE(bench.done(large));
  EXPECT_EQ(bench.answer(large).status, command_status::Ok);
  // Entry 8157 is the sixth of line 1019: page 0x200000 + 8157 * 0x1000.
  EXPECT_EQ(bench.ram.get<mtt_line>(context_kind::mtt, 1019).entry5, 0x21dd001U);
  bench.context.check_drained();
}

// Who is served when

TEST_P(transport, a_flood_of_one_function_does_not_keep_another_waiting) {
  for (unsigned i = 0; i < 32; ++i) {
    bench.place(simple(command_opcode::QueryHcaCap), 0);
  }
  const placed_command other = bench.place(simple(command_opcode::EnableHca, 1), 1);
  bench.ring(10, 0xffffffff, 0);
  bench.ring(11, other);
  bench.run(5000);
  // The flood's first command is in execution when the other's is there, and then it is its turn.
  EXPECT_EQ(bench.memory.written.size(), 33U);
  EXPECT_EQ(bench.memory.written.at(1).write.address, other.entry);
  EXPECT_EQ(bench.count(counter::CommandDoorbellsIgnored), 0U);
  bench.context.check_drained();
}

TEST_P(transport, entries_are_fetched_while_others_are_executed) {
  const placed_command first = bench.place(simple(command_opcode::EnableHca));
  const placed_command second = bench.place(simple(command_opcode::InitHca));
  bench.ring(10, 0b11);
  bench.run(1000);
  ASSERT_TRUE(bench.done(first) && bench.done(second));
  EXPECT_EQ(bench.memory.read.at(1).first, bench.memory.read.at(0).first + 1);
  // Service 100 and 5 to settle, and a cycle from one to the next.
  EXPECT_EQ(bench.entry_write(second)->visible - bench.entry_write(first)->visible, 106U);
}

TEST_P(transport, a_short_command_overtakes_a_long_one_of_another_function) {
  cycle_t t = bring_up();
  bench.command(t, simple(command_opcode::AllocPd));
  create_mkey_in in = mkey_request(1);
  const std::vector<std::uint64_t> pages(1000);  // ignored by a contiguous key
  const placed_command slow = bench.command(t + 300, packed(in, pages), 0);
  const placed_command quick = bench.command(t + 310, simple(command_opcode::EnableHca, 1), 1);
  bench.run(t + 2000);
  ASSERT_TRUE(bench.done(slow) && bench.done(quick));
  EXPECT_LT(bench.entry_write(quick)->cycle, bench.entry_write(slow)->cycle);
}

TEST_P(transport, a_doorbell_for_a_busy_entry_is_ignored) {
  const placed_command enable = bench.command(10, simple(command_opcode::EnableHca));
  bench.ring(40, enable);   // being served
  bench.ring(500, enable);  // the driver's
  bench.run(800);
  EXPECT_EQ(bench.count(counter::Commands), 1U);
  EXPECT_EQ(bench.memory.written.size(), 1U);
  EXPECT_EQ(bench.count(counter::CommandDoorbellsIgnored), 2U);
  EXPECT_EQ(bench.nic.counters.value_for(0, counter::CommandDoorbellsIgnored), 2U);
}

TEST_P(transport, a_doorbell_without_a_queue_is_ignored) {
  bench.store(10, bar0::CmdqAddrLSz, {0, 0, 0, 0}, 1);
  bench.ring(20, 0b101, 1);
  bench.run(400);
  EXPECT_TRUE(bench.memory.read.empty());
  EXPECT_EQ(bench.count(counter::CommandDoorbellsIgnored), 2U);
}

// Delivery errors

struct delivery_case {
  const char* name;
  command_delivery status;
  /// Breaks the command: SET_ROCE_ADDRESS in two mailboxes with an output in two.
  void (*spoil)(endpoint_bench& bench, const placed_command& command);
};

class delivery : public testing::TestWithParam<delivery_case> {};

TEST_P(delivery, is_refused_without_effect) {
  endpoint_bench bench(0);
  bench.command(10, simple(command_opcode::EnableHca));
  bench.command(11, simple(command_opcode::InitHca));
  input in = packed(gid_request(3, ip(9)));
  in.resize(16 + 512 + 8);
  const placed_command broken = bench.place(in, 0, 16 + 512 + 8);
  GetParam().spoil(bench, broken);
  bench.run(400);
  const command_tables before = bench.endpoint.commands().tables();
  bench.ring(500, broken);
  bench.run(1200);
  // The status is in bits 7:1 of the last byte, the ownership bit is 0.
  EXPECT_EQ(bench.last_byte(broken), static_cast<unsigned>(GetParam().status) << 1);
  EXPECT_TRUE(bench.endpoint.commands().tables() == before);
  EXPECT_EQ(bench.count(counter::CommandDeliveryErrors), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(0, counter::CommandDeliveryErrors), 1U);
  EXPECT_EQ(bench.count(counter::Commands), 2U);
  EXPECT_EQ(bench.count(counter::CommandErrors), 0U);
  bench.context.check_drained();
}

// The codes are those of the Linux driver (MLX5_CMD_DELIVERY_STAT_*).
const delivery_case Cases[] = {
    {"type", command_delivery{0x10}, [](auto& b, const auto& c) { b.memory.at(c.entry) = 8; }},
    {"reserved", command_delivery{0x9},
     [](auto& b, const auto& c) { b.memory.at(c.entry + 2) = 1; }},
    {"signature", command_delivery{0x1},
     [](auto& b, const auto& c) {
       sign(b, c.entry, 64, c.entry + 0x3d);
       b.memory.at(c.entry + 0x1f) ^= 1;
     }},
    {"control_signature", command_delivery{0x1},
     [](auto& b, const auto& c) {
       sign_box(b, c.inputs[1]);
       b.memory.at(c.inputs[1] + 574) ^= 1;
       b.memory.at(c.inputs[1] + 575) ^= 1;
     }},
    {"mailbox_signature", command_delivery{0x1},
     [](auto& b, const auto& c) {
       sign_box(b, c.inputs[0]);
       b.memory.at(c.inputs[0] + 100) ^= 1;
     }},
    {"output_signature", command_delivery{0x1},
     [](auto& b, const auto& c) {
       sign_box(b, c.outputs[1]);
       b.memory.at(c.outputs[1] + 574) ^= 1;
     }},
    {"input_token", command_delivery{0x2},
     [](auto& b, const auto& c) { b.memory.at(c.inputs[1] + 0x23d) ^= 1; }},
    {"output_token", command_delivery{0x2},
     [](auto& b, const auto& c) { b.memory.at(c.outputs[0] + 0x23d) ^= 1; }},
    {"input_block", command_delivery{0x3},
     [](auto& b, const auto& c) { b.memory.at(c.inputs[0] + 0x23b) = 1; }},
    {"output_block", command_delivery{0x3},
     [](auto& b, const auto& c) { b.memory.at(c.outputs[1] + 0x23b) = 0; }},
    {"output_alignment", command_delivery{0x4},
     [](auto& b, const auto& c) { b.memory.at(c.entry + 0x37) = 0x10; }},
    {"next_output_alignment", command_delivery{0x4},
     [](auto& b, const auto& c) { b.memory.at(c.outputs[0] + 0x236) ^= 2; }},
    {"input_alignment", command_delivery{0x5},
     [](auto& b, const auto& c) { b.memory.at(c.entry + 0x0e) ^= 2; }},
    {"next_input_alignment", command_delivery{0x5},
     [](auto& b, const auto& c) { b.memory.at(c.inputs[0] + 0x237) = 0x40; }},
    {"unreadable_entry", command_delivery{0x6},
     [](auto& b, const auto& c) { b.memory.faults[c.entry] = dma_status::unsupported_request; }},
    {"unreadable_input", command_delivery{0x6},
     [](auto& b, const auto& c) { b.memory.faults[c.inputs[1]] = dma_status::poisoned; }},
    {"unreadable_output", command_delivery{0x6},
     [](auto& b, const auto& c) { b.memory.faults[c.outputs[0] + 512] = dma_status::timeout; }},
    {"short_input", command_delivery{0x7},
     [](auto& b, const auto& c) {
       b.put(c.entry + 4, {0, 0, 0, 8});
     }},
    {"long_input", command_delivery{0x7},
     [](auto& b, const auto& c) {
       b.put(c.entry + 4, {0, 1, 0, 4});
     }},
    {"input_chain", command_delivery{0x7},
     [](auto& b, const auto& c) { b.put(c.inputs[0] + 0x230, input(8)); }},
    {"short_output", command_delivery{0x8},
     [](auto& b, const auto& c) {
       b.put(c.entry + 0x38, {0, 0, 0, 8});
     }},
    {"long_output", command_delivery{0x8},
     [](auto& b, const auto& c) {
       b.put(c.entry + 0x38, {0, 1, 0, 4});
     }},
    {"output_chain", command_delivery{0x8},
     [](auto& b, const auto& c) { b.put(c.outputs[0] + 0x230, input(8)); }},
};

INSTANTIATE_TEST_SUITE_P(errors, delivery, testing::ValuesIn(Cases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(transport, an_entry_that_cannot_be_read_shows_in_the_health_buffer) {
  const placed_command lost = bench.place(simple(command_opcode::EnableHca));
  bench.memory.faults[lost.entry] = dma_status::completer_abort;
  bench.ring(10, lost);
  bench.load(200, bar0::Health + 0x3c);
  bench.load(210, bar0::HealthCounter);
  bench.load(220, bar0::Health + 0x3c, 4, 1);
  bench.run(400);
  EXPECT_EQ(bench.value(0), 0x000a0000U) << "0x0a: error while fetching; entry 0";
  EXPECT_EQ(bench.value(1) >> 24, 0x0aU);
  EXPECT_EQ(bench.value(2), 0U) << "another function's";
  // Only the last word was written: the input is as it was.
  EXPECT_EQ(bench.get(lost.entry + 0x10, 2), (input{0x01, 0x04}));
}

TEST_P(transport, signatures_that_are_there_are_checked_and_answered) {
  cycle_t t = bring_up();
  bench.command(t, simple(command_opcode::AllocPd));
  bench.command(t + 200, packed(mkey_request(1)));
  const placed_command query = bench.place(simple(command_opcode::QueryMkey, 1), 0, 272);
  sign(bench, query.entry, 64, query.entry + 0x3d);
  sign_box(bench, query.outputs[0]);
  bench.ring(t + 600, query);
  bench.run(t + 1200);
  EXPECT_TRUE(bench.done(query));
  EXPECT_EQ(sum_of(bench, query.entry, 64), 0xffU);
  EXPECT_EQ(sum_of(bench, query.outputs[0] + 512, 63), 0xffU);
  EXPECT_EQ(sum_of(bench, query.outputs[0], 576), 0xffU);
}

INSTANTIATE_TEST_SUITE_P(orders, transport, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
