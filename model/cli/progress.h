// A progress bar on standard error, for runs of more than a second on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace carillon {

class progress_bar {
 public:
  /// `label` stands in front; `total` is what advance counts up to.
  progress_bar(std::string label, std::uint64_t total, bool wanted);
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  /// Removes the bar.
  ~progress_bar();

  void advance() {
    ++done_;
    if (wanted_ && done_ >= next_look_) {
      look();
    }
  }

 private:
  using clock = std::chrono::steady_clock;

  void look();

  std::string label_;
  std::uint64_t total_;
  bool wanted_;
  bool shown_ = false;
  std::uint64_t done_ = 0;
  std::uint64_t next_look_ = 1;
  clock::time_point start_ = clock::now();
  clock::time_point drawn_ = start_;
};

}  // namespace carillon
