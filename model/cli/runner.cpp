#include "cli/runner.h"

#include "cli/output_file.h"
#include "cli/subprocess.h"

namespace carillon {

namespace {

json simulate_in_child(const scenario& what, const run_point& point, const run_options& options) {
  run_options own = options;
  if (!own.out.empty()) {
    own.out /= point.label;
  }
  return json::parse(run_in_child([&] { return simulate(what, point, own).dump(); }));
}

}  // namespace

run_result run_scenario(const scenario& what, const run_options& options) {
  if (!options.out.empty()) {
    make_output_folder(options.out);
    // An old summary must not pass for this run's if it fails.
    std::error_code ignored;
    std::filesystem::remove(options.out / "summary.json", ignored);
  }
  std::vector<json> points;
  for (const run_point& point : what.points) {
    points.push_back(what.single() ? simulate(what, point, options)
                                   : simulate_in_child(what, point, options));
  }
  run_result result;
  result.summary = scenario_summary(what, points);
  result.met = check_expectations(what, result.summary);
  if (!options.out.empty()) {
    write_file(options.out / "summary.json", result.summary.dump(2) + "\n");
  }
  return result;
}

}  // namespace carillon
