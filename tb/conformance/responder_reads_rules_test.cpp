// The responder's rules on the wire: READs, atomics, what is kept of them for duplicates, and what
// remote keys and the QP allow. SEND and WRITE are in responder_rules_test.cpp, where the sources
// of the rules are named too.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::PeerQpn;
using bench::seen_packet;

using op = bth_opcode;

constexpr ps_t Us = 1000000;

bytes_t part(const bytes_t& all, std::size_t from, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(count, all.size() - from))};
}

/// The NIC serves a scripted peer; MTU 1024. The buffer's first 32 KiB hold a pattern.
class responder_read_rules : public testing::Test {
 protected:
  explicit responder_read_rules(const parameters& params = {}) : b(params) {
    wanted.connection.mtu = mtu_code::Mtu1024;
  }

  /// Connects, runs the program and lets everything be answered.
  void run(const std::function<task<>(cpu&)>& what) {
    b.run([&](peer_bench&, cpu& core) -> task<> {
      co_await b.connect(core, wanted);
      b.put(0, Memory);
      co_await what(core);
      co_await settle(core);
      EXPECT_FALSE(b.receive_cq->ready()) << "READs and atomics take no receive";
    });
  }

  void serve(const std::function<void()>& packets) {
    run([&](cpu& core) -> task<> {
      packets();
      co_await core.sync();
    });
  }

  /// Until all that was said is answered.
  task<> settle(cpu& core) const {
    core.idle_until(std::max(core.time(), next_) + 30 * Us);
    co_await core.sync();
  }

  /// The peer sends it `apart` after what it said before, so that that has been answered.
  void say(const packet_description& what, const bytes_t& payload = {}) {
    next_ = std::max({next_, b.now(), b.host.core(0).time()}) + apart;
    b.send(what, payload, (next_ - b.now()) / 1000);
  }

  [[nodiscard]] packet_description read(std::uint32_t n, std::uint32_t length,
                                        std::uint64_t offset = 0) const {
    return b.remote(op::RcReadRequest, PeerPsn + n, length, offset);
  }

  [[nodiscard]] packet_description atomic(op opcode, std::uint32_t n, std::uint64_t swap_or_add,
                                          std::uint64_t compare = 0,
                                          std::uint64_t offset = 0) const {
    packet_description what = b.remote(opcode, PeerPsn + n, 0, offset);
    what.atomic.swap_add = swap_or_add;
    what.atomic.compare = compare;
    return what;
  }

  void say_write(std::uint32_t n, const bytes_t& data, std::uint64_t offset = 0) {
    say(b.remote(op::RcWriteOnly, PeerPsn + n, static_cast<std::uint32_t>(data.size()), offset),
        data);
  }

  /// A word of memory as the host counts: least significant byte first.
  void put_word(std::uint64_t value) {
    bytes_t bytes;
    for (unsigned i = 0; i < 8; ++i) {
      bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
    b.put(0, bytes);
  }

  [[nodiscard]] std::uint64_t word() const {
    std::uint64_t value = 0;
    const bytes_t bytes = b.get(0, 8);
    for (unsigned i = 0; i < 8; ++i) {
      value |= std::uint64_t{bytes[i]} << (8 * i);
    }
    return value;
  }

  /// What the NIC sent, as "syndrome PSN MSN"; PSNs count from the peer's first. READ responses
  /// begin with their label (F, M, L, O), atomic results with A.
  [[nodiscard]] std::string answers() const {
    static const std::map<op, const char*> labels = {
        {op::RcReadResponseFirst, "F"}, {op::RcReadResponseMiddle, "M"},
        {op::RcReadResponseLast, "L"},  {op::RcReadResponseOnly, "O"},
        {op::RcAtomicAcknowledge, "A"}, {op::RcAcknowledge, ""}};
    std::string result;
    for (const seen_packet& each : b.packets) {
      EXPECT_EQ(each.parsed.base.dest_qpn, PeerQpn);
      result += result.empty() ? "" : ", ";
      result += labels.at(each.opcode());
      const std::int32_t psn = static_cast<std::int32_t>((each.psn() - PeerPsn) << 8) >> 8;
      result += each.parsed.opcode->has_aeth
                    ? fmt::format("{:02x} {} {}", each.syndrome(), psn, each.parsed.acknowledge.msn)
                    : fmt::format(" {}", psn);
    }
    return result;
  }

  /// The payloads of all responses, one after the other.
  [[nodiscard]] bytes_t carried() const {
    bytes_t all;
    for (const seen_packet& each : b.packets) {
      const bytes_t one = each.payload();
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  [[nodiscard]] std::uint64_t result(std::size_t packet) const {
    return b.packets.at(packet).parsed.atomic_result.original;
  }

  static inline const bytes_t Memory = pattern(0x8000, 3);

  peer_bench b;
  peer_bench::options wanted;
  ps_t apart = 3 * Us;

 private:
  ps_t next_ = 0;
};

// READ responses ---------------------------------------------------------------------------------

// RoCE rules, packetisation: ceil(L / MTU) responses, at least one, with the PSNs from the
// request's on; AETH on all but MIDDLE. MSN + 1 when the READ is accepted.
TEST_F(responder_read_rules, a_read_has_a_response_for_each_packet_that_it_begins) {
  serve([this] {
    say(read(0, 77, 0x123));
    say(read(1, 1024, 0x123 + 77));
    say(read(2, 2048, 0x123 + 77 + 1024));
  });
  EXPECT_EQ(answers(), "O1f 0 1, O1f 1 2, F1f 2 3, L1f 3 3");
  EXPECT_EQ(carried(), part(Memory, 0x123, 77 + 1024 + 2048));
  EXPECT_EQ(b.packets.at(0).parsed.base.pad_count, 3U);
}

class responder_read_mtu : public responder_read_rules,
                           public testing::WithParamInterface<unsigned> {};

TEST_P(responder_read_mtu, a_longer_read_has_first_middle_and_last_responses) {
  const std::uint32_t mtu = 128U << GetParam();
  wanted.connection.mtu = static_cast<mtu_code>(GetParam());
  serve([this, mtu] { say(read(0, 2 * mtu + 7)); });
  ASSERT_EQ(answers(), "F1f 0 1, M 1, L1f 2 1");
  EXPECT_EQ(b.packets[0].parsed.payload, mtu);
  EXPECT_EQ(b.packets[1].parsed.payload, mtu);
  EXPECT_EQ(b.packets[2].parsed.payload, 7U);
  EXPECT_EQ(carried(), part(Memory, 0, 2 * mtu + 7));
}

INSTANTIATE_TEST_SUITE_P(code, responder_read_mtu, testing::Values(1U, 2U, 3U, 4U, 5U));

// Operations of length zero skip the check of the remote key.
TEST_F(responder_read_rules, an_empty_read_needs_no_key) {
  serve([this] {
    packet_description what = read(0, 0);
    what.remote.rkey = 0xdead00;
    say(what);
  });
  EXPECT_EQ(answers(), "O1f 0 1");
  EXPECT_EQ(b.packets.at(0).parsed.payload, 0U);
}

// The next request has the PSN behind the last response.
TEST_F(responder_read_rules, a_read_takes_the_psns_of_its_responses) {
  serve([this] {
    say(read(0, 2500));
    say_write(2, pattern(8));  // a duplicate
    say_write(4, pattern(8));  // a gap
    say_write(3, pattern(8));
    say(read(4, 0));
    say(read(5, 1));
  });
  EXPECT_EQ(answers(), "F1f 0 1, M 1, L1f 2 1, 1f 2 1, 60 3 1, 1f 3 2, O1f 4 3, O1f 5 4");
}

TEST_F(responder_read_rules, the_psns_of_a_read_wrap_behind_the_24th_bit) {
  run([this](cpu& core) -> task<> {
    co_await b.qp->to_reset(core);
    co_await b.qp->to_init(core, wanted.connection);
    const queue_pair_address peer{PeerQpn, 0xfffffe, bench::PeerMac, gid_of_ipv4(0x0a000002)};
    co_await b.qp->to_rtr(core, peer, wanted.connection);
    say(read(0xfffffe - PeerPsn, 2500));
    say(read(1 - PeerPsn, 8));
    say(read(0 - PeerPsn, 452, 2048));  // the last one again
  });
  EXPECT_EQ(answers(), "F1f -4098 1, M -4097, L1f -4096 1, O1f -4095 2, O1f -4096 2");
}

/// A link to the host that is slower than the wire, so that WRITEs pile up in front of it.
class responder_slow_host : public responder_read_rules {
 protected:
  responder_slow_host()
      : responder_read_rules([] {
          parameters params;
          params.pcie.generation = 3;
          params.pcie.width = 1;
          return params;
        }()) {}
};

// A READ is executed behind every request before it.
TEST_F(responder_slow_host, a_read_sees_the_writes_before_it) {
  apart = 0;
  serve([this] {
    for (std::uint32_t i = 0; i < 16; ++i) {
      packet_description write = b.remote(op::RcWriteOnly, PeerPsn + i, 1024, i * 1024);
      write.ack_request = 0;
      say(write, part(pattern(0x4000, 5), i * 1024, 1024));
    }
    say(read(16, 0x4000));
  });
  EXPECT_EQ(b.packets.size(), 16U);
  EXPECT_EQ(carried(), pattern(0x4000, 5));
}

// An ACK that came before the data would tell the peer that the data is lost (implied NAK).
TEST_F(responder_read_rules, no_answer_overtakes_the_data_of_a_read) {
  apart = 0;
  serve([this] {
    say(read(0, 4096));
    say_write(4, pattern(8), 0x4000);
    say(read(5, 8));
    say(atomic(op::RcFetchAdd, 6, 1, 0, 0x4000));
    say(read(7, 2048, 0x1000));
    say_write(9, pattern(8), 0x4100);
  });
  EXPECT_EQ(answers(),
            "F1f 0 1, M 1, M 2, L1f 3 1, 1f 4 2, O1f 5 3, A1f 6 4, F1f 7 5, L1f 8 5, 1f 9 6");
}

// Duplicate READs --------------------------------------------------------------------------------

// A duplicate READ is answered again; neither ePSN nor MSN move.
TEST_F(responder_read_rules, a_duplicate_read_is_answered_again) {
  serve([this] {
    say(read(0, 1500));
    say_write(2, pattern(8), 0x4000);
    say(read(0, 1500));
    say_write(3, pattern(8), 0x4000);
  });
  EXPECT_EQ(answers(), "F1f 0 1, L1f 1 1, 1f 2 2, F1f 0 2, L1f 1 2, 1f 3 3");
  EXPECT_EQ(b.packets[3].payload(), part(Memory, 0, 1024));
  EXPECT_EQ(b.packets[4].payload(), part(Memory, 1024, 476));
}

// A requester that lost responses asks for the rest: PSN, address and length advanced together.
TEST_F(responder_read_rules, a_part_of_a_read_can_be_asked_for_again) {
  serve([this] {
    say(read(0, 2500, 0x100));
    say(read(1, 1476, 0x100 + 1024));
    say(read(2, 452, 0x100 + 2048));
    say(read(1, 1024, 0x100 + 1024));  // not even to the end
  });
  EXPECT_EQ(answers(), "F1f 0 1, M 1, L1f 2 1, F1f 1 1, L1f 2 1, O1f 2 1, O1f 1 1");
  EXPECT_EQ(b.packets[3].payload(), part(Memory, 0x100 + 1024, 1024));
  EXPECT_EQ(b.packets[4].payload(), part(Memory, 0x100 + 2048, 452));
  EXPECT_EQ(b.packets[5].payload(), part(Memory, 0x100 + 2048, 452));
  EXPECT_EQ(b.packets[6].payload(), part(Memory, 0x100 + 1024, 1024));
}

/// A duplicate of the READ of 2500 bytes that has PSNs 1 to 3.
struct misfit {
  const char* name;
  std::uint32_t n;
  std::uint32_t length;
  std::uint64_t offset;
  std::uint32_t key_change;
};

class responder_misfit : public responder_read_rules, public testing::WithParamInterface<misfit> {};

// What is not a part of a READ that is kept is dropped without a word, and the QP lives on.
TEST_P(responder_misfit, is_dropped) {
  const misfit& what = GetParam();
  serve([this, &what] {
    say_write(0, pattern(8), 0x4000);
    say(read(1, 2500));
    packet_description again = read(what.n, what.length, what.offset);
    again.remote.rkey ^= what.key_change;
    say(again);
    say_write(4, pattern(8), 0x4000);
  });
  EXPECT_EQ(answers(), "1f 0 1, F1f 1 2, M 2, L1f 3 2, 1f 4 3");
}

const misfit Misfits[] = {
    {"of_another_key", 1, 2500, 0, 0x100},
    {"of_another_variant", 1, 2500, 0, 1},
    {"at_another_address", 1, 2500, 8, 0},
    {"that_is_longer", 1, 2501, 0, 0},
    {"with_the_psn_of_its_middle_and_the_address_of_its_start", 2, 1476, 0, 0},
    {"with_the_psn_of_its_start_and_the_address_of_its_middle", 1, 1476, 1024, 0},
    {"with_the_psn_of_a_write", 0, 2500, 0, 0},
};

std::string name_of(const testing::TestParamInfo<misfit>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(read, responder_misfit, testing::ValuesIn(Misfits), name_of);

// As many are kept as were agreed (max_dest_rd_atomic).
TEST_F(responder_read_rules, a_read_that_was_agreed_to_be_forgotten_is_dropped) {
  wanted.connection.log_max_dest_rd_atomic = 1;
  serve([this] {
    for (const std::uint32_t n : {0U, 1U, 2U, 0U, 1U, 2U}) {
      say(read(n, 8, std::uint64_t{n} * 8));
    }
  });
  EXPECT_EQ(answers(), "O1f 0 1, O1f 1 2, O1f 2 3, O1f 1 3, O1f 2 3");
}

// More READs on the way than agreed are an invalid request: one counts until its last response has
// left. (rdma_rxe relies on its peer: it recycles the oldest.)
TEST_F(responder_read_rules, reads_beyond_those_agreed_are_an_invalid_request) {
  wanted.connection.log_max_dest_rd_atomic = 1;
  apart = 0;
  serve([this] {
    say(read(0, 0x4000));
    say(read(16, 0x4000));
    say(read(32, 0x4000));
  });
  ASSERT_EQ(b.packets.size(), 33U);
  EXPECT_EQ(b.packets.back().syndrome(), 0x61);
  EXPECT_EQ(b.packets.back().psn(), PeerPsn + 32);
}

// A peer whose window is what was agreed is never refused: it asks again when it has seen an
// answer.
TEST_F(responder_read_rules, a_peer_that_asks_again_with_each_last_response_is_served) {
  wanted.connection.log_max_dest_rd_atomic = 0;
  apart = 0;
  constexpr std::uint32_t Reads = 20;
  b.answer = [this](const seen_packet& got) {
    const std::uint32_t asked = got.psn() - PeerPsn + 1;
    if (asked < Reads) {
      b.send(read(asked, 8));
    }
  };
  serve([this] { say(read(0, 8)); });
  ASSERT_EQ(b.packets.size(), Reads);
  EXPECT_EQ(b.packets.back().opcode(), op::RcReadResponseOnly);
}

// Atomics ----------------------------------------------------------------------------------------

// The word is an integer of the host; the answer is what it was before.
TEST_F(responder_read_rules, fetch_and_add_adds_modulo_two_to_the_64_and_returns_what_was_there) {
  serve([this] {
    put_word(0x1122334455667788);
    say(atomic(op::RcFetchAdd, 0, 0xf000000000000001));
  });
  EXPECT_EQ(answers(), "A1f 0 1");
  EXPECT_EQ(result(0), 0x1122334455667788U);
  EXPECT_EQ(b.get(0, 8), (bytes_t{0x89, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x01}));
  EXPECT_EQ(b.get(8, 8), part(Memory, 8, 8));
}

TEST_F(responder_read_rules, compare_and_swap_swaps_on_a_match_only) {
  serve([this] {
    put_word(0x8000000000000007);
    say(atomic(op::RcCompareSwap, 0, 100, 7));  // differs in the highest bit
    say(atomic(op::RcCompareSwap, 1, 200, 0x8000000000000007));
    say(atomic(op::RcCompareSwap, 2, 300, 0x8000000000000007));
  });
  EXPECT_EQ(answers(), "A1f 0 1, A1f 1 2, A1f 2 3");
  EXPECT_EQ(result(0), 0x8000000000000007U);
  EXPECT_EQ(result(1), 0x8000000000000007U);
  EXPECT_EQ(result(2), 200U);
  EXPECT_EQ(word(), 200U);
}

TEST_F(responder_read_rules, writes_atomics_and_reads_of_one_word_follow_each_other) {
  apart = 0;
  serve([this] {
    say_write(0, bytes_t(8, 1));
    say(atomic(op::RcFetchAdd, 1, 1));
    say(atomic(op::RcFetchAdd, 2, 1));
    say(read(3, 8));
    say(atomic(op::RcCompareSwap, 4, 9, 0x0101010101010103));
    say_write(5, {5, 0, 0, 0});
    say(read(6, 8));
  });
  EXPECT_EQ(answers(), "1f 0 1, A1f 1 2, A1f 2 3, O1f 3 4, A1f 4 5, 1f 5 6, O1f 6 7");
  EXPECT_EQ(result(1), 0x0101010101010101U);
  EXPECT_EQ(result(2), 0x0101010101010102U);
  EXPECT_EQ(b.packets[3].payload(), (bytes_t{3, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(result(4), 0x0101010101010103U);
  EXPECT_EQ(b.packets[6].payload(), (bytes_t{5, 0, 0, 0, 0, 0, 0, 0}));
}

// A duplicate has the answer that is kept; an atomic is never executed twice.
TEST_F(responder_read_rules, a_duplicate_atomic_is_answered_but_not_executed_again) {
  run([this](cpu& core) -> task<> {
    put_word(10);
    say(atomic(op::RcFetchAdd, 0, 5));
    say(atomic(op::RcCompareSwap, 1, 40, 15));
    co_await settle(core);
    put_word(15);
    say(atomic(op::RcFetchAdd, 0, 5));
    say(atomic(op::RcCompareSwap, 1, 40, 15));
    say(atomic(op::RcFetchAdd, 2, 1));
  });
  EXPECT_EQ(answers(), "A1f 0 1, A1f 1 2, A1f 0 2, A1f 1 2, A1f 2 3");
  EXPECT_EQ(result(2), 10U);
  EXPECT_EQ(result(3), 15U);
  EXPECT_EQ(result(4), 15U);
  EXPECT_EQ(word(), 16U);
}

TEST_F(responder_read_rules, a_duplicate_atomic_that_is_not_kept_is_dropped) {
  wanted.connection.log_max_dest_rd_atomic = 0;
  serve([this] {
    put_word(10);
    say(atomic(op::RcFetchAdd, 0, 1));
    say(atomic(op::RcFetchAdd, 1, 1));
    say(atomic(op::RcFetchAdd, 0, 1));            // forgotten
    say(atomic(op::RcCompareSwap, 1, 99, 12));    // was another operation
    say(atomic(op::RcFetchAdd, 1, 1, 0, 0x100));  // was elsewhere
    say(atomic(op::RcFetchAdd, 1, 1));
  });
  EXPECT_EQ(answers(), "A1f 0 1, A1f 1 2, A1f 1 2");
  EXPECT_EQ(word(), 12U);
  EXPECT_EQ(b.get(0x100, 8), part(Memory, 0x100, 8));
}

// Atomics are on addresses that are multiples of 8, else NAK 0x61.
TEST_F(responder_read_rules, an_atomic_off_the_grid_is_an_invalid_request) {
  serve([this] { say(atomic(op::RcFetchAdd, 0, 1, 0, 4)); });
  EXPECT_EQ(answers(), "61 0 0");
  EXPECT_EQ(b.get(0, 16), part(Memory, 0, 16));
}

// What keys and QP allow -------------------------------------------------------------------------

enum class wrong : std::uint8_t {
  index,
  variant,
  domain,
  queue_pair,
  right,
  before_start,
  behind_end,
  around_the_end,
  withdrawn
};

class responder_key : public responder_read_rules,
                      public testing::WithParamInterface<std::tuple<op, wrong>> {
 protected:
  /// A key for the 4 KiB at 0x1000 that has what is wrong.
  task<memory_region> region(cpu& core) {
    memory_access_rights rights{true, true, true, true, true};
    const op verb = std::get<op>(GetParam());
    std::uint32_t domain = b.pd;
    std::uint32_t qpn = MkeyAnyQp;
    if (std::get<wrong>(GetParam()) == wrong::right) {
      rights.remote_write = verb != op::RcWriteOnly;
      rights.remote_read = verb != op::RcReadRequest;
      rights.remote_atomic = verb != op::RcFetchAdd;
    } else if (std::get<wrong>(GetParam()) == wrong::domain) {
      domain = co_await b.driver.alloc_pd(core);
    } else if (std::get<wrong>(GetParam()) == wrong::queue_pair) {
      other_ =
          co_await queue_pair::create(b.driver, core, b.pd, *b.uar, *b.send_cq, *b.receive_cq, {});
      qpn = other_->qpn();
    }
    const memory_region made = co_await b.driver.register_memory(
        core, domain, b.buffer.address + 0x1000, 4096, rights, 7, qpn);
    if (std::get<wrong>(GetParam()) == wrong::withdrawn) {
      co_await b.driver.deregister_memory(core, made);
    }
    co_return made;
  }

 private:
  std::unique_ptr<queue_pair> other_;
};

// RoCE rules: key, domain, right and range are checked; NAK 0x62, nothing is read or written, and
// the QP is in error.
TEST_P(responder_key, a_request_that_its_key_does_not_allow_is_a_remote_access_error) {
  const auto [verb, fault] = GetParam();
  const std::uint32_t length = verb == op::RcFetchAdd ? 8 : 16;
  run([this, verb = verb, fault = fault, length](cpu& core) -> task<> {
    const memory_region made = co_await region(core);
    packet_description what = b.remote(verb, PeerPsn, length);
    std::uint64_t va = made.address;
    va = fault == wrong::before_start     ? va - 8
         : fault == wrong::behind_end     ? va + 4096 - length + 8
         : fault == wrong::around_the_end ? 0 - std::uint64_t{8}
                                          : va;
    const std::uint32_t key = fault == wrong::index     ? made.key + 0x100
                              : fault == wrong::variant ? made.key ^ 1
                                                        : made.key;
    what.remote.va = what.atomic.va = va;
    what.remote.rkey = what.atomic.rkey = key;
    what.atomic.swap_add = 1;
    say(what, verb == op::RcWriteOnly ? pattern(length) : bytes_t{});
    say_write(1, pattern(8), 0x4000);
    co_await settle(core);
    EXPECT_EQ((co_await b.qp->query(core)).state, qpc_state::Err);
  });
  EXPECT_EQ(answers(), "62 0 0");
  EXPECT_EQ(b.get(0, 0x8000), Memory);
}

INSTANTIATE_TEST_SUITE_P(
    all, responder_key,
    testing::Combine(testing::Values(op::RcWriteOnly, op::RcReadRequest, op::RcFetchAdd),
                     testing::Values(wrong::index, wrong::variant, wrong::domain, wrong::queue_pair,
                                     wrong::right, wrong::before_start, wrong::behind_end,
                                     wrong::around_the_end, wrong::withdrawn)));

// The whole of a message must be allowed before its first byte is written.
TEST_F(responder_read_rules, a_write_that_does_not_fit_its_region_writes_nothing_at_all) {
  serve([this] {
    const std::uint64_t offset = wanted.buffer_bytes - 2000;
    say(b.remote(op::RcWriteFirst, PeerPsn, 2001, offset), pattern(1024));
  });
  EXPECT_EQ(answers(), "62 0 0");
  EXPECT_EQ(b.get(wanted.buffer_bytes - 2000, 2000), bytes_t(2000));
}

TEST_F(responder_read_rules, a_region_may_be_used_to_its_last_byte) {
  const std::uint64_t end = wanted.buffer_bytes;
  serve([this, end] {
    say_write(0, pattern(16), end - 16);
    say(read(1, 16, end - 16));
    say(atomic(op::RcFetchAdd, 2, 1, 0, end - 8));
  });
  EXPECT_EQ(answers(), "1f 0 1, O1f 1 2, A1f 2 3");
  EXPECT_EQ(b.packets.at(1).payload(), pattern(16));
}

// Messages are at most 2^31 bytes; so long a one is not in the region, a longer one is no message.
TEST_F(responder_read_rules, a_read_of_two_gigabytes_is_judged_by_its_key) {
  serve([this] { say(read(0, 0x80000000)); });
  EXPECT_EQ(answers(), "62 0 0");
}

TEST_F(responder_read_rules, a_read_of_more_is_an_invalid_request) {
  serve([this] { say(read(0, 0x80000001)); });
  EXPECT_EQ(answers(), "61 0 0");
}

// The NAK takes the place of the READ's response, behind the answers before it.
TEST_F(responder_read_rules, the_nak_of_a_read_waits_for_its_turn) {
  apart = 0;
  serve([this] {
    say(read(0, 2500));
    packet_description wrong_key = read(3, 2500);
    wrong_key.remote.rkey ^= 1;
    say(wrong_key);
    say(read(6, 8));
  });
  EXPECT_EQ(answers(), "F1f 0 1, M 1, L1f 2 1, 62 3 1");
}

using access = std::tuple<op, std::uint32_t>;

class responder_access : public responder_read_rules, public testing::WithParamInterface<access> {};

// mlx5: rre, rwe and rae of the QP; what it does not allow is NAK 0x61, whatever the length.
TEST_P(responder_access, an_operation_that_the_qp_does_not_allow_is_an_invalid_request) {
  const auto [verb, length] = GetParam();
  run([this, verb = verb, length = length](cpu& core) -> task<> {
    connection_options changed = wanted.connection;
    changed.remote_read = verb != op::RcReadRequest;
    changed.remote_write = verb != op::RcWriteOnly;
    changed.remote_atomic = verb != op::RcFetchAdd && verb != op::RcCompareSwap;
    co_await b.qp->update(core, changed);
    say(b.remote(verb, PeerPsn, length), bytes_t(verb == op::RcWriteOnly ? length : 0));
  });
  EXPECT_EQ(answers(), "61 0 0");
  EXPECT_EQ(b.get(0, 8), part(Memory, 0, 8));
}

INSTANTIATE_TEST_SUITE_P(all, responder_access,
                         testing::Values(access{op::RcReadRequest, 8}, access{op::RcReadRequest, 0},
                                         access{op::RcWriteOnly, 8}, access{op::RcWriteOnly, 0},
                                         access{op::RcFetchAdd, 8}, access{op::RcCompareSwap, 8}));

}  // namespace
}  // namespace carillon
