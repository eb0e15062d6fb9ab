#include "common/congestion.h"

#include "gen/bytes.h"
#include "gen/wire.h"

namespace carillon {

namespace {

constexpr unsigned ServiceShift = 5;  // of the service in a BTH opcode
constexpr std::uint64_t MappedPrefix = 0xffff;

ecn_code ecn_of(const rx_packet& packet) {
  const std::uint8_t* ip = packet.bytes.data() + packet.ip_offset;
  return packet.ipv6 ? ipv6::unpack(ip).ecn : ipv4::unpack(ip).ecn;
}

std::uint32_t word(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

}  // namespace

bool is_cnp(const rx_packet& packet) {
  return packet.bth_opcode == static_cast<std::uint8_t>(bth_opcode::Cnp);
}

bool asks_for_cnp(const rx_packet& packet) {
  const auto service = static_cast<transport_service>(packet.bth_opcode >> ServiceShift);
  const bool known = packet.verdict != rx_verdict::no_qp && packet.verdict != rx_verdict::bad_state;
  return known && (service == transport_service::Rc || service == transport_service::Uc) &&
         ecn_of(packet) == ecn_code::Ce;
}

congestion_note note_of(const rx_packet& packet, note_kind kind) {
  congestion_note note;
  note.kind = kind;
  note.function = packet.function;
  note.qpn = packet.qpn;
  const std::uint8_t* ip = packet.bytes.data() + packet.ip_offset;
  if (packet.ipv6) {
    note.address_high = bytes::load_be<8>(ip + ipv6::at::Src);
    note.address_low = bytes::load_be<8>(ip + ipv6::at::Src + 8);
  } else {
    note.address_low = MappedPrefix << 32 | bytes::load_be<4>(ip + ipv4::at::Src);
  }
  return note;
}

roce_ecn_rp reaction_parameters(const parameters& params) {
  roce_ecn_rp r;
  r.clamp_tgt_rate = static_cast<std::uint8_t>(params.dcqcn.clamp_tgt_rate);
  r.clamp_tgt_rate_after_time_inc =
      static_cast<std::uint8_t>(params.dcqcn.clamp_tgt_rate_after_time_inc);
  r.rpg_time_reset = word(params.dcqcn.rpg_time_reset);
  r.rpg_byte_reset = word(params.dcqcn.rpg_byte_reset);
  r.rpg_threshold = word(params.dcqcn.rpg_threshold);
  r.rpg_max_rate = word(params.dcqcn.rpg_max_rate);
  r.rpg_ai_rate = word(params.dcqcn.rpg_ai_rate);
  r.rpg_hai_rate = word(params.dcqcn.rpg_hai_rate);
  r.rpg_gd = word(params.dcqcn.rpg_gd);
  r.rpg_min_dec_fac = word(params.dcqcn.rpg_min_dec_fac);
  r.rpg_min_rate = word(params.dcqcn.rpg_min_rate);
  r.rate_to_set_on_first_cnp = word(params.dcqcn.rate_to_set_on_first_cnp);
  r.dce_tcp_g = word(params.dcqcn.dce_tcp_g);
  r.dce_tcp_rtt = word(params.dcqcn.dce_tcp_rtt);
  r.rate_reduce_monitor_period = word(params.dcqcn.rate_reduce_monitor_period);
  r.initial_alpha_value = word(params.dcqcn.initial_alpha_value);
  return r;
}

roce_ecn_np notification_parameters(const parameters& params) {
  roce_ecn_np n;
  n.min_time_between_cnps = word(params.dcqcn.min_time_between_cnps);
  n.cnp_dscp = static_cast<std::uint8_t>(params.dcqcn.cnp_dscp);
  n.cnp_802p_prio = static_cast<std::uint8_t>(params.dcqcn.cnp_802p_prio);
  return n;
}

}  // namespace carillon
