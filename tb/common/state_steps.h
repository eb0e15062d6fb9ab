// A queue pair's way through its states on the peer bench, and what came of it.
#pragma once

#include <cstdint>
#include <vector>

#include "tb/common/peer_bench.h"

namespace carillon::bench::states {

inline constexpr std::uint64_t LongNs = 50000;

/// MTU 1024, no ACK timer, the same first PSN in every life.
inline peer_bench::options plain(qpc_service service = qpc_service::Rc) {
  peer_bench::options wanted;
  wanted.qp.service = service;
  wanted.connection.mtu = mtu_code::Mtu1024;
  wanted.connection.ack_timeout = 0;
  wanted.connection.psn = OwnPsn;
  return wanted;
}

/// Where it is connected to.
inline queue_pair_address peer(std::uint32_t qpn = PeerQpn, std::uint32_t psn = PeerPsn) {
  queue_pair_address result;
  result.qpn = qpn;
  result.psn = psn;
  result.mac = PeerMac;
  result.address = gid_of_ipv4(0x0a000002);
  result.qkey = 0x11111111;
  return result;
}

/// From RESET up to that state.
inline task<> bring_up(cpu& core, queue_pair& qp, qpc_state to,
                       const connection_options& how = plain().connection) {
  const queue_pair_address whom = peer();
  if (to >= qpc_state::Init) {
    co_await qp.to_init(core, how);
  }
  if (to >= qpc_state::Rtr) {
    co_await qp.to_rtr(core, whom, how);
  }
  if (to >= qpc_state::Rts) {
    co_await qp.to_rts(core, how);
  }
}

/// The bench with a queue pair that was never anything but RESET.
inline task<> connect_fresh(peer_bench& b, cpu& core, const peer_bench::options& wanted) {
  co_await b.connect(core, wanted);
  b.qp = co_await queue_pair::create(b.driver, core, b.pd, *b.uar, *b.send_cq, *b.receive_cq,
                                     wanted.qp);
}

/// All completions that there are.
inline task<> collect(peer_bench& b, cpu& core) {
  completion one;
  while (co_await b.send_cq->poll(core, std::span(&one, 1)) != 0) {
    b.sends.push_back(one);
  }
  while (co_await b.receive_cq->poll(core, std::span(&one, 1)) != 0) {
    b.receives.push_back(one);
  }
}

using numbers = std::vector<unsigned>;

inline numbers psns(const peer_bench& b) {
  numbers result;
  for (const seen_packet& each : b.packets) {
    result.push_back(each.psn());
  }
  return result;
}

inline numbers syndromes(const std::vector<completion>& of) {
  numbers result;
  for (const completion& each : of) {
    result.push_back(static_cast<unsigned>(each.syndrome));
  }
  return result;
}

inline numbers ids(const std::vector<completion>& of) {
  numbers result;
  for (const completion& each : of) {
    result.push_back(static_cast<unsigned>(each.id));
  }
  return result;
}

inline work_request send_of(peer_bench& b, unsigned id, std::uint32_t bytes = 8) {
  work_request what = b.request(wqe_opcode::Send, bytes);
  what.id = id;
  if (b.qp->service() == qpc_service::Ud) {
    what.to = b.qp->handle_of(peer());
  }
  return what;
}

/// A message of 1920 packets of 1 KiB: some 40 us on the wire.
inline constexpr unsigned LongPackets = 1920;

inline work_request long_send(peer_bench& b, unsigned id) {
  work_request what = send_of(b, id, 0);
  for (unsigned i = 0; i < 30; ++i) {
    what.add({b.buffer.address, 65536, b.buffer.key});
  }
  return what;
}

}  // namespace carillon::bench::states
