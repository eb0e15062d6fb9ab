// A perftest test as part of a scenario: `[perftest] command = "ib_write_lat -s 2"`.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/perftest_options.h"
#include "cli/scenario.h"
#include "cli/setting.h"

namespace carillon {

/// Makes the point run this test: what the flags say about parameters (-m, -S) and devices (-d)
/// goes there.
void apply_perftest(const perftest_options& options, run_point& point);

/// One key of [perftest]; throws config_error for an unknown one and for a wrong command.
void apply_perftest_key(std::string_view key, const setting& value, run_point& point);

}  // namespace carillon
