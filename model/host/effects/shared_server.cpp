#include "host/effects/shared_server.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr ps_t Percent = 100;

}  // namespace

ps_t burst_stream::gap_for(const pareto& length, std::uint32_t peak, std::uint32_t permille) {
  constexpr ps_t Whole = 1000;
  const ps_t mean = length.mean();
  const ps_t work = peak == 0 ? mean : mean * peak / Percent;
  const ps_t busy = peak == 0 ? 0 : mean;
  return std::max<ps_t>(work * Whole / permille - busy, 1);
}

void shared_server::add(const burst_stream& stream, std::uint64_t seed, std::string_view path) {
  sources_.push_back({stream, random_stream(seed, path), false, 0});
  source& added = sources_.back();
  added.until = at_ + draw_exponential(added.random, stream.mean_gap);
}

ps_t shared_server::enter(ps_t when, ps_t work) {
  advance(when);
  const ps_t begin = at_ + backlog_;
  backlog_ += work;
  return begin;
}

void shared_server::others_add(ps_t work) {
  // Ours may lie above the limit; theirs do not grow there.
  backlog_ = std::max(backlog_, std::min(backlog_ + work, limit_));
}

void shared_server::turn(source& which) {
  if (which.bursting) {
    which.bursting = false;
    which.until += draw_exponential(which.random, which.stream.mean_gap);
    return;
  }
  const ps_t length = which.stream.length.draw(which.random);
  if (which.stream.peak == 0) {
    others_add(length);
    which.until += draw_exponential(which.random, which.stream.mean_gap);
    return;
  }
  which.bursting = true;
  which.until += length;
}

void shared_server::advance(ps_t to) {
  while (at_ < to) {
    ps_t next = to;
    source* due = nullptr;
    ps_t rate = 0;
    for (source& each : sources_) {
      rate += each.bursting ? each.stream.peak : 0;
      if (each.until <= next && (due == nullptr || each.until < next)) {
        next = each.until;
        due = &each;
      }
    }
    const ps_t step = next - at_;
    if (rate > Percent) {
      others_add(step * (rate - Percent) / Percent);
    } else {
      backlog_ -= std::min(backlog_, step * (Percent - rate) / Percent);
    }
    at_ = next;
    if (due != nullptr) {
      turn(*due);
    }
  }
}

}  // namespace carillon
