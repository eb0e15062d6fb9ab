#include "rate_control/cnp_limiter.h"

#include "common/error.h"

namespace carillon {

cnp_limiter::cnp_limiter(cnp_scope scope, ps_t interval, std::size_t entries)
    : scope_(scope), interval_(interval), entries_(scope == cnp_scope::Port ? 1 : entries) {
  CARILLON_CHECK(!entries_.empty(), "cnp_limiter: no room for any flow");
}

bool cnp_limiter::marked(const cnp_flow& flow, ps_t now) {
  if (interval_ == 0) {
    return true;
  }
  while (count_ != 0 && at(0).until <= now) {
    forget_oldest();
  }
  entry asked = key_of(flow);
  for (std::size_t i = 0; i < count_; ++i) {
    if (at(i).high == asked.high && at(i).low == asked.low) {
      return false;
    }
  }
  if (count_ == entries_.size()) {
    forget_oldest();
    ++evicted_;
  }
  asked.until = now + interval_;
  entries_[(oldest_ + count_++) % entries_.size()] = asked;
  return true;
}

cnp_limiter::entry cnp_limiter::key_of(const cnp_flow& flow) const {
  switch (scope_) {
    case cnp_scope::Qp:
      return {0, flow.qpn, 0};
    case cnp_scope::Destination:
      return {flow.address_high, flow.address_low, 0};
    case cnp_scope::Port:
      break;
  }
  return {0, 0, 0};
}

const cnp_limiter::entry& cnp_limiter::at(std::size_t i) const {
  return entries_[(oldest_ + i) % entries_.size()];
}

void cnp_limiter::forget_oldest() {
  oldest_ = (oldest_ + 1) % entries_.size();
  --count_;
}

}  // namespace carillon
