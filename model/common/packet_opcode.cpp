#include "common/packet_opcode.h"

#include <algorithm>

#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

/// Where a packet stands in its message.
enum class position : std::uint8_t { first, middle, last, only };

position position_of(const packet_item& packet) {
  if (packet.first) {
    return packet.last ? position::only : position::first;
  }
  return packet.last ? position::last : position::middle;
}

bth_opcode rc_opcode(wqe_opcode opcode, position where) {
  const bool only = where == position::only;
  switch (opcode) {
    case wqe_opcode::Send:
    case wqe_opcode::SendImmediate:
    case wqe_opcode::SendInvalidate:
      switch (where) {
        case position::first:
          return bth_opcode::RcSendFirst;
        case position::middle:
          return bth_opcode::RcSendMiddle;
        case position::last:
        case position::only:
          break;
      }
      if (opcode == wqe_opcode::SendImmediate) {
        return only ? bth_opcode::RcSendOnlyImmediate : bth_opcode::RcSendLastImmediate;
      }
      if (opcode == wqe_opcode::SendInvalidate) {
        return only ? bth_opcode::RcSendOnlyInvalidate : bth_opcode::RcSendLastInvalidate;
      }
      return only ? bth_opcode::RcSendOnly : bth_opcode::RcSendLast;
    case wqe_opcode::RdmaRead:
      return bth_opcode::RcReadRequest;
    case wqe_opcode::AtomicCompareSwap:
      return bth_opcode::RcCompareSwap;
    case wqe_opcode::AtomicFetchAdd:
      return bth_opcode::RcFetchAdd;
    default:
      break;
  }
  switch (where) {
    case position::first:
      return bth_opcode::RcWriteFirst;
    case position::middle:
      return bth_opcode::RcWriteMiddle;
    case position::last:
    case position::only:
      break;
  }
  if (opcode == wqe_opcode::RdmaWriteImmediate) {
    return only ? bth_opcode::RcWriteOnlyImmediate : bth_opcode::RcWriteLastImmediate;
  }
  return only ? bth_opcode::RcWriteOnly : bth_opcode::RcWriteLast;
}

bth_opcode response_opcode(position where) {
  switch (where) {
    case position::first:
      return bth_opcode::RcReadResponseFirst;
    case position::middle:
      return bth_opcode::RcReadResponseMiddle;
    case position::last:
      return bth_opcode::RcReadResponseLast;
    case position::only:
      break;
  }
  return bth_opcode::RcReadResponseOnly;
}

bth_opcode request_opcode(const packet_item& packet) {
  const auto opcode = static_cast<wqe_opcode>(packet.wqe_opcode);
  const bth_opcode rc = rc_opcode(opcode, position_of(packet));
  switch (static_cast<qp_service>(packet.service)) {
    case qp_service::Uc: {
      // UC request opcodes are those of RC in the next group of 32.
      constexpr auto Step = static_cast<unsigned>(bth_opcode::UcSendFirst) -
                            static_cast<unsigned>(bth_opcode::RcSendFirst);
      return static_cast<bth_opcode>(static_cast<unsigned>(rc) + Step);
    }
    case qp_service::Ud:
      return opcode == wqe_opcode::SendImmediate ? bth_opcode::UdSendOnlyImmediate
                                                 : bth_opcode::UdSendOnly;
    case qp_service::Rc:
      break;
  }
  return rc;
}

}  // namespace

bth_opcode opcode_of(const packet_item& packet) {
  switch (packet.source) {
    case packet_source::request:
      return request_opcode(packet);
    case packet_source::acknowledge:
      return is_cnp(packet) ? bth_opcode::Cnp : bth_opcode::RcAcknowledge;
    case packet_source::atomic_acknowledge:
      return bth_opcode::RcAtomicAcknowledge;
    case packet_source::read_response:
      return response_opcode(position_of(packet));
  }
  return bth_opcode::RcAcknowledge;
}

std::uint32_t wire_bytes(const packet_item& packet, bool is_ipv6, bool tagged) {
  const std::uint32_t headers = eth::Size + (tagged ? vlan_tag::Size : 0) +
                                (is_ipv6 ? ipv6::Size : ipv4::Size) + udp::Size + bth::Size +
                                find_opcode(opcode_of(packet))->extension_bytes;
  const std::uint32_t frame = headers + packet.payload + pad_of(packet.payload) + IcrcBytes;
  return std::max<std::uint32_t>(frame, MinFrameBytes) + FcsBytes + PreambleBytes +
         InterPacketGapBytes;
}

}  // namespace carillon
