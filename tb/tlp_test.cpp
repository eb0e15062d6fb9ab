// TLP headers, byte enables, cutting and link rates. Header dwords are written out by hand from the
// layouts of the base specification.
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "common/error.h"
#include "common/pcie_rate.h"
#include "common/tlp_codec.h"

namespace carillon {
namespace {

class tlp_test : public testing::Test {
 protected:
  tlp_pool pool;
  tlp& packet = *pool.take();

  [[nodiscard]] std::vector<std::uint32_t> dwords() const {
    std::vector<std::uint32_t> result;
    for (unsigned i = 0; i < packet.header_bytes; i += 4) {
      result.push_back(static_cast<std::uint32_t>(bytes::load_be<4>(packet.header.data() + i)));
    }
    return result;
  }

  void header(std::vector<std::uint32_t> values, std::uint16_t payload_bytes) {
    packet.header_bytes = static_cast<std::uint8_t>(4 * values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      bytes::store_be<4>(packet.header.data() + 4 * i, values[i]);
    }
    packet.payload_bytes = payload_bytes;
  }
};

using dws = std::vector<std::uint32_t>;

TEST_F(tlp_test, a_read_below_4_gib_has_three_dwords) {
  make_memory_read(packet, 0x0100, 5, 0x1000, 64);
  EXPECT_EQ(dwords(), (dws{0x0000'0010, 0x0100'05ff, 0x0000'1000}));
  EXPECT_EQ(packet.flow, tlp_class::non_posted);
  EXPECT_EQ(packet.payload_bytes, 0);
}

TEST_F(tlp_test, a_read_above_has_four_and_its_tag_has_ten_bits) {
  make_memory_read(packet, 0x0010, 0x3a5, 0x1'2345'6780, 4);
  EXPECT_EQ(dwords(), (dws{0x2088'0001, 0x0010'a50f, 0x0000'0001, 0x2345'6780}));
  const tlp_header seen = decode(packet);
  EXPECT_TRUE(seen.valid());
  EXPECT_EQ(seen.kind, tlp_kind::memory_read);
  EXPECT_TRUE(seen.four_dw);
  EXPECT_EQ(seen.tag, 0x3a5);
  EXPECT_EQ(seen.requester, 0x0010);
  EXPECT_EQ(seen.address, 0x1'2345'6780U);
}

TEST_F(tlp_test, the_last_address_below_4_gib_still_has_three) {
  make_memory_read(packet, 0, 0, 0xffff'fffc, 4);
  EXPECT_EQ(packet.header_bytes, 12);
  make_memory_read(packet, 0, 0, 0x1'0000'0000, 4);
  EXPECT_EQ(packet.header_bytes, 16);
}

TEST_F(tlp_test, a_read_of_a_whole_page_codes_its_length_as_zero) {
  make_memory_read(packet, 0, 0, 0x7000, 4096);
  EXPECT_EQ(dwords()[0], 0x0000'0000U);
  EXPECT_EQ(decode(packet).length_dw, 1024);
}

TEST_F(tlp_test, a_read_of_nothing_is_one_dword_without_enables) {
  make_memory_read(packet, 0, 0, 0x2000, 0);
  EXPECT_EQ(dwords(), (dws{0x0000'0001, 0x0000'0000, 0x0000'2000}));
  const tlp_header seen = decode(packet);
  EXPECT_TRUE(seen.valid());
  EXPECT_EQ(touched(seen), (byte_range{0x2000, 0}));
  EXPECT_EQ(total_byte_count(seen), 1);
}

TEST_F(tlp_test, an_unaligned_write_enables_the_bytes_that_it_brings) {
  const std::vector<std::uint8_t> data = {0xd0, 0xd1, 0xd2, 0xd3, 0xd4};
  make_memory_write(packet, 0x0008, 0x2003, data.data(), 5);
  EXPECT_EQ(dwords(), (dws{0x4000'0002, 0x0008'00f8, 0x0000'2000}));
  EXPECT_EQ(packet.payload_bytes, 8);
  EXPECT_EQ(std::vector<std::uint8_t>(packet.payload.begin(), packet.payload.begin() + 8),
            (std::vector<std::uint8_t>{0, 0, 0, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4}));
  const tlp_header seen = decode(packet);
  EXPECT_EQ(touched(seen), (byte_range{0x2003, 5}));
  EXPECT_FALSE(enabled(seen, 2));
  EXPECT_TRUE(enabled(seen, 3));
  EXPECT_TRUE(enabled(seen, 7));
}

TEST_F(tlp_test, byte_enables_follow_from_start_and_length) {
  EXPECT_EQ(enables_for(0x0, 4), (byte_enables{1, 0xf, 0x0}));
  EXPECT_EQ(enables_for(0x1, 1), (byte_enables{1, 0x2, 0x0}));
  EXPECT_EQ(enables_for(0x1, 2), (byte_enables{1, 0x6, 0x0}));
  EXPECT_EQ(enables_for(0x2, 4), (byte_enables{2, 0xc, 0x3}));
  EXPECT_EQ(enables_for(0x0, 5), (byte_enables{2, 0xf, 0x1}));
  EXPECT_EQ(enables_for(0x3, 6), (byte_enables{3, 0x8, 0x1}));
  EXPECT_EQ(enables_for(0x40, 64), (byte_enables{16, 0xf, 0xf}));
}

TEST_F(tlp_test, what_is_touched_is_what_was_asked_for) {
  for (std::uint64_t address = 0x100; address < 0x108; ++address) {
    for (std::uint32_t bytes = 1; bytes <= 20; ++bytes) {
      make_memory_read(packet, 0, 0, address, bytes);
      const tlp_header seen = decode(packet);
      ASSERT_TRUE(seen.valid());
      EXPECT_EQ(touched(seen), (byte_range{address, bytes}));
      EXPECT_EQ(first_lower_address(seen), address & 0x7f);
    }
  }
}

TEST_F(tlp_test, a_completion_carries_what_is_left_and_where_it_begins) {
  const std::vector<std::uint8_t> data(64, 0xab);
  make_completion(packet, 0x0000, 0x0100, 7, completion_status::Success, 64, 0x40, data.data(), 64);
  EXPECT_EQ(dwords(), (dws{0x4a00'0010, 0x0000'0040, 0x0100'0740}));
  EXPECT_EQ(packet.flow, tlp_class::completion);
  const tlp_header seen = decode(packet);
  EXPECT_EQ(seen.kind, tlp_kind::completion);
  EXPECT_TRUE(seen.has_data);
  EXPECT_EQ(seen.byte_count, 64);
  EXPECT_EQ(seen.lower_address, 0x40);
  EXPECT_EQ(seen.tag, 7);
}

TEST_F(tlp_test, a_byte_count_of_4096_is_coded_as_zero) {
  make_completion(packet, 0, 0, 0, completion_status::Success, 4096, 0, nullptr, 512);
  EXPECT_EQ(dwords()[1], 0x0000'0000U);
  EXPECT_EQ(decode(packet).byte_count, 4096);
}

TEST_F(tlp_test, a_refused_request_gets_a_completion_without_data) {
  make_completion(packet, 0x0300, 0x0100, 0x1ff, completion_status::UnsupportedRequest, 8, 4,
                  nullptr, 0);
  EXPECT_EQ(dwords(), (dws{0x0a08'0000, 0x0300'2008, 0x0100'ff04}));
  const tlp_header seen = decode(packet);
  EXPECT_TRUE(seen.valid());
  EXPECT_FALSE(seen.has_data);
  EXPECT_EQ(seen.status, completion_status::UnsupportedRequest);
  EXPECT_EQ(seen.tag, 0x1ff);
  EXPECT_EQ(seen.length_dw, 0);
}

TEST_F(tlp_test, configuration_requests_name_function_and_register) {
  make_config_write(packet, 0x0000, 3, 0x0105, 0x184, 0x1122'3344, 0x3);
  EXPECT_EQ(dwords(), (dws{0x4400'0001, 0x0000'0303, 0x0105'0184}));
  EXPECT_EQ(packet.payload[0], 0x44);
  const tlp_header seen = decode(packet);
  EXPECT_EQ(seen.kind, tlp_kind::config_write);
  EXPECT_EQ(seen.destination, 0x0105);
  EXPECT_EQ(seen.config_register, 0x184);
  EXPECT_EQ(packet.flow, tlp_class::non_posted);
}

TEST_F(tlp_test, flags_are_bits_of_the_first_dword) {
  make_memory_write(packet, 0, 0x1000, nullptr, 4);
  set_poisoned(packet);
  EXPECT_EQ(dwords()[0], 0x4000'4001U);
  set_ecrc(packet);
  EXPECT_EQ(dwords()[0], 0x4000'c001U);
  set_relaxed_ordering(packet);
  EXPECT_EQ(dwords()[0], 0x4000'e001U);
  const tlp_header seen = decode(packet);
  EXPECT_TRUE(seen.poisoned && seen.ecrc && seen.relaxed_ordering);
}

TEST_F(tlp_test, wire_bytes_are_header_payload_and_eight) {
  make_memory_write(packet, 0, 0x1'0000'0000, nullptr, 64);
  EXPECT_EQ(wire_bytes(packet), 16U + 64 + 8);
  set_ecrc(packet);
  EXPECT_EQ(wire_bytes(packet), 16U + 64 + 8 + 4);
}

// Malformed ---------------------------------------------------------------------------------------

TEST_F(tlp_test, every_malformation_has_its_name) {
  packet.header_bytes = 8;
  EXPECT_EQ(decode(packet).fault, tlp_fault::header_length);
  header({0x2000'0001, 0x0000'000f, 0}, 0);  // says four dwords, has three
  EXPECT_EQ(decode(packet).fault, tlp_fault::header_length);
  header({0x8000'0001, 0x0000'000f, 0}, 0);  // a prefix
  EXPECT_EQ(decode(packet).fault, tlp_fault::reserved_code);
  header({0x0300'0001, 0x0000'000f, 0}, 0);  // type 3
  EXPECT_EQ(decode(packet).fault, tlp_fault::reserved_code);
  header({0x4000'0002, 0x0000'00ff, 0}, 4);  // two dwords announced, one there
  EXPECT_EQ(decode(packet).fault, tlp_fault::payload_length);
  header({0x0000'0001, 0x0000'00ff, 0}, 0);  // one dword with last enables
  EXPECT_EQ(decode(packet).fault, tlp_fault::byte_enables);
  header({0x0000'0003, 0x0000'000f, 0}, 0);  // three dwords without
  EXPECT_EQ(decode(packet).fault, tlp_fault::byte_enables);
  header({0x0000'0003, 0x0000'00f5, 0}, 0);  // a hole
  EXPECT_EQ(decode(packet).fault, tlp_fault::byte_enables);
  header({0x0000'0002, 0x0000'00ff, 0x0000'0ffc}, 0);  // over the page
  EXPECT_EQ(decode(packet).fault, tlp_fault::page_crossing);
  header({0x0000'0002, 0x0000'0055, 0x0000'0008}, 0);  // holes are allowed in an aligned quadword
  EXPECT_TRUE(decode(packet).valid());
}

TEST_F(tlp_test, any_bytes_can_be_decoded) {
  std::uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525U + 1013904223U; };
  for (int i = 0; i < 200000; ++i) {
    header({next(), next(), next(), next()}, static_cast<std::uint16_t>(next() >> 20));
    packet.header_bytes = static_cast<std::uint8_t>((next() >> 16) % 20);
    const tlp_header seen = decode(packet);
    if (seen.valid() && seen.kind == tlp_kind::memory_write) {
      ASSERT_LE(touched(seen).bytes, packet.payload_bytes);
    }
  }
}

// Cutting -----------------------------------------------------------------------------------------

std::vector<std::uint32_t> requests(std::uint64_t address, std::uint64_t bytes, std::uint32_t max) {
  std::vector<std::uint32_t> parts;
  while (bytes != 0) {
    parts.push_back(next_request(address, bytes, max));
    address += parts.back();
    bytes -= parts.back();
  }
  return parts;
}

std::vector<std::uint32_t> completions(std::uint64_t address, std::uint64_t bytes,
                                       std::uint32_t mps, std::uint32_t rcb,
                                       completion_cut policy) {
  std::vector<std::uint32_t> parts;
  while (bytes != 0) {
    parts.push_back(next_completion(address, bytes, mps, rcb, policy));
    address += parts.back();
    bytes -= parts.back();
  }
  return parts;
}

using parts = std::vector<std::uint32_t>;

TEST(tlp_cutting, requests_end_at_the_maximum_and_at_pages) {
  EXPECT_EQ(requests(0x1000, 4096, 4096), (parts{4096}));
  EXPECT_EQ(requests(0x1800, 4096, 4096), (parts{2048, 2048}));
  EXPECT_EQ(requests(0x1000, 1300, 512), (parts{512, 512, 276}));
  EXPECT_EQ(requests(0x1f00, 1024, 512), (parts{256, 512, 256}));
  // 512 bytes from an odd address would touch 129 dwords.
  EXPECT_EQ(requests(0x1001, 1024, 512), (parts{511, 512, 1}));
}

TEST(tlp_cutting, completions_end_on_the_boundary) {
  EXPECT_EQ(completions(0x1000, 256, 512, 64, completion_cut::every_boundary),
            (parts{64, 64, 64, 64}));
  EXPECT_EQ(completions(0x1030, 100, 512, 64, completion_cut::every_boundary), (parts{16, 64, 20}));
  EXPECT_EQ(completions(0x1030, 100, 512, 128, completion_cut::every_boundary), (parts{80, 20}));
  EXPECT_EQ(completions(0x1000, 4096, 512, 64, completion_cut::largest_fit), parts(8, 512));
  // From 0x30 on the first may take 512 - 48 bytes and ends at 0x1200.
  EXPECT_EQ(completions(0x1030, 1024, 512, 64, completion_cut::largest_fit), (parts{464, 512, 48}));
  EXPECT_EQ(completions(0x1030, 16, 512, 64, completion_cut::largest_fit), (parts{16}));
}

TEST(tlp_cutting, random_completions_use_every_boundary_that_the_rules_allow) {
  random_stream random(3, "cuts");
  std::set<std::uint32_t> seen;
  for (unsigned i = 0; i < 1000; ++i) {
    seen.insert(random_completion(0x1030, 1024, 256, 64, random));
  }
  // Ends at 0x1040, 0x1080, 0x10c0 and 0x1100: 256 bytes less the 48 that lie before the address.
  EXPECT_EQ(seen, (std::set<std::uint32_t>{16, 80, 144, 208}));
  seen.clear();
  for (unsigned i = 0; i < 1000; ++i) {
    seen.insert(random_completion(0x1030, 100, 256, 64, random));
  }
  EXPECT_EQ(seen, (std::set<std::uint32_t>{16, 80, 100})) << "the end of the data is an end, too";
  EXPECT_EQ(random_completion(0x1030, 16, 256, 64, random), 16U);
}

// Rates -------------------------------------------------------------------------------------------

/// Gb/s of writes, of reads, and of each when both go on.
struct published_rates {
  double write, read, both;
};

struct published {
  unsigned generation, lanes, max_payload, max_read;
  double raw, tlp;
  std::array<published_rates, 5> of;  ///< by size
};

constexpr std::array<std::uint64_t, 5> PublishedSizes = {64, 256, 512, 1500, 4096};

// The public pcie-bench model, 64-bit addresses, no ECRC.
constexpr std::array<published, 6> Published = {{
    {3,
     8,
     256,
     512,
     63.015,
     57.885,
     {{{42.10, 44.10, 33.08},
       {52.92, 53.69, 48.75},
       {52.92, 53.69, 50.75},
       {52.81, 53.60, 50.60},
       {52.92, 53.69, 50.75}}}},
    {3,
     16,
     256,
     512,
     126.031,
     113.700,
     {{{82.69, 86.63, 64.97},
       {103.95, 105.46, 95.75},
       {103.95, 105.46, 99.68},
       {103.74, 105.28, 99.39},
       {103.95, 105.46, 99.68}}}},
    {4,
     16,
     256,
     512,
     252.062,
     227.400,
     {{{165.38, 173.26, 129.94},
       {207.91, 210.92, 191.49},
       {207.91, 210.92, 199.36},
       {207.48, 210.56, 198.78},
       {207.91, 210.92, 199.36}}}},
    {5,
     16,
     256,
     512,
     504.123,
     454.800,
     {{{330.76, 346.51, 259.89},
       {415.82, 421.84, 382.99},
       {415.82, 421.84, 398.73},
       {414.96, 421.11, 397.55},
       {415.82, 421.84, 398.73}}}},
    {5,
     16,
     512,
     4096,
     504.123,
     458.493,
     {{{333.45, 349.33, 262.00},
       {419.19, 425.27, 386.10},
       {437.96, 441.26, 419.19},
       {437.49, 440.86, 430.91},
       {437.96, 441.26, 435.53}}}},
    {6,
     16,
     512,
     4096,
     968.000,
     880.384,
     {{{640.28, 670.77, 503.08},
       {804.92, 816.59, 741.38},
       {840.96, 847.29, 804.92},
       {840.06, 846.52, 827.43},
       {840.96, 847.29, 836.28}}}},
}};

/// Gb/s of data that makes so many bytes on the link.
double goodput(const pcie_rate& rate, std::uint64_t size, std::uint64_t wire) {
  // Long enough for the rounding to a picosecond not to matter.
  return 8000.0 * static_cast<double>(size * 1000) / static_cast<double>(rate.time_of(wire * 1000));
}

/// Bytes on the link beside the data, of a TLP with data and of a read request.
class overheads : public tlp_test {
 protected:
  void SetUp() override {
    make_memory_write(packet, 0, 0x1'0000'0000, nullptr, 64);
    write = wire_bytes(packet) - 64;
    make_completion(packet, 0, 0, 0, completion_status::Success, 64, 0, nullptr, 64);
    completion = wire_bytes(packet) - 64;
    make_memory_read(packet, 0, 0, 0x1'0000'0000, 64);
    request = wire_bytes(packet);
  }

  std::uint64_t write = 0;
  std::uint64_t completion = 0;
  std::uint64_t request = 0;
};

TEST_F(overheads, and_rates_agree_with_the_published_bandwidth_model) {
  for (const auto& p : Published) {
    EXPECT_NEAR(raw_rate(p.generation, p.lanes).gigabits(), p.raw, p.raw * 1e-5);
    const pcie_rate rate = tlp_rate(p.generation, p.lanes, p.max_payload);
    EXPECT_NEAR(rate.gigabits(), p.tlp, p.tlp * 1e-5);
    for (std::size_t i = 0; i < PublishedSizes.size(); ++i) {
      const std::uint64_t size = PublishedSizes[i];
      SCOPED_TRACE(testing::Message()
                   << "gen" << p.generation << " x" << p.lanes << " " << size << " B");
      const std::uint64_t packets = (size + p.max_payload - 1) / p.max_payload;
      const std::uint64_t requests = (size + p.max_read - 1) / p.max_read;
      const published_rates& of = p.of[i];
      const double writes = goodput(rate, size, size + packets * write);
      const double reads = goodput(rate, size, size + packets * completion);
      EXPECT_NEAR(writes, of.write, of.write * 0.0005);
      EXPECT_NEAR(reads, of.read, of.read * 0.0005);
      // Writes and the requests of the reads share a direction, which is the fuller one.
      const double both = goodput(rate, size, size + packets * write + requests * request);
      EXPECT_NEAR(std::min(both, reads), of.both, of.both * 0.0005);
    }
  }
}

TEST_F(overheads, make_the_published_bytes_of_ten_wqes_by_either_way) {
  // 65 bytes each: two lines of 64. The public count has 26 and 22 bytes around the data: each
  // TLP's share of DLLPs, 2 bytes, is in it.
  constexpr std::uint64_t Share = 2;
  constexpr std::uint64_t Line = 64;
  constexpr std::uint64_t Wqes = 10;
  EXPECT_EQ(Wqes * 2 * (Line + write + Share), 1800U) << "pushed";
  EXPECT_EQ(8 + write + Share + Wqes * (2 * Line + completion + Share), 1534U) << "fetched";
}

TEST(pcie_rate_test, the_guideline_gives_every_row_of_the_published_table) {
  for (const auto& row : DllpInterval) {
    for (unsigned generation = row.min_generation; generation <= row.max_generation; ++generation) {
      EXPECT_EQ(flow_update_interval(generation, row.width, row.max_payload), row.fc_guide)
          << "gen" << generation << " x" << unsigned{row.width} << " " << row.max_payload;
    }
  }
}

TEST(pcie_rate_test, rates_are_exact_fractions) {
  // 2.5 GT/s with 8b/10b: 2 Gb/s are one byte in 4000 ps.
  EXPECT_EQ(raw_rate(1, 1), (pcie_rate{1, 4000}));
  // 32 GT/s * 16 * 128/130 / 8.
  EXPECT_EQ(raw_rate(5, 16), (pcie_rate{512, 8125}));
}

TEST(pcie_rate_test, links_that_do_not_exist_are_refused) {
  EXPECT_THROW(raw_rate(7, 16), config_error);
  EXPECT_THROW(raw_rate(5, 12), config_error);
  EXPECT_THROW(tlp_rate(5, 16, 300), config_error);
}

TEST(serializer_test, a_million_bytes_one_by_one_take_as_long_as_at_once) {
  // 8125/512 ps a byte: rounding each up to 16 ps would make the million 130,859 ps too long.
  serializer link(raw_rate(5, 16));
  ps_t last = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    last = link.take(link.free_at(), 1);
  }
  EXPECT_EQ(link.free_at(), 15'869'141U);  // 15,869,140.625
  EXPECT_EQ(last, 15'869'125U);            // 15,869,124.756
}

TEST(serializer_test, an_idle_link_starts_at_once) {
  serializer link(raw_rate(1, 1));
  EXPECT_EQ(link.take(100, 2), 100U);
  EXPECT_EQ(link.free_at(), 8100U);
  EXPECT_EQ(link.take(5000, 1), 8100U);
  EXPECT_EQ(link.take(20000, 1), 20000U);
}

}  // namespace
}  // namespace carillon
