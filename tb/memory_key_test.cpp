// Memory keys: what each check refuses, and the pieces of IOVA space behind a page list. Pages and
// offsets are worked out by hand.
#include "common/memory_key.h"

#include <gtest/gtest.h>

#include "gen/bytes.h"

namespace carillon {
namespace {

constexpr std::uint32_t Key = 0x1234 << 8 | 0x5a;
constexpr std::uint64_t Start = 0x7f0000000000;

mkey_line region() {
  mkey_line key;
  key.valid = 1;
  key.contiguous = 1;
  key.lr = key.lw = key.rr = key.rw = key.a = 1;
  key.variant = 0x5a;
  key.function_id = 3;
  key.pd = 7;
  key.qpn = MkeyAnyQp;
  key.start_addr = Start;
  key.len = 0x10000;
  key.phys_base = 0x40000000;
  return key;
}

key_use use(key_right right = key_right::remote_write) {
  key_use wanted;
  wanted.key = Key;
  wanted.pd = 7;
  wanted.qpn = 0x31;
  wanted.function = 3;
  wanted.right = right;
  wanted.address = Start + 0x100;
  wanted.length = 64;
  return wanted;
}

// Keys: an access needs a valid key of the same variant, function, PD and QP with the right.
TEST(memory_key, an_access_that_everything_allows_is_allowed) {
  EXPECT_EQ(check_key(region(), true, use()), key_fault::none);
}

TEST(memory_key, an_index_beyond_the_table_is_refused) {
  EXPECT_EQ(check_key(region(), false, use()), key_fault::index);
}

TEST(memory_key, a_free_key_is_refused_before_anything_else_is_looked_at) {
  mkey_line key = region();
  key.valid = 0;
  key.variant = 0;
  EXPECT_EQ(check_key(key, true, use()), key_fault::free);
}

TEST(memory_key, the_low_eight_bits_must_match) {
  mkey_line key = region();
  key.variant = 0x5b;
  EXPECT_EQ(check_key(key, true, use()), key_fault::variant);
}

TEST(memory_key, a_key_of_another_function_is_refused) {
  key_use other = use();
  other.function = 4;
  EXPECT_EQ(check_key(region(), true, other), key_fault::function);
}

TEST(memory_key, a_key_of_another_protection_domain_is_refused) {
  key_use other = use();
  other.pd = 8;
  EXPECT_EQ(check_key(region(), true, other), key_fault::pd);
}

TEST(memory_key, a_bound_key_serves_its_queue_pair_only) {
  mkey_line key = region();
  key.qpn = 0x31;
  EXPECT_EQ(check_key(key, true, use()), key_fault::none);
  key.qpn = 0x32;
  EXPECT_EQ(check_key(key, true, use()), key_fault::qp);
}

TEST(memory_key, each_access_needs_its_own_right) {
  const key_right all[] = {key_right::local_read, key_right::local_write, key_right::remote_read,
                           key_right::remote_write, key_right::remote_atomic};
  for (const key_right granted : all) {
    mkey_line key = region();
    key.lr = granted == key_right::local_read;
    key.lw = granted == key_right::local_write;
    key.rr = granted == key_right::remote_read;
    key.rw = granted == key_right::remote_write;
    key.a = granted == key_right::remote_atomic;
    for (const key_right wanted : all) {
      EXPECT_EQ(check_key(key, true, use(wanted)),
                wanted == granted ? key_fault::none : key_fault::right);
    }
  }
}

TEST(memory_key, the_range_lies_within_the_region_to_the_byte) {
  struct range {
    std::uint64_t address;
    std::uint64_t length;
    key_fault verdict;
  };

  const range cases[] = {
      {Start, 0x10000, key_fault::none},       {Start, 0x10001, key_fault::range},
      {Start - 1, 1, key_fault::range},        {Start + 0xffff, 1, key_fault::none},
      {Start + 0x10000, 1, key_fault::range},  {Start + 0x10000, 0, key_fault::none},
      {~std::uint64_t{0}, 2, key_fault::range}};
  for (const range& each : cases) {
    key_use wanted = use();
    wanted.address = each.address;
    wanted.length = each.length;
    EXPECT_EQ(check_key(region(), true, wanted), each.verdict) << std::hex << each.address;
  }
}

TEST(memory_key, length64_covers_the_whole_address_space) {
  mkey_line key = region();
  key.length64 = 1;
  key_use wanted = use();
  wanted.address = 5;
  wanted.length = 0x80000000;
  EXPECT_EQ(check_key(key, true, wanted), key_fault::none);
}

TEST(memory_key, what_was_checked_before_is_not_checked_again) {
  mkey_line key = region();
  key.pd = 99;
  key.rw = 0;
  key_use wanted = use();
  wanted.checked = true;
  EXPECT_EQ(check_key(key, true, wanted), key_fault::none);
  key.valid = 0;
  EXPECT_EQ(check_key(key, true, wanted), key_fault::free) << "but it may have gone meanwhile";
}

// Page lists ------------------------------------------------------------------------------------

/// A region of 4 KiB pages that begins 0x800 into its first page; entries from index 13 on.
mkey_line paged() {
  mkey_line key = region();
  key.contiguous = 0;
  key.log_page_size = 12;
  key.start_addr = Start + 0x800;
  key.mtt_base = 13;
  return key;
}

using line = std::array<std::uint8_t, mtt_line::Size>;

/// Entry n of the table is the page at 0x100000 * (n + 1).
line translation(std::uint32_t number, std::uint64_t bits = MttReadEnable | MttWriteEnable) {
  line result{};
  for (std::uint64_t i = 0; i < page_walk::EntriesPerLine; ++i) {
    bytes::store_be<8>(result.data() + i * 8, (number * 8 + i + 1) * 0x100000 | bits);
  }
  return result;
}

using pieces = std::vector<iova_piece>;

TEST(page_walk, a_contiguous_key_needs_no_translation) {
  const page_walk walk(region(), key_right::local_read, Start + 0x123, 5000);
  EXPECT_TRUE(walk.done());
  EXPECT_EQ(walk.pieces(), (pieces{{0x40000123, 5000}}));
}

TEST(page_walk, a_range_within_one_page_is_one_piece) {
  // Byte 0x900 of the first page, which is entry 13: line 1, page 14 * 1 MiB.
  page_walk walk(paged(), key_right::local_read, Start + 0x900, 100);
  ASSERT_FALSE(walk.done());
  EXPECT_EQ(walk.line(), 1U);
  EXPECT_TRUE(walk.take(translation(1)));
  EXPECT_TRUE(walk.done());
  EXPECT_EQ(walk.pieces(), (pieces{{0xe00900, 100}}));
}

TEST(page_walk, a_range_over_several_pages_and_lines_is_cut_at_page_ends) {
  // From byte 0xf00 of entry 14's page: 0x100, 0x1000 (entry 15), then line 2: entry 16, 0x123.
  page_walk walk(paged(), key_right::remote_write, Start + 0x1f00, 0x100 + 0x1000 + 0x123);
  EXPECT_EQ(walk.line(), 1U);
  EXPECT_TRUE(walk.take(translation(1)));
  ASSERT_FALSE(walk.done());
  EXPECT_EQ(walk.line(), 2U);
  EXPECT_TRUE(walk.take(translation(2)));
  EXPECT_TRUE(walk.done());
  EXPECT_EQ(walk.pieces(), (pieces{{0xf00f00, 0x100}, {0x1000000, 0x1000}, {0x1100000, 0x123}}));
}

TEST(page_walk, pages_that_follow_each_other_are_one_piece) {
  mkey_line key = paged();
  key.start_addr = Start;
  key.mtt_base = 0;
  line entries{};
  for (std::uint64_t i = 0; i < 8; ++i) {
    bytes::store_be<8>(entries.data() + i * 8, 0x5000000 + i * 0x1000 + MttReadEnable);
  }
  page_walk walk(key, key_right::remote_read, Start + 0x10, 0x3000);
  EXPECT_TRUE(walk.take(entries));
  EXPECT_EQ(walk.pieces(), (pieces{{0x5000010, 0x3000}}));
}

TEST(page_walk, large_pages_are_cut_at_their_own_ends) {
  mkey_line key = paged();
  key.log_page_size = 21;
  key.start_addr = Start;
  key.mtt_base = 8;
  line entries{};
  bytes::store_be<8>(entries.data(), 0x40000000 | MttReadEnable);
  bytes::store_be<8>(entries.data() + 8, 0x80000000 | MttReadEnable);
  page_walk walk(key, key_right::local_read, Start + 0x1ffff0, 0x20);
  EXPECT_EQ(walk.line(), 1U);
  EXPECT_TRUE(walk.take(entries));
  EXPECT_EQ(walk.pieces(), (pieces{{0x401ffff0, 0x10}, {0x80000000, 0x10}}));
}

TEST(page_walk, an_entry_must_allow_the_access) {
  page_walk reading(paged(), key_right::local_read, Start + 0x900, 8);
  EXPECT_FALSE(reading.take(translation(1, MttWriteEnable)));
  page_walk writing(paged(), key_right::remote_atomic, Start + 0x900, 8);
  EXPECT_FALSE(writing.take(translation(1, MttReadEnable)));
  page_walk empty(paged(), key_right::local_read, Start + 0x900, 8);
  EXPECT_FALSE(empty.take(line{})) << "an entry that was never set";
}

}  // namespace
}  // namespace carillon
