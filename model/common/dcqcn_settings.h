// What the reaction point of DCQCN is set to, in the numbers of the chip.
//
// Three rules are built in. `Paper` is the published algorithm: a CNP cuts at once. `Vendor` is
// what the registers of real adapters describe: CNPs are noted, alpha moves once a period and the
// rate is cut at most once a period. `Description` decides once a slice of time between a cut by
// alpha, a share of the way to the target, and a step.
#pragma once

#include <cstdint>

#include "common/fixed_point.h"
#include "gen/contexts.h"
#include "gen/streams.h"

namespace carillon {

/// 48 bits of nanoseconds; all ones is never.
using rate_time = std::uint64_t;
inline constexpr unsigned RateTimeBits = 48;
inline constexpr rate_time NeverRate = (rate_time{1} << RateTimeBits) - 1;

/// What dce_tcp_g weighs; the vendor's documents disagree.
enum class gain_reading : std::uint8_t {
  OldAlpha,      ///< alpha = G * alpha + (1 - G) * cnp
  Notification,  ///< alpha = (1 - G) * alpha + G * cnp
  Split          ///< G * alpha + (1 - G) with a CNP, (1 - G) * alpha without
};

struct dcqcn_settings {
  dcqcn_mode mode = dcqcn_mode::Paper;
  bool update_first = false;  ///< Paper: alpha rises before the cut
  bool clamp_target = true;   ///< a cut makes the old rate the target, always
  bool clamp_after_time =
      false;  ///< or when the timer or the byte counter raised it; else the latter
  bool hyper_grows =
      false;  ///< hyper increase begins at F itself, and grows with each further stage
  std::uint8_t threshold = 5;   ///< F: stages of fast recovery
  std::uint8_t cut_shift = 11;  ///< a cut takes alpha * 2^(10 - shift) of the rate

  wire_rate min_rate = 1;
  wire_rate max_rate = 0;
  wire_rate first_rate = 0;  ///< at the first CNP; 0: none
  wire_rate additive = 0;    ///< R_AI, and the step of Description; RP_RATE of a QP overrides it
  wire_rate hyper = 0;       ///< R_HAI

  fraction alpha = FractionMax;    ///< at the start; Vendor: and at each first CNP
  fraction gain_rise = 0;          ///< weight of 1 when CNPs came
  fraction gain_decay = 0;         ///< weight of 0 when none came
  fraction beta = 0;               ///< Description: share of the way to the target
  std::uint32_t min_decrease = 0;  ///< a cut leaves this share at least, up to FractionOne

  std::uint32_t alpha_period_ns = 0;   ///< 0: alpha does not decay
  std::uint32_t rate_period_ns = 0;    ///< T, and the slice of Description; 0: no timer
  std::uint32_t reduce_period_ns = 0;  ///< Vendor: one cut a period at most; 0: at once
  std::uint32_t byte_reset = 0;        ///< B; 0: no byte counter

  bool operator==(const dcqcn_settings&) const = default;
};

/// The published algorithm and its parameters, on a line of that rate.
[[nodiscard]] dcqcn_settings paper_settings(std::uint32_t line_mbps);

/// alpha 0.5, beta 0.5, slices of 55 us, steps of 40 Mb/s.
[[nodiscard]] dcqcn_settings description_settings(std::uint32_t line_mbps);

/// What the vendor ships.
[[nodiscard]] roce_ecn_rp vendor_defaults();

/// The vendor's parameters, in the chip's numbers. A field is cut to the width that it has in the
/// vendor's registers.
[[nodiscard]] dcqcn_settings vendor_settings(const roce_ecn_rp& registers, std::uint32_t line_mbps,
                                             gain_reading reading = gain_reading::OldAlpha);

/// Fails if they make no rate: a highest of 0, a lowest above it, slices without a length.
void check_settings(const dcqcn_settings& settings);

/// As after a reset of the chip, before anything is written.
[[nodiscard]] dcqcn_settings cleared_settings();

/// The value of a register of the chip.
[[nodiscard]] std::uint32_t setting_of(const dcqcn_settings& settings, rate_setting which);

/// A register of the chip is written. Bits that it does not have are dropped.
void write_setting(dcqcn_settings& settings, rate_setting which, std::uint32_t value);

}  // namespace carillon
