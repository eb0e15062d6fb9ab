// What a run prints for a person. Everything shown comes from the summary.
#pragma once

#include <string>

#include "cli/summary.h"

namespace carillon {

struct report_style {
  bool colour = false;
  bool stats = false;  ///< also the effort: wakes, kernel events, TLPs per message
};

/// Colours only on a terminal, and not if the user objects (NO_COLOR).
bool wants_colour(std::FILE* stream);

std::string render_report(const json& summary, const report_style& style);

/// What check_expectations found; for standard error when the run is quiet.
std::string render_expectations(const json& summary, const report_style& style);

}  // namespace carillon
