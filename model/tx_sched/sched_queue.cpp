#include "tx_sched/sched_queue.h"

#include <algorithm>
#include <array>

#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

fence_mode fence_of(std::uint8_t fm_ce_se) {
  std::array<std::uint8_t, ctrl_seg::Size> raw{};
  raw[ctrl_seg::at::Fm] = fm_ce_se;
  return ctrl_seg::unpack(raw.data()).fm;
}

}  // namespace

work_kind work_kind_of(std::uint8_t wqe_opcode) {
  switch (static_cast<carillon::wqe_opcode>(wqe_opcode)) {
    case wqe_opcode::Nop:
    case wqe_opcode::LocalInvalidate:
      return work_kind::local;
    case wqe_opcode::RdmaRead:
      return work_kind::read;
    case wqe_opcode::AtomicCompareSwap:
    case wqe_opcode::AtomicFetchAdd:
      return work_kind::atomic;
    default:
      return work_kind::message;
  }
}

sched_flags sched_flags_of(std::uint8_t fm_ce_se) {
  std::array<std::uint8_t, ctrl_seg::Size> raw{};
  raw[ctrl_seg::at::Ce] = fm_ce_se;
  const ctrl_seg control = ctrl_seg::unpack(raw.data());
  const bool event = control.ce == completion_mode::AlwaysWithEvent;
  return {event || control.ce == completion_mode::Always, event, control.se != 0};
}

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : (bytes - 1) / mtu + 1;
}

std::uint32_t held_work::next_bytes() const {
  return kind() == work_kind::message ? std::min(item.length - offset, mtu) : 0;
}

std::uint32_t held_work::next_psns() const {
  switch (kind()) {
    case work_kind::read:
      return packets_of(item.length - offset, mtu);
    case work_kind::local:
      return 0;
    default:
      return 1;
  }
}

void sched_queue::begin() {
  held_work& head = works.front();
  if (head.begun) {
    return;
  }
  head.begun = true;
  head.first_psn = (psn - head.offset / head.mtu) & PsnMask;
  const auto behind = static_cast<std::uint16_t>(head.item.wqe_index + head.item.wqebbs);
  if (static_cast<std::int16_t>(behind - begun_to) > 0) {
    begun_to = behind;
  }
}

std::uint8_t sched_queue::head_syndrome() const {
  return flushing != 0 ? static_cast<std::uint8_t>(cqe_syndrome::WrFlushed)
                       : works.front().item.syndrome;
}

sched_hold sched_queue::hold(std::uint32_t window) const {
  const held_work& head = works.front();
  const bool begins = !head.begun;
  // A WQE that had begun before SQD and comes again goes on.
  if (begins && draining && static_cast<std::int16_t>(head.item.wqe_index - begun_to) >= 0) {
    return sched_hold::drain;
  }
  if (!reliable) {
    return sched_hold::none;  // nothing is ever acknowledged
  }
  const std::uint32_t outstanding = psn_distance(acked, psn);
  if (begins) {
    switch (fence_of(head.item.fm_ce_se)) {
      case fence_mode::Fence:
      case fence_mode::SmallAndFence:
        if (reads != 0) {
          return sched_hold::fence;
        }
        break;
      case fence_mode::StrongOrdering:
        if (reads != 0 || outstanding != 0) {
          return sched_hold::fence;
        }
        break;
      case fence_mode::None:
      case fence_mode::InitiatorSmall:  // local invalidations are done when they are granted
        break;
    }
    const bool answered = head.kind() == work_kind::read || head.kind() == work_kind::atomic;
    if (answered && reads >= max_reads) {
      return sched_hold::max_rd_atomic;
    }
  }
  // PSNs in flight are compared within half of their space, whatever the length of a READ.
  const std::uint32_t more = head.next_psns();
  if (more != 0 && (outstanding >= window || (outstanding != 0 && outstanding + more >= PsnHalf))) {
    return sched_hold::window;
  }
  return sched_hold::none;
}

}  // namespace carillon
