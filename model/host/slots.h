// Things on their way, each known by a number until it is given back: no allocation in steady
// state.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon {

template <class T>
class slots {
 public:
  /// A slot that is as it was given back.
  std::uint32_t obtain() {
    if (free_.empty()) {
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }

  void give_back(std::uint32_t index) { free_.push_back(index); }

  [[nodiscard]] T& operator[](std::uint32_t index) { return items_[index]; }

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
};

}  // namespace carillon
