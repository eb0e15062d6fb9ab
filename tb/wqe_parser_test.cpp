// wqe_parser by itself: each check with the syndrome that the specification gives it, and the
// cycles of the timing table.

#include "wqe_parser.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "gen/contexts.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "tb/common/stage_bench.h"

namespace carillon {
namespace {

using bench::context_lines;
using bench::sink;
using bench::source;
using bench::stage_bench;

constexpr std::uint32_t Qpn = 7;
constexpr std::uint32_t Pd = 3;
constexpr std::uint32_t KeyIndex = 5;
constexpr std::uint8_t Variant = 0x42;
constexpr std::uint32_t Lkey = KeyIndex << 8 | Variant;
constexpr std::uint64_t Start = 0x10000;
constexpr std::uint64_t Length = 0x1000;

qpc_common ready_qp() {
  qpc_common line;
  line.valid = 1;
  line.state = qp_state::Rts;
  line.service = qp_service::Rc;
  line.mtu = mtu_code::Mtu4096;
  line.pd = Pd;
  line.cq_num_send = 0x123;
  return line;
}

mkey_line good_key() {
  mkey_line key;
  key.valid = 1;
  key.lr = 1;
  key.pd = Pd;
  key.variant = Variant;
  key.start_addr = Start;
  key.len = Length;
  return key;
}

/// A WQE in the making: segments are appended, the control segment's size follows.
class wqe_bytes {
 public:
  explicit wqe_bytes(buffer_pool& pool, wqe_opcode opcode = wqe_opcode::Send) {
    item_.qpn = Qpn;
    item_.wqe_index = 9;
    item_.bytes = pool.take();
    // Whatever was in the buffer before must not matter.
    std::memset(item_.bytes.data(), 0xee, BufferBytes);
    control_.opcode = opcode;
    control_.qpn = Qpn;
    control_.wqe_index = 9;
    control_.ce = completion_mode::Always;
    control_.imm = 0xaabbccdd;
  }

  wqe_bytes& remote(std::uint64_t address, std::uint32_t rkey) {
    raddr_seg segment;
    segment.raddr = address;
    segment.rkey = rkey;
    segment.pack(next(1));
    return *this;
  }

  wqe_bytes& pointer(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey = Lkey) {
    data_seg segment;
    segment.address = address;
    segment.byte_count = bytes;
    segment.lkey = lkey;
    segment.pack(next(1));
    return *this;
  }

  /// Bytes 1, 2, 3, ... inline.
  wqe_bytes& inlined(unsigned bytes) {
    std::uint8_t* at = next((inline_seg::Size + bytes + 15) / 16);
    inline_seg segment;
    segment.inline_flag = 1;
    segment.byte_count = static_cast<std::uint16_t>(bytes);
    segment.pack(at);
    for (unsigned i = 0; i < bytes; ++i) {
      at[inline_seg::Size + i] = static_cast<std::uint8_t>(i + 1);
    }
    return *this;
  }

  ctrl_seg& control() { return control_; }

  wqe_item& item() { return item_; }

  wqe_bytes& size(unsigned units) {
    units_ = units;
    return *this;
  }

  wqe_item done() {
    item_.ds = static_cast<std::uint8_t>(units_);
    control_.ds = item_.ds;
    control_.pack(item_.bytes.data());
    return item_;
  }

 private:
  std::uint8_t* next(unsigned units) {
    // cppcheck-suppress redundantInitialization; the handle's buffer, not the handle
    std::uint8_t* at = item_.bytes.data() + std::size_t{units_} * 16;
    units_ += units;
    return at;
  }

  wqe_item item_;
  ctrl_seg control_;
  unsigned units_ = 1;
};

context_line as_line(const auto& layout) {
  context_line line;
  line.valid = true;
  layout.pack(line.data.data());
  return line;
}

wqe_verdict verdict_on(const wqe_item& wqe, const qpc_common& qp = ready_qp()) {
  return check_context(shape_of(wqe), as_line(qp));
}

cqe_syndrome syndrome_of(const wqe_item& wqe, const qpc_common& qp = ready_qp()) {
  return verdict_on(wqe, qp).syndrome;
}

struct wqe_parser_core : testing::Test {
  // cppcheck-suppress unusedStructMember; used by the cases
  buffer_pool pool;
};

// What a WQE says by itself
// ----------------------------------------------------------------------------

TEST_F(wqe_parser_core, reads_a_write_with_one_pointer) {
  const wqe_item wqe = wqe_bytes(pool, wqe_opcode::RdmaWrite)
                           .remote(0x1122334455667788, 0x99)
                           .pointer(Start, 64)
                           .done();
  const wqe_shape shape = shape_of(wqe);
  EXPECT_FALSE(shape.malformed);
  EXPECT_EQ(shape.sge_count, 1);
  EXPECT_EQ(shape.length, 64);
  EXPECT_EQ(shape.body_bytes(), 16);
  const work_item work = describe(wqe, shape, {}, as_line(ready_qp()));
  EXPECT_EQ(work.remote_address, 0x1122334455667788);
  EXPECT_EQ(work.rkey, 0x99);
  EXPECT_EQ(work.imm, 0xaabbccdd);
  EXPECT_EQ(work.fm_ce_se, 2 << 2);
  EXPECT_EQ(work.send_cqn, 0x123);
  EXPECT_EQ(work.mtu_code, 5);
  EXPECT_EQ(work.wqebbs, 1);
}

TEST_F(wqe_parser_core, counts_whole_blocks) {
  for (const auto& [pointers, blocks] : {std::pair{3, 1}, {4, 2}, {7, 2}, {8, 3}}) {
    wqe_bytes wqe(pool);
    for (int i = 0; i < pointers; ++i) {
      wqe.pointer(Start, 1);
    }
    const wqe_item item = wqe.done();
    EXPECT_EQ(describe(item, shape_of(item), {}, as_line(ready_qp())).wqebbs, blocks) << pointers;
  }
}

TEST_F(wqe_parser_core, accepts_the_longest_inline_segment) {
  // 63 units: control, remote address, 61 of inline data with its 4-byte header.
  const wqe_item wqe =
      wqe_bytes(pool, wqe_opcode::RdmaWrite).remote(0, 0).inlined(61 * 16 - 4).done();
  EXPECT_EQ(wqe.ds, 63);
  EXPECT_EQ(shape_of(wqe).body_bytes(), 972);
  EXPECT_EQ(syndrome_of(wqe), cqe_syndrome::None);
}

TEST_F(wqe_parser_core, a_message_may_be_empty) {
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).inlined(0).done()), cqe_syndrome::None);
  EXPECT_EQ(shape_of(wqe_bytes(pool).done()).length, 0);
}

// 1. It could not be read.
TEST_F(wqe_parser_core, unread_is_a_local_qp_operation_error) {
  for (const auto status : {dma_status::unsupported_request, dma_status::completer_abort,
                            dma_status::poisoned, dma_status::timeout}) {
    wqe_bytes wqe(pool, wqe_opcode::RdmaWrite);
    wqe.remote(1, 2).item().status = status;
    const wqe_item item = wqe.done();
    EXPECT_EQ(syndrome_of(item), cqe_syndrome::LocalQpOperation);
    const work_item work =
        describe(item, shape_of(item), {cqe_syndrome::LocalQpOperation}, as_line(ready_qp()));
    EXPECT_EQ(work.opcode, 0);
    EXPECT_EQ(work.remote_address, 0);
    EXPECT_EQ(work.wqe_index, 9);
  }
}

// 2. The QP's state.
TEST_F(wqe_parser_core, a_qp_that_may_not_send_drops) {
  const wqe_item wqe = wqe_bytes(pool).done();
  for (const auto state : {qp_state::Reset, qp_state::Init, qp_state::Rtr}) {
    qpc_common qp = ready_qp();
    qp.state = state;
    EXPECT_TRUE(verdict_on(wqe, qp).drop);
    EXPECT_EQ(syndrome_of(wqe, qp), cqe_syndrome::None);
  }
  qpc_common gone = ready_qp();
  gone.valid = 0;
  EXPECT_TRUE(verdict_on(wqe, gone).drop);
  context_line beyond = as_line(ready_qp());
  beyond.valid = false;
  EXPECT_TRUE(check_context(shape_of(wqe), beyond).drop);
}

TEST_F(wqe_parser_core, a_qp_in_error_flushes) {
  for (const auto state : {qp_state::Sqer, qp_state::Err}) {
    qpc_common qp = ready_qp();
    qp.state = state;
    EXPECT_EQ(syndrome_of(wqe_bytes(pool).done(), qp), cqe_syndrome::WrFlushed);
    // Also what would be wrong in itself.
    EXPECT_EQ(syndrome_of(wqe_bytes(pool, wqe_opcode::Umr).done(), qp), cqe_syndrome::WrFlushed);
  }
}

TEST_F(wqe_parser_core, a_draining_qp_goes_on) {
  for (const auto state : {qp_state::Rts, qp_state::Sqd, qp_state::SqDraining}) {
    qpc_common qp = ready_qp();
    qp.state = state;
    EXPECT_FALSE(verdict_on(wqe_bytes(pool).done(), qp).refused());
  }
}

// 3. The control segment is another's.
TEST_F(wqe_parser_core, another_index_or_qp_is_refused) {
  wqe_bytes index(pool);
  index.control().wqe_index = 10;
  EXPECT_EQ(syndrome_of(index.done()), cqe_syndrome::LocalQpOperation);
  wqe_bytes qpn(pool);
  qpn.control().qpn = Qpn + 1;
  EXPECT_EQ(syndrome_of(qpn.done()), cqe_syndrome::LocalQpOperation);
}

// 4. Operations.
TEST_F(wqe_parser_core, supports_five_operations_and_no_other) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<wqe_opcode>(code);
    const bool write = code == 0x08 || code == 0x09;
    const bool known = write || code == 0x00 || code == 0x0a || code == 0x0b;
    wqe_bytes wqe(pool, opcode);
    if (write) {
      wqe.remote(0, 0);
    }
    EXPECT_EQ(syndrome_of(wqe.done()), known ? cqe_syndrome::None : cqe_syndrome::LocalQpOperation)
        << code;
  }
}

TEST_F(wqe_parser_core, serves_connected_qps_only) {
  for (unsigned code = 0; code < 8; ++code) {
    qpc_common qp = ready_qp();
    qp.service = static_cast<qp_service>(code);
    EXPECT_EQ(syndrome_of(wqe_bytes(pool).done(), qp),
              code < 2 ? cqe_syndrome::None : cqe_syndrome::LocalQpOperation)
        << code;
  }
}

// 5. Sizes.
TEST_F(wqe_parser_core, refuses_sizes_that_do_not_fit) {
  const auto refused = [](wqe_bytes& wqe) {
    return syndrome_of(wqe.done()) == cqe_syndrome::LocalQpOperation;
  };
  EXPECT_TRUE(refused(wqe_bytes(pool).size(0)));
  EXPECT_TRUE(refused(wqe_bytes(pool, wqe_opcode::RdmaWrite).size(1)));
  EXPECT_TRUE(refused(wqe_bytes(pool, wqe_opcode::Nop).pointer(Start, 1)));
  EXPECT_FALSE(refused(wqe_bytes(pool, wqe_opcode::Nop).size(1)));
  // 12 bytes fill the inline segment's unit, 13 need one more.
  EXPECT_FALSE(refused(wqe_bytes(pool).inlined(12).size(2)));
  EXPECT_TRUE(refused(wqe_bytes(pool).inlined(13).size(2)));
  EXPECT_FALSE(refused(wqe_bytes(pool).inlined(13).size(3)));
  EXPECT_TRUE(refused(wqe_bytes(pool).inlined(12).size(3)));
}

TEST_F(wqe_parser_core, refuses_inline_among_pointers) {
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).pointer(Start, 1).inlined(4).done()),
            cqe_syndrome::LocalQpOperation);
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).inlined(4).pointer(Start, 1).done()),
            cqe_syndrome::LocalQpOperation);
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).inlined(4).inlined(4).done()),
            cqe_syndrome::LocalQpOperation);
}

TEST_F(wqe_parser_core, takes_thirty_pointers_and_not_one_more) {
  for (const unsigned count : {30U, 31U}) {
    wqe_bytes wqe(pool);
    for (unsigned i = 0; i < count; ++i) {
      wqe.pointer(Start, 1);
    }
    EXPECT_EQ(syndrome_of(wqe.done()),
              count == 30 ? cqe_syndrome::None : cqe_syndrome::LocalQpOperation);
    EXPECT_EQ(shape_of(wqe.done()).sge_count, count == 30 ? 30 : 0);
  }
}

// 6. The longest message has 2^31 bytes.
TEST_F(wqe_parser_core, refuses_messages_longer_than_two_gibibytes) {
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).pointer(0, 0x7fffffff).pointer(0, 1).done()),
            cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(wqe_bytes(pool).pointer(0, 0x7fffffff).pointer(0, 2).done()),
            cqe_syndrome::LocalLength);
  // 30 * (2^31 - 1) does not fit 32 bits; its low 32 bits, 2^32 - 30 mod 2^32, must not decide.
  wqe_bytes most(pool);
  for (int i = 0; i < 30; ++i) {
    most.pointer(0, 0x7fffffff);
  }
  EXPECT_EQ(syndrome_of(most.done()), cqe_syndrome::LocalLength);
  // 2^33 + 4 looks like 4 in 32 bits.
  EXPECT_EQ(syndrome_of(wqe_bytes(pool)
                            .pointer(0, 0x7fffffff)
                            .pointer(0, 0x7fffffff)
                            .pointer(0, 0x7fffffff)
                            .pointer(0, 0x7fffffff)
                            .pointer(0, 8)
                            .done()),
            cqe_syndrome::LocalLength);
}

// 7. Keys.
bool covers(const mkey_line& key, std::uint64_t address, std::uint32_t bytes,
            std::uint32_t lkey = Lkey) {
  data_seg segment;
  segment.address = address;
  segment.byte_count = bytes;
  segment.lkey = lkey;
  return key_covers(segment, Pd, as_line(key));
}

TEST(wqe_parser_key, covers_its_range_to_the_byte) {
  EXPECT_TRUE(covers(good_key(), Start, Length));
  EXPECT_TRUE(covers(good_key(), Start + Length - 1, 1));
  EXPECT_TRUE(covers(good_key(), Start + Length, 0));
  EXPECT_FALSE(covers(good_key(), Start, Length + 1));
  EXPECT_FALSE(covers(good_key(), Start - 1, 1));
  EXPECT_FALSE(covers(good_key(), Start + Length, 1));
}

TEST(wqe_parser_key, must_be_valid_of_the_variant_of_the_pd_and_readable) {
  EXPECT_FALSE(covers(good_key(), Start, 1, Lkey ^ 1));
  mkey_line key = good_key();
  key.valid = 0;
  EXPECT_FALSE(covers(key, Start, 1));
  key = good_key();
  key.pd = Pd + 1;
  EXPECT_FALSE(covers(key, Start, 1));
  key = good_key();
  key.lr = 0;
  key.lw = key.rr = key.rw = key.a = 1;
  EXPECT_FALSE(covers(key, Start, 1));
  context_line beyond = as_line(good_key());
  beyond.valid = false;
  EXPECT_FALSE(key_covers({}, Pd, beyond));
}

TEST(wqe_parser_key, does_not_wrap_around) {
  mkey_line key = good_key();
  key.start_addr = 0;
  key.len = ~std::uint64_t{0};
  EXPECT_FALSE(covers(key, ~std::uint64_t{0}, 2));
  key.start_addr = ~std::uint64_t{0} - 0xfff;
  key.len = 0x2000;  // to beyond the end of the address space
  EXPECT_TRUE(covers(key, key.start_addr, 0xfff));
  EXPECT_FALSE(covers(key, key.start_addr, 0x1001));
}

TEST(wqe_parser_key, of_the_whole_space_has_no_range) {
  mkey_line key = good_key();
  key.length64 = 1;
  key.len = 0;
  EXPECT_TRUE(covers(key, ~std::uint64_t{0} - 5, 100));
}

// Cycle by cycle
// ---------------------------------------------------------------------------------------

/// The parser between a source that pushes WQEs, a context RAM of the reference latency (5 with the
/// hop) and a sink.
struct wqe_parser_cycles : testing::Test {
  wqe_parser_cycles() {
    ram.serve(ctx_reads, ctx_lines);
    ram.serve(key_reads, key_lines);
    ram.set(context_kind::qpc_common, Qpn, ready_qp());
    ram.set(context_kind::mkey, KeyIndex, good_key());
  }

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
  feed(100, wqe_bytes(bench.nic.buffers).pointer(Start, 8).done());
  ASSERT_EQ(results().size(), 1);
  // Taken in 100, context in 105, key in 110, result in 115: context fetch 5 + parse 10 of the
  // stage table.
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0);
  EXPECT_EQ(bench.count(counter::WqeParsed), 1);
}

TEST_F(wqe_parser_cycles, without_a_key_it_takes_as_long) {
  feed(100, wqe_bytes(bench.nic.buffers).inlined(8).done());
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(bench.count(counter::WqeInline), 1);
}

TEST_F(wqe_parser_cycles, each_further_key_costs_a_cycle) {
  wqe_bytes wqe(bench.nic.buffers);
  for (int i = 0; i < 30; ++i) {
    wqe.pointer(Start, 8);
  }
  feed(100, wqe.done());
  // Eight beats are in by 108, after the context line; then 10 + 29.
  EXPECT_EQ(results()[0].visible, 108 + 10 + 29);
}

TEST_F(wqe_parser_cycles, waits_for_its_last_beat) {
  feed(100, wqe_bytes(bench.nic.buffers).inlined(988).done());
  EXPECT_EQ(results()[0].visible, 100 + 16 + 10);
}

TEST_F(wqe_parser_cycles, takes_a_wqe_a_cycle) {
  for (cycle_t t = 100; t < 140; ++t) {
    feed(t, wqe_bytes(bench.nic.buffers).pointer(Start, 8).done());
  }
  ASSERT_EQ(results().size(), 40);
  for (cycle_t i = 0; i < 40; ++i) {
    EXPECT_EQ(results()[i].visible, 115 + i);
  }
}

TEST_F(wqe_parser_cycles, results_leave_in_order_one_beat_a_cycle) {
  feed(100, wqe_bytes(bench.nic.buffers).inlined(200).done());  // 14 units, 4 beats in and out
  feed(104, wqe_bytes(bench.nic.buffers).done());
  // The context of the second comes in 109; alone it would be done in 119, which is after the four
  // beats of the first.
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[1].visible, 119);
}

TEST_F(wqe_parser_cycles, a_key_that_does_not_fit_fails_the_whole_wqe) {
  feed(100, wqe_bytes(bench.nic.buffers)
                .pointer(Start, 8)
                .pointer(Start + Length, 1)
                .pointer(Start, 8)
                .done());
  feed(110, wqe_bytes(bench.nic.buffers).pointer(Start, 8).done());
  EXPECT_EQ(results()[0].item.syndrome, 0x04);
  EXPECT_EQ(results()[0].item.sge_count, 3);
  EXPECT_EQ(results()[1].item.syndrome, 0);
}

TEST_F(wqe_parser_cycles, a_refused_wqe_reads_no_key) {
  feed(100, wqe_bytes(bench.nic.buffers).pointer(0, 0x7fffffff).pointer(0, 0x7fffffff).done());
  EXPECT_EQ(results()[0].visible, 115);
  EXPECT_EQ(results()[0].item.syndrome, 0x01);
  EXPECT_FALSE(key_reads.taken_in(key_reads.last_taken()));
}

TEST_F(wqe_parser_cycles, hands_on_the_body) {
  feed(
      100,
      wqe_bytes(bench.nic.buffers, wqe_opcode::RdmaWriteImmediate).remote(1, 2).inlined(70).done());
  const work_item& work = results()[0].item;
  ASSERT_EQ(work.length, 70);
  for (unsigned i = 0; i < 70; ++i) {
    ASSERT_EQ(work.body.data()[i], i + 1);
  }
}

TEST_F(wqe_parser_cycles, the_history_has_no_hole) {
  feed(100, wqe_bytes(bench.nic.buffers).pointer(Start, 8).done());
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
