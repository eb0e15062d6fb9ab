#include "cli/sink_stages.h"

#include <algorithm>
#include <fmt/format.h>

#include "common/stream.h"

namespace carillon {

sink_stages::sink_stages(const sim_context& context, const trace_spec& spec,
                         std::filesystem::path path)
    : context_(context), window_(spec), file_(std::move(path)) {
  file_.write(fmt::format("# carillon stages 1 period_ps {}\n", context.clock.period()));
}

void sink_stages::on_transfer(const transfer& seen) {
  if (!window_.covers(context_.clock.time_of(seen.taken), seen.message)) {
    return;
  }
  if (!batch_.empty() && batch_.front().taken != seen.taken) {
    write_batch();
  }
  batch_.push_back(seen);
}

void sink_stages::write_batch() {
  std::sort(batch_.begin(), batch_.end(),
            [](const transfer& a, const transfer& b) { return a.stream < b.stream; });
  text_.clear();
  for (const transfer& each : batch_) {
    fmt::format_to(std::back_inserter(text_), "{} {} visible={} beats={} message={}\n", each.taken,
                   context_.streams[each.stream]->name(), each.visible, each.beats, each.message);
  }
  batch_.clear();
  errors_.guard([this] { file_.write(text_); });
}

void sink_stages::close(const std::vector<node_counters>& /*counters*/) {
  write_batch();
  errors_.rethrow();
  file_.commit();
}

}  // namespace carillon
