#include "common/pfc_frame.h"

#include <array>

#include "common/roce_packet.h"

namespace carillon {

namespace {

struct response {
  std::uint64_t rate_gbps;
  std::uint64_t quanta;
};

// 10 Gb/s: the 60 quanta of all but 10GBASE-T.
constexpr std::array<response, 8> Responses = {
    {{1, 2}, {10, 60}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}}};

}  // namespace

std::uint64_t standard_response_quanta(std::uint64_t rate_gbps) {
  for (const response& each : Responses) {
    if (rate_gbps <= each.rate_gbps) {
      return each.quanta;
    }
  }
  return Responses.back().quanta;
}

bool is_mac_control(const std::uint8_t* frame, std::size_t length) {
  return length >= eth::Size && bytes::load_be<2>(frame + eth::at::EtherType) ==
                                    static_cast<std::uint64_t>(ethertype::MacControl);
}

std::optional<pfc> parse_pfc(const std::uint8_t* frame, std::size_t length) {
  if (length < eth::Size + pfc::Size || !is_mac_control(frame, length) ||
      bytes::load_be<6>(frame + eth::at::Dst) != PfcDestination) {
    return std::nullopt;
  }
  const pfc request = pfc::unpack(frame + eth::Size);
  return request.opcode == PfcOpcode ? std::optional(request) : std::nullopt;
}

frame_item make_pfc_frame(buffer_pool& buffers, std::uint64_t source, const pfc& request) {
  static_assert(eth::Size + pfc::Size == MinFrameBytes);
  frame_item frame;
  frame.bytes = buffers.take();
  frame.length = MinFrameBytes;
  std::uint8_t* out = frame.bytes.data();
  eth header;
  header.dst = PfcDestination;
  header.src = source;
  header.ether_type = ethertype::MacControl;
  header.pack(out);
  pfc body = request;
  body.opcode = PfcOpcode;
  body.pack(out + eth::Size);
  frame.fcs = fcs_of_frame(out, frame.length);
  frame.fcs_known = true;
  return frame;
}

}  // namespace carillon
