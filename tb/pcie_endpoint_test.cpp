// The stage around the command core: registers, and when lines and owners are told. How commands
// come and go is in pcie_endpoint_transport_test.cpp, what they compute in the other
// pcie_endpoint_*_test.cpp.
#include "pcie_endpoint.h"

#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "tb/common/endpoint_bench.h"

namespace carillon {
namespace {

using bench::cq_request;
using bench::eq_request;
using bench::input;
using bench::mkey_request;
using bench::modify;
using bench::packed;
using bench::qp_request;
using bench::simple;
using bench::srq_request;

using bench::endpoint_bench;
using bench::placed_command;

class endpoint : public testing::TestWithParam<std::uint64_t> {};

TEST_P(endpoint, a_register_read_is_answered_ten_cycles_after_it_is_taken) {
  endpoint_bench bench(GetParam());
  bench.load(10, bar0::CmdifRevFwSub);
  bench.load(20, bar0::FunctionNumber, 4, 1);
  bench.load(30, bar0::HcaCap + 8, 8);
  bench.run(100);
  ASSERT_EQ(bench.answer_sink.items.size(), 3U);
  const mmio_answer& first = bench.answer_sink.items[0].item;
  EXPECT_EQ(bench.answer_sink.items[0].visible, 21U);  // visible in 11, and ten cycles
  EXPECT_EQ(bench.value(0), 0x00050000U) << "command interface revision 5";
  EXPECT_EQ(first.requester, 0x42U);
  EXPECT_EQ(first.tag, 10U);
  EXPECT_EQ(first.status, 0U);
  EXPECT_EQ(bench.value(1), 1U);
  EXPECT_EQ(bench.answer_sink.items[2].item.lower_address, 0x08U);
  // 16 UAR pages, BlueFlame registers of 2^9 bytes, 16 GIDs.
  EXPECT_EQ(bench.value(2) & 0xffffffff, 0x00100910U);
  bench.context.check_drained();
}

TEST_P(endpoint, what_a_function_does_not_have_is_an_unsupported_request) {
  endpoint_bench bench(GetParam());
  bench.load(10, bar0::Size - 4, 8);        // beyond the end
  bench.load(20, bar4::FwStatus, 4, 1, 4);  // BAR4 of a virtual function
  bench.load(30, bar4::FwStatus, 4, 0, 4);
  bench.load(40, bar0::FwRev + 2, 4);  // not aligned
  bench.run(100);
  const auto unsupported = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  EXPECT_EQ(bench.answer_sink.items.at(0).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(1).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(2).item.status, 0U);
  EXPECT_EQ(bench.value(2), 2U) << "firmware runs";
  EXPECT_EQ(bench.answer_sink.items.at(3).item.status, unsupported);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 2U);
}

TEST_P(endpoint, writes_to_what_is_not_writable_are_counted_and_ignored) {
  endpoint_bench bench(GetParam());
  bench.store(10, bar0::FwRev, {1, 2, 3, 4});
  bench.store(11, 0x100, {1, 2, 3, 4});  // no register
  bench.store(12, bar0::RpTarget, {0, 0, 0, 5});
  bench.store(13, bar0::Size - 4, {1, 2, 3, 4, 5, 6, 7, 8});  // runs out of the BAR
  bench.store(14, bar4::FwStatus, {1, 2, 3, 4}, 1, 4);
  bench.load(40, bar0::FwRev);
  bench.load(50, bar0::RpTarget);
  bench.load(60, bar0::RpTarget, 4, 1);
  bench.run(100);
  EXPECT_EQ(bench.value(0), 1U);
  EXPECT_EQ(bench.value(1), 5U);
  EXPECT_EQ(bench.value(2), 0U) << "of another function";
  EXPECT_EQ(bench.count(counter::RegisterDenied), 3U);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
}

TEST_P(endpoint, the_low_bits_of_the_queue_s_address_are_the_device_s) {
  endpoint_bench bench(GetParam());
  bench.store(10, bar0::CmdqAddrH, {0, 0, 0x12, 0x34});
  bench.store(11, bar0::CmdqAddrLSz, {0xab, 0xcd, 0xef, 0xff});
  bench.load(40, bar0::CmdqAddrH, 8);
  bench.load(50, bar0::CmdDbell);
  bench.run(100);
  // 2^5 entries, 2^6 bytes from one to the next.
  EXPECT_EQ(bench.value(0), 0x00001234abcde056U);
  EXPECT_EQ(bench.value(1), 0U) << "write-only";
}

TEST_P(endpoint, timer_and_health_counter_move_on) {
  endpoint_bench bench(GetParam());
  bench.load(100, bar0::InternalTimer, 8);
  bench.load(200, bar0::HealthCounter);
  bench.load(65'536 + 200, bar0::HealthCounter);
  bench.load(65'536 + 300, bar0::Health + 0x3c);
  bench.run(66'000);
  EXPECT_EQ(bench.value(0), 101U) << "taken a cycle after it was pushed";
  EXPECT_EQ(bench.value(1), 0U);
  EXPECT_EQ(bench.value(2), 1U);
  EXPECT_EQ(bench.value(3), 0U) << "healthy";
}

TEST_P(endpoint, a_command_takes_its_fetch_and_its_service_time) {
  endpoint_bench bench(GetParam());
  const placed_command enable = bench.command(10, simple(command_opcode::EnableHca));
  // The ring is visible in 11, the read at the memory four cycles later, its answer 20 after that;
  // 100 cycles are served, 5 until the RAM would have a last line; the write is visible after 4.
  bench.load(10 + 25 + 99, bar0::InitState);   // visible in the cycle after
  bench.load(10 + 25 + 100, bar0::InitState);  // executed before
  bench.run(400);
  EXPECT_EQ(bench.value(0), 0U);
  EXPECT_EQ(bench.value(1), 1U);
  ASSERT_NE(bench.entry_write(enable), nullptr);
  EXPECT_EQ(bench.entry_write(enable)->visible, 10U + 25 + 100 + 5 + 4);
  EXPECT_TRUE(bench.done(enable));
  EXPECT_EQ(bench.count(counter::Commands), 1U);
  bench.context.check_drained();
}

TEST_P(endpoint, a_refused_command_leaves_status_and_syndrome) {
  endpoint_bench bench(GetParam());
  const placed_command refused = bench.command(10, simple(command_opcode::AllocPd));
  bench.run(400);
  EXPECT_TRUE(bench.done(refused)) << "delivered";
  EXPECT_EQ(bench.answer(refused).status, command_status::BadSystemState);
  EXPECT_EQ(bench.answer(refused).syndrome,
            static_cast<std::uint32_t>(command_syndrome::FunctionState));
  EXPECT_EQ(bench.count(counter::CommandErrors), 1U);
  EXPECT_EQ(bench.nic.counters.value_for(0, counter::CommandErrors), 1U);
}

TEST_P(endpoint, owners_hear_of_a_qp_when_the_ram_has_its_lines) {
  endpoint_bench bench(GetParam(), 7);
  cycle_t t = 10;
  const auto next = [&](const input& in) {
    bench.command(t, in);
    t += 300;
  };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(simple(command_opcode::AllocUar));
  next(packed(cq_request(1), {0x8000}));
  const cycle_t rung = t;
  next(packed(qp_request(1, 1, 1), {0x4000}));
  next(modify(command_opcode::Rst2InitQp, 2, [] {
    qpc wanted;
    wanted.rwe = 1;
    return wanted;
  }()));
  const placed_command query = bench.command(t, simple(command_opcode::QueryQp, 2), 0, 272);
  bench.run(t + 300);
  EXPECT_TRUE(bench.done(query));
  EXPECT_EQ(bench.answer(query).status, command_status::Ok);

  ASSERT_EQ(bench.completion_sink.items.size(), 1U);
  ASSERT_EQ(bench.fetch_sink.items.size(), 2U);
  ASSERT_EQ(bench.responder_sink.items.size(), 2U);
  EXPECT_EQ(bench.fetch_sink.items[0].item.state, static_cast<unsigned>(qp_state::Reset));
  EXPECT_EQ(bench.fetch_sink.items[1].item.state, static_cast<unsigned>(qp_state::Init));
  // Read in 25 cycles, one mailbox in 24. Four lines through a stream of depth 2: the last is
  // pushed at the earliest 3 cycles after the command, taken a cycle later, and in the RAM four
  // cycles after that.
  EXPECT_GE(bench.fetch_sink.items[0].visible, rung + 25 + 24 + 100 + 3 + 1 + 4);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).state, qp_state::Init);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).wqe_base_addr, 0x4100U);
  bench.context.check_drained();
}

TEST_P(endpoint, everybody_hears_of_its_queue_when_the_ram_has_its_line) {
  endpoint_bench bench(GetParam());
  cycle_t t = 10;
  const auto next = [&](const input& in) {
    bench.command(t, in);
    t += 300;
  };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(simple(command_opcode::AllocUar));
  next(packed(eq_request(1), {0x7000}));
  const cycle_t rung = t;
  const placed_command srq = bench.command(t, packed(srq_request(1), {0x6000}));
  bench.run(rung + 300);
  EXPECT_EQ(bench.answer(srq).status, command_status::Ok);
  ASSERT_EQ(bench.completion_sink.items.size(), 1U);
  EXPECT_TRUE(bench.completion_sink.items[0].item.eq);
  ASSERT_EQ(bench.srq_sink.items.size(), 1U);
  EXPECT_EQ(bench.srq_sink.items[0].item.srqn, 1U);
  // Read in 25 + 24 cycles, served for 100, one line, which the RAM has 1 + 4 cycles later.
  EXPECT_GE(bench.srq_sink.items[0].visible, rung + 25 + 24 + 100 + 1 + 4);
  EXPECT_EQ(bench.ram.get<srq_line>(context_kind::srq, 1).base_addr, 0x6000U);
  EXPECT_EQ(bench.ram.get<eqc_line>(context_kind::eqc, 1).base_addr, 0x7000U);
  EXPECT_TRUE(bench.fetch_sink.items.empty());
  bench.context.check_drained();
}

TEST_P(endpoint, a_query_shows_what_the_pipeline_left_in_the_ram) {
  endpoint_bench bench(GetParam());
  cycle_t t = 10;
  const auto next = [&](const input& in) {
    bench.command(t, in);
    t += 300;
  };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(packed(mkey_request(1)));
  bench.run(t);
  auto key = bench.ram.get<mkey_line>(context_kind::mkey, 1);
  EXPECT_EQ(key.valid, 1U);
  key.valid = 0;  // as after a LOCAL_INVAL
  bench.ram.set(context_kind::mkey, 1, key);
  t += 10;
  const placed_command query = bench.command(t, simple(command_opcode::QueryMkey, 1), 0, 272);
  bench.run(1000);
  // free is bit 30 of the context's first word; then the rights: lr, lw and rw are bits 10, 11, 13.
  EXPECT_EQ(bytes::load_be<4>(bench.output(query).data() + 16), 0x40002c00U);
}

TEST_P(endpoint, bars_follow_each_other_and_only_the_pf_has_bar4) {
  const function_map map = pcie_endpoint::reset_functions(bench::endpoint_parameters());
  ASSERT_EQ(map.functions.size(), 2U);
  EXPECT_EQ(map.pf[0].base, 0x80000000U);
  EXPECT_EQ(map.vf[0].base, 0x80008000U);
  EXPECT_EQ(map.pf[1].bytes, 0x10000U) << "16 pages of 4 KiB";
  EXPECT_EQ(map.vf[1].base, map.pf[1].base + 0x10000);
  EXPECT_TRUE(map.vf_memory_enable);
}

INSTANTIATE_TEST_SUITE_P(orders, endpoint, testing::Values(0, 1, 2));

}  // namespace
}  // namespace carillon
