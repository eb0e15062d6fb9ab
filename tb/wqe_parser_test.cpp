// wqe_parser by itself: the cycles of the timing table, and what comes out of it.
// wqe_parser_core_test.cpp has the checks one by one.

#include "wqe_parser.h"

#include <gtest/gtest.h>
#include <vector>

#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "tb/common/stage_bench.h"
#include "tb/common/wqe_parser_bench.h"

namespace carillon {
namespace {

using bench::context_lines;
using bench::Function;
using bench::good_key;
using bench::KeyIndex;
using bench::Length;
using bench::Lkey;
using bench::Qpn;
using bench::ready_qp;
using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::Start;
using bench::Variant;
using bench::wqe_bytes;

/// The parser between a source that pushes WQEs, a context RAM of the reference latency (5 with the
/// hop) and a sink.
struct wqe_parser_cycles : testing::Test {
  wqe_parser_cycles() {
    ram.serve(ctx_reads, ctx_lines);
    ram.serve(key_reads, key_lines);
    ram.set(context_kind::qpc_common, Qpn, ready_qp());
    ram.set(context_kind::mkey, KeyIndex, good_key());
  }

  wqe_bytes wqe(wqe_opcode opcode = wqe_opcode::Send) {
    return wqe_bytes(bench.nic.buffers, opcode);
  }

  /// Gives the QP another service.
  void serve(qp_service service) { ram.set(context_kind::qpc_common, Qpn, ready_qp(service)); }

  /// A WQE visible to the parser in cycle `visible`.
  void feed(cycle_t visible, wqe_item wqe) {
    const unsigned beats = beats_of(std::uint64_t{wqe.ds} * 16);
    wqes.at(visible - 1, std::move(wqe), beats);
  }

  const std::vector<sink<work_item>::taken>& results() {
    bench.run(2000);
    bench.context.check_drained();
    return works.items;
  }

  stage_bench bench{0};
  stream<wqe_item>& wqe_port = bench.port<wqe_item>("wqe", 32, 16);
  stream<context_read>& ctx_reads =
      bench.port<context_read>("ctx_read", stage_spec::wqe_parser::CtxReadDepth);
  stream<context_line>& ctx_lines =
      bench.port<context_line>("ctx_line", stage_spec::wqe_parser::CtxSlots);
  stream<context_read>& key_reads =
      bench.port<context_read>("mkey_read", stage_spec::wqe_parser::KeyReadDepth);
  stream<context_line>& key_lines =
      bench.port<context_line>("mkey_line", stage_spec::wqe_parser::KeySlots);
  stream<work_item>& work_port = bench.port<work_item>("work", 48, 16);
  source<wqe_item> wqes{"source", bench, wqe_port};
  context_lines ram{"ram", bench};
  wqe_parser parser{
      "wqe_parser", bench.nic, {wqe_port, ctx_reads, ctx_lines, key_reads, key_lines, work_port}};
  sink<work_item> works{"sink", bench, work_port};
};

TEST_F(wqe_parser_cycles, context_five_and_parse_ten) {
  feed(100, wqe().pointer(Start, 8).done());
  ASSERT_EQ(results().size(), 1);
  // Taken in 100, context in 105, key in 110, result in 115: context fetch 5 + parse 10 of the
  // stage table.
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0);
  EXPECT_EQ(bench.count(counter::WqeParsed), 1);
}

TEST_F(wqe_parser_cycles, contexts_are_read_for_the_wqes_function_and_keys_for_the_qps_owner) {
  wqe_item posted = wqe().pointers(2, 8).done();
  posted.function = Function + 1;
  feed(100, std::move(posted));
  ASSERT_EQ(results().size(), 1);
  ASSERT_EQ(ram.asked.size(), 3U);
  EXPECT_EQ(ram.asked[0].function, Function + 1);
  EXPECT_EQ(ram.asked[1].function, Function);
  EXPECT_EQ(ram.asked[2].function, Function);
}

TEST_F(wqe_parser_cycles, without_a_key_it_takes_as_long) {
  feed(100, wqe().inlined(8).done());
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(bench.count(counter::WqeInline), 1);
}

TEST_F(wqe_parser_cycles, each_further_key_costs_a_cycle) {
  feed(100, wqe().pointers(30, 8).done());
  // Eight beats are in by 108, after the context line; then 10 + 29.
  EXPECT_EQ(results()[0].visible, 108 + 10 + 29);
}

TEST_F(wqe_parser_cycles, waits_for_its_last_beat) {
  feed(100, wqe().inlined(988).done());
  EXPECT_EQ(results()[0].visible, 100 + 16 + 10);
}

TEST_F(wqe_parser_cycles, takes_a_wqe_a_cycle) {
  for (cycle_t t = 100; t < 140; ++t) {
    feed(t, wqe().pointer(Start, 8).done());
  }
  ASSERT_EQ(results().size(), 40);
  for (cycle_t i = 0; i < 40; ++i) {
    EXPECT_EQ(results()[i].visible, 115 + i);
  }
}

TEST_F(wqe_parser_cycles, results_leave_in_order_one_beat_a_cycle) {
  feed(100, wqe().inlined(200).done());  // 14 units, 4 beats in and out
  feed(104, wqe().done());
  // The context of the second comes in 109; alone it would be done in 119, which is after the four
  // beats of the first.
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[1].visible, 119);
}

TEST_F(wqe_parser_cycles, a_key_that_does_not_fit_fails_the_whole_wqe) {
  feed(100, wqe().pointer(Start, 8).pointer(Start + Length, 1).pointer(Start, 8).done());
  feed(110, wqe().pointer(Start, 8).done());
  EXPECT_EQ(results()[0].item.syndrome, 0x04);
  EXPECT_EQ(results()[0].item.sge_count, 3);
  EXPECT_EQ(results()[1].item.syndrome, 0);
}

TEST_F(wqe_parser_cycles, a_refused_wqe_reads_no_key) {
  feed(100, wqe().pointer(0, 0x7fffffff).pointer(0, 0x7fffffff).done());
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0x01);
  EXPECT_FALSE(key_reads.taken_in(key_reads.last_taken()));
}

TEST_F(wqe_parser_cycles, hands_on_the_body) {
  feed(100, wqe(wqe_opcode::RdmaWriteImmediate).remote(1, 2).inlined(70).done());
  const work_item& work = results()[0].item;
  ASSERT_EQ(work.length, 70);
  for (unsigned i = 0; i < 70; ++i) {
    ASSERT_EQ(work.body.data()[i], i + 1);
  }
}

TEST_F(wqe_parser_cycles, hands_on_a_datagram_as_it_is) {
  serve(qp_service::Ud);
  feed(100, wqe(wqe_opcode::SendImmediate).datagram().inlined(200).done());
  // 17 units are 5 beats, in by 104.
  EXPECT_EQ(results()[0].visible, 115);
  const work_item& work = results()[0].item;
  ASSERT_EQ(work.syndrome, 0);
  ASSERT_EQ(work.length, 200);
  const std::uint8_t* body = work.body.data();
  for (unsigned i = 0; i < 48; ++i) {
    ASSERT_EQ(body[i], 0xd0 + i);
  }
  // The inline segment with its header: bit 31 and 200.
  EXPECT_EQ(body[48], 0x80);
  EXPECT_EQ(body[51], 200);
  for (unsigned i = 0; i < 200; ++i) {
    ASSERT_EQ(body[work.data_offset() + i], i + 1);
  }
}

TEST_F(wqe_parser_cycles, hands_on_the_data_segments_of_a_datagram) {
  serve(qp_service::Ud);
  feed(100, wqe().datagram().pointer(Start + 16, 8).done());
  EXPECT_EQ(results()[0].visible, 115);
  const work_item& work = results()[0].item;
  ASSERT_EQ(work.syndrome, 0);
  const auto segment = data_seg::unpack(work.body.data() + work.data_offset());
  EXPECT_EQ(segment.address, Start + 16);
  EXPECT_EQ(segment.lkey, Lkey);
}

TEST_F(wqe_parser_cycles, a_datagram_of_the_longest_wqe_takes_sixteen_beats) {
  serve(qp_service::Ud);
  feed(100, wqe().datagram().inlined(940).done());
  feed(116, wqe().datagram().done());
  EXPECT_EQ(results()[0].visible, 100 + 16 + 10);
  // Body 48 + 4 + 940 = 992 bytes, 16 beats.
  EXPECT_EQ(results()[1].visible, 100 + 16 + 10 + 16);
  EXPECT_EQ(results()[0].item.body.data()[991], static_cast<std::uint8_t>(940));
}

TEST_F(wqe_parser_cycles, a_read_of_thirty_pieces_takes_as_long_as_a_send) {
  feed(100, wqe(wqe_opcode::RdmaRead).remote(1, 2).pointers(30, 8).done());
  EXPECT_EQ(results()[0].visible, 108 + 10 + 29);
  EXPECT_EQ(results()[0].item.sge_count, 30);
  EXPECT_EQ(results()[0].item.length, 240);
}

TEST_F(wqe_parser_cycles, an_atomic_takes_ten) {
  feed(100,
       wqe(wqe_opcode::AtomicFetchAdd).remote(0x1000, 2).atomic(7, 0).pointer(Start, 8).done());
  EXPECT_EQ(results()[0].visible, 115);
  const work_item& work = results()[0].item;
  EXPECT_EQ(work.syndrome, 0);
  EXPECT_EQ(work.swap_add, 7);
  EXPECT_EQ(data_seg::unpack(work.body.data()).address, Start);
}

TEST_F(wqe_parser_cycles, a_read_needs_local_write) {
  mkey_line key = good_key();
  key.lw = 0;
  ram.set(context_kind::mkey, KeyIndex, key);
  feed(100, wqe(wqe_opcode::RdmaRead).remote(1, 2).pointer(Start, 8).done());
  feed(110, wqe().pointer(Start, 8).done());
  EXPECT_EQ(results()[0].item.syndrome, 0x04);
  EXPECT_EQ(results()[1].item.syndrome, 0);
}

TEST_F(wqe_parser_cycles, checks_the_key_that_is_to_be_invalidated) {
  for (const std::uint32_t key : {Lkey, Lkey ^ 1}) {
    wqe_bytes bytes = wqe(wqe_opcode::LocalInvalidate);
    bytes.control().imm = key;
    feed(key == Lkey ? 100 : 110, bytes.done());
  }
  // The key's read hides in the ten cycles as that of a data segment does.
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0);
  EXPECT_EQ(results()[0].item.imm, Lkey);
  EXPECT_EQ(results()[0].item.sge_count, 0);
  EXPECT_FALSE(results()[0].item.paged);
  EXPECT_EQ(results()[1].item.syndrome, 0x04);
}

TEST_F(wqe_parser_cycles, one_key_with_pages_makes_the_work_paged) {
  constexpr std::uint32_t Paged = KeyIndex + 1;
  mkey_line key = good_key();
  key.contiguous = 0;
  ram.set(context_kind::mkey, Paged, key);
  feed(100,
       wqe().pointer(Start, 8).pointer(Start, 8, Paged << 8 | Variant).pointer(Start, 8).done());
  feed(110, wqe().pointers(3, 8).done());
  EXPECT_EQ(results()[0].item.syndrome, 0);
  EXPECT_TRUE(results()[0].item.paged);
  EXPECT_FALSE(results()[1].item.paged);
}

TEST_F(wqe_parser_cycles, a_wrong_signature_reads_no_key_and_counts_as_malformed) {
  qpc_common qp = ready_qp();
  qp.sig_enable = 1;
  ram.set(context_kind::qpc_common, Qpn, qp);
  feed(100, wqe().pointer(Start, 8).done());
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0x02);
  EXPECT_FALSE(key_reads.taken_in(key_reads.last_taken()));
  EXPECT_EQ(bench.count(counter::WqeMalformed), 1);
}

TEST_F(wqe_parser_cycles, a_malformed_wqe_of_many_beats_leaves_in_one) {
  feed(100, wqe(wqe_opcode::Nop).pointers(60, 8).done());
  feed(116, wqe(wqe_opcode::Nop).done());
  EXPECT_EQ(results()[0].visible, 100 + 16 + 10);
  EXPECT_EQ(results()[0].item.syndrome, 0x02);
  // Its own 5 + 10; behind sixteen beats it would come in 126 + 16.
  EXPECT_EQ(results()[1].visible, 116 + 15);
}

TEST_F(wqe_parser_cycles, the_history_has_no_hole) {
  feed(100, wqe().pointer(Start, 8).done());
  const trace_ref end = results()[0].item.trace;
  ps_t at = 99000;
  for (const span& each : bench::chain_of(bench.context.trace, end)) {
    EXPECT_EQ(each.begin, at);
    at = each.end;
  }
  EXPECT_EQ(at, 115000);
}

TEST_F(wqe_parser_cycles, a_wrong_depth_is_refused) {
  stage_bench& b = bench;
  EXPECT_THROW(wqe_parser("other", b.nic,
                          {b.port<wqe_item>("w", 32, 16), b.port<context_read>("cr", 7),
                           b.port<context_line>("cl", 16), b.port<context_read>("kr", 64),
                           b.port<context_line>("kl", 64), b.port<work_item>("wk", 48, 16)}),
               config_error);
}

}  // namespace
}  // namespace carillon
