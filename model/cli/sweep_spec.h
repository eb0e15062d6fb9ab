// `[sweep]`: the keys whose values vary, and in which combinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace carillon {

enum class sweep_mode : std::uint8_t {
  grid,           ///< every combination
  one_at_a_time,  ///< the scenario as it is, then each value alone
};

/// One key of --set and its values, each as --set takes it.
struct sweep_axis {
  std::string key;
  std::string where;  ///< file:line
  std::vector<std::string> values;
};

struct sweep_spec {
  sweep_mode mode = sweep_mode::grid;
  std::vector<sweep_axis> axes;  ///< in the order of the file
  /// Axes by index that advance together; each of the others is alone in its group.
  std::vector<std::vector<std::size_t>> groups;

  [[nodiscard]] bool empty() const { return axes.empty(); }
};

/// One run of a sweep.
struct sweep_point {
  std::string label;  ///< "size=64 submit=doorbell", "base" without settings

  struct setting_text {
    std::string key;
    std::string value;
  };

  std::vector<setting_text> settings;
};

/// All runs, the last axis changing fastest.
std::vector<sweep_point> expand(const sweep_spec& sweep);

}  // namespace carillon
