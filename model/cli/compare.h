// The differences of two runs or two sweeps, and which of them are regressions.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace carillon {

/// Everything numeric that a run found, by dotted name, for each of its points.
struct findings {
  std::string source;
  std::map<std::string, std::map<std::string, double>> points;  ///< by label; "": the only one
};

/// From the folder of a run or a sweep, or from a summary.json itself; a config_error if it is
/// none.
findings load_findings(const std::filesystem::path& path);

/// What a figure that grows means.
enum class direction : std::uint8_t {
  more_is_worse,   ///< latencies, services of stages, failures
  more_is_better,  ///< rates, messages
  neither,         ///< counters, waits of a stage (another stage may have had them before)
};

direction direction_of(const std::string& name);

enum class change_verdict : std::uint8_t { worse, better, within, changed, gone, added };

const char* to_string(change_verdict verdict);

struct difference {
  std::string point;
  std::string name;
  std::optional<double> before;
  std::optional<double> after;
  std::optional<double> percent;  ///< absent: from zero, or one of them is not there
  change_verdict verdict = change_verdict::changed;

  [[nodiscard]] bool regression() const;
};

struct comparison {
  std::size_t figures = 0;
  double tolerance = 0;
  std::vector<difference> differences;

  [[nodiscard]] std::size_t count(change_verdict verdict) const;
  [[nodiscard]] bool regressed() const;
};

/// Changes of up to `tolerance` percent are no regression.
comparison compare(const findings& before, const findings& after, double tolerance);

std::string render_comparison(const findings& before, const findings& after,
                              const comparison& found, bool colour);
nlohmann::ordered_json comparison_json(const findings& before, const findings& after,
                                       const comparison& found);

}  // namespace carillon
