// The notification point: a CNP at once, then at most one an interval.
#include "rate_control/cnp_limiter.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace carillon {
namespace {

constexpr ps_t Us = 1'000'000;
constexpr std::size_t Entries = 4;

cnp_flow flow(std::uint32_t qpn, std::uint64_t address) {
  return {qpn, 0xfe80, address};
}

cnp_limiter every_50_us(cnp_scope scope) {
  return {scope, 50 * Us, Entries};
}

TEST(cnp_limiter, answers_the_first_marked_packet_at_once) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  EXPECT_TRUE(np.marked(flow(1, 1), 7));
}

TEST(cnp_limiter, answers_once_an_interval_then) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  EXPECT_TRUE(np.marked(flow(1, 1), 0));
  EXPECT_FALSE(np.marked(flow(1, 1), 1));
  EXPECT_FALSE(np.marked(flow(1, 1), 50 * Us - 1));
  EXPECT_TRUE(np.marked(flow(1, 1), 50 * Us));
  EXPECT_FALSE(np.marked(flow(1, 1), 51 * Us)) << "the interval begins with the CNP";
}

TEST(cnp_limiter, the_interval_begins_with_the_cnp_that_was_sent) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  EXPECT_TRUE(np.marked(flow(1, 1), 0));
  EXPECT_TRUE(np.marked(flow(1, 1), 70 * Us));
  EXPECT_FALSE(np.marked(flow(1, 1), 119 * Us));
  EXPECT_TRUE(np.marked(flow(1, 1), 120 * Us));
}

TEST(cnp_limiter, each_qp_has_its_own_interval) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  EXPECT_TRUE(np.marked(flow(1, 9), 0));
  EXPECT_TRUE(np.marked(flow(2, 9), 1));
  EXPECT_FALSE(np.marked(flow(1, 9), 2));
  EXPECT_FALSE(np.marked(flow(2, 8), 3)) << "whoever sends to it";
}

TEST(cnp_limiter, or_each_destination) {
  cnp_limiter np = every_50_us(cnp_scope::Destination);
  EXPECT_TRUE(np.marked(flow(1, 9), 0));
  EXPECT_FALSE(np.marked(flow(2, 9), 1));
  EXPECT_TRUE(np.marked(flow(1, 8), 2));
  EXPECT_TRUE(np.marked({1, 0xfe81, 8}, 3)) << "all 128 bits of the address count";
}

TEST(cnp_limiter, or_the_port_as_a_whole) {
  cnp_limiter np = every_50_us(cnp_scope::Port);
  EXPECT_TRUE(np.marked(flow(1, 9), 0));
  EXPECT_FALSE(np.marked(flow(2, 8), 1));
  EXPECT_TRUE(np.marked(flow(3, 7), 50 * Us));
  EXPECT_EQ(np.evicted(), 0U);
}

TEST(cnp_limiter, without_an_interval_answers_every_packet) {
  cnp_limiter np(cnp_scope::Qp, 0, Entries);
  EXPECT_TRUE(np.marked(flow(1, 1), 5));
  EXPECT_TRUE(np.marked(flow(1, 1), 5));
  EXPECT_EQ(np.held(), 0U);
}

TEST(cnp_limiter, the_oldest_makes_room_when_the_table_is_full) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  for (std::uint32_t qpn = 1; qpn <= 5; ++qpn) {
    EXPECT_TRUE(np.marked(flow(qpn, 1), qpn * Us)) << "nobody has to do without";
  }
  EXPECT_EQ(np.evicted(), 1U);
  EXPECT_EQ(np.held(), Entries);
  EXPECT_FALSE(np.marked(flow(2, 1), 6 * Us));
  EXPECT_TRUE(np.marked(flow(1, 1), 7 * Us)) << "forgotten, so early";
}

TEST(cnp_limiter, what_is_over_makes_room_without_being_counted) {
  cnp_limiter np = every_50_us(cnp_scope::Qp);
  for (std::uint32_t qpn = 1; qpn <= 4; ++qpn) {
    np.marked(flow(qpn, 1), qpn * Us);
  }
  EXPECT_TRUE(np.marked(flow(5, 1), 52 * Us));
  EXPECT_EQ(np.evicted(), 0U);
  EXPECT_EQ(np.held(), 3U);
  EXPECT_FALSE(np.marked(flow(3, 1), 52 * Us));
}

TEST(cnp_limiter, needs_room_for_a_flow) {
  EXPECT_THROW(cnp_limiter(cnp_scope::Qp, Us, 0), model_error);
}

}  // namespace
}  // namespace carillon
