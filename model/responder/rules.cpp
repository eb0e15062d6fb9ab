#include "responder/rules.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace carillon {
namespace {

constexpr std::uint32_t Mask24 = 0xffffff;
constexpr std::uint64_t AtomicBytes = 8;
constexpr std::uint32_t Ipv4HeaderBytes = 20;

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

request_kind kind_of(bth_verb verb) {
  switch (verb) {
    case bth_verb::Write:
      return request_kind::write;
    case bth_verb::ReadRequest:
      return request_kind::read;
    case bth_verb::CompareSwap:
    case bth_verb::FetchAdd:
      return request_kind::atomic;
    default:
      return request_kind::send;
  }
}

bool allowed(request_kind kind, const qpc_common& common) {
  switch (kind) {
    case request_kind::send:
      return true;
    case request_kind::write:
      return common.rwe != 0;
    case request_kind::read:
      return common.rre != 0;
    case request_kind::atomic:
      return common.rae != 0;
  }
  return false;
}

bool lacks_queue(const qpc_common& common) {
  return common.no_rq != 0 && common.srq == 0;
}

bool in_sequence(const opcode_info& opcode, const qpc_responder& line) {
  return opcode.is_first() ? line.in_message == 0
                           : line.in_message != 0 && line.cur_verb == opcode.verb;
}

/// Lengths of a SEND or WRITE packet, its message so far included.
bool fits_message(const opcode_info& opcode, const rx_packet& packet, const qpc_common& common,
                  const qpc_responder& line, request_step& step) {
  step.offset = opcode.is_first() ? 0 : line.cur_bytes;
  const std::uint64_t bytes = std::uint64_t{step.offset} + packet.payload;
  const std::uint32_t announced = step.has_reth ? packet.dma_length : line.cur_length;
  step.message_bytes = static_cast<std::uint32_t>(bytes);
  step.address = step.has_reth ? packet.remote_address : line.cur_va;
  return bytes <= MaxMessageBytes &&
         length_fits(opcode.position, packet.payload, mtu_bytes(common.mtu)) &&
         (step.is_send() || (announced <= MaxMessageBytes && write_fits(opcode, bytes, announced)));
}

/// The message in progress after a SEND or WRITE packet.
void advance_message(const opcode_info& opcode, const rx_packet& packet, request_step& step) {
  qpc_responder& next = step.next;
  next.in_message = step.last ? 0 : 1;
  next.cur_verb = opcode.verb;
  next.cur_bytes = step.last ? 0 : step.message_bytes;
  if (step.has_reth) {
    next.cur_rkey = packet.rkey;
    next.cur_length = packet.dma_length;
  }
  if (!step.is_send()) {
    next.cur_va = step.address + packet.payload;
  }
}

void step_reliable(const opcode_info& opcode, const rx_packet& packet, const qpc_common& common,
                   const qpc_responder& line, request_step& step) {
  bool good = in_sequence(opcode, line) && allowed(step.kind, common) &&
              !(step.takes_receive && lacks_queue(common));
  switch (step.kind) {
    case request_kind::send:
    case request_kind::write:
      good = fits_message(opcode, packet, common, line, step) && good;
      break;
    case request_kind::read:
      good = good && packet.payload == 0 && packet.dma_length <= MaxMessageBytes;
      step.address = packet.remote_address;
      step.message_bytes = packet.dma_length;
      step.psns = read_packets(packet.dma_length, common.mtu);
      break;
    case request_kind::atomic:
      good = good && packet.payload == 0 && packet.remote_address % AtomicBytes == 0;
      step.address = packet.remote_address;
      step.message_bytes = AtomicBytes;
      break;
  }
  if (!good) {
    step.fault = request_fault::invalid;
    return;
  }
  step.next.nak_sent = 0;
  step.next.rnr_sent = 0;
  step.next.next_rcv_psn = (line.next_rcv_psn + step.psns) & Mask24;
  if (step.last) {
    step.next.rmsn = (line.rmsn + 1) & Mask24;
  }
  if (!step.is_saved()) {
    advance_message(opcode, packet, step);
  }
}

void step_unreliable(const opcode_info& opcode, const rx_packet& packet, const qpc_common& common,
                     const qpc_responder& line, request_step& step) {
  const bool continues = in_sequence(opcode, line) && packet.psn == line.next_rcv_psn;
  const bool good = (step.first || continues) && !step.is_saved() && allowed(step.kind, common) &&
                    !(step.takes_receive && lacks_queue(common)) &&
                    fits_message(opcode, packet, common, line, step);
  step.ignored = !good;
  step.abandons = line.in_message != 0 && (step.first || !good);
  step.next.next_rcv_psn = (packet.psn + 1) & Mask24;
  if (step.ignored) {
    step.next.in_message = 0;
    return;
  }
  advance_message(opcode, packet, step);
}

void step_datagram(const rx_packet& packet, const qpc_common& common, request_step& step) {
  step.wrong_qkey = packet.qkey != common.qkey;
  step.ignored = step.wrong_qkey || packet.payload > mtu_bytes(common.mtu) || lacks_queue(common);
  step.message_bytes = packet.payload + GrhBytes;
}

}  // namespace

std::uint32_t mtu_bytes(mtu_code code) {
  return 128U << static_cast<unsigned>(code);
}

refusal refusal_of(request_fault fault) {
  constexpr refusal InvalidRequest{nak_code::InvalidRequest, counter::NakInvalidRequestSent,
                                   cqe_syndrome::RemoteInvalidRequest,
                                   counter::RespInvalidRequests};
  constexpr refusal RemoteOperation{nak_code::RemoteOperationalError,
                                    counter::NakRemoteOperationSent, cqe_syndrome::LocalQpOperation,
                                    counter::RespLocalOperationErrors};
  refusal result = InvalidRequest;
  switch (fault) {
    case request_fault::none:
      CARILLON_CHECK(false, "a request without a fault has no refusal");
      break;
    case request_fault::invalid:
      break;
    case request_fault::remote_access:
      // The remote key is looked at before a receive WQE counts as used, so that one is flushed.
      result = {nak_code::RemoteAccessError, counter::NakRemoteAccessSent, cqe_syndrome::WrFlushed,
                counter::RespRemoteAccessErrors};
      break;
    case request_fault::local_length:
      result.syndrome = cqe_syndrome::LocalLength;
      result.fault_counter = counter::RespLocalLengthError;
      break;
    case request_fault::local_protection:
      result = RemoteOperation;
      result.syndrome = cqe_syndrome::LocalProtection;
      break;
    case request_fault::local_access:
      result = RemoteOperation;
      result.syndrome = cqe_syndrome::LocalAccess;
      break;
    case request_fault::local_operation:
      result = RemoteOperation;
      break;
    case request_fault::invalidation:
      result = {nak_code::RemoteAccessError, counter::NakRemoteAccessSent,
                cqe_syndrome::LocalAccess, counter::RespRemoteAccessErrors};
      break;
    case request_fault::remote_operation:
      result = RemoteOperation;
      result.syndrome = cqe_syndrome::WrFlushed;
      result.fault_counter = counter::RespReadErrors;
      break;
  }
  return result;
}

request_step step_request(const rx_packet& packet, const qpc_common& common,
                          const qpc_responder& line) {
  const opcode_info* opcode = find_opcode(packet.bth_opcode);
  CARILLON_CHECK(opcode != nullptr && !opcode->is_response,
                 "a packet of opcode {:#x} came as a request for QP {}", packet.bth_opcode,
                 packet.qpn);
  request_step step;
  step.next = line;
  step.kind = kind_of(opcode->verb);
  step.has_reth = opcode->has_reth;
  step.has_imm = opcode->has_immdt;
  step.invalidates = opcode->has_ieth;
  step.first = opcode->is_first();
  step.last = opcode->is_last();
  step.takes_receive = step.is_send() ? step.first : opcode->has_immdt;
  step.completes_receive = step.last && (step.is_send() || opcode->has_immdt);
  switch (common.service) {
    case qp_service::Rc:
      step_reliable(*opcode, packet, common, line, step);
      break;
    case qp_service::Uc:
      step_unreliable(*opcode, packet, common, line, step);
      break;
    case qp_service::Ud:
      step_datagram(packet, common, step);
      break;
  }
  return step;
}

std::uint32_t read_packets(std::uint32_t length, mtu_code mtu) {
  const std::uint32_t bytes = mtu_bytes(mtu);
  return length == 0 ? 1 : (length - 1) / bytes + 1;
}

void write_grh(const std::uint8_t* ip, bool ipv6, std::uint8_t* out) {
  if (ipv6) {
    std::memcpy(out, ip, GrhBytes);
    return;
  }
  std::memset(out, 0, GrhBytes - Ipv4HeaderBytes);
  std::memcpy(out + GrhBytes - Ipv4HeaderBytes, ip, Ipv4HeaderBytes);
}

bool signature_holds(const std::uint8_t* wqe, std::uint32_t bytes) {
  std::uint8_t sum = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    sum = static_cast<std::uint8_t>(sum ^ wqe[i]);
  }
  return sum == 0xff;
}

bool scatter(const std::uint8_t* segments, std::uint32_t bytes, std::uint32_t offset,
             std::uint32_t length, scatter_list& into) {
  into.count = 0;
  for (std::uint32_t at = 0; at + data_seg::Size <= bytes && length != 0; at += data_seg::Size) {
    const data_seg segment = data_seg::unpack(segments + at);
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
