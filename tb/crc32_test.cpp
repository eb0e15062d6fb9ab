#include "common/crc32.h"

#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "common/buffer.h"
#include "common/random.h"
#include "tb/common/reference_crc.h"

namespace carillon {

namespace {

std::vector<std::uint8_t> random_bytes(random_stream& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) {
    byte = static_cast<std::uint8_t>(random.next());
  }
  return bytes;
}

std::uint32_t crc_of(const std::vector<std::uint8_t>& bytes) {
  return crc32_of(bytes.data(), bytes.size());
}

}  // namespace

// The check value that every catalogue of CRCs lists for this one.
TEST(crc32, has_the_published_check_value) {
  const std::string_view digits = "123456789";
  const std::vector<std::uint8_t> bytes(digits.begin(), digits.end());
  EXPECT_EQ(crc_of(bytes), 0xcbf43926U);
  EXPECT_EQ(test::reference_crc(bytes), 0xcbf43926U);
}

TEST(crc32, of_nothing_is_zero) {
  EXPECT_EQ(crc32_of(nullptr, 0), 0U);
  EXPECT_EQ(crc32_add(0x12345678, nullptr, 0), 0x12345678U);
}

TEST(crc32, equals_the_bitwise_definition) {
  random_stream random(1, "crc32_test");
  for (std::size_t bytes = 1; bytes < 200; ++bytes) {
    const auto data = random_bytes(random, bytes);
    ASSERT_EQ(crc_of(data), test::reference_crc(data)) << bytes << " bytes";
  }
}

// Libraries take another way with long strings. Each remainder of steps of 16 and 64 bytes, from
// each alignment, behind other bytes.
TEST(crc32, of_long_strings_equals_the_bitwise_definition) {
  random_stream random(4, "crc32_test");
  const auto data = random_bytes(random, 4400);
  for (std::size_t begin = 0; begin < 16; ++begin) {
    const std::uint32_t before = crc32_of(data.data(), begin);
    for (std::size_t bytes = 100 + begin; bytes < 400; bytes += 3) {
      const std::vector<std::uint8_t> both(
          data.begin(), data.begin() + static_cast<std::ptrdiff_t>(begin + bytes));
      ASSERT_EQ(crc32_add(before, data.data() + begin, bytes), test::reference_crc(both))
          << bytes << " bytes from " << begin;
    }
  }
  EXPECT_EQ(crc_of(data), test::reference_crc(data));
}

TEST(crc32, may_be_fed_in_parts) {
  random_stream random(2, "crc32_test");
  const auto data = random_bytes(random, 500);
  for (std::size_t cut = 0; cut <= data.size(); ++cut) {
    const std::uint32_t first = crc32_of(data.data(), cut);
    ASSERT_EQ(crc32_add(first, data.data() + cut, data.size() - cut), test::reference_crc(data));
  }
}

// Lengths around the ends of the operator cache included, each twice: computed and remembered.
TEST(crc32, joins_like_one_string) {
  random_stream random(3, "crc32_test");
  std::vector<std::size_t> lengths = {
      0, 1, 3, 4, 63, 64, 256, 4096, BufferBytes, BufferBytes + 1, 70000};
  for (int i = 0; i < 20; ++i) {
    lengths.push_back(random.below(BufferBytes));
  }
  for (const std::size_t second_bytes : lengths) {
    const auto first = random_bytes(random, random.below(120));
    const auto second = random_bytes(random, second_bytes);
    auto both = first;
    both.insert(both.end(), second.begin(), second.end());
    const std::uint32_t expected = test::reference_crc(both);
    EXPECT_EQ(crc32_join(crc_of(first), crc_of(second), second_bytes), expected) << second_bytes;
    EXPECT_EQ(crc32_join(crc_of(first), crc_of(second), second_bytes), expected) << second_bytes;
  }
}

}  // namespace carillon
