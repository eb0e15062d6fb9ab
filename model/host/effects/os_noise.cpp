#include "host/effects/os_noise.h"

#include "host/effects/heavy_tail.h"

namespace carillon {

namespace {

/// Uniform between 0 and twice the mean.
ps_t draw_around(random_stream& random, std::int64_t mean) {
  return random.between(0, 2 * static_cast<std::uint64_t>(mean));
}

}  // namespace

os_noise::os_noise(const parameters& params, std::uint64_t seed, const std::string& core)
    : params_(params), random_(seed, core + "/noise"), next_{0, 0} {
  draw();
}

void os_noise::draw() {
  const auto& cpu = params_.cpu;
  if (cpu.noise_shape == 0) {
    next_.begin = next_.end + draw_around(random_, cpu.noise_interval_ps);
    next_.end = next_.begin + draw_around(random_, cpu.noise_duration_ps);
    return;
  }
  pareto length;
  length.least = static_cast<ps_t>(cpu.noise_duration_ps);
  length.most = static_cast<ps_t>(cpu.noise_max_ps);
  length.shape = static_cast<std::uint32_t>(cpu.noise_shape);
  next_.begin = next_.end + draw_exponential(random_, static_cast<ps_t>(cpu.noise_interval_ps));
  next_.end = next_.begin + length.draw(random_);
}

const interruption& os_noise::after(ps_t when) {
  while (next_.end <= when) {
    draw();
  }
  return next_;
}

}  // namespace carillon
