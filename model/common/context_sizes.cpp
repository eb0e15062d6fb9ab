#include "common/context_sizes.h"

#include <cstddef>
#include <numeric>

namespace carillon {

context_sizes context_sizes::of(const parameters& params) {
  context_sizes sizes;
  const auto give = [&sizes](context_kind kind, std::int64_t log_lines) {
    sizes.lines[static_cast<std::size_t>(kind)] = std::uint32_t{1} << log_lines;
  };
  for (const auto kind : {context_kind::qpc_common, context_kind::qpc_address,
                          context_kind::qpc_requester, context_kind::qpc_responder}) {
    give(kind, params.nic.log_max_qp);
  }
  give(context_kind::cqc, params.nic.log_max_cq);
  give(context_kind::mkey, params.nic.log_max_mkey);
  give(context_kind::mtt, params.nic.log_max_mtt_lines);
  give(context_kind::srq, params.nic.log_max_srq);
  give(context_kind::eqc, params.nic.log_max_eq);
  return sizes;
}

context_sizes context_sizes::of(const partition_table& partitions, std::uint16_t function) const {
  if (partitions.functions.empty()) {
    return *this;
  }
  context_sizes sizes;
  for (std::size_t i = 0; i < sizes.lines.size(); ++i) {
    sizes.lines[i] = partitions.of(function, static_cast<context_kind>(i)).count;
  }
  return sizes;
}

std::uint64_t context_sizes::first(context_kind kind) const {
  return std::accumulate(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kind),
                         std::uint64_t{0});
}

std::uint64_t context_sizes::total() const {
  return std::accumulate(lines.begin(), lines.end(), std::uint64_t{0});
}

}  // namespace carillon
