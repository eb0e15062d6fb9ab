#include "host/send_wqe.h"

#include <algorithm>
#include <cstring>

namespace carillon {

namespace {

bool has_remote_address(wqe_opcode opcode) {
  return opcode == wqe_opcode::RdmaWrite || opcode == wqe_opcode::RdmaWriteImmediate ||
         opcode == wqe_opcode::RdmaRead;
}

bool has_immediate(wqe_opcode opcode) {
  return opcode == wqe_opcode::SendImmediate || opcode == wqe_opcode::RdmaWriteImmediate;
}

}  // namespace

std::uint32_t wqe_units(const work_request& request) {
  std::uint32_t units = ctrl_seg::Size / SegmentBytes;
  if (has_remote_address(request.opcode)) {
    units += raddr_seg::Size / SegmentBytes;
  }
  if (request.is_inline) {
    const std::uint64_t length = request.length();
    if (length > InlineLengthMask) {
      return MaxWqeUnits + 1;
    }
    if (length != 0) {
      units +=
          static_cast<std::uint32_t>((inline_seg::Size + length + SegmentBytes - 1) / SegmentBytes);
    }
    return units;
  }
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    units += request.sges[i].length != 0 ? 1 : 0;
  }
  return units;
}

void build_wqe(const work_request& request, std::uint32_t qpn, std::uint16_t wqe_index,
               const host_memory& memory, built_wqe& into) {
  const std::uint32_t units = wqe_units(request);
  if (units > MaxWqeUnits) {
    into.ds = 0;
    return;
  }
  into.ds = static_cast<std::uint8_t>(units);
  std::uint8_t* at = into.bytes.data();

  ctrl_seg control;
  control.opcode = request.opcode;
  control.wqe_index = wqe_index;
  control.qpn = qpn;
  control.ds = into.ds;
  control.fm = request.fence ? fence_mode::SmallAndFence : fence_mode::None;
  control.ce = request.signaled ? completion_mode::Always : completion_mode::OnError;
  control.se = request.solicited ? 1 : 0;
  control.imm = has_immediate(request.opcode) ? request.imm : 0;
  control.pack(at);
  at += ctrl_seg::Size;

  if (has_remote_address(request.opcode)) {
    raddr_seg remote;
    remote.raddr = request.remote_address;
    remote.rkey = request.rkey;
    remote.pack(at);
    at += raddr_seg::Size;
  }

  if (request.is_inline) {
    const std::uint64_t length = request.length();
    if (length == 0) {
      return;
    }
    inline_seg data;
    data.inline_flag = 1;
    data.byte_count = static_cast<std::uint16_t>(length);
    data.pack(at);
    at += inline_seg::Size;
    for (std::uint32_t i = 0; i < request.sge_count; ++i) {
      memory.read(request.sges[i].address, at, request.sges[i].length);
      at += request.sges[i].length;
    }
    std::fill(at, into.bytes.data() + units * SegmentBytes, std::uint8_t{0});
    return;
  }
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    if (request.sges[i].length == 0) {
      continue;
    }
    data_seg data;
    data.byte_count = request.sges[i].length;
    data.lkey = request.sges[i].lkey;
    data.address = request.sges[i].address;
    data.pack(at);
    at += data_seg::Size;
  }
}

bool build_receive_wqe(const receive_request& request, std::span<std::uint8_t> stride) {
  if (request.sge_count > request.sges.size() ||
      request.sge_count * data_seg::Size > stride.size()) {
    return false;
  }
  std::uint8_t* at = stride.data();
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    data_seg data;
    data.byte_count = request.sges[i].length;
    data.lkey = request.sges[i].lkey;
    data.address = request.sges[i].address;
    data.pack(at);
    at += data_seg::Size;
  }
  if (at < stride.data() + stride.size()) {
    data_seg end;
    end.lkey = InvalidLkey;
    end.pack(at);
  }
  return true;
}

}  // namespace carillon
