// Frames from outside: for addresses, QPs and keys that they should not reach, and with sources
// that cannot be theirs. Who is hit counts them; nobody's state changes.
#include <algorithm>

#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

std::uint16_t some_port(random_stream& random) {
  return any_of(random, std::array{Pf, Attacker, Victim, Bystander});
}

std::uint16_t another(std::uint16_t than, random_stream& random) {
  std::uint16_t found = than;
  while (found == than) {
    found = some_port(random);
  }
  return found;
}

/// From a stranger to a port, in its VLAN if it has one.
packet_description to_port(hostile h, std::uint16_t port, std::uint32_t qpn, bth_opcode opcode) {
  packet_description packet;
  packet.mac_destination = h.house.mac(port);
  packet.mac_source = StrangerMac;
  packet.tagged = port == Bystander;
  packet.vid = packet.tagged ? BystanderVlan : 0;
  packet.source = gid_of_ipv4(StrangerAddress);
  packet.destination = h.house.of(port).driver->address();
  packet.opcode = opcode;
  packet.dest_qpn = qpn;
  packet.psn = static_cast<std::uint32_t>(h.random.below(0x1000000));
  packet.datagram.qkey = Qkey;
  packet.datagram.src_qpn = 0x77;
  return packet;
}

bool is_response(bth_opcode opcode) {
  return opcode == bth_opcode::RcAcknowledge;
}

bth_opcode some_opcode(random_stream& random) {
  return any_of(random, std::array{bth_opcode::RcSendOnly, bth_opcode::UcSendOnly,
                                   bth_opcode::UdSendOnly, bth_opcode::RcAcknowledge});
}

task<> send(hostile h, outcome& o, packet_description packet) {
  o.offender = Functions;
  h.house.inject(packet, is_response(packet.opcode) ? 0 : 32, [](frame_bytes&) {});
  co_await settle(h.core);
}

/// The frame is for this port and counted for it.
void hits(outcome& o, std::uint16_t port, counter why) {
  o.worked[port] = true;
  o.count(port, why);
}

// Addresses

task<> unknown_address(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  packet_description packet =
      to_port(h, port, any_of(h.random, h.house.of(port).qpns), some_opcode(h.random));
  packet.mac_destination = 0x020000990000 + h.random.below(0x10000);
  o.count(Chip, counter::RxSteerOverflow);
  co_await send(h, o, packet);
}

task<> group_address(hostile h, outcome& o) {
  packet_description packet = to_port(h, Pf, h.house.of(Pf).ud->qpn(), bth_opcode::UdSendOnly);
  packet.mac_destination = h.random.chance(1, 2) ? 0xffffffffffff : 0x01005e000001;
  o.count(Chip, counter::RxSteerOverflow);
  co_await send(h, o, packet);
}

task<> disabled_port(hostile h, outcome& o) {
  const tenant& ghost = h.house.of(Ghost);
  packet_description packet =
      to_port(h, Ghost, any_of(h.random, ghost.qpns), some_opcode(h.random));
  o.count(Chip, counter::RxSteerOverflow);
  co_await send(h, o, packet);
}

task<> wrong_vlan(hostile h, outcome& o) {
  packet_description packet =
      to_port(h, Bystander, any_of(h.random, h.house.of(Bystander).qpns), some_opcode(h.random));
  packet.tagged = h.random.chance(1, 2);
  packet.vid = static_cast<std::uint16_t>(h.random.between(BystanderVlan + 1, 4094));
  o.count(Chip, counter::RxSteerOverflow);
  co_await send(h, o, packet);
}

/// Its source is a port of the NIC that it comes to.
task<> own_source(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  packet_description packet =
      to_port(h, port, any_of(h.random, h.house.of(port).qpns), some_opcode(h.random));
  const std::uint16_t claimed =
      port == Bystander ? Bystander : any_of(h.random, std::array{Pf, Attacker, Victim});
  packet.mac_source = h.house.mac(claimed);
  o.count(Chip, counter::RxSteerSource);
  co_await send(h, o, packet);
}

// Queue pairs

task<> foreign_qp(hostile h, outcome& o, bool to_pf) {
  const std::uint16_t port = to_pf ? Pf : any_of(h.random, std::array{Attacker, Victim, Bystander});
  const std::uint16_t owner = another(port, h.random);
  const bth_opcode opcode = some_opcode(h.random);
  hits(o, port, counter::RxSteerOwner);
  co_await send(h, o, to_port(h, port, any_of(h.random, h.house.of(owner).qpns), opcode));
}

task<> nobodys_qp(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  const bth_opcode opcode = some_opcode(h.random);
  hits(o, port, counter::RxDropNoQp);
  co_await send(
      h, o, to_port(h, port, static_cast<std::uint32_t>(h.random.between(0x80, 0xffffff)), opcode));
}

task<> reset_qp(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  hits(o, port, counter::RxDropBadState);
  co_await send(h, o, to_port(h, port, h.house.of(port).blank->qpn(), bth_opcode::RcSendOnly));
}

task<> other_service(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  tenant& who = h.house.of(port);
  hits(o, port, counter::RxDropBadState);
  co_await send(h, o,
                h.random.chance(1, 2) ? to_port(h, port, who.ud->qpn(), bth_opcode::RcSendOnly)
                                      : to_port(h, port, who.rc->qpn(), bth_opcode::UdSendOnly));
}

task<> wrong_pkey(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  tenant& who = h.house.of(port);
  packet_description packet = h.random.chance(1, 2)
                                  ? to_port(h, port, who.ud->qpn(), bth_opcode::UdSendOnly)
                                  : to_port(h, port, who.rc->qpn(), bth_opcode::RcSendOnly);
  packet.pkey = static_cast<std::uint16_t>(h.random.below(0x7fff));
  hits(o, port, counter::RxDropPkey);
  co_await send(h, o, packet);
}

task<> wrong_qkey(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  packet_description packet = to_port(h, port, h.house.of(port).ud->qpn(), bth_opcode::UdSendOnly);
  packet.datagram.qkey = Qkey + static_cast<std::uint32_t>(h.random.between(1, 0x1000));
  hits(o, port, counter::QkeyViolations);
  co_await send(h, o, packet);
}

/// An answer that nobody waits for.
task<> unasked_answer(hostile h, outcome& o) {
  const std::uint16_t port = some_port(h.random);
  packet_description packet =
      to_port(h, port, h.house.of(port).rc->qpn(), bth_opcode::RcAcknowledge);
  packet.acknowledge = make_aeth(h.random.chance(1, 2) ? 0x1f : 0x62, 0);
  if (syndrome_of(packet.acknowledge) == 0x62) {
    o.count(port, counter::ReqRemoteAccessErrors);
  }
  hits(o, port, counter::ReqResponsesIgnored);
  co_await send(h, o, packet);
}

// Damage

struct damage {
  const char* name;
  counter why;
  void (*change)(frame_bytes& frame, std::size_t ip, random_stream& random);
};

constexpr std::array<damage, 6> Damages = {{
    {"bad ICRC", counter::RxDropIcrc,
     [](frame_bytes& frame, std::size_t, random_stream&) { frame.back() ^= 1; }},
    {"fragment", counter::RxDropIpFragment,
     [](frame_bytes& frame, std::size_t ip, random_stream&) { frame[ip + 6] = 0x20; }},
    {"IP options", counter::RxDropIpOptions,
     [](frame_bytes& frame, std::size_t ip, random_stream&) { frame[ip] = 0x46; }},
    {"not UDP", counter::RxDropProtocol,
     [](frame_bytes& frame, std::size_t ip, random_stream&) { frame[ip + 9] = 6; }},
    {"other UDP port", counter::RxDropUdpPort,
     [](frame_bytes& frame, std::size_t ip, random_stream& random) {
       frame[ip + 22] = static_cast<std::uint8_t>(random.below(0x10));
     }},
    {"reserved opcode", counter::RxDropOpcode,
     [](frame_bytes& frame, std::size_t ip, random_stream&) { frame[ip + 28] = 0x1f; }},
}};

task<> damaged(hostile h, outcome& o, damage what) {
  const std::uint16_t port = some_port(h.random);
  o.offender = Functions;
  hits(o, port, what.why);
  const std::size_t ip = port == Bystander ? 18 : 14;
  h.house.inject(to_port(h, port, h.house.of(port).rc->qpn(), bth_opcode::RcSendOnly), 32,
                 [&](frame_bytes& frame) { what.change(frame, ip, h.random); });
  co_await settle(h.core);
}

/// A WRITE to the attacker's own QP with the key of another.
task<> foreign_key(hostile h, outcome& o, offence whose) {
  const std::uint16_t owner = choose(whose, h.random).target;
  tenant& other = h.house.of(owner);
  const memory_region& region = h.random.chance(1, 2) ? other.paged : other.buffer;
  packet_description packet =
      to_port(h, Attacker, h.house.of(Attacker).uc_peer->qpn(), bth_opcode::UcWriteOnly);
  packet.remote.va = region.address;
  packet.remote.rkey = region.key;
  packet.remote.dma_length = 32;
  o.count(Attacker, counter::CtxPartitionDenied);
  o.count(Attacker, counter::RespRemoteAccessErrors);
  o.count(Attacker, counter::UcMessagesDropped);
  h.house.inject(packet, 32, [](frame_bytes&) {});
  co_await settle(h.core);
}

}  // namespace

void add_wire_bins(bin_table& to) {
  constexpr const char* Chipwide = "counted for the chip";
  constexpr const char* Port = "counted for the port that it came to";
  constexpr unsigned Often = 30;
  const auto add = [&](const char* name, const char* how,
                       std::function<task<>(hostile, outcome&)> what) {
    to.push_back({"wire address", offence::wire, name, how, Often, std::move(what)});
  };
  add("unknown MAC address", Chipwide, unknown_address);
  add("group address", Chipwide, group_address);
  add("port of a disabled VF", Chipwide, disabled_port);
  add("another VLAN", Chipwide, wrong_vlan);
  add("source of our own port", Chipwide, own_source);
  add("QP of another than the VF's port", Port,
      [](hostile h, outcome& o) { return foreign_qp(h, o, false); });
  add("QP of another than the PF's port", Port,
      [](hostile h, outcome& o) { return foreign_qp(h, o, true); });
  add("QP of nobody", Port, nobodys_qp);
  add("QP in RESET", Port, reset_qp);
  add("QP of another service", Port, other_service);
  add("P_Key", Port, wrong_pkey);
  add("Q_Key", Port, wrong_qkey);
  add("answer that nobody asked for", Port, unasked_answer);
  for (const damage& each : Damages) {
    add(each.name, Port, [=](hostile h, outcome& o) { return damaged(h, o, each); });
  }
  for (const offence who : {offence::vf_to_vf, offence::vf_to_pf}) {
    to.push_back({"key", who, "rkey of a UC WRITE from the wire",
                  "counted for the function whose QP it came to", Often,
                  [=](hostile h, outcome& o) { return foreign_key(h, o, who); }});
  }
}

}  // namespace carillon::isolation
