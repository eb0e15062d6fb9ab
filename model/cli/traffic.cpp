#include "cli/traffic.h"

#include <fmt/format.h>

#include "cli/flow_workload.h"
#include "cli/mixed_workload.h"
#include "cli/perftest_tests.h"
#include "cli/tenant_workload.h"
#include "cli/workload.h"
#include "common/error.h"
#include "common/stream.h"

namespace carillon {

std::string state_of_affairs(system_model& system) {
  std::string text;
  for (unsigned index = 0; index < system.size(); ++index) {
    const nic& adapter = system.at(index).adapter;
    const std::string& name = system.at(index).adapter.shared().name;
    for (std::size_t i = 0; i < CounterTable.size(); ++i) {
      const std::uint64_t value = adapter.counters().value(static_cast<counter>(i));
      if (value != 0) {
        text += fmt::format(" {}.{}={}", name, CounterTable[i].name, value);
      }
    }
  }
  for (const stream_base* each : system.context.streams) {
    if (!each->empty()) {
      text += fmt::format(" {} holds {}", each->name(), each->size());
    }
  }
  return text;
}

unsigned cores_of(const run_point& point) {
  const workload_spec& spec = point.workload;
  if (point.perftest) {
    return perftest_traffic::Cores;
  }
  if (spec.has_tenants()) {
    return tenant_workload::cores(spec);
  }
  if (spec.flows()) {
    return flow_workload::Cores;
  }
  return spec.kind == workload_kind::mixed ? mixed_workload::Cores : workload::cores(spec);
}

std::unique_ptr<traffic> make_traffic(system_model& system, const run_point& point) {
  if (point.perftest) {
    return std::make_unique<perftest_traffic>(system, point);
  }
  if (point.workload.has_tenants()) {
    return std::make_unique<tenant_workload>(system, point);
  }
  for (const device_settings& device : point.devices) {
    if (device.enabled_vfs() != 0) {
      throw config_error(
          fmt::format("device.SRIOV_EN: {} VFs that nobody uses: only tenants do ([[tenant]], "
                      "workload.tenants)",
                      device.enabled_vfs()));
    }
  }
  if (point.workload.flows()) {
    return std::make_unique<flow_workload>(system, point);
  }
  if (point.workload.kind == workload_kind::mixed) {
    return std::make_unique<mixed_workload>(system, point);
  }
  return std::make_unique<workload>(system, point);
}

}  // namespace carillon
