// The window of the traces as a user writes it.
#pragma once

#include <string>
#include <string_view>

#include "cli/scenario.h"

namespace carillon {

/// "1000:5000": from 1000 ns up to, and not with, 5000 ns. "m5:m9": messages 5 to 9, both included,
/// and what happens on their account. An empty end is open. A config_error if it is neither.
void set_window(trace_spec& trace, std::string_view text, const std::string& where);

}  // namespace carillon
