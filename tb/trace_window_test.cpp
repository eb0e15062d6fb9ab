// --window as a user writes it.

#include "cli/trace_window.h"

#include <gtest/gtest.h>
#include <limits>

#include "common/error.h"

namespace carillon {
namespace {

trace_spec window(std::string_view text) {
  trace_spec result;
  set_window(result, text, "--window");
  return result;
}

TEST(trace_window, times_are_nanoseconds) {
  EXPECT_EQ(window("1000:5000").from, 1000000);
  EXPECT_EQ(window("1000:5000").to, 5000000);
  EXPECT_EQ(window("1000:5000").last_message, std::numeric_limits<std::uint32_t>::max());
}

TEST(trace_window, an_m_makes_it_messages) {
  EXPECT_EQ(window("m5:m9").first_message, 5);
  EXPECT_EQ(window("m5:m9").last_message, 9);
  EXPECT_EQ(window("m5:m9").to, NeverPs);
}

TEST(trace_window, an_empty_end_is_open) {
  EXPECT_EQ(window(":5000").from, 0);
  EXPECT_EQ(window("1000:").to, NeverPs);
  EXPECT_EQ(window("m5:").last_message, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(window(":m9").first_message, 0);
}

TEST(trace_window, everything_else_is_refused) {
  for (const char* text : {"", "5", "9:5", "m9:m5", "m5:9", "5:m9", "a:b", "-1:5", "1.5:2",
                           "m5000000000:", "1:2:3", "99999999999999999999:"}) {
    EXPECT_THROW(window(text), config_error) << text;
  }
}

}  // namespace
}  // namespace carillon
