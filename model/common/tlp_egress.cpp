#include "common/tlp_egress.h"

#include <algorithm>

#include "common/clock.h"

namespace carillon {

tlp_egress::tlp_egress(sim_context& context, pcie_port& port, name_id place)
    : timed(context.line),
      context_(context),
      port_(port),
      place_(place),
      link_(context.trace.intern("link")),
      flow_control_(context.trace.intern("flow_control")),
      order_(context.trace.intern("order")) {}

std::size_t tlp_egress::waiting() const {
  std::size_t sum = 0;
  for (const queue& each : queues_) {
    sum += each.entries.size() - each.head;
  }
  return sum;
}

void tlp_egress::push(tlp* packet) {
  queues_[static_cast<std::size_t>(packet->flow)].entries.push_back({packet, pushed_++, now_ps()});
  pump();
}

void tlp_egress::blocked(queue& waiting, ps_t now, name_id reason, std::uint32_t occupant) {
  if (waiting.causes.empty() || waiting.causes.back().reason != reason ||
      waiting.causes.back().occupant != occupant) {
    waiting.causes.push_back({now, reason, occupant});
  }
}

void tlp_egress::send_front(queue& from, ps_t now) {
  const entry sent = from.front();
  ++from.head;
  if (sent.packet->trace.message != 0) {
    const trace_site site{place_, sent.packet->row};
    for (std::size_t i = 0; i < from.causes.size(); ++i) {
      const ps_t begin = std::max(from.causes[i].since, sent.since);
      const ps_t end = i + 1 < from.causes.size() ? from.causes[i + 1].since : now;
      if (begin < end) {
        // Behind its own message's data it is on its way; behind another's it waits.
        sent.packet->trace =
            from.causes[i].occupant == sent.packet->trace.message
                ? context_.trace.flight(sent.packet->trace, site, begin, end)
                : context_.trace.wait(sent.packet->trace, site, from.causes[i].reason, begin, end);
      }
    }
  }
  if (from.empty()) {
    from.entries.clear();
    from.head = 0;
    from.causes.clear();
  } else if (from.head * 2 >= from.entries.size()) {
    from.entries.erase(from.entries.begin(),
                       from.entries.begin() + static_cast<std::ptrdiff_t>(from.head));
    from.head = 0;
  }
  // Causes that ended before the new front came are history.
  while (from.causes.size() > 1 && from.causes[1].since <= from.front().since) {
    from.causes.erase(from.causes.begin());
  }
  port_.send(sent.packet);
}

void tlp_egress::pump() {
  if (pumping_) {
    return;  // a receiver that answers at once; the loop below goes on anyway
  }
  pumping_ = true;
  const ps_t now = now_ps();
  queue& posted = queues_[static_cast<std::size_t>(tlp_class::posted)];
  while (true) {
    const ps_t free = port_.free_at();
    if (free > now) {
      bool any = false;
      for (queue& each : queues_) {
        if (!each.empty()) {
          any = true;
          blocked(each, now, link_, port_.last_message());
        }
      }
      if (any && alarm_ != free) {
        alarm_ = free;
        context_.line.at(free, *this);
      }
      break;
    }
    queue* best = nullptr;
    for (queue& each : queues_) {
      if (each.empty()) {
        continue;
      }
      if (&each != &posted && !posted.empty() && posted.front().order < each.front().order) {
        blocked(each, now, order_);
      } else if (!port_.can_send(each.front().packet->flow, each.front().packet->payload_bytes)) {
        blocked(each, now, flow_control_);
      } else if (best == nullptr || each.front().order < best->front().order) {
        best = &each;
      }
    }
    if (best == nullptr) {
      break;
    }
    send_front(*best, now);
  }
  pumping_ = false;
}

void tlp_egress::on_time(ps_t /*now*/, std::uint64_t /*what*/) {
  pump();
}

}  // namespace carillon
