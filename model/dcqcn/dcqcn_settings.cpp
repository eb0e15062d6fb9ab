#include "dcqcn/dcqcn_settings.h"

#include <algorithm>

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

}  // namespace carillon
