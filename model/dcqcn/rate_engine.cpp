#include "dcqcn/rate_engine.h"

#include "common/error.h"

namespace carillon {

rate_engine::rate_engine(std::size_t contexts) : machine_(cleared_settings()), qps_(contexts) {}

rate_update_item rate_engine::serve(const rate_slice_item& slice) {
  CARILLON_CHECK(slice.now < NeverRate, "dcqcn: {} ns is beyond its time", slice.now);
  rate_update_item update;
  update.slot = slice.slot;
  update.op = slice.op;
  update.due = NeverRate;
  if (slice.op == rate_op::Setup) {
    CARILLON_CHECK(slice.slot <= static_cast<unsigned>(rate_setting::ByteReset),
                   "dcqcn: no register {}", slice.slot);
    machine_.write(static_cast<rate_setting>(slice.slot), slice.value);
    return update;
  }
  CARILLON_CHECK(slice.slot < qps_.size(), "dcqcn: slot {} of {}", slice.slot, qps_.size());
  rate_state& qp = qps_[slice.slot];
  const rate_outcome outcome = machine_.step(qp, {slice.op, slice.value, slice.now});
  update.again = outcome.again;
  update.due = outcome.due;
  update.limited = qp.limited;
  update.pending = qp.pending;
  update.current = qp.current;
  update.target = qp.target;
  update.alpha = qp.alpha;
  update.byte_stage = qp.byte_stage;
  update.time_stage = qp.time_stage;
  return update;
}

}  // namespace carillon
