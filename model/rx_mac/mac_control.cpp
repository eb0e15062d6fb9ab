#include "rx_mac/mac_control.h"

#include <algorithm>
#include <utility>

#include "gen/stages.h"

namespace carillon {

mac_control::mac_control(clocked& owner, nic_shared& shared, const mac_control_ports& io)
    : timed(shared.context.line),
      asked(shared.context.params, shared.counters),
      owner_(owner),
      shared_(shared),
      io_(io),
      received_(shared.context.params, shared.counters) {}

void mac_control::receive(cycle_t t, const frame_item& frame) {
  shared_.counters.add(counter::RxMacControl);
  const auto what = parse_pfc(frame.bytes.data() + frame.offset, frame.length);
  if (what && io_.paused != nullptr) {
    requests_.push({t + stage_spec::rx_mac::Latency, *what});
  }
}

void mac_control::settle(cycle_t t) {
  while (!requests_.empty() && requests_.front().acts <= t) {
    received_.apply(t, requests_.pop().what);
  }
  received_.expire(t);
  if (io_.paused != nullptr) {
    io_.paused->write(t, received_.paused());
  }
  asked.look(t);
  ask(t);
  if (!requests_.empty()) {
    shared_.context.clock.wake(owner_, requests_.front().acts);
  }
  if (const cycle_t next = std::min(received_.next(), asked.next(t)); next != NeverCycle) {
    arm(t, next);
  }
}

void mac_control::ask(cycle_t t) {
  if (io_.out == nullptr) {
    return;
  }
  const auto next = asked.due(t);
  if (!next) {
    return;
  }
  if (!io_.out->has_credit(t)) {
    io_.out->ask_credit(t);
    return;
  }
  // One a cycle: what changes in the next one is told then.
  io_.out->push(t, 1, make_pfc_frame(shared_.buffers, io_.address, *next));
  asked.sent(t, *next);
}

/// The owner is woken in the cycle before the deadline, for it.
void mac_control::arm(cycle_t t, cycle_t deadline) {
  const cycle_t cycle = std::max(t + 1, deadline - 1);
  if (cycle < armed_) {
    armed_ = cycle;
    shared_.context.line.timer(shared_.context.clock.time_of(cycle), *this, cycle);
  }
}

void mac_control::on_time(ps_t /*now*/, std::uint64_t cycle) {
  if (cycle != armed_) {
    return;  // an earlier deadline came between
  }
  armed_ = NeverCycle;
  const cycle_t deadline = std::min(received_.next(), asked.next(cycle));
  if (deadline == NeverCycle) {
    return;
  }
  if (deadline <= cycle + 1) {
    shared_.context.clock.wake(owner_, cycle + 1);
  } else {
    arm(cycle, deadline);
  }
}

}  // namespace carillon
