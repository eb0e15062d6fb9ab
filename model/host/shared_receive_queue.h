// Shared receive queues: a pool of receive WQEs for several QPs. WQEs complete in any order, so
// free ones form a list through the WQEs themselves, which the device follows too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/cpu.h"
#include "host/driver.h"
#include "host/receive_wqe.h"
#include "host/task.h"

namespace carillon {

struct shared_receive_options {
  unsigned log_size = 6;  ///< one of its 2^log_size WQEs always ends the list
  unsigned max_sges = 1;
  std::uint16_t limit = 0;  ///< an event when fewer are left; 0: none
  bool wq_signature = false;
};

class shared_receive_queue {
 public:
  static task<std::unique_ptr<shared_receive_queue>> create(device& owner, cpu& core,
                                                            std::uint32_t pd,
                                                            const shared_receive_options& options);
  shared_receive_queue(const shared_receive_queue&) = delete;
  shared_receive_queue& operator=(const shared_receive_queue&) = delete;

  /// False, and nothing is posted, if the queue has no room or the request does not fit.
  task<bool> post(cpu& core, const receive_request& request);
  /// All or nothing, with one store to the doorbell record.
  task<bool> post(cpu& core, std::span<const receive_request> batch);

  /// Asks for one SrqLimit event when fewer than `limit` WQEs are left.
  task<> arm(cpu& core, std::uint16_t limit);

  /// Takes a completed WQE back; the id of its request.
  std::uint64_t retire(std::uint16_t wqe_counter);

  [[nodiscard]] std::uint32_t srqn() const { return srqn_; }

  /// WQEs that may still be posted.
  [[nodiscard]] std::uint32_t room() const { return size() - 1 - outstanding_; }

  [[nodiscard]] std::uint64_t buffer() const { return buffer_; }

  [[nodiscard]] std::uint64_t doorbell_record() const { return record_; }

 private:
  shared_receive_queue(device& owner, const shared_receive_options& options);

  [[nodiscard]] std::uint32_t size() const { return 1U << options_.log_size; }

  [[nodiscard]] std::uint64_t wqe_at(std::uint16_t index) const {
    return buffer_ + std::uint64_t{index} * stride_;
  }

  [[nodiscard]] std::uint16_t next_of(std::uint16_t index) const;
  void link(std::uint16_t index, std::uint16_t next);

  device& device_;
  const shared_receive_options options_;
  const std::uint32_t stride_;
  std::uint32_t srqn_ = 0;
  std::uint64_t buffer_ = 0;
  std::uint64_t record_ = 0;
  std::uint16_t head_ = 0;  ///< first free WQE
  std::uint16_t tail_ = 0;  ///< last free one; it is never posted, the device's list ends there
  std::uint32_t outstanding_ = 0;
  std::uint32_t posted_ = 0;        ///< free running
  std::vector<std::uint64_t> ids_;  ///< by WQE
  std::vector<bool> in_use_;        ///< by WQE
  std::array<std::uint8_t, MaxReceiveWqeBytes> wqe_{};
  cpu_lock lock_;  ///< its QPs may belong to several cores
};

}  // namespace carillon
