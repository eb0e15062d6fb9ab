// Work requests and how they become WQEs: the plain core of posting.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gen/wqe.h"
#include "host/host_memory.h"

namespace carillon {

struct sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

struct work_request {
  static constexpr std::size_t MaxSges = 30;

  std::uint64_t id = 0;  ///< returned with the completion
  wqe_opcode opcode = wqe_opcode::RdmaWrite;
  bool signaled = true;
  bool solicited = false;
  bool fence = false;
  bool is_inline = false;  ///< the data is copied into the WQE
  std::uint32_t imm = 0;   ///< as it appears on the wire, first byte most significant
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t sge_count = 0;
  std::array<sge, MaxSges> sges{};

  work_request& add(const sge& piece) {
    sges[sge_count++] = piece;
    return *this;
  }

  [[nodiscard]] std::uint64_t length() const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < sge_count; ++i) {
      sum += sges[i].length;
    }
    return sum;
  }
};

struct receive_request {
  std::uint64_t id = 0;
  std::uint32_t sge_count = 0;
  std::array<sge, 4> sges{};
};

/// A WQE of at most 16 WQEBBs, ready to be copied into the ring.
struct built_wqe {
  static constexpr std::size_t MaxBytes = 16 * WqebbBytes;

  std::array<std::uint8_t, MaxBytes> bytes{};
  std::uint8_t ds = 0;  ///< 0: the request does not fit a WQE

  [[nodiscard]] std::uint32_t wqebbs() const { return (ds + UnitsPerWqebb - 1U) / UnitsPerWqebb; }
};

/// The size of the request's WQE in 16-byte units without building it; more than MaxWqeUnits if it
/// does not fit.
std::uint32_t wqe_units(const work_request& request);

/// Inline data is read from `memory`.
void build_wqe(const work_request& request, std::uint32_t qpn, std::uint16_t wqe_index,
               const host_memory& memory, built_wqe& into);

/// A receive WQE of 2^(LogRqStrideBase + log_stride) bytes; a list shorter than the stride is ended
/// by a segment with the invalid key. Returns false if it does not fit.
bool build_receive_wqe(const receive_request& request, std::span<std::uint8_t> stride);

}  // namespace carillon
