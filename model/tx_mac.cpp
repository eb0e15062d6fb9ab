#include "tx_mac.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace carillon {

namespace {

namespace spec = stage_spec::tx_mac;

constexpr std::uint8_t bit_of(unsigned priority) {
  return static_cast<std::uint8_t>(1U << priority);
}

/// When a frame begins, so that a rate made of it is one of the wire.
void count_sent(counter_block& counters, const frame_item& item) {
  counters.add_for(item.function, counter::TxPackets);
  counters.add_for(item.function, counter::TxBytes, item.length);
}

}  // namespace

// The rules
// -------------------------------------------------------------------------------------------

tx_mac_rules::tx_mac_rules(nic_shared& nic, trace_site site, const tx_mac_ports& io, bool rtl)
    : nic_(nic),
      site_(site),
      io_(io),
      rtl_(rtl),
      pacer_(nic.context.params),
      pause_reason_(nic.context.trace.intern("pause")) {
  const parameters& params = nic.context.params;
  const std::int64_t core_gbps = std::int64_t{BeatBytes} * 8 * 1000 / params.core.clock_period_ps;
  if (params.wire.rate_gbps > core_gbps) {
    throw config_error(
        fmt::format("{}: wire.rate_gbps {} is more than the core delivers; allowed: at most {} (64 "
                    "bytes every {} ps)",
                    nic.context.trace.name(site.place), params.wire.rate_gbps, core_gbps,
                    params.core.clock_period_ps));
  }
  io_.frames.tap(&frame_tap_);
  if (io_.control != nullptr) {
    io_.control->tap(&control_tap_);
  }
}

bool tx_mac_rules::wire_busy(cycle_t t) const {
  return rtl_ ? pacer_.busy(t)
              : io_.wire.free_at() >= nic_.context.clock.time_of(t + spec::Latency + 1);
}

tx_mac_rules::view tx_mac_rules::see(cycle_t t) const {
  view now;
  now.cycle = t;
  now.paused = paused(t);
  now.wire_busy = wire_busy(t);
  now.lane_busy = lane_free_ > t;
  now.control = io_.control != nullptr && io_.control->takeable(t);
  for (std::uint8_t left = waiting_ & static_cast<std::uint8_t>(~now.paused); left != 0;
       left &= static_cast<std::uint8_t>(left - 1)) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    if (parked_[priority].frames.front().taken < t) {
      now.ready |= bit_of(priority);
    }
  }
  return now;
}

void tx_mac_rules::look(cycle_t t) {
  if (view_.cycle != t) {
    view_ = see(t);
  }
}

/// The first that holds.
tx_mac_rules::keeper tx_mac_rules::kept_by(cycle_t t) const {
  const view now = view_of(t);
  const unsigned priority = io_.frames.front().priority;
  if ((now.paused & bit_of(priority)) != 0) {
    return parked_[priority].beats + io_.frames.front_beats() > ParkBeats ? keeper::pause
                                                                          : keeper::nothing;
  }
  return now.wire_busy                     ? keeper::wire
         : now.lane_busy || now.ready != 0 ? keeper::parked
         : now.control                     ? keeper::control
                                           : keeper::nothing;
}

std::vector<twin_rules::wait_list> tx_mac_rules::waits() {
  const auto kept = [this](const char* name, keeper by) {
    return blocker::condition(name, [this, by](cycle_t t) { return kept_by(t) == by; });
  };
  std::vector<wait_list> lists = {
      {&io_.frames,
       {kept("pause", keeper::pause), kept("wire", keeper::wire), kept("parked", keeper::parked),
        kept("control", keeper::control)}}};
  if (io_.control != nullptr) {
    lists.push_back(
        {io_.control,
         {blocker::condition("wire", [this](cycle_t t) { return view_of(t).wire_busy; }),
          blocker::condition("lane", [this](cycle_t t) { return view_of(t).lane_busy; })}});
  }
  return lists;
}

void tx_mac_rules::begin(cycle_t t, frame_item frame) {
  const unsigned beats = beats_of(frame.length);
  lane_free_ = t + beats;
  begun_in_ = t;
  if (rtl_) {
    pacer_.take(t, frame.length);
    io_.leaving->reserve(t, beats);
  }
  begun.push({std::move(frame), t});
}

void tx_mac_rules::on_control(cycle_t t, const frame_item& item) {
  look(t);
  view_.control = true;  // where nobody has looked before, it is gone already
  begin(t, item);
}

void tx_mac_rules::on_frame(cycle_t t, const frame_item& item) {
  look(t);
  if ((view_.paused & bit_of(item.priority)) == 0) {
    count_sent(nic_.counters, item);
    begin(t, item);
    return;
  }
  parked_queue& queue = parked_[item.priority];
  queue.beats += beats_of(item.length);
  queue.frames.push({item, held_history(item.trace, t, pause_reason_), t});
  waiting_ |= bit_of(item.priority);
}

/// Of those that may go, the highest priority.
void tx_mac_rules::resume(cycle_t t) {
  const auto priority = static_cast<unsigned>(std::bit_width(unsigned{view_.ready})) - 1;
  parked_queue& queue = parked_[priority];
  parked_frame out = queue.frames.pop();
  queue.beats -= beats_of(out.frame.length);
  if (queue.frames.empty()) {
    waiting_ &= static_cast<std::uint8_t>(~bit_of(priority));
  }
  out.frame.trace = out.history.wait_until(nic_.context, site_, t);
  count_sent(nic_.counters, out.frame);
  begin(t, std::move(out.frame));
}

void tx_mac_rules::settle(cycle_t t) {
  look(t);
  if (view_.ready != 0 && !view_.busy() && lane_free_ <= t) {
    resume(t);
  }
  if (io_.crowded == nullptr) {
    return;
  }
  std::uint8_t crowded = 0;
  for (std::uint8_t left = waiting_; left != 0; left &= static_cast<std::uint8_t>(left - 1)) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    crowded |= parked_[priority].beats > ParkLow ? bit_of(priority) : 0;
  }
  if (crowded != crowded_) {
    crowded_ = crowded;
    io_.crowded->write(t, crowded);
  }
}

cycle_t tx_mac_rules::next(cycle_t t) const {
  const bool control = io_.control != nullptr && io_.control->next_take() <= t;
  const bool frame = io_.frames.next_take() <= t && kept_by(t) != keeper::pause;
  if (!control && !frame && (waiting_ & ~paused(t)) == 0) {
    return NeverCycle;
  }
  if (begun_in_ == t) {
    return t + 1;  // what waits has another reason then
  }
  const cycle_t free = io_.wire.free_at() / nic_.context.clock.period();
  const cycle_t wire = free > spec::Latency ? free - spec::Latency : 0;
  // Whichever is over first: what waits may have another reason then.
  const cycle_t first = std::min(lane_free_ > t ? lane_free_ : NeverCycle,  //
                                 wire > t ? wire : NeverCycle);
  return first == NeverCycle ? t + 1 : first;
}

twin_rules::departure tx_mac_rules::departs(unsigned /*port*/, cycle_t visible) {
  CARILLON_CHECK(!begun.empty(), "{}: a frame leaves in cycle {} that never came",
                 nic_.context.trace.name(site_.place), visible);
  begun_frame out = begun.pop();
  departed_ = std::move(out.frame);
  return {departed_.trace, out.begun};
}

// The stage
// -------------------------------------------------------------------------------------------

tx_mac::tx_mac(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected)
    : stage(name, nic.context, Row), ports_(connected), rules_(nic, site(), connected, false) {
  ports_.frames.to(*this, site());
  if (ports_.control != nullptr) {
    ports_.control->to(*this, site());
  }
  if (ports_.leaving != nullptr) {
    ports_.leaving->from(*this, site());
  }
  if (ports_.paused != nullptr) {
    ports_.paused->wakes(*this);
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void tx_mac::evaluate(cycle_t t) {
  rules_.look(t);
  if (ports_.control != nullptr && ports_.control->takeable(t) && rules_.takes_control(t)) {
    ports_.control->take(t);
  }
  if (ports_.frames.takeable(t) && rules_.takes_frame(t)) {
    ports_.frames.take(t);
  }
  rules_.settle(t);
  send();
  if (const cycle_t next = rules_.next(t); next != NeverCycle) {
    wake(next);
  }
}

void tx_mac::send() {
  while (!rules_.begun.empty()) {
    auto [frame, t] = rules_.begun.pop();
    const unsigned beats = beats_of(frame.length);
    const ps_t first_bit = time_of(t + spec::Latency);
    frame.trace = context_.trace.service(frame.trace, site(), time_of(t), first_bit);
    if (ports_.leaving != nullptr) {
      ports_.leaving->push_booked(t, spec::Latency, frame, beats);
    }
    ports_.wire.send(std::move(frame), first_bit);
  }
}

}  // namespace carillon
