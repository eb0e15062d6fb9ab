// What the responder knows of one QP's receive queue: credits, and receive WQEs read ahead.
// Counters are modulo 2^16.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/items.h"
#include "gen/contexts.h"

namespace carillon {

/// Some consecutive receive WQEs, read with one DMA read.
struct receive_batch {
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  bool arrived = false;
  dma_status status = dma_status::ok;
  buffer_ref bytes;
};

class receive_queue {
 public:
  static constexpr unsigned MaxBatches = 3;
  static constexpr unsigned BatchWqes = 8;
  static constexpr std::uint32_t BatchBytes = 4096;

  void start(std::uint16_t consumer, std::uint16_t producer);
  void configure(const qpc_common& common);

  [[nodiscard]] bool has_credit() const { return producer_ != consumer_; }

  [[nodiscard]] std::uint16_t consumer() const { return consumer_; }

  [[nodiscard]] std::uint16_t producer() const { return producer_; }

  [[nodiscard]] std::uint32_t stride() const { return stride_; }

  /// A receive doorbell record was read.
  void set_producer(std::uint16_t producer) { producer_ = producer; }

  /// Takes the next receive WQE; without `needs_bytes` it is not read if it has not been yet.
  std::uint16_t consume(bool needs_bytes);

  /// The message that took WQE `index` is done; called in order.
  void finished(std::uint16_t index);

  struct plan {
    std::uint64_t address = 0;
    std::uint16_t first = 0;
    std::uint16_t count = 0;
  };

  /// What to read next, if anything: one read at a time, when less than half a batch is left.
  [[nodiscard]] std::optional<plan> next_read() const;

  receive_batch& begin_read(const plan& reading, buffer_ref into);
  void end_read(dma_status status);

  /// The batch that holds WQE `index`; nullptr while it was not asked for.
  [[nodiscard]] const receive_batch* find(std::uint16_t index) const;

  [[nodiscard]] const std::uint8_t* wqe(const receive_batch& batch, std::uint16_t index) const {
    return batch.bytes.data() + std::uint16_t(index - batch.first) * stride_;
  }

 private:
  std::uint16_t producer_ = 0;
  std::uint16_t consumer_ = 0;
  std::uint16_t asked_ = 0;  ///< WQEs before it were asked for, or need not be
  bool reading_ = false;
  std::uint64_t base_ = 0;
  std::uint32_t stride_ = 16;
  std::uint32_t size_ = 1;
  std::array<receive_batch, MaxBatches> batches_;  ///< oldest first
  unsigned count_ = 0;
};

}  // namespace carillon
