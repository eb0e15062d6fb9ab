// How the PF's driver divides the context RAM: who gets which numbers of each table.
//
// The PF keeps the lower part, the VFs follow each other in the upper one. A VF whose settings name
// a size gets that; the others share what is left of the upper half evenly. A plan is checked
// before anything is asked of the device, so that a mistake is told by the table's name.
#pragma once

#include <cstdint>
#include <vector>

#include "gen/contexts.h"
#include "host/function_settings.h"

namespace carillon {

using vf_partition = per_table<context_range>;

/// Bytes of context RAM that a line of the table takes.
std::uint32_t line_bytes(context_table table);

/// Bytes of context RAM that a partition takes.
std::uint64_t context_bytes(const vf_partition& partition);

/// Numbers that the chip has, as the PF reads them.
per_table<std::uint32_t> chip_lines(const hca_cap& pf);

/// The partitions of VF 0, 1 ... Throws config_error, naming the table, how many lines there are
/// and how many would be needed, if they do not fit.
std::vector<vf_partition> plan_partitions(const per_table<std::uint32_t>& chip,
                                          const device_settings& wanted);

}  // namespace carillon
