// What a responder decides about one request packet, without time: opcode sequence, lengths,
// access, scattering.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/items.h"
#include "common/memory_key.h"
#include "gen/contexts.h"

namespace carillon {

enum class request_fault : std::uint8_t {
  none,
  unsupported,      ///< a kind that is not served
  invalid,          ///< opcode sequence, length, or an operation that the QP does not allow
  remote_access,    ///< the remote key does not allow it
  local_length,     ///< longer than the receive buffers
  local_operation,  ///< the receive WQE or its buffers could not be used
};

/// One request packet applied to the QP's state.
struct request_step {
  request_fault fault = request_fault::none;
  bool is_send = false;
  bool has_reth = false;
  bool has_imm = false;
  bool last = false;               ///< completes its message
  bool takes_receive = false;      ///< consumes a receive WQE: SEND at its first packet, WRITE with
                                   ///< immediate at its last
  bool completes_receive = false;  ///< a CQE follows
  std::uint64_t address = 0;       ///< WRITE: virtual address of its first byte
  std::uint32_t offset = 0;        ///< of its first byte in the message
  std::uint32_t message_bytes = 0;  ///< of the message, this packet included
  qpc_responder
      next;  ///< the line once the packet is accepted, the receive queue's counters excepted
};

/// The packet has the PSN that `line` expects.
request_step step_request(const rx_packet& packet, const qpc_common& common,
                          const qpc_responder& line);

/// The IOVA of `address` if key, protection domain, QP, function, right and range allow it. Keys
/// with a page table are refused.
std::optional<std::uint64_t> translate(const mkey_line& key, bool exists, std::uint32_t key_value,
                                       std::uint32_t pd, std::uint32_t qpn, std::uint16_t function,
                                       key_right right, std::uint64_t address,
                                       std::uint64_t length);

/// Bytes of a packet that go to one place.
struct scatter_piece {
  std::uint64_t address = 0;  ///< virtual, an IOVA once the key was checked
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};

struct scatter_list {
  std::array<scatter_piece, MaxSge> piece{};
  unsigned count = 0;
};

/// Where `length` bytes at `offset` of a message go in the receive WQE of `wqe_bytes` bytes; false
/// if it has no room for them.
bool scatter(const std::uint8_t* wqe, std::uint32_t wqe_bytes, std::uint32_t offset,
             std::uint32_t length, scatter_list& into);

}  // namespace carillon
