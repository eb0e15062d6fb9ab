// The checks of wqe_parser without time, in the order in which they are made: each with the
// syndrome that the specification gives it. Sizes and sums are worked out by hand.

#include "wqe_parser/wqe_parser_core.h"

#include <gtest/gtest.h>
#include <vector>

#include "tb/common/wqe_parser_bench.h"

namespace carillon {
namespace {

using bench::as_line;
using bench::Function;
using bench::good_key;
using bench::Length;
using bench::Lkey;
using bench::Pd;
using bench::Qpn;
using bench::ready_qp;
using bench::Start;
using bench::wqe_bytes;

wqe_verdict verdict_on(const wqe_item& wqe, const qpc_common& qp = ready_qp()) {
  return check_context(wqe, shape_of(wqe, qp.service), true, qp);
}

cqe_syndrome syndrome_of(const wqe_item& wqe, const qpc_common& qp = ready_qp()) {
  return verdict_on(wqe, qp).syndrome;
}

bool refused(wqe_bytes wqe, qp_service service = qp_service::Rc) {
  return syndrome_of(wqe.done(), ready_qp(service)) == cqe_syndrome::LocalQpOperation;
}

work_item work_of(const wqe_item& wqe, const qpc_common& qp = ready_qp()) {
  return describe(wqe, shape_of(wqe, qp.service), {}, qp);
}

struct wqe_parser_core : testing::Test {
  wqe_bytes wqe(wqe_opcode opcode = wqe_opcode::Send) { return wqe_bytes(pool, opcode); }

  wqe_bytes read() { return wqe_bytes(pool, wqe_opcode::RdmaRead).remote(0x1000, 0x99); }

  /// A fetch-and-add before its data segment.
  wqe_bytes fetch_add(std::uint64_t address = 0x1000) {
    return wqe_bytes(pool, wqe_opcode::AtomicFetchAdd).remote(address, 0x99).atomic(5, 0);
  }

  wqe_bytes datagram() { return wqe_bytes(pool).datagram(); }

  buffer_pool pool;
};

// What a WQE says by itself
// ----------------------------------------------------------------------------

TEST_F(wqe_parser_core, reads_a_write_with_one_pointer) {
  const wqe_item item =
      wqe(wqe_opcode::RdmaWrite).remote(0x1122334455667788, 0x99).pointer(Start, 64).done();
  const wqe_shape shape = shape_of(item, qp_service::Rc);
  EXPECT_FALSE(shape.malformed);
  EXPECT_EQ(shape.sge_count, 1);
  EXPECT_EQ(shape.length, 64);
  EXPECT_EQ(shape.body_offset(), 32);
  EXPECT_EQ(shape.body_bytes(), 16);
  const work_item work = work_of(item);
  EXPECT_EQ(work.remote_address, 0x1122334455667788);
  EXPECT_EQ(work.rkey, 0x99);
  EXPECT_EQ(work.imm, 0xaabbccdd);
  EXPECT_EQ(work.fm_ce_se, 2 << 2);
  EXPECT_EQ(work.send_cqn, 0x123);
  EXPECT_EQ(work.mtu_code, 5);
  EXPECT_EQ(work.wqebbs, 1);
  EXPECT_EQ(work.body_bytes(), 16);
}

TEST_F(wqe_parser_core, reads_the_operands_of_an_atomic) {
  const wqe_item item = wqe(wqe_opcode::AtomicCompareSwap)
                            .remote(0x1122334455667788, 0x99)
                            .atomic(0x0102030405060708, 0x1112131415161718)
                            .pointer(Start, 8)
                            .done();
  const wqe_shape shape = shape_of(item, qp_service::Rc);
  EXPECT_FALSE(shape.malformed);
  // Control, remote address and atomic segment are 48 bytes; the data segment is the body.
  EXPECT_EQ(shape.body_offset(), 48);
  EXPECT_EQ(shape.body_bytes(), 16);
  const work_item work = work_of(item);
  EXPECT_EQ(work.swap_add, 0x0102030405060708);
  EXPECT_EQ(work.compare, 0x1112131415161718);
  EXPECT_EQ(work.remote_address, 0x1122334455667788);
  EXPECT_EQ(work.rkey, 0x99);
  EXPECT_EQ(work.length, 8);
  EXPECT_EQ(work.sge_count, 1);
}

TEST_F(wqe_parser_core, the_body_of_a_datagram_is_the_wqe_behind_its_control_segment) {
  const qpc_common qp = ready_qp(qp_service::Ud);
  const wqe_item pointers = datagram().pointers(3, 10).done();
  EXPECT_EQ(shape_of(pointers, qp.service).body_offset(), 16);
  EXPECT_EQ(shape_of(pointers, qp.service).body_bytes(), 48 + 3 * 16);
  EXPECT_EQ(work_of(pointers, qp).body_bytes(), 48 + 3 * 16);
  EXPECT_EQ(work_of(pointers, qp).length, 30);
  const wqe_item inlined = datagram().inlined(21).done();
  EXPECT_EQ(shape_of(inlined, qp.service).body_offset(), 16);
  EXPECT_EQ(shape_of(inlined, qp.service).body_bytes(), 48 + 4 + 21);
  EXPECT_EQ(work_of(inlined, qp).body_bytes(), 48 + 4 + 21);
  EXPECT_TRUE(work_of(inlined, qp).is_inline);
}

TEST_F(wqe_parser_core, hands_on_the_epoch) {
  wqe_bytes bytes = wqe();
  bytes.item().epoch = 0xa5;
  EXPECT_EQ(work_of(bytes.done()).epoch, 0xa5);
}

TEST_F(wqe_parser_core, counts_whole_blocks) {
  for (const auto& [pointers, blocks] : {std::pair{3U, 1}, {4U, 2}, {7U, 2}, {8U, 3}}) {
    EXPECT_EQ(work_of(wqe().pointers(pointers, 1).done()).wqebbs, blocks) << pointers;
  }
}

TEST_F(wqe_parser_core, accepts_the_longest_inline_segment) {
  // 63 units: control, remote address, 61 of inline data with its 4-byte header.
  const wqe_item item = wqe(wqe_opcode::RdmaWrite).remote(0, 0).inlined(61 * 16 - 4).done();
  EXPECT_EQ(item.ds, 63);
  EXPECT_EQ(shape_of(item, qp_service::Rc).body_bytes(), 972);
  EXPECT_EQ(syndrome_of(item), cqe_syndrome::None);
  // 63 units: control, 3 of the datagram segment, 59 of inline data. Body 48 + 944.
  const wqe_item packet = datagram().inlined(59 * 16 - 4).done();
  EXPECT_EQ(packet.ds, 63);
  EXPECT_EQ(shape_of(packet, qp_service::Ud).body_bytes(), 992);
  EXPECT_EQ(syndrome_of(packet, ready_qp(qp_service::Ud)), cqe_syndrome::None);
}

TEST_F(wqe_parser_core, a_message_may_be_empty) {
  EXPECT_EQ(syndrome_of(wqe().done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(wqe().inlined(0).done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(read().done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(datagram().done(), ready_qp(qp_service::Ud)), cqe_syndrome::None);
  EXPECT_EQ(shape_of(wqe().done(), qp_service::Rc).length, 0);
  EXPECT_EQ(shape_of(datagram().done(), qp_service::Ud).body_bytes(), 48);
}

// 1. It could not be read.
TEST_F(wqe_parser_core, unread_is_a_local_qp_operation_error) {
  for (const auto status : {dma_status::unsupported_request, dma_status::completer_abort,
                            dma_status::poisoned, dma_status::timeout}) {
    wqe_bytes bytes = fetch_add().pointer(Start, 8);
    bytes.item().status = status;
    const wqe_item item = bytes.done();
    EXPECT_EQ(syndrome_of(item), cqe_syndrome::LocalQpOperation);
    const work_item work = work_of(item);
    EXPECT_EQ(work.opcode, 0);
    EXPECT_EQ(work.remote_address, 0);
    EXPECT_EQ(work.swap_add, 0);
    EXPECT_EQ(work.wqe_index, 9);
  }
}

// 2. The QP's state.
TEST_F(wqe_parser_core, a_qp_that_may_not_send_drops) {
  const wqe_item item = wqe().done();
  for (const auto state : {qp_state::Reset, qp_state::Init, qp_state::Rtr}) {
    qpc_common qp = ready_qp();
    qp.state = state;
    EXPECT_TRUE(verdict_on(item, qp).drop);
    EXPECT_EQ(syndrome_of(item, qp), cqe_syndrome::None);
  }
  qpc_common gone = ready_qp();
  gone.valid = 0;
  EXPECT_TRUE(verdict_on(item, gone).drop);
  EXPECT_TRUE(check_context(item, shape_of(item, qp_service::Rc), false, ready_qp()).drop);
}

TEST_F(wqe_parser_core, a_qp_in_error_flushes) {
  for (const auto service : {qp_service::Rc, qp_service::Uc, qp_service::Ud}) {
    for (const auto state : {qp_state::Sqer, qp_state::Err}) {
      qpc_common qp = ready_qp(service);
      qp.state = state;
      qp.sig_enable = 1;
      EXPECT_EQ(syndrome_of(datagram().done(), qp), cqe_syndrome::WrFlushed);
      // Also what would be wrong in itself.
      EXPECT_EQ(syndrome_of(wqe(wqe_opcode::Umr).done(), qp), cqe_syndrome::WrFlushed);
      EXPECT_EQ(syndrome_of(fetch_add(1).done(), qp), cqe_syndrome::WrFlushed);
    }
  }
}

TEST_F(wqe_parser_core, a_draining_qp_goes_on) {
  for (const auto state : {qp_state::Rts, qp_state::Sqd, qp_state::SqDraining}) {
    qpc_common qp = ready_qp();
    qp.state = state;
    EXPECT_FALSE(verdict_on(wqe().done(), qp).refused());
  }
}

// 3. The control segment is another's, or the signature does not fit.
TEST_F(wqe_parser_core, another_index_or_qp_is_refused) {
  wqe_bytes index = wqe();
  index.control().wqe_index = 10;
  EXPECT_TRUE(refused(index));
  wqe_bytes qpn = wqe();
  qpn.control().qpn = Qpn + 1;
  EXPECT_TRUE(refused(qpn));
}

// The control segment is 00 00 09 0a, 00 00 07 01, xx 00 00 08, aa bb cc dd. Its bytes but the
// signature XOR to 09^0a^07^01^08^(aa^bb^cc^dd) = 03^06^08^00 = 0d, so the signature is ~0d = f2
// (mlx5: all bytes of the WQE XOR to ff).
TEST_F(wqe_parser_core, a_signature_makes_the_sum_of_all_bytes_ff) {
  qpc_common qp = ready_qp();
  qp.sig_enable = 1;
  for (unsigned signature = 0; signature < 256; ++signature) {
    wqe_bytes bytes = wqe();
    bytes.control().signature = static_cast<std::uint8_t>(signature);
    EXPECT_EQ(syndrome_of(bytes.done(), qp),
              signature == 0xf2 ? cqe_syndrome::None : cqe_syndrome::LocalQpOperation)
        << signature;
    EXPECT_EQ(syndrome_of(bytes.done()), cqe_syndrome::None) << "not asked for";
  }
}

// With 200 inline bytes the size is 1 + ceil(204 / 16) = 14 units: 0e instead of 01. The inline
// header adds 80 and c8 (200), the bytes 1..200 XOR to 200 (of 1..n it is n if n is a multiple of
// 4), and 4 bytes 0xee behind them cancel. 0d^01^0e^80^c8^c8 = 82, so the signature is 7d.
TEST_F(wqe_parser_core, a_signature_covers_the_last_byte_and_nothing_beyond) {
  qpc_common qp = ready_qp();
  qp.sig_enable = 1;
  wqe_bytes bytes = wqe().inlined(200);
  bytes.control().signature = 0x7d;
  const wqe_item item = bytes.done();
  ASSERT_EQ(item.ds, 14);
  std::uint8_t* data = item.bytes.data();
  EXPECT_EQ(syndrome_of(item, qp), cqe_syndrome::None);
  data[std::size_t{14} * 16] ^= 1;
  EXPECT_EQ(syndrome_of(item, qp), cqe_syndrome::None);
  data[14 * 16 - 1] ^= 1;
  EXPECT_EQ(syndrome_of(item, qp), cqe_syndrome::LocalQpOperation);
}

// 4. Operations.
TEST_F(wqe_parser_core, serves_each_operation_on_its_services_and_no_other) {
  struct row {
    unsigned code;
    const char* services;
  };

  // IBTA: which transport service has which operation; NOP sends nothing and goes everywhere.
  static constexpr std::array Table = {
      row{0x00, "RUD"}, row{0x01, "R"}, row{0x08, "RU"}, row{0x09, "RU"}, row{0x0a, "RUD"},
      row{0x0b, "RUD"}, row{0x10, "R"}, row{0x11, "R"},  row{0x12, "R"},  row{0x1b, "R"}};
  for (unsigned code = 0; code < 256; ++code) {
    for (unsigned service = 0; service < 8; ++service) {
      const auto opcode = static_cast<wqe_opcode>(code);
      wqe_bytes bytes = wqe(opcode);
      if (code == 0x08 || code == 0x09 || (code >= 0x10 && code <= 0x12)) {
        bytes.remote(0, 0);
      }
      if (code == 0x11 || code == 0x12) {
        bytes.atomic(1, 0).pointer(Start, 8);
      }
      if (service == 2 && (code == 0x0a || code == 0x0b)) {
        bytes.datagram();
      }
      bool served = false;
      for (const row& each : Table) {
        served = served ||
                 (each.code == code && service < 3 &&
                  std::string_view(each.services).find("RUD"[service]) != std::string_view::npos);
      }
      EXPECT_EQ(refused(bytes, static_cast<qp_service>(service)), !served)
          << code << " on service " << service;
    }
  }
}

TEST_F(wqe_parser_core, what_cannot_be_understood_has_no_body) {
  const wqe_item item = datagram().pointers(2, 10).done();
  const wqe_shape shape = shape_of(item, static_cast<qp_service>(3));
  EXPECT_TRUE(shape.malformed);
  EXPECT_EQ(shape.body_bytes(), 0);
  EXPECT_EQ(shape.keys(), 0);
}

// 5. Sizes.
TEST_F(wqe_parser_core, refuses_sizes_that_do_not_fit) {
  EXPECT_TRUE(refused(wqe().size(0)));
  EXPECT_TRUE(refused(wqe(wqe_opcode::RdmaWrite).size(1)));
  EXPECT_TRUE(refused(read().size(1)));
  // 12 bytes fill the inline segment's unit, 13 need one more.
  EXPECT_FALSE(refused(wqe().inlined(12).size(2)));
  EXPECT_TRUE(refused(wqe().inlined(13).size(2)));
  EXPECT_FALSE(refused(wqe().inlined(13).size(3)));
  EXPECT_TRUE(refused(wqe().inlined(12).size(3)));
}

TEST_F(wqe_parser_core, a_datagram_has_its_segment_first) {
  for (unsigned units = 0; units < 4; ++units) {
    EXPECT_TRUE(refused(datagram().size(units), qp_service::Ud)) << units;
  }
  EXPECT_FALSE(refused(datagram().size(4), qp_service::Ud));
  EXPECT_FALSE(refused(datagram().inlined(13).size(6), qp_service::Ud));
  EXPECT_TRUE(refused(datagram().inlined(13).size(5), qp_service::Ud));
  EXPECT_TRUE(refused(datagram().inlined(12).size(6), qp_service::Ud));
  // On a connected QP the same bytes are three pointers; one with its highest bit set is inline.
  EXPECT_TRUE(refused(datagram()));
}

TEST_F(wqe_parser_core, nop_and_local_invalidate_are_a_control_segment_alone) {
  for (const auto opcode : {wqe_opcode::Nop, wqe_opcode::LocalInvalidate}) {
    EXPECT_FALSE(refused(wqe(opcode).size(1)));
    EXPECT_TRUE(refused(wqe(opcode).size(0)));
    EXPECT_TRUE(refused(wqe(opcode).pointer(Start, 1)));
    EXPECT_TRUE(refused(wqe(opcode).inlined(4)));
    EXPECT_TRUE(refused(wqe(opcode).pointers(32, 1)));
    EXPECT_EQ(shape_of(wqe(opcode).done(), qp_service::Rc).body_bytes(), 0);
  }
  EXPECT_TRUE(refused(wqe(wqe_opcode::Nop).datagram(), qp_service::Ud));
}

TEST_F(wqe_parser_core, an_atomic_answers_into_one_segment_of_eight_bytes) {
  EXPECT_FALSE(refused(fetch_add().pointer(Start, 8)));
  EXPECT_TRUE(refused(fetch_add()));
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 7)));
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 9)));
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 0)));
  EXPECT_TRUE(refused(fetch_add().pointers(2, 4)));
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 8).pointer(Start, 0)));
  EXPECT_TRUE(refused(fetch_add().inlined(8)));
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 8).size(2)));
  // 33 data segments: as many as one in five bits.
  EXPECT_TRUE(refused(fetch_add().pointer(Start, 8).pointers(32, 0)));
}

TEST_F(wqe_parser_core, an_atomic_is_aligned_to_eight_bytes) {
  for (unsigned offset = 0; offset < 16; ++offset) {
    EXPECT_EQ(refused(fetch_add(0x1000 + offset).pointer(Start, 8)), offset % 8 != 0) << offset;
    EXPECT_FALSE(refused(read().pointer(Start + offset, 8)));
  }
}

TEST_F(wqe_parser_core, a_read_has_no_inline_data) {
  EXPECT_TRUE(refused(read().inlined(4)));
  EXPECT_TRUE(refused(read().inlined(0)));
  EXPECT_FALSE(refused(read().pointer(Start, 4)));
}

TEST_F(wqe_parser_core, refuses_inline_among_pointers) {
  EXPECT_TRUE(refused(wqe().pointer(Start, 1).inlined(4)));
  EXPECT_TRUE(refused(wqe().inlined(4).pointer(Start, 1)));
  EXPECT_TRUE(refused(wqe().inlined(4).inlined(4)));
  EXPECT_TRUE(refused(wqe().pointers(8, 1).inlined(4)));
  EXPECT_TRUE(refused(datagram().pointer(Start, 1).inlined(4), qp_service::Ud));
}

TEST_F(wqe_parser_core, takes_thirty_pointers_and_not_one_more) {
  for (const unsigned count : {30U, 31U}) {
    wqe_bytes send = wqe().pointers(count, 1);
    wqe_bytes response = read().pointers(count, 1);
    wqe_bytes packet = datagram().pointers(count, 1);
    EXPECT_EQ(refused(send), count == 31);
    EXPECT_EQ(refused(response), count == 31);
    EXPECT_EQ(refused(packet, qp_service::Ud), count == 31);
    EXPECT_EQ(shape_of(response.done(), qp_service::Rc).sge_count, count == 30 ? 30 : 0);
  }
}

// 6. The longest message has 2^31 bytes; a datagram is one packet.
TEST_F(wqe_parser_core, refuses_messages_longer_than_two_gibibytes) {
  EXPECT_EQ(syndrome_of(wqe().pointer(0, 0x7fffffff).pointer(0, 1).done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(wqe().pointer(0, 0x7fffffff).pointer(0, 2).done()),
            cqe_syndrome::LocalLength);
  EXPECT_EQ(syndrome_of(read().pointer(0, 0x7fffffff).pointer(0, 1).done()), cqe_syndrome::None);
  EXPECT_EQ(syndrome_of(read().pointer(0, 0x7fffffff).pointer(0, 2).done()),
            cqe_syndrome::LocalLength);
  // 30 * (2^31 - 1) does not fit 32 bits; its low 32 bits, 2^32 - 30 mod 2^32, must not decide.
  EXPECT_EQ(syndrome_of(wqe().pointers(30, 0x7fffffff).done()), cqe_syndrome::LocalLength);
  // 2^33 + 4 looks like 4 in 32 bits.
  EXPECT_EQ(syndrome_of(wqe().pointers(4, 0x7fffffff).pointer(0, 8).done()),
            cqe_syndrome::LocalLength);
}

TEST_F(wqe_parser_core, refuses_datagrams_longer_than_the_mtu) {
  for (const auto& [code, bytes] : {std::pair{mtu_code::Mtu256, 256U},
                                    {mtu_code::Mtu1024, 1024U},
                                    {mtu_code::Mtu4096, 4096U}}) {
    qpc_common qp = ready_qp(qp_service::Ud);
    qp.mtu = code;
    EXPECT_EQ(syndrome_of(datagram().pointer(Start, bytes - 1).pointer(Start, 1).done(), qp),
              cqe_syndrome::None);
    EXPECT_EQ(syndrome_of(datagram().pointer(Start, bytes).pointer(Start, 1).done(), qp),
              cqe_syndrome::LocalLength);
  }
  qpc_common qp = ready_qp(qp_service::Uc);
  qp.mtu = mtu_code::Mtu256;
  EXPECT_EQ(syndrome_of(wqe().pointer(Start, 257).done(), qp), cqe_syndrome::None);
}

// 7. Keys.
struct wqe_parser_key : wqe_parser_core {
  bool covers(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey = Lkey) {
    return allows({lkey, bytes, address, key_purpose::read});
  }

  bool allows(const key_claim& claim) { return key_allows(claim, Qpn, ready_qp(), as_line(key)); }

  /// The uses that the key allows, of its first byte.
  std::vector<key_purpose> uses() {
    std::vector<key_purpose> result;
    for (const auto use : {key_purpose::read, key_purpose::write, key_purpose::invalidate}) {
      if (allows({Lkey, 1, Start, use})) {
        result.push_back(use);
      }
    }
    return result;
  }

  mkey_line key = good_key();
  const std::vector<key_purpose> none{};
  const std::vector<key_purpose> all = {key_purpose::read, key_purpose::write,
                                        key_purpose::invalidate};
};

TEST_F(wqe_parser_key, covers_its_range_to_the_byte) {
  EXPECT_TRUE(covers(Start, Length));
  EXPECT_TRUE(covers(Start + Length - 1, 1));
  EXPECT_TRUE(covers(Start + Length, 0));
  EXPECT_FALSE(covers(Start, Length + 1));
  EXPECT_FALSE(covers(Start - 1, 1));
  EXPECT_FALSE(covers(Start + Length, 1));
}

TEST_F(wqe_parser_key, must_be_of_the_variant_the_pd_and_the_function) {
  EXPECT_EQ(uses(), all);
  key.variant ^= 1;
  EXPECT_EQ(uses(), none);
  key = good_key();
  key.pd = Pd + 1;
  EXPECT_EQ(uses(), none);
  key = good_key();
  key.function_id = Function + 1;
  EXPECT_EQ(uses(), none);
  context_line beyond = as_line(good_key());
  beyond.valid = false;
  EXPECT_FALSE(key_allows({Lkey, 1, Start, key_purpose::read}, Qpn, ready_qp(), beyond));
  EXPECT_FALSE(key_allows({Lkey, 0, 0, key_purpose::invalidate}, Qpn, ready_qp(), beyond));
}

// mlx5: qpn 0xffffff is any QP's.
TEST_F(wqe_parser_key, may_be_bound_to_one_qp) {
  key.qpn = Qpn;
  EXPECT_EQ(uses(), all);
  key.qpn = Qpn + 1;
  EXPECT_EQ(uses(), none);
  key.qpn = 0xfffffe;
  EXPECT_EQ(uses(), none);
}

TEST_F(wqe_parser_key, must_have_the_right_that_the_operation_needs) {
  key.rr = key.rw = key.a = 1;
  key.lr = 0;
  EXPECT_EQ(uses(), (std::vector{key_purpose::write, key_purpose::invalidate}));
  key.lr = 1;
  key.lw = 0;
  EXPECT_EQ(uses(), (std::vector{key_purpose::read, key_purpose::invalidate}));
}

TEST_F(wqe_parser_key, that_was_invalidated_may_only_be_invalidated_again) {
  key.valid = 0;
  EXPECT_EQ(uses(), (std::vector{key_purpose::invalidate}));
}

TEST_F(wqe_parser_key, is_read_for_sends_and_written_for_reads_and_atomics) {
  const auto use_of = [](const wqe_item& item) {
    return claim_of(item, shape_of(item, qp_service::Rc), 0).use;
  };
  EXPECT_EQ(use_of(wqe().pointer(Start, 8).done()), key_purpose::read);
  EXPECT_EQ(use_of(wqe(wqe_opcode::SendInvalidate).pointer(Start, 8).done()), key_purpose::read);
  EXPECT_EQ(use_of(wqe(wqe_opcode::RdmaWriteImmediate).remote(0, 0).pointer(Start, 8).done()),
            key_purpose::read);
  EXPECT_EQ(use_of(read().pointer(Start, 8).done()), key_purpose::write);
  EXPECT_EQ(use_of(fetch_add().pointer(Start, 8).done()), key_purpose::write);
}

TEST_F(wqe_parser_key, of_each_segment_is_the_one_it_names) {
  const wqe_item item = datagram().pointer(0x100, 1, 0x1122).pointer(0x200, 2, 0x3344).done();
  const wqe_shape shape = shape_of(item, qp_service::Ud);
  ASSERT_EQ(shape.keys(), 2);
  EXPECT_EQ(claim_of(item, shape, 1).key, 0x3344);
  EXPECT_EQ(claim_of(item, shape, 1).index(), 0x33);
  EXPECT_EQ(claim_of(item, shape, 1).address, 0x200);
  EXPECT_EQ(claim_of(item, shape, 1).bytes, 2);
}

TEST_F(wqe_parser_key, to_invalidate_is_in_the_control_segment) {
  const wqe_item item = wqe(wqe_opcode::LocalInvalidate).done();
  const wqe_shape shape = shape_of(item, qp_service::Rc);
  ASSERT_EQ(shape.keys(), 1);
  EXPECT_EQ(claim_of(item, shape, 0).key, 0xaabbccdd);
  EXPECT_EQ(claim_of(item, shape, 0).index(), 0xaabbcc);
  EXPECT_EQ(claim_of(item, shape, 0).use, key_purpose::invalidate);
}

TEST_F(wqe_parser_key, does_not_wrap_around) {
  key.start_addr = 0;
  key.len = ~std::uint64_t{0};
  EXPECT_FALSE(covers(~std::uint64_t{0}, 2));
  key.start_addr = ~std::uint64_t{0} - 0xfff;
  key.len = 0x2000;  // to beyond the end of the address space
  EXPECT_TRUE(covers(key.start_addr, 0xfff));
  EXPECT_FALSE(covers(key.start_addr, 0x1001));
}

TEST_F(wqe_parser_key, of_the_whole_space_has_no_range) {
  key.length64 = 1;
  key.len = 0;
  EXPECT_TRUE(covers(~std::uint64_t{0} - 5, 100));
}

TEST_F(wqe_parser_key, has_pages_unless_it_is_contiguous) {
  EXPECT_FALSE(has_pages(as_line(key)));
  key.contiguous = 0;
  EXPECT_TRUE(has_pages(as_line(key)));
}

}  // namespace
}  // namespace carillon
