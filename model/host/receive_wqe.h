// Receive requests and how they become WQEs of a receive queue or a shared one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gen/wqe.h"
#include "host/send_wqe.h"

namespace carillon {

struct receive_request {
  static constexpr std::size_t MaxSges = 32;

  std::uint64_t id = 0;  ///< returned with the completion
  std::uint32_t sge_count = 0;
  std::array<sge, MaxSges> sges{};

  /// One more than fit makes a request that no queue takes.
  receive_request& add(const sge& piece) {
    if (sge_count < MaxSges) {
      sges[sge_count] = piece;
    }
    ++sge_count;
    return *this;
  }
};

inline constexpr std::uint32_t MaxReceiveWqeBytes = 1024;

/// The stride of WQEs that hold as many pieces behind `heads` segments: a power of two.
std::uint32_t receive_stride(std::uint32_t sges, std::uint32_t heads);

/// What a receive WQE begins with.
enum class receive_head : std::uint8_t {
  none,
  signature,  ///< a segment whose fifth byte signs the whole stride
  next,       ///< of a shared queue: the list's next WQE, then the same signature byte
};

/// Fills the stride behind its head: a list shorter than the stride is ended by a segment with the
/// invalid key, and the rest is zero. Returns false if the request does not fit.
bool build_receive_wqe(const receive_request& request, std::span<std::uint8_t> stride,
                       receive_head head = receive_head::none);

/// Signs a stride that has its head.
void sign_receive_wqe(std::span<std::uint8_t> stride);

}  // namespace carillon
