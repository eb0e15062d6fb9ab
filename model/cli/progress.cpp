#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace carillon {

progress_bar::progress_bar(std::string label, std::uint64_t total, bool wanted)
    : label_(std::move(label)), total_(total), wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

progress_bar::~progress_bar() {
  if (shown_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void progress_bar::look() {
  using std::chrono::milliseconds;
  const auto now = clock::now();
  // The clock is read some ten times a second, whatever a message costs.
  const auto elapsed =
      std::max<std::int64_t>(1, std::chrono::duration_cast<milliseconds>(now - start_).count());
  const std::uint64_t per_look =
      std::max<std::uint64_t>(1, done_ * 50 / static_cast<std::uint64_t>(elapsed));
  next_look_ = done_ + per_look;
  if (now - start_ < milliseconds(1000) || now - drawn_ < milliseconds(100)) {
    return;
  }
  drawn_ = now;
  shown_ = true;
  constexpr std::uint64_t Width = 30;
  const std::uint64_t filled = total_ == 0 ? 0 : std::min(Width, done_ * Width / total_);
  fmt::print(stderr, "\r{} [{}{}] {} of {} messages\x1b[K", label_, std::string(filled, '#'),
             std::string(Width - filled, ' '), done_, total_);
  std::fflush(stderr);
}

}  // namespace carillon
