#include "cosim/rtl_adapter.h"

#include <array>
#include <utility>

#include "common/error.h"
#include "cosim/rtl_domain.h"

namespace carillon {

rtl_adapter::rtl_adapter(rtl_domain& domain, twin_request&& request)
    : twin_driver(domain, request), rules_(std::move(request.rules)), monitor_(domain.context()) {
  const trace_site site = domain.context().trace.site(instance_, stage_);
  for (unsigned port = 0; port < ports_.size(); ++port) {
    const port_state& each = ports_[port];
    if (each.stream->input()) {
      each.stream->base().to(*this, rules_->booked(port, site));
    } else {
      each.stream->follow(rules_.get());
      each.stream->base().from(*this, rules_->booked(port, site));
      each.stream->leave_histories(rules_->books(port));
    }
  }
  for (auto& [input, blockers] : rules_->waits()) {
    monitor_.watch(*input, std::move(blockers));
  }
}

void rtl_adapter::transfer(cycle_t t) {
  monitor_.recall(t);
  for (const port_state& each : ports_) {
    if (!each.stream->input()) {
      continue;
    }
    const stream_base& stream = each.stream->base();
    if (stream.transferring(t)) {
      CARILLON_CHECK(bit(each.pins.ready),
                     "{}: the RTL does not take beat {} of an item of {} in cycle {}", instance_,
                     t - stream.last_taken(), stream.name(), t);
    } else if (stream.takeable(t) && bit(each.pins.ready)) {
      each.stream->take(t);
    }
  }
  rules_->settle(t);
  // Every cycle in which something is offered is looked at, so nothing needs a wake from here.
  monitor_.explain(t);
}

void rtl_adapter::before_edge(cycle_t t) {
  for (port_state& each : ports_) {
    const stream_base& stream = each.stream->base();
    if (each.stream->input() || !stream.transferring(t)) {
      continue;
    }
    const auto index = static_cast<unsigned>(t - stream.last_taken());
    CARILLON_CHECK(bit(each.pins.valid),
                   "{}: the RTL does not offer beat {} of an item of {} in cycle {}", instance_,
                   index, stream.name(), t);
  }
}

void rtl_adapter::after_edge(cycle_t t) {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    port_state& each = ports_[i];
    if (each.stream->input() || !bit(each.pins.valid)) {
      continue;
    }
    if (const stream_base& stream = each.stream->base(); stream.transferring(t + 1)) {
      // The beat of the next cycle: another block may take it before this one is looked at again.
      std::array<std::uint32_t, MaxBeatWords> words;
      read(each, words.data());
      each.stream->fill(words.data(), static_cast<unsigned>(t + 1 - stream.last_taken()));
    }
    if (each.handled) {
      continue;
    }
    CARILLON_CHECK(!each.visible.empty(),
                   "{}: the RTL offers an item on {} in cycle {} that never entered its FIFO",
                   instance_, each.pins.name, t + 1);
    std::array<std::uint32_t, MaxBeatWords> words;
    read(each, words.data());
    const cycle_t visible = each.visible.front();
    const auto port = static_cast<unsigned>(i);
    each.stream->deliver(words.data(), rules_->departs(port, visible), visible);
    each.handled = true;
  }
}

void rtl_adapter::finish() {
  for (const port_state& each : ports_) {
    CARILLON_CHECK(each.stream->input() || (!bit(each.pins.valid) && each.visible.empty()),
                   "{}: the RTL still offers an item on {} at the end of the run", instance_,
                   each.pins.name);
  }
  CARILLON_CHECK(!block_->busy(), "{}: the RTL is busy at the end of the run", instance_);
  // Every word is a lockstep run's: this one is to be fast.
  read_content(content_words::used, [this](std::span<const std::uint32_t> query,
                                           std::span<const std::uint32_t> model,
                                           std::span<const std::uint32_t> rtl) {
    CARILLON_CHECK(std::equal(model.begin(), model.end(), rtl.begin(), rtl.end()),
                   "{}: at the end of the run the RTL remembers something else of word {:#x}",
                   instance_, query.front());
  });
}

}  // namespace carillon
