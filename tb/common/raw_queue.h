// Send WQEs written byte by byte into the ring of the bench's queue pair, rung by hand, and CQEs
// read byte by byte from their ring. The driver knows nothing of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "tb/common/peer_bench.h"

namespace carillon::bench::raw {

inline constexpr unsigned LogRing = 6;
inline constexpr std::uint32_t Wqebb = 64;
inline constexpr std::uint64_t SettleNs = 20000;  ///< by then everything has happened

// Operations, as mlx5 numbers them.
inline constexpr std::uint8_t Nop = 0x00;
inline constexpr std::uint8_t SendInvalidate = 0x01;
inline constexpr std::uint8_t Write = 0x08;
inline constexpr std::uint8_t WriteImmediate = 0x09;
inline constexpr std::uint8_t Send = 0x0a;
inline constexpr std::uint8_t Read = 0x10;
inline constexpr std::uint8_t CompareSwap = 0x11;
inline constexpr std::uint8_t FetchAdd = 0x12;
inline constexpr std::uint8_t LocalInvalidate = 0x1b;

inline constexpr std::uint8_t Signaled = 0x08;  ///< ce = 2: a CQE always

// Segments ---------------------------------------------------------------------------------------

inline bytes_t& append(bytes_t& to, std::uint64_t value, unsigned count) {
  for (unsigned i = count; i-- != 0;) {
    to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return to;
}

inline bytes_t operator+(bytes_t left, const bytes_t& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline bytes_t pointer(std::uint32_t count, std::uint32_t key, std::uint64_t address) {
  bytes_t segment;
  append(append(append(segment, count, 4), key, 4), address, 8);
  return segment;
}

/// A pointer to `count` bytes at `offset` of the buffer.
inline bytes_t piece(const peer_bench& b, std::uint32_t count, std::uint64_t offset = 0) {
  return pointer(count, b.buffer.key, b.buffer.address + offset);
}

inline bytes_t remote(std::uint64_t address = 0x70000) {
  bytes_t segment;
  append(append(append(segment, address, 8), 0x4242, 4), 0, 4);
  return segment;
}

inline bytes_t operands(std::uint64_t swap_or_add = 5, std::uint64_t compare = 7) {
  bytes_t segment;
  append(append(segment, swap_or_add, 8), compare, 8);
  return segment;
}

/// An inline segment that says `count` and has `data`, padded to whole segments.
inline bytes_t inline_data(std::uint32_t count, const bytes_t& data) {
  bytes_t segment;
  append(segment, 0x80000000U | count, 4);
  segment = segment + data;
  segment.resize((segment.size() + 15) / 16 * 16);
  return segment;
}

inline bytes_t inline_data(const bytes_t& data) {
  return inline_data(static_cast<std::uint32_t>(data.size()), data);
}

/// The address of a datagram to the peer: 48 bytes.
inline bytes_t datagram() {
  bytes_t segment;
  append(append(segment, 0x11111111, 4), 0, 4);        // Q_Key
  append(segment, 0x80000000U | PeerQpn, 4);           // the whole address vector follows
  append(append(segment, 0x0600, 2), 0xc001, 2);       // service level; UDP source port
  append(append(segment, 0, 4), PeerMac, 6);           //
  append(append(append(segment, 2, 1), 64, 1), 0, 4);  // traffic class, hop limit, flow label
  append(append(segment, 0xffff, 12), 0x0a000002, 4);  // ::ffff:10.0.0.2
  return segment;
}

struct hand_made {
  std::uint8_t opcode = Send;
  bytes_t segments;            ///< behind the control segment
  std::optional<unsigned> ds;  ///< what it says; else its size
  bool announced = false;      ///< the doorbell tells the same
  std::uint8_t flags = Signaled;
  std::uint32_t imm = 0;
  std::uint32_t index_off = 0;  ///< of the index that it says
  std::uint32_t qpn_off = 0;    ///< likewise
};

inline hand_made of(std::uint8_t opcode, bytes_t segments) {
  hand_made result;
  result.opcode = opcode;
  result.segments = std::move(segments);
  return result;
}

/// MTU 1024, no ACK timer.
inline peer_bench::options plain(qpc_service service = qpc_service::Rc) {
  peer_bench::options wanted;
  wanted.qp.service = service;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  return wanted;
}

/// A SEND of a piece of the buffer.
inline hand_made send_of(const peer_bench& b, std::uint32_t bytes, std::uint64_t offset = 0) {
  hand_made what;
  what.segments = piece(b, bytes, offset);
  if (b.qp->service() == qpc_service::Ud) {
    what.segments = datagram() + what.segments;
  }
  return what;
}

// Queues -----------------------------------------------------------------------------------------

/// The bench's send queue without its driver.
class raw_queue {
 public:
  explicit raw_queue(peer_bench& b, unsigned log_size = LogRing)
      : b_(b), mask_((1U << log_size) - 1) {}

  /// Writes it at the producer index, around the ring's end; its index.
  std::uint16_t put(const hand_made& what) {
    const std::uint16_t index = next_;
    const auto units = static_cast<unsigned>(1 + what.segments.size() / 16);
    const unsigned ds = what.ds.value_or(units);
    bytes_t wqe;
    append(wqe, 0, 1);
    append(append(wqe, index + what.index_off, 2), what.opcode, 1);
    append(append(wqe, b_.qp->qpn() + what.qpn_off, 3), ds, 1);
    append(append(wqe, what.flags, 4), what.imm, 4);
    wqe = wqe + what.segments;
    if (sign) {
      std::uint8_t sum = 0xff;
      for (const std::uint8_t each : wqe) {
        sum ^= each;
      }
      wqe[8] = sum;
    }
    for (std::size_t i = 0; i < wqe.size(); ++i) {
      const std::uint64_t at =
          (std::uint64_t{index} * Wqebb + i) & (std::uint64_t{mask_} * Wqebb + 63);
      b_.host.memory.write(b_.qp->send_buffer() + at, &wqe[i], 1);
    }
    const unsigned told = what.announced ? ds : units;
    doorbell_.clear();
    append(append(append(doorbell_, 0, 1), index, 2), what.opcode, 1);
    append(append(doorbell_, b_.qp->qpn(), 3), told, 1);
    next_ = static_cast<std::uint16_t>(index + std::max(1U, (told + 3) / 4));
    return index;
  }

  /// Rings for what was put.
  task<> ring(cpu& core) {
    write_record();
    core.fence();
    core.store_uncached(b_.uar->address, doorbell_);
    core.fence();
    co_await core.sync();
  }

  /// Rings with those 8 bytes, whatever they say.
  task<> ring(cpu& core, std::uint16_t index, std::uint32_t qpn, std::uint64_t page) {
    bytes_t words;
    append(append(append(words, 0, 1), index, 2), Send, 1);
    append(append(words, qpn, 3), 2, 1);
    core.store_uncached(page, words);
    core.fence();
    co_await core.sync();
  }

  /// Pushes the WQE that was put last through BlueFlame, in whole blocks.
  task<> push(cpu& core, std::uint16_t index) {
    write_record();
    core.fence();
    for (std::uint16_t at = index; at != next_; ++at) {
      std::array<std::uint8_t, Wqebb> block{};
      b_.host.memory.read(b_.qp->send_buffer() + std::uint64_t{at & mask_} * Wqebb, block.data(),
                          Wqebb);
      core.store_combined(
          b_.uar->address + 0x800 + std::uint64_t{Wqebb} * static_cast<std::uint16_t>(at - index),
          block);
    }
    core.fence();
    co_await core.sync();
  }

  [[nodiscard]] std::uint16_t next() const { return next_; }

  bool sign = false;

 private:
  void write_record() {
    bytes_t record;
    append(record, next_, 4);
    b_.host.memory.write(b_.qp->doorbell_record() + 4, record.data(), record.size());
  }

  peer_bench& b_;
  const std::uint32_t mask_;
  std::uint16_t next_ = 0;
  bytes_t doorbell_;
};

/// The bytes of a CQE of the send queue that matter here.
struct raw_cqe {
  int opcode = 0;  ///< 0, or 13: error
  int syndrome = 0;
  int operation = 0;
  unsigned qpn = 0;
  unsigned counter = 0;

  bool operator==(const raw_cqe&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const raw_cqe& each) {
  return out << "{opcode " << each.opcode << " syndrome " << each.syndrome << " operation "
             << each.operation << " qpn " << each.qpn << " counter " << each.counter << "}";
}

inline std::vector<raw_cqe> cqes(const peer_bench& b) {
  std::vector<raw_cqe> found;
  for (std::uint64_t i = 0; i < 256; ++i) {
    std::array<std::uint8_t, 64> raw{};
    b.host.memory.read(b.send_cq->buffer() + i * raw.size(), raw.data(), raw.size());
    if (raw[0x3f] >> 4 == 0xf) {
      break;
    }
    raw_cqe one;
    one.opcode = raw[0x3f] >> 4;
    one.syndrome = one.opcode == 13 ? raw[0x37] : 0;
    one.operation = raw[0x38];
    one.qpn = static_cast<unsigned>(raw[0x39] << 16 | raw[0x3a] << 8 | raw[0x3b]);
    one.counter = static_cast<unsigned>(raw[0x3c] << 8 | raw[0x3d]);
    found.push_back(one);
  }
  return found;
}

inline raw_cqe done(const peer_bench& b, std::uint8_t operation, unsigned counter) {
  return {0, 0, operation, b.qp->qpn(), counter};
}

inline raw_cqe failed(const peer_bench& b, std::uint8_t operation, unsigned counter, int syndrome) {
  return {13, syndrome, operation, b.qp->qpn(), counter};
}

using entries = std::vector<raw_cqe>;

/// The payloads of all packets, one after the other.
inline bytes_t carried(const peer_bench& b) {
  bytes_t all;
  for (const seen_packet& each : b.packets) {
    all = all + each.payload();
  }
  return all;
}

}  // namespace carillon::bench::raw
