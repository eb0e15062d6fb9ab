// A queue that keeps its memory: no allocation in steady state, as std::deque has.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace carillon {

template <class T>
class fifo {
 public:
  void push(T value) {
    if (count_ == slots_.size()) {
      grow();
    }
    slots_[(head_ + count_) & (slots_.size() - 1)] = std::move(value);
    ++count_;
  }

  T pop() {
    T value = std::move(slots_[head_]);
    head_ = (head_ + 1) & (slots_.size() - 1);
    --count_;
    return value;
  }

  [[nodiscard]] const T& front() const { return slots_[head_]; }

  [[nodiscard]] bool empty() const { return count_ == 0; }

  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  void grow() {
    std::vector<T> bigger(slots_.empty() ? 8 : slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) {
      bigger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
    }
    slots_ = std::move(bigger);
    head_ = 0;
  }

  std::vector<T> slots_;  ///< a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace carillon
