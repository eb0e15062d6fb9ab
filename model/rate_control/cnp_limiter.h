// The notification point of DCQCN: a CNP at once, then at most one an interval, for each QP, each
// destination or the whole port.
//
// What was sent within the last interval stands in a table in the order of sending, so the oldest
// is always the next to be forgotten. If the table is full of such, the oldest makes room before
// its time, and is counted: its next packet that is marked gets a CNP early, while nobody has to do
// without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/types.h"

namespace carillon {

enum class cnp_scope : std::uint8_t { Qp, Destination, Port };

/// Who sent the marked packet: as the limiter is asked about it.
struct cnp_flow {
  std::uint32_t qpn = 0;           ///< here
  std::uint64_t address_high = 0;  ///< IPv6, or an IPv4 address mapped to it
  std::uint64_t address_low = 0;
};

class cnp_limiter {
 public:
  cnp_limiter(cnp_scope scope, ps_t interval, std::size_t entries);

  /// A marked packet of the flow came: whether it is to be answered by a CNP.
  bool marked(const cnp_flow& flow, ps_t now);

  /// CNPs that may have been sent before their time, for want of room.
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

  [[nodiscard]] std::size_t held() const { return count_; }

 private:
  struct entry {
    std::uint64_t high;
    std::uint64_t low;
    ps_t until;
  };

  [[nodiscard]] entry key_of(const cnp_flow& flow) const;
  [[nodiscard]] const entry& at(std::size_t i) const;
  void forget_oldest();

  cnp_scope scope_;
  ps_t interval_;
  std::vector<entry> entries_;
  std::size_t oldest_ = 0;
  std::size_t count_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace carillon
