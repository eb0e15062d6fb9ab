#include "cli/trace_window.h"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <limits>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint64_t PsPerNs = 1000;
constexpr std::uint64_t MaxNs = NeverPs / PsPerNs - 1;
constexpr std::uint64_t MaxId = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void refuse(std::string_view text, const std::string& where, std::string_view why) {
  throw config_error(fmt::format("{}: `{}`: {}; for example 1000:5000 (ns) or m5:m9 (messages)",
                                 where, text, why));
}

}  // namespace

void set_window(trace_spec& trace, std::string_view text, const std::string& where) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    refuse(text, where, "must be FROM:TO");
  }
  std::string_view ends[2] = {text.substr(0, colon), text.substr(colon + 1)};
  const bool messages = ends[0].substr(0, 1) == "m" || ends[1].substr(0, 1) == "m";
  std::uint64_t values[2] = {0, messages ? MaxId : 0};
  for (int i = 0; i < 2; ++i) {
    std::string_view end = ends[i];
    if (end.empty()) {
      continue;
    }
    if ((end.front() == 'm') != messages) {
      refuse(text, where, "both ends must be times or both messages");
    }
    end.remove_prefix(messages ? 1 : 0);
    const auto [stop, failed] = std::from_chars(end.data(), end.data() + end.size(), values[i]);
    if (failed != std::errc() || stop != end.data() + end.size() ||
        values[i] > (messages ? MaxId : MaxNs)) {
      refuse(text, where, fmt::format("`{}` is no whole number that can be", ends[i]));
    }
  }
  const bool open = ends[1].empty();
  if (!open && values[0] > values[1]) {
    refuse(text, where, "begins after its end");
  }
  if (messages) {
    trace.first_message = static_cast<std::uint32_t>(values[0]);
    trace.last_message = static_cast<std::uint32_t>(values[1]);
    return;
  }
  trace.from = values[0] * PsPerNs;
  trace.to = open ? NeverPs : values[1] * PsPerNs;
}

}  // namespace carillon
