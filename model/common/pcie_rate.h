// What a PCIe link carries: its byte rate as an exact fraction, and times on it as integers.
//
// The rate is lanes * GT/s * encoding, less the share that ACK and flow-control DLLPs and SKP
// ordered sets take. That share is a fluid derate after pcie-bench's model: DLLPs are not sent one
// by one.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace carillon {

/// Bytes per picosecond as a reduced fraction.
struct pcie_rate {
  std::uint64_t num = 1;
  std::uint64_t den = 1;

  /// The time that `bytes` take, rounded up to a picosecond.
  [[nodiscard]] ps_t time_of(std::uint64_t bytes) const { return (bytes * den + num - 1) / num; }

  [[nodiscard]] double gigabits() const {
    return 8000.0 * static_cast<double>(num) / static_cast<double>(den);
  }

  bool operator==(const pcie_rate&) const = default;
};

/// Symbol times between two flow control updates by the guideline of the base specification:
/// (max_payload + 28) * factor / lanes + internal delay. ACKs are given the same interval.
std::uint32_t flow_update_interval(unsigned generation, unsigned lanes, unsigned max_payload);

/// The line rate without the bytes of the encoding. Throws config_error for a link that does not
/// exist.
pcie_rate raw_rate(unsigned generation, unsigned lanes);

/// What is left of it for TLPs. Without `derate` DLLPs and SKP ordered sets cost nothing.
pcie_rate tlp_rate(unsigned generation, unsigned lanes, unsigned max_payload, bool derate = true);

/// A transmitter that sends byte after byte: times within a busy period are computed from its
/// beginning, so rounding never accumulates.
class serializer {
 public:
  explicit serializer(pcie_rate rate);

  /// When the next first symbol can leave, if one is to leave as soon as possible.
  [[nodiscard]] ps_t free_at() const { return epoch_ + rate_.time_of(bytes_); }

  /// Takes `bytes` at `now` and returns when their first symbol leaves; free_at() is when their
  /// last has.
  ps_t take(ps_t now, std::uint64_t bytes);

  [[nodiscard]] const pcie_rate& rate() const { return rate_; }

 private:
  pcie_rate rate_;
  ps_t epoch_ = 0;           ///< an instant at which a byte began
  std::uint64_t bytes_ = 0;  ///< sent without a break since then
};

}  // namespace carillon
