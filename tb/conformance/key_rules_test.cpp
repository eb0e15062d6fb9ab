// What a memory key allows, from both sides: keys of an own work request's segments and of the
// peer's requests. Each case is named after its rule; the comment says where the rule is public.
// "mlx5" is the public driver interface, "RoCE rules" are those of the InfiniBand transport as its
// public descriptions and implementations give them (Linux rdma_rxe, the RoCEv2 annex).
//
// Regions with page lists are in key_page_rules_test.cpp.
#include <algorithm>
#include <gtest/gtest.h>

#include "gen/bytes.h"
#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::PeerQpn;
using bench::seen_packet;

constexpr std::uint8_t Variant = 0x5a;
constexpr std::uint64_t Target = 0x1000;  ///< what requests name, in the buffer
constexpr std::uint8_t Untouched = 0x77;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.connection.remote_atomic = true;
  return wanted;
}

using right_of = bool memory_access_rights::*;

memory_access_rights only(right_of right) {
  memory_access_rights rights{false, false, false, false, false};
  rights.*right = true;
  return rights;
}

memory_access_rights all_but(right_of right) {
  memory_access_rights rights{true, true, true, true, true};
  rights.*right = false;
  return rights;
}

// The peer acknowledges, and answers READs and atomics.
void serve(peer_bench& b) {
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    bytes_t data;
    if (got.opcode() == bth_opcode::RcReadRequest) {
      out.opcode = bth_opcode::RcReadResponseOnly;
      data = pattern(got.parsed.remote.dma_length);
    } else if (got.opcode() == bth_opcode::RcFetchAdd) {
      out.opcode = bth_opcode::RcAtomicAcknowledge;
      out.atomic_result.original = 0x0807060504030201;
    }
    b.send(out, data);
  };
}

/// What may be wrong with a key. Every key is one of memory that exists, so that a check that is
/// left out shows in that memory.
enum class flaw {
  none,           ///< exactly the bytes of the request, exactly the right that it needs
  bound_to_this,  ///< usable by this QP alone
  beyond_table,   ///< an index that the table does not have, but for its upper bits right
  never_created,
  destroyed,
  created_free,
  other_variant,
  other_domain,      ///< of another protection domain
  bound_to_another,  ///< usable by another QP alone
  without_right,     ///< all rights but the one
  begins_late,       ///< the request's first byte is before the region
  ends_early,        ///< its last byte is behind the region
};

struct flaw_row {
  flaw what;
  const char* name;
  bool serves;
};

constexpr flaw_row Flaws[] = {
    {flaw::none, "exactly_its_bytes_and_right", true},
    {flaw::bound_to_this, "bound_to_this_queue_pair", true},
    {flaw::beyond_table, "beyond_the_table", false},
    {flaw::never_created, "never_created", false},
    {flaw::destroyed, "destroyed", false},
    {flaw::created_free, "created_free", false},
    {flaw::other_variant, "other_variant", false},
    {flaw::other_domain, "other_protection_domain", false},
    {flaw::bound_to_another, "bound_to_another_queue_pair", false},
    {flaw::without_right, "without_the_right", false},
    {flaw::begins_late, "begins_one_byte_late", false},
    {flaw::ends_early, "ends_one_byte_early", false},
};

void PrintTo(const flaw_row& row, std::ostream* out) {
  *out << row.name;
}

task<std::unique_ptr<queue_pair>> another_queue_pair(peer_bench& b, cpu& core) {
  const peer_bench::options wanted = plain();
  co_return co_await queue_pair::create(b.driver, core, b.pd, *b.uar, *b.send_cq, *b.receive_cq,
                                        wanted.qp);
}

task<command_reply> create_key(peer_bench& b, cpu& core, const create_mkey_in& request) {
  std::array<std::uint8_t, create_mkey_in::Size> input{};
  request.pack(input.data());
  co_return co_await b.driver.try_command(core, input);
}

/// A contiguous region with all rights.
create_mkey_in key_command(const peer_bench& b, std::uint64_t at, std::uint64_t length) {
  create_mkey_in request;
  request.opcode = command_opcode::CreateMkey;
  mkc& key = request.memory_key_mkey_entry;
  key.lr = key.lw = key.rr = key.rw = key.a = 1;
  key.access_mode_1_0 = mkey_access_mode::Physical;
  key.qpn = MkeyAnyQp;
  key.mkey_7_0 = Variant;
  key.pd = b.pd;
  key.start_addr = at;
  key.len = length;
  return request;
}

struct flawed_key {
  std::uint32_t key = 0;
  std::unique_ptr<queue_pair> other;
};

/// A key for `length` bytes at Target.
task<flawed_key> key_with(peer_bench& b, cpu& core, flaw what, right_of right,
                          std::uint32_t length) {
  std::uint64_t from = b.buffer.address + Target;
  std::uint64_t bytes = length;
  std::uint32_t pd = b.pd;
  std::uint32_t qpn = MkeyAnyQp;
  memory_access_rights rights = only(right);
  flawed_key result;
  switch (what) {
    case flaw::bound_to_this:
      qpn = b.qp->qpn();
      break;
    case flaw::other_domain:
      pd = co_await b.driver.alloc_pd(core);
      break;
    case flaw::bound_to_another:
      result.other = co_await another_queue_pair(b, core);
      qpn = result.other->qpn();
      break;
    case flaw::without_right:
      rights = all_but(right);
      break;
    case flaw::begins_late:
      from += 1;
      bytes += 100;
      break;
    case flaw::ends_early:
      from -= 100;
      bytes += 100 - 1;
      break;
    case flaw::created_free: {
      create_mkey_in request = key_command(b, from, bytes);
      request.memory_key_mkey_entry.free = 1;
      const command_reply reply = co_await create_key(b, core, request);
      result.key = make_key(reply.number, Variant);
      co_return result;
    }
    default:
      break;
  }
  const memory_region region =
      co_await b.driver.register_memory(core, pd, from, bytes, rights, Variant, qpn);
  result.key = region.key;
  if (what == flaw::beyond_table) {
    const std::uint32_t table = 1U << b.driver.capabilities().log_max_mkey;
    result.key = make_key(table | region.index(), Variant);
  } else if (what == flaw::never_created) {
    result.key = make_key(region.index() + 1, Variant);
  } else if (what == flaw::other_variant) {
    result.key ^= 1;
  } else if (what == flaw::destroyed) {
    co_await b.driver.deregister_memory(core, region);
  }
  co_return result;
}

std::string name_of(wqe_opcode opcode, const flaw_row& row) {
  return std::string(to_string(opcode)) + "_" + row.name;
}

// Own work requests -------------------------------------------------------------------------------

struct local_use {
  wqe_opcode opcode;
  right_of right;
  std::uint32_t length;
};

constexpr local_use LocalUses[] = {
    {wqe_opcode::Send, &memory_access_rights::local_read, 64},
    {wqe_opcode::RdmaWrite, &memory_access_rights::local_read, 64},
    {wqe_opcode::RdmaRead, &memory_access_rights::local_write, 64},
    {wqe_opcode::AtomicFetchAdd, &memory_access_rights::local_write, 8},
};

void PrintTo(const local_use& use, std::ostream* out) {
  *out << to_string(use.opcode);
}

class local_key : public testing::TestWithParam<std::tuple<local_use, flaw_row>> {};

// mlx5, memory keys: index, free, variant, PD, access, range; in a data segment a failure is a
// local protection error (0x04). SEND and WRITE need local read, READ and atomics local write for
// what they bring. Nothing goes on the wire, the QP is in error.
TEST_P(local_key, must_allow_what_the_work_request_does) {
  const auto [use, row] = GetParam();
  const auto [opcode, right, length] = use;
  const flaw what = row.what;
  peer_bench b;
  serve(b);
  qpc_state state{};
  b.run(
      [&, opcode = opcode, right = right, length = length](peer_bench& bench, cpu& core) -> task<> {
        const peer_bench::options wanted = plain();
        co_await bench.connect(core, wanted);
        bench.put(Target - 128, bytes_t(512, Untouched));
        const flawed_key key = co_await key_with(bench, core, what, right, length);
        work_request request = bench.request(opcode, 0);
        request.add({bench.buffer.address + Target, length, key.key});
        co_await bench.post(core, request);
        co_await bench.send_completions(core);
        const qpc context = co_await bench.qp->query(core);
        state = context.state;
      });
  const bool brings = right == &memory_access_rights::local_write;
  const std::uint64_t errors = b.count(counter::LocalProtectionErrors);
  if (row.serves) {
    EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::None);
    EXPECT_EQ(b.packets.size(), 1U);
    EXPECT_EQ(b.get(Target, length) == bytes_t(length, Untouched), !brings);
    EXPECT_EQ(state, qpc_state::Rts);
    EXPECT_EQ(errors, 0U);
  } else {
    EXPECT_EQ(b.sends[0].opcode, cqe_opcode::RequesterError);
    EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::LocalProtection);
    EXPECT_TRUE(b.packets.empty());
    EXPECT_EQ(b.get(Target, length), bytes_t(length, Untouched));
    EXPECT_EQ(state, qpc_state::Err);
    EXPECT_EQ(errors, 1U);
  }
  EXPECT_EQ(b.get(Target - 128, 128), bytes_t(128, Untouched));
  EXPECT_EQ(b.get(Target + length, 128), bytes_t(128, Untouched));
}

INSTANTIATE_TEST_SUITE_P(key, local_key,
                         testing::Combine(testing::ValuesIn(LocalUses), testing::ValuesIn(Flaws)),
                         [](const auto& each) {
                           return name_of(std::get<0>(each.param).opcode, std::get<1>(each.param));
                         });

class receive_key : public testing::TestWithParam<flaw_row> {};

// RoCE rules: local resources of the responder that cannot be used are a NAK 0x63; mlx5: the
// receive WQE completes with 0x04.
TEST_P(receive_key, must_allow_local_write) {
  const flaw_row row = GetParam();
  peer_bench b;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(Target - 128, bytes_t(512, Untouched));
    const flawed_key key =
        co_await key_with(bench, core, row.what, &memory_access_rights::local_write, 64);
    receive_request request;
    request.id = 0x8000;
    request.add({bench.buffer.address + Target, 64, key.key});
    EXPECT_TRUE(co_await bench.qp->post_receive(core, request));
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(64));
    co_await bench.receive_completions(core);
    co_await bench.wait_ns(core, 2000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].opcode(), bth_opcode::RcAcknowledge);
  EXPECT_EQ(b.packets[0].psn(), PeerPsn);
  EXPECT_EQ(b.packets[0].syndrome(), row.serves ? 0x1f : 0x63);
  EXPECT_EQ(b.receives[0].syndrome,
            row.serves ? cqe_syndrome::None : cqe_syndrome::LocalProtection);
  EXPECT_EQ(b.get(Target, 64), row.serves ? pattern(64) : bytes_t(64, Untouched));
  EXPECT_EQ(b.get(Target - 128, 128), bytes_t(128, Untouched));
  EXPECT_EQ(b.get(Target + 64, 128), bytes_t(128, Untouched));
}

INSTANTIATE_TEST_SUITE_P(key, receive_key, testing::ValuesIn(Flaws),
                         [](const auto& each) { return std::string(each.param.name); });

// Requests of the peer ----------------------------------------------------------------------------

struct remote_use {
  bth_opcode opcode;
  right_of right;
  std::uint32_t length;
  bth_opcode answer;
};

constexpr remote_use RemoteUses[] = {
    {bth_opcode::RcWriteOnly, &memory_access_rights::remote_write, 64, bth_opcode::RcAcknowledge},
    {bth_opcode::RcReadRequest, &memory_access_rights::remote_read, 64,
     bth_opcode::RcReadResponseOnly},
    {bth_opcode::RcFetchAdd, &memory_access_rights::remote_atomic, 8,
     bth_opcode::RcAtomicAcknowledge},
};

void PrintTo(const remote_use& use, std::ostream* out) {
  *out << to_string(use.opcode);
}

packet_description request_with(const peer_bench& b, bth_opcode opcode, std::uint32_t psn,
                                std::uint32_t length, std::uint32_t key) {
  packet_description what = b.remote(opcode, psn, length, Target);
  what.remote.rkey = key;
  what.atomic.rkey = key;
  what.atomic.swap_add = 1;
  return what;
}

bytes_t payload_of(bth_opcode opcode) {
  return opcode == bth_opcode::RcWriteOnly ? pattern(64) : bytes_t{};
}

class remote_key : public testing::TestWithParam<std::tuple<remote_use, flaw_row>> {};

// The same checks for the key in RETH or AtomicETH; RoCE rules: a failure is a NAK 0x62, nothing is
// executed, the QP is in error.
TEST_P(remote_key, must_allow_what_the_peer_asks_for) {
  const auto [use, row] = GetParam();
  const flaw what = row.what;
  peer_bench b;
  qpc_state state{};
  b.run([&, use = use](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(Target - 128, bytes_t(512, Untouched));
    const flawed_key key = co_await key_with(bench, core, what, use.right, use.length);
    bench.send(request_with(bench, use.opcode, PeerPsn, use.length, key.key),
               payload_of(use.opcode));
    co_await bench.wait_ns(core, 5000);
    const qpc context = co_await bench.qp->query(core);
    state = context.state;
    EXPECT_FALSE(bench.receive_cq->ready());
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].psn(), PeerPsn);
  EXPECT_EQ(b.count(counter::RespRemoteAccessErrors), row.serves ? 0U : 1U);
  EXPECT_EQ(b.packets[0].opcode(), row.serves ? use.answer : bth_opcode::RcAcknowledge);
  EXPECT_EQ(b.packets[0].syndrome(), row.serves ? 0x1f : 0x62);
  EXPECT_EQ(state, row.serves ? qpc_state::Rts : qpc_state::Err);
  bytes_t expected(use.length, Untouched);
  if (row.serves && use.opcode == bth_opcode::RcWriteOnly) {
    expected = pattern(64);
  } else if (row.serves && use.opcode == bth_opcode::RcFetchAdd) {
    expected[0] = Untouched + 1;
  }
  EXPECT_EQ(b.get(Target, use.length), expected);
  EXPECT_EQ(b.get(Target - 128, 128), bytes_t(128, Untouched));
  EXPECT_EQ(b.get(Target + use.length, 128), bytes_t(128, Untouched));
}

INSTANTIATE_TEST_SUITE_P(key, remote_key,
                         testing::Combine(testing::ValuesIn(RemoteUses), testing::ValuesIn(Flaws)),
                         [](const auto& each) {
                           return std::string(to_string(std::get<0>(each.param).opcode)) + "_" +
                                  std::get<1>(each.param).name;
                         });

/// Lets the peer send some packets; what the NIC answers is in b.packets.
void peer_sends(peer_bench& b, const std::function<void(peer_bench&)>& what) {
  b.run([&what](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(Target, bytes_t(2048, Untouched));
    what(bench);
    co_await bench.wait_ns(core, 8000);
  });
}

// RoCE rules: a request for zero bytes skips the check of its key.
TEST(key_rules, an_empty_request_needs_no_key) {
  peer_bench b;
  peer_sends(b, [](peer_bench& bench) {
    bench.send(request_with(bench, bth_opcode::RcWriteOnly, PeerPsn, 0, 0xdeadbe00));
    bench.send(request_with(bench, bth_opcode::RcReadRequest, PeerPsn + 1, 0, 0xdeadbe00));
  });
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[0].syndrome(), 0x1f);
  EXPECT_EQ(b.packets[1].opcode(), bth_opcode::RcReadResponseOnly);
  EXPECT_EQ(b.packets[1].parsed.payload, 0U);
}

// The range of a WRITE is that of its whole message, known from its first packet: no packet of a
// message that does not fit is executed.
TEST(key_rules, a_message_beyond_its_region_is_refused_at_its_first_packet) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(Target, bytes_t(2048, Untouched));
    const memory_region region =
        co_await bench.driver.register_memory(core, bench.pd, bench.buffer.address + Target, 2047);
    bench.send(request_with(bench, bth_opcode::RcWriteFirst, PeerPsn, 2048, region.key),
               pattern(1024));
    bench.send(bench.packet(bth_opcode::RcWriteLast, PeerPsn + 1), pattern(1024));
    co_await bench.wait_ns(core, 8000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].psn(), PeerPsn);
  EXPECT_EQ(b.packets[0].syndrome(), 0x62);
  EXPECT_EQ(b.get(Target, 2048), bytes_t(2048, Untouched));
}

// mlx5: length64 is the whole address space, from 0 on, whatever start and length say.
TEST(key_rules, a_key_of_the_whole_address_space_has_no_range) {
  peer_bench b;
  serve(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(Target, pattern(64));
    create_mkey_in request = key_command(bench, 0x123000, 16);
    request.memory_key_mkey_entry.length64 = 1;
    const command_reply reply = co_await create_key(bench, core, request);
    const std::uint32_t key = make_key(reply.number, Variant);
    work_request send = bench.request(wqe_opcode::Send, 0);
    send.add({bench.buffer.address + Target, 64, key});
    co_await bench.post(core, send);
    co_await bench.send_completions(core);
    bench.send(request_with(bench, bth_opcode::RcWriteOnly, PeerPsn, 64, key), pattern(64, 9));
    co_await bench.wait_ns(core, 5000);
  });
  ASSERT_EQ(b.packets.size(), 2U);
  EXPECT_EQ(b.packets[0].payload(), pattern(64));
  EXPECT_EQ(b.packets[1].syndrome(), 0x1f);
  EXPECT_EQ(b.get(Target, 64), pattern(64, 9));
}

// All other checks hold for it too.
TEST(key_rules, a_key_of_the_whole_address_space_belongs_to_its_protection_domain) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    create_mkey_in request = key_command(bench, 0, 0);
    request.memory_key_mkey_entry.length64 = 1;
    request.memory_key_mkey_entry.pd = co_await bench.driver.alloc_pd(core);
    const command_reply reply = co_await create_key(bench, core, request);
    bench.put(Target, bytes_t(64, Untouched));
    bench.send(
        request_with(bench, bth_opcode::RcWriteOnly, PeerPsn, 64, make_key(reply.number, Variant)),
        pattern(64));
    co_await bench.wait_ns(core, 5000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].syndrome(), 0x62);
  EXPECT_EQ(b.get(Target, 64), bytes_t(64, Untouched));
}

// Of a gather list every key is looked at, the last one too.
TEST(key_rules, one_bad_key_among_many_fails_the_work_request) {
  peer_bench b;
  serve(b);
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    work_request request = bench.request(wqe_opcode::Send, 0);
    for (unsigned i = 0; i < 7; ++i) {
      request.add({bench.buffer.address + i * 64, 64, bench.buffer.key});
    }
    request.sges[6].lkey ^= 1;
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::LocalProtection);
  EXPECT_TRUE(b.packets.empty());
}

// What the chip does not have ---------------------------------------------------------------------

class refused_opcode : public testing::TestWithParam<wqe_opcode> {};

// mlx5: an operation that the chip does not have is a local QP operation error (0x02). Memory
// windows, fast registration and UMR change keys by work requests.
TEST_P(refused_opcode, is_a_local_operation_error) {
  const wqe_opcode opcode = GetParam();
  peer_bench b;
  serve(b);
  b.run([opcode](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    co_await bench.post(core, bench.request(opcode, 8));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::LocalQpOperation);
  EXPECT_EQ(b.sends[0].work, opcode);
  EXPECT_TRUE(b.packets.empty());
}

INSTANTIATE_TEST_SUITE_P(opcode, refused_opcode,
                         testing::Values(wqe_opcode::BindMemoryWindow, wqe_opcode::Fmr,
                                         wqe_opcode::Umr, wqe_opcode::AtomicMaskedCompareSwap,
                                         wqe_opcode::AtomicMaskedFetchAdd),
                         [](const auto& each) { return std::string(to_string(each.param)); });

struct refused_key_row {
  const char* name;
  void (*change)(create_mkey_in&);
};

void PrintTo(const refused_key_row& row, std::ostream* out) {
  *out << row.name;
}

class refused_key : public testing::TestWithParam<refused_key_row> {};

// mlx5: BAD_PARAM (3) for what the device does not have; no key is made.
TEST_P(refused_key, is_a_bad_parameter) {
  const refused_key_row row = GetParam();
  peer_bench b;
  b.run([row](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    create_mkey_in request = key_command(bench, bench.buffer.address, 4096);
    const command_reply good = co_await create_key(bench, core, request);
    EXPECT_EQ(good.status, command_status::Ok);
    row.change(request);
    const command_reply bad = co_await create_key(bench, core, request);
    EXPECT_EQ(bad.status, command_status::BadParameter);
    EXPECT_EQ(bad.number, 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(
    key, refused_key,
    testing::Values(
        refused_key_row{"indirect_list",
                        [](create_mkey_in& in) {
                          in.memory_key_mkey_entry.access_mode_1_0 = mkey_access_mode::Klm;
                        }},
        refused_key_row{"indirect_list_of_one_size",
                        [](create_mkey_in& in) {
                          in.memory_key_mkey_entry.access_mode_1_0 = mkey_access_mode::Ksm;
                        }},
        refused_key_row{"further_access_mode",
                        [](create_mkey_in& in) { in.memory_key_mkey_entry.access_mode_4_2 = 1; }},
        refused_key_row{"changed_by_work_requests",
                        [](create_mkey_in& in) { in.memory_key_mkey_entry.umr_en = 1; }},
        refused_key_row{"memory_window",
                        [](create_mkey_in& in) { in.memory_key_mkey_entry.en_rinval = 1; }},
        refused_key_row{"pages_on_demand", [](create_mkey_in& in) { in.pg_access = 1; }},
        refused_key_row{"user_memory_object", [](create_mkey_in& in) { in.mkey_umem_valid = 1; }},
        refused_key_row{"without_bytes",
                        [](create_mkey_in& in) { in.memory_key_mkey_entry.len = 0; }},
        refused_key_row{"around_the_end_of_addresses",
                        [](create_mkey_in& in) {
                          in.memory_key_mkey_entry.start_addr = ~std::uint64_t{0} - 15;
                          in.memory_key_mkey_entry.len = 32;
                        }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace carillon
