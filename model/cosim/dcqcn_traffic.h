// Constrained-random slices for dcqcn: QPs under every rule, at their limits and between, with
// timers that expire in time, late, together and not at all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/random.h"
#include "common/rate_items.h"
#include "dcqcn/rate_engine.h"
#include "gen/stages.h"

namespace carillon {

class dcqcn_traffic {
 public:
  explicit dcqcn_traffic(std::uint64_t seed)
      : random_(seed, "dcqcn_bench/slices"), engine_(stage_spec::dcqcn::Contexts) {}

  rate_slice_item next() {
    const rate_slice_item slice = make();
    settings_before_ = engine_.settings();
    if (slice.op != rate_op::Setup) {
      before_ = engine_.qp(slice.slot);
    }
    update_ = engine_.serve(slice);
    return slice;
  }

  /// Around the slice that came last: the QP and the registers, and what became of it.
  [[nodiscard]] const rate_state& before() const { return before_; }

  [[nodiscard]] const dcqcn_settings& settings() const { return settings_before_; }

  [[nodiscard]] const rate_state& after() const { return engine_.qp(update_.slot); }

  [[nodiscard]] const rate_update_item& update() const { return update_; }

  [[nodiscard]] bool served_before() const { return epochs_ > 1; }

 private:
  static constexpr unsigned Registers = static_cast<unsigned>(rate_setting::ByteReset) + 1;
  static constexpr std::uint64_t SlicesOfAnEpoch = 1000;
  static constexpr unsigned Hot = 12;  ///< QPs that most slices are of

  rate_slice_item make() {
    if (left_ == 0) {
      begin_epoch();
    }
    if (setup_ < Registers) {
      const auto which = static_cast<rate_setting>(setup_);
      return {{},
              static_cast<std::uint16_t>(setup_++),
              rate_op::Setup,
              setting_of(chosen_, which),
              now_};
    }
    if (!to_start_.empty()) {
      const std::uint16_t slot = to_start_.back();
      to_start_.pop_back();
      return {{}, slot, rate_op::Start, 0, now_};
    }
    --left_;
    if (update_.again && update_.op != rate_op::Setup && random_.chance(7, 8)) {
      return {{}, update_.slot, repeated_.op, repeated_.value, now_};
    }
    repeated_ = any();
    return repeated_;
  }

  /// New registers, and some QPs that begin; the others go on as they are.
  void begin_epoch() {
    if (epochs_++ == 0) {
      for (unsigned slot = 0; slot < stage_spec::dcqcn::Contexts; ++slot) {
        to_start_.push_back(static_cast<std::uint16_t>(slot));
      }
    } else {
      for (unsigned i = 0; i < Hot; ++i) {
        if (random_.chance(1, 2)) {
          to_start_.push_back(static_cast<std::uint16_t>(i));
        }
      }
    }
    left_ = SlicesOfAnEpoch;
    setup_ = 0;
    chosen_ = any_settings();
  }

  template <class T, std::size_t N>
  T one_of(const std::array<T, N>& from) {
    return from[random_.below(N)];
  }

  bool coin() { return random_.chance(1, 2); }

  std::uint32_t word() { return static_cast<std::uint32_t>(random_.next()); }

  fraction any_fraction() {
    constexpr std::array<fraction, 6> Corners = {0,          1, 1U << 16, 1U << 23, FractionMax - 1,
                                                 FractionMax};
    return coin() ? one_of(Corners) : word() & FractionMax;
  }

  std::uint32_t any_period() {
    constexpr std::array<std::uint32_t, 6> Usual = {0, 1, 1000, 4000, 55000, 300000};
    return coin() ? one_of(Usual) : static_cast<std::uint32_t>(random_.between(1, 20000));
  }

  dcqcn_settings any_settings() {
    constexpr std::array<std::uint32_t, 5> Lines = {1000, 25000, 100'000, 400'000, 3'000'000};
    const std::uint32_t line = one_of(Lines);
    dcqcn_settings s;
    switch (random_.below(4)) {
      case 0:
        s = paper_settings(line);
        break;
      case 1:
        s = description_settings(line);
        break;
      default:
        s = vendor_settings(vendor_defaults(), line);
        break;
    }
    s.update_first = coin();
    s.clamp_target = coin();
    s.clamp_after_time = coin();
    s.hyper_grows = coin();
    s.threshold = static_cast<std::uint8_t>(coin() ? random_.below(6) : random_.below(32));
    s.cut_shift = static_cast<std::uint8_t>(coin() ? random_.between(10, 11) : random_.below(16));
    s.min_rate = coin() ? s.min_rate : 1 + word() % s.max_rate;
    s.first_rate = coin() ? 0 : word() % s.max_rate;
    s.additive = coin() ? s.additive : word() >> random_.below(32);
    s.hyper = coin() ? s.hyper : word() >> random_.below(32);
    s.alpha = coin() ? s.alpha : any_fraction();
    s.gain_rise = coin() ? s.gain_rise : any_fraction();
    s.gain_decay = coin() ? s.gain_decay : any_fraction();
    s.beta = coin() ? s.beta : any_fraction();
    constexpr std::array<std::uint32_t, 3> Decreases = {0, FractionOne / 2, FractionOne};
    s.min_decrease = coin() ? one_of(Decreases) : word() % (FractionOne + 1);
    s.alpha_period_ns = coin() ? s.alpha_period_ns : any_period();
    s.rate_period_ns = coin() ? s.rate_period_ns : any_period();
    s.reduce_period_ns = coin() ? s.reduce_period_ns : any_period();
    constexpr std::array<std::uint32_t, 5> Resets = {0, 1, 150, 4170, 32767};
    s.byte_reset = coin() ? one_of(Resets) : word() >> random_.below(32);
    if (s.mode == dcqcn_mode::Description) {
      s.rate_period_ns = std::max(s.rate_period_ns, 1U);
    }
    check_settings(s);
    return s;
  }

  rate_slice_item any() {
    rate_slice_item slice;
    const std::uint64_t whose = random_.below(16);
    if (whose >= 5) {
      slot_ = static_cast<std::uint16_t>(random_.below(Hot));
    } else if (whose == 0) {
      slot_ = static_cast<std::uint16_t>(random_.below(stage_spec::dcqcn::Contexts));
    }
    slice.slot = slot_;
    advance(engine_.qp(slot_));
    slice.now = now_;
    constexpr std::array Ops = {
        rate_op::Time, rate_op::Time,    rate_op::Time,   rate_op::Time,  rate_op::Sent,
        rate_op::Sent, rate_op::Sent,    rate_op::Sent,   rate_op::Sent,  rate_op::Cnp,
        rate_op::Cnp,  rate_op::Cnp,     rate_op::Sent,   rate_op::Time,  rate_op::Current,
        rate_op::Sent, rate_op::Current, rate_op::Target, rate_op::Slope, rate_op::Timer};
    slice.op = one_of(Ops);
    slice.value = any_value(slice.op);
    return slice;
  }

  /// A little, not at all, to the end of a timer of this QP, or far beyond.
  void advance(const rate_state& qp) {
    switch (random_.below(10)) {
      case 0:
      case 1:
        break;
      case 2:
      case 3:
        to(qp.rate_at);
        break;
      case 4:
        to(qp.alpha_at);
        break;
      case 5:
        to(qp.cut_at);
        break;
      case 6:
        now_ += random_.below(coin() ? 1000 : 1'000'000);
        break;
      default:
        now_ += random_.below(300);
        break;
    }
  }

  void to(rate_time at) {
    // A period of the widest timer is 4 s: far, and time is not to run out.
    if (at > now_ && at - now_ < 1'000'000'000) {
      now_ = at - (random_.chance(1, 8) ? 1 : 0);
    }
  }

  std::uint32_t any_value(rate_op op) {
    const dcqcn_settings& s = engine_.settings();
    switch (op) {
      case rate_op::Sent:
        switch (random_.below(8)) {
          case 0:
            return word();
          case 1:
          case 2:
            return s.byte_reset - static_cast<std::uint32_t>(random_.below(3));
          default:
            return static_cast<std::uint32_t>(random_.between(64, 4222));
        }
      case rate_op::Current:
        switch (random_.below(4)) {
          case 0:
            return s.max_rate;
          case 1:
            return s.min_rate;
          default:
            return word() % s.max_rate;
        }
      case rate_op::Target:
        return coin() ? word() : word() % s.max_rate;
      case rate_op::Slope:
        return coin() ? 0 : word() >> random_.below(32);
      case rate_op::Timer:
        return coin() ? 0 : static_cast<std::uint32_t>(random_.below(coin() ? 20 : 65536));
      default:
        return word();  // nobody looks at it
    }
  }

  random_stream random_;
  rate_engine engine_;
  dcqcn_settings chosen_;
  std::vector<std::uint16_t> to_start_;
  unsigned setup_ = Registers;
  std::uint64_t left_ = 0;
  std::uint64_t epochs_ = 0;
  std::uint16_t slot_ = 0;
  rate_time now_ = 0;
  rate_slice_item repeated_;
  rate_state before_;
  dcqcn_settings settings_before_;
  rate_update_item update_;
};

}  // namespace carillon
