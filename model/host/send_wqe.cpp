#include "host/send_wqe.h"

#include <algorithm>

namespace carillon {

namespace {

constexpr std::uint32_t AtomicBytes = 8;
/// What the address segment calls an address vector of its full size: all that RoCE has.
constexpr std::uint8_t ExtendedAddress = 1;

bool is_atomic(wqe_opcode opcode) {
  return opcode == wqe_opcode::AtomicCompareSwap || opcode == wqe_opcode::AtomicFetchAdd;
}

bool has_remote_address(wqe_opcode opcode) {
  return opcode == wqe_opcode::RdmaWrite || opcode == wqe_opcode::RdmaWriteImmediate ||
         opcode == wqe_opcode::RdmaRead || is_atomic(opcode);
}

bool has_data(wqe_opcode opcode) {
  return opcode != wqe_opcode::Nop && opcode != wqe_opcode::LocalInvalidate;
}

std::uint64_t gathered(const work_request& request) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < request.sge_count && i < work_request::MaxSges; ++i) {
    sum += request.sges[i].length;
  }
  return sum;
}

/// The last word of the control segment.
std::uint32_t immediate_of(const work_request& request) {
  switch (request.opcode) {
    case wqe_opcode::SendImmediate:
    case wqe_opcode::RdmaWriteImmediate:
      return request.imm;
    case wqe_opcode::SendInvalidate:
    case wqe_opcode::LocalInvalidate:
      return request.invalidate_key;
    default:
      return 0;
  }
}

fence_mode fence_of(const work_request& request, const wqe_place& place) {
  if (request.strong_ordering) {
    return fence_mode::StrongOrdering;
  }
  return request.fence ? fence_mode::SmallAndFence : place.fence;
}

completion_mode completion_of(const work_request& request) {
  if (request.event) {
    return completion_mode::AlwaysWithEvent;
  }
  return request.signaled ? completion_mode::Always : completion_mode::OnError;
}

template <class Segment>
std::uint8_t* append(std::uint8_t* at, const Segment& segment) {
  segment.pack(at);
  return at + Segment::Size;
}

std::uint8_t* append_address(std::uint8_t* at, const address_handle& to, std::uint32_t qpn) {
  datagram_seg segment;
  segment.qkey = to.qkey;
  segment.extended = ExtendedAddress;
  segment.dest_qpn = to.qpn;
  segment.sl = static_cast<std::uint8_t>((to.priority & 7U) << 1);
  segment.udp_sport = udp_source_port(to.flow_label, qpn, to.qpn);
  segment.rmac = to.mac;
  segment.tclass = to.traffic_class;
  segment.hop_limit = to.hop_limit;
  segment.gid_index = to.gid_index;
  segment.flow_label = to.flow_label;
  segment.rgid = to.address;
  return append(at, segment);
}

std::uint8_t* append_inline(std::uint8_t* at, const work_request& request,
                            const host_memory& memory) {
  inline_seg header;
  header.inline_flag = 1;
  header.byte_count = static_cast<std::uint16_t>(gathered(request));
  at = append(at, header);
  for (std::uint32_t i = 0; i < request.sge_count; ++i) {
    memory.read(request.sges[i].address, at, request.sges[i].length);
    at += request.sges[i].length;
  }
  return at;
}

}  // namespace

std::uint64_t work_request::length() const {
  if (!has_data(opcode)) {
    return 0;
  }
  return is_atomic(opcode) ? AtomicBytes : gathered(*this);
}

std::uint32_t wqe_units(const work_request& request, bool datagram) {
  constexpr std::uint32_t TooMany = MaxWqeUnits + 1;
  std::uint32_t units = ctrl_seg::Size / SegmentBytes;
  if (datagram && has_data(request.opcode)) {
    units += datagram_seg::Size / SegmentBytes;
  }
  if (has_remote_address(request.opcode)) {
    units += raddr_seg::Size / SegmentBytes;
  }
  if (is_atomic(request.opcode)) {
    units += atomic_seg::Size / SegmentBytes;
  }
  if (!has_data(request.opcode)) {
    return units;
  }
  if (request.sge_count > work_request::MaxSges) {
    return TooMany;
  }
  if (request.is_inline) {
    const std::uint64_t length = gathered(request);
    if (length > InlineLengthMask) {
      return TooMany;
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

void build_wqe(const work_request& request, const wqe_place& place, const host_memory& memory,
               built_wqe& into) {
  const std::uint32_t units = wqe_units(request, place.datagram);
  if (units > MaxWqeUnits) {
    into.ds = 0;
    return;
  }
  into.ds = static_cast<std::uint8_t>(units);
  std::uint8_t* const begin = into.bytes.data();
  std::uint8_t* const end = begin + units * SegmentBytes;
  std::uint8_t* at = begin;

  ctrl_seg control;
  control.opcode = request.opcode;
  control.wqe_index = place.wqe_index;
  control.qpn = place.qpn;
  control.ds = into.ds;
  control.fm = fence_of(request, place);
  control.ce = completion_of(request);
  control.se = request.solicited ? 1 : 0;
  control.imm = immediate_of(request);
  at = append(at, control);

  if (place.datagram && has_data(request.opcode)) {
    at = append_address(at, request.to, place.qpn);
  }
  if (has_remote_address(request.opcode)) {
    raddr_seg remote;
    remote.raddr = request.remote_address;
    remote.rkey = request.rkey;
    at = append(at, remote);
  }
  if (is_atomic(request.opcode)) {
    atomic_seg operands;
    operands.swap_add = request.swap_or_add;
    operands.compare = request.opcode == wqe_opcode::AtomicCompareSwap ? request.compare : 0;
    at = append(at, operands);
  }
  if (has_data(request.opcode) && request.is_inline && gathered(request) != 0) {
    at = append_inline(at, request, memory);
  } else if (has_data(request.opcode)) {
    for (std::uint32_t i = 0; i < request.sge_count; ++i) {
      const sge& piece = request.sges[i];
      // A pointer to nothing would mean 2^31 bytes to some chips; none is written.
      if (piece.length != 0) {
        data_seg data;
        data.byte_count = piece.length;
        data.lkey = piece.lkey;
        data.address = piece.address;
        at = append(at, data);
      }
    }
  }
  std::fill(at, end, std::uint8_t{0});
  if (place.signature) {
    begin[ctrl_seg::at::Signature] = wqe_signature(begin, units * SegmentBytes);
  }
}

std::uint8_t wqe_signature(const std::uint8_t* wqe, std::size_t length) {
  std::uint8_t sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    sum ^= wqe[i];
  }
  return static_cast<std::uint8_t>(~sum);
}

}  // namespace carillon
