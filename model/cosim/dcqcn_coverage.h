// What a slice of dcqcn's traffic met: the bins of docs/spec/coverage.toml that follow from a QP
// before and after it.
#pragma once

#include <algorithm>

#include "cosim/dcqcn_traffic.h"
#include "gen/coverage.h"

namespace carillon {

/// Calls hit(bin) for each.
template <class Hit>
class dcqcn_coverage {
 public:
  using bin = coverage_spec::dcqcn::bin;

  dcqcn_coverage(const dcqcn_traffic& traffic, Hit hit) : traffic_(traffic), hit_(std::move(hit)) {}

  /// The slice that the traffic made last.
  void observe(const rate_slice_item& slice) {
    if (slice.op == rate_op::Setup) {
      hit_if(traffic_.served_before(), bin::OpSetup);
      return;
    }
    const dcqcn_settings& s = traffic_.settings();
    mode(s);
    if (slice.op == rate_op::Start) {
      hit_(bin::OpStart);
    } else if (traffic_.update().again) {
      timers(s, slice);
    } else {
      happened(s, slice);
    }
  }

 private:
  void hit_if(bool condition, bin which) {
    if (condition) {
      hit_(which);
    }
  }

  void mode(const dcqcn_settings& s) {
    switch (s.mode) {
      case dcqcn_mode::Paper:
        hit_(s.update_first ? bin::ModeUpdateFirst : bin::ModePaper);
        break;
      case dcqcn_mode::Description:
        hit_(bin::ModeDescription);
        break;
      case dcqcn_mode::Vendor:
        hit_(s.reduce_period_ns != 0 ? bin::ModeVendor : bin::ModeAtOnce);
        break;
    }
  }

  void timers(const dcqcn_settings& s, const rate_slice_item& slice) {
    const rate_state& qp = traffic_.before();
    const bool sliced = s.mode == dcqcn_mode::Description;
    const std::uint64_t period = qp.timer_us != 0 ? qp.timer_us * 1000ULL : s.rate_period_ns;
    const bool runs = (qp.limited || (sliced && qp.pending)) && period != 0;
    const rate_time alpha = qp.alpha_runs ? qp.alpha_at : NeverRate;
    const rate_time cut = qp.pending && !sliced ? qp.cut_at : NeverRate;
    const rate_time rate = runs ? qp.rate_at : NeverRate;
    const rate_time first = std::min({alpha, cut, rate});
    hit_if((alpha == first) + (cut == first) + (rate == first) > 1, bin::TimerTie);
    if (alpha == first) {
      hit_(bin::TimerAlpha);
      hit_if(traffic_.after().alpha == 0, bin::TimerRests);
      hit_if(first + s.alpha_period_ns <= slice.now, bin::TimerLate);
    } else if (cut == first) {
      hit_(bin::TimerCut);
      cuts(s);
    } else {
      hit_(bin::TimerRate);
      hit_if(first + period <= slice.now, bin::TimerLate);
      if (!sliced) {
        raises(s, qp.byte_stage, std::min(qp.time_stage + 1, 255));
      } else if (qp.pending) {
        hit_(bin::TimerSliceCut);
        levels(s, qp.current, qp.alpha);
      } else {
        hit_(qp.current < qp.target ? bin::TimerSliceBeta : bin::TimerSliceStep);
      }
    }
  }

  void happened(const dcqcn_settings& s, const rate_slice_item& slice) {
    const rate_state& qp = traffic_.before();
    switch (slice.op) {
      case rate_op::Time:
        hit_(bin::OpTime);
        break;
      case rate_op::Sent:
        hit_(qp.limited ? bin::OpSent : bin::OpSentFree);
        if (qp.limited && s.mode != dcqcn_mode::Description && s.byte_reset != 0) {
          const std::uint64_t sum = std::uint64_t{qp.sent} + slice.value;
          if (sum >= s.byte_reset) {
            hit_(bin::BytesEvent);
            hit_if(sum >= 2ULL * s.byte_reset, bin::BytesLeftOver);
            raises(s, std::min(qp.byte_stage + 1, 255), qp.time_stage);
          }
        }
        break;
      case rate_op::Cnp:
        hit_(qp.limited ? bin::OpCnpMore : bin::OpCnpFirst);
        if (s.mode == dcqcn_mode::Paper ||
            (s.mode == dcqcn_mode::Vendor && s.reduce_period_ns == 0)) {
          cuts(s);
        }
        break;
      case rate_op::Current:
        hit_(bin::OpCurrent);
        break;
      case rate_op::Target:
        hit_(bin::OpTarget);
        break;
      case rate_op::Slope:
        hit_(bin::OpSlope);
        break;
      case rate_op::Timer:
        hit_(bin::OpTimer);
        break;
      case rate_op::Start:
      case rate_op::Setup:
        break;
    }
  }

  void cuts(const dcqcn_settings& s) {
    const rate_state& qp = traffic_.before();
    const bool moves =
        s.clamp_target || qp.byte_stage != 0 || (s.clamp_after_time && qp.time_stage != 0);
    hit_(moves ? bin::CutTargetMoves : bin::CutTargetStays);
    if (qp.limited || s.first_rate == 0) {
      const bool risen = s.mode == dcqcn_mode::Paper && s.update_first;
      levels(s, qp.current, risen ? traffic_.after().alpha : qp.alpha);
    }
  }

  void levels(const dcqcn_settings& s, wire_rate rate, fraction alpha) {
    const rate_state& after = traffic_.after();
    hit_if(after.current == s.min_rate, bin::CutLowest);
    hit_if(after.current > s.min_rate && after.current == rate / 2 &&
               s.min_decrease == FractionOne / 2,
           bin::CutDecrease);
    hit_if((std::uint64_t{alpha} << (15 - s.cut_shift)) > (1ULL << 29), bin::CutAllOfIt);
  }

  void raises(const dcqcn_settings& s, int byte_stage, int time_stage) {
    const int most = std::max(byte_stage, time_stage);
    const int least = std::min(byte_stage, time_stage);
    if (most < s.threshold) {
      hit_(bin::RaiseRecovery);
    } else if (s.hyper_grows && least >= s.threshold) {
      hit_(least == s.threshold ? bin::RaiseHyper : bin::RaiseGrowing);
    } else if (!s.hyper_grows && least > s.threshold) {
      hit_(bin::RaiseHyper);
    } else {
      hit_(bin::RaiseAdditive);
    }
    hit_if(!traffic_.after().limited, bin::RaiseReleased);
    hit_if(most == 255, bin::RaiseLastStage);
  }

  const dcqcn_traffic& traffic_;
  Hit hit_;
};

}  // namespace carillon
