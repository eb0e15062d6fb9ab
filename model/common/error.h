// The two kinds of failure that are never mixed.
//
// * config_error: the user's mistake (a scenario, a parameter, a command line). Caught in main(),
// printed
//   as one message, exit code 2. Its text names what is wrong, where, and what would be right.
// * model_error: our own bug, raised by CARILLON_CHECK with the component and the cycle in which an
//   invariant broke. Exit code 3.
//
// Hardware errors are neither: they are modelled (CQE syndromes, counters, TLP completion status).
#pragma once

#include <fmt/format.h>
#include <stdexcept>
#include <string>

namespace carillon {

/// Exit codes of every command.
enum class exit_code : int { ok = 0, expectation_failed = 1, user_error = 2, model_error = 3 };

class config_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An output that could not be written: the user's environment, not our bug (exit code 2).
class output_error : public config_error {
 public:
  using config_error::config_error;
};

class model_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Raises model_error; out of line so that a check costs one predictable branch.
[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& message);

}  // namespace carillon

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): needs the text of the condition
#define CARILLON_CHECK(condition, ...)                                                    \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      ::carillon::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    }                                                                                     \
  } while (false)
