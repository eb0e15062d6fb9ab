// The CRC cell of the twins against zlib, whose crc32 is the inverted register.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <string_view>
#include <vector>
#include <zlib.h>

#include "Vcrc32.h"
#include "verilated.h"

namespace {

constexpr std::size_t Bytes = 64;

class crc_cell {
 public:
  crc_cell() : cell_(&context_, "") {}

  ~crc_cell() { cell_.final(); }

  /// The register behind the first `length` bytes of a beat.
  std::uint32_t step(std::uint32_t before, const std::uint8_t* beat, std::size_t length) {
    cell_.crc_i = before;
    cell_.length_i = static_cast<std::uint8_t>(length);
    auto* const pins = reinterpret_cast<std::uint8_t*>(&cell_.data_i);  // NOLINT: pins are words
    for (std::size_t i = 0; i < Bytes; ++i) {
      pins[Bytes - 1 - i] = beat[i];
    }
    cell_.eval();
    return cell_.crc_o;
  }

 private:
  VerilatedContext context_;
  Vcrc32 cell_;
};

/// `bytes` cut into beats of 64.
std::uint32_t by_beats(const std::vector<std::uint8_t>& bytes, crc_cell& cell) {
  std::uint32_t value = 0xffffffff;
  for (std::size_t at = 0; at < bytes.size(); at += Bytes) {
    std::uint8_t beat[Bytes] = {};
    const std::size_t length = std::min(Bytes, bytes.size() - at);
    std::memcpy(beat, bytes.data() + at, length);
    value = cell.step(value, beat, length);
  }
  return ~value;
}

std::uint32_t by_zlib(const std::vector<std::uint8_t>& bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

TEST(crc32_cell, gives_the_check_value_of_the_catalogues) {
  // CRC-32/ISO-HDLC of the digits 1 to 9 (reveng.sourceforge.io/crc-catalogue).
  constexpr std::string_view Digits = "123456789";
  crc_cell cell;
  EXPECT_EQ(by_beats({Digits.begin(), Digits.end()}, cell), 0xcbf43926U);
}

TEST(crc32_cell, leaves_the_register_of_an_icrc_behind_eight_bytes_of_ones) {
  // The seed that the annex of the RoCEv2 specification leads to.
  crc_cell cell;
  EXPECT_EQ(~by_beats(std::vector<std::uint8_t>(8, 0xff), cell), 0xdebb20e3U);
}

TEST(crc32_cell, every_bit_of_a_beat_counts_as_zlib_counts_it) {
  crc_cell cell;
  for (std::size_t bit = 0; bit < 8 * Bytes; ++bit) {
    std::vector<std::uint8_t> beat(Bytes, 0);
    beat[bit / 8] = static_cast<std::uint8_t>(1U << bit % 8);
    ASSERT_EQ(by_beats(beat, cell), by_zlib(beat)) << "bit " << bit;
  }
}

TEST(crc32_cell, every_length_is_that_of_zlib_whatever_lies_behind_it) {
  crc_cell cell;
  std::mt19937 draw(1);  // its values are fixed by the standard
  for (std::size_t length = 0; length <= Bytes; ++length) {
    for (int round = 0; round < 50; ++round) {
      std::uint8_t beat[Bytes];
      for (std::uint8_t& byte : beat) {
        byte = static_cast<std::uint8_t>(draw());
      }
      const auto before = static_cast<std::uint32_t>(draw());
      // zlib takes the CRC so far as it gives it back: inverted.
      const auto expected = ~static_cast<std::uint32_t>(crc32_z(~before, beat, length));
      ASSERT_EQ(cell.step(before, beat, length), expected) << length << " bytes";
    }
  }
}

TEST(crc32_cell, frames_of_many_beats_are_those_of_zlib) {
  crc_cell cell;
  std::mt19937 draw(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> frame(draw() % 4300);
    for (std::uint8_t& byte : frame) {
      byte = static_cast<std::uint8_t>(draw());
    }
    ASSERT_EQ(by_beats(frame, cell), by_zlib(frame)) << frame.size() << " bytes";
  }
}

}  // namespace
