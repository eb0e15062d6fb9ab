// What dma_engine does for functions that may not master the bus or are being reset, and what it
// reports to their status registers.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/error.h"
#include "dma_engine.h"

namespace carillon {

void dma_engine::report(std::uint16_t function, pcie_error_kind kind) {
  pcie_error error;
  error.function = function;
  error.kind = kind;
  reports_.push_back(error);
}

void dma_engine::send_report(cycle_t t) {
  if (reports_.empty()) {
    return;
  }
  CARILLON_CHECK(errors_.has_credit(t), "{}: {} has no room for an error, cycle {}", path(),
                 errors_.name(), t);
  errors_.push(t, 1, reports_.front());
  reports_.erase(reports_.begin());
  if (!reports_.empty()) {
    wake(t + 1);
  }
}

/// What functions that are being reset had under way is void: the rest of a request that is being
/// sent now, and of reads in flight one a cycle.
void dma_engine::abort(cycle_t t) {
  const function_map& map = functions_.read(t);
  resets_seen_ = map.resets;
  if (write_.active && map.gone(write_.item.function)) {
    drop_write(write_.item, write_.client);
    write_.active = false;
    write_.item.from.reset();
  }
  if (read_.active && map.gone(read_.function)) {
    groups_[read_.group].status = dma_status::unsupported_request;
    settle(t, read_.group, read_.remaining,
           context_.trace.wait(read_.trace, reads_[read_.client].site, reset_reason_,
                               time_of(read_.since), time_of(t)),
           1);
    read_.active = false;
  }
  abort_read(t, map);
}

void dma_engine::abort_read(cycle_t t, const function_map& map) {
  const std::optional<std::uint16_t> tag = tags_.find_flying(
      [&](const read_tags::flight& read) { return map.gone(groups_[read.group].function); });
  aborting_ = tag.has_value();
  if (!aborting_) {
    return;
  }
  const ps_t sent = tags_.since(*tag);
  tags_.give_up(*tag, time_of(t));
  const read_tags::flight& read = tags_[*tag];
  read_group& group = groups_[read.group];
  if (group.status == dma_status::ok) {
    group.status = dma_status::unsupported_request;
  }
  nic_.counters.add_for(group.function, counter::DmaReadsRefused);
  const trace_ref history =
      context_.trace.wait(read.trace, reads_[group.client].site, reset_reason_, sent, time_of(t));
  settle(t, read.group, read.missing, history, 1);
  wake(t + 1);
}

/// What it would have told who waits for it is true now.
void dma_engine::drop_write(const dma_write& item, std::size_t client) {
  nic_.counters.add_for(item.function, counter::DmaWritesDropped);
  fence_writes_ += client == fence_client_ ? 1 : 0;
}

void dma_engine::refuse_read(cycle_t t, std::size_t client) {
  dma_read item = reads_[client].requests.take(t);
  nic_.counters.add_for(item.function, counter::DmaReadsRefused);
  const std::uint32_t group = make_group(client, item);
  groups_[group].status = dma_status::unsupported_request;
  settle(t, group, item.length, item.trace, 1);
}

}  // namespace carillon
