// Datagrams of a function to ports of its own NIC: to QPs that are not the port's or do not take
// them, and with a source that is the function's no more. The bystander's VLAN keeps it out of
// reach altogether.
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

constexpr std::uint32_t Piece = 64;

pair_of_functions choose_port(offence who, random_stream& random) {
  pair_of_functions met = choose(who, random);
  met.target = met.target == Bystander ? Victim : met.target;
  return met;
}

/// The datagram leaves its sender as any other; its receiver drops it.
task<> send(hostile h, outcome& o, queue_pair& qp, std::uint16_t port, std::uint32_t qpn,
            std::uint32_t qkey) {
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.opcode = wqe_opcode::Send;
  queue_pair_address to;
  to.qpn = qpn;
  to.qkey = qkey;
  to.mac = h.house.mac(port);
  to.address = h.house.of(port).driver->address();
  request.to = qp.handle_of(to);
  request.add({who.buffer.address, Piece, who.buffer.key});
  const bool posted = co_await qp.post_send(h.core, request);
  o.expect("room in the queue", posted, true);
  completion done;
  co_await who.cq->wait(h.core, std::span(&done, 1));
  o.expect("the syndrome of the CQE", done.syndrome, cqe_syndrome::None);
  o.worked[port] = true;
  co_await settle(h.core);
}

task<> foreign_qp(hostile h, outcome& o, offence who) {
  const auto [offender, port] = choose_port(who, h.random);
  o.offender = offender;
  // Of anybody but the port's function.
  std::uint16_t owner = port;
  while (owner == port) {
    owner = static_cast<std::uint16_t>(h.random.below(Ghost));
  }
  o.count(port, counter::RxSteerOwner);
  co_await send(h, o, *h.house.of(offender).ud, port, any_of(h.random, h.house.of(owner).qpns),
                Qkey);
}

task<> nobodys_qp(hostile h, outcome& o, offence who) {
  const auto [offender, port] = choose_port(who, h.random);
  o.offender = offender;
  o.count(port, counter::RxDropNoQp);
  co_await send(h, o, *h.house.of(offender).ud, port,
                static_cast<std::uint32_t>(h.random.between(0x80, 0xffffff)), Qkey);
}

task<> other_service(hostile h, outcome& o, offence who) {
  const auto [offender, port] = choose_port(who, h.random);
  o.offender = offender;
  const tenant& target = h.house.of(port);
  const std::uint32_t qpn = h.random.chance(1, 2) ? target.rc->qpn() : target.uc->qpn();
  o.count(port, counter::RxDropBadState);
  co_await send(h, o, *h.house.of(offender).ud, port, qpn, Qkey);
}

task<> wrong_qkey(hostile h, outcome& o, offence who) {
  const auto [offender, port] = choose_port(who, h.random);
  o.offender = offender;
  o.count(port, counter::QkeyViolations);
  co_await send(h, o, *h.house.of(offender).ud, port, h.house.of(port).ud->qpn(),
                Qkey + static_cast<std::uint32_t>(h.random.between(1, 0x1000)));
}

/// The address that the QP was made with is not the function's any more.
task<> stale_source(hostile h, outcome& o, offence who) {
  const std::uint16_t port = choose_port(who, h.random).target;
  o.offender = Attacker;
  o.count(Attacker, counter::TxSpoofDrops);
  co_await send(h, o, *h.house.of(Attacker).stale, port, h.house.of(port).ud->qpn(), Qkey);
  o.worked[port] = port == Victim;
}

}  // namespace

void add_loopback_bins(bin_table& to) {
  constexpr const char* Port = "counted for the port that it came to";
  constexpr unsigned Often = 8;
  for (const offence who : {offence::vf_to_vf, offence::vf_to_pf, offence::pf_to_vf}) {
    const auto add = [&](const char* name, task<> (*what)(hostile h, outcome & o, offence who)) {
      to.push_back({"wire address", who, name, Port, Often,
                    [=](hostile h, outcome& o) { return what(h, o, who); }});
    };
    add("looped datagram to a QP of another", foreign_qp);
    add("looped datagram to a QP of nobody", nobodys_qp);
    add("looped datagram to a QP of another service", other_service);
    add("looped datagram with another Q_Key", wrong_qkey);
    if (who != offence::pf_to_vf) {
      to.push_back({"wire address", who, "looped datagram with a stale source",
                    "counted for the offender", Often,
                    [=](hostile h, outcome& o) { return stale_source(h, o, who); }});
    }
  }
}

}  // namespace carillon::isolation
