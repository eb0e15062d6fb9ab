#include "wqe_fetch/wqe_fetch_history.h"

#include <algorithm>

#include "common/error.h"
#include "gen/stages.h"
#include "wqe_fetch/wqe_fetch_core.h"

namespace carillon {

namespace spec = stage_spec::wqe_fetch;

wqe_fetch_history::wqe_fetch_history(nic_shared& nic, trace_site site, std::size_t queues)
    : nic_(nic),
      site_(site),
      queues_(queues),
      arbiter_reason_(nic.context.trace.intern("arbiter")),
      batch_reason_(nic.context.trace.intern("doorbell_batch")),
      go_back_reason_(nic.context.trace.intern("go_back")) {}

trace_ref wqe_fetch_history::of_read(cycle_t t, std::uint32_t qpn, std::uint16_t index) const {
  tracer& trace = nic_.context.trace;
  if (index_distance(index, queues_[qpn].handed) < 0) {
    // Nobody rang for it a second time: the message itself went back.
    const trace_ref own = nic_.posted.find(qpn, index, time_of(t));
    const ps_t end = trace.end_of(own);
    return end > time_of(t) ? trace_ref{}
                            : trace.wait(own, site_, go_back_reason_, end, time_of(t));
  }
  const rung* rang = covering(qpn, index);
  CARILLON_CHECK(rang != nullptr, "wqe_fetch: WQE {} of QP {} was never rung for, cycle {}", index,
                 qpn, t);
  const cycle_t arbitrated = std::min(t, rang->known + spec::Arbiter);
  const trace_ref chosen =
      trace.service(rang->trace, site_, time_of(rang->known), time_of(arbitrated));
  return trace.wait(chosen, site_, arbiter_reason_, time_of(arbitrated), time_of(t));
}

const wqe_fetch_history::rung* wqe_fetch_history::covering(std::uint32_t qpn,
                                                           std::uint16_t index) const {
  const ring<rung>& rings = queues_[qpn].rings;
  for (std::size_t i = 0; i < rings.size(); ++i) {
    if (index_distance(rings[i].producer, index) > 0) {
      return &rings[i];
    }
  }
  return nullptr;
}

trace_ref wqe_fetch_history::of_wqe(cycle_t t, std::uint32_t qpn, std::uint16_t index,
                                    std::uint16_t behind, trace_ref from) {
  tracer& trace = nic_.context.trace;
  const trace_ref own = nic_.posted.find(qpn, index, time_of(t));
  std::uint16_t& handed = queues_[qpn].handed;
  const bool again = index_distance(index, handed) < 0;
  if (index_distance(behind, handed) > 0) {
    handed = behind;
  }
  if (own.message == from.message || own.message == 0) {
    return own.message == 0 ? trace_ref{} : from;
  }
  if (again) {
    // In the same read as an older one.
    const ps_t end = trace.end_of(own);
    return trace.wait(own, site_, go_back_reason_, end, std::max(end, time_of(t)));
  }
  // Fetched because of a doorbell that was rung for another WQE, or together with another one.
  const rung* rang = covering(qpn, index);
  const bool rang_itself = rang != nullptr && rang->trace.message == own.message;
  const trace_ref joined =
      trace.adopt(rang_itself ? rang->trace : own, from, milestone::doorbell, site_, batch_reason_);
  // The read may be nobody's: that of a message that went back and was acknowledged meanwhile.
  const ps_t end = trace.end_of(joined);
  return trace.wait(joined, site_, batch_reason_, end, std::max(end, time_of(t)));
}

void wqe_fetch_history::passed(std::uint32_t qpn, std::uint16_t behind) {
  ring<rung>& rings = queues_[qpn].rings;
  while (!rings.empty() && index_distance(rings.front().producer, behind) <= 0) {
    rings.pop();
  }
}

}  // namespace carillon
