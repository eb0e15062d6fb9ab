#include "cli/perftest_settings.h"

#include <algorithm>

#include "cli/text.h"
#include "common/error.h"

namespace carillon {

void apply_perftest(const perftest_options& options, run_point& point) {
  point.perftest = resolve_perftest(options);
  const perftest_spec& spec = *point.perftest;
  if (options.mtu) {
    point.params.wire.mtu = *options.mtu;
    point.set_by["wire.mtu"] = "-m";
  }
  if (options.service_level) {
    point.params.wire.priority = *options.service_level;
    point.set_by["wire.priority"] = "-S";
  }
  if (options.qp_timeout) {
    point.workload.connection.ack_timeout = *options.qp_timeout;
  }
  // The bar counts messages.
  point.workload.messages = spec.duration != 0 ? 0 : spec.iterations * spec.qps;
  point.workload.warmup = 0;
  if (spec.function != 0) {
    for (device_settings& each : point.devices) {
      each.vfs = std::max(each.enabled_vfs(), spec.function);
      each.sriov = true;
    }
  }
}

void apply_perftest_key(std::string_view key, const setting& value, run_point& point) {
  if (key != "command") {
    value.fail("unknown key" + suggestion(key, {"command"}));
  }
  try {
    const perftest_options options = parse_perftest_line(value.string());
    if (options.all_sizes) {
      value.fail("-a: a scenario has a point for each size");
    }
    apply_perftest(options, point);
  } catch (const config_error& wrong) {
    const std::string message = wrong.what();
    if (message.rfind(value.where(), 0) == 0) {
      throw;
    }
    value.fail(message);
  }
}

}  // namespace carillon
