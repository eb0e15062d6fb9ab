// The READs and atomics that a QP's responder keeps, so that a duplicate is answered again and an
// atomic never executed twice: a ring of 2^log_rra_max entries.
//
// An entry is busy until the last packet of its answer has left: before, the peer cannot know that
// it is answered. A new request recycles the oldest entry; if that one is still busy, the peer has
// more outstanding than was agreed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gen/wire.h"

namespace carillon {

struct saved_request {
  bool used = false;
  bth_verb verb = bth_verb::ReadRequest;
  std::uint32_t first_psn = 0;
  std::uint32_t psns = 1;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
  bool answered = false;
  std::uint64_t result = 0;  ///< of an atomic
};

class saved_requests {
 public:
  /// Forgets everything.
  void start(unsigned log_size);

  [[nodiscard]] bool all_busy() const { return busy_ == size_; }

  /// Not while all are busy.
  void save(const saved_request& request);

  /// The oldest entry without an answer has one; an atomic has its result.
  void answered(std::uint64_t result = 0);

  /// The answer of the oldest busy entry has left.
  void left();

  /// Is a READ of `length` bytes at `address` that begins with `psn` a part of a saved one, where
  /// its PSN says?
  [[nodiscard]] bool covers_read(std::uint32_t psn, std::uint64_t address, std::uint32_t rkey,
                                 std::uint32_t length, std::uint32_t mtu) const;

  /// The result of that atomic, if it was executed.
  [[nodiscard]] std::optional<std::uint64_t> result_of(std::uint32_t psn, bth_verb verb,
                                                       std::uint64_t address) const;

 private:
  std::uint32_t size_ = 1;
  std::uint32_t next_ = 0;  ///< where the next one goes
  std::uint32_t busy_ = 0;  ///< the last ones before `next_`
  std::uint32_t open_ = 0;  ///< the last ones of those: without an answer
  std::vector<saved_request> entries_;
};

}  // namespace carillon
