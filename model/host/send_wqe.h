// Work requests and how they become WQEs: the plain core of posting sends.
#pragma once

#include <array>
#include <cstdint>

#include "common/roce_packet.h"
#include "gen/wqe.h"
#include "host/host_memory.h"

namespace carillon {

struct sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

/// Where a datagram goes.
struct address_handle {
  std::uint64_t mac = 0;
  gid address{};
  std::uint32_t qpn = 0;
  std::uint32_t qkey = 0;
  std::uint8_t gid_index = 0;  ///< of the source address in the device's table
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t priority = 0;
  std::uint32_t flow_label = 0;  ///< also chooses the UDP source port
};

struct work_request {
  static constexpr std::size_t MaxSges = 30;

  std::uint64_t id = 0;  ///< returned with the completion
  wqe_opcode opcode = wqe_opcode::RdmaWrite;
  bool signaled = true;
  bool event = false;  ///< its CQE raises an event even if the CQ is not armed; implies signaled
  bool solicited = false;
  bool fence = false;                ///< waits until earlier READs and atomics are done
  bool strong_ordering = false;      ///< waits until everything earlier is done
  bool is_inline = false;            ///< the data is copied into the WQE
  std::uint32_t imm = 0;             ///< as it appears on the wire, first byte most significant
  std::uint32_t invalidate_key = 0;  ///< of a SEND with invalidate or a local invalidation
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;  ///< of an atomic
  std::uint64_t compare = 0;      ///< of a compare and swap
  address_handle to;              ///< of a datagram
  std::uint32_t sge_count = 0;
  std::array<sge, MaxSges> sges{};

  /// One more than fit makes a request that no queue takes.
  work_request& add(const sge& piece) {
    if (sge_count < MaxSges) {
      sges[sge_count] = piece;
    }
    ++sge_count;
    return *this;
  }

  /// Bytes that the request moves.
  [[nodiscard]] std::uint64_t length() const;
};

/// A WQE of at most 16 WQEBBs, ready to be copied into the ring.
struct built_wqe {
  static constexpr std::size_t MaxBytes = 16 * WqebbBytes;

  std::array<std::uint8_t, MaxBytes> bytes{};
  std::uint8_t ds = 0;  ///< 0: the request does not fit a WQE

  [[nodiscard]] std::uint32_t wqebbs() const { return (ds + UnitsPerWqebb - 1U) / UnitsPerWqebb; }
};

/// What a WQE says beside its request.
struct wqe_place {
  std::uint32_t qpn = 0;
  std::uint16_t wqe_index = 0;
  bool datagram = false;                ///< UD: the address segment follows the control segment
  bool signature = false;               ///< its bytes are signed
  fence_mode fence = fence_mode::None;  ///< of a request that asks for none
};

/// The size of the request's WQE in 16-byte units without building it; more than MaxWqeUnits if it
/// does not fit.
std::uint32_t wqe_units(const work_request& request, bool datagram = false);

/// Inline data is read from `memory`.
void build_wqe(const work_request& request, const wqe_place& place, const host_memory& memory,
               built_wqe& into);

/// What makes the exclusive or of all bytes 0xff, if the byte that will hold it is 0 now.
std::uint8_t wqe_signature(const std::uint8_t* wqe, std::size_t length);

}  // namespace carillon
