#include "cli/table.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace carillon {

text_table::text_table(const std::vector<std::string>& headings) {
  for (const std::string& each : headings) {
    const bool left = each.rfind('<', 0) == 0;
    left_.push_back(left);
    headings_.push_back(left ? each.substr(1) : each);
  }
}

void text_table::row(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

void text_table::rule() {
  rows_.emplace_back();
}

std::string text_table::render(bool colour, const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const std::string& each : headings_) {
    widths.push_back(each.size());
  }
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = indent;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = cells.empty() ? std::string(widths[i], '-') : cells[i];
      text += left_[i] ? fmt::format("{:<{}}", cell, widths[i])
                       : fmt::format("{:>{}}", cell, widths[i]);
      text += i + 1 == widths.size() ? "" : "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string result = line(headings_);
  if (colour) {
    result = fmt::format("\x1b[1m{}\x1b[0m\n", result.substr(0, result.size() - 1));
  }
  for (const auto& cells : rows_) {
    result += line(cells);
  }
  return result;
}

}  // namespace carillon
