// rx_parser under libFuzzer: any bytes as a frame, any bytes as the QP that it is for. The first
// 128 bytes of an input are the lines qpc_common and qpc_responder, the rest is the frame.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/roce_packet.h"
#include "rx_parser.h"

namespace {

using namespace carillon;

constexpr std::size_t LineBytes = 64;
constexpr std::size_t LargestFrame = 9216;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<std::uint8_t, 2 * LineBytes> lines{};
  const std::size_t head = std::min(size, lines.size());
  std::memcpy(lines.data(), data, head);
  // A copy of its own size: a read beyond the frame is a read beyond the allocation.
  const std::vector<std::uint8_t> frame(data + head, data + std::min(size, head + LargestFrame));

  const parsed_frame verified = parse_frame(frame.data(), frame.size(), icrc_check::verify);
  const parsed_frame trusted = parse_frame(frame.data(), frame.size(), icrc_check::trust);
  check(verified, frame.size());
  check(trusted, frame.size());
  require(verified.error == trusted.error || verified.error == parse_error::icrc);
  if (verified.error != parse_error::none) {
    counter_of(verified.error);
  }
  if (trusted.good()) {
    const qpc_common common = qpc_common::unpack(lines.data());
    const qpc_responder responder = qpc_responder::unpack(lines.data() + LineBytes);
    const rx_verdict verdict = look_up(*trusted.opcode, trusted.base.psn, true, common, responder);
    require(!trusted.opcode->is_response || verdict != rx_verdict::accept);
    require(common.valid != 0 || verdict == rx_verdict::no_qp);
  }
  return 0;
}
