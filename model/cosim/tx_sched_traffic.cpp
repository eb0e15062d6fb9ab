#include "cosim/tx_sched_traffic.h"

#include <algorithm>

#include "common/psn.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr std::size_t Queues = 20;
constexpr std::uint32_t QpnStep = 0x81;
constexpr std::uint8_t Rc = 0;
constexpr std::uint8_t Uc = 1;
constexpr std::uint8_t Ud = 2;
constexpr std::uint32_t MaxInline = 900;
constexpr unsigned Priorities = 4;

}  // namespace

tx_sched_traffic::tx_sched_traffic(buffer_pool& buffers, std::uint64_t seed, coverage& cover)
    : buffers_(buffers),
      random_(seed, "tx_sched_traffic"),
      cover_(cover),
      queues_(Queues),
      ports_(Functions) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    queue& each = queues_[i];
    each.function = static_cast<std::uint16_t>(random_.below(Functions));
    each.service = random_.chance(2, 3) ? Rc : random_.chance(1, 2) ? Uc : Ud;
    each.mtu_code = static_cast<std::uint8_t>(1 + random_.below(5));
  }
  for (vport& each : ports_) {
    each.enabled = true;
  }
}

void tx_sched_traffic::register_queues(posted_work& posted) {
  constexpr unsigned LogSize = 10;
  for (std::uint32_t i = 1; i <= Queues; ++i) {
    posted.register_sq(i * QpnStep, LogSize);
  }
}

std::uint32_t tx_sched_traffic::number_of(std::size_t at) {
  return static_cast<std::uint32_t>(at + 1) * QpnStep;
}

std::uint32_t tx_sched_traffic::number_of(const queue& of) const {
  return number_of(static_cast<std::size_t>(&of - queues_.data()));
}

std::uint32_t tx_sched_traffic::length_of() {
  switch (random_.below(5)) {
    case 0:
      return 0;
    case 1:
      return 1 + static_cast<std::uint32_t>(random_.below(64));
    case 2:
      return 4096;
    case 3:
      return 1 + static_cast<std::uint32_t>(random_.below(20000));
    default:
      return 256U << random_.below(6);
  }
}

std::optional<work_item> tx_sched_traffic::make_work() {
  queue& from = any();
  if (from.going_back || (from.state == life::reset && !random_.chance(1, 16))) {
    return std::nullopt;
  }
  work_item work;
  work.function = from.function;
  work.qpn = number_of(from);
  work.wqe_index = from.index;
  work.wqebbs = static_cast<std::uint8_t>(1 + random_.below(4));
  work.epoch = from.epoch;
  work.service = from.service;
  work.mtu_code = from.service == Ud && random_.chance(1, 2) ? 0 : from.mtu_code;
  work.fm_ce_se = static_cast<std::uint8_t>(random_.below(32));
  if (random_.chance(1, 4)) {
    work.fm_ce_se = static_cast<std::uint8_t>(work.fm_ce_se | random_.below(5) << 5);
  }
  work.imm = static_cast<std::uint32_t>(random_.next());
  work.rkey = static_cast<std::uint32_t>(random_.next());
  work.remote_address = random_.next();
  work.send_cqn = static_cast<std::uint32_t>(random_.below(4096));
  work.paged = random_.chance(1, 4);
  work.length = std::max(from.least, length_of());
  wqe_opcode opcode{};
  if (from.service == Ud) {
    opcode = random_.chance(1, 2) ? wqe_opcode::Send : wqe_opcode::SendImmediate;
    work.length = random_.chance(1, 16) ? 5000 : work.length % 4096;
  } else {
    constexpr wqe_opcode Messages[] = {wqe_opcode::Send, wqe_opcode::SendImmediate,
                                       wqe_opcode::RdmaWrite, wqe_opcode::RdmaWriteImmediate};
    opcode = Messages[random_.below(4)];
    if (from.service == Rc && random_.chance(1, 4)) {
      opcode = wqe_opcode::RdmaRead;
    } else if (from.service == Rc && from.least == 0 && random_.chance(1, 8)) {
      opcode = random_.chance(1, 2) ? wqe_opcode::AtomicCompareSwap : wqe_opcode::AtomicFetchAdd;
      work.length = 8;
    } else if (from.service == Rc && random_.chance(1, 12)) {
      opcode = wqe_opcode::SendInvalidate;
    } else if (from.least == 0 && random_.chance(1, 16)) {
      opcode = random_.chance(1, 2) ? wqe_opcode::Nop : wqe_opcode::LocalInvalidate;
      work.length = 0;
    }
  }
  work.opcode = static_cast<std::uint8_t>(opcode);
  const bool message = opcode != wqe_opcode::RdmaRead && opcode != wqe_opcode::Nop &&
                       opcode != wqe_opcode::AtomicCompareSwap &&
                       opcode != wqe_opcode::AtomicFetchAdd &&
                       opcode != wqe_opcode::LocalInvalidate;
  work.is_inline = message && work.length <= MaxInline && random_.chance(1, 2);
  work.sge_count =
      work.is_inline || work.length == 0
          ? std::uint8_t{0}
          : static_cast<std::uint8_t>(1 + random_.below(random_.chance(1, 8) ? 30 : 3));
  work.swap_add = random_.next();
  work.compare = random_.next();
  if (random_.chance(1, 64)) {
    work.syndrome = static_cast<std::uint8_t>(random_.chance(1, 2) ? cqe_syndrome::LocalProtection
                                                                   : cqe_syndrome::WrFlushed);
  }
  if (random_.chance(1, 128)) {
    work.drop = true;
    work.length = 0;
    work.sge_count = 0;
    work.is_inline = false;
  }
  if (random_.chance(1, 64)) {
    work.epoch = static_cast<std::uint8_t>(work.epoch - 1);
  } else if (!work.drop) {
    from.index = static_cast<std::uint16_t>(from.index + work.wqebbs);
    from.least = 0;
  }
  if (work.body_bytes() != 0) {
    work.body = buffers_.take();
    for (std::uint32_t i = 0; i < work.body_bytes(); ++i) {
      work.body.data()[i] = static_cast<std::uint8_t>(random_.next());
    }
  }
  see(from, work);
  return work;
}

void tx_sched_traffic::see(const queue& from, const work_item& work) {
  switch (static_cast<wqe_opcode>(work.opcode)) {
    case wqe_opcode::RdmaRead:
      cover_.hit("work.read");
      break;
    case wqe_opcode::AtomicCompareSwap:
    case wqe_opcode::AtomicFetchAdd:
      cover_.hit("work.atomic");
      break;
    case wqe_opcode::LocalInvalidate:
      cover_.hit("work.invalidate");
      break;
    case wqe_opcode::Nop:
      cover_.hit("work.nop");
      break;
    default:
      cover_.hit(work.is_inline     ? "work.inline"
                 : work.length == 0 ? "work.empty"
                                    : "work.gathered");
      cover_.hit_if(work.service == Ud, "work.datagram");
      cover_.hit_if(work.service == Ud && work.length > 4096, "work.too_long");
      break;
  }
  cover_.hit_if(work.syndrome != 0, "work.refused");
  cover_.hit_if(work.drop, "work.dropped");
  cover_.hit_if(work.epoch != from.epoch, "work.stale");
  cover_.hit_if(from.state == life::reset, "work.of_no_life");
}

std::optional<response_item> tx_sched_traffic::make_response() {
  queue& from = any();
  if (responses_ > 100 || from.service != Rc) {
    return std::nullopt;
  }
  response_item item;
  item.function = from.function;
  item.qpn = number_of(from);
  item.psn = static_cast<std::uint32_t>(random_.below(0x1000000));
  item.msn = static_cast<std::uint32_t>(random_.below(0x1000000));
  item.generation = static_cast<std::uint8_t>(random_.next());
  item.syndrome = static_cast<std::uint8_t>(random_.chance(3, 4) ? 0x1f : 0x60 | random_.below(4));
  if (random_.chance(1, 3)) {
    item.kind = response_kind::read;
    item.saved = random_.chance(1, 2);
    item.address = random_.next();
    item.rkey = static_cast<std::uint32_t>(random_.next());
    item.length = length_of();
    item.mtu_code = from.mtu_code;
    item.paged = random_.chance(1, 2);
    item.writes_before = ++counter_;
  } else if (random_.chance(1, 4)) {
    item.kind = response_kind::atomic;
    item.saved = random_.chance(1, 2);
    item.atomic_result = random_.next();
  }
  ++responses_;
  cover_.hit(item.kind == response_kind::read     ? "response.read"
             : item.kind == response_kind::atomic ? "response.atomic"
             : item.syndrome == 0x1f              ? "response.acknowledge"
                                                  : "response.refusal");
  cover_.hit_if(item.saved, "response.saved");
  return item;
}

void tx_sched_traffic::catch_up(cycle_t t) {
  while (!told_.empty() && told_.front().cycle < t) {
    see(told_.pop().what);
  }
  while (!gone_back_.empty() && gone_back_.front().cycle < t) {
    see(gone_back_.pop().what);
  }
  while (!answered_.empty() && answered_.front() < t) {
    answered_.pop();
    responses_ -= std::min(responses_, 1U);
  }
}

tx_sched_traffic::queue& tx_sched_traffic::stuck() {
  const auto found = std::find_if(queues_.begin(), queues_.end(), [](const queue& each) {
    return each.state == life::error || (each.failed && each.service != Rc);
  });
  return found == queues_.end() ? any() : *found;
}

qp_command tx_sched_traffic::make_command() {
  queue& of = more_commands() ? queues_[started_] : random_.chance(1, 2) ? stuck() : any();
  qp_command item;
  item.qpn = number_of(of);
  item.service = of.service;
  item.ipv6 = random_.chance(1, 2);
  item.tagged = random_.chance(1, 2);
  item.priority = static_cast<std::uint8_t>(random_.below(Priorities));
  item.send_psn = static_cast<std::uint32_t>(random_.chance(1, 4) ? 0xfffff0 + random_.below(16)
                                                                  : random_.below(0x1000000));
  qpc_requester line;
  line.log_sra_max = static_cast<std::uint8_t>(random_.below(3));
  line.pack(item.requester.data());
  qp_state state = qp_state::Rts;
  if (more_commands()) {
    ++started_;
  } else if (of.state == life::reset) {
    state = random_.chance(1, 2) ? qp_state::Rtr : qp_state::Rts;
  } else {
    switch (random_.below(6)) {
      case 0:
        state = qp_state::Reset;
        break;
      case 1:
        state = random_.chance(1, 2) ? qp_state::Err : qp_state::Reset;
        break;
      case 2:
      case 3:
        state = of.state == life::sqd ? qp_state::Rts : qp_state::Sqd;
        break;
      default:
        state = qp_state::Rts;
        break;
    }
  }
  item.state = static_cast<std::uint8_t>(state);
  switch (state) {
    case qp_state::Reset:
      reset(of);
      break;
    case qp_state::Rts:
      if (of.state == life::reset) {
        of.psn = item.send_psn;
        of.acked = item.send_psn;
      }
      of.state = of.state == life::error && of.service == Rc ? life::error : life::rts;
      of.failed = of.failed && of.service == Rc;
      break;
    case qp_state::Sqd:
      of.state = life::sqd;
      break;
    case qp_state::Err:
      of.state = life::error;
      break;
    default:
      break;
  }
  cover_.hit(state == qp_state::Reset ? "command.reset"
             : state == qp_state::Rts ? "command.rts"
             : state == qp_state::Rtr ? "command.rtr"
             : state == qp_state::Sqd ? "command.sqd"
                                      : "command.error");
  return item;
}

void tx_sched_traffic::reset(queue& of) {
  of.state = life::reset;
  of.epoch = first_epoch(++of.resets);
  of.next_epoch = of.epoch;
  of.going_back = false;
  of.halted = false;
  of.failed = false;
  of.index = 0;
  of.least = 0;
}

std::optional<qp_command> tx_sched_traffic::make_end() {
  if (ended_ == queues_.size()) {
    return std::nullopt;
  }
  queue& of = queues_[ended_++];
  qp_command item;
  item.qpn = number_of(of);
  item.service = of.service;
  item.state = static_cast<std::uint8_t>(qp_state::Reset);
  reset(of);
  return item;
}

std::optional<send_control> tx_sched_traffic::make_control() {
  queue& of = any();
  if (of.state == life::reset) {
    return std::nullopt;
  }
  send_control item;
  item.qpn = number_of(of);
  item.epoch = of.next_epoch;
  if (of.service != Rc) {
    if (!random_.chance(1, 64)) {
      return std::nullopt;
    }
    item.kind = send_control_kind::error;
    cover_.hit("control.error");
    return item;
  }
  const std::uint32_t sent = psn_distance(of.acked, of.psn);
  item.psn = psn_add(of.acked, static_cast<std::uint32_t>(random_.below(sent + 1)));
  if ((of.going_back && !of.halted) || !random_.chance(1, of.halted || of.failed ? 2 : 24)) {
    item.kind = send_control_kind::progress;
    item.reads_done = static_cast<std::uint8_t>(random_.below(3));
    of.acked = item.psn;
    cover_.hit_if(!of.going_back, "control.progress");
    return of.going_back ? std::nullopt : std::optional(item);
  }
  item.epoch = ++of.next_epoch;
  if (!of.halted && random_.chance(1, 4)) {
    item.kind = send_control_kind::halt;
    of.halted = true;
    of.going_back = true;
    cover_.hit("control.halt");
    return item;
  }
  if (!of.halted && random_.chance(1, 32)) {
    item.kind = send_control_kind::error;
    --of.next_epoch;
    item.epoch = of.next_epoch;
    cover_.hit("control.error");
    return item;
  }
  of.halted = false;
  of.failed = false;
  of.going_back = true;
  item.kind = send_control_kind::restart;
  item.skip = random_.chance(1, 2) ? 0 : static_cast<std::uint32_t>(random_.below(3));
  item.wqe_index = static_cast<std::uint16_t>(of.index - random_.below(8));
  of.acked = item.psn;
  of.psn = item.psn;
  of.least = item.skip * (128U << of.mtu_code) + 1;
  if (item.skip == 0) {
    of.least = 0;
  }
  cover_.hit(item.skip == 0 ? "control.restart" : "control.restart_inside");
  return item;
}

void tx_sched_traffic::see(const refetch& item) {
  queue& of = queues_[item.qpn / QpnStep - 1];
  if (of.going_back && item.epoch == of.next_epoch) {
    of.going_back = false;
    of.epoch = item.epoch;
    of.index = item.wqe_index;
  }
}

void tx_sched_traffic::see(const sent_packet& note) {
  queue& of = queues_[note.qpn / QpnStep - 1];
  of.failed = of.failed || (note.syndrome != 0 && note.epoch == of.next_epoch);
  if (!note.drain_mark && !note.no_packet && note.syndrome == 0 && note.epoch == of.next_epoch) {
    of.psn = note.opcode == static_cast<std::uint8_t>(wqe_opcode::RdmaRead)
                 ? psn_add(note.last_psn, 1)
                 : psn_add(note.psn, 1);
  }
}

/// Priorities that get no grants; often none.
std::uint8_t tx_sched_traffic::make_pause() {
  if (random_.chance(1, 2)) {
    return 0;
  }
  const auto some = static_cast<std::uint8_t>(random_.below(1U << Priorities));
  cover_.hit_if(some != 0, "pause.some");
  cover_.hit_if(some == (1U << Priorities) - 1, "pause.all");
  return some;
}

vport_table tx_sched_traffic::make_ports() {
  vport& one = ports_[random_.below(ports_.size())];
  switch (random_.below(5)) {
    case 0:
      one.enabled = !one.enabled;
      break;
    case 1:
      one.weight = static_cast<std::uint16_t>(1 + random_.below(4));
      break;
    case 2:
      one.urgency = static_cast<std::uint8_t>(random_.below(3));
      break;
    case 3:
      one.max_rate_mbps =
          random_.chance(1, 3) ? 0 : static_cast<std::uint32_t>(1000 + random_.below(100000));
      break;
    default:
      one.vlan = one.vlan ? std::optional<std::uint16_t>() : std::uint16_t{7};
      one.priority = static_cast<std::uint8_t>(random_.below(Priorities));
      break;
  }
  constexpr vport_arbitration How[] = {vport_arbitration::round_robin, vport_arbitration::weighted,
                                       vport_arbitration::strict};
  const vport_arbitration how = How[random_.below(64) == 0 ? random_.below(3) : counter_ / 64 % 3];
  cover_.hit(how == vport_arbitration::strict     ? "vports.strict"
             : how == vport_arbitration::weighted ? "vports.weighted"
                                                  : "vports.round_robin");
  cover_.hit_if(!one.enabled, "vports.down");
  cover_.hit_if(one.max_rate_mbps != 0, "vports.rate");
  return vport_table(ports_, how);
}

}  // namespace carillon
