#include "requester/send_window.h"

#include <algorithm>

#include "gen/wire.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr auto Flushed = static_cast<std::uint8_t>(cqe_syndrome::WrFlushed);

}  // namespace

bool outstanding_wqe::atomic() const {
  const auto opcode = static_cast<wqe_opcode>(told.opcode);
  return opcode == wqe_opcode::AtomicCompareSwap || opcode == wqe_opcode::AtomicFetchAdd;
}

bool outstanding_wqe::answered_by_data() const {
  return static_cast<wqe_opcode>(told.opcode) == wqe_opcode::RdmaRead || atomic();
}

void send_window::start(std::uint32_t psn) {
  wqes_.clear();
  settled_ = 0;
  oldest_ = next_ = furthest_ = heard_ = psn;
}

outstanding_wqe& send_window::add(const sent_packet& note, const held_history& history, cycle_t t) {
  const bool begins =
      wqes_.empty() || wqes_.back().whole || wqes_.back().told.wqe_index != note.wqe_index;
  outstanding_wqe& wqe = begins ? wqes_.push({}) : wqes_.back();
  const std::uint8_t syndrome = wqe.told.syndrome;
  const std::uint8_t vendor = wqe.told.vendor_syndrome;
  wqe.told = note;
  if (syndrome != 0) {
    wqe.told.syndrome = syndrome;  // its own; the note only says that nothing more comes
    wqe.told.vendor_syndrome = vendor;
  }
  wqe.told_in = t;
  wqe.history = history;
  wqe.whole = note.last;
  if (begins) {
    wqe.request_psn = note.psn;
  }
  if (note.syndrome == 0 && !note.no_packet) {
    next_ = psn_add(wqe.answered_by_data() ? note.last_psn : note.psn, 1);
    if (psn_distance(oldest_, furthest_) < psn_distance(oldest_, next_)) {
      furthest_ = next_;
    }
  }
  return wqe;
}

outstanding_wqe* send_window::unsettled(std::uint32_t psn) {
  for (std::size_t i = settled_; i < wqes_.size(); ++i) {
    if (wqes_[i].contains(psn)) {
      return &wqes_[i];
    }
  }
  return nullptr;
}

window_step send_window::advance(std::uint32_t end) {
  window_step step;
  step.from = settled_;
  if (psn_distance(oldest_, end) > psn_distance(oldest_, next_)) {
    end = next_;
  }
  for (; settled_ < wqes_.size(); ++settled_) {
    const outstanding_wqe& wqe = wqes_[settled_];
    if (wqe.told.syndrome != 0) {
      if (wqe.fatal || (wqe.told.syndrome == Flushed && wqe.whole)) {
        continue;  // somebody knows already
      }
      break;
    }
    if (wqe.told.no_packet) {
      continue;
    }
    if (wqe.answered_by_data()) {
      // Everything before it has arrived, perhaps a part of its answer.
      const std::uint32_t missing = wqe.contains(oldest_) ? oldest_ : wqe.told.first_psn;
      step.beyond = psn_before(missing, end);
      end = step.beyond ? missing : end;
      break;
    }
    if (!wqe.whole || !psn_before(wqe.told.last_psn, end)) {
      break;
    }
  }
  step.settled = settled_ - step.from;
  if (psn_before(oldest_, end)) {
    oldest_ = end;
    step.advanced = true;
  }
  if (psn_before(heard_, oldest_)) {
    heard_ = oldest_;
  }
  return step;
}

bool send_window::answer() {
  const bool last = oldest_ == head().told.last_psn;
  oldest_ = psn_add(oldest_, 1);
  if (psn_before(heard_, oldest_)) {
    heard_ = oldest_;
  }
  if (last) {
    ++settled_;
  }
  return last;
}

void send_window::hear(std::uint32_t end) {
  if (psn_before(heard_, end)) {
    heard_ = end;
  }
}

void send_window::flush() {
  for (std::size_t i = settled_; i < wqes_.size(); ++i) {
    if (!wqes_[i].fatal) {
      wqes_[i].told.syndrome = Flushed;
      wqes_[i].whole = true;
    }
  }
}

outstanding_wqe send_window::pop() {
  if (settled_ != 0) {
    --settled_;
  }
  return wqes_.pop();
}

response_fault check_response(const outstanding_wqe& wqe, const rx_packet& response) {
  const auto opcode = static_cast<bth_opcode>(response.bth_opcode);
  const bool result = opcode == bth_opcode::RcAtomicAcknowledge;
  if (!wqe.answered_by_data() || wqe.atomic() != result) {
    return response_fault::kind;
  }
  if (result) {
    return response_fault::none;
  }
  // A request may have been sent again for the missing part: its first response is FIRST or ONLY,
  // while one of the request before it, come late, still is MIDDLE or LAST. Both are what was asked
  // for.
  const bool starts = response.psn == wqe.request_psn;
  const bool follows = response.psn != wqe.told.first_psn;
  const bool ends = response.psn == wqe.told.last_psn;
  const bool fits = (opcode == bth_opcode::RcReadResponseFirst && starts && !ends) ||
                    (opcode == bth_opcode::RcReadResponseMiddle && follows && !ends) ||
                    (opcode == bth_opcode::RcReadResponseLast && follows && ends) ||
                    (opcode == bth_opcode::RcReadResponseOnly && starts && ends);
  if (!fits) {
    return response_fault::opcode;
  }
  const std::uint32_t mtu = 128U << wqe.told.mtu_code;
  const std::uint32_t before = psn_distance(wqe.told.first_psn, response.psn) * mtu;
  return response.payload == std::min(mtu, wqe.told.length - before) ? response_fault::none
                                                                     : response_fault::length;
}

}  // namespace carillon
