// One QP and its rate machine: what happens to it at which microsecond.
#pragma once

#include "dcqcn/rate_machine.h"

namespace carillon {

inline constexpr std::uint32_t LineMbps = 100'000;

constexpr wire_rate gbps(std::uint64_t whole) {
  return rate_of_mbps(whole * 1000);
}

/// So many parts of the line's 100 Gb/s; exact if the parts are a power of two.
constexpr wire_rate line_parts(std::uint64_t count, std::uint64_t parts) {
  return static_cast<wire_rate>(gbps(100) * count / parts);
}

class dcqcn_bench {
 public:
  explicit dcqcn_bench(const dcqcn_settings& settings) : machine_(settings) {
    does(rate_op::Start, 0, 0);
  }

  void cnp(std::uint64_t us) { does(rate_op::Cnp, 0, us); }

  void sends(std::uint32_t bytes, std::uint64_t us) { does(rate_op::Sent, bytes, us); }

  void until(std::uint64_t us) { does(rate_op::Time, 0, us); }

  void does(rate_op op, std::uint32_t value, std::uint64_t us) {
    due_ = machine_.run(qp_, {op, value, us * 1000}).due;
  }

  [[nodiscard]] wire_rate rate() const { return qp_.current; }

  [[nodiscard]] double rate_gbps() const { return mbps_of(qp_.current) / 1000; }

  [[nodiscard]] wire_rate target() const { return qp_.target; }

  [[nodiscard]] fraction alpha() const { return qp_.alpha; }

  [[nodiscard]] const rate_state& qp() const { return qp_; }

  /// When the QP wants to be looked at again, in microseconds.
  [[nodiscard]] double due() const { return static_cast<double>(due_) / 1000; }

  [[nodiscard]] bool rests() const { return due_ == NeverRate; }

 private:
  rate_machine machine_;
  rate_state qp_;
  rate_time due_ = NeverRate;
};

}  // namespace carillon
