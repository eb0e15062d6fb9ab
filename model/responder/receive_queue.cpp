#include "responder/receive_queue.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace carillon {

void receive_queue::start(std::uint16_t consumer, std::uint16_t producer) {
  consumer_ = consumer;
  asked_ = consumer;
  producer_ = producer;
  reading_ = false;
  for (receive_batch& batch : batches_) {
    batch = {};
  }
  count_ = 0;
}

void receive_queue::configure(const qpc_common& common) {
  base_ = common.rq_base_addr;
  stride_ = 1U << (common.log_rq_stride + LogRqStrideBase);
  size_ = 1U << common.log_rq_size;
}

std::uint16_t receive_queue::consume(bool needs_bytes) {
  CARILLON_CHECK(has_credit(), "receive queue: WQE {} taken without a credit", consumer_);
  const std::uint16_t index = consumer_++;
  if (!needs_bytes && index == asked_) {
    asked_ = consumer_;
  }
  return index;
}

void receive_queue::finished(std::uint16_t index) {
  const auto done = static_cast<std::uint16_t>(index + 1);
  while (count_ != 0 && batches_[0].arrived) {
    const auto end = static_cast<std::uint16_t>(batches_[0].first + batches_[0].count);
    if (static_cast<std::int16_t>(done - end) < 0) {
      break;
    }
    std::rotate(batches_.begin(), batches_.begin() + 1, batches_.end());
    batches_.back() = {};
    --count_;
  }
}

std::optional<receive_queue::plan> receive_queue::next_read() const {
  const auto ahead = static_cast<std::int16_t>(asked_ - consumer_);
  const auto available = static_cast<std::uint16_t>(producer_ - asked_);
  if (reading_ || count_ == MaxBatches || available == 0 ||
      ahead >= static_cast<int>(BatchWqes / 2)) {
    return std::nullopt;
  }
  const std::uint32_t slot = asked_ & (size_ - 1);
  const std::uint32_t count =
      std::min({std::uint32_t{available}, BatchWqes, BatchBytes / stride_, size_ - slot});
  return plan{base_ + std::uint64_t{slot} * stride_, asked_, static_cast<std::uint16_t>(count)};
}

receive_batch& receive_queue::begin_read(const plan& reading, buffer_ref into) {
  CARILLON_CHECK(!reading_ && count_ < MaxBatches && reading.first == asked_,
                 "receive queue: a read of WQE {} out of turn", reading.first);
  reading_ = true;
  asked_ = static_cast<std::uint16_t>(reading.first + reading.count);
  receive_batch& batch = batches_[count_++];
  batch = {reading.first, reading.count, false, dma_status::ok, std::move(into)};
  return batch;
}

void receive_queue::end_read(dma_status status) {
  if (!reading_) {
    return;  // the queue was started again meanwhile
  }
  reading_ = false;
  batches_[count_ - 1].arrived = true;
  batches_[count_ - 1].status = status;
}

const receive_batch* receive_queue::find(std::uint16_t index) const {
  for (unsigned i = 0; i < count_; ++i) {
    if (static_cast<std::uint16_t>(index - batches_[i].first) < batches_[i].count) {
      return &batches_[i];
    }
  }
  return nullptr;
}

}  // namespace carillon
