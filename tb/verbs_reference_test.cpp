// The judge is judged: what is right passes, and each kind of wrong is found. Memory is an array
// here; "the NIC" is what the test writes into it.
#include "reference/verbs_reference.h"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace carillon::reference {
namespace {

using bytes_t = std::vector<std::uint8_t>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr queue_key A{0, 2, false};
constexpr queue_key B{1, 3, false};

class verbs_reference_test : public testing::Test {
 protected:
  verbs_reference_test()
      : judge([this](unsigned host, std::uint64_t address, std::uint8_t* into, std::size_t n) {
          std::copy_n(memory[host].begin() + static_cast<std::ptrdiff_t>(address), n, into);
        }) {
    judge.connect(A, B, connection_kind::reliable);
  }

  void put(unsigned host, std::uint64_t address, const bytes_t& bytes) {
    std::copy(bytes.begin(), bytes.end(),
              memory[host].begin() + static_cast<std::ptrdiff_t>(address));
  }

  void put_word(unsigned host, std::uint64_t address, std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) {
      memory[host][address + i] = static_cast<std::uint8_t>(value >> 8 * i);
    }
  }

  static send_work write(std::uint64_t id, std::uint64_t to, bytes_t data, bool signaled = true) {
    send_work work;
    work.id = id;
    work.what = operation::write;
    work.signaled = signaled;
    work.data = std::move(data);
    work.remote_address = to;
    return work;
  }

  static send_work send(std::uint64_t id, bytes_t data) {
    send_work work;
    work.id = id;
    work.what = operation::send;
    work.data = std::move(data);
    return work;
  }

  static send_work read_of(std::uint64_t id, std::uint64_t from, range into) {
    send_work work;
    work.id = id;
    work.what = operation::read;
    work.local = {into};
    work.remote_address = from;
    return work;
  }

  static send_work add(std::uint64_t id, std::uint64_t to, std::uint64_t value,
                       std::uint64_t into) {
    send_work work;
    work.id = id;
    work.what = operation::fetch_add;
    work.operand = value;
    work.remote_address = to;
    work.local = {{into, 8}};
    return work;
  }

  static outcome done(std::uint64_t id, std::uint32_t bytes = 0) {
    outcome seen;
    seen.id = id;
    seen.bytes = bytes;
    return seen;
  }

  static outcome failed(std::uint64_t id) {
    outcome seen;
    seen.id = id;
    seen.failed = true;
    return seen;
  }

  void expect_complaint(const char* about) {
    judge.finish();
    ASSERT_FALSE(judge.complaints().empty()) << "nothing was found wrong";
    EXPECT_THAT(judge.complaints()[0], HasSubstr(about));
  }

  void expect_content() {
    judge.finish();
    EXPECT_THAT(judge.complaints(), IsEmpty());
    EXPECT_EQ(judge.result().mismatches, 0U);
  }

  std::array<bytes_t, 2> memory{bytes_t(65536), bytes_t(65536)};
  verbs_reference judge;
};

TEST_F(verbs_reference_test, a_write_that_arrived_is_right) {
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1, 2, 3});
  judge.send_completed(A, done(1));
  expect_content();
  EXPECT_EQ(judge.result().sends, 1U);
}

TEST_F(verbs_reference_test, a_wrong_byte_of_a_write_is_found) {
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1, 9, 3});
  judge.send_completed(A, done(1));
  expect_complaint("WRITE 1: byte 1 of 3 at 0x100 is 0x09 instead of 0x02");
}

TEST_F(verbs_reference_test, a_write_may_be_seen_a_little_after_its_completion) {
  put(1, 0x100, {7, 8, 9});
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1});
  judge.send_completed(A, done(1));
  put(1, 0x101, {2, 3});
  expect_content();
}

TEST_F(verbs_reference_test, a_write_that_never_arrives_is_found_at_the_end) {
  put(1, 0x100, {7, 8, 9});
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1, 2});
  judge.send_completed(A, done(1));
  expect_complaint("at the end the byte at 0x102 is 0x09 instead of 0x03");
}

TEST_F(verbs_reference_test, what_changes_after_the_completion_is_found_at_the_end) {
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1, 2, 3});
  judge.send_completed(A, done(1));
  put(1, 0x102, {0});
  expect_complaint("at the end the byte at 0x102 is 0");
}

TEST_F(verbs_reference_test, a_completion_retires_unsignaled_requests_before_it) {
  judge.posted(A, write(1, 0x100, {1}, false));
  judge.posted(A, write(2, 0x200, {2}));
  put(1, 0x100, {1});
  put(1, 0x200, {2});
  judge.send_completed(A, done(2));
  expect_content();
  EXPECT_EQ(judge.result().sends, 2U);
}

TEST_F(verbs_reference_test, a_signaled_request_may_not_be_passed_over) {
  judge.posted(A, write(1, 0x100, {1}));
  judge.posted(A, write(2, 0x200, {2}));
  put(1, 0x100, {1});
  put(1, 0x200, {2});
  judge.send_completed(A, done(2));
  expect_complaint("work request 1 was passed over by 2");
}

TEST_F(verbs_reference_test, a_request_completes_once) {
  judge.posted(A, write(1, 0x100, {1}));
  put(1, 0x100, {1});
  judge.send_completed(A, done(1));
  judge.send_completed(A, done(1));
  expect_complaint("not outstanding");
}

TEST_F(verbs_reference_test, a_request_that_never_completes_is_found) {
  judge.posted(A, write(1, 0x100, {1}));
  expect_complaint("1 signaled work requests never completed");
}

TEST_F(verbs_reference_test, nothing_completes_well_after_a_failure) {
  judge.posted(A, write(1, 0x100, {1}));
  judge.posted(A, write(2, 0x200, {2}));
  put(1, 0x200, {2});
  judge.send_completed(A, failed(1));
  judge.send_completed(A, done(2));
  expect_complaint("completed well after one that failed");
}

TEST_F(verbs_reference_test, a_failed_write_may_have_been_executed_or_not) {
  judge.posted(A, write(1, 0x100, {1, 2, 3}));
  put(1, 0x100, {1});
  judge.send_completed(A, failed(1));
  expect_content();
}

TEST_F(verbs_reference_test, the_nth_receive_is_the_nth_send) {
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(A, send(1, {5, 6, 7}));
  put(1, 0x300, {5, 6, 7});
  judge.receive_completed(B, done(7, 3));
  judge.send_completed(A, done(1));
  expect_content();
  EXPECT_EQ(judge.result().receives, 1U);
}

TEST_F(verbs_reference_test, a_message_that_arrives_twice_is_found) {
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(B, receive_work{8, {{0x320, 16}}});
  judge.posted(A, send(1, {5}));
  put(1, 0x300, {5});
  put(1, 0x320, {5});
  judge.receive_completed(B, done(7, 1));
  judge.receive_completed(B, done(8, 1));
  judge.send_completed(A, done(1));
  expect_complaint("nobody sent such a message");
}

TEST_F(verbs_reference_test, messages_in_the_wrong_order_are_found) {
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(A, send(1, {5}));
  judge.posted(A, send(2, {6}));
  put(1, 0x300, {6});
  judge.receive_completed(B, done(7, 1));
  expect_complaint("receive 7 (1 bytes) is not message 1 (1 bytes)");
}

TEST_F(verbs_reference_test, receives_are_used_in_the_order_of_posting) {
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(B, receive_work{8, {{0x320, 16}}});
  judge.posted(A, send(1, {5}));
  put(1, 0x320, {5});
  judge.receive_completed(B, done(8, 1));
  expect_complaint("receive 8 completed out of turn");
}

TEST_F(verbs_reference_test, a_send_that_completed_but_never_arrived_is_found) {
  judge.posted(A, send(1, {5}));
  judge.send_completed(A, done(1));
  expect_complaint("1 messages completed, but the peer never received them");
}

TEST_F(verbs_reference_test, a_wrong_length_or_immediate_is_found) {
  send_work work = send(1, {5, 6});
  work.what = operation::send_immediate;
  work.immediate = 0x11;
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(A, work);
  put(1, 0x300, {5, 6});
  outcome seen = done(7, 2);
  seen.has_immediate = true;
  seen.immediate = 0x12;
  judge.receive_completed(B, seen);
  expect_complaint("is not message 1");
}

TEST_F(verbs_reference_test, an_unreliable_connection_may_lose_repeat_and_reorder) {
  judge.connect(A, B, connection_kind::unreliable);
  for (std::uint64_t i = 0; i < 3; ++i) {
    judge.posted(B, receive_work{7 + i, {{0x300 + i * 16, 16}}});
  }
  for (std::uint8_t i = 1; i <= 4; ++i) {
    judge.posted(A, send(i, {i}));
    judge.send_completed(A, done(i));
  }
  put(1, 0x300, {3});
  judge.receive_completed(B, done(7, 1));
  EXPECT_EQ(judge.result().lost, 2U);
  put(1, 0x310, {1});  // overtaken
  judge.receive_completed(B, done(8, 1));
  EXPECT_EQ(judge.result().lost, 1U);
  put(1, 0x320, {3});  // once more
  judge.receive_completed(B, done(9, 1));
  EXPECT_EQ(judge.result().repeated, 1U);
  expect_content();
  EXPECT_EQ(judge.result().lost, 2U) << "the fourth never came";
}

TEST_F(verbs_reference_test, an_unreliable_connection_may_not_invent_messages) {
  judge.connect(A, B, connection_kind::unreliable);
  judge.posted(B, receive_work{7, {{0x300, 16}}});
  judge.posted(A, send(1, {1}));
  judge.send_completed(A, done(1));
  put(1, 0x300, {9});
  judge.receive_completed(B, done(7, 1));
  expect_complaint("nobody sent such a message");
}

TEST_F(verbs_reference_test, a_read_fetches_what_is_there) {
  put(1, 0x400, {9, 8, 7});
  judge.posted(A, read_of(1, 0x400, {0x500, 3}));
  put(0, 0x500, {9, 8, 7});
  judge.send_completed(A, done(1, 3));
  expect_content();
}

TEST_F(verbs_reference_test, a_read_sees_the_writes_before_it) {
  judge.posted(A, write(1, 0x400, {1, 1, 1}, false));
  judge.posted(A, read_of(2, 0x400, {0x500, 3}));
  put(1, 0x400, {1, 1, 1});
  put(0, 0x500, {0, 1, 1});  // fetched before the first byte was written
  judge.send_completed(A, done(2, 3));
  expect_complaint("READ 2: byte 0 of 3 at 0x500 is 0");
}

TEST_F(verbs_reference_test, a_read_may_or_may_not_see_a_later_write) {
  put(1, 0x400, {1});
  judge.posted(A, read_of(1, 0x400, {0x500, 1}));
  judge.posted(A, write(2, 0x400, {2}));
  put(0, 0x500, {2});
  put(1, 0x400, {2});
  judge.send_completed(A, done(1, 1));
  judge.send_completed(A, done(2));
  expect_content();
  EXPECT_EQ(judge.result().bytes_undefined, 1U);
}

TEST_F(verbs_reference_test, atomics_form_a_chain) {
  put_word(1, 0x600, 100);
  judge.posted(A, add(1, 0x600, 5, 0x700));
  judge.posted(A, add(2, 0x600, 7, 0x708));
  put_word(0, 0x700, 100);
  put_word(0, 0x708, 105);
  put_word(1, 0x600, 112);
  judge.send_completed(A, done(1, 8));
  judge.send_completed(A, done(2, 8));
  expect_content();
}

TEST_F(verbs_reference_test, an_atomic_that_was_executed_twice_is_found) {
  put_word(1, 0x600, 100);
  judge.posted(A, add(1, 0x600, 5, 0x700));
  put_word(0, 0x700, 105);
  put_word(1, 0x600, 110);
  judge.send_completed(A, done(1, 8));
  expect_complaint("form no chain");
}

TEST_F(verbs_reference_test, a_lost_addition_is_found_by_the_final_value) {
  put_word(1, 0x600, 100);
  judge.posted(A, add(1, 0x600, 5, 0x700));
  put_word(0, 0x700, 100);
  judge.send_completed(A, done(1, 8));
  expect_complaint("ends as 0x64 instead of 0x69");
}

TEST_F(verbs_reference_test, a_failed_compare_leaves_the_value) {
  put_word(1, 0x600, 100);
  send_work swap = add(1, 0x600, 5, 0x700);
  swap.what = operation::compare_swap;
  swap.compare = 99;
  judge.posted(A, swap);
  put_word(0, 0x700, 100);
  judge.send_completed(A, done(1, 8));
  expect_content();
}

TEST_F(verbs_reference_test, bytes_of_two_writers_are_not_compared) {
  const queue_key c{0, 9, false};
  const queue_key d{1, 10, false};
  judge.connect(c, d, connection_kind::reliable);
  judge.posted(A, write(1, 0x100, {1}));
  put(1, 0x100, {1});
  judge.send_completed(A, done(1));
  judge.posted(c, write(2, 0x100, {2}));
  put(1, 0x100, {2});
  judge.send_completed(c, done(2));
  put(1, 0x100, {1});
  expect_content();
}

}  // namespace
}  // namespace carillon::reference
