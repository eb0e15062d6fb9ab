// payload_dma: the right bytes from the right places, whole packets only, in the order of the
// grants.
#include "payload_dma.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "common/random.h"
#include "common/stage_bench.h"

namespace carillon {
namespace {

using bench::chain_of;
using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

struct entry {
  std::uint64_t address;
  std::uint32_t bytes;
};

/// The mlx5 data segments of a gather list: byte count, key, address, big-endian.
void put_segments(std::uint8_t* to, const std::vector<entry>& entries) {
  for (const entry& each : entries) {
    for (int i = 0; i < 4; ++i) {
      *to++ = static_cast<std::uint8_t>(each.bytes >> (24 - 8 * i));
    }
    for (int i = 0; i < 4; ++i) {
      *to++ = 0x55;
    }
    for (int i = 0; i < 8; ++i) {
      *to++ = static_cast<std::uint8_t>(each.address >> (56 - 8 * i));
    }
  }
}

/// Pieces as address and length; each came with its segment's key.
using pieces = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

pieces cut(const std::vector<entry>& entries, std::uint32_t offset, std::uint32_t length) {
  std::vector<std::uint8_t> segments(entries.size() * 16);
  put_segments(segments.data(), entries);
  std::vector<gather_piece> found;
  cut_gather_list(segments.data(), static_cast<unsigned>(entries.size()), offset, length, found);
  pieces result;
  for (const gather_piece& each : found) {
    EXPECT_EQ(each.key, 0x55555555U);
    result.emplace_back(each.address, each.length);
  }
  return result;
}

TEST(payload_dma_core, cuts_at_any_offset_inside_one_entry) {
  EXPECT_EQ(cut({{0x1000, 10000}}, 0, 4096), (pieces{{0x1000, 4096}}));
  EXPECT_EQ(cut({{0x1000, 10000}}, 4096, 4096), (pieces{{0x2000, 4096}}));
  EXPECT_EQ(cut({{0x1000, 10000}}, 8192, 1808), (pieces{{0x3000, 1808}}));
}

TEST(payload_dma_core, a_packet_straddles_entries) {
  const std::vector<entry> list = {{0x1000, 1000}, {0x9003, 50}, {0x5000, 4000}};
  EXPECT_EQ(cut(list, 0, 1024), (pieces{{0x1000, 1000}, {0x9003, 24}}));
  EXPECT_EQ(cut(list, 1024, 1024), (pieces{{0x901b, 26}, {0x5000, 998}}));
  EXPECT_EQ(cut(list, 2048, 1024), (pieces{{0x53e6, 1024}}));
}

TEST(payload_dma_core, a_packet_that_ends_with_an_entry_takes_nothing_of_the_next) {
  const std::vector<entry> list = {{0x1000, 1024}, {0x8000, 1024}};
  EXPECT_EQ(cut(list, 0, 1024), (pieces{{0x1000, 1024}}));
  EXPECT_EQ(cut(list, 1024, 1024), (pieces{{0x8000, 1024}}));
}

TEST(payload_dma_core, entries_of_length_zero_have_no_piece) {
  const std::vector<entry> list = {
      {0x1000, 0}, {0x2000, 100}, {0x3000, 0}, {0x4000, 100}, {0x5000, 0}};
  EXPECT_EQ(cut(list, 0, 200), (pieces{{0x2000, 100}, {0x4000, 100}}));
  EXPECT_EQ(cut(list, 100, 100), (pieces{{0x4000, 100}}));
}

TEST(payload_dma_core, thirty_entries_of_one_byte) {
  std::vector<entry> list;
  pieces expected;
  for (std::uint64_t i = 0; i < 30; ++i) {
    list.push_back({0x10000 * (i + 1) + i, 1});
    expected.push_back({0x10000 * (i + 1) + i, 1});
  }
  EXPECT_EQ(cut(list, 0, 30), expected);
}

TEST(payload_dma_core, offsets_beyond_four_gigabytes_of_address_are_kept) {
  EXPECT_EQ(cut({{0xfffffff0ULL, 0x7fffffff}}, 0x7ffffff0, 15), (pieces{{0x17fffffe0ULL, 15}}));
}

/// What host memory holds at an address.
std::uint8_t byte_at(std::uint64_t address) {
  return static_cast<std::uint8_t>((address * 167) ^ (address >> 8) ^ (address >> 17));
}

/// Answers every read after its own delay, in the order of the answers, one a cycle.
class answering_memory : public stage {
 public:
  struct seen {
    cycle_t visible;
    dma_read read;
  };

  using delay_of = std::function<cycle_t(std::size_t nth, const dma_read& read)>;
  using status_of = std::function<dma_status(std::size_t nth)>;

  answering_memory(stage_bench& bench, stream<dma_read>& requests, stream<dma_read_done>& done)
      : stage("memory", bench.context, "dma_engine"), reads_(requests), done_(done) {
    reads_.to(*this, site());
    done_.from(*this, site());
    watch(reads_, {});
  }

  delay_of delay = [](std::size_t, const dma_read&) { return cycle_t{100}; };
  status_of status = [](std::size_t) { return dma_status::ok; };
  std::vector<seen> reads;

 private:
  struct answer {
    cycle_t due;
    dma_read_done done;
  };

  void evaluate(cycle_t t) override {
    if (reads_.takeable(t)) {
      const cycle_t visible = reads_.front_visible();
      dma_read read = reads_.take(t);
      for (std::uint32_t i = 0; i < read.length; ++i) {
        read.into.data()[read.into_offset + i] = byte_at(read.address + i);
      }
      const std::size_t nth = reads.size();
      dma_read_done done{read.trace, read.cookie, status(nth)};
      pending_.push_back({t + delay(nth, read) - 1, done});
      read.into.reset();
      reads.push_back({visible, std::move(read)});
    }
    auto next = pending_.end();
    for (auto each = pending_.begin(); each != pending_.end(); ++each) {
      if (next == pending_.end() || each->due < next->due) {
        next = each;
      }
    }
    if (next != pending_.end() && next->due <= t) {
      dma_read_done done = next->done;
      done.trace =
          context_.trace.flight(done.trace, site(), context_.trace.end_of(done.trace), time_of(t));
      done_.push(t, 1, done);
      pending_.erase(next);
      wake(t + 1);
    } else if (next != pending_.end()) {
      wake(next->due);
    }
  }

  stream<dma_read>& reads_;
  stream<dma_read_done>& done_;
  std::vector<answer> pending_;
};

class payload_dma_bench : public testing::TestWithParam<int> {
 protected:
  payload_dma_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        ports{bench.port<packet_item>("packets"),
              bench.port<dma_read>("reads", 64),
              bench.port<dma_read_done>("done", stage_spec::payload_dma::Outstanding * MaxSge),
              bench.port<packet_item>("filled", stage_spec::payload_dma::Depth,
                                      stage_spec::payload_dma::MaxBeats),
              bench.port<payload_left>("left", 128),
              bench.port<context_read>("key_reads", 8),
              bench.port<context_line>("key_lines")},
        dut("payload_dma", bench.nic, ports),
        packets("packets", bench, ports.packets),
        memory(bench, ports.reads, ports.done),
        ram("qpc_ram", bench) {
    ram.serve(ports.key_reads, ports.key_lines);
  }

  void sinks(cycle_t filled_period = 1, cycle_t left_period = 1) {
    filled = std::make_unique<sink<packet_item>>("filled", bench, ports.filled, filled_period);
    left = std::make_unique<sink<payload_left>>("left", bench, ports.left, left_period);
  }

  packet_item packet(const std::vector<entry>& entries, std::uint32_t offset,
                     std::uint32_t length) {
    packet_item item;
    item.qpn = 5;
    item.function = 3;
    item.psn = next_psn++;
    item.order = item.psn;
    item.sge_count = static_cast<std::uint8_t>(entries.size());
    item.message_offset = offset;
    item.payload = length;
    item.body = bench.nic.buffers.take();
    put_segments(item.body.data(), entries);
    return item;
  }

  packet_item packet(std::uint64_t address, std::uint32_t length) {
    return packet({{address, length}}, 0, length);
  }

  static std::vector<std::uint8_t> payload_of(const packet_item& item) {
    const std::uint8_t* data = item.frame.data() + PayloadOffset;
    return {data, data + item.payload};
  }

  void finish() { bench.context.check_drained(); }

  stage_bench bench;
  payload_dma::ports ports;
  payload_dma dut;
  source<packet_item> packets;
  answering_memory memory;
  bench::context_lines ram;
  std::unique_ptr<sink<packet_item>> filled;
  std::unique_ptr<sink<payload_left>> left;
  std::uint32_t next_psn = 0;
};

TEST_P(payload_dma_bench, one_cycle_before_the_read_and_one_behind_it) {
  sinks();
  packets.at(10, packet(0x12345, 4096));  // visible in 11
  bench.run(300);
  ASSERT_EQ(memory.reads.size(), 1U);
  const dma_read& read = memory.reads[0].read;
  EXPECT_EQ(memory.reads[0].visible, 16U);  // 11 + 1 + the DMA engine's hop of 4
  EXPECT_EQ(read.address, 0x12345U);
  EXPECT_EQ(read.length, 4096U);
  EXPECT_EQ(read.into_offset, PayloadOffset);
  EXPECT_EQ(read.function, 3U);
  ASSERT_EQ(filled->items.size(), 1U);
  EXPECT_EQ(filled->items[0].visible, 117U);  // answered in 116
  ASSERT_EQ(left->items.size(), 1U);
  EXPECT_EQ(left->items[0].visible, 117U);
  EXPECT_EQ(left->items[0].item.qpn, 5U);
  EXPECT_EQ(bench.count(counter::PayloadReads), 1U);
  EXPECT_EQ(bench.count(counter::PayloadBytes), 4096U);
  // The life of the packet is whole and has no wait in it.
  const auto chain = chain_of(bench.context.trace, filled->items[0].item.trace);
  EXPECT_EQ(chain.front().begin, 10000U);
  EXPECT_EQ(chain.back().end, 117000U);
  for (const span& each : chain) {
    EXPECT_NE(each.kind, span_kind::wait);
  }
  finish();
}

TEST_P(payload_dma_bench, pieces_are_read_one_a_cycle_and_land_side_by_side) {
  sinks();
  const std::vector<entry> list = {{0x1000, 1000}, {0x7777, 0}, {0x9003, 50}, {0x5000, 4000}};
  packets.at(10, packet(list, 1024, 1024));
  packets.at(10, packet(list, 0, 1024));
  bench.run(300);
  ASSERT_EQ(memory.reads.size(), 4U);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(memory.reads[i].visible, 16U + i);
  }
  ASSERT_EQ(filled->items.size(), 2U);
  EXPECT_EQ(filled->items[0].visible, 118U);  // the second piece was answered in 117
  std::vector<std::uint8_t> expected;
  for (std::uint64_t i = 0; i < 26; ++i) {
    expected.push_back(byte_at(0x901b + i));
  }
  for (std::uint64_t i = 0; i < 998; ++i) {
    expected.push_back(byte_at(0x5000 + i));
  }
  EXPECT_EQ(payload_of(filled->items[0].item), expected);
  finish();
}

TEST_P(payload_dma_bench, nothing_leaves_before_its_last_byte) {
  sinks();
  memory.delay = [](std::size_t nth, const dma_read&) { return nth == 0 ? 900 : 20; };
  packets.at(10, packet({{0x1000, 100}, {0x2000, 100}, {0x3000, 100}}, 0, 300));
  bench.run(2000);
  ASSERT_EQ(filled->items.size(), 1U);
  EXPECT_EQ(filled->items[0].visible, 917U);  // asked in 16, answered in 916
  // The critical path is the read that was answered last: no wait on it.
  EXPECT_EQ(waited_for(bench.context.trace, filled->items[0].item.trace, "order"), 0U);
  finish();
}

TEST_P(payload_dma_bench, packets_leave_in_order_though_their_answers_do_not_come_in_order) {
  sinks();
  memory.delay = [](std::size_t nth, const dma_read&) { return nth == 0 ? 500 : 50; };
  for (std::uint64_t i = 0; i < 4; ++i) {
    packets.at(10, packet(0x10000 * (i + 1), 4096));
  }
  bench.run(2000);
  ASSERT_EQ(filled->items.size(), 4U);
  // All are there when the first is answered in 516; each occupies the port for 64 cycles.
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(filled->items[i].item.psn, i);
    EXPECT_EQ(filled->items[i].visible, 517U + 64 * i);
    EXPECT_EQ(payload_of(filled->items[i].item)[0], byte_at(0x10000 * (i + 1)));
    EXPECT_EQ(left->items[i].visible, 517U + 64 * i) << "inside until it is visible";
  }
  // The second was answered in 17 + 50 and then waited for the first, and for the port.
  EXPECT_EQ(waited_for(bench.context.trace, filled->items[1].item.trace, "order"),
            (516U - 67U + 64U) * 1000U);
  finish();
}

TEST_P(payload_dma_bench, at_most_outstanding_packets_are_being_fetched) {
  sinks();
  memory.delay = [](std::size_t nth, const dma_read&) { return nth < 64 ? 1000 : 10; };
  for (std::uint64_t i = 0; i < 70; ++i) {
    packets.at(10, packet(0x1000 * i, 64));
  }
  bench.run(900);
  EXPECT_EQ(memory.reads.size(), 64U);
  bench.run(2000);
  ASSERT_EQ(filled->items.size(), 70U);
  // The first is answered in 1016, which is when the next may be taken: its read is visible 5
  // later.
  EXPECT_EQ(memory.reads[64].visible, 1021U);
  // It had been visible behind the 16 places of its port.
  EXPECT_GT(waited_for(bench.context.trace, filled->items[64].item.trace, "packet_slots"), 900000U);
  finish();
}

TEST_P(payload_dma_bench, the_buffer_holds_16_of_the_largest_packets) {
  sinks(3000);
  for (std::uint64_t i = 0; i < 18; ++i) {
    packets.at(10, packet(0x1000 * i, 4096));
  }
  bench.run(2900);
  EXPECT_EQ(memory.reads.size(), 16U);
  bench.run(60000);
  ASSERT_EQ(filled->items.size(), 18U);
  // The first is taken in 3000; its 64 beats are free in 3064; 27 is when the 17th came.
  EXPECT_EQ(memory.reads[16].visible, 3069U);
  EXPECT_EQ(waited_for(bench.context.trace, filled->items[16].item.trace, "credit:filled"),
            (3064U - 27U) * 1000U);
  finish();
}

TEST_P(payload_dma_bench, the_buffer_holds_more_of_smaller_packets) {
  sinks(3000);
  for (std::uint64_t i = 0; i < 70; ++i) {
    packets.at(10, packet(0x1000 * i, 1024));
  }
  bench.run(2900);
  // 16 beats each of 1024; one more is accepted as long as the largest would fit: 61 * 16 = 976 >
  // 960.
  EXPECT_EQ(memory.reads.size(), 61U);
  bench.run(220000);
  EXPECT_EQ(filled->items.size(), 70U);
  finish();
}

TEST_P(payload_dma_bench, room_for_the_note_that_a_packet_left_is_held_from_the_start) {
  sinks(1, 700);
  for (std::uint64_t i = 0; i < 200; ++i) {
    packets.at(10, packet(0x1000 * i, 64));
  }
  bench.run(150000);
  ASSERT_EQ(filled->items.size(), 200U);
  EXPECT_EQ(left->items.size(), 200U);
  // 128 places; the first note is taken in 700.
  EXPECT_EQ(waited_for(bench.context.trace, filled->items[127].item.trace, "credit:left"), 0U);
  EXPECT_GT(waited_for(bench.context.trace, filled->items[128].item.trace, "credit:left"), 0U);
  finish();
}

TEST_P(payload_dma_bench, a_failed_read_poisons_its_packet_and_no_other) {
  sinks();
  memory.status = [](std::size_t nth) {
    return nth == 1   ? dma_status::unsupported_request
           : nth == 4 ? dma_status::poisoned
                      : dma_status::ok;
  };
  packets.at(10, packet({{0x1000, 10}, {0x2000, 10}, {0x3000, 10}}, 0, 30));  // reads 0 to 2
  packets.at(10, packet(0x5000, 100));                                        // read 3
  packets.at(10, packet(0x6000, 100));                                        // read 4
  packets.at(10, packet(0x7000, 100));                                        // read 5
  bench.run(300);
  ASSERT_EQ(filled->items.size(), 4U);
  EXPECT_TRUE(filled->items[0].item.poisoned);
  EXPECT_FALSE(filled->items[1].item.poisoned);
  EXPECT_TRUE(filled->items[2].item.poisoned);
  EXPECT_FALSE(filled->items[3].item.poisoned);
  ASSERT_EQ(left->items.size(), 4U) << "a poisoned packet has left too";
  EXPECT_EQ(left->items[0].item.status, dma_status::unsupported_request);
  EXPECT_EQ(left->items[1].item.status, dma_status::ok);
  EXPECT_EQ(left->items[2].item.status, dma_status::poisoned);
  finish();
}

TEST_P(payload_dma_bench, reads_wait_for_room_for_the_longest_gather_list) {
  sinks();
  std::vector<entry> thirty;
  for (std::uint64_t i = 0; i < 30; ++i) {
    thirty.push_back({0x1000 * i, 64});
  }
  for (unsigned i = 0; i < 4; ++i) {
    packets.at(10, packet(thirty, 0, 1920));
  }
  bench.run(500);
  ASSERT_EQ(memory.reads.size(), 120U);
  for (unsigned i = 0; i < 120; ++i) {
    EXPECT_EQ(memory.reads[i].visible, 16U + i) << "the read port never idles";
  }
  // Two lists fill 60 of 64 places; the third comes in 13 and is accepted when 30 are free: 26 have
  // been taken by 41.
  EXPECT_EQ(waited_for(bench.context.trace, filled->items.at(2).item.trace, "credit:reads"),
            (42U - 13U) * 1000U);
  finish();
}

TEST_P(payload_dma_bench, every_byte_arrives_under_random_lists_delays_and_back_pressure) {
  sinks(3);
  random_stream random(99, "payload_dma");
  memory.delay = [&random](std::size_t, const dma_read&) { return 2 + random.below(300); };
  std::vector<std::vector<std::uint8_t>> expected;
  for (unsigned message = 0; message < 60; ++message) {
    std::vector<entry> list;
    std::vector<std::uint8_t> bytes;
    const auto entries = 1 + random.below(30);
    for (std::uint64_t i = 0; i < entries; ++i) {
      const auto length = static_cast<std::uint32_t>(random.below(4) == 0 ? 0 : random.below(700));
      const std::uint64_t address = random.next() >> 20;
      list.push_back({address, length});
      for (std::uint32_t b = 0; b < length; ++b) {
        bytes.push_back(byte_at(address + b));
      }
    }
    const std::uint32_t mtu = 256U << random.below(5);
    for (std::uint32_t at = 0; at < bytes.size(); at += mtu) {
      const auto length =
          std::min<std::uint32_t>(mtu, static_cast<std::uint32_t>(bytes.size()) - at);
      packets.at(10 + message * 40, packet(list, at, length));
      expected.emplace_back(bytes.begin() + at, bytes.begin() + at + length);
    }
  }
  bench.run(100000);
  ASSERT_EQ(filled->items.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(filled->items[i].item.psn, i);
    EXPECT_EQ(payload_of(filled->items[i].item), expected[i]) << i;
  }
  EXPECT_EQ(left->items.size(), expected.size());
  finish();
}

// Page lists --------------------------------------------------------------------------------------

/// The key of put_segments(): 4 KiB pages, the region's page n at 0x10000 * (n + 1).
void give_pages(bench::context_lines& ram, bool readable = true) {
  mkey_line key;
  key.valid = 1;
  key.variant = 0x55;
  key.function_id = 3;
  key.qpn = MkeyAnyQp;
  key.lr = 1;
  key.start_addr = 0;
  key.len = 0x8000;
  key.log_page_size = 12;
  key.mtt_base = 40;  // line 5
  ram.set(context_kind::mkey, 0x555555, key);
  mtt_line pages;
  std::uint64_t* const entries[] = {&pages.entry0, &pages.entry1, &pages.entry2, &pages.entry3,
                                    &pages.entry4, &pages.entry5, &pages.entry6, &pages.entry7};
  for (std::uint64_t i = 0; i < 8; ++i) {
    *entries[i] = 0x10000 * (i + 1) | (readable ? MttReadEnable : MttWriteEnable);
  }
  ram.set(context_kind::mtt, 5, pages);
}

TEST_P(payload_dma_bench, a_page_list_is_walked_before_the_reads) {
  sinks();
  give_pages(ram);
  packet_item item = packet(0x1f00, 0x1000);  // 0x100 of page 1, 0xf00 of page 2
  item.paged = true;
  packets.at(10, std::move(item));
  bench.run(400);
  ASSERT_EQ(memory.reads.size(), 2U);
  // Taken in 11; the key's line is back in 16, the pages' in 21: five cycles each.
  EXPECT_EQ(memory.reads[0].visible, 26U);
  EXPECT_EQ(memory.reads[0].read.address, 0x20f00U);
  EXPECT_EQ(memory.reads[0].read.length, 0x100U);
  EXPECT_EQ(memory.reads[1].read.address, 0x30000U);
  EXPECT_EQ(memory.reads[1].read.length, 0xf00U);
  ASSERT_EQ(filled->items.size(), 1U);
  const std::vector<std::uint8_t> bytes = payload_of(filled->items[0].item);
  EXPECT_EQ(bytes[0], byte_at(0x20f00));
  EXPECT_EQ(bytes[0x100], byte_at(0x30000));
  EXPECT_TRUE(ram.all_asked_for(3)) << "the function of the packet";
  finish();
}

TEST_P(payload_dma_bench, a_packet_behind_one_that_is_translated_reads_meanwhile) {
  sinks();
  give_pages(ram);
  packet_item first = packet(0x100, 64);
  first.paged = true;
  packets.at(10, std::move(first));
  packets.at(10, packet(0x9000, 64));
  bench.run(400);
  ASSERT_EQ(memory.reads.size(), 2U);
  EXPECT_EQ(memory.reads[0].read.address, 0x9000U);
  EXPECT_EQ(memory.reads[1].read.address, 0x10100U);
  ASSERT_EQ(filled->items.size(), 2U);
  EXPECT_EQ(filled->items[0].item.psn, 0U) << "they leave in order";
  finish();
}

TEST_P(payload_dma_bench, a_page_that_may_not_be_read_poisons_the_packet) {
  sinks();
  give_pages(ram, false);
  packet_item item = packet(0x100, 64);
  item.paged = true;
  packets.at(10, std::move(item));
  bench.run(400);
  EXPECT_TRUE(memory.reads.empty());
  ASSERT_EQ(left->items.size(), 1U);
  EXPECT_EQ(left->items[0].item.status, dma_status::unsupported_request);
  EXPECT_TRUE(filled->items.at(0).item.poisoned);
  finish();
}

TEST_P(payload_dma_bench, the_data_of_a_read_response_is_at_its_remote_address) {
  sinks();
  packet_item item;
  item.qpn = 5;
  item.psn = 77;
  item.source = packet_source::read_response;
  item.remote_address = 0x40000;
  item.message_offset = 0x2000;
  item.payload = 512;
  item.rkey = 0x55555555;
  item.writes_before = 9;
  packets.at(10, std::move(item));
  bench.run(300);
  ASSERT_EQ(memory.reads.size(), 1U);
  EXPECT_EQ(memory.reads[0].visible, 16U);
  EXPECT_EQ(memory.reads[0].read.address, 0x42000U);
  EXPECT_EQ(memory.reads[0].read.length, 512U);
  EXPECT_EQ(memory.reads[0].read.writes_before, 9U);
  ASSERT_EQ(left->items.size(), 1U);
  EXPECT_TRUE(left->items[0].item.response);
  EXPECT_EQ(left->items[0].item.psn, 77U);
  finish();
}

TEST_P(payload_dma_bench, the_segments_of_a_datagram_stand_behind_its_address) {
  sinks();
  packet_item item = packet(0x1000, 100);
  item.body = bench.nic.buffers.take();
  put_segments(item.body.data() + DatagramBytes, {{0x2000, 100}});
  item.data_offset = DatagramBytes;
  packets.at(10, std::move(item));
  bench.run(300);
  ASSERT_EQ(memory.reads.size(), 1U);
  EXPECT_EQ(memory.reads[0].read.address, 0x2000U);
  finish();
}

INSTANTIATE_TEST_SUITE_P(shuffle, payload_dma_bench, testing::Values(0, 77));

}  // namespace
}  // namespace carillon
