// uar_core: what a UAR page makes of the stores it sees, in every order in which they may come.
#include "uar/uar_core.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

#include "common/random.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

using testing::Test;

constexpr std::uint32_t Bf = uar_page::BfBuffer;
constexpr cycle_t Timeout = 1000;
constexpr unsigned Slots = 4;
constexpr uar_page_id Page{1, 2};
constexpr uar_page_id OtherPage{1, 3};

using wqe_bytes = std::array<std::uint8_t, uar_page::BfBufferBytes>;

/// A WQE of `ds` 16-byte units; every byte behind the first eight tells which WQE it belongs to.
wqe_bytes wqe(std::uint16_t index, std::uint8_t ds, std::uint8_t mark = 0) {
  wqe_bytes bytes{};
  for (std::size_t i = 16; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(mark != 0 ? mark : index * 31 + i);
  }
  ctrl_seg control;
  control.wqe_index = index;
  control.qpn = 0x123;
  control.ds = ds;
  control.opcode = wqe_opcode::RdmaWrite;
  control.pack(bytes.data());
  return bytes;
}

struct chunk {
  std::uint32_t offset;
  std::uint16_t length;
};

class uar_core_test : public Test {
 protected:
  void store(uar_page_id page, std::uint32_t offset, std::uint16_t length,
             const std::uint8_t* data) {
    core.write(now, page, offset, data, length, {}, events);
  }

  void put(const wqe_bytes& from, chunk what, uar_page_id page = Page) {
    store(page, Bf + what.offset, what.length, from.data() + what.offset);
  }

  void doorbell(uar_page_id page, std::uint32_t offset, std::uint16_t length, const wqe_bytes& from,
                std::uint32_t skip = 0) {
    store(page, offset, length, from.data() + skip);
  }

  void pass(cycle_t cycles) {
    now += cycles;
    core.expire(now, events);
  }

  /// All counters that are not zero, and sets them back.
  std::string counted() {
    std::string text;
    for (std::size_t i = 0; i < CounterCount; ++i) {
      if (const auto value = counters.value(static_cast<counter>(i)); value != 0) {
        text += (text.empty() ? "" : " ") + std::string(CounterTable[i].name) + "=" +
                std::to_string(value);
      }
    }
    counters = {};
    return text;
  }

  /// The events so far: "bell 5" or "wqe 5" for index 5, a mark if not all bytes are that WQE's.
  std::string happened() {
    std::string text;
    for (const uar_event& event : events) {
      const ctrl_seg control = ctrl_seg::unpack(event.record.data());
      text += (text.empty() ? "" : ", ") + std::string(event.blueflame ? "wqe " : "bell ") +
              std::to_string(control.wqe_index);
      if (event.blueflame && event.wqe != whole(control.wqe_index, control.ds)) {
        text += " mixed";
      }
    }
    events.clear();
    return text;
  }

  /// What a BlueFlame event must hold: the WQE up to its last block, zeros behind.
  static wqe_bytes whole(std::uint16_t index, std::uint8_t ds) {
    wqe_bytes bytes = wqe(index, ds);
    std::fill(bytes.begin() + (ds + 3) / 4 * 64, bytes.end(), std::uint8_t{0});
    return bytes;
  }

  /// Nothing is left on the page: the next WQE goes through.
  void expect_clean_page() {
    put(wqe(999, 4), {0, 64});
    EXPECT_EQ(happened(), "wqe 999");
    EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=64");
    EXPECT_EQ(core.next_timeout(), NeverCycle);
  }

  counter_block counters;
  uar_core core{Slots, Timeout, counters};
  std::vector<uar_event> events;
  cycle_t now = 1;
};

// Doorbells ----

TEST_F(uar_core_test, one_8_byte_store_is_a_doorbell) {
  doorbell(Page, 0, 8, wqe(5, 4));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].page, Page);
  const ctrl_seg control = ctrl_seg::unpack(events[0].record.data());
  EXPECT_EQ(control.qpn, 0x123U);
  EXPECT_EQ(control.ds, 4U);
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "");
}

TEST_F(uar_core_test, two_4_byte_stores_are_one_doorbell) {
  doorbell(Page, 0, 4, wqe(5, 4));
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "db_half_writes=1");
  doorbell(Page, 4, 4, wqe(5, 4), 4);
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "");
}

TEST_F(uar_core_test, the_second_half_alone_is_nothing) {
  doorbell(Page, 4, 4, wqe(5, 4), 4);
  EXPECT_EQ(counted(), "db_ignored_size=1");
  doorbell(Page, 0, 4, wqe(6, 4));
  doorbell(Page, 4, 4, wqe(6, 4), 4);
  doorbell(Page, 4, 4, wqe(6, 4), 4);  // its first half is used up
  EXPECT_EQ(happened(), "bell 6");
  EXPECT_EQ(counted(), "db_ignored_size=1 db_half_writes=1");
}

TEST_F(uar_core_test, halves_of_two_pages_do_not_meet) {
  doorbell(Page, 0, 4, wqe(5, 4));
  doorbell(OtherPage, 4, 4, wqe(6, 4), 4);
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "db_ignored_size=1 db_half_writes=1");
  doorbell(OtherPage, 0, 4, wqe(6, 4));
  doorbell(Page, 4, 4, wqe(5, 4), 4);
  doorbell(OtherPage, 4, 4, wqe(6, 4), 4);
  EXPECT_EQ(happened(), "bell 5, bell 6");
}

TEST_F(uar_core_test, a_first_half_is_replaced_by_another_and_dropped_by_a_whole_doorbell) {
  doorbell(Page, 0, 4, wqe(5, 4));
  doorbell(Page, 0, 4, wqe(6, 4));
  doorbell(Page, 4, 4, wqe(6, 4), 4);
  EXPECT_EQ(happened(), "bell 6");
  doorbell(Page, 0, 4, wqe(7, 4));
  doorbell(Page, 0, 8, wqe(8, 4));
  doorbell(Page, 4, 4, wqe(7, 4), 4);
  EXPECT_EQ(happened(), "bell 8");
  EXPECT_EQ(counted(), "db_ignored_size=1 db_half_writes=3");
}

TEST_F(uar_core_test, every_other_size_or_alignment_is_counted_and_ignored) {
  const std::array<chunk, 22> wrong = {{
      {0, 1},          {0, 2},          {2, 4},       {1, 8},
      {4, 8},          {8, 8},          {8, 4},       {0, 12},
      {0, 16},         {0, 64},         {0, 0},       {0x7f8, 16},  // reaches into the buffer
      {Bf + 0xf8, 16}, {Bf + 0x100, 8}, {0xff8, 8},                 // reaches or lies behind it
      {Bf, 4},         {Bf + 4, 8},     {Bf + 8, 16}, {Bf + 16, 32},
      {Bf + 32, 64},   {Bf, 24},        {Bf, 128},
  }};
  const wqe_bytes data = wqe(5, 4);
  for (const chunk& each : wrong) {
    store(Page, each.offset, each.length, data.data());
    EXPECT_EQ(happened(), "") << each.offset << "+" << each.length;
    EXPECT_EQ(counted(), "db_ignored_size=1") << each.offset << "+" << each.length;
  }
  expect_clean_page();
}

TEST_F(uar_core_test, DB_REC_reads_as_what_was_accepted_last) {
  EXPECT_EQ(core.doorbell_record(Page), 0U);
  doorbell(Page, 0, 8, wqe(5, 4));
  EXPECT_EQ(core.doorbell_record(Page), 0U);  // not yet found to be the owner's
  core.accepted(Page, events[0].record);
  // opmod 0, index 5, opcode 8; QP 0x123, ds 4
  EXPECT_EQ(core.doorbell_record(Page), 0x0000050800012304U);
  EXPECT_EQ(core.doorbell_record(OtherPage), 0U);
}

TEST_F(uar_core_test, an_8_byte_store_to_the_buffers_start_is_a_doorbell) {
  put(wqe(5, 4), {0, 8});
  EXPECT_EQ(happened(), "bell 5");
  pass(Timeout);
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "");
  put(wqe(6, 4), {0, 8});
  put(wqe(7, 4), {0, 8});
  EXPECT_EQ(happened(), "bell 6, bell 7");
  EXPECT_EQ(counted(), "");
  expect_clean_page();
}

// Bursts in every order ----

TEST_F(uar_core_test, one_line_of_64_bytes) {
  put(wqe(5, 4), {0, 64});
  EXPECT_EQ(happened(), "wqe 5");
  EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=64");
  expect_clean_page();
}

TEST_F(uar_core_test, two_lines_of_32_bytes_in_both_orders) {
  put(wqe(5, 3), {0, 32});
  EXPECT_EQ(happened(), "");
  put(wqe(5, 3), {32, 32});
  put(wqe(6, 1), {32, 32});
  put(wqe(6, 1), {0, 32});
  EXPECT_EQ(happened(), "wqe 5, wqe 6");
  EXPECT_EQ(counted(), "bf_ok=2 bf_bytes=128");
  expect_clean_page();
}

TEST_F(uar_core_test, eight_stores_of_8_bytes_in_all_40320_orders) {
  std::array<std::uint32_t, 8> order{};
  std::iota(order.begin(), order.end(), 0U);
  unsigned bells = 0;
  do {
    for (const std::uint32_t each : order) {
      put(wqe(5, 4), {each * 8, 8});
    }
    // If the control segment came first it rang at once, and the rest of the burst is nobody's.
    const bool rang = order[0] == 0;
    bells += rang ? 1 : 0;
    ASSERT_EQ(happened(), rang ? "bell 5" : "wqe 5");
    ASSERT_EQ(counted(), rang ? "" : "bf_ok=1 bf_bytes=64");
    ASSERT_EQ(core.next_timeout(), NeverCycle);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(bells, 5040U);
  expect_clean_page();
}

TEST_F(uar_core_test, four_lines_of_64_bytes_in_all_24_orders) {
  std::array<std::uint32_t, 4> order{0, 1, 2, 3};
  do {
    for (const std::uint8_t ds : {std::uint8_t{13}, std::uint8_t{16}}) {
      for (const std::uint32_t each : order) {
        EXPECT_EQ(happened(), "");
        put(wqe(5, ds), {each * 64, 64});
      }
      EXPECT_EQ(happened(), "wqe 5");
      EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=256");
    }
  } while (std::next_permutation(order.begin(), order.end()));
  expect_clean_page();
}

/// Cuts a WQE's blocks into aligned lines of random sizes, in random order.
std::vector<chunk> random_cut(random_stream& random, std::uint8_t ds) {
  std::vector<chunk> chunks;
  const auto end = static_cast<std::uint32_t>((ds + 3) / 4 * 64);
  for (std::uint32_t at = 0; at < end;) {
    std::uint16_t length = 8;
    while (length < 64 && at % (length * 2U) == 0 && random.chance(1, 2)) {
      length *= 2;
    }
    chunks.push_back({at, length});
    at += length;
  }
  for (std::size_t i = chunks.size(); i > 1; --i) {
    std::swap(chunks[i - 1], chunks[random.below(i)]);
  }
  return chunks;
}

TEST_F(uar_core_test, WQEs_of_one_writer_never_mix_however_they_are_cut) {
  random_stream random(5, "cuts");
  for (unsigned n = 0; n < 20000; ++n) {
    const auto index = static_cast<std::uint16_t>(n & 0x3ff);
    const auto ds = static_cast<std::uint8_t>(1 + random.below(16));
    const std::vector<chunk> chunks = random_cut(random, ds);
    for (const chunk& each : chunks) {
      put(wqe(index, ds), each);
    }
    const bool rang = chunks[0].offset == 0 && chunks[0].length == 8;
    ASSERT_EQ(happened(), (rang ? "bell " : "wqe ") + std::to_string(index));
    ASSERT_EQ(counted(), rang ? "" : "bf_ok=1 bf_bytes=" + std::to_string((ds + 3) / 4 * 64));
  }
}

// Bursts that go wrong ----

TEST_F(uar_core_test, an_overlap_ends_the_burst) {
  put(wqe(5, 4), {0, 32});
  put(wqe(5, 4), {16, 16});
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "bf_discarded_overlap=1");
  put(wqe(5, 4), {32, 32});  // the rest is swallowed
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "");
  expect_clean_page();
}

TEST_F(uar_core_test, an_overlap_without_the_control_segment_is_only_counted) {
  put(wqe(5, 4), {32, 32});
  put(wqe(5, 4), {32, 16});
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "bf_discarded_overlap=1");
  put(wqe(5, 4), {0, 32});  // but when it comes, it rings
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "");
  expect_clean_page();
}

TEST_F(uar_core_test, a_control_segment_that_overlaps_rings_too) {
  put(wqe(5, 4), {32, 32});
  put(wqe(6, 4), {0, 64});
  EXPECT_EQ(happened(), "bell 6");
  EXPECT_EQ(counted(), "bf_discarded_overlap=1");
  expect_clean_page();
}

TEST_F(uar_core_test, a_gap_at_the_timeout_is_counted_as_such) {
  put(wqe(5, 4), {0, 16});
  put(wqe(5, 4), {32, 32});
  pass(Timeout);
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(6, 4), {32, 32}, OtherPage);
  pass(Timeout);
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "bf_discarded_gap=2");
}

TEST_F(uar_core_test, the_timeout_counts_from_the_first_chunk) {
  put(wqe(5, 8), {0, 32});
  now += 600;
  put(wqe(5, 8), {32, 32});
  EXPECT_EQ(core.next_timeout(), 1U + Timeout);
  pass(399);  // cycle 1000
  EXPECT_EQ(happened(), "");
  pass(1);
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "bf_discarded_timeout=1");
  EXPECT_EQ(core.next_timeout(), NeverCycle);
}

TEST_F(uar_core_test, what_comes_after_the_timeout_is_swallowed) {
  put(wqe(5, 4), {0, 32});
  pass(Timeout);
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(5, 4), {32, 32});
  // The next WQE is cut the same way; the late half must not complete it.
  put(wqe(6, 4), {0, 32});
  EXPECT_EQ(happened(), "");
  put(wqe(6, 4), {32, 32});
  EXPECT_EQ(happened(), "wqe 6");
  EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=64 bf_discarded_timeout=1");
  expect_clean_page();
}

TEST_F(uar_core_test, a_late_control_segment_still_rings) {
  put(wqe(5, 4), {32, 32});
  pass(Timeout);
  EXPECT_EQ(happened(), "");
  put(wqe(5, 4), {0, 32});
  EXPECT_EQ(happened(), "bell 5");
  EXPECT_EQ(counted(), "bf_discarded_gap=1");
  expect_clean_page();
}

TEST_F(uar_core_test, the_rest_of_a_burst_may_come_at_any_time) {
  put(wqe(5, 8), {0, 64});
  pass(20 * Timeout);  // the core was interrupted between two lines
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(5, 8), {64, 64});
  put(wqe(6, 8), {0, 64});
  put(wqe(6, 8), {64, 64});
  EXPECT_EQ(happened(), "wqe 6");
  EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=128 bf_discarded_timeout=1");
  expect_clean_page();
}

TEST_F(uar_core_test, if_the_rest_never_comes_the_next_burst_may_be_a_doorbell) {
  put(wqe(5, 4), {0, 32});
  pass(Timeout);
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(6, 4), {32, 32});  // would fit the dead one
  put(wqe(6, 4), {0, 32});
  pass(Timeout);
  EXPECT_EQ(happened(), "bell 6");
  EXPECT_EQ(counted(), "bf_discarded_timeout=2");
  put(wqe(7, 4), {32, 32});  // the rest of 6, as far as anybody knows
  put(wqe(7, 4), {0, 64});
  EXPECT_EQ(happened(), "wqe 7");
}

TEST_F(uar_core_test, a_wrong_length_becomes_a_doorbell) {
  put(wqe(5, 17), {0, 64});  // 17 units are five blocks
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(5, 17), {64, 64});
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "bf_discarded_length=1");
  put(wqe(6, 4), {64, 64});  // one block, and here is the second
  put(wqe(6, 4), {0, 64});
  EXPECT_EQ(happened(), "bell 6");
  put(wqe(7, 4), {0, 32}, OtherPage);
  put(wqe(7, 4), {64, 32}, OtherPage);
  EXPECT_EQ(happened(), "bell 7");
  EXPECT_EQ(counted(), "bf_discarded_length=2");
}

TEST_F(uar_core_test, a_new_control_segment_restarts_the_burst) {
  put(wqe(5, 4), {0, 32});
  put(wqe(6, 4), {0, 32});
  EXPECT_EQ(happened(), "bell 5");
  put(wqe(6, 4), {32, 32});
  EXPECT_EQ(happened(), "wqe 6");
  EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=64 bf_discarded_restart=1");
  put(wqe(7, 4), {32, 32});
  put(wqe(7, 4), {0, 16});
  put(wqe(8, 4), {0, 8});
  EXPECT_EQ(happened(), "bell 7, bell 8");
  EXPECT_EQ(counted(), "bf_discarded_restart=1");
}

TEST_F(uar_core_test, without_a_slot_a_burst_becomes_a_doorbell_and_is_counted_once) {
  for (std::uint32_t page = 10; page < 10 + Slots; ++page) {
    put(wqe(5, 4), {0, 32}, {1, page});
  }
  put(wqe(6, 4), {0, 32});
  EXPECT_EQ(happened(), "bell 6");
  EXPECT_EQ(counted(), "bf_discarded_slots=1");
  put(wqe(6, 4), {32, 32}, {1, 10});  // frees a slot, with a WQE of equal length in two halves
  EXPECT_EQ(happened(), "wqe 5 mixed");
  put(wqe(6, 4), {32, 32});
  put(wqe(7, 4), {32, 32}, OtherPage);
  put(wqe(8, 4), {32, 32}, {7, 1});
  EXPECT_EQ(happened(), "");
  EXPECT_EQ(counted(), "bf_ok=1 bf_bytes=64 bf_discarded_slots=1");
  put(wqe(8, 4), {0, 32}, {7, 1});
  EXPECT_EQ(happened(), "bell 8");
  EXPECT_EQ(counted(), "");
}

// Two writers ----

TEST_F(uar_core_test, writers_on_two_pages_do_not_meet) {
  put(wqe(5, 8), {0, 32}, Page);
  put(wqe(6, 8), {64, 64}, OtherPage);
  put(wqe(5, 8), {64, 64}, Page);
  put(wqe(6, 8), {0, 64}, OtherPage);
  put(wqe(7, 4), {0, 64}, {2, 2});  // the same page number of another function
  put(wqe(5, 8), {32, 32}, Page);
  EXPECT_EQ(happened(), "wqe 6, wqe 7, wqe 5");
  EXPECT_EQ(counted(), "bf_ok=3 bf_bytes=320");
}

TEST_F(uar_core_test, unlocked_writers_on_one_page_may_mix_unseen) {
  // Equal lengths, disjoint chunks: no device can tell.
  put(wqe(5, 4), {0, 32});
  put(wqe(6, 4), {32, 32});
  EXPECT_EQ(happened(), "wqe 5 mixed");
  put(wqe(5, 4), {32, 32});
  put(wqe(6, 4), {0, 32});
  EXPECT_EQ(happened(), "wqe 6 mixed");
  EXPECT_EQ(counted(), "bf_ok=2 bf_bytes=128");
}

// Whatever two unlocked writers do, each control segment leads to exactly one event.
TEST_F(uar_core_test, each_control_segment_is_executed_or_rings_exactly_once) {
  random_stream random(9, "soup");
  std::map<unsigned, unsigned> sent;
  std::map<unsigned, unsigned> done;
  for (unsigned round = 0; round < 5000; ++round) {
    const auto index = static_cast<std::uint16_t>(2 * round);
    const auto ds = static_cast<std::uint8_t>(1 + random.below(18));
    const auto other_ds = static_cast<std::uint8_t>(1 + random.below(18));
    std::vector<chunk> a = random_cut(random, std::min<std::uint8_t>(ds, 16));
    std::vector<chunk> b = random_cut(random, std::min<std::uint8_t>(other_ds, 16));
    while (!a.empty() || !b.empty()) {
      const bool first = b.empty() || (!a.empty() && random.chance(1, 2));
      std::vector<chunk>& from = first ? a : b;
      const chunk next = from.back();
      from.pop_back();
      if (random.chance(1, 20)) {
        continue;  // lost
      }
      const std::uint16_t which = first ? index : static_cast<std::uint16_t>(index + 1);
      sent[which] += next.offset == 0 ? 1 : 0;
      put(wqe(which, first ? ds : other_ds), next);
      pass(random.chance(1, 50) ? Timeout : 1);
    }
    for (const uar_event& event : events) {
      ++done[ctrl_seg::unpack(event.record.data()).wqe_index];
    }
    events.clear();
  }
  pass(Timeout);
  for (const uar_event& event : events) {
    ++done[ctrl_seg::unpack(event.record.data()).wqe_index];
  }
  for (const auto& [index, times] : sent) {
    ASSERT_EQ(done[index], times) << "WQE " << index;
  }
}

}  // namespace
}  // namespace carillon
