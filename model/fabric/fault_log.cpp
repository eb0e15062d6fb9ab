#include "fabric/fault_log.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace carillon {

namespace {

std::string json_of(const fault_record& record) {
  std::string text = fmt::format(
      R"({{"time_ps":{},"direction":"{}","frame":{},"rule":{},"action":"{}")", record.time,
      to_string(record.direction), record.frame, record.rule, to_string(record.action));
  if (record.opcode != nullptr) {
    text += fmt::format(R"(,"opcode":"{}","psn":{},"dest_qpn":{})", record.opcode->name, record.psn,
                        record.dest_qpn);
  }
  if (record.action == fault_action::corrupt) {
    text += fmt::format(R"(,"where":"{}","bit":{})", to_string(record.target), record.bit);
  }
  return text + "}\n";
}

}  // namespace

std::vector<fault_record> fault_log::records() const {
  std::vector<fault_record> sorted = records_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const fault_record& a, const fault_record& b) {
    return std::tie(a.time, a.direction) < std::tie(b.time, b.direction);
  });
  return sorted;
}

std::vector<std::uint64_t> fault_log::frames(fault_direction direction, fault_action action) const {
  std::vector<std::uint64_t> numbers;
  for (const fault_record& each : records_) {
    if (each.direction == direction && each.action == action) {
      numbers.push_back(each.frame);
    }
  }
  return numbers;
}

std::string fault_log::json_lines() const {
  std::string text;
  for (const fault_record& each : records()) {
    text += json_of(each);
  }
  return text;
}

}  // namespace carillon
