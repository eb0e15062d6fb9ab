#include "rate_control/rate_parameters.h"

#include <algorithm>
#include <cmath>

#include "common/congestion.h"

namespace carillon {

namespace {

constexpr std::uint32_t MbpsPerGbps = 1000;
constexpr std::uint32_t NsPerUs = 1000;

std::uint32_t word(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

fraction fraction_of_real(double value) {
  return static_cast<fraction>(std::min<double>(std::round(value * FractionOne), FractionMax));
}

std::uint32_t line_mbps(const parameters& params) {
  return word(params.wire.rate_gbps) * MbpsPerGbps;
}

}  // namespace

dcqcn_settings chosen_settings(const parameters& params) {
  return chosen_settings(params, reaction_parameters(params));
}

dcqcn_settings chosen_settings(const parameters& params, const roce_ecn_rp& vendor) {
  const std::uint32_t line = line_mbps(params);
  if (params.dcqcn.rule == dcqcn_rule::Vendor) {
    const dcqcn_settings settings = vendor_settings(vendor, line);
    check_settings(settings);
    return settings;
  }
  const bool paper = params.dcqcn.rule == dcqcn_rule::Paper;
  dcqcn_settings settings = paper ? paper_settings(line) : description_settings(line);
  if (params.dcqcn.alpha != 0) {
    settings.alpha = fraction_of_real(params.dcqcn.alpha);
  }
  settings.min_rate = rate_of_mbps(word(params.dcqcn.min_rate_mbps));
  settings.additive = rate_of_mbps(word(params.dcqcn.ai_mbps));
  settings.rate_period_ns = word(params.dcqcn.rate_timer_us) * NsPerUs;
  if (paper) {
    settings.update_first = params.dcqcn.update_first;
    settings.gain_rise = settings.gain_decay = fraction_of_real(params.dcqcn.gain);
    settings.alpha_period_ns = word(params.dcqcn.alpha_timer_us) * NsPerUs;
    settings.byte_reset = word(params.dcqcn.byte_counter);
    settings.threshold = static_cast<std::uint8_t>(params.dcqcn.threshold);
    settings.hyper = rate_of_mbps(word(params.dcqcn.hai_mbps));
  } else {
    settings.beta = fraction_of_real(params.dcqcn.beta);
  }
  check_settings(settings);
  return settings;
}

}  // namespace carillon
