// completion: when a CQ raises an event, without time. Rules of mlx5's arm doorbell, and of verbs
// for who asks twice.
#include <gtest/gtest.h>

#include "completion/cq_notification.h"

namespace carillon {
namespace {

using result = cq_notification::arm_result;

/// A CQ whose reader tells the events it sees.
struct cq {
  cq_notification notification;
  std::uint32_t producer = 0;

  bool written(bool solicited = false, bool demanded = false) {
    producer = (producer + 1) & CqIndexMask;
    return notification.written(producer, solicited, demanded);
  }

  result arm(std::uint8_t sn, std::uint32_t consumer, bool solicited_only = false) {
    return notification.arm(sn, solicited_only, consumer, producer);
  }

  void told() { notification.told(false); }
};

TEST(cq_notification, a_CQ_that_is_not_armed_raises_nothing) {
  cq it;
  EXPECT_FALSE(it.written());
  EXPECT_FALSE(it.written(true));
}

TEST(cq_notification, an_armed_CQ_raises_one_event_until_the_next_arm) {
  cq it;
  EXPECT_EQ(it.arm(0, 0), result::waits);
  EXPECT_TRUE(it.written());
  it.told();
  EXPECT_FALSE(it.written());
  EXPECT_EQ(it.arm(1, 2), result::waits);
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, an_entry_that_is_there_already_raises_the_event_at_once) {
  cq it;
  it.written();
  it.written();
  EXPECT_EQ(it.arm(0, 1), result::raises);
  it.told();
  EXPECT_EQ(it.arm(1, 2), result::waits);
}

TEST(cq_notification, a_consumer_beyond_the_producer_has_nothing_to_be_told_yet) {
  cq it;
  EXPECT_EQ(it.arm(0, 2), result::waits);
  EXPECT_FALSE(it.written());
  EXPECT_FALSE(it.written());
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, armed_for_solicited_only_the_others_do_not_count) {
  cq it;
  EXPECT_EQ(it.arm(0, 0, true), result::waits);
  EXPECT_FALSE(it.written());
  EXPECT_TRUE(it.written(true));
}

TEST(cq_notification, a_solicited_entry_that_is_there_already_counts_only_beyond_the_consumer) {
  cq it;
  it.written(true);
  it.written();
  EXPECT_EQ(it.arm(0, 1, true), result::waits);  // entry 0 was consumed, entry 1 does not count
  EXPECT_EQ(it.arm(0, 0, true), result::raises);
}

TEST(cq_notification, without_any_solicited_entry_nothing_is_there_already) {
  cq it;
  for (int i = 0; i < 5; ++i) {
    it.written();
  }
  EXPECT_EQ(it.arm(0, 0, true), result::waits);
}

TEST(cq_notification, indices_run_modulo_2_24) {
  cq it;
  it.producer = CqIndexMask - 1;
  EXPECT_EQ(it.arm(0, CqIndexMask, false), result::waits);  // one beyond the producer
  EXPECT_FALSE(it.written());
  EXPECT_TRUE(it.written());  // entry 0xffffff; the producer is 0 now
  it.told();
  EXPECT_EQ(it.arm(1, 0), result::waits);
  EXPECT_EQ(it.arm(1, CqIndexMask), result::raises);
}

TEST(cq_notification, an_arm_sent_before_the_event_was_consumed_is_ignored) {
  // The reader counts consumed events; the count 0 says that it has not seen the first one.
  cq it;
  it.arm(0, 0);
  EXPECT_TRUE(it.written());
  it.told();
  EXPECT_EQ(it.arm(0, 0), result::stale);
  EXPECT_FALSE(it.written());
  EXPECT_EQ(it.arm(1, 2), result::waits);
  EXPECT_EQ(it.arm(0, 0), result::stale);  // still an old one, whatever the state
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, arm_numbers_run_modulo_4) {
  cq it;
  for (std::uint32_t n = 0; n < 9; ++n) {
    EXPECT_EQ(it.arm(n & 3, n), result::waits) << n;
    EXPECT_TRUE(it.written()) << n;
    it.told();
    EXPECT_EQ(it.arm(n & 3, n), result::stale) << n;
  }
}

TEST(cq_notification, the_first_arm_may_have_any_number) {
  for (std::uint8_t sn = 0; sn < 4; ++sn) {
    cq it;
    EXPECT_EQ(it.arm(sn, 0), result::waits);
    EXPECT_TRUE(it.written());
  }
}

TEST(cq_notification, arming_again_moves_the_consumer) {
  cq it;
  it.arm(0, 0, true);
  it.written();
  EXPECT_EQ(it.arm(0, 1, true), result::waits);
  EXPECT_TRUE(it.written(true));
}

TEST(cq_notification, an_arm_for_solicited_does_not_narrow_one_for_any) {
  // verbs: while a request for the next completion is pending, one for the next solicited
  // completion changes nothing.
  cq it;
  it.arm(0, 0, false);
  it.arm(0, 0, true);
  EXPECT_TRUE(it.written());
  it.told();
  it.arm(1, 1, true);  // a new request is on its own
  EXPECT_FALSE(it.written());
  it.arm(1, 2, false);  // and one for any widens it
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, a_WQE_that_asks_for_an_event_gets_it_in_any_state) {
  // mlx5: ce 3 is "CQE and EQE".
  cq it;
  EXPECT_TRUE(it.written(false, true));
  it.told();
  it.arm(1, 1, true);
  EXPECT_TRUE(it.written(false, true));  // answers the arm, whatever that waited for
  it.told();
  EXPECT_FALSE(it.written(true));
  EXPECT_EQ(it.arm(1, 3), result::stale);
}

TEST(cq_notification, events_that_nobody_armed_for_are_counted_too) {
  // Events 0 (armed) and 1, 2, 3 (ce 3): the reader, who has consumed all four, arms with 4 mod 4.
  cq it;
  it.arm(0, 0);
  it.written();
  it.told();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(it.written(false, true));
    it.told();
  }
  EXPECT_EQ(it.arm(3, 3), result::stale);  // it has seen three
  EXPECT_EQ(it.arm(0, 4), result::waits);
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, an_event_not_told_yet_tells_later_ones_too) {
  cq it;
  EXPECT_TRUE(it.written(false, true));
  EXPECT_TRUE(it.notification.pending());
  EXPECT_FALSE(it.written(false, true));
  EXPECT_EQ(it.arm(0, 0), result::waits);  // answered by the same event
  EXPECT_FALSE(it.written());
  it.told();
  EXPECT_FALSE(it.notification.pending());
  EXPECT_EQ(it.arm(0, 0), result::stale);
  EXPECT_TRUE(it.written(false, true));
}

TEST(cq_notification, a_lost_event_is_not_counted) {
  cq it;
  it.arm(2, 0);
  EXPECT_TRUE(it.written());
  it.notification.told(true);
  EXPECT_EQ(it.arm(2, 1), result::waits);
  EXPECT_TRUE(it.written());
}

TEST(cq_notification, begins_as_its_context_says) {
  cqc_line line;
  line.arm_state = queue_arm_state::Armed;
  line.arm_sn = 2;
  line.arm_solicited = 1;
  line.arm_index = 1;
  cq it;
  it.notification.reset(line);
  EXPECT_FALSE(it.written(true));  // consumed already
  EXPECT_FALSE(it.written());
  EXPECT_TRUE(it.written(true));
  it.told();
  EXPECT_EQ(it.arm(2, 3), result::stale);
}

TEST(cq_notification, an_always_armed_CQ_raises_an_event_for_each_entry) {
  cqc_line line;
  line.arm_state = queue_arm_state::AlwaysArmed;
  cq it;
  it.notification.reset(line);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(it.written());
    it.told();
    EXPECT_EQ(it.arm(0, 0), result::waits);  // there is nothing to arm
  }
}

}  // namespace
}  // namespace carillon
