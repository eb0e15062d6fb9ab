// What a responder decides about one request packet, without time: opcode sequence, lengths,
// access, scattering, and what it answers to a request that it refuses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/items.h"
#include "common/memory_key.h"
#include "gen/contexts.h"
#include "gen/counters.h"
#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {

enum class request_fault : std::uint8_t {
  none,
  invalid,           ///< opcode sequence, length, or an operation that the QP does not allow
  remote_access,     ///< the remote key does not allow it
  local_length,      ///< longer than the receive buffers
  local_protection,  ///< a key of the receive WQE does not allow it
  local_access,      ///< a page of the receive buffers does not allow it
  local_operation,   ///< the receive WQE could not be read, or its signature is wrong
  invalidation,      ///< the key that it asks to invalidate is not one of this QP's
  remote_operation   ///< the data of a READ or an atomic could not be read
};

/// How a fault of an RC request is told. UC and UD answer nothing.
struct refusal {
  nak_code nak = nak_code::InvalidRequest;
  counter nak_counter = counter::NakInvalidRequestSent;
  /// Of the receive WQE that the message has taken, if any.
  cqe_syndrome syndrome = cqe_syndrome::WrFlushed;
  counter fault_counter = counter::RespInvalidRequests;
};

refusal refusal_of(request_fault fault);

/// Faults of the receive queue end the QP of any service; others only drop the message of a UC QP.
constexpr bool is_local(request_fault fault) {
  return fault == request_fault::local_length || fault == request_fault::local_protection ||
         fault == request_fault::local_access || fault == request_fault::local_operation;
}

enum class request_kind : std::uint8_t { send, write, read, atomic };

/// One request packet applied to the QP's state.
struct request_step {
  request_fault fault = request_fault::none;
  request_kind kind = request_kind::send;
  bool has_reth = false;
  bool has_imm = false;
  bool invalidates = false;        ///< SEND with invalidate, its last packet
  bool first = false;              ///< begins its message
  bool last = false;               ///< completes its message
  bool takes_receive = false;      ///< consumes a receive WQE: SEND at its first packet, WRITE with
                                   ///< immediate at its last
  bool completes_receive = false;  ///< a CQE follows
  bool ignored = false;            ///< UC: it belongs to no message; UD: wrong length or key
  bool wrong_qkey = false;         ///< UD: that is why
  bool abandons = false;           ///< UC: the message in progress ends here, incomplete
  std::uint64_t address = 0;       ///< virtual address of its first byte at the responder
  std::uint32_t offset = 0;        ///< of its first byte in the message
  std::uint32_t message_bytes = 0;  ///< of the message, this packet included; of a READ, what it
                                    ///< asks for
  std::uint32_t psns = 1;           ///< that it takes
  qpc_responder
      next;  ///< the line once the packet is accepted, the receive queue's counters excepted

  [[nodiscard]] bool is_send() const { return kind == request_kind::send; }

  /// It is kept for duplicates.
  [[nodiscard]] bool is_saved() const {
    return kind == request_kind::read || kind == request_kind::atomic;
  }
};

/// The packet has a QP of its service; of an RC QP, and the PSN that `line` expects.
request_step step_request(const rx_packet& packet, const qpc_common& common,
                          const qpc_responder& line);

std::uint32_t mtu_bytes(mtu_code code);

/// PSNs, and so packets, of the answer to a READ of `length` bytes.
std::uint32_t read_packets(std::uint32_t length, mtu_code mtu);

/// Writes the 40 bytes in front of a UD message from its IP header: an IPv6 header as it is, an
/// IPv4 header at the end of an area of zeros.
void write_grh(const std::uint8_t* ip, bool ipv6, std::uint8_t* out);

/// A signed WQE's bytes, signature included, add up to all ones.
bool signature_holds(const std::uint8_t* wqe, std::uint32_t bytes);

/// Bytes of a packet that go to one segment of a receive WQE.
struct scatter_piece {
  std::uint64_t address = 0;  ///< virtual
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};

struct scatter_list {
  std::array<scatter_piece, MaxSge> piece{};
  unsigned count = 0;
};

/// Where `length` bytes at `offset` of a message go in the `bytes` of data segments of a receive
/// WQE; false if it has no room for them.
bool scatter(const std::uint8_t* segments, std::uint32_t bytes, std::uint32_t offset,
             std::uint32_t length, scatter_list& into);

}  // namespace carillon
