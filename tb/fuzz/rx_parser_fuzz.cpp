// rx_parser under libFuzzer, and what the responder and the requester make of what it lets through:
// any bytes as a frame, any bytes as the QP that it is for. The first 192 bytes of an input are the
// lines qpc_common and qpc_responder and four data segments, the rest is the frame.
//
// A request that is accepted changes the responder's line and comes again with the next PSN, a few
// times. The data segments are those of its receive WQE, and those of the WQE that a response
// answers: a READ, or an atomic if its length is 8, of cur_length bytes from PSN next_rcv_psn on.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/psn.h"
#include "common/roce_packet.h"
#include "requester/response_landing.h"
#include "requester/send_window.h"
#include "responder/rules.h"
#include "responder/saved_requests.h"
#include "rx_parser.h"

namespace {

using namespace carillon;

constexpr std::size_t LineBytes = 64;
constexpr std::size_t Segments = LineBytes / data_seg::Size;
constexpr std::size_t LargestFrame = 9216;
constexpr unsigned Repetitions = 4;
constexpr std::uint32_t Mask24 = 0xffffff;

void require(bool holds, int line = __builtin_LINE()) {
  if (!holds) {
    std::fprintf(stderr, "%s:%d does not hold\n", __FILE__, line);
    std::abort();
  }
}

using line_bytes = std::array<std::uint8_t, LineBytes>;

struct fuzzed_input {
  line_bytes common{};
  line_bytes responder{};
  line_bytes segments{};
  std::vector<std::uint8_t> frame;
};

fuzzed_input read_input(const std::uint8_t* data, std::size_t size) {
  fuzzed_input input;
  for (line_bytes* line : {&input.common, &input.responder, &input.segments}) {
    const std::size_t part = std::min(size, LineBytes);
    if (part != 0) {
      std::memcpy(line->data(), data, part);
    }
    data += part;
    size -= part;
  }
  // A copy of its own size: a read beyond the frame is a read beyond the allocation.
  input.frame.assign(data, data + std::min(size, LargestFrame));
  return input;
}

/// What a good parse promises to those behind it.
void check(const parsed_frame& parsed, std::size_t length) {
  if (!parsed.good() && parsed.error != parse_error::icrc) {
    return;
  }
  require(parsed.opcode != nullptr);
  require(parsed.ip_offset < parsed.udp_offset && parsed.udp_offset < parsed.bth_offset);
  require(parsed.bth_offset < parsed.payload_offset);
  require(std::size_t{parsed.payload_offset} + parsed.payload <= parsed.icrc_offset);
  require(std::size_t{parsed.icrc_offset} + IcrcBytes <= length);
  require(parsed.payload == 0 || parsed.opcode->has_payload);
  require(parsed.base.version == 0);
}

/// The packet as rx_parser hands it on; its bytes stay where they are.
rx_packet packet_of(const parsed_frame& parsed, rx_verdict verdict) {
  rx_packet packet;
  packet.verdict = verdict;
  packet.qpn = parsed.base.dest_qpn;
  packet.bth_opcode = static_cast<std::uint8_t>(parsed.base.opcode);
  packet.ack_request = parsed.base.ack_req != 0;
  packet.psn = parsed.base.psn;
  packet.remote_address = parsed.opcode->has_atomiceth ? parsed.atomic.va : parsed.remote.va;
  packet.rkey = parsed.opcode->has_atomiceth ? parsed.atomic.rkey : parsed.remote.rkey;
  packet.dma_length = parsed.remote.dma_length;
  packet.imm = parsed.opcode->has_ieth ? parsed.invalidate_rkey : parsed.immediate;
  packet.qkey = parsed.datagram.qkey;
  packet.ipv6 = parsed.ipv6;
  packet.ip_offset = parsed.ip_offset;
  packet.payload = parsed.payload;
  packet.payload_offset = parsed.payload_offset;
  packet.atomic_result = parsed.atomic_result.original;
  return packet;
}

// Requests ----------------------------------------------------------------------------------------

/// The bytes go to segments of the receive WQE, all of them and nowhere else.
void check_scatter(const fuzzed_input& input, std::uint32_t offset, std::uint32_t length) {
  scatter_list list;
  const bool fits = scatter(input.segments.data(), LineBytes, offset, length, list);
  require(list.count <= Segments);
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < list.count; ++i) {
    const scatter_piece& piece = list.piece[i];
    require(piece.length != 0);
    bool inside = false;
    for (std::size_t s = 0; s < Segments; ++s) {
      const data_seg segment = data_seg::unpack(input.segments.data() + s * data_seg::Size);
      inside |= piece.key == segment.lkey && piece.length <= segment.byte_count &&
                piece.address - segment.address <= segment.byte_count - piece.length;
    }
    require(inside);
    sum += piece.length;
  }
  require(fits ? sum == length : sum < length);
}

void check_datagram(const fuzzed_input& input, const rx_packet& packet, const request_step& step) {
  require(step.first && step.last && step.is_send());
  require(step.message_bytes == packet.payload + GrhBytes);
  std::vector<std::uint8_t> header(GrhBytes);
  write_grh(input.frame.data() + packet.ip_offset, packet.ipv6, header.data());
  require(std::size_t{step.message_bytes} <= BufferBytes);
  check_scatter(input, 0, step.message_bytes);
}

void check_message(const fuzzed_input& input, const rx_packet& packet, const request_step& step,
                   const qpc_common& common, const qpc_responder& before) {
  require(step.message_bytes == step.offset + packet.payload);
  require(step.message_bytes <= MaxMessageBytes);
  require(packet.payload <= mtu_bytes(common.mtu));
  require(step.first ? step.offset == 0 : before.in_message != 0);
  require(step.next.in_message == (step.last ? 0 : 1));
  require(step.last || step.next.cur_bytes == step.message_bytes);
  if (step.kind == request_kind::write) {
    require(common.rwe != 0);
    const std::uint32_t announced = step.has_reth ? packet.dma_length : before.cur_length;
    require(step.last ? step.message_bytes == announced : step.message_bytes < announced);
    require(step.takes_receive == (step.last && step.has_imm));
  } else {
    require(step.takes_receive == step.first);
    check_scatter(input, step.offset, packet.payload);
  }
}

void check_saved(const rx_packet& packet, const request_step& step, const qpc_common& common,
                 const qpc_responder& line) {
  const bth_verb verb = find_opcode(packet.bth_opcode)->verb;
  saved_requests saved;
  saved.start(line.log_rra_max);
  saved.save(
      {true, verb, packet.psn, step.psns, step.address, packet.rkey, step.message_bytes, false, 0});
  if (step.kind == request_kind::atomic) {
    require(common.rae != 0 && step.address % 8 == 0);
    require(!saved.result_of(packet.psn, verb, step.address));
    saved.answered(packet.swap_add);
    require(saved.result_of(packet.psn, verb, step.address) == packet.swap_add);
    return;
  }
  require(common.rre != 0);
  const std::uint32_t mtu = mtu_bytes(common.mtu);
  require(step.psns >= 1 && std::uint64_t{step.psns} * mtu >= step.message_bytes);
  require(step.psns == 1 || std::uint64_t{step.psns - 1} * mtu < step.message_bytes);
  require(saved.covers_read(packet.psn, step.address, packet.rkey, step.message_bytes, mtu));
  require(step.message_bytes == 0 ||
          !saved.covers_read(packet.psn, step.address + 1, packet.rkey, step.message_bytes, mtu));
  saved.answered();
}

/// One accepted request; the line behind it.
qpc_responder serve(const fuzzed_input& input, const rx_packet& packet, const qpc_common& common,
                    const qpc_responder& line) {
  const request_step step = step_request(packet, common, line);
  if (step.fault != request_fault::none) {
    require(common.service == qp_service::Rc);
    refusal_of(step.fault);
    return line;
  }
  if (step.ignored) {
    require(common.service != qp_service::Rc);
    return common.service == qp_service::Uc ? step.next : line;
  }
  require(!step.completes_receive || step.last);
  require(!(step.takes_receive && common.no_rq != 0 && common.srq == 0));
  if (common.service == qp_service::Ud) {
    check_datagram(input, packet, step);
    return line;
  }
  if (common.service == qp_service::Rc) {
    require(step.next.next_rcv_psn == ((packet.psn + step.psns) & Mask24));
    require(step.next.rmsn == ((line.rmsn + (step.last ? 1 : 0)) & Mask24));
  }
  if (step.is_saved()) {
    check_saved(packet, step, common, line);
  } else {
    check_message(input, packet, step, common, line);
  }
  signature_holds(input.segments.data(), LineBytes);
  return step.next;
}

// Responses ---------------------------------------------------------------------------------------

/// The READ or atomic that the peer is asked for.
sent_packet note_of(const qpc_common& common, const qpc_responder& line, std::uint32_t length) {
  sent_packet note;
  const bool atomic = length == 8;
  note.opcode =
      static_cast<std::uint8_t>(atomic ? wqe_opcode::AtomicFetchAdd : wqe_opcode::RdmaRead);
  note.psn = line.next_rcv_psn;
  note.first_psn = line.next_rcv_psn;
  note.last_psn = atomic ? note.psn : psn_add(note.psn, read_packets(length, common.mtu) - 1);
  note.last = true;
  note.mtu_code = static_cast<std::uint8_t>(common.mtu);
  note.length = length;
  note.sge_count = Segments;
  return note;
}

/// The data of a response that is in order lands within the WQE's segments.
void check_landing(const fuzzed_input& input, const rx_packet& packet, const sent_packet& note) {
  const std::uint32_t mtu = 128U << note.mtu_code;
  const std::uint32_t offset = psn_distance(note.first_psn, packet.psn) * mtu;
  require(std::uint64_t{offset} + packet.payload <= note.length);
  std::vector<landing_part> parts;
  cut_scatter_list(input.segments.data(), Segments, offset, packet.payload, parts);
  require(parts.size() <= Segments);
  std::uint32_t sum = 0;
  for (const landing_part& part : parts) {
    require(part.from == sum && part.length != 0);
    sum += part.length;
  }
  require(sum <= packet.payload);
}

void take_response(const fuzzed_input& input, const rx_packet& packet, const qpc_common& common,
                   const qpc_responder& line) {
  const sent_packet note = note_of(common, line, line.cur_length % (MaxMessageBytes / 2));
  send_window window;
  window.start(note.psn);
  const outstanding_wqe& wqe = window.add(note, held_history(), 1);
  if (!window.in_flight(packet.psn)) {
    require(!wqe.contains(packet.psn));
    window.advance(psn_add(packet.psn, 1));
    require(window.oldest() == note.first_psn);
    return;
  }
  require(wqe.contains(packet.psn) && window.unsettled(packet.psn) == &wqe);
  // An acknowledge does not stand for the answer.
  window.hear(packet.psn);
  window.advance(packet.psn);
  require(window.oldest() == note.first_psn && window.any_unsettled());
  if (check_response(wqe, packet) != response_fault::none) {
    return;
  }
  if (!wqe.atomic()) {
    check_landing(input, packet, note);
  }
  if (packet.psn == window.oldest()) {
    require(window.answer() == (note.first_psn == note.last_psn));
    require(window.any_unsettled() == (note.first_psn != note.last_psn));
  }
}

/// What the context RAM can hold: the commands let no other MTU pass.
bool sensible(const qpc_common& common) {
  return common.mtu >= mtu_code::Mtu256 && common.mtu <= mtu_code::Mtu4096;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzzed_input input = read_input(data, size);
  const std::vector<std::uint8_t>& frame = input.frame;

  const parsed_frame verified = parse_frame(frame.data(), frame.size(), icrc_check::verify);
  const parsed_frame trusted = parse_frame(frame.data(), frame.size(), icrc_check::trust);
  check(verified, frame.size());
  check(trusted, frame.size());
  require(verified.error == trusted.error || verified.error == parse_error::icrc);
  if (verified.error != parse_error::none) {
    counter_of(verified.error);
  }
  if (!trusted.good()) {
    return 0;
  }
  const qpc_common common = qpc_common::unpack(input.common.data());
  qpc_responder responder = qpc_responder::unpack(input.responder.data());
  const opcode_info& opcode = *trusted.opcode;
  const rx_verdict verdict = look_up(opcode, trusted.base.psn, true, common, responder);
  require(!opcode.is_response || verdict != rx_verdict::accept);
  require(common.valid != 0 || verdict == rx_verdict::no_qp);
  // A QP is reached by the port of its own function and by no other.
  const auto other = static_cast<std::uint16_t>(common.function_id ^ 1);
  require(end_of(trusted, verdict, common, common.function_id) != rx_refusal::Owner);
  require(verdict == rx_verdict::no_qp ||
          end_of(trusted, verdict, common, other) == rx_refusal::Owner);
  if (!sensible(common) || opcode.verb == bth_verb::Congestion) {
    return 0;
  }
  rx_packet packet = packet_of(trusted, verdict);
  if (verdict == rx_verdict::response) {
    take_response(input, packet, common, responder);
  }
  for (unsigned i = 0; verdict == rx_verdict::accept && i < Repetitions; ++i) {
    responder = serve(input, packet, common, responder);
    packet.psn =
        common.service == qp_service::Rc ? responder.next_rcv_psn : (packet.psn + 1) & Mask24;
  }
  return 0;
}
