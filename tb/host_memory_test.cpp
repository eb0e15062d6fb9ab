#include "host/host_memory.h"

#include <array>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "common/error.h"

namespace carillon {
namespace {

using bytes = std::vector<std::uint8_t>;

bytes contents(const host_memory& memory, std::uint64_t address, std::size_t length) {
  bytes result(length, 0xee);
  memory.read(address, result.data(), length);
  return result;
}

class recorder : public memory_watcher {
 public:
  void on_memory_write(std::uint64_t address, std::uint64_t length) override {
    seen.emplace_back(address, length);
    if (then) {
      then();
    }
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::function<void()> then;
};

using writes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(host_memory_test, untouched_memory_reads_as_zero_and_takes_no_space) {
  host_memory memory;
  EXPECT_EQ(contents(memory, 0xffff'ffff'0000'0ffe, 4), bytes(4, 0));
  EXPECT_EQ(memory.pages(), 0U);
}

TEST(host_memory_test, what_is_written_over_a_page_boundary_is_read_back) {
  host_memory memory;
  const bytes data = {1, 2, 3, 4, 5, 6};
  memory.write(0x1'0000'0ffd, data.data(), data.size());
  EXPECT_EQ(memory.pages(), 2U);
  EXPECT_EQ(contents(memory, 0x1'0000'0ffc, 8), (bytes{0, 1, 2, 3, 4, 5, 6, 0}));
}

TEST(host_memory_test, the_last_byte_of_the_space_exists_and_nothing_wraps) {
  host_memory memory;
  const std::uint8_t one = 7;
  memory.write(~std::uint64_t{0}, &one, 1);
  EXPECT_EQ(contents(memory, ~std::uint64_t{0}, 1), (bytes{7}));
  EXPECT_THROW(memory.write(~std::uint64_t{0}, &one, 2), model_error);
}

TEST(host_memory_test, fill_sets_every_byte) {
  host_memory memory;
  memory.fill(0xffe, 0xab, 4);
  EXPECT_EQ(contents(memory, 0xffd, 6), (bytes{0, 0xab, 0xab, 0xab, 0xab, 0}));
}

TEST(host_memory_test, pages_whose_numbers_share_a_cache_line_stay_apart) {
  host_memory memory;
  for (std::uint8_t i = 0; i < 5; ++i) {
    memory.write(std::uint64_t{i} << 30, &i, 1);
  }
  for (std::uint8_t i = 0; i < 5; ++i) {
    EXPECT_EQ(contents(memory, std::uint64_t{i} << 30, 1), (bytes{i}));
  }
}

TEST(host_memory_test, a_page_pointer_is_the_memory) {
  host_memory memory;
  memory.page(0x5123)[0x10] = 9;
  EXPECT_EQ(contents(memory, 0x5010, 1), (bytes{9}));
}

TEST(host_memory_test, a_watch_sees_the_writes_that_overlap_it_and_no_others) {
  host_memory memory;
  recorder watcher;
  memory.watch(0x1040, 64, watcher);
  memory.fill(0x1000, 1, 64);
  memory.fill(0x1080, 1, 64);
  EXPECT_TRUE(watcher.seen.empty());
  memory.fill(0x1000, 1, 65);
  memory.fill(0x107f, 1, 1);
  memory.fill(0x0f00, 1, 0x1000);
  EXPECT_EQ(watcher.seen, (writes{{0x1000, 65}, {0x107f, 1}, {0x0f00, 0x1000}}));
}

TEST(host_memory_test, a_watch_over_two_pages_is_told_once) {
  host_memory memory;
  recorder watcher;
  memory.watch(0x1ff0, 32, watcher);
  memory.fill(0x1fff, 1, 2);
  memory.fill(0x2000, 1, 1);
  EXPECT_EQ(watcher.seen, (writes{{0x1fff, 2}, {0x2000, 1}}));
}

TEST(host_memory_test, the_watcher_finds_the_new_bytes) {
  host_memory memory;
  recorder watcher;
  bytes found;
  watcher.then = [&] { found = contents(memory, 0x1000, 1); };
  memory.watch(0x1000, 1, watcher);
  memory.fill(0x1000, 0x55, 1);
  EXPECT_EQ(found, (bytes{0x55}));
}

TEST(host_memory_test, watches_can_end_and_begin_inside_a_callback) {
  host_memory memory;
  recorder first;
  recorder second;
  recorder third;
  memory.watch(0x1000, 8, first);
  memory.watch(0x1000, 8, second);
  first.then = [&] {
    memory.unwatch(0x1000, 8, first);
    memory.watch(0x1000, 8, third);
  };
  memory.fill(0x1000, 1, 1);
  memory.fill(0x1001, 1, 1);
  EXPECT_EQ(first.seen, (writes{{0x1000, 1}}));
  EXPECT_EQ(second.seen, (writes{{0x1000, 1}, {0x1001, 1}}));
  EXPECT_EQ(third.seen, (writes{{0x1001, 1}}));
}

TEST(host_memory_test, the_last_setting_of_an_attribute_counts) {
  host_memory memory;
  memory.set_attributes(0x10000, 0x10000, {1, true});
  memory.set_attributes(0x18000, 0x1000, {0, false});
  EXPECT_EQ(memory.attributes(0xffff), (memory_attributes{0, true}));
  EXPECT_EQ(memory.attributes(0x10000), (memory_attributes{1, true}));
  EXPECT_EQ(memory.attributes(0x18fff), (memory_attributes{0, false}));
  EXPECT_EQ(memory.attributes(0x19000), (memory_attributes{1, true}));
}

}  // namespace
}  // namespace carillon
