// What the tests of wqe_parser share: a QP, its key, and a WQE in the making.
#pragma once

#include <cstring>

#include "common/buffer.h"
#include "common/items.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon::bench {

inline constexpr std::uint32_t Qpn = 7;
inline constexpr std::uint32_t Pd = 3;
inline constexpr std::uint16_t Function = 2;
inline constexpr std::uint32_t KeyIndex = 5;
inline constexpr std::uint8_t Variant = 0x42;
inline constexpr std::uint32_t Lkey = KeyIndex << 8 | Variant;
inline constexpr std::uint64_t Start = 0x10000;
inline constexpr std::uint64_t Length = 0x1000;

inline qpc_common ready_qp(qp_service service = qp_service::Rc) {
  qpc_common line;
  line.valid = 1;
  line.state = qp_state::Rts;
  line.service = service;
  line.mtu = mtu_code::Mtu4096;
  line.pd = Pd;
  line.function_id = Function;
  line.cq_num_send = 0x123;
  return line;
}

/// A key that QP 7 may read and write with.
inline mkey_line good_key() {
  mkey_line key;
  key.valid = 1;
  key.contiguous = 1;
  key.lr = 1;
  key.lw = 1;
  key.pd = Pd;
  key.function_id = Function;
  key.qpn = 0xffffff;
  key.variant = Variant;
  key.start_addr = Start;
  key.len = Length;
  return key;
}

context_line as_line(const auto& layout) {
  context_line line;
  line.valid = true;
  layout.pack(line.data.data());
  return line;
}

/// A WQE in the making: segments are appended, the control segment's size follows.
class wqe_bytes {
 public:
  explicit wqe_bytes(buffer_pool& pool, wqe_opcode opcode = wqe_opcode::Send) {
    item_.qpn = Qpn;
    item_.wqe_index = 9;
    item_.bytes = pool.take();
    // Whatever was in the buffer before must not matter.
    std::memset(item_.bytes.data(), 0xee, BufferBytes);
    control_.opcode = opcode;
    control_.qpn = Qpn;
    control_.wqe_index = 9;
    control_.ce = completion_mode::Always;
    control_.imm = 0xaabbccdd;
  }

  wqe_bytes& remote(std::uint64_t address, std::uint32_t rkey) {
    raddr_seg segment;
    segment.raddr = address;
    segment.rkey = rkey;
    segment.pack(next(1));
    return *this;
  }

  wqe_bytes& atomic(std::uint64_t swap_add, std::uint64_t compare) {
    atomic_seg segment;
    segment.swap_add = swap_add;
    segment.compare = compare;
    segment.pack(next(1));
    return *this;
  }

  /// Its 48 bytes are 0xd0, 0xd1, 0xd2, ...
  wqe_bytes& datagram() {
    std::uint8_t* at = next(3);
    for (unsigned i = 0; i < 48; ++i) {
      at[i] = static_cast<std::uint8_t>(0xd0 + i);
    }
    return *this;
  }

  wqe_bytes& pointer(std::uint64_t address, std::uint32_t bytes, std::uint32_t lkey = Lkey) {
    data_seg segment;
    segment.address = address;
    segment.byte_count = bytes;
    segment.lkey = lkey;
    segment.pack(next(1));
    return *this;
  }

  wqe_bytes& pointers(unsigned count, std::uint32_t bytes) {
    for (unsigned i = 0; i < count; ++i) {
      pointer(Start, bytes);
    }
    return *this;
  }

  /// Bytes 1, 2, 3, ... inline.
  wqe_bytes& inlined(unsigned bytes) {
    std::uint8_t* at = next((inline_seg::Size + bytes + 15) / 16);
    inline_seg segment;
    segment.inline_flag = 1;
    segment.byte_count = static_cast<std::uint16_t>(bytes);
    segment.pack(at);
    for (unsigned i = 0; i < bytes; ++i) {
      at[inline_seg::Size + i] = static_cast<std::uint8_t>(i + 1);
    }
    return *this;
  }

  ctrl_seg& control() { return control_; }

  wqe_item& item() { return item_; }

  wqe_bytes& size(unsigned units) {
    units_ = units;
    return *this;
  }

  wqe_item done() {
    item_.ds = static_cast<std::uint8_t>(units_);
    control_.ds = item_.ds;
    control_.pack(item_.bytes.data());
    return item_;
  }

 private:
  std::uint8_t* next(unsigned units) {
    // cppcheck-suppress redundantInitialization; the handle's buffer, not the handle
    std::uint8_t* at = item_.bytes.data() + std::size_t{units_} * 16;
    units_ += units;
    return at;
  }

  wqe_item item_;
  ctrl_seg control_;
  unsigned units_ = 1;
};

}  // namespace carillon::bench
