#include "cli/junit.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace carillon {

namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\n':
      case '\t':
        result += c;
        break;
      default:
        // XML 1.0 has no other control characters, not even escaped ones.
        result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
        break;
    }
  }
  return result;
}

}  // namespace

std::string render_junit(const junit_suite& suite) {
  const auto failures = std::count_if(suite.cases.begin(), suite.cases.end(),
                                      [](const junit_case& each) { return !each.failure.empty(); });
  const double seconds =
      std::accumulate(suite.cases.begin(), suite.cases.end(), 0.0,
                      [](double sum, const junit_case& each) { return sum + each.seconds; });
  const std::string name = escaped(suite.name);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{:.3f}\">\n",
      name, suite.cases.size(), failures, seconds);
  for (const junit_case& each : suite.cases) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", name,
                        escaped(each.name), each.seconds);
    if (each.failure.empty()) {
      text += "/>\n";
      continue;
    }
    text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                        escaped(each.failure.substr(0, each.failure.find('\n'))),
                        escaped(each.failure));
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace carillon
