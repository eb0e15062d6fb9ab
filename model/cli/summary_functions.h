// The part of summary.json about tenants and functions, and what went wrong by name.
#pragma once

#include "cli/summary.h"

namespace carillon {

/// `tenants`, `functions` and `diagnosis`; nothing for a run without tenants.
void add_functions(const run_facts& facts, json& summary);

/// The causes of a run whose expectations say nothing about them, as unmet expectations.
void add_unexpected(const scenario& what, const json& summary, json& failed);

}  // namespace carillon
