// Which message a send WQE belongs to, beside the data: the driver says so when it has written the
// WQE, the NIC asks when it has fetched one. It carries trace references only and decides nothing;
// a WQE that nobody announced is not traced.
#pragma once

#include <cstdint>
#include <vector>

#include "common/error.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class posted_work {
 public:
  /// Makes room for a send queue of 2^log_size WQEBBs. What was known of an earlier queue of that
  /// number is forgotten.
  void register_sq(std::uint32_t qpn, unsigned log_size) {
    CARILLON_CHECK(log_size <= 16, "posted_work: a send queue of 2^{} WQEBBs", log_size);
    if (qpn >= queues_.size()) {
      queues_.resize(qpn + 1);
    }
    queues_[qpn].assign(std::size_t{1} << log_size, {});
  }

  /// `trace` is the end of the message's history when the WQE is complete in memory, or when a
  /// stage has given it up so that it is fetched again. `wqe_index` runs freely modulo 2^16; an
  /// entry lives until its slot is used again.
  void post(std::uint32_t qpn, std::uint16_t wqe_index, trace_ref trace, ps_t now = 0) {
    if (entry* found = slot(qpn, wqe_index)) {
      const bool again = found->wqe_index == wqe_index && found->at < now;
      *found = {trace, again ? found->trace : trace, now, wqe_index};
    }
  }

  /// The message of that WQE as it was posted before `now`, or {} if none is known: within a cycle
  /// the order of the stages means nothing.
  [[nodiscard]] trace_ref find(std::uint32_t qpn, std::uint16_t wqe_index,
                               ps_t now = NeverPs) const {
    const entry* found = const_cast<posted_work*>(this)->slot(qpn, wqe_index);
    if (found == nullptr || found->wqe_index != wqe_index) {
      return {};
    }
    return found->at < now ? found->trace : found->before;
  }

 private:
  struct entry {
    trace_ref trace;
    trace_ref before;  ///< until `at`
    ps_t at = 0;
    std::uint16_t wqe_index = 0;
  };

  [[nodiscard]] entry* slot(std::uint32_t qpn, std::uint16_t wqe_index) {
    if (qpn >= queues_.size() || queues_[qpn].empty()) {
      return nullptr;
    }
    return &queues_[qpn][wqe_index & (queues_[qpn].size() - 1)];
  }

  std::vector<std::vector<entry>> queues_;  ///< by QP number
};

}  // namespace carillon
