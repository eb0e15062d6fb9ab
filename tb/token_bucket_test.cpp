// A rate in bytes of wire: exact at any period of looking, never more than its room, never owing
// more.
#include "tx_sched/token_bucket.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

constexpr std::uint32_t Room = 4222;
constexpr ps_t Ns = 1000;

TEST(token_bucket, without_a_rate_is_always_open) {
  token_bucket bucket(Room);
  EXPECT_FALSE(bucket.limited());
  EXPECT_TRUE(bucket.open());
}

TEST(token_bucket, may_owe_one_packet_and_opens_when_that_is_paid) {
  token_bucket bucket(Room);
  bucket.set_rate(0, 8000);  // 1 byte a nanosecond
  bucket.charge(Room);
  EXPECT_FALSE(bucket.open()) << "nothing left";
  EXPECT_EQ(bucket.opens(), 1U);
  bucket.refill(1);
  EXPECT_TRUE(bucket.open());
  bucket.charge(1000);
  EXPECT_EQ(bucket.opens(), 1000 * Ns + 1) << "1000 bytes, less the thousandth of one";
  bucket.refill(1000 * Ns);
  EXPECT_FALSE(bucket.open());
  bucket.refill(1000 * Ns + 1);
  EXPECT_TRUE(bucket.open());
}

TEST(token_bucket, holds_no_more_than_its_room_however_long_it_idles) {
  token_bucket bucket(Room);
  bucket.set_rate(0, 400000);
  bucket.refill(ps_t{3600} * 1000000000000);  // an hour
  bucket.charge(Room);
  EXPECT_FALSE(bucket.open());
}

TEST(token_bucket, owes_no_more_than_its_room) {
  token_bucket bucket(Room);
  bucket.set_rate(0, 8000);
  for (unsigned i = 0; i < 100; ++i) {
    bucket.charge(Room);
  }
  EXPECT_EQ(bucket.opens(), Room * Ns + 1);
}

// 7 Mb/s at a period of 999 ps: no rounding adds up, looking a million times is looking once.
TEST(token_bucket, adds_up_without_an_error) {
  constexpr ps_t Period = 999;
  constexpr ps_t Looks = 1000000;
  token_bucket often(Room);
  token_bucket once(Room);
  for (token_bucket* each : {&often, &once}) {
    each->set_rate(0, 7);
    each->charge(Room);
    each->charge(Room);
  }
  for (ps_t i = 1; i <= Looks; ++i) {
    often.refill(i * Period);
  }
  once.refill(Looks * Period);
  EXPECT_EQ(often.opens(), once.opens());
  // 4222 bytes at 7/8000 byte a nanosecond; the rate itself is rounded to 2^-24.
  EXPECT_NEAR(static_cast<double>(once.opens()), 4222.0 * 8000 / 7 * 1000, 2e-4 * 4.8e9);
}

TEST(token_bucket, a_new_rate_counts_from_when_it_was_set) {
  token_bucket bucket(Room);
  bucket.set_rate(0, 8000);
  bucket.charge(Room);
  bucket.charge(1000);
  bucket.set_rate(500 * Ns, 16000);
  EXPECT_EQ(bucket.opens(), 750 * Ns + 1) << "500 bytes at 1, 500 at 2";
}

}  // namespace
}  // namespace carillon
