#include "requester/response_landing.h"

#include <algorithm>

#include "gen/wqe.h"

namespace carillon {

void cut_scatter_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                      std::uint32_t length, std::vector<landing_part>& parts) {
  std::uint64_t at = 0;  // of the segment in the message
  const std::uint64_t begin = offset;
  const std::uint64_t end = begin + length;
  for (unsigned i = 0; i < count && at < end; ++i) {
    const data_seg segment = data_seg::unpack(segments + std::size_t{i} * data_seg::Size);
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + segment.byte_count);
    if (from < to) {
      parts.push_back({segment.address + (from - at), segment.lkey,
                       static_cast<std::uint32_t>(to - from),
                       static_cast<std::uint32_t>(from - begin)});
    }
    at += segment.byte_count;
  }
}

std::size_t landing_queue::add() {
  const std::size_t id = (head_ + count_++) % Slots;
  response_landing& slot = slots_[id];
  slot.last = false;
  slot.fault = false;
  slot.missing = 0;
  slot.written = 0;
  slot.parts.clear();
  slot.pieces.clear();
  return id;
}

void landing_queue::pop() {
  slots_[head_].bytes.reset();
  head_ = (head_ + 1) % Slots;
  --count_;
}

}  // namespace carillon
