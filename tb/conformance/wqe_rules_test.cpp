// What a send WQE may be and what becomes of one that is not: WQEs written byte by byte into the
// ring, rung by hand, and CQEs read byte by byte from their ring. The driver knows nothing of them.
//
// "mlx5" is the public driver interface: control, remote address, atomic, datagram and data
// segments, doorbells and BlueFlame, CQEs and their syndromes. A WQE that is malformed or of an
// operation that its QP cannot do completes with 0x02 (local QP operation error), what is behind it
// with 0x05 (flushed); an RC QP goes to ERR, of UC and UD QPs the send queue alone (SQER).
#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "tb/common/raw_queue.h"

namespace carillon::bench::raw {
namespace {

using maker = std::function<hand_made(const peer_bench&)>;

/// A legal SEND, the bad one, and later another legal one: the first completes, the bad one fails,
/// the last is flushed, and only the first is ever seen on the wire.
void expect_refused(const maker& make, qpc_service service, int syndrome, bool pushed = false) {
  peer_bench b;
  b.acknowledges_everything();
  hand_made bad;
  unsigned at = 0;
  unsigned behind = 0;
  qpc_state state = qpc_state::Reset;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    co_await bench.connect(core, plain(service));
    raw_queue queue(bench);
    queue.put(send_of(bench, 8));
    bad = make(bench);
    bad.flags = 0;  // an error is told of though nobody asked
    if (pushed) {
      co_await queue.ring(core);
      co_await bench.wait_ns(core, SettleNs);
      at = queue.put(bad);
      co_await queue.push(core, static_cast<std::uint16_t>(at));
    } else {
      at = queue.put(bad);
      co_await queue.ring(core);
    }
    co_await bench.wait_ns(core, SettleNs);
    hand_made next = send_of(bench, 8);
    next.flags = 0;
    behind = queue.put(next);
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
    state = (co_await bench.qp->query(core)).state;
  });
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0), failed(b, bad.opcode, at, syndrome),
                              failed(b, Send, behind, 0x05)}));
  EXPECT_EQ(state, service == qpc_service::Rc ? qpc_state::Err : qpc_state::Sqer);
  EXPECT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.count(counter::WqeMalformed), syndrome == 0x02 ? 1U : 0U);
}

// Operations -------------------------------------------------------------------------------------

class wqe_operation : public testing::TestWithParam<std::uint8_t> {};

// mlx5, operations of the control segment: those that this device does not do, and numbers that
// nobody has given a meaning.
TEST_P(wqe_operation, one_that_the_device_does_not_know_is_refused) {
  expect_refused([](const peer_bench&) { return of(GetParam(), remote() + operands()); },
                 qpc_service::Rc, 0x02);
}

INSTANTIATE_TEST_SUITE_P(defined, wqe_operation,
                         testing::Values(0x0e, 0x0f, 0x14, 0x15, 0x17, 0x18, 0x19, 0x1f, 0x20, 0x21,
                                         0x25, 0x28, 0x29, 0x2c, 0x2f));
INSTANTIATE_TEST_SUITE_P(undefined, wqe_operation,
                         testing::Values(0x02, 0x07, 0x0c, 0x13, 0x16, 0x1a, 0x3f, 0x80, 0xff));

struct served {
  qpc_service service;
  std::uint8_t opcode;
};

class wqe_service : public testing::TestWithParam<served> {};

// RoCE rules, services: UC has no READ, atomic or invalidation, UD nothing but SENDs.
TEST_P(wqe_service, one_that_the_service_does_not_have_is_refused) {
  const std::uint8_t opcode = GetParam().opcode;
  const auto make = [opcode](const peer_bench& b) {
    hand_made bad;
    if (opcode == SendInvalidate) {
      bad = send_of(b, 8);
    } else if (opcode != LocalInvalidate) {
      const bool atomic = opcode == CompareSwap || opcode == FetchAdd;
      bad.segments = remote() + (atomic ? operands() : bytes_t{}) + piece(b, 8);
    }
    bad.opcode = opcode;
    bad.imm = b.buffer.key;
    return bad;
  };
  expect_refused(make, GetParam().service, 0x02);
}

INSTANTIATE_TEST_SUITE_P(uc, wqe_service,
                         testing::Values(served{qpc_service::Uc, SendInvalidate},
                                         served{qpc_service::Uc, Read},
                                         served{qpc_service::Uc, CompareSwap},
                                         served{qpc_service::Uc, FetchAdd},
                                         served{qpc_service::Uc, LocalInvalidate}));
INSTANTIATE_TEST_SUITE_P(
    ud, wqe_service,
    testing::Values(served{qpc_service::Ud, SendInvalidate}, served{qpc_service::Ud, Write},
                    served{qpc_service::Ud, WriteImmediate}, served{qpc_service::Ud, Read},
                    served{qpc_service::Ud, CompareSwap}, served{qpc_service::Ud, FetchAdd},
                    served{qpc_service::Ud, LocalInvalidate}));

// Segments and sizes -----------------------------------------------------------------------------

struct misfit {
  const char* name;
  int syndrome;
  hand_made (*make)(const peer_bench&);
  qpc_service service = qpc_service::Rc;
};

hand_made saying(hand_made what, unsigned ds, bool announced = false) {
  what.ds = ds;
  what.announced = announced;
  return what;
}

bytes_t pieces(const peer_bench& b, const std::vector<std::uint32_t>& counts) {
  bytes_t all;
  for (const std::uint32_t each : counts) {
    all = all + piece(b, each);
  }
  return all;
}

constexpr std::uint32_t Giga = 0x40000000;  ///< 2^30

// mlx5: ds counts 16-byte units, the control segment among them; what the operation needs comes
// first (remote address, atomic, datagram), then up to 30 pointers or one inline segment.
const misfit Misfits[] = {
    {"a_size_of_zero", 0x02, [](const peer_bench&) { return saying(of(Send, {}), 0); }},
    {"a_size_of_63_with_nothing_behind", 0x02,
     [](const peer_bench&) { return saying(of(Send, {}), 63); }},
    {"a_size_of_63_over_an_empty_ring", 0x02,
     [](const peer_bench&) { return saying(of(Send, {}), 63, true); }},
    {"a_size_larger_than_what_was_rung_for", 0x02,
     [](const peer_bench& b) {
       return saying(of(Send, piece(b, 8) + piece(b, 8) + piece(b, 8)), 40);
     }},
    {"a_write_without_room_for_its_remote_address", 0x02,
     [](const peer_bench&) { return of(Write, {}); }},
    {"a_read_without_room_for_its_remote_address", 0x02,
     [](const peer_bench&) { return of(Read, {}); }},
    {"an_atomic_without_room_for_its_operands", 0x02,
     [](const peer_bench&) { return of(FetchAdd, remote()); }},
    {"an_atomic_without_a_place_for_its_result", 0x02,
     [](const peer_bench&) { return of(FetchAdd, remote() + operands()); }},
    {"an_atomic_with_two_places_for_its_result", 0x02,
     [](const peer_bench& b) {
       return of(CompareSwap, remote() + operands() + piece(b, 4) + piece(b, 4));
     }},
    {"an_atomic_with_a_result_of_4_bytes", 0x02,
     [](const peer_bench& b) { return of(FetchAdd, remote() + operands() + piece(b, 4)); }},
    {"an_atomic_with_a_result_of_16_bytes", 0x02,
     [](const peer_bench& b) { return of(FetchAdd, remote() + operands() + piece(b, 16)); }},
    {"an_atomic_at_an_address_that_8_does_not_divide", 0x02,
     [](const peer_bench& b) { return of(FetchAdd, remote(0x70004) + operands() + piece(b, 8)); }},
    {"an_atomic_with_inline_data", 0x02,
     [](const peer_bench&) {
       return of(CompareSwap, remote() + operands() + inline_data(pattern(8)));
     }},
    {"a_read_with_inline_data", 0x02,
     [](const peer_bench&) { return of(Read, remote() + inline_data(pattern(8))); }},
    {"inline_data_beyond_the_size", 0x02,
     [](const peer_bench&) { return of(Send, inline_data(100, pattern(12))); }},
    {"inline_data_that_does_not_fill_the_size", 0x02,
     [](const peer_bench&) { return of(Send, inline_data(4, pattern(40))); }},
    {"a_pointer_with_bit_31", 0x02,
     [](const peer_bench& b) { return of(Send, piece(b, 0x80000000U | 64)); }},
    {"a_pointer_behind_inline_data", 0x02,
     [](const peer_bench& b) { return of(Send, inline_data(pattern(12)) + piece(b, 8)); }},
    {"inline_data_behind_a_pointer", 0x02,
     [](const peer_bench& b) { return of(Send, piece(b, 8) + inline_data(pattern(12))); }},
    {"two_inline_segments", 0x02,
     [](const peer_bench&) {
       return of(Write, remote() + inline_data(pattern(12)) + inline_data(pattern(12)));
     }},
    {"31_pointers", 0x02,
     [](const peer_bench& b) { return of(Send, pieces(b, std::vector<std::uint32_t>(31, 8))); }},
    {"a_nop_with_data", 0x02, [](const peer_bench& b) { return of(Nop, piece(b, 8)); }},
    {"a_local_invalidation_with_data", 0x02,
     [](const peer_bench& b) { return of(LocalInvalidate, piece(b, 8)); }},
    {"the_index_of_the_next_one", 0x02,
     [](const peer_bench& b) {
       hand_made bad = send_of(b, 8);
       bad.index_off = 1;
       return bad;
     }},
    {"the_index_of_another_turn_of_the_ring", 0x02,
     [](const peer_bench& b) {
       hand_made bad = send_of(b, 8);
       bad.index_off = 1U << LogRing;
       return bad;
     }},
    {"the_number_of_another_queue_pair", 0x02,
     [](const peer_bench& b) {
       hand_made bad = send_of(b, 8);
       bad.qpn_off = 1;
       return bad;
     }},
    {"a_datagram_without_an_address", 0x02, [](const peer_bench&) { return of(Send, {}); },
     qpc_service::Ud},
    {"a_datagram_with_a_third_of_an_address", 0x02,
     [](const peer_bench& b) { return of(Send, piece(b, 8)); }, qpc_service::Ud},
    {"a_datagram_with_inline_data_beyond_the_size", 0x02,
     [](const peer_bench&) { return of(Send, datagram() + inline_data(100, pattern(12))); },
     qpc_service::Ud},
    {"a_size_of_zero_on_uc", 0x02, [](const peer_bench&) { return saying(of(Send, {}), 0); },
     qpc_service::Uc},
    // A message has at most 2^31 bytes, a datagram one packet.
    {"2_to_31_and_one_bytes", 0x01,
     [](const peer_bench& b) {
       return of(Send, pieces(b, {Giga, Giga + 1}));
     }},
    {"2_to_32_bytes", 0x01,
     [](const peer_bench& b) {
       return of(Write, remote() + pieces(b, {Giga, Giga, Giga, Giga}));
     }},
    {"2_to_32_and_100_bytes", 0x01,
     [](const peer_bench& b) {
       return of(Send, pieces(b, {Giga, Giga, Giga, Giga, 100}));
     }},
    {"30_pieces_of_all_that_a_piece_can_have", 0x01,
     [](const peer_bench& b) {
       return of(Read, remote() + pieces(b, std::vector<std::uint32_t>(30, 0x7fffffff)));
     }},
    {"a_datagram_of_one_byte_more_than_the_mtu", 0x01,
     [](const peer_bench& b) { return send_of(b, 1025); }, qpc_service::Ud},
    // Exactly 2^31 bytes are not too many; here they leave their region.
    {"2_to_31_bytes_of_a_smaller_region", 0x04,
     [](const peer_bench& b) {
       return of(Send, pieces(b, {Giga, Giga}));
     }},
    // A piece of no bytes says nothing of 2^31 (mlx5 leaves that to receive lists), and has a key.
    {"a_piece_of_no_bytes_with_a_key_of_nobody", 0x04,
     [](const peer_bench&) { return of(Send, pointer(0, 0x7fff00, 0)); }},
};

class wqe_misfit : public testing::TestWithParam<misfit> {};

TEST_P(wqe_misfit, fails_alone_and_flushes_what_follows) {
  expect_refused(GetParam().make, GetParam().service, GetParam().syndrome);
}

INSTANTIATE_TEST_SUITE_P(rule, wqe_misfit, testing::ValuesIn(Misfits),
                         [](const auto& each) { return std::string(each.param.name); });

// A WQE that is pushed is looked at like one that is fetched.
TEST(wqe_rules, a_malformed_wqe_that_is_pushed_is_refused_alike) {
  expect_refused(
      [](const peer_bench& b) { return of(Send, piece(b, 8) + inline_data(pattern(12))); },
      qpc_service::Rc, 0x02, true);
}

// mlx5, wq_signature: byte 8 makes the exclusive or of all ds * 16 bytes 0xff.
TEST(wqe_rules, a_signed_queue_refuses_a_wrong_signature) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.wq_signature = true;
    co_await bench.connect(core, wanted);
    raw_queue queue(bench);
    queue.sign = true;
    queue.put(send_of(bench, 8));
    queue.sign = false;
    queue.put(send_of(bench, 8));
    co_await queue.ring(core);
    co_await bench.wait_ns(core, SettleNs);
  });
  EXPECT_EQ(cqes(b), (entries{done(b, Send, 0), failed(b, Send, 1, 0x02)}));
  EXPECT_EQ(b.packets.size(), 1U);
}

}  // namespace
}  // namespace carillon::bench::raw
