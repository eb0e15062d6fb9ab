// The stage around the command core: registers, the command window, and when lines and owners are
// told. What commands compute is tested in pcie_endpoint_*_test.cpp.
#include "pcie_endpoint.h"

#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "tb/common/command_bench.h"
#include "tb/common/stage_bench.h"

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

parameters two_functions() {
  parameters params;
  params.nic.total_vfs = 1;
  params.nic.command_cycles = 100;
  return params;
}

struct endpoint_bench : bench::stage_bench {
  explicit endpoint_bench(std::uint64_t shuffle, cycle_t owner_period = 1)
      : stage_bench(shuffle, two_functions()),
        writes(port<mmio_write>("writes")),
        reads(port<mmio_read>("reads")),
        answers(port<mmio_answer>("answers")),
        line_reads(port<context_read>("line_reads")),
        lines(port<context_line>("lines")),
        line_writes(port<context_write>("line_writes", 2)),
        fetch(port<qp_command>("fetch", 1)),
        responder(port<qp_command>("responder", 1)),
        completion(port<cq_command>("completion", 1)),
        srqs(port<srq_command>("srqs", 1)),
        configs(port<config_request>("configs")),
        errors(port<pcie_error>("errors", 16)),
        functions(context.clock, "functions", pcie_endpoint::reset_functions(context.params)),
        write_source("write_source", *this, writes),
        read_source("read_source", *this, reads),
        answer_sink("answer_sink", *this, answers),
        config_source("config_source", *this, configs),
        error_source("error_source", *this, errors),
        ram("ram", *this),
        fetch_sink("fetch_sink", *this, fetch, owner_period),
        responder_sink("responder_sink", *this, responder, owner_period),
        completion_sink("completion_sink", *this, completion),
        srq_sink("srq_sink", *this, srqs),
        endpoint("endpoint", nic,
                 {writes,
                  reads,
                  answers,
                  line_reads,
                  lines,
                  line_writes,
                  {&fetch, &responder},
                  completion,
                  srqs,
                  configs,
                  {&errors},
                  functions},
                 0x020000000001) {
    ram.serve(line_reads, lines);
    ram.accept(line_writes);
  }

  void store(cycle_t when, std::uint64_t offset, const input& bytes, std::uint16_t function = 0,
             std::uint8_t bar = 0) {
    mmio_write item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = static_cast<std::uint16_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), item.data.begin());
    write_source.at(when, item, 1, false);
  }

  void load(cycle_t when, std::uint64_t offset, std::uint16_t length = 4,
            std::uint16_t function = 0, std::uint8_t bar = 0) {
    mmio_read item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = length;
    item.requester = 0x42;
    item.tag = static_cast<std::uint16_t>(when);
    read_source.at(when, item, 1, false);
  }

  /// Writes the command by 8-byte stores, one a cycle, and rings; returns the cycle of the ring.
  cycle_t command(cycle_t when, const input& in, std::uint16_t function = 0) {
    for (std::size_t at = 0; at < in.size(); at += 8) {
      store(when++, bar0::CmdIn + at,
            input(in.begin() + static_cast<std::ptrdiff_t>(at),
                  in.begin() + static_cast<std::ptrdiff_t>(at + 8)),
            function);
    }
    input length(4);
    bytes::store_be<4>(length.data(), in.size());
    store(when, bar0::CmdDoorbell, length, function);
    return when;
  }

  [[nodiscard]] std::uint64_t value(std::size_t index) const {
    const mmio_answer& answer = answer_sink.items.at(index).item;
    return answer.length == 4 ? bytes::load_be<4>(answer.data.data())
                              : bytes::load_be<8>(answer.data.data());
  }

  [[nodiscard]] bar0::cmd_status_value status() {
    std::array<std::uint8_t, 4> raw{};
    EXPECT_TRUE(endpoint.debug_read(0, 0, bar0::CmdStatus, raw));
    return bar0::cmd_status_value::unpack(
        static_cast<std::uint32_t>(bytes::load_be<4>(raw.data())));
  }

  stream<mmio_write>& writes;
  stream<mmio_read>& reads;
  stream<mmio_answer>& answers;
  stream<context_read>& line_reads;
  stream<context_line>& lines;
  stream<context_write>& line_writes;
  stream<qp_command>& fetch;
  stream<qp_command>& responder;
  stream<cq_command>& completion;
  stream<srq_command>& srqs;
  stream<config_request>& configs;
  stream<pcie_error>& errors;
  level<function_map> functions;
  bench::source<mmio_write> write_source;
  bench::source<mmio_read> read_source;
  bench::sink<mmio_answer> answer_sink;
  bench::source<config_request> config_source;
  bench::source<pcie_error> error_source;
  bench::context_lines ram;
  bench::sink<qp_command> fetch_sink;
  bench::sink<qp_command> responder_sink;
  bench::sink<cq_command> completion_sink;
  bench::sink<srq_command> srq_sink;
  pcie_endpoint endpoint;
};

class endpoint : public testing::TestWithParam<std::uint64_t> {};

TEST_P(endpoint, a_register_read_is_answered_ten_cycles_after_it_is_taken) {
  endpoint_bench bench(GetParam());
  bench.load(10, bar0::DeviceId);
  bench.load(20, bar0::FunctionNumber, 4, 1);
  bench.load(30, bar0::HcaCap + 8, 8);
  bench.run(100);
  ASSERT_EQ(bench.answer_sink.items.size(), 3U);
  const mmio_answer& first = bench.answer_sink.items[0].item;
  EXPECT_EQ(bench.answer_sink.items[0].visible, 21U);  // visible in 11, and ten cycles
  EXPECT_EQ(bench.value(0), 0x102115b3U);
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
  bench.load(40, bar0::DeviceId + 2, 4);  // not aligned
  bench.run(100);
  const auto unsupported = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
  EXPECT_EQ(bench.answer_sink.items.at(0).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(1).item.status, unsupported);
  EXPECT_EQ(bench.answer_sink.items.at(2).item.status, 0U);
  EXPECT_EQ(bench.value(2), 1U);
  EXPECT_EQ(bench.answer_sink.items.at(3).item.status, unsupported);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 2U);
}

TEST_P(endpoint, writes_to_what_is_not_writable_are_counted_and_ignored) {
  endpoint_bench bench(GetParam());
  bench.store(10, bar0::DeviceId, {1, 2, 3, 4});
  bench.store(11, 0x100, {1, 2, 3, 4});  // no register
  bench.store(12, bar0::CmdIn, {0, 0, 0, 5});
  bench.store(13, bar0::CmdIn + bar0::CmdInBytes - 4,
              {1, 2, 3, 4, 5, 6, 7, 8});  // runs out of the window
  bench.store(14, bar4::FwStatus, {1, 2, 3, 4}, 1, 4);
  bench.load(40, bar0::DeviceId);
  bench.load(50, bar0::CmdIn);
  bench.run(100);
  EXPECT_EQ(bench.value(0), 0x102115b3U);
  EXPECT_EQ(bench.value(1), 5U);
  EXPECT_EQ(bench.count(counter::RegisterDenied), 3U);
  EXPECT_EQ(bench.count(counter::Bar4Denied), 1U);
}

TEST_P(endpoint, a_command_is_busy_until_its_time_is_over_and_then_done) {
  endpoint_bench bench(GetParam());
  const cycle_t rung = bench.command(10, simple(command_opcode::EnableHca));
  // The ring is visible a cycle later, and 100 cycles are served; reads are taken a cycle after
  // they are pushed.
  bench.load(rung + 50, bar0::CmdStatus);
  bench.store(rung + 60, bar0::CmdIn, {0, 0, 0, 0, 0, 0, 0, 0});  // too early for the next one
  bench.load(rung + 150, bar0::CmdStatus);
  bench.load(rung + 160, bar0::InitState);
  bench.load(rung + 170, bar0::Health);
  bench.run(rung + 300);
  EXPECT_EQ(bench.value(0), 1U) << "busy";
  EXPECT_EQ(bench.value(1), 2U) << "done, status 0";
  EXPECT_EQ(bench.value(2), 1U);
  EXPECT_EQ(bench.value(3), 1U) << "one command served";
  EXPECT_EQ(bench.count(counter::RegisterDenied), 1U);
  EXPECT_EQ(bench.count(counter::Commands), 1U);
}

TEST_P(endpoint, a_refused_command_leaves_status_and_syndrome) {
  endpoint_bench bench(GetParam());
  const cycle_t rung = bench.command(10, simple(command_opcode::AllocPd));
  bench.load(rung + 200, bar0::CmdStatus);
  bench.load(rung + 210, bar0::CmdSyndrome);
  bench.load(rung + 220, bar0::CmdOut, 8);
  bench.run(rung + 400);
  EXPECT_EQ(bench.value(0), 0x0402U);
  EXPECT_EQ(bench.value(1), static_cast<std::uint64_t>(command_syndrome::FunctionState));
  EXPECT_EQ(bench.value(2), 0x0400000000000002U);
  EXPECT_EQ(bench.count(counter::CommandErrors), 1U);
}

TEST_P(endpoint, owners_hear_of_a_qp_when_the_ram_has_its_lines) {
  endpoint_bench bench(GetParam(), 7);
  cycle_t t = 10;
  const auto next = [&](const input& in) { t = bench.command(t, in) + 300; };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(simple(command_opcode::AllocUar));
  next(packed(cq_request(1), {0x8000}));
  const cycle_t rung = bench.command(t, packed(qp_request(1, 1, 1), {0x4000}));
  t = rung + 300;
  next(modify(command_opcode::Rst2InitQp, 2, [] {
    qpc wanted;
    wanted.rwe = 1;
    return wanted;
  }()));
  next(simple(command_opcode::QueryQp, 2));
  bench.run(t);
  EXPECT_TRUE(bench.status().done);
  EXPECT_EQ(bench.status().status, 0U);

  ASSERT_EQ(bench.completion_sink.items.size(), 1U);
  ASSERT_EQ(bench.fetch_sink.items.size(), 2U);
  ASSERT_EQ(bench.responder_sink.items.size(), 2U);
  EXPECT_EQ(bench.fetch_sink.items[0].item.state, static_cast<unsigned>(qp_state::Reset));
  EXPECT_EQ(bench.fetch_sink.items[1].item.state, static_cast<unsigned>(qp_state::Init));
  // Four lines through a stream of depth 2: the last is pushed at the earliest at rung + 1 + 100 +
  // 3, taken a cycle later, and in the RAM four cycles after that.
  EXPECT_GE(bench.fetch_sink.items[0].visible, rung + 1 + 100 + 3 + 1 + 4);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).state, qp_state::Init);
  EXPECT_EQ(bench.ram.get<qpc_common>(context_kind::qpc_common, 2).wqe_base_addr, 0x4100U);
  bench.context.check_drained();
}

TEST_P(endpoint, everybody_hears_of_its_queue_when_the_ram_has_its_line) {
  endpoint_bench bench(GetParam());
  cycle_t t = 10;
  const auto next = [&](const input& in) { t = bench.command(t, in) + 300; };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  next(simple(command_opcode::AllocUar));
  next(packed(eq_request(1), {0x7000}));
  const cycle_t rung = bench.command(t, packed(srq_request(1), {0x6000}));
  bench.run(rung + 300);
  EXPECT_EQ(bench.status().status, 0U);
  ASSERT_EQ(bench.completion_sink.items.size(), 1U);
  EXPECT_TRUE(bench.completion_sink.items[0].item.eq);
  ASSERT_EQ(bench.srq_sink.items.size(), 1U);
  EXPECT_EQ(bench.srq_sink.items[0].item.srqn, 1U);
  // Visible at rung + 1, served for 100 cycles, one line, which the RAM has 1 + 4 cycles later.
  EXPECT_GE(bench.srq_sink.items[0].visible, rung + 1 + 100 + 1 + 4);
  EXPECT_EQ(bench.ram.get<srq_line>(context_kind::srq, 1).base_addr, 0x6000U);
  EXPECT_EQ(bench.ram.get<eqc_line>(context_kind::eqc, 1).base_addr, 0x7000U);
  EXPECT_TRUE(bench.fetch_sink.items.empty());
  bench.context.check_drained();
}

TEST_P(endpoint, a_command_as_long_as_the_window_is_served) {
  endpoint_bench bench(GetParam());
  cycle_t t = 10;
  const auto next = [&](const input& in) { t = bench.command(t, in) + 300; };
  next(simple(command_opcode::EnableHca));
  next(simple(command_opcode::InitHca));
  next(simple(command_opcode::AllocPd));
  create_mkey_in in = mkey_request(1);
  in.memory_key_mkey_entry.access_mode_1_0 = mkey_access_mode::Mtt;
  in.memory_key_mkey_entry.log_page_size = 12;
  in.memory_key_mkey_entry.len = std::uint64_t{478} * 4096;
  in.translations_octword_actual_size = 239;
  std::vector<std::uint64_t> pages;
  for (std::uint64_t i = 0; i < 478; ++i) {
    pages.push_back(0x200001 + i * 0x1000);
  }
  next(packed(in, pages));
  bench.load(t, bar0::CmdOut + 8);
  bench.run(t + 100);
  EXPECT_EQ(bench.status().status, 0U);
  EXPECT_EQ(bench.value(0), 1U) << "the key's index";
  // Entry 477 is the last of line 59: page 0x200000 + 477 * 0x1000.
  EXPECT_EQ(bench.ram.get<mtt_line>(context_kind::mtt, 59).entry5, 0x3dd001U);
  EXPECT_EQ(bench.ram.get<mkey_line>(context_kind::mkey, 1).valid, 1U);
  bench.context.check_drained();
}

TEST_P(endpoint, a_query_shows_what_the_pipeline_left_in_the_ram) {
  endpoint_bench bench(GetParam());
  cycle_t t = 10;
  const auto next = [&](const input& in) { t = bench.command(t, in) + 300; };
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
  next(simple(command_opcode::QueryMkey, 1));
  bench.load(t, bar0::CmdOut + 16);
  bench.run(1000);
  // free is bit 30 of the context's first word; then the rights: lr, lw and rw are bits 10, 11, 13.
  EXPECT_EQ(bench.value(0), 0x40002c00U);
}

TEST_P(endpoint, commands_of_two_functions_are_served_one_after_the_other) {
  endpoint_bench bench(GetParam());
  const cycle_t first = bench.command(10, simple(command_opcode::EnableHca, 0), 0);
  const cycle_t second = bench.command(first + 1, simple(command_opcode::EnableHca, 1), 1);
  bench.load(second + 120, bar0::CmdStatus, 4, 0);
  bench.load(second + 130, bar0::CmdStatus, 4, 1);
  bench.load(second + 250, bar0::CmdStatus, 4, 1);
  bench.run(second + 400);
  EXPECT_EQ(bench.value(0), 2U);
  EXPECT_EQ(bench.value(1), 1U);
  EXPECT_EQ(bench.value(2), 2U);
}

TEST_P(endpoint, bars_follow_each_other_and_only_the_pf_has_bar4) {
  const function_map map = pcie_endpoint::reset_functions(two_functions());
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
