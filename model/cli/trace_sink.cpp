#include "cli/trace_sink.h"

#include <algorithm>

#include "cli/sink_perfetto.h"
#include "cli/sink_sqlite.h"
#include "cli/sink_stages.h"

namespace carillon {

bool trace_window::admit(const message_record& message) {
  if (!covers(message.spans.front().begin, message.id) || (limit_ != 0 && admitted_ == limit_)) {
    return false;
  }
  ++admitted_;
  return true;
}

std::vector<span> critical_chain(const message_record& message) {
  std::uint32_t at = 0;
  for (const std::uint32_t mark : message.marks) {
    if (mark != 0 && message.spans[mark - 1].end > message.spans[at].end) {
      at = mark - 1;
    }
  }
  std::vector<span> result;
  for (; at != 0; at = message.spans[at].previous) {
    result.push_back(message.spans[at]);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

trace_outputs::trace_outputs(sim_context& context, const trace_spec& spec,
                             const std::filesystem::path& folder, measured_messages measured) {
  if (spec.sqlite) {
    sinks_.push_back(
        std::make_unique<sink_sqlite>(context, spec, folder / "trace.sqlite", std::move(measured)));
  }
  if (spec.perfetto) {
    sinks_.push_back(std::make_unique<sink_perfetto>(context, spec, folder / "trace.json"));
  }
  if (spec.stages) {
    sinks_.push_back(std::make_unique<sink_stages>(context, spec, folder / "stages.trace"));
    context.transfers = this;
  }
  if (!sinks_.empty()) {
    context.trace.observe(*this);
  }
}

frame_tap& trace_outputs::tap(std::string interface) {
  taps_.push_back(std::make_unique<interface_tap>(*this, std::move(interface)));
  return *taps_.back();
}

tlp_tap& trace_outputs::tap_tlps(std::string port) {
  port_taps_.push_back(std::make_unique<port_tap>(*this, std::move(port)));
  return *port_taps_.back();
}

void trace_outputs::port_tap::on_tlp(ps_t departure, const tlp& packet) {
  for (const auto& sink : owner_.sinks_) {
    sink->on_tlp(name_, departure, packet);
  }
}

void trace_outputs::interface_tap::on_frame(ps_t first_bit, const frame_item& frame) {
  for (const auto& sink : owner_.sinks_) {
    sink->on_frame(name_, first_bit, frame);
  }
}

void trace_outputs::on_message(const message_record& message) {
  for (const auto& sink : sinks_) {
    sink->on_message(message);
  }
}

void trace_outputs::on_transfer(const transfer& seen) {
  for (const auto& sink : sinks_) {
    sink->on_transfer(seen);
  }
}

void trace_outputs::close(const std::vector<node_counters>& counters) {
  for (const auto& sink : sinks_) {
    sink->close(counters);
  }
}

}  // namespace carillon
