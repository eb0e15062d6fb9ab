#include "wqe_parser/wqe_parser_core.h"

#include <algorithm>

#include "gen/contexts.h"
#include "gen/wire.h"

namespace carillon {

namespace {

constexpr unsigned InlineHeaderBytes = inline_seg::Size;

bool carries_remote(wqe_opcode opcode) {
  return opcode == wqe_opcode::RdmaWrite || opcode == wqe_opcode::RdmaWriteImmediate;
}

bool supported(wqe_opcode opcode) {
  return opcode == wqe_opcode::Nop || carries_remote(opcode) || opcode == wqe_opcode::Send ||
         opcode == wqe_opcode::SendImmediate;
}

/// Sums up the data segments; false if they make no sense.
bool measure(const wqe_item& wqe, wqe_shape& shape) {
  if (wqe.ds < shape.fixed_units()) {
    return false;
  }
  const unsigned units = wqe.ds - shape.fixed_units();
  if (shape.control.opcode == wqe_opcode::Nop) {
    return units == 0;
  }
  if (units == 0) {
    return true;
  }
  const std::uint8_t* data = wqe.bytes.data() + std::size_t{shape.fixed_units()} * SegmentBytes;
  if (inline_seg::unpack(data).inline_flag != 0) {
    shape.is_inline = true;
    shape.length = inline_seg::unpack(data).byte_count;
    return (InlineHeaderBytes + shape.length + SegmentBytes - 1) / SegmentBytes == units;
  }
  bool pointers_only = true;
  for (unsigned i = 0; i < units; ++i) {
    const auto segment = data_seg::unpack(data + std::size_t{i} * SegmentBytes);
    pointers_only = pointers_only && segment.inline_flag == 0;
    shape.length += segment.byte_count;
  }
  shape.sge_count = units;
  return pointers_only && units <= MaxSge;
}

}  // namespace

wqe_shape shape_of(const wqe_item& wqe) {
  wqe_shape shape;
  shape.unread = wqe.status != dma_status::ok;
  if (shape.unread) {
    return shape;
  }
  shape.control = ctrl_seg::unpack(wqe.bytes.data());
  shape.misplaced = shape.control.wqe_index != wqe.wqe_index || shape.control.qpn != wqe.qpn;
  shape.has_remote = carries_remote(shape.control.opcode);
  if (shape.has_remote && wqe.ds >= 2) {
    shape.remote = raddr_seg::unpack(wqe.bytes.data() + ctrl_seg::Size);
  }
  shape.malformed = !supported(shape.control.opcode) || !measure(wqe, shape);
  if (shape.malformed) {
    shape.is_inline = false;
    shape.sge_count = 0;
    shape.length = 0;
  }
  return shape;
}

wqe_verdict check_context(const wqe_shape& shape, const context_line& qp) {
  if (shape.unread) {
    return {cqe_syndrome::LocalQpOperation};
  }
  const auto line = qpc_common::unpack(qp.data.data());
  if (!qp.valid || line.valid == 0) {
    return {cqe_syndrome::None, true};
  }
  switch (line.state) {
    case qp_state::Reset:
    case qp_state::Init:
    case qp_state::Rtr:
      return {cqe_syndrome::None, true};
    case qp_state::Sqer:
    case qp_state::Err:
      return {cqe_syndrome::WrFlushed};
    case qp_state::Rts:
    case qp_state::Sqd:
    case qp_state::SqDraining:
      break;
  }
  const bool connected = line.service == qp_service::Rc || line.service == qp_service::Uc;
  if (shape.misplaced || shape.malformed || !connected) {
    return {cqe_syndrome::LocalQpOperation};
  }
  if (shape.length > MaxMessageBytes) {
    return {cqe_syndrome::LocalLength};
  }
  return {};
}

data_seg segment_of(const wqe_item& wqe, const wqe_shape& shape, unsigned index) {
  return data_seg::unpack(wqe.bytes.data() +
                          std::size_t{shape.fixed_units() + index} * SegmentBytes);
}

bool key_covers(const data_seg& segment, std::uint32_t pd, const context_line& line) {
  const auto key = mkey_line::unpack(line.data.data());
  if (!line.valid || key.valid == 0 || key.variant != (segment.lkey & 0xff) || key.pd != pd ||
      key.lr == 0) {
    return false;
  }
  if (key.length64 != 0) {
    return true;
  }
  const std::uint64_t end = segment.address + segment.byte_count;
  const std::uint64_t key_end = key.start_addr + key.len;
  const bool wraps = end < segment.address;
  const bool key_wraps = key_end < key.start_addr;
  return !wraps && segment.address >= key.start_addr && (key_wraps || end <= key_end);
}

work_item describe(const wqe_item& wqe, const wqe_shape& shape, const wqe_verdict& verdict,
                   const context_line& qp) {
  const auto line = qpc_common::unpack(qp.data.data());
  work_item work;
  work.function = wqe.function;
  work.qpn = wqe.qpn;
  work.wqe_index = wqe.wqe_index;
  work.wqebbs =
      static_cast<std::uint8_t>(std::max((wqe.ds + UnitsPerWqebb - 1) / UnitsPerWqebb, 1U));
  work.opcode = static_cast<std::uint8_t>(shape.control.opcode);
  work.fm_ce_se = shape.unread ? 0 : wqe.bytes.data()[ctrl_seg::at::Fm];
  work.syndrome = static_cast<std::uint8_t>(verdict.syndrome);
  work.drop = verdict.drop;
  work.is_inline = shape.is_inline;
  work.service = static_cast<std::uint8_t>(line.service);
  work.mtu_code = static_cast<std::uint8_t>(line.mtu);
  work.sge_count = static_cast<std::uint8_t>(shape.sge_count);
  work.imm = shape.control.imm;
  work.length = static_cast<std::uint32_t>(shape.length);
  work.remote_address = shape.remote.raddr;
  work.rkey = shape.remote.rkey;
  work.send_cqn = line.cq_num_send;
  return work;
}

}  // namespace carillon
