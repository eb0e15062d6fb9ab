// Memory keys: a work request that names a key of another function, or of another protection
// domain, as its own memory (lkey) or as its peer's (rkey). The peer is the same function's, by
// loopback, so that nobody but the offender can be at fault.
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

constexpr std::uint32_t Piece = 64;

/// A key that the offender's QPs may not use, and whether its line is beyond the partition.
struct wrong_key {
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  bool beyond = false;
};

wrong_key choose_key(hostile h, offence who, outcome& o) {
  const auto [offender, target] = choose(who, h.random);
  o.offender = offender;
  if (who != offence::own) {
    const tenant& other = h.house.of(target);
    const bool paged = h.random.chance(1, 2);
    const memory_region& region = paged ? other.paged : other.buffer;
    return {region.key, region.address + h.random.below(16) * Piece, offender != Pf};
  }
  const tenant& own = h.house.of(offender);
  const std::uint64_t address = own.buffer.address + h.random.below(16) * Piece;
  switch (h.random.below(3)) {
    case 0:
      return {own.foreign.key, address, false};
    case 1:
      return {own.buffer.key ^ (1U << h.random.below(MkeyVariantBits)), address, false};
    default:
      return {static_cast<std::uint32_t>(h.random.between(0x80, 0xffffff)) << MkeyVariantBits,
              address, true};
  }
}

void count_key(outcome& o, const wrong_key& key) {
  if (key.beyond && o.offender != Pf) {
    o.count(o.offender, counter::CtxPartitionDenied);
  }
}

task<completion> next(hostile h, tenant& who) {
  completion one;
  co_await who.cq->wait(h.core, std::span(&one, 1));
  co_return one;
}

task<> post(hostile h, outcome& o, queue_pair& qp, work_request request) {
  const bool posted = co_await qp.post_send(h.core, request);
  o.expect("room in the queue", posted, true);
}

/// What a failed WQE costs: its CQE is one with an error.
task<> failed(hostile h, outcome& o, tenant& who, cqe_syndrome why) {
  const completion done = co_await next(h, who);
  o.expect("the syndrome of the CQE", done.syndrome, why);
  o.count(o.offender, counter::CqeErrors);
}

/// From the error state to RTS again, both ends.
task<> reconnect(hostile h, tenant& who) {
  co_await who.rc->to_reset(h.core);
  co_await who.rc_peer->to_reset(h.core);
  co_await tenant_house::connect(h.core, *who.rc, *who.rc_peer);
}

// lkey

task<> lkey_of_datagram(hostile h, outcome& o, offence whose) {
  const wrong_key key = choose_key(h, whose, o);
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.opcode = wqe_opcode::Send;
  request.to = who.ud->handle_of(who.ud->address());
  request.add({key.address, Piece, key.key});
  co_await post(h, o, *who.ud, request);
  count_key(o, key);
  co_await failed(h, o, who, cqe_syndrome::LocalProtection);
  o.count(o.offender, counter::LocalProtectionErrors);
  co_await who.ud->sqer_to_rts(h.core);
  co_await settle(h.core);
}

task<> lkey_of_write(hostile h, outcome& o, offence whose) {
  const wrong_key key = choose_key(h, whose, o);
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.remote_address = who.buffer.address;
  request.rkey = who.buffer.key;
  request.add({key.address, Piece, key.key});
  co_await post(h, o, *who.uc, request);
  count_key(o, key);
  co_await failed(h, o, who, cqe_syndrome::LocalProtection);
  o.count(o.offender, counter::LocalProtectionErrors);
  co_await who.uc->sqer_to_rts(h.core);
  co_await settle(h.core);
}

task<> local_invalidation(hostile h, outcome& o, offence whose) {
  const wrong_key key = choose_key(h, whose, o);
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.opcode = wqe_opcode::LocalInvalidate;
  request.invalidate_key = key.key;
  co_await post(h, o, *who.rc, request);
  count_key(o, key);
  co_await failed(h, o, who, cqe_syndrome::LocalProtection);
  o.count(o.offender, counter::LocalProtectionErrors);
  co_await settle(h.core);
  co_await reconnect(h, who);
  co_await settle(h.core);
}

// rkey

/// Nobody answers on UC: the write is dropped where it comes to.
task<> rkey_of_write(hostile h, outcome& o, offence whose) {
  const wrong_key key = choose_key(h, whose, o);
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.remote_address = key.address;
  request.rkey = key.key;
  request.add({who.buffer.address, Piece, who.buffer.key});
  co_await post(h, o, *who.uc, request);
  const completion done = co_await next(h, who);
  o.expect("the syndrome of the CQE", done.syndrome, cqe_syndrome::None);
  count_key(o, key);
  o.count(o.offender, counter::RespRemoteAccessErrors);
  o.count(o.offender, counter::UcMessagesDropped);
  co_await settle(h.core);
}

task<> expect_event(hostile h, outcome& o, tenant& who) {
  event one;
  const unsigned count = co_await who.events->poll(h.core, std::span(&one, 1));
  o.expect("the number of events", count, 1U);
  o.expect("the event", one.kind, event_type::WqAccessError);
  o.expect("the QP of the event", one.number, who.rc_peer->qpn());
}

/// RC: the peer refuses with a NAK, both ends fail, and each hears of it.
task<> rkey_reliable(hostile h, outcome& o, offence whose, wqe_opcode opcode) {
  const wrong_key key = choose_key(h, whose, o);
  tenant& who = h.house.of(o.offender);
  work_request request;
  request.opcode = opcode;
  request.remote_address = key.address;
  request.rkey = key.key;
  const bool atomic = opcode == wqe_opcode::AtomicFetchAdd;
  request.add({who.buffer.address, atomic ? 8 : Piece, who.buffer.key});
  co_await post(h, o, *who.rc, request);
  count_key(o, key);
  co_await failed(h, o, who, cqe_syndrome::RemoteAccess);
  o.count(o.offender, counter::RespRemoteAccessErrors);
  o.count(o.offender, counter::NakRemoteAccessSent);
  o.count(o.offender, counter::ReqRemoteAccessErrors);
  co_await settle(h.core);
  co_await expect_event(h, o, who);
  co_await reconnect(h, who);
  co_await settle(h.core);
}

}  // namespace

void add_key_bins(bin_table& to) {
  constexpr const char* Cqe = "CQE with LocalProtection, counted for the offender";
  constexpr const char* Drop = "counted for the offender";
  constexpr const char* Nak = "NAK, CQE with RemoteAccess, event WqAccessError";
  constexpr unsigned Often = 6;
  for (const offence who :
       {offence::vf_to_vf, offence::vf_to_pf, offence::pf_to_vf, offence::own}) {
    to.push_back({"key", who, "lkey of a datagram", Cqe, Often,
                  [=](hostile h, outcome& o) { return lkey_of_datagram(h, o, who); }});
    to.push_back({"key", who, "lkey of a WRITE", Cqe, Often,
                  [=](hostile h, outcome& o) { return lkey_of_write(h, o, who); }});
    to.push_back({"key", who, "local invalidation", Cqe, 0,
                  [=](hostile h, outcome& o) { return local_invalidation(h, o, who); }});
    to.push_back({"key", who, "rkey of a UC WRITE", Drop, Often,
                  [=](hostile h, outcome& o) { return rkey_of_write(h, o, who); }});
    for (const wqe_opcode opcode :
         {wqe_opcode::RdmaWrite, wqe_opcode::RdmaRead, wqe_opcode::AtomicFetchAdd}) {
      const char* name = opcode == wqe_opcode::RdmaWrite  ? "rkey of an RC WRITE"
                         : opcode == wqe_opcode::RdmaRead ? "rkey of a READ"
                                                          : "rkey of an atomic";
      to.push_back({"key", who, name, Nak, 0,
                    [=](hostile h, outcome& o) { return rkey_reliable(h, o, who, opcode); }});
    }
  }
}

}  // namespace carillon::isolation
