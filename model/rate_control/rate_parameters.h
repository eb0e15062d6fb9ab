// The parameters of a run as settings of the rate machine.
#pragma once

#include "common/dcqcn_settings.h"
#include "gen/params.h"

namespace carillon {

/// Of the rule that the parameters choose; there must be one.
[[nodiscard]] dcqcn_settings chosen_settings(const parameters& params);

/// The same with other values of the vendor's parameters, which count under the vendor's rule.
[[nodiscard]] dcqcn_settings chosen_settings(const parameters& params, const roce_ecn_rp& vendor);

}  // namespace carillon
