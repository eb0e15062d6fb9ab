// A TLP that comes over the link, as a stage takes it.
#pragma once

#include <utility>

#include "common/tlp.h"
#include "common/types.h"

namespace carillon {

/// Keeps a TLP as long as somebody may still look at its bytes.
class tlp_ref {
 public:
  tlp_ref() = default;

  /// Takes over the caller's own reference.
  explicit tlp_ref(tlp* packet) : packet_(packet) {}

  tlp_ref(const tlp_ref& other) : packet_(other.packet_) {
    if (packet_ != nullptr) {
      packet_->carrier().acquire();
    }
  }

  tlp_ref(tlp_ref&& other) noexcept : packet_(std::exchange(other.packet_, nullptr)) {}

  tlp_ref& operator=(const tlp_ref& other) {
    tlp_ref copy(other);
    std::swap(packet_, copy.packet_);
    return *this;
  }

  tlp_ref& operator=(tlp_ref&& other) noexcept {
    std::swap(packet_, other.packet_);
    return *this;
  }

  ~tlp_ref() {
    if (packet_ != nullptr) {
      packet_->release();
    }
  }

  [[nodiscard]] tlp& operator*() const { return *packet_; }

  [[nodiscard]] tlp* operator->() const { return packet_; }

 private:
  tlp* packet_ = nullptr;
};

/// A TLP on the link, with its payload in beats of 64 bytes. Its history is the TLP's own: it is
/// booked on the account of the stage for which it comes.
struct tlp_arrival {
  trace_ref trace;  ///< none
  tlp_ref packet;
  cycle_t entry = 0;  ///< of the first symbol
  cycle_t last = 0;   ///< of the last symbol
};

}  // namespace carillon
