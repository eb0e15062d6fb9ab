#include "cli/text.h"

#include <algorithm>
#include <fmt/format.h>

namespace carillon {

unsigned edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<unsigned>> cost(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = static_cast<unsigned>(i + j);
        continue;
      }
      const unsigned replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

std::string closest(std::string_view word, const std::vector<std::string>& known) {
  // A third of the letters wrong is still a slip of the fingers; more is another word. The last
  // part of a dotted name alone is also a common slip.
  unsigned best = static_cast<unsigned>(std::max<std::size_t>(1, word.size() / 3)) + 1;
  std::string result;
  for (const std::string& each : known) {
    unsigned distance = edit_distance(word, each);
    if (const auto dot = each.rfind('.');
        dot != std::string::npos && word == each.substr(dot + 1)) {
      distance = std::min(distance, 1U);
    }
    if (distance < best) {
      best = distance;
      result = each;
    }
  }
  return result;
}

std::string any_of(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) {
      result += i + 1 == words.size() ? " or " : ", ";
    }
    result += words[i];
  }
  return result;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (const std::string near = closest(word, known); !near.empty()) {
    return fmt::format("; did you mean `{}`?", near);
  }
  return known.empty() ? std::string() : fmt::format("; allowed: {}", any_of(known));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const auto at = std::min(text.find(separator), text.size());
    result.emplace_back(text.substr(0, at));
    text.remove_prefix(std::min(at + 1, text.size()));
  }
  return result;
}

std::string trimmed(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') {
    text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

}  // namespace carillon
