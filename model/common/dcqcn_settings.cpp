#include "common/dcqcn_settings.h"

#include <algorithm>

#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint32_t NsPerUs = 1000;

constexpr std::uint32_t low_bits(std::uint32_t value, unsigned bits) {
  return value & ((1U << bits) - 1);
}

}  // namespace

// Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, and "ECN or
// Delay", CoNEXT 2016: F 5, g 1/256, timers of 55 us, 10 MB, 40 Mb/s; R_HAI as in the authors'
// simulator.
dcqcn_settings paper_settings(std::uint32_t line_mbps) {
  dcqcn_settings s;
  s.max_rate = rate_of_mbps(line_mbps);
  s.min_rate = rate_of_mbps(1);
  s.additive = rate_of_mbps(40);
  s.hyper = rate_of_mbps(200);
  s.gain_rise = s.gain_decay = fraction_of(1, 256);
  s.alpha_period_ns = s.rate_period_ns = 55 * NsPerUs;
  s.byte_reset = 10'000'000;
  return s;
}

dcqcn_settings description_settings(std::uint32_t line_mbps) {
  dcqcn_settings s;
  s.mode = dcqcn_mode::Description;
  s.cut_shift = 10;
  s.max_rate = rate_of_mbps(line_mbps);
  s.min_rate = rate_of_mbps(1);
  s.additive = rate_of_mbps(40);
  s.alpha = s.beta = fraction_of(1, 2);
  s.rate_period_ns = 55 * NsPerUs;
  return s;
}

roce_ecn_rp vendor_defaults() {
  roce_ecn_rp r;
  r.clamp_tgt_rate_after_time_inc = 1;
  r.rpg_time_reset = 300;
  r.rpg_byte_reset = 32767;
  r.rpg_threshold = 1;
  r.rpg_ai_rate = 5;
  r.rpg_hai_rate = 50;
  r.rpg_gd = 11;
  r.rpg_min_dec_fac = 50;
  r.rpg_min_rate = 1;
  r.dce_tcp_g = 1019;
  r.dce_tcp_rtt = 1;
  r.rate_reduce_monitor_period = 4;
  r.initial_alpha_value = 1023;
  return r;
}

dcqcn_settings vendor_settings(const roce_ecn_rp& registers, std::uint32_t line_mbps,
                               gain_reading reading) {
  constexpr std::uint32_t Weights = 1024;  // dce_tcp_g and alpha have 10 bits
  dcqcn_settings s;
  s.mode = dcqcn_mode::Vendor;
  s.clamp_target = registers.clamp_tgt_rate != 0;
  s.clamp_after_time = registers.clamp_tgt_rate_after_time_inc != 0;
  s.hyper_grows = true;
  s.threshold = static_cast<std::uint8_t>(low_bits(registers.rpg_threshold, 5));
  s.cut_shift = static_cast<std::uint8_t>(low_bits(registers.rpg_gd, 4));
  const wire_rate line = rate_of_mbps(line_mbps);
  const std::uint32_t max_mbps = low_bits(registers.rpg_max_rate, 31);
  s.max_rate = max_mbps == 0 ? line : std::min(line, rate_of_mbps(max_mbps));
  s.min_rate = std::clamp(rate_of_mbps(low_bits(registers.rpg_min_rate, 17)), 1U, s.max_rate);
  s.first_rate = std::min(s.max_rate, rate_of_mbps(registers.rate_to_set_on_first_cnp));
  s.additive = rate_of_mbps(low_bits(registers.rpg_ai_rate, 17));
  s.hyper = rate_of_mbps(low_bits(registers.rpg_hai_rate, 17));
  s.alpha = fraction_of(low_bits(registers.initial_alpha_value, 10), Weights);
  const std::uint32_t g = low_bits(registers.dce_tcp_g, 10);
  const fraction weight = fraction_of(g, Weights);
  const fraction rest = fraction_of(Weights - g, Weights);
  s.gain_rise = reading == gain_reading::Notification ? weight : rest;
  s.gain_decay = reading == gain_reading::OldAlpha ? rest : weight;
  const std::uint32_t percent = std::min(low_bits(registers.rpg_min_dec_fac, 8), 100U);
  s.min_decrease = static_cast<std::uint32_t>(std::uint64_t{FractionOne} * percent / 100);
  s.alpha_period_ns = low_bits(registers.dce_tcp_rtt, 17) * NsPerUs;
  s.rate_period_ns = low_bits(registers.rpg_time_reset, 17) * NsPerUs;
  s.reduce_period_ns = low_bits(registers.rate_reduce_monitor_period, 17) * NsPerUs;
  s.byte_reset = low_bits(registers.rpg_byte_reset, 15);
  return s;
}

void check_settings(const dcqcn_settings& settings) {
  CARILLON_CHECK(settings.min_rate > 0 && settings.min_rate <= settings.max_rate,
                 "dcqcn: rates from {} to {}", settings.min_rate, settings.max_rate);
  CARILLON_CHECK(settings.first_rate <= settings.max_rate, "dcqcn: first rate {} above {}",
                 settings.first_rate, settings.max_rate);
  CARILLON_CHECK(settings.alpha <= FractionMax && settings.gain_rise <= FractionMax &&
                     settings.gain_decay <= FractionMax && settings.beta <= FractionMax &&
                     settings.min_decrease <= FractionOne,
                 "dcqcn: a fraction above 1");
  CARILLON_CHECK(settings.cut_shift < 16 && settings.threshold < 32,
                 "dcqcn: cut by 2^-{}, {} stages", settings.cut_shift, settings.threshold);
  CARILLON_CHECK(settings.mode != dcqcn_mode::Description || settings.rate_period_ns != 0,
                 "dcqcn: slices without a length");
}

dcqcn_settings cleared_settings() {
  dcqcn_settings s;
  for (unsigned i = 0; i <= static_cast<unsigned>(rate_setting::ByteReset); ++i) {
    write_setting(s, static_cast<rate_setting>(i), 0);
  }
  return s;
}

std::uint32_t setting_of(const dcqcn_settings& settings, rate_setting which) {
  switch (which) {
    case rate_setting::Options: {
      rate_options options;
      options.mode = settings.mode;
      options.update_first = settings.update_first;
      options.clamp_target = settings.clamp_target;
      options.clamp_after_time = settings.clamp_after_time;
      options.hyper_grows = settings.hyper_grows;
      options.threshold = settings.threshold;
      options.cut_shift = settings.cut_shift;
      std::uint32_t word = 0;
      options.pack(&word);
      return word;
    }
    case rate_setting::MinRate:
      return settings.min_rate;
    case rate_setting::MaxRate:
      return settings.max_rate;
    case rate_setting::FirstRate:
      return settings.first_rate;
    case rate_setting::Additive:
      return settings.additive;
    case rate_setting::Hyper:
      return settings.hyper;
    case rate_setting::Alpha:
      return settings.alpha;
    case rate_setting::GainRise:
      return settings.gain_rise;
    case rate_setting::GainDecay:
      return settings.gain_decay;
    case rate_setting::Beta:
      return settings.beta;
    case rate_setting::MinDecrease:
      return settings.min_decrease;
    case rate_setting::AlphaPeriod:
      return settings.alpha_period_ns;
    case rate_setting::RatePeriod:
      return settings.rate_period_ns;
    case rate_setting::ReducePeriod:
      return settings.reduce_period_ns;
    case rate_setting::ByteReset:
      return settings.byte_reset;
  }
  return 0;
}

void write_setting(dcqcn_settings& settings, rate_setting which, std::uint32_t value) {
  switch (which) {
    case rate_setting::Options: {
      const std::uint32_t word = low_bits(value, rate_options::Width);
      const rate_options options = rate_options::unpack(&word);
      settings.mode = options.mode;
      settings.update_first = options.update_first != 0;
      settings.clamp_target = options.clamp_target != 0;
      settings.clamp_after_time = options.clamp_after_time != 0;
      settings.hyper_grows = options.hyper_grows != 0;
      settings.threshold = options.threshold;
      settings.cut_shift = options.cut_shift;
      break;
    }
    case rate_setting::MinRate:
      settings.min_rate = value;
      break;
    case rate_setting::MaxRate:
      settings.max_rate = value;
      break;
    case rate_setting::FirstRate:
      settings.first_rate = value;
      break;
    case rate_setting::Additive:
      settings.additive = value;
      break;
    case rate_setting::Hyper:
      settings.hyper = value;
      break;
    case rate_setting::Alpha:
      settings.alpha = value & FractionMax;
      break;
    case rate_setting::GainRise:
      settings.gain_rise = value & FractionMax;
      break;
    case rate_setting::GainDecay:
      settings.gain_decay = value & FractionMax;
      break;
    case rate_setting::Beta:
      settings.beta = value & FractionMax;
      break;
    case rate_setting::MinDecrease:
      settings.min_decrease = low_bits(value, FractionBits + 1);
      break;
    case rate_setting::AlphaPeriod:
      settings.alpha_period_ns = value;
      break;
    case rate_setting::RatePeriod:
      settings.rate_period_ns = value;
      break;
    case rate_setting::ReducePeriod:
      settings.reduce_period_ns = value;
      break;
    case rate_setting::ByteReset:
      settings.byte_reset = value;
      break;
  }
}

}  // namespace carillon
