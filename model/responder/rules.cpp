#include "responder/rules.h"

#include <algorithm>

#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

constexpr std::uint32_t Mask24 = 0xffffff;

std::uint32_t mtu_bytes(mtu_code code) {
  return 128U << static_cast<unsigned>(code);
}

bool length_fits(bth_position position, std::uint32_t payload, std::uint32_t mtu) {
  switch (position) {
    case bth_position::First:
    case bth_position::Middle:
      return payload == mtu;
    case bth_position::Last:
      return payload >= 1 && payload <= mtu;
    case bth_position::Only:
      return payload <= mtu;
  }
  return false;
}

/// A WRITE carries exactly what its first packet announced.
bool write_fits(const opcode_info& opcode, std::uint64_t bytes, std::uint32_t announced) {
  return opcode.is_last() ? bytes == announced : bytes < announced;
}

}  // namespace

request_step step_request(const rx_packet& packet, const qpc_common& common,
                          const qpc_responder& line) {
  request_step step;
  step.next = line;
  const opcode_info* opcode = find_opcode(packet.bth_opcode);
  if (opcode == nullptr || opcode->service != transport_service::Rc || opcode->has_ieth ||
      (opcode->verb != bth_verb::Send && opcode->verb != bth_verb::Write)) {
    step.fault = request_fault::unsupported;
    return step;
  }
  step.is_send = opcode->verb == bth_verb::Send;
  step.has_reth = opcode->has_reth;
  step.has_imm = opcode->has_immdt;
  step.last = opcode->is_last();
  step.takes_receive = step.is_send ? opcode->is_first() : opcode->has_immdt;
  step.completes_receive = step.last && (step.is_send || opcode->has_immdt);

  const bool in_order = opcode->is_first() ? line.in_message == 0
                                           : line.in_message != 0 && line.cur_verb == opcode->verb;
  const bool allowed = step.is_send || common.rwe != 0;
  const bool has_queue = !step.takes_receive || common.no_rq == 0;
  step.offset = opcode->is_first() ? 0 : line.cur_bytes;
  const std::uint64_t bytes = std::uint64_t{step.offset} + packet.payload;
  const std::uint32_t announced = step.has_reth ? packet.dma_length : line.cur_length;
  if (!in_order || !allowed || !has_queue || bytes > MaxMessageBytes ||
      !length_fits(opcode->position, packet.payload, mtu_bytes(common.mtu)) ||
      (!step.is_send && !write_fits(*opcode, bytes, announced))) {
    step.fault = request_fault::invalid;
    return step;
  }
  step.message_bytes = static_cast<std::uint32_t>(bytes);
  step.address = step.has_reth ? packet.remote_address : line.cur_va;

  qpc_responder& next = step.next;
  next.nak_sent = 0;
  next.rnr_sent = 0;
  next.next_rcv_psn = (line.next_rcv_psn + 1) & Mask24;
  next.in_message = step.last ? 0 : 1;
  next.cur_verb = opcode->verb;
  next.cur_bytes = step.last ? 0 : step.message_bytes;
  if (step.has_reth) {
    next.cur_rkey = packet.rkey;
    next.cur_length = packet.dma_length;
  }
  if (!step.is_send) {
    next.cur_va = step.address + packet.payload;
  }
  if (step.last) {
    next.rmsn = (line.rmsn + 1) & Mask24;
  }
  return step;
}

std::optional<std::uint64_t> translate(const mkey_line& key, bool exists, std::uint32_t key_value,
                                       std::uint32_t pd, std::uint32_t qpn, std::uint16_t function,
                                       key_right right, std::uint64_t address,
                                       std::uint64_t length) {
  if (!exists || key.valid == 0 || key.variant != (key_value & 0xff) ||
      key.function_id != function || key.pd != pd) {
    return std::nullopt;
  }
  if (key.qpn != MkeyAnyQp && key.qpn != qpn) {
    return std::nullopt;
  }
  if ((right == key_right::local_write ? key.lw : key.rw) == 0) {
    return std::nullopt;
  }
  if (key.length64 == 0) {
    if (address < key.start_addr || length > key.len ||
        address - key.start_addr > key.len - length) {
      return std::nullopt;
    }
  }
  if (key.contiguous == 0) {
    return std::nullopt;
  }
  return key.phys_base + (address - key.start_addr);
}

bool scatter(const std::uint8_t* wqe, std::uint32_t wqe_bytes, std::uint32_t offset,
             std::uint32_t length, scatter_list& into) {
  into.count = 0;
  for (std::uint32_t at = 0; at + data_seg::Size <= wqe_bytes && length != 0;
       at += data_seg::Size) {
    const data_seg segment = data_seg::unpack(wqe + at);
    if (segment.byte_count == 0 && segment.lkey == InvalidLkey) {
      break;  // the driver ends a short list so
    }
    if (offset >= segment.byte_count) {
      offset -= segment.byte_count;
      continue;
    }
    if (into.count == MaxSge) {
      return false;
    }
    const std::uint32_t part = std::min(segment.byte_count - offset, length);
    into.piece[into.count++] = {segment.address + offset, segment.lkey, part};
    offset = 0;
    length -= part;
  }
  return length == 0;
}

}  // namespace carillon
