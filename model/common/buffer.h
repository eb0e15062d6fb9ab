// Pooled byte buffers with intrusive reference counts: a packet's bytes are written once and passed
// by reference. Single-threaded, like the simulation. No allocation in steady state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace carillon {

class buffer_pool;

/// Room for the largest frame (4 KiB MTU and all headers) or the largest WQE.
inline constexpr std::size_t BufferBytes = 4352;

struct buffer {
  std::array<std::uint8_t, BufferBytes> bytes;
  std::uint32_t references = 0;
  buffer_pool* home = nullptr;
};

class buffer_ref {
 public:
  buffer_ref() = default;

  explicit buffer_ref(buffer* raw) : raw_(raw) { acquire(); }

  buffer_ref(const buffer_ref& other) : raw_(other.raw_) { acquire(); }

  buffer_ref(buffer_ref&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}

  buffer_ref& operator=(buffer_ref other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  ~buffer_ref() { drop(); }

  explicit operator bool() const { return raw_ != nullptr; }

  [[nodiscard]] std::uint8_t* data() const { return raw_->bytes.data(); }

  void reset() {
    drop();
    raw_ = nullptr;
  }

 private:
  void acquire() {
    if (raw_ != nullptr) {
      ++raw_->references;
    }
  }

  inline void drop();

  buffer* raw_ = nullptr;
};

class buffer_pool {
 public:
  buffer_pool() = default;
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  /// Buffers that others still hold, as frames on the way to another NIC, live on without a pool.
  ~buffer_pool() {
    for (auto& each : all_) {
      if (each->references != 0) {
        each->home = nullptr;
        static_cast<void>(each.release());
      }
    }
  }

  /// A buffer with undefined contents.
  buffer_ref take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<buffer>());
      all_.back()->home = this;
      return buffer_ref(all_.back().get());
    }
    buffer* raw = free_.back();
    free_.pop_back();
    return buffer_ref(raw);
  }

  [[nodiscard]] std::size_t allocated() const { return all_.size(); }

  [[nodiscard]] std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  friend class buffer_ref;
  std::vector<std::unique_ptr<buffer>> all_;
  std::vector<buffer*> free_;
};

inline void buffer_ref::drop() {
  if (raw_ == nullptr || --raw_->references != 0) {
    return;
  }
  if (raw_->home != nullptr) {
    raw_->home->free_.push_back(raw_);
  } else {
    delete raw_;
  }
}

}  // namespace carillon
