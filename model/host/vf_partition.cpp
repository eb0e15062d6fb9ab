#include "host/vf_partition.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "common/error.h"

namespace carillon {

namespace {

/// What the PF keeps when VFs are given everything else: a table's first numbers are special or
/// mean "none", and its own driver needs some.
constexpr std::uint32_t PfReserve = 16;

/// A VF can do without these: it polls, receives into its QPs' own queues, registers contiguous
/// memory.
bool optional_table(context_table table) {
  return table == context_table::eqs || table == context_table::srqs ||
         table == context_table::mtt_lines;
}

}  // namespace

const char* to_string(context_table table) {
  constexpr std::array Names = {"qps", "cqs", "eqs", "srqs", "mkeys", "mtt_lines"};
  return Names[static_cast<std::size_t>(table)];
}

std::uint32_t line_bytes(context_table table) {
  constexpr std::uint32_t Line = 64;
  constexpr std::uint32_t LinesOfQp = 4;  // common, address, requester, responder
  return table == context_table::qps ? LinesOfQp * Line : Line;
}

std::uint64_t context_bytes(const vf_partition& partition) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < ContextTables; ++i) {
    const auto table = static_cast<context_table>(i);
    sum += std::uint64_t{partition[table].count} * line_bytes(table);
  }
  return sum;
}

per_table<std::uint32_t> chip_lines(const hca_cap& pf) {
  per_table<std::uint32_t> lines;
  lines[context_table::qps] = pf.num_qps;
  lines[context_table::cqs] = pf.num_cqs;
  lines[context_table::eqs] = pf.num_eqs;
  lines[context_table::srqs] = pf.num_srqs;
  lines[context_table::mkeys] = pf.num_mkeys;
  lines[context_table::mtt_lines] = pf.num_mtt_lines;
  return lines;
}

std::vector<vf_partition> plan_partitions(const per_table<std::uint32_t>& chip,
                                          const device_settings& wanted) {
  const std::uint16_t vfs = wanted.enabled_vfs();
  std::vector<vf_partition> plan(vfs);
  for (std::size_t i = 0; i < ContextTables; ++i) {
    const auto table = static_cast<context_table>(i);
    const std::uint32_t lines = chip[table];
    std::uint64_t given = 0;
    std::uint32_t open = 0;
    for (std::uint16_t vf = 0; vf < vfs; ++vf) {
      const auto size = wanted.of(vf).lines[table];
      given += size.value_or(0);
      open += size ? 0 : 1;
    }
    const std::uint32_t upper = lines / 2;
    std::uint32_t share =
        open == 0 || given >= upper ? 0 : (upper - static_cast<std::uint32_t>(given)) / open;
    if (share == 0 && !optional_table(table)) {
      share = 1;
    }
    const std::uint64_t needed = given + std::uint64_t{open} * share;
    const std::uint32_t kept = std::min(PfReserve, lines / 2);
    if (needed > lines - kept) {
      throw config_error(
          fmt::format("{} VFs do not fit the context RAM: they need {} lines of table {}, which "
                      "has {}, and {} of them are the PF's",
                      vfs, needed, to_string(table), lines, kept));
    }
    // The last VF ends where the table ends.
    std::uint32_t next = lines - static_cast<std::uint32_t>(needed);
    for (std::uint16_t vf = 0; vf < vfs; ++vf) {
      const std::uint32_t count = wanted.of(vf).lines[table].value_or(share);
      plan[vf][table] = {count == 0 ? 0 : next, count};
      next += count;
    }
  }
  return plan;
}

}  // namespace carillon
