// Results as JUnit XML, which most continuous integration servers show.
#pragma once

#include <string>
#include <vector>

namespace carillon {

struct junit_case {
  std::string name;
  double seconds = 0;
  std::string failure;  ///< its first line is the headline; "" for a case that passed
};

struct junit_suite {
  std::string name;
  std::vector<junit_case> cases;
};

std::string render_junit(const junit_suite& suite);

}  // namespace carillon
