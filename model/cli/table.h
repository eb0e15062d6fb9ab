// Columns that line up: the first is text, the rest are numbers unless asked otherwise.
#pragma once

#include <string>
#include <vector>

namespace carillon {

class text_table {
 public:
  /// A heading that begins with '<' makes a left-aligned column.
  explicit text_table(const std::vector<std::string>& headings);

  void row(std::vector<std::string> cells);
  /// A line between rows.
  void rule();

  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Each line starts with `indent`; the headings are bold if there is colour.
  [[nodiscard]] std::string render(bool colour, const std::string& indent = "  ") const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;  ///< an empty one is a rule
};

}  // namespace carillon
