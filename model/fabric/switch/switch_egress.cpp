#include "fabric/switch/switch_egress.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/error.h"
#include "fabric/switch/frame_headers.h"

namespace carillon {

namespace {

constexpr std::uint8_t bit(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

}  // namespace

queued_frame copy_of(const queued_frame& item, std::uint32_t egress) {
  queued_frame copy = item;
  copy.place.egress = egress;
  copy.has_copies = true;
  return copy;
}

switch_egress::switch_egress(sim_context& context, owner& up, std::uint32_t port,
                             const switch_settings& settings, wire_port& wire, buffer_pool& buffers,
                             std::uint64_t address, switch_port_counters& counters)
    : timed(context.line),
      context_(context),
      up_(up),
      port_(port),
      settings_(settings),
      wire_(wire),
      buffers_(buffers),
      address_(address),
      counters_(counters),
      random_(context.seed, std::string(wire.name()) + ".wred"),
      site_(context.trace.site(wire.name(), "switch")),
      queue_reason_(context.trace.intern("queue")),
      pause_reason_(context.trace.intern("pause")),
      scheduler_(settings),
      largest_time_(wire.speed().time_of(wire_bytes(settings.max_frame_bytes - FcsBytes))),
      pause_time_(wire.speed().time_of(pause_bytes(settings.pause_quanta))) {
  for (const switch_priority_settings& each : settings.priorities) {
    queues_.emplace_back(each, settings.watchdog, settings.watchdog_detection_ps,
                         settings.watchdog_restoration_ps);
  }
}

bool switch_egress::accepts(unsigned priority) {
  if (!queues_[priority].watchdog.storm() || settings_.watchdog != watchdog_action::drop) {
    return true;
  }
  ++counters_.priorities[priority].watchdog_discards;
  return false;
}

ps_t switch_egress::wire_free() const {
  const ps_t free = wire_.free_at();
  return free > settings_.egress_delay_ps ? free - settings_.egress_delay_ps : 0;
}

void switch_egress::enqueue(queued_frame&& item, ps_t now) {
  const unsigned priority = item.place.priority;
  egress_queue& queue = queues_[priority];
  priority_counters& counters = counters_.priorities[priority];
  if (queue.marker.averages()) {
    const bool idle = queue.frames.empty();
    queue.marker.sample(queue.bytes, idle ? (now - queue.empty_since) / largest_time_ : 0);
  }
  queue.count_pause(now, counters);
  item.since = now;
  item.paused_before = counters.rx_pause_ps;
  queue.count_bytes(now, counters);
  queue.bytes += buffer_bytes_of(item.frame);
  counters.max_queue_bytes = std::max(counters.max_queue_bytes, queue.bytes);
  if (queue.frames.empty()) {
    waiting_ |= bit(priority);
    fronts_[priority] = static_cast<std::uint32_t>(wire_bytes(item.frame.length));
  }
  queue.frames.push(std::move(item));
  observe(priority, now, false);
  choose_at(std::max(now, wire_free()));
}

void switch_egress::choose_at(ps_t when) {
  if (when < choose_at_) {
    choose_at_ = when;
    context_.line.at(when, *this, Choose);
  }
}

void switch_egress::on_time(ps_t now, std::uint64_t what) {
  if (what == Choose) {
    // Earlier ones were asked for since; this one is theirs, or there is nothing to do.
    if (now == choose_at_) {
      choose_at_ = NeverPs;
      choose(now);
    }
  } else if (what == Refresh) {
    refresh(now);
  } else {
    watch(static_cast<unsigned>(what - Watch), now);
  }
}

bool switch_egress::free_to_send(const egress_queue& queue, ps_t now) const {
  return !queue.paused(now) ||
         (queue.watchdog.storm() && settings_.watchdog == watchdog_action::forward);
}

void switch_egress::choose(ps_t now) {
  if (wire_free() > now) {
    choose_at(wire_free());
    return;
  }
  if (untold_ != 0) {
    send_request(now);
  } else {
    std::uint8_t ready = 0;
    ps_t resumes = NeverPs;
    for (unsigned priority = 0; priority < PriorityCount; ++priority) {
      if ((waiting_ & bit(priority)) == 0) {
        continue;
      }
      const egress_queue& queue = queues_[priority];
      if (free_to_send(queue, now)) {
        ready |= bit(priority);
      } else {
        resumes = std::min(resumes, queue.paused_until);
      }
    }
    if (ready == 0) {
      if (resumes != NeverPs) {
        choose_at(resumes);
      }
      return;
    }
    send(scheduler_.pick(ready, fronts_), now);
  }
  if (waiting_ != 0 || untold_ != 0) {
    choose_at(std::max(now, wire_free()));
  }
}

queued_frame switch_egress::take(unsigned priority, ps_t now) {
  egress_queue& queue = queues_[priority];
  queued_frame item = queue.frames.pop();
  queue.count_bytes(now, counters_.priorities[priority]);
  queue.bytes -= buffer_bytes_of(item.frame);
  if (queue.frames.empty()) {
    waiting_ &= static_cast<std::uint8_t>(~bit(priority));
    queue.empty_since = now;
    scheduler_.emptied(priority);
  } else {
    fronts_[priority] = static_cast<std::uint32_t>(wire_bytes(queue.frames.front().frame.length));
  }
  return item;
}

void switch_egress::mark(queued_frame& item, egress_queue& queue, priority_counters& counters) {
  if (item.ip_offset == 0 || !queue.marker.enabled() || !queue.marker.marks(queue.bytes, random_)) {
    return;
  }
  frame_item& frame = item.frame;
  if (item.has_copies) {
    buffer_ref own = buffers_.take();
    std::memcpy(own.data() + frame.offset, frame.bytes.data() + frame.offset, frame.length);
    frame.bytes = std::move(own);
  }
  mark_congestion(frame, item.ip_offset, item.ipv6);
  ++counters.tx_ecn_marked;
}

/// Of the time in the queue, as much as the queue was paused meanwhile counts as that; the rest it
/// waited for others.
void switch_egress::explain(queued_frame& item, const priority_counters& counters, ps_t now) {
  tracer& trace = context_.trace;
  const ps_t paused = counters.rx_pause_ps - item.paused_before;
  const ps_t begin = item.since + item.lag;
  const ps_t end = now + item.lag;
  trace_ref& history = item.frame.trace;
  history = trace.wait(history, site_, queue_reason_, begin, end - paused);
  history = trace.wait(history, site_, pause_reason_, end - paused, end);
  history = trace.service(history, site_, end, end + settings_.egress_delay_ps);
}

void switch_egress::send(unsigned priority, ps_t now) {
  egress_queue& queue = queues_[priority];
  priority_counters& counters = counters_.priorities[priority];
  queued_frame item = take(priority, now);
  mark(item, queue, counters);
  if (item.frame.trace.message != 0) {
    queue.count_pause(now, counters);
    explain(item, counters, now);
  }
  const std::uint64_t held = buffer_bytes_of(item.frame);
  ++counters.tx_packets;
  counters.tx_bytes += held;
  wire_.send(std::move(item.frame), now + settings_.egress_delay_ps, item.lag);
  observe(priority, now, true);
  up_.on_left(item.place, held, now);
}

void switch_egress::drop_all(unsigned priority, ps_t now) {
  egress_queue& queue = queues_[priority];
  while (!queue.frames.empty()) {
    const queued_frame item = take(priority, now);
    ++counters_.priorities[priority].watchdog_discards;
    up_.on_left(item.place, buffer_bytes_of(item.frame), now);
  }
}

// Pauses that the other end asks for --------------------------------------------------------------

void switch_egress::pause(const pfc& request, ps_t now) {
  bool goes_on = false;
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    if ((request.enable & bit(priority)) == 0) {
      continue;
    }
    egress_queue& queue = queues_[priority];
    priority_counters& counters = counters_.priorities[priority];
    ++counters.rx_pause;
    queue.count_pause(now, counters);
    const bool was_paused = queue.paused(now);
    queue.paused_until = now + wire_.speed().time_of(pause_bytes(request.quanta[priority]));
    if (queue.paused(now)) {
      counters.rx_pause_transitions += was_paused ? 0 : 1;
      queue.pause_begin = now;
    } else {
      queue.pause_begin = NeverPs;
      goes_on = goes_on || !queue.frames.empty();
    }
    observe(priority, now, !was_paused);
  }
  if (goes_on) {
    choose_at(std::max(now, wire_free()));
  }
}

void switch_egress::observe(unsigned priority, ps_t now, bool progress) {
  egress_queue& queue = queues_[priority];
  const bool stuck = queue.paused(now) && !queue.frames.empty();
  if (queue.watchdog.observe(now, stuck, progress)) {
    context_.line.timer(queue.watchdog.due(), *this, Watch + priority);
  }
}

void switch_egress::watch(unsigned priority, ps_t now) {
  egress_queue& queue = queues_[priority];
  switch (queue.watchdog.look(now, queue.paused_until)) {
    case pause_watchdog::finding::nothing:
      break;
    case pause_watchdog::finding::storm:
      ++counters_.priorities[priority].watchdog_storms;
      up_.on_storm(port_, priority, true, now);
      if (settings_.watchdog == watchdog_action::drop) {
        drop_all(priority, now);
      } else {
        choose_at(std::max(now, wire_free()));
      }
      break;
    case pause_watchdog::finding::restored:
      ++counters_.priorities[priority].watchdog_restored;
      up_.on_storm(port_, priority, false, now);
      break;
  }
  if (queue.watchdog.due() != NeverPs) {
    context_.line.timer(queue.watchdog.due(), *this, Watch + priority);
  }
}

void switch_egress::settle(ps_t now) {
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    queues_[priority].count_pause(now, counters_.priorities[priority]);
    queues_[priority].count_bytes(now, counters_.priorities[priority]);
  }
}

// Pauses asked of the other end -------------------------------------------------------------------

void switch_egress::ask(unsigned priority, bool xoff, ps_t now) {
  if (xoff) {
    xoff_ |= bit(priority);
    ++counters_.priorities[priority].tx_xoff;
  } else {
    xoff_ &= static_cast<std::uint8_t>(~bit(priority));
  }
  untold_ |= bit(priority);
  choose_at(std::max(now, wire_free()));
}

void switch_egress::send_request(ps_t now) {
  pfc request;
  request.enable = untold_;
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    if ((untold_ & bit(priority)) != 0) {
      ++counters_.priorities[priority].tx_pause;
      request.quanta[priority] = (xoff_ & bit(priority)) != 0
                                     ? static_cast<std::uint16_t>(settings_.pause_quanta)
                                     : std::uint16_t{0};
    }
  }
  untold_ = 0;
  if (!wire_.connected()) {
    return;
  }
  wire_.send(make_pfc_frame(buffers_, address_, request), now);
  if (xoff_ != 0) {
    refresh_due_ = now + pause_time_ / 2;
    if (!refreshing_) {
      refreshing_ = true;
      context_.line.timer(refresh_due_, *this, Refresh);
    }
  }
}

/// A pause that is to last is asked for again when half of it is over.
void switch_egress::refresh(ps_t now) {
  refreshing_ = false;
  if (xoff_ == 0) {
    return;
  }
  if (now < refresh_due_) {
    refreshing_ = true;
    context_.line.timer(refresh_due_, *this, Refresh);
    return;
  }
  untold_ |= xoff_;
  choose_at(std::max(now, wire_free()));
}

}  // namespace carillon
