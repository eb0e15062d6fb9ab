// How memory keys end and come again, and the signatures of WQEs. "mlx5" is the public driver
// interface, "RoCE rules" are those of the InfiniBand transport as its public descriptions and
// implementations give them (Linux rdma_rxe, the RoCEv2 annex).
#include <algorithm>
#include <gtest/gtest.h>

#include "tb/common/peer_bench.h"

namespace carillon {
namespace {

using bench::bytes_t;
using bench::OwnPsn;
using bench::pattern;
using bench::peer_bench;
using bench::PeerPsn;
using bench::seen_packet;

constexpr std::uint64_t Target = 0x1000;
constexpr std::uint8_t Untouched = 0x77;
constexpr memory_access_rights AllRights{true, true, true, true, true};

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

std::vector<cqe_syndrome> syndromes(const std::vector<completion>& of) {
  std::vector<cqe_syndrome> result;
  for (const completion& each : of) {
    result.push_back(each.syndrome);
  }
  return result;
}

using outcomes = std::vector<cqe_syndrome>;

/// Syndromes of what the NIC has sent, all of them acknowledges.
std::vector<unsigned> answers(const peer_bench& b) {
  std::vector<unsigned> result;
  for (const seen_packet& each : b.packets) {
    EXPECT_EQ(each.opcode(), bth_opcode::RcAcknowledge);
    result.push_back(each.syndrome());
  }
  return result;
}

using syndrome_list = std::vector<unsigned>;

/// A region of 4 KiB at Target, filled.
task<memory_region> make_region(peer_bench& b, cpu& core, std::uint8_t variant) {
  b.put(Target, bytes_t(4096, Untouched));
  co_return co_await b.driver.register_memory(core, b.pd, b.buffer.address + Target, 4096,
                                              AllRights, variant);
}

work_request send_from(const peer_bench& b, std::uint32_t key) {
  work_request request;
  request.opcode = wqe_opcode::Send;
  request.add({b.buffer.address + Target, 64, key});
  return request;
}

work_request invalidate(std::uint32_t key) {
  work_request request;
  request.opcode = wqe_opcode::LocalInvalidate;
  request.invalidate_key = key;
  return request;
}

/// A WRITE of the peer's by that key.
void write_with(peer_bench& b, std::uint32_t psn, std::uint32_t key) {
  packet_description what = b.remote(bth_opcode::RcWriteOnly, psn, 64, Target);
  what.remote.rkey = key;
  b.send(what, pattern(64));
}

void send_invalidating(peer_bench& b, std::uint32_t psn, std::uint32_t key) {
  packet_description what = b.packet(bth_opcode::RcSendOnlyInvalidate, psn);
  what.invalidate_rkey = key;
  b.send(what, pattern(16, 5));
}

// SEND with invalidate ----------------------------------------------------------------------------

// RoCE rules: the key in IETH is useless once the SEND is complete. mlx5: opcode 4 in the CQE, the
// key in place of the immediate.
TEST(key_life_rules, a_send_with_invalidate_ends_the_key_for_the_peer) {
  peer_bench b;
  std::uint32_t key = 0;
  b.run([&key](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    key = region.key;
    co_await bench.post_receive(core, 64);
    write_with(bench, PeerPsn, key);
    co_await bench.wait_ns(core, 3000);
    EXPECT_EQ(bench.get(Target, 64), pattern(64)) << "as long as it is good";
    bench.put(Target, bytes_t(64, Untouched));
    send_invalidating(bench, PeerPsn + 1, key);
    co_await bench.receive_completions(core);
    write_with(bench, PeerPsn + 2, key);
    co_await bench.wait_ns(core, 3000);
  });
  EXPECT_EQ(b.receives[0].opcode, cqe_opcode::ResponderSendInvalidate);
  EXPECT_EQ(b.receives[0].invalidated_key, key);
  EXPECT_EQ(answers(b), (syndrome_list{0x1f, 0x1f, 0x62}));
  EXPECT_EQ(b.get(Target, 64), bytes_t(64, Untouched));
}

TEST(key_life_rules, a_send_with_invalidate_ends_the_key_for_own_work) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    co_await bench.post_receive(core, 64);
    send_invalidating(bench, PeerPsn, region.key);
    co_await bench.receive_completions(core);
    co_await bench.post(core, send_from(bench, region.key));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::LocalProtection}));
  EXPECT_EQ(b.packets.size(), 1U) << "the ACK alone";
}

// A key that ends takes effect even if the next request is right behind.
TEST(key_life_rules, the_request_behind_a_send_with_invalidate_finds_the_key_gone) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    co_await bench.post_receive(core, 64);
    send_invalidating(bench, PeerPsn, region.key);
    write_with(bench, PeerPsn + 1, region.key);
    co_await bench.receive_completions(core);
    co_await bench.wait_ns(core, 5000);
  });
  EXPECT_EQ(answers(b), (syndrome_list{0x1f, 0x62}));
  EXPECT_EQ(b.get(Target, 64), bytes_t(64, Untouched));
}

// RoCE rules: a key that the QP may not use is not invalidated, which is a remote access error.
class bad_invalidation : public testing::TestWithParam<const char*> {};

TEST_P(bad_invalidation, is_refused_and_changes_nothing) {
  const std::string how = GetParam();
  peer_bench b;
  b.run([&how](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    std::uint32_t pd = bench.pd;
    if (how == "other_protection_domain") {
      pd = co_await bench.driver.alloc_pd(core);
    }
    const memory_region region = co_await bench.driver.register_memory(
        core, pd, bench.buffer.address + Target, 4096, AllRights, 7);
    std::uint32_t named = region.key;
    if (how == "other_variant") {
      named ^= 1;
    } else if (how == "never_created") {
      named += 0x100;
    }
    co_await bench.post_receive(core, 64);
    send_invalidating(bench, PeerPsn, named);
    co_await bench.receive_completions(core);
    co_await bench.wait_ns(core, 3000);
  });
  EXPECT_EQ(answers(b), (syndrome_list{0x62}));
  EXPECT_TRUE(b.receives[0].failed());
  EXPECT_EQ(b.count(counter::RxInvalidatedKeys), 0U);
}

INSTANTIATE_TEST_SUITE_P(key, bad_invalidation,
                         testing::Values("other_variant", "never_created",
                                         "other_protection_domain"),
                         [](const auto& each) { return std::string(each.param); });

// Local invalidation ------------------------------------------------------------------------------

TEST(key_life_rules, a_local_invalidation_ends_the_key_for_own_work) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    co_await bench.post(core, send_from(bench, region.key));
    co_await bench.post(core, invalidate(region.key));
    co_await bench.send_completions(core, 2);
    co_await bench.post(core, send_from(bench, region.key));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b.sends),
            (outcomes{cqe_syndrome::None, cqe_syndrome::None, cqe_syndrome::LocalProtection}));
  EXPECT_EQ(b.packets.size(), 1U) << "an invalidation is not told the peer";
}

TEST(key_life_rules, a_local_invalidation_ends_the_key_for_the_peer) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    co_await bench.post(core, invalidate(region.key));
    co_await bench.send_completions(core);
    write_with(bench, PeerPsn, region.key);
    co_await bench.wait_ns(core, 3000);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::None}));
  EXPECT_EQ(answers(b), (syndrome_list{0x62}));
  EXPECT_EQ(b.get(Target, 64), bytes_t(64, Untouched));
}

// mlx5: the driver marks the WQE behind a local invalidation with a small fence, so that it does
// not use the key any more, although both are fetched with one doorbell.
TEST(key_life_rules, the_work_behind_a_local_invalidation_finds_the_key_gone) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region region = co_await make_region(bench, core, 7);
    const std::array<work_request, 2> batch = {invalidate(region.key),
                                               send_from(bench, region.key)};
    EXPECT_TRUE(co_await bench.qp->post_send(core, batch));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::None, cqe_syndrome::LocalProtection}));
  EXPECT_TRUE(b.packets.empty());
}

// RoCE rules: with the strong fence an invalidation waits until everything before it is done.
TEST(key_life_rules, a_fenced_invalidation_lets_earlier_work_use_the_key) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    bytes_t data;
    if (got.opcode() == bth_opcode::RcReadRequest) {
      out.opcode = bth_opcode::RcReadResponseOnly;
      data = pattern(64, 3);
    }
    b.send(out, data, 20000);
  };
  page_list pages;
  b.run([&pages](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    pages = page_list::scattered(bench.host, 0x7000000000, 8192);
    const memory_region region =
        co_await bench.driver.register_pages(core, bench.pd, pages, 8192, AllRights);
    work_request read = bench.request(wqe_opcode::RdmaRead, 0);
    read.add({0x7000000000 + 4090, 64, region.key});
    work_request last = invalidate(region.key);
    last.strong_ordering = true;
    const std::array<work_request, 2> batch = {read, last};
    EXPECT_TRUE(co_await bench.qp->post_send(core, batch));
    co_await bench.send_completions(core, 2);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::None, cqe_syndrome::None}));
  bytes_t landed(64);
  pages.read(b.host.memory, 0x7000000000 + 4090, landed.data(), landed.size());
  EXPECT_EQ(landed, pattern(64, 3));
}

class bad_local_invalidation : public testing::TestWithParam<const char*> {};

TEST_P(bad_local_invalidation, is_a_local_protection_error) {
  const std::string how = GetParam();
  peer_bench b;
  b.run([&how](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    std::uint32_t pd = bench.pd;
    if (how == "other_protection_domain") {
      pd = co_await bench.driver.alloc_pd(core);
    }
    const memory_region region = co_await bench.driver.register_memory(
        core, pd, bench.buffer.address + Target, 4096, AllRights, 7);
    std::uint32_t named = region.key;
    if (how == "other_variant") {
      named ^= 1;
    } else if (how == "never_created") {
      named += 0x100;
    }
    co_await bench.post(core, invalidate(named));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::LocalProtection}));
}

INSTANTIATE_TEST_SUITE_P(key, bad_local_invalidation,
                         testing::Values("other_variant", "never_created",
                                         "other_protection_domain"),
                         [](const auto& each) { return std::string(each.param); });

// Keys that come again ----------------------------------------------------------------------------

// mlx5: the number of a destroyed key is used again; the variant keeps the old key useless.
TEST(key_life_rules, an_old_key_does_not_open_the_region_that_has_its_number) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region old = co_await make_region(bench, core, 7);
    co_await bench.driver.deregister_memory(core, old);
    const memory_region fresh = co_await make_region(bench, core, 8);
    EXPECT_EQ(old.index(), fresh.index());
    write_with(bench, PeerPsn, fresh.key);
    co_await bench.wait_ns(core, 3000);
    EXPECT_EQ(bench.get(Target, 64), pattern(64));
    bench.put(Target, bytes_t(64, Untouched));
    write_with(bench, PeerPsn + 1, old.key);
    co_await bench.wait_ns(core, 3000);
  });
  EXPECT_EQ(answers(b), (syndrome_list{0x1f, 0x62}));
  EXPECT_EQ(b.get(Target, 64), bytes_t(64, Untouched));
}

// An invalidation ends with its key: what has its number next is good.
TEST(key_life_rules, an_invalidated_number_can_be_used_again) {
  peer_bench b;
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const memory_region old = co_await make_region(bench, core, 7);
    co_await bench.post(core, invalidate(old.key));
    co_await bench.send_completions(core);
    co_await bench.driver.deregister_memory(core, old);
    const memory_region fresh = co_await make_region(bench, core, 8);
    EXPECT_EQ(old.index(), fresh.index());
    write_with(bench, PeerPsn, fresh.key);
    co_await bench.wait_ns(core, 3000);
  });
  EXPECT_EQ(answers(b), (syndrome_list{0x1f}));
  EXPECT_EQ(b.get(Target, 64), pattern(64));
}

// Signatures --------------------------------------------------------------------------------------

/// Changes one byte of a queue's memory whenever the driver has written it, before any doorbell.
class damage final : public memory_watcher {
 public:
  damage(peer_bench& b, std::uint64_t queue, std::uint64_t length, std::uint64_t at)
      : memory_(b.host.memory), queue_(queue), length_(length), at_(queue + at) {
    memory_.watch(queue_, length_, *this);
  }

  damage(const damage&) = delete;
  damage& operator=(const damage&) = delete;

  ~damage() override { memory_.unwatch(queue_, length_, *this); }

 private:
  void on_memory_write(std::uint64_t address, std::uint64_t length) override {
    if (at_ < address || at_ >= address + length || busy_) {
      return;
    }
    busy_ = true;
    std::uint8_t byte = 0;
    memory_.read(at_, &byte, 1);
    byte ^= 0x10;
    memory_.write(at_, &byte, 1);
    busy_ = false;
  }

  host_memory& memory_;
  const std::uint64_t queue_;
  const std::uint64_t length_;
  const std::uint64_t at_;
  bool busy_ = false;
};

struct signature_case {
  bool is_signed;
  doorbell_mode doorbell;
  int damaged;  ///< byte of the first WQE; -1: none
};

/// A SEND of 64 bytes; its outcome.
cqe_syndrome sends_signed(peer_bench& b, const signature_case& what) {
  b.acknowledges_everything();
  b.run([&what](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.wq_signature = what.is_signed;
    wanted.qp.doorbell = what.doorbell;
    co_await bench.connect(core, wanted);
    bench.put(0, pattern(128));
    std::unique_ptr<damage> harm;
    if (what.damaged >= 0) {
      harm = std::make_unique<damage>(bench, bench.qp->send_buffer(), 64,
                                      static_cast<std::uint64_t>(what.damaged));
    }
    co_await bench.post(core, bench.request(wqe_opcode::Send, 64));
    co_await bench.send_completions(core);
  });
  return b.sends[0].syndrome;
}

class signed_send : public testing::TestWithParam<doorbell_mode> {};

// mlx5, wq_signature: all bytes of the WQE, its signature among them, XOR to ff.
TEST_P(signed_send, is_sent_if_its_signature_is_right) {
  peer_bench b;
  EXPECT_EQ(sends_signed(b, {true, GetParam(), -1}), cqe_syndrome::None);
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].payload(), pattern(64));
}

// Bytes that nothing else looks at: the signature, reserved bytes, the low byte of the address.
TEST_P(signed_send, is_a_local_operation_error_if_a_byte_has_changed) {
  peer_bench b;
  EXPECT_EQ(sends_signed(b, {true, GetParam(), 0x0a}), cqe_syndrome::LocalQpOperation);
  EXPECT_TRUE(b.packets.empty());
}

TEST_P(signed_send, is_a_local_operation_error_if_its_signature_has_changed) {
  peer_bench b;
  EXPECT_EQ(sends_signed(b, {true, GetParam(), 0x08}), cqe_syndrome::LocalQpOperation);
  EXPECT_TRUE(b.packets.empty());
}

TEST_P(signed_send, is_a_local_operation_error_if_its_last_byte_has_changed) {
  peer_bench b;
  EXPECT_EQ(sends_signed(b, {true, GetParam(), 0x1f}), cqe_syndrome::LocalQpOperation);
  EXPECT_TRUE(b.packets.empty());
}

// The signature covers the ds units of the WQE, not what follows them in its last WQEBB.
TEST_P(signed_send, does_not_cover_what_is_behind_it) {
  peer_bench b;
  std::unique_ptr<damage> harm;
  b.acknowledges_everything();
  b.run([this](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.wq_signature = true;
    wanted.qp.doorbell = GetParam();
    co_await bench.connect(core, wanted);
    const std::uint8_t other = 0x99;
    bench.host.memory.write(bench.qp->send_buffer() + 0x20, &other, 1);
    co_await bench.post(core, bench.request(wqe_opcode::Send, 64));
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(syndromes(b.sends), (outcomes{cqe_syndrome::None}));
}

// Without wq_signature nobody looks: the changed address is where the data comes from.
TEST_P(signed_send, is_not_looked_at_without_signatures) {
  peer_bench b;
  EXPECT_EQ(sends_signed(b, {false, GetParam(), 0x1f}), cqe_syndrome::None);
  const bytes_t all = pattern(128);
  EXPECT_EQ(b.packets.at(0).payload(), bytes_t(all.begin() + 16, all.begin() + 80));
}

INSTANTIATE_TEST_SUITE_P(by, signed_send,
                         testing::Values(doorbell_mode::automatic, doorbell_mode::doorbell_only),
                         [](const auto& each) {
                           return each.param == doorbell_mode::automatic ? "blueflame" : "doorbell";
                         });

/// A SEND of the peer's to a queue whose first receive WQE is changed at that byte.
void receives_signed(peer_bench& b, bool is_signed, int damaged) {
  b.run([is_signed, damaged](peer_bench& bench, cpu& core) -> task<> {
    peer_bench::options wanted = plain();
    wanted.qp.wq_signature = is_signed;
    co_await bench.connect(core, wanted);
    bench.put(0x8000, bytes_t(128, Untouched));
    std::unique_ptr<damage> harm;
    if (damaged >= 0) {
      harm = std::make_unique<damage>(bench, bench.qp->receive_buffer(), 32,
                                      static_cast<std::uint64_t>(damaged));
    }
    co_await bench.post_receive(core, 64);
    bench.send(bench.packet(bth_opcode::RcSendOnly, PeerPsn), pattern(64));
    co_await bench.receive_completions(core);
    co_await bench.wait_ns(core, 2000);
  });
}

// mlx5: a signed receive WQE begins with a segment whose fifth byte signs the whole stride.
TEST(key_life_rules, a_signed_receive_is_used_if_its_signature_is_right) {
  peer_bench b;
  receives_signed(b, true, -1);
  EXPECT_EQ(syndromes(b.receives), (outcomes{cqe_syndrome::None}));
  EXPECT_EQ(b.get(0x8000, 64), pattern(64));
}

class damaged_receive : public testing::TestWithParam<int> {};

// RoCE rules: a receive WQE that cannot be used is a NAK 0x63.
TEST_P(damaged_receive, is_a_local_operation_error) {
  peer_bench b;
  receives_signed(b, true, GetParam());
  EXPECT_EQ(syndromes(b.receives), (outcomes{cqe_syndrome::LocalQpOperation}));
  EXPECT_EQ(answers(b), (syndrome_list{0x63}));
  EXPECT_EQ(b.get(0x8000, 128), bytes_t(128, Untouched));
}

// Its first byte, the signature, another of its segment, the low byte of the address.
INSTANTIATE_TEST_SUITE_P(byte, damaged_receive, testing::Values(0, 4, 15, 31));

TEST(key_life_rules, a_receive_is_not_looked_at_without_signatures) {
  peer_bench b;
  receives_signed(b, false, 15);
  EXPECT_EQ(syndromes(b.receives), (outcomes{cqe_syndrome::None}));
  EXPECT_EQ(b.get(0x8010, 64), pattern(64));
}

}  // namespace
}  // namespace carillon
