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
  bench.store(12, bar0::CmdqAddrH, {0, 0, 0, 5});
  bench.store(13, bar0::Size - 4, {1, 2, 3, 4, 5, 6, 7, 8});  // runs out of the BAR
  bench.store(14, bar4::FwStatus, {1, 2, 3, 4}, 1, 4);
  bench.load(40, bar0::FwRev);
  bench.load(50, bar0::CmdqAddrH);
  bench.load(60, bar0::CmdqAddrH, 4, 1);
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

TEST_P(endpoint, a_query_shows_the_counters_of_its_function) {
  endpoint_bench bench(GetParam());
  bench.nic.counters.add_for(0, counter::RxPackets, 7);
  bench.nic.counters.add_for(1, counter::RxPackets, 9);
  bench.command(10, simple(command_opcode::EnableHca));
  bench.command(500, simple(command_opcode::InitHca));
  query_vport_counter_in in;
  in.opcode = command_opcode::QueryVportCounter;
  constexpr std::uint32_t Bytes = query_vport_counter_out::Size + 8 * CounterCount;
  const placed_command query = bench.command(1000, packed(in), 0, Bytes);
  bench.run(3000);
  EXPECT_EQ(bench.answer(query).status, command_status::Ok);
  const input shown = bench.output(query);
  EXPECT_EQ(
      bytes::load_be<8>(
          &shown[query_vport_counter_out::Size + 8 * static_cast<std::size_t>(counter::RxPackets)]),
      7U);
}

INSTANTIATE_TEST_SUITE_P(orders, endpoint, testing::Values(0, 1, 2));

// MSI-X -------------------------------------------------------------------------------------------

/// Bytes in the order in which they are on the bus.
mmio_write table_write(std::uint64_t offset, std::vector<std::uint8_t> bytes,
                       std::uint16_t function = 0) {
  mmio_write access{.function = function, .bar = 0, .offset = bar0::MsixTable + offset};
  access.length = static_cast<std::uint16_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), access.data.begin());
  return access;
}

mmio_read register_read(std::uint64_t offset, std::uint16_t length, std::uint16_t function = 0) {
  return {.function = function, .bar = 0, .offset = offset, .length = length};
}

TEST(pcie_endpoint, the_MSIX_table_is_little_endian_and_reads_as_it_was_written) {
  endpoint_bench bench(0);
  bench.write_source.at(10, table_write(3 * 16, {0x00, 0x10, 0xe0, 0xfe, 1, 0, 0, 0}, 1));
  bench.write_source.at(11, table_write(3 * 16 + 8, {0x21, 0x43, 0, 0, 0, 0, 0, 0}, 1));
  bench.read_source.at(50, register_read(bar0::MsixTable + 3 * 16, 8, 1));
  bench.read_source.at(51, register_read(bar0::MsixTable + 3 * 16 + 12, 4, 0));
  bench.run(200);
  ASSERT_EQ(bench.msix_sink.items.size(), 2U);
  const msix_command& entry = bench.msix_sink.items[1].item;
  EXPECT_EQ(entry.kind, msix_command_kind::entry);
  EXPECT_EQ(entry.function, 1U);
  EXPECT_EQ(entry.vector, 3U);
  EXPECT_EQ(entry.address, 0x1fee01000U);
  EXPECT_EQ(entry.data, 0x4321U);
  EXPECT_FALSE(entry.masked);
  EXPECT_TRUE(bench.msix_sink.items[0].item.masked) << "until the second word was written";
  ASSERT_EQ(bench.answer_sink.items.size(), 2U);
  const auto& data = bench.answer_sink.items[0].item.data;
  EXPECT_EQ(std::vector<std::uint8_t>(data.begin(), data.end()),
            (std::vector<std::uint8_t>{0x00, 0x10, 0xe0, 0xfe, 1, 0, 0, 0}));
  EXPECT_EQ(bench.answer_sink.items[1].item.data[0], 1) << "another function's is still masked";
}

TEST(pcie_endpoint, of_the_MSIX_vector_control_only_the_mask_is_there) {
  endpoint_bench bench(0);
  bench.write_source.at(10, table_write(12, {0xff, 0xff, 0xff, 0xff}));
  bench.read_source.at(50, register_read(bar0::MsixTable + 8, 8));
  bench.run(200);
  const auto& data = bench.answer_sink.items.at(0).item.data;
  EXPECT_EQ(data[4], 1);
  EXPECT_EQ(data[5] | data[6] | data[7], 0);
}

TEST(pcie_endpoint, the_MSIX_table_takes_aligned_words_of_4_or_8_bytes_only) {
  endpoint_bench bench(0);
  bench.write_source.at(10, table_write(0, std::vector<std::uint8_t>(16, 1)));
  bench.write_source.at(11, table_write(4, std::vector<std::uint8_t>(8, 1)));
  bench.write_source.at(12, table_write(2, std::vector<std::uint8_t>(4, 1)));
  // Behind the 64 entries that a function has, and the pending bits.
  bench.write_source.at(13, table_write(64 * 16, std::vector<std::uint8_t>(4, 1)));
  bench.write_source.at(14, table_write(bar0::MsixPba - bar0::MsixTable, {1, 0, 0, 0}));
  bench.read_source.at(50, register_read(bar0::MsixTable, 8));
  bench.run(200);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 5U);
  EXPECT_TRUE(bench.msix_sink.items.empty());
  EXPECT_EQ(bench.answer_sink.items.at(0).item.data, (std::array<std::uint8_t, 8>{}));
}

TEST(pcie_endpoint, the_MSIX_pending_bits_are_what_completion_holds_back) {
  endpoint_bench bench(0);
  bench.msix_bits.write(0, {{}, {0x8001, 0x2}});
  bench.read_source.at(50, register_read(bar0::MsixPba, 8, 1));
  bench.read_source.at(51, register_read(bar0::MsixPba + 8, 8, 1));
  bench.read_source.at(52, register_read(bar0::MsixPba, 8, 0));
  bench.run(200);
  ASSERT_EQ(bench.answer_sink.items.size(), 3U);
  EXPECT_EQ(bench.answer_sink.items[0].item.data, (std::array<std::uint8_t, 8>{0x01, 0x80}));
  EXPECT_EQ(bench.answer_sink.items[1].item.data, (std::array<std::uint8_t, 8>{0x02}));
  EXPECT_EQ(bench.answer_sink.items[2].item.data, (std::array<std::uint8_t, 8>{}));
}

TEST(pcie_endpoint, completion_hears_of_MSIX_in_order_and_the_host_never_waits) {
  endpoint_bench bench(0);
  for (unsigned i = 0; i < 32; ++i) {
    bench.write_source.at(10, table_write(16 * i, {static_cast<std::uint8_t>(i), 0, 0, 0}));
  }
  bench.config_write(50, 0x9e, 0xc000);  // enable and function mask
  bench.config_write(60, 0x68, 0x8000);  // function-level reset
  bench.run(200);
  ASSERT_GE(bench.msix_sink.items.size(), 32U + 2);
  unsigned next = 0;
  for (const auto& each : bench.msix_sink.items) {
    if (each.item.kind == msix_command_kind::entry) {
      EXPECT_EQ(each.item.vector, next);
      EXPECT_EQ(each.item.address, next++);
    }
  }
  const msix_command& enable = bench.msix_sink.items[32].item;
  EXPECT_EQ(enable.kind, msix_command_kind::control);
  EXPECT_TRUE(enable.enabled);
  EXPECT_TRUE(enable.masked);
  EXPECT_EQ(bench.msix_sink.items[33].item.kind, msix_command_kind::reset);
  bench.context.check_drained();
}

}  // namespace
}  // namespace carillon
