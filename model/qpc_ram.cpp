#include "qpc_ram.h"

#include <string_view>

namespace carillon {

qpc_ram::qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row), rules_(nic, site(), connected, qpc_ram_rules::role::decides) {
  unsigned port = 0;
  for (const read_port& each : connected.reads) {
    each.requests.to(*this, rules_.booked(port++, site()));
    each.lines.from(*this, rules_.booked(port++, site()));
  }
  for (auto* each : connected.writes) {
    each->to(*this, site());
  }
  for (auto* each : connected.errors) {
    each->to(*this, site());
  }
  for (auto* each : connected.invalidations) {
    each->to(*this, site());
  }
  if (connected.icm != nullptr) {
    connected.icm->reads.from(*this, site());
    connected.icm->done.to(*this, site());
    connected.icm->writes.from(*this, site());
    connected.icm->base.wakes(*this);
    if (connected.partitions != nullptr) {
      // A read that waits for a register may become one that gets no line.
      connected.partitions->wakes(*this);
    }
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void qpc_ram::check_twin(const nic_shared& nic) {
  const auto& asked = nic.context.params.nic;
  const parameters largest;
  const auto bound = [](std::string_view what, std::int64_t value, std::int64_t most) {
    if (value > most) {
      throw config_error(
          fmt::format("nic.{} {}: the RTL of qpc_ram has room for {}; choose qpc_ram=model", what,
                      value, most));
    }
  };
  bound("log_max_qp", asked.log_max_qp, largest.nic.log_max_qp);
  bound("log_max_cq", asked.log_max_cq, largest.nic.log_max_cq);
  bound("log_max_mkey", asked.log_max_mkey, largest.nic.log_max_mkey);
  bound("log_max_mtt_lines", asked.log_max_mtt_lines, largest.nic.log_max_mtt_lines);
  bound("log_max_srq", asked.log_max_srq, largest.nic.log_max_srq);
  bound("log_max_eq", asked.log_max_eq, largest.nic.log_max_eq);
  if (asked.icm == nic_icm::HostMemory) {
    bound("icm_cache_ways", asked.icm_cache_ways, largest.nic.icm_cache_ways);
    bound("icm_cache_lines / icm_cache_ways", asked.icm_cache_lines / asked.icm_cache_ways,
          largest.nic.icm_cache_lines / largest.nic.icm_cache_ways);
    bound("icm_misses", asked.icm_misses, largest.nic.icm_misses);
  }
}

void qpc_ram::evaluate(cycle_t t) {
  rules_.settle(t);
  if (rules_.goes_on()) {
    wake(t + 1);
  }
}

}  // namespace carillon
