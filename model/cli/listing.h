// The tables of the specification: stages, parameters, registers, counters.
#pragma once

#include <string>

#include "cli/summary.h"

namespace carillon {

json stages_listing();
json params_listing();
json registers_listing();
json counters_listing();

std::string render_stages(bool colour);
std::string render_params(bool colour);
std::string render_registers(bool colour);
std::string render_counters(bool colour);

}  // namespace carillon
