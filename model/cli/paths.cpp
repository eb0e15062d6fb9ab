#include "cli/paths.h"

#include "common/error.h"

namespace carillon {

std::vector<std::string> latency_path_names() {
  std::vector<std::string> result;
  for (const latency_path& each : LatencyPaths) {
    result.emplace_back(each.name);
  }
  return result;
}

std::size_t latency_path_index(std::string_view name) {
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    if (LatencyPaths[i].name == name) {
      return i;
    }
  }
  throw model_error(fmt::format("there is no latency path {}", name));
}

}  // namespace carillon
