#include "uar/queue_doorbells.h"

#include "gen/registers.h"
#include "gen/wqe.h"

namespace carillon {

std::optional<queue_doorbell> decode_queue_doorbell(std::uint32_t offset, const std::uint8_t* data,
                                                    std::uint16_t length) {
  queue_doorbell bell;
  if (offset == uar_page::CqDb && length == cq_doorbell::Size) {
    const cq_doorbell word = cq_doorbell::unpack(data);
    bell.solicited_only = word.arm_solicited != 0;
    bell.arm_sn = word.arm_sn;
    bell.number = word.cqn;
    bell.consumer_index = word.consumer_index;
    return bell;
  }
  const bool arms = offset == uar_page::EqDbArm;
  if ((arms || offset == uar_page::EqDb) && length == eq_doorbell::Size) {
    const eq_doorbell word = eq_doorbell::unpack(data);
    bell.eq = true;
    bell.arm = arms;
    bell.number = word.eqn;
    bell.consumer_index = word.consumer_index;
    return bell;
  }
  return std::nullopt;
}

}  // namespace carillon
