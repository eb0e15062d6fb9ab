// A queue that allocates only while it grows: what a stage holds between its ports.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/error.h"

namespace carillon {

template <class T>
class ring {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }

  [[nodiscard]] std::size_t size() const { return count_; }

  /// The i-th oldest.
  [[nodiscard]] T& operator[](std::size_t i) { return items_[(head_ + i) & (items_.size() - 1)]; }

  [[nodiscard]] const T& operator[](std::size_t i) const {
    return items_[(head_ + i) & (items_.size() - 1)];
  }

  [[nodiscard]] T& front() { return items_[head_]; }

  [[nodiscard]] const T& front() const { return items_[head_]; }

  [[nodiscard]] T& back() { return (*this)[count_ - 1]; }

  T& push(T item) {
    if (count_ == items_.size()) {
      grow();
    }
    T& place = (*this)[count_++];
    place = std::move(item);
    return place;
  }

  T pop() {
    CARILLON_CHECK(count_ != 0, "ring: nothing to pop");
    T item = std::exchange(items_[head_], T{});
    head_ = (head_ + 1) & (items_.size() - 1);
    --count_;
    return item;
  }

  T pop_back() {
    CARILLON_CHECK(count_ != 0, "ring: nothing to pop");
    return std::exchange((*this)[--count_], T{});
  }

  void clear() {
    while (!empty()) {
      pop();
    }
  }

 private:
  void grow() {
    std::vector<T> bigger(items_.empty() ? 8 : items_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) {
      bigger[i] = std::move((*this)[i]);
    }
    items_ = std::move(bigger);
    head_ = 0;
  }

  std::vector<T> items_;  ///< a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace carillon
