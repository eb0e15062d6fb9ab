#include "host/os_noise.h"

#include "common/error.h"
#include "host/busy_process.h"

namespace carillon {

os_noise::os_noise(std::uint64_t seed, std::string_view path, const parameters& params)
    : random_(seed, path),
      active_(params.cpu.noise),
      interval_(static_cast<ps_t>(params.cpu.noise_interval_ps)),
      duration_(static_cast<ps_t>(params.cpu.noise_duration_ps)),
      tail_(params.cpu.noise_tail) {
  if (tail_ != 0 && tail_ <= 1) {
    throw config_error(
        fmt::format("cpu.noise_tail: {} has no mean; allowed: 0 (uniform), or above 1", tail_));
  }
  if (active_) {
    draw();
  }
}

void os_noise::draw() {
  if (tail_ == 0) {
    begin_ = end_ + random_.between(0, 2 * interval_);
    end_ = begin_ + random_.between(0, 2 * duration_);
    return;
  }
  begin_ = end_ + draw_exponential(random_, interval_);
  end_ = begin_ + draw_pareto(random_, duration_, tail_);
}

void os_noise::advance(ps_t now) {
  while (end_ <= now) {
    draw();
  }
}

}  // namespace carillon
