// tx_sched: QPs whose priority is paused stand aside, and come back one a cycle.
#include <bit>

#include "tx_sched/tx_sched_rules.h"

namespace carillon {

/// That its frames will have: the path's, unless its port says otherwise. Datagrams have their own;
/// tx_mac stops those.
unsigned tx_sched_rules::priority_of(cycle_t t, std::uint32_t qpn, std::uint16_t function) const {
  const vport& port = ports_.vports.read(t).at(function);
  return port.vlan ? port.priority : queues_[qpn].priority;
}

/// Bit n: priority n gets no grants.
std::uint8_t tx_sched_rules::halted(cycle_t t) const {
  const auto read = [t](const level<std::uint8_t>* from) {
    return from == nullptr ? std::uint8_t{0} : from->read(t);
  };
  return read(ports_.paused) | read(ports_.crowded);
}

bool tx_sched_rules::paused(cycle_t t, std::uint32_t qpn, std::uint16_t function) const {
  const std::uint8_t none = halted(t);
  return none != 0 && (none >> priority_of(t, qpn, function) & 1) != 0;
}

void tx_sched_rules::stop_requests(cycle_t t, std::uint32_t qpn) {
  sched_queue& queue = queues_[qpn];
  queue.works.front().next.waits_for(context_, site(), t, pause_reason_);
  if (queue.stopped) {
    return;  // it came back before its time, and is still in the line
  }
  queue.stopped = true;
  const unsigned priority = priority_of(t, qpn, queue.function);
  stopped_requests_[priority].push(qpn);
  stopped_ |= static_cast<std::uint8_t>(1U << priority);
}

/// It stands in no line any more.
void tx_sched_rules::stop_responses(cycle_t t, std::uint32_t qpn) {
  sched_responses& waiting = responses_[qpn];
  waiting.front().history.waits_for(context_, site(), t, pause_reason_);
  waiting.in = response_line::none;
  waiting.stopped = true;
  const unsigned priority = priority_of(t, qpn, waiting.front().item.function);
  stopped_responses_[priority].push(qpn);
  stopped_ |= static_cast<std::uint8_t>(1U << priority);
}

/// Of the priorities that may send again, the highest: one QP, responses before requests. It stands
/// behind those that wait for a place.
void tx_sched_rules::let_go(cycle_t t) {
  const auto free = static_cast<std::uint8_t>(stopped_ & ~halted(t));
  if (free == 0) {
    return;
  }
  const auto priority = static_cast<unsigned>(std::bit_width(unsigned{free})) - 1;
  ring<std::uint32_t>& answers = stopped_responses_[priority];
  ring<std::uint32_t>& requests = stopped_requests_[priority];
  if (!answers.empty()) {
    const std::uint32_t qpn = answers.pop();
    responses_[qpn].stopped = false;
    if (line_for(t, qpn) == response_line::reads) {
      reads_.queue(responses_[qpn].function, qpn);
    }
  } else {
    const std::uint32_t qpn = requests.pop();
    queues_[qpn].stopped = false;
    if (unpark(t, qpn)) {
      requests_.queue(queues_[qpn].function, qpn);
    }
  }
  if (answers.empty() && requests.empty()) {
    stopped_ &= static_cast<std::uint8_t>(~(1U << priority));
  }
  wake(t + 1);
}

}  // namespace carillon
