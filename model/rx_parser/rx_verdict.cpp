#include "rx_parser/rx_verdict.h"

#include "common/error.h"

namespace carillon {
namespace {

constexpr rx_refusal refusal_code(parse_error error) {
  return static_cast<rx_refusal>(error);
}

// The codes of both are the same; the generated ones are what the twin has.
static_assert(refusal_code(parse_error::none) == rx_refusal::Nothing);
static_assert(refusal_code(parse_error::eth_truncated) == rx_refusal::EthTruncated);
static_assert(refusal_code(parse_error::eth_type) == rx_refusal::EthType);
static_assert(refusal_code(parse_error::roce_v1) == rx_refusal::RoceV1);
static_assert(refusal_code(parse_error::ip_truncated) == rx_refusal::IpTruncated);
static_assert(refusal_code(parse_error::ip_version) == rx_refusal::IpVersion);
static_assert(refusal_code(parse_error::ip_options) == rx_refusal::IpOptions);
static_assert(refusal_code(parse_error::ip_fragment) == rx_refusal::IpFragment);
static_assert(refusal_code(parse_error::ip_protocol) == rx_refusal::IpProtocol);
static_assert(refusal_code(parse_error::ip_length) == rx_refusal::IpLength);
static_assert(refusal_code(parse_error::udp_port) == rx_refusal::UdpPort);
static_assert(refusal_code(parse_error::udp_length) == rx_refusal::UdpLength);
static_assert(refusal_code(parse_error::bth_truncated) == rx_refusal::BthTruncated);
static_assert(refusal_code(parse_error::bth_version) == rx_refusal::BthVersion);
static_assert(refusal_code(parse_error::bth_opcode) == rx_refusal::BthOpcode);
static_assert(refusal_code(parse_error::bth_length) == rx_refusal::BthLength);
static_assert(refusal_code(parse_error::bth_pad) == rx_refusal::BthPad);
static_assert(refusal_code(parse_error::icrc) == rx_refusal::Icrc);

bool receives(qp_state state) {
  switch (state) {
    case qp_state::Rtr:
    case qp_state::Rts:
    case qp_state::Sqd:
    case qp_state::SqDraining:
    case qp_state::Sqer:
      return true;
    case qp_state::Reset:
    case qp_state::Init:
    case qp_state::Err:
      return false;
  }
  return false;
}

bool sends(qp_state state) {
  return state == qp_state::Rts || state == qp_state::Sqd || state == qp_state::SqDraining;
}

bool serves(qp_service qp, transport_service packet) {
  switch (packet) {
    case transport_service::Rc:
      return qp == qp_service::Rc;
    case transport_service::Uc:
      return qp == qp_service::Uc;
    case transport_service::Ud:
      return qp == qp_service::Ud;
    case transport_service::Cnp:
      return true;
    case transport_service::Rd:
      return false;
  }
  return false;
}

/// Of two P_Keys of one partition, one at least is that of a full member.
bool same_partition(std::uint16_t a, std::uint16_t b) {
  constexpr unsigned FullMember = 0x8000;
  return ((a ^ b) & ~FullMember & 0xffffU) == 0 && ((a | b) & FullMember) != 0;
}

}  // namespace

counter counter_of(parse_error error) {
  switch (error) {
    case parse_error::eth_truncated:
    case parse_error::ip_truncated:
      return counter::RxDropTruncated;
    case parse_error::eth_type:
      return counter::RxDropEthertype;
    case parse_error::roce_v1:
      return counter::RxDropRoceV1;
    case parse_error::ip_version:
      return counter::RxDropIpVersion;
    case parse_error::ip_options:
      return counter::RxDropIpOptions;
    case parse_error::ip_fragment:
      return counter::RxDropIpFragment;
    case parse_error::ip_protocol:
      return counter::RxDropProtocol;
    case parse_error::ip_length:
      return counter::RxDropIpLength;
    case parse_error::udp_port:
      return counter::RxDropUdpPort;
    case parse_error::udp_length:
      return counter::RxDropUdpLength;
    case parse_error::bth_truncated:
      return counter::RxDropBthTruncated;
    case parse_error::bth_version:
      return counter::RxDropBthVersion;
    case parse_error::bth_opcode:
      return counter::RxDropOpcode;
    case parse_error::bth_length:
      return counter::RxDropBthLength;
    case parse_error::bth_pad:
      return counter::RxDropPad;
    case parse_error::icrc:
      return counter::RxDropIcrc;
    case parse_error::none:
    case parse_error::count_:
      break;
  }
  CARILLON_CHECK(false, "no counter for parse error {}", to_string(error));
  return counter::RxDropTruncated;
}

rx_verdict verdict_of_psn(std::uint32_t psn, std::uint32_t expected) {
  constexpr std::uint32_t Mask = 0xffffff;
  constexpr std::uint32_t Half = 0x800000;
  const std::uint32_t ahead = (psn - expected) & Mask;
  if (ahead == 0) {
    return rx_verdict::accept;
  }
  return ahead < Half ? rx_verdict::gap : rx_verdict::duplicate;
}

rx_verdict look_up(const opcode_info& opcode, std::uint32_t psn, bool exists,
                   const qpc_common& common, const qpc_responder& responder) {
  if (!exists || common.valid == 0) {
    return rx_verdict::no_qp;
  }
  if (!serves(common.service, opcode.service)) {
    return rx_verdict::bad_state;  // a packet of another service meets no such QP; the real one is
                                   // not harmed
  }
  if (opcode.is_response) {
    return sends(common.state) ? rx_verdict::response : rx_verdict::bad_state;
  }
  if (!receives(common.state) || responder.error != 0) {
    return rx_verdict::bad_state;
  }
  return common.service == qp_service::Rc ? verdict_of_psn(psn, responder.next_rcv_psn)
                                          : rx_verdict::accept;
}

counter counter_of(rx_refusal refusal) {
  switch (refusal) {
    case rx_refusal::Nobody:
      return counter::RxSteerOverflow;
    case rx_refusal::AlienSource:
      return counter::RxSteerSource;
    case rx_refusal::Owner:
      return counter::RxSteerOwner;
    case rx_refusal::Pkey:
      return counter::RxDropPkey;
    default:
      return counter_of(static_cast<parse_error>(refusal));
  }
}

rx_refusal refusal_of(parse_error error) {
  return refusal_code(error);
}

rx_refusal refusal_of(steering_verdict verdict) {
  switch (verdict) {
    case steering_verdict::nobody:
      return rx_refusal::Nobody;
    case steering_verdict::alien_source:
      return rx_refusal::AlienSource;
    case steering_verdict::port:
      break;
  }
  return rx_refusal::Nothing;
}

rx_refusal end_of(const parsed_frame& packet, rx_verdict verdict, const qpc_common& common,
                  std::uint16_t port) {
  if (packet.error == parse_error::icrc) {
    return rx_refusal::Icrc;
  }
  if (verdict != rx_verdict::no_qp && common.function_id != port) {
    return rx_refusal::Owner;
  }
  const bool known = verdict != rx_verdict::no_qp && verdict != rx_verdict::bad_state;
  if (known && !same_partition(packet.base.pkey, common.pkey)) {
    return rx_refusal::Pkey;
  }
  return rx_refusal::Nothing;
}

rx_state state_of(rx_verdict verdict) {
  return verdict == rx_verdict::accept || verdict == rx_verdict::response ? rx_state::StDmaWrite
                                                                          : rx_state::StNak;
}

}  // namespace carillon
