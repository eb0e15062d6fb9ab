// The tables of perftest tests, character by character, and the figures in them. The layouts are
// those of outputs of linux-rdma/perftest that users have published; all numbers are by hand.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "cli/perftest_statistics.h"
#include "cli/perftest_table.h"
#include "common/random.h"

namespace carillon {
namespace {

constexpr ps_t Us = 1'000'000;

// Laps of 2.00, 2.10 ... 2.90 us and two accidents: 12 laps, of which the ten smaller count.
std::vector<ps_t> twelve_laps() {
  std::vector<ps_t> laps = {50 * Us, 9 * Us};
  for (ps_t i = 0; i < 10; ++i) {
    laps.push_back(2 * Us + i * Us / 10);
  }
  return laps;
}

perftest_facts facts_of(const perftest_spec& spec) {
  perftest_facts facts;
  facts.spec = &spec;
  facts.mtu = 4096;
  gid ours{};
  ours[10] = 255;
  ours[11] = 255;
  ours[12] = 10;
  ours[15] = 1;
  gid theirs = ours;
  theirs[15] = 2;
  facts.ends = {{0, 0x42, 0x123456, 0x1a2b00, 0x100002000, ours},
                {1, 0x43, 0xabc, 0x1a2c00, 0x100003000, theirs}};
  return facts;
}

TEST(perftest_figures, leave_out_the_two_largest_laps_as_perftest_does) {
  const latency_figures found = figures_of(twelve_laps(), 2);
  EXPECT_DOUBLE_EQ(found.min, 1.0);
  // The second largest of all is the maximum: lap 10 of 0 to 11.
  EXPECT_DOUBLE_EQ(found.max, 4.5);
  // Of ten laps the middle two are 2.40 and 2.50.
  EXPECT_DOUBLE_EQ(found.typical, 1.225);
  EXPECT_DOUBLE_EQ(found.average, 1.225);
  // Of 0 to 9 tenths the variance is (10^2 - 1) / 12 = 8.25; its root 2.8723, half of it in tenths.
  EXPECT_NEAR(found.deviation, 0.143614, 1e-6);
  // ceil(0.99 * 10) = 10 and ceil(0.999 * 10) = 10: the lap behind the ten.
  EXPECT_DOUBLE_EQ(found.p99, 4.5);
  EXPECT_DOUBLE_EQ(found.p999, 4.5);
  EXPECT_DOUBLE_EQ(found.worst, 25.0);
}

TEST(perftest_figures, report_all_of_a_round_trip_that_has_one_message) {
  EXPECT_DOUBLE_EQ(figures_of(twelve_laps(), 1).typical, 2.45);
}

TEST(perftest_figures, take_the_middle_lap_of_an_odd_number) {
  // Five laps: 1, 2 and 3 us count.
  EXPECT_DOUBLE_EQ(figures_of({9 * Us, 1 * Us, 3 * Us, 2 * Us, 8 * Us}, 1).typical, 2.0);
}

TEST(perftest_figures, percentiles_are_laps_of_a_rank) {
  // Laps of 1 to 1002 us: 1000 count. Ranks 990 and 999, from 0, are laps of 991 and 1000 us.
  std::vector<ps_t> laps;
  for (ps_t i = 1002; i > 0; --i) {
    laps.push_back(i * Us);
  }
  const latency_figures found = figures_of(laps, 1);
  EXPECT_DOUBLE_EQ(found.p99, 991.0);
  EXPECT_DOUBLE_EQ(found.p999, 1000.0);
  EXPECT_DOUBLE_EQ(found.max, 1001.0);
}

TEST(perftest_figures, average_bandwidth_is_from_the_first_post_to_the_last_completion) {
  bandwidth_record record;
  record.messages = 4;
  record.from = 10 * Us;
  record.to = 12 * Us;
  // 4 * 65536 bytes in 2 us: 131.072 GB/s.
  const bandwidth_figures found = figures_of(record, 65536);
  EXPECT_DOUBLE_EQ(found.average, 131072e6);
  EXPECT_DOUBLE_EQ(found.messages_per_second, 2e6);
  EXPECT_DOUBLE_EQ(found.peak, 0);
}

TEST(perftest_figures, peak_bandwidth_is_that_of_the_best_stretch) {
  bandwidth_record record;
  record.posted = {0, 1 * Us, 2 * Us, 9 * Us};
  record.completed = {4 * Us, 5 * Us, 6 * Us, 12 * Us};
  record.messages = 4;
  record.to = 12 * Us;
  // 0..2: 6 us for three; 0..3: 12 for four; 1..2: 5 for two; 3..3: 3 for one. The first is best.
  EXPECT_DOUBLE_EQ(shortest_message_time(record.posted, record.completed), 2e6);
  EXPECT_DOUBLE_EQ(figures_of(record, 1000).peak, 1000 / 2e-6);
}

TEST(perftest_figures, the_best_stretch_is_found_without_trying_all) {
  random_stream random(1, "perftest_figures");
  for (unsigned run = 0; run < 200; ++run) {
    const std::size_t count = 1 + random.below(40);
    std::vector<ps_t> posted;
    std::vector<ps_t> completed;
    ps_t now = 0;
    for (std::size_t i = 0; i < count; ++i) {
      now += random.below(1000);
      posted.push_back(now);
      completed.push_back(std::max(now, completed.empty() ? 0 : completed.back()) +
                          1 + random.below(3000));
    }
    double best = 1e18;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i; j < count; ++j) {
        best = std::min(best, static_cast<double>(completed[j] - posted[i]) /
                                  static_cast<double>(j - i + 1));
      }
    }
    ASSERT_DOUBLE_EQ(shortest_message_time(posted, completed), best) << "run " << run;
  }
}

TEST(perftest_table, of_a_latency_test_is_perftests) {
  perftest_spec spec;
  spec.iterations = 13;
  spec.inline_bytes = 220;
  spec.gid_index = 3;
  const std::vector<ps_t> laps = twelve_laps();
  perftest_facts facts = facts_of(spec);
  facts.laps = &laps;
  const json test = perftest_json(facts);
  EXPECT_EQ(
      perftest_head(test) + perftest_row(test) + perftest_rule(),
      R"(---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 1            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 PCIe relax order: OFF
 ibv_wr* API     : OFF
 TX depth        : 1
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 3
 Max inline data : 220[B]
 rdma_cm QPs     : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0042 PSN 0x123456 RKey 0x1a2b00 VAddr 0x00000100002000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01
 remote address: LID 0000 QPN 0x0043 PSN 0x0abc RKey 0x1a2c00 VAddr 0x00000100003000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:02
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       13            1.00           4.50         1.23               1.23           0.14            4.50                   4.50
---------------------------------------------------------------------------------------
)");
}

TEST(perftest_table, of_a_bandwidth_test_is_perftests) {
  perftest_spec spec;
  spec.latency = false;
  spec.size = 65536;
  spec.qps = 4;
  spec.tx_depth = 128;
  spec.gbits = true;
  bandwidth_record record;
  record.messages = 20000;
  record.from = 0;
  record.to = 26739 * Us;  // 20000 * 524288 bits: 392.15 Gb/s
  perftest_facts facts = facts_of(spec);
  facts.ends.clear();
  facts.records = {&record};
  const json test = perftest_json(facts);
  EXPECT_EQ(
      perftest_head(test) + perftest_row(test),
      R"(---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 4            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 PCIe relax order: OFF
 ibv_wr* API     : OFF
 TX depth        : 128
 CQ Moderation   : 1
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 0
 Max inline data : 0[B]
 rdma_cm QPs     : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      20000            0.00               392.15             0.747971
)");
}

TEST(perftest_table, counts_mebibytes_unless_gigabits_are_asked_for) {
  perftest_spec spec;
  spec.latency = false;
  spec.size = 1048576;
  bandwidth_record record;
  record.messages = 1000;
  record.to = 1'000'000 * Us;  // 1 s: 1000 MiB/s
  perftest_facts facts = facts_of(spec);
  facts.records = {&record};
  const json test = perftest_json(facts);
  EXPECT_NE(perftest_head(test).find("BW peak[MB/sec]    BW average[MB/sec]"), std::string::npos);
  EXPECT_EQ(perftest_row(test),
            " 1048576    1000             0.00               1000.00            0.001000\n");
}

TEST(perftest_table, adds_the_directions_of_a_bidirectional_test) {
  perftest_spec spec;
  spec.latency = false;
  spec.bidirectional = true;
  spec.gbits = true;
  spec.size = 125;
  bandwidth_record one;
  one.messages = 1'000'000;
  one.to = 1'000'000 * Us;  // 1 Gb/s
  bandwidth_record other = one;
  other.to = 500'000 * Us;  // 2 Gb/s
  perftest_facts facts = facts_of(spec);
  facts.records = {&one, &other};
  const json test = perftest_json(facts);
  EXPECT_NE(perftest_head(test).find("RDMA_Write Bidirectional BW Test"), std::string::npos);
  EXPECT_EQ(perftest_row(test),
            " 125        1000000          0.00               3.00               3.000000\n");
}

TEST(perftest_table, of_a_duration_has_the_average_only) {
  perftest_spec spec;
  spec.duration = Us;
  const std::vector<ps_t> laps = {2 * Us, 2 * Us, 2 * Us};
  perftest_facts facts = facts_of(spec);
  facts.laps = &laps;
  const json test = perftest_json(facts);
  EXPECT_NE(perftest_head(test).find(" #bytes        #iterations       t_avg[usec]\n"),
            std::string::npos);
  EXPECT_EQ(perftest_row(test), " 2             3               1.00\n");
}

TEST(perftest_table, shows_outstanding_reads_and_no_keys_of_sends) {
  perftest_spec spec;
  spec.verb = perftest_verb::read;
  const std::vector<ps_t> laps = {Us};
  perftest_facts facts = facts_of(spec);
  facts.laps = &laps;
  const std::string reads = perftest_head(perftest_json(facts));
  EXPECT_NE(reads.find(" Outstand reads  : 16\n"), std::string::npos);
  EXPECT_NE(reads.find(" local address: LID 0000 QPN 0x0042 PSN 0x123456 OUT 0x10 RKey"),
            std::string::npos);
  spec.verb = perftest_verb::send;
  const std::string sends = perftest_head(perftest_json(facts));
  EXPECT_EQ(sends.find("RKey"), std::string::npos);
  EXPECT_NE(sends.find(" RX depth        : 512\n"), std::string::npos);
}

TEST(perftest_json_file, has_the_head_and_a_result_for_each_size) {
  perftest_spec spec;
  spec.iterations = 13;
  const std::vector<ps_t> laps = twelve_laps();
  perftest_facts facts = facts_of(spec);
  facts.laps = &laps;
  const json document = perftest_document({perftest_json(facts), perftest_json(facts)});
  EXPECT_EQ(document["test_info"]["test"], "RDMA_Write Latency Test");
  EXPECT_EQ(document["test_info"]["Device"], "mlx5_0");
  ASSERT_EQ(document["results"].size(), 2U);
  EXPECT_EQ(document["results"][0]["MsgSize"], 2);
  EXPECT_DOUBLE_EQ(document["results"][0]["t_typical"].get<double>(), 1.225);
}

}  // namespace
}  // namespace carillon
