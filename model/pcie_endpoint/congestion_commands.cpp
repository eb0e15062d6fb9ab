// The commands about congestion control. Its parameters are those of the port, so the PF decides.
#include <algorithm>
#include <array>

#include "pcie_endpoint/commands.h"

namespace carillon {

namespace {

constexpr std::uint32_t Parameters = cong_params_in::Size;  ///< where they begin in an input

/// What one bit of the selection is about.
template <class Layout, class Field>
struct choice {
  unsigned bit;
  Field Layout::*field;
  std::uint32_t least;
  std::uint32_t most;
};

constexpr std::uint32_t Bits17 = 0x1ffff;
constexpr std::uint32_t Bits15 = 0x7fff;
constexpr std::uint32_t Bits10 = 0x3ff;
constexpr std::uint32_t AnyRate = 0x7fffffff;

using rp_flag = choice<roce_ecn_rp, std::uint8_t>;
using rp_word = choice<roce_ecn_rp, std::uint32_t>;
using np_flag = choice<roce_ecn_np, std::uint8_t>;
using np_word = choice<roce_ecn_np, std::uint32_t>;

constexpr std::array RpFlags = {
    rp_flag{1, &roce_ecn_rp::clamp_tgt_rate, 0, 1},
    rp_flag{2, &roce_ecn_rp::clamp_tgt_rate_after_time_inc, 0, 1},
};
constexpr std::array RpWords = {
    rp_word{3, &roce_ecn_rp::rpg_time_reset, 0, Bits17},
    rp_word{4, &roce_ecn_rp::rpg_byte_reset, 0, Bits15},
    rp_word{5, &roce_ecn_rp::rpg_threshold, 0, 31},
    rp_word{6, &roce_ecn_rp::rpg_max_rate, 0, AnyRate},
    rp_word{7, &roce_ecn_rp::rpg_ai_rate, 0, Bits17},
    rp_word{8, &roce_ecn_rp::rpg_hai_rate, 0, Bits17},
    rp_word{9, &roce_ecn_rp::rpg_min_dec_fac, 0, 100},
    rp_word{10, &roce_ecn_rp::rpg_min_rate, 1, Bits17},
    rp_word{11, &roce_ecn_rp::rate_to_set_on_first_cnp, 0, AnyRate},
    rp_word{12, &roce_ecn_rp::dce_tcp_g, 0, Bits10},
    rp_word{13, &roce_ecn_rp::dce_tcp_rtt, 0, Bits17},
    rp_word{14, &roce_ecn_rp::rate_reduce_monitor_period, 0, Bits17},
    rp_word{15, &roce_ecn_rp::initial_alpha_value, 0, Bits10},
    rp_word{16, &roce_ecn_rp::rpg_gd, 10, 11},
};
constexpr std::array NpWords = {
    np_word{2, &roce_ecn_np::min_time_between_cnps, 0, Bits17},
};
constexpr std::array NpFlags = {
    np_flag{3, &roce_ecn_np::cnp_dscp, 0, 63},
    np_flag{4, &roce_ecn_np::cnp_802p_prio, 0, 7},
};

/// Takes over what is selected, and takes its bits out of `select`; false if a value is none.
template <class Choices, class Layout>
bool take(const Choices& choices, std::uint32_t& select, const Layout& wanted, Layout& into) {
  for (const auto& each : choices) {
    const std::uint32_t bit = std::uint32_t{1} << each.bit;
    if ((select & bit) == 0) {
      continue;
    }
    select &= ~bit;
    const std::uint32_t value = wanted.*each.field;
    if (value < each.least || value > each.most) {
      return false;
    }
    into.*each.field = wanted.*each.field;
  }
  return true;
}

}  // namespace

command_result command_core::query_congestion(command_input input, std::uint8_t* output) {
  if (caller_ != 0) {
    return fail(command_status::BadOperation, command_syndrome::PrivilegedFunction);
  }
  std::array<std::uint8_t, cong_params_in::Size> whole{};
  std::copy_n(input.begin(), std::min<std::size_t>(input.size(), whole.size()), whole.begin());
  switch (cong_params_in::unpack(whole.data()).cong_protocol) {
    case CongReactionPoint:
      tables_.reaction.pack(output + cmd_out::Size);
      return {.output_bytes = cmd_out::Size + roce_ecn_rp::Size};
    case CongNotificationPoint:
      tables_.notification.pack(output + cmd_out::Size);
      return {.output_bytes = cmd_out::Size + roce_ecn_np::Size};
    default:
      return refused_field();
  }
}

command_result command_core::modify_congestion(command_input input) {
  if (caller_ != 0) {
    return fail(command_status::BadOperation, command_syndrome::PrivilegedFunction);
  }
  if (input.size() < Parameters + roce_ecn_rp::Size) {
    return too_short();
  }
  const cong_params_in in = cong_params_in::unpack(input.data());
  switch (in.cong_protocol) {
    case CongReactionPoint:
      return modify_reaction(in.field_select, roce_ecn_rp::unpack(input.data() + Parameters));
    case CongNotificationPoint:
      return modify_notification(in.field_select, roce_ecn_np::unpack(input.data() + Parameters));
    default:
      return refused_field();
  }
}

/// Under another rule than the vendor's they would say nothing.
command_result command_core::modify_reaction(std::uint32_t select, const roce_ecn_rp& wanted) {
  if (!limits_.vendor_rule) {
    return fail(command_status::BadSystemState, command_syndrome::Option);
  }
  roce_ecn_rp changed = tables_.reaction;
  if (!take(RpFlags, select, wanted, changed) || !take(RpWords, select, wanted, changed)) {
    return refused_field();
  }
  if (select != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  tables_.reaction = changed;
  effects_.reaction = true;
  return done();
}

command_result command_core::modify_notification(std::uint32_t select, const roce_ecn_np& wanted) {
  roce_ecn_np changed = tables_.notification;
  if (!take(NpFlags, select, wanted, changed) || !take(NpWords, select, wanted, changed)) {
    return refused_field();
  }
  if (select != 0) {
    return fail(command_status::BadParameter, command_syndrome::Option);
  }
  tables_.notification = changed;
  effects_.notification = true;
  return done();
}

/// They are what they were at first; true if they were not.
bool command_core::reset_congestion() {
  effects_.reaction = tables_.reaction != limits_.reaction;
  effects_.notification = tables_.notification != limits_.notification;
  tables_.reaction = limits_.reaction;
  tables_.notification = limits_.notification;
  return effects_.reaction || effects_.notification;
}

}  // namespace carillon
