// Memory keys with page lists: one range of virtual addresses over pages that lie anywhere, from
// both sides. mlx5: the entries of the list begin with the page that holds start_addr; an entry's
// low bits allow reading (bit 0) and writing (bit 1).
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
using bench::seen_packet;

constexpr std::uint32_t Mtu = 1024;
constexpr std::uint8_t Untouched = 0x77;
/// A virtual address that is no physical one, on a page.
constexpr std::uint64_t Virtual = 0x7f0000000000;

peer_bench::options plain() {
  peer_bench::options wanted;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.connection.remote_atomic = true;
  return wanted;
}

constexpr memory_access_rights AllRights{true, true, true, true, true};

/// A region of scattered pages. Its pages are filled from their first to their last byte.
struct paged_region {
  page_list pages;
  memory_region region;

  [[nodiscard]] bytes_t get(const peer_bench& b, std::uint64_t address, std::size_t length) const {
    bytes_t bytes(length);
    pages.read(b.host.memory, address, bytes.data(), length);
    return bytes;
  }

  void put(peer_bench& b, std::uint64_t address, const bytes_t& bytes) const {
    pages.write(b.host.memory, address, bytes.data(), bytes.size());
  }
};

task<paged_region> scatter(peer_bench& b, cpu& core, std::uint64_t start, std::uint64_t length,
                           unsigned log_page) {
  paged_region result;
  result.pages = page_list::scattered(b.host, start, length, log_page);
  for (const std::uint64_t page : result.pages.pages) {
    b.host.memory.fill(page, Untouched, std::size_t{1} << log_page);
  }
  result.region =
      co_await b.driver.register_pages(core, b.pd, result.pages, length, AllRights, 0x33);
  co_return result;
}

/// The parts of a message that packets carry.
std::vector<bytes_t> packets_of(const bytes_t& data) {
  std::vector<bytes_t> parts;
  for (std::size_t at = 0; at < data.size() || at == 0; at += Mtu) {
    const auto from = data.begin() + static_cast<std::ptrdiff_t>(at);
    parts.emplace_back(
        from, from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(Mtu, data.size() - at)));
  }
  return parts;
}

/// The four places of a packet in its message, as opcodes: only, first, middle, last.
using opcode_family = std::array<bth_opcode, 4>;

constexpr opcode_family Sends = {bth_opcode::RcSendOnly, bth_opcode::RcSendFirst,
                                 bth_opcode::RcSendMiddle, bth_opcode::RcSendLast};
constexpr opcode_family Writes = {bth_opcode::RcWriteOnly, bth_opcode::RcWriteFirst,
                                  bth_opcode::RcWriteMiddle, bth_opcode::RcWriteLast};
constexpr opcode_family Responses = {
    bth_opcode::RcReadResponseOnly, bth_opcode::RcReadResponseFirst,
    bth_opcode::RcReadResponseMiddle, bth_opcode::RcReadResponseLast};

/// Sends a message of the peer's, `like` its first packet.
void send_message(peer_bench& b, packet_description like, const opcode_family& opcodes,
                  const bytes_t& data) {
  const std::vector<bytes_t> parts = packets_of(data);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    like.opcode = opcodes[parts.size() == 1 ? 0 : i == 0 ? 1 : last ? 3 : 2];
    b.send(like, parts[i]);
    like.psn = (like.psn + 1) & 0xffffff;
  }
}

packet_description request_at(const peer_bench& b, bth_opcode opcode, std::uint32_t psn,
                              const paged_region& where, std::uint64_t address,
                              std::uint32_t length) {
  packet_description what = b.packet(opcode, psn);
  what.remote.va = what.atomic.va = address;
  what.remote.rkey = what.atomic.rkey = where.region.key;
  what.remote.dma_length = length;
  what.atomic.swap_add = 1;
  return what;
}

bytes_t carried(const peer_bench& b) {
  bytes_t all;
  for (const seen_packet& each : b.packets) {
    const bytes_t part = each.payload();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Ranges across pages -----------------------------------------------------------------------------

struct range_row {
  const char* name;
  std::uint64_t into;  ///< of the first byte in its page, which is not the region's first
  std::uint32_t length;
  unsigned log_page = 12;
};

void PrintTo(const range_row& row, std::ostream* out) {
  *out << row.name;
}

class paged : public testing::TestWithParam<range_row> {
 protected:
  using use = std::function<task<>(peer_bench&, cpu&, const paged_region&, std::uint64_t)>;

  /// Runs `what` with a region that begins 16 bytes before the end of a page and ends 16 bytes
  /// behind the range; then nothing but the range may have changed, and that to `expected`.
  void run(peer_bench& b, const use& what, const bytes_t& expected) {
    const range_row row = GetParam();
    paged_region where;
    const std::uint64_t page = std::uint64_t{1} << row.log_page;
    const std::uint64_t start = Virtual + page - 16;
    const std::uint64_t at = Virtual + page + row.into;
    const std::uint64_t length = at + row.length + 16 - start;
    b.run([&](peer_bench& bench, cpu& core) -> task<> {
      const peer_bench::options wanted = plain();
      co_await bench.connect(core, wanted);
      where = co_await scatter(bench, core, start, length, row.log_page);
      co_await what(bench, core, where, at);
    });
    const std::size_t before = at - start;
    EXPECT_EQ(where.get(b, start, before), bytes_t(before, Untouched));
    EXPECT_EQ(where.get(b, at, row.length), expected);
    EXPECT_EQ(where.get(b, at + row.length, 16), bytes_t(16, Untouched));
    for (const completion& each : b.sends) {
      EXPECT_EQ(each.syndrome, cqe_syndrome::None);
    }
    for (const completion& each : b.receives) {
      EXPECT_EQ(each.syndrome, cqe_syndrome::None);
    }
  }
};

TEST_P(paged, a_send_gathers_from_scattered_pages) {
  const std::uint32_t length = GetParam().length;
  peer_bench b;
  b.acknowledges_everything();
  run(
      b,
      [length](peer_bench& bench, cpu& core, const paged_region& where,
               std::uint64_t at) -> task<> {
        where.put(bench, at, pattern(length));
        work_request request = bench.request(wqe_opcode::Send, 0);
        request.add({at, length, where.region.key});
        co_await bench.post(core, request);
        co_await bench.send_completions(core);
      },
      pattern(length));
  EXPECT_EQ(carried(b), pattern(length));
}

TEST_P(paged, a_receive_lands_in_scattered_pages) {
  const std::uint32_t length = GetParam().length;
  peer_bench b;
  run(
      b,
      [length](peer_bench& bench, cpu& core, const paged_region& where,
               std::uint64_t at) -> task<> {
        receive_request request;
        request.add({at, length, where.region.key});
        EXPECT_TRUE(co_await bench.qp->post_receive(core, request));
        send_message(bench, bench.packet(bth_opcode::RcSendOnly, PeerPsn), Sends, pattern(length));
        co_await bench.receive_completions(core);
        EXPECT_EQ(bench.receives[0].bytes, length);
      },
      pattern(length));
}

TEST_P(paged, a_remote_write_lands_in_scattered_pages) {
  const std::uint32_t length = GetParam().length;
  peer_bench b;
  run(
      b,
      [length](peer_bench& bench, cpu& core, const paged_region& where,
               std::uint64_t at) -> task<> {
        send_message(bench, request_at(bench, bth_opcode::RcWriteOnly, PeerPsn, where, at, length),
                     Writes, pattern(length));
        co_await bench.wait_ns(core, 20000);
      },
      pattern(length));
  ASSERT_FALSE(b.packets.empty());
  EXPECT_EQ(b.packets.back().syndrome(), 0x1f);
}

TEST_P(paged, a_remote_read_gathers_from_scattered_pages) {
  const std::uint32_t length = GetParam().length;
  peer_bench b;
  run(
      b,
      [length](peer_bench& bench, cpu& core, const paged_region& where,
               std::uint64_t at) -> task<> {
        where.put(bench, at, pattern(length));
        bench.send(request_at(bench, bth_opcode::RcReadRequest, PeerPsn, where, at, length));
        co_await bench.wait_ns(core, 20000);
      },
      pattern(length));
  EXPECT_EQ(carried(b), pattern(length));
  EXPECT_EQ(b.packets.size(), (length + Mtu - 1) / Mtu);
}

TEST_P(paged, the_answer_to_a_read_lands_in_scattered_pages) {
  const std::uint32_t length = GetParam().length;
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    send_message(b, b.acknowledge(got.psn()), Responses, pattern(got.parsed.remote.dma_length));
  };
  run(
      b,
      [length](peer_bench& bench, cpu& core, const paged_region& where,
               std::uint64_t at) -> task<> {
        work_request request = bench.request(wqe_opcode::RdmaRead, 0);
        request.add({at, length, where.region.key});
        co_await bench.post(core, request);
        co_await bench.send_completions(core);
      },
      pattern(length));
}

// 20 pages are three lines of translation; entry 7 and 8 are in different ones.
INSTANTIATE_TEST_SUITE_P(range, paged,
                         testing::Values(range_row{"one_whole_page", 0, 4096},
                                         range_row{"a_page_and_a_byte", 0, 4097},
                                         range_row{"the_bytes_around_a_page_end", 4095, 2},
                                         range_row{"the_last_byte_of_a_page", 4095, 1},
                                         range_row{"packets_that_cross_page_ends", 0xff1, 9000},
                                         range_row{"twenty_pages", 100, 20 * 4096},
                                         range_row{"pages_of_64_kilobytes", 65000, 2000, 16}),
                         [](const auto& each) { return std::string(each.param.name); });

// Atomics -----------------------------------------------------------------------------------------

class paged_atomic : public testing::TestWithParam<std::uint64_t> {};

// RoCE rules: the word is 8 bytes at an address that 8 divides, so it lies in one page.
TEST_P(paged_atomic, finds_its_word_at_either_side_of_a_page_end) {
  const std::uint64_t at = Virtual + GetParam();
  peer_bench b;
  paged_region where;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    where = co_await scatter(bench, core, Virtual, 3 * 4096, 12);
    where.put(bench, at, {0xff, 1, 2, 3, 4, 5, 6, 7});
    bench.send(request_at(bench, bth_opcode::RcFetchAdd, PeerPsn, where, at, 8));
    co_await bench.wait_ns(core, 8000);
  });
  ASSERT_EQ(b.packets.size(), 1U);
  EXPECT_EQ(b.packets[0].opcode(), bth_opcode::RcAtomicAcknowledge);
  EXPECT_EQ(b.packets[0].parsed.atomic_result.original, 0x07060504030201ffU);
  EXPECT_EQ(where.get(b, at, 8), (bytes_t{0, 2, 2, 3, 4, 5, 6, 7}));
}

INSTANTIATE_TEST_SUITE_P(at, paged_atomic, testing::Values(0U, 4088U, 4096U, 8184U, 12280U));

// The 8 bytes of a result may lie anywhere, also in two pages.
TEST(key_page_rules, the_result_of_an_atomic_may_lie_across_a_page_end) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    packet_description out = b.acknowledge(got.psn());
    out.opcode = bth_opcode::RcAtomicAcknowledge;
    out.atomic_result.original = 0x0807060504030201;
    b.send(out);
  };
  paged_region where;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    where = co_await scatter(bench, core, Virtual, 2 * 4096, 12);
    work_request request = bench.request(wqe_opcode::AtomicFetchAdd, 0);
    request.add({Virtual + 4093, 8, where.region.key});
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::None);
  EXPECT_EQ(where.get(b, Virtual + 4092, 10),
            (bytes_t{Untouched, 1, 2, 3, 4, 5, 6, 7, 8, Untouched}));
}

// Ends of the region ------------------------------------------------------------------------------

struct end_row {
  const char* name;
  std::int64_t shift;  ///< of the request's first byte from the region's
  std::uint32_t length;
  bool inside;
};

void PrintTo(const end_row& row, std::ostream* out) {
  *out << row.name;
}

class paged_end : public testing::TestWithParam<end_row> {
 protected:
  static constexpr std::uint64_t Start = Virtual + 1000;
  static constexpr std::uint64_t Length = 5000;
};

// The range counts to the byte, though the pages of the list go further at both ends.
TEST_P(paged_end, bounds_what_the_peer_may_write) {
  const end_row row = GetParam();
  const std::uint64_t at = Start + static_cast<std::uint64_t>(row.shift);
  peer_bench b;
  paged_region where;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    where = co_await scatter(bench, core, Start, Length, 12);
    send_message(bench, request_at(bench, bth_opcode::RcWriteOnly, PeerPsn, where, at, row.length),
                 Writes, pattern(row.length));
    co_await bench.wait_ns(core, 10000);
  });
  ASSERT_FALSE(b.packets.empty());
  EXPECT_EQ(b.packets.back().syndrome(), row.inside ? 0x1f : 0x62);
  if (row.inside) {
    EXPECT_EQ(where.get(b, at, row.length), pattern(row.length));
  } else {
    EXPECT_EQ(where.get(b, Start, Length), bytes_t(Length, Untouched));
  }
}

TEST_P(paged_end, bounds_what_a_work_request_may_send) {
  const end_row row = GetParam();
  const std::uint64_t at = Start + static_cast<std::uint64_t>(row.shift);
  peer_bench b;
  b.acknowledges_everything();
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const paged_region where = co_await scatter(bench, core, Start, Length, 12);
    work_request request = bench.request(wqe_opcode::Send, 0);
    request.add({at, row.length, where.region.key});
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, row.inside ? cqe_syndrome::None : cqe_syndrome::LocalProtection);
  EXPECT_EQ(carried(b), bytes_t(row.inside ? row.length : 0, Untouched));
}

INSTANTIATE_TEST_SUITE_P(range, paged_end,
                         testing::Values(end_row{"all_of_it", 0, 5000, true},
                                         end_row{"a_byte_before", -1, 8, false},
                                         end_row{"a_byte_behind", 4993, 8, false},
                                         end_row{"the_last_byte", 4999, 1, true},
                                         end_row{"one_byte_too_many", 0, 5001, false},
                                         end_row{"the_byte_behind", 5000, 1, false}),
                         [](const auto& each) { return std::string(each.param.name); });

// One gather list may name keys of every kind.
TEST(key_page_rules, a_gather_list_mixes_page_lists_and_contiguous_regions) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    const paged_region one = co_await scatter(bench, core, Virtual, 8192, 12);
    const paged_region two = co_await scatter(bench, core, Virtual + 0x100000, 8192, 12);
    one.put(bench, Virtual + 4000, pattern(200, 1));
    bench.put(0, pattern(50, 2));
    two.put(bench, Virtual + 0x100000 + 4090, pattern(1500, 3));
    work_request request = bench.request(wqe_opcode::Send, 0);
    request.add({Virtual + 4000, 200, one.region.key});
    request.add({bench.buffer.address, 50, bench.buffer.key});
    request.add({Virtual + 0x100000 + 4090, 1500, two.region.key});
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  bytes_t expected = pattern(200, 1);
  for (const bytes_t& part : {pattern(50, 2), pattern(1500, 3)}) {
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(carried(b), expected);
}

// A list that is gone leaves nothing to the one that takes its place in the table.
TEST(key_page_rules, a_new_page_list_replaces_a_destroyed_one) {
  peer_bench b;
  paged_region old;
  paged_region fresh;
  b.run([&](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    old = co_await scatter(bench, core, Virtual, 9 * 4096, 12);
    send_message(bench, request_at(bench, bth_opcode::RcWriteOnly, PeerPsn, old, Virtual, 5000),
                 Writes, pattern(5000, 1));
    co_await bench.wait_ns(core, 10000);
    co_await bench.driver.deregister_memory(core, old.region);
    fresh = co_await scatter(bench, core, Virtual, 9 * 4096, 12);
    send_message(bench,
                 request_at(bench, bth_opcode::RcWriteOnly, PeerPsn + 5, fresh, Virtual, 5000),
                 Writes, pattern(5000, 2));
    co_await bench.wait_ns(core, 10000);
  });
  EXPECT_EQ(old.region.key, fresh.region.key) << "the same place in the table";
  EXPECT_EQ(old.get(b, Virtual, 5000), pattern(5000, 1));
  EXPECT_EQ(fresh.get(b, Virtual, 5000), pattern(5000, 2));
}

// Access bits of pages ----------------------------------------------------------------------------

/// Two pages in the buffer; the second one with `bits`.
task<std::uint32_t> two_pages(peer_bench& b, cpu& core, std::uint64_t bits) {
  create_mkey_in request;
  request.opcode = command_opcode::CreateMkey;
  request.translations_octword_actual_size = 1;
  mkc& key = request.memory_key_mkey_entry;
  key.lr = key.lw = key.rr = key.rw = key.a = 1;
  key.access_mode_1_0 = mkey_access_mode::Mtt;
  key.qpn = MkeyAnyQp;
  key.pd = b.pd;
  key.start_addr = Virtual;
  key.len = 8192;
  key.log_page_size = 12;
  key.translations_octword_size = 1;
  std::array<std::uint8_t, create_mkey_in::Size + 16> input{};
  request.pack(input.data());
  std::uint8_t* const entries = input.data() + create_mkey_in::Size;
  bytes::store_be<8>(entries, (b.buffer.address + 0x2000) | 3);
  bytes::store_be<8>(entries + 8, (b.buffer.address + 0x4000) | bits);
  const command_reply reply = co_await b.driver.command(core, input);
  co_return make_key(reply.number, 0);
}

/// The peer's request for 64 bytes at the second page, whose entry has `bits`; the answer's
/// syndrome.
std::uint8_t asks_for_page(peer_bench& b, std::uint64_t bits, bth_opcode opcode) {
  b.run([bits, opcode](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0x4000, bytes_t(64, Untouched));
    paged_region where;
    where.region.key = co_await two_pages(bench, core, bits);
    bench.send(request_at(bench, opcode, PeerPsn, where, Virtual + 4096, 64),
               opcode == bth_opcode::RcWriteOnly ? pattern(64) : bytes_t{});
    co_await bench.wait_ns(core, 10000);
  });
  return b.packets.size() == 1 ? b.packets[0].syndrome() : 0xff;
}

TEST(key_page_rules, a_page_that_allows_no_writing_refuses_the_peer) {
  peer_bench b;
  EXPECT_EQ(asks_for_page(b, 1, bth_opcode::RcWriteOnly), 0x62);
  EXPECT_EQ(b.get(0x4000, 64), bytes_t(64, Untouched));
}

TEST(key_page_rules, a_page_that_allows_writing_only_may_be_written) {
  peer_bench b;
  EXPECT_EQ(asks_for_page(b, 2, bth_opcode::RcWriteOnly), 0x1f);
  EXPECT_EQ(b.get(0x4000, 64), pattern(64));
}

TEST(key_page_rules, a_page_that_allows_reading_only_may_be_read) {
  peer_bench b;
  EXPECT_EQ(asks_for_page(b, 1, bth_opcode::RcReadRequest), 0x1f);
  EXPECT_EQ(carried(b), bytes_t(64, Untouched));
}

// RoCE rules: a failing translation of the responder's own resources is a NAK 0x63.
TEST(key_page_rules, a_page_that_allows_no_reading_is_an_operational_error) {
  peer_bench b;
  EXPECT_EQ(asks_for_page(b, 2, bth_opcode::RcReadRequest), 0x63);
  EXPECT_EQ(b.packets[0].opcode(), bth_opcode::RcAcknowledge);
}

TEST(key_page_rules, a_page_that_allows_no_reading_cannot_be_sent) {
  peer_bench b;
  b.acknowledges_everything();
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    work_request request = bench.request(wqe_opcode::Send, 0);
    const std::uint32_t key = co_await two_pages(bench, core, 2);
    request.add({Virtual + 4000, 200, key});
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::LocalProtection);
  EXPECT_TRUE(b.packets.empty());
}

// What a READ brings may not go to a page that cannot be written.
TEST(key_page_rules, a_page_that_allows_no_writing_takes_no_answer) {
  peer_bench b;
  b.answer = [&b](const seen_packet& got) {
    send_message(b, b.acknowledge(got.psn()), Responses, pattern(200));
  };
  b.run([](peer_bench& bench, cpu& core) -> task<> {
    const peer_bench::options wanted = plain();
    co_await bench.connect(core, wanted);
    bench.put(0x4000, bytes_t(104, Untouched));
    work_request request = bench.request(wqe_opcode::RdmaRead, 0);
    const std::uint32_t key = co_await two_pages(bench, core, 1);
    request.add({Virtual + 4000, 200, key});
    co_await bench.post(core, request);
    co_await bench.send_completions(core);
  });
  EXPECT_EQ(b.sends[0].syndrome, cqe_syndrome::LocalProtection);
  EXPECT_EQ(b.get(0x4000, 104), bytes_t(104, Untouched));
}

}  // namespace
}  // namespace carillon
