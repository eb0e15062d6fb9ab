#include "responder/shared_receive_queue.h"

#include <utility>

#include "common/error.h"
#include "gen/wqe.h"

namespace carillon {

void shared_wqe_queue::start(const srq_line& line) {
  base_ = line.base_addr;
  stride_ = 1U << (line.log_stride + LogRqStrideBase);
  size_ = 1U << line.log_size;
  producer_ = 0;
  consumer_ = 0;
  next_index_ = 0;
  reading_ = false;
  broken_ = false;
  first_ = 0;
  wqes_.clear();
  early_.clear();
}

std::uint16_t shared_wqe_queue::consume() {
  CARILLON_CHECK(has_credit(), "shared receive queue: WQE {} taken without a credit", consumer_);
  return consumer_++;
}

bool shared_wqe_queue::wants_read() const {
  const std::uint16_t next = next_sequence();
  return !reading_ && !broken_ && next != producer_ &&
         static_cast<std::int16_t>(next - consumer_) < static_cast<int>(Ahead);
}

std::uint16_t shared_wqe_queue::next_sequence() const {
  return static_cast<std::uint16_t>(first_ + wqes_.size());
}

void shared_wqe_queue::begin_read(buffer_ref into) {
  CARILLON_CHECK(wants_read(), "shared receive queue: a read of WQE {} out of turn", next_index_);
  reading_ = true;
  wqes_.push({next_index_, false, false, dma_status::ok, std::move(into)});
}

void shared_wqe_queue::end_read(dma_status status) {
  CARILLON_CHECK(reading_, "shared receive queue: an answer to no read");
  reading_ = false;
  shared_wqe& wqe = wqes_.back();
  wqe.arrived = true;
  wqe.status = status;
  if (status == dma_status::ok) {
    next_index_ = srq_next_seg::unpack(wqe.bytes.data()).next_wqe_index;
    broken_ = next_index_ >= size_;
  } else {
    broken_ = true;
  }
  const auto sequence = static_cast<std::uint16_t>(next_sequence() - 1);
  if (std::erase(early_, sequence) != 0) {
    finished(sequence);
  }
  if (broken_) {
    lost_.arrived = true;
    lost_.status = status == dma_status::ok ? dma_status::completer_abort : status;
  }
}

const shared_wqe* shared_wqe_queue::find(std::uint16_t sequence) const {
  const auto nth = static_cast<std::uint16_t>(sequence - first_);
  if (nth < wqes_.size()) {
    return &wqes_[nth];
  }
  return broken_ ? &lost_ : nullptr;
}

void shared_wqe_queue::finished(std::uint16_t sequence) {
  const auto nth = static_cast<std::uint16_t>(sequence - first_);
  if (nth >= wqes_.size()) {
    if (!broken_) {
      early_.push_back(sequence);
    }
    return;
  }
  wqes_[nth].done = true;
  while (!wqes_.empty() && wqes_.front().done && wqes_.front().arrived) {
    wqes_.pop();
    ++first_;
  }
}

}  // namespace carillon
