#include "cli/scoreboard.h"

#include <algorithm>
#include <utility>

namespace carillon {

namespace {

reference::operation operation_of(wqe_opcode opcode) {
  switch (opcode) {
    case wqe_opcode::Send:
      return reference::operation::send;
    case wqe_opcode::SendImmediate:
      return reference::operation::send_immediate;
    case wqe_opcode::SendInvalidate:
      return reference::operation::send_invalidate;
    case wqe_opcode::RdmaWrite:
      return reference::operation::write;
    case wqe_opcode::RdmaWriteImmediate:
      return reference::operation::write_immediate;
    case wqe_opcode::RdmaRead:
      return reference::operation::read;
    case wqe_opcode::AtomicCompareSwap:
      return reference::operation::compare_swap;
    case wqe_opcode::AtomicFetchAdd:
      return reference::operation::fetch_add;
    default:
      return reference::operation::local;
  }
}

/// The bytes are gathered at the post: what the program changes later is its own fault.
bool gathers(reference::operation what) {
  return what != reference::operation::read && what != reference::operation::compare_swap &&
         what != reference::operation::fetch_add && what != reference::operation::local;
}

reference::connection_kind kind_of(qpc_service service) {
  switch (service) {
    case qpc_service::Uc:
      return reference::connection_kind::unreliable;
    case qpc_service::Ud:
      return reference::connection_kind::datagram;
    default:
      return reference::connection_kind::reliable;
  }
}

template <class Pieces>
std::vector<reference::range> ranges_of(const Pieces& pieces, std::uint32_t count) {
  std::vector<reference::range> result;
  for (std::uint32_t i = 0; i < count; ++i) {
    result.push_back({pieces[i].address, pieces[i].length});
  }
  return result;
}

}  // namespace

scoreboard::scoreboard(system_model& system)
    : system_(system),
      judge_([this](unsigned host, std::uint64_t address, std::uint8_t* into, std::size_t length) {
        read(host, address, into, length);
      }) {
  paged_.resize(system_.size());
  for (unsigned i = 0; i < system_.size(); ++i) {
    clerks_.push_back(std::make_unique<clerk>(*this, i));
    system_.at(i).observe(clerks_[i].get());
  }
}

scoreboard::~scoreboard() {
  for (unsigned i = 0; i < system_.size(); ++i) {
    system_.at(i).observe(nullptr);
  }
}

void scoreboard::read(unsigned host, std::uint64_t address, std::uint8_t* into,
                      std::size_t length) const {
  const host_memory& memory = system_.at(host).host.memory;
  auto found = paged_[host].upper_bound(address);
  if (found != paged_[host].begin()) {
    --found;
    if (address - found->first < found->second.length) {
      found->second.pages.read(memory, address, into, length);
      return;
    }
  }
  memory.read(address, into, length);
}

reference::queue_key scoreboard::clerk::key_of(const queue_pair& own) const {
  return {host_, own.qpn(), false};
}

unsigned scoreboard::clerk::host_of(std::uint64_t mac) const {
  for (unsigned i = 0; mac != 0 && i < board_.system_.size(); ++i) {
    if (board_.system_.at(i).has_address(mac)) {
      return i;
    }
  }
  return host_;
}

void scoreboard::clerk::on_connect(const queue_pair& own, const queue_pair_address& peer) {
  const auto kind = kind_of(own.service());
  const bool alone = kind == reference::connection_kind::datagram;
  const reference::queue_key other{alone ? host_ : host_of(peer.mac), alone ? own.qpn() : peer.qpn,
                                   false};
  board_.judge_.connect(key_of(own), other, kind);
  if (own.shared_receives() != nullptr) {
    board_.judge_.share(key_of(own), {host_, own.shared_receives()->srqn(), true});
  }
}

void scoreboard::clerk::on_post(const queue_pair& own, const work_request& request) {
  reference::send_work work;
  work.id = request.id;
  work.what = operation_of(request.opcode);
  work.signaled = request.signaled || request.event;
  work.remote_address = request.remote_address;
  work.immediate =
      work.what == reference::operation::send_invalidate ? request.invalidate_key : request.imm;
  work.operand = request.swap_or_add;
  work.compare = request.compare;
  work.to = {host_of(request.to.mac), request.to.qpn, false};
  if (gathers(work.what)) {
    for (std::uint32_t i = 0; i < request.sge_count; ++i) {
      const sge& piece = request.sges[i];
      const std::size_t at = work.data.size();
      work.data.resize(at + piece.length);
      board_.read(host_, piece.address, work.data.data() + at, piece.length);
    }
  } else {
    work.local = ranges_of(request.sges, request.sge_count);
  }
  board_.judge_.posted(key_of(own), std::move(work));
}

void scoreboard::clerk::on_post(const queue_pair& own, const receive_request& request) {
  board_.judge_.posted(
      key_of(own), reference::receive_work{request.id, ranges_of(request.sges, request.sge_count)});
}

void scoreboard::clerk::on_post(const shared_receive_queue& own, const receive_request& request) {
  board_.judge_.posted(
      {host_, own.srqn(), true},
      reference::receive_work{request.id, ranges_of(request.sges, request.sge_count)});
}

void scoreboard::clerk::on_completion(const queue_pair& own, const completion& entry) {
  reference::outcome seen;
  seen.id = entry.id;
  seen.failed = entry.failed();
  seen.bytes = entry.bytes;
  seen.has_immediate = entry.with_imm || entry.with_invalidate;
  seen.immediate = entry.with_invalidate ? entry.invalidated_key : entry.imm;
  seen.source = entry.remote_qpn;
  if (entry.requester()) {
    board_.judge_.send_completed(key_of(own), seen);
  } else {
    board_.judge_.receive_completed(key_of(own), seen);
  }
}

void scoreboard::clerk::on_register(const page_list& pages, std::uint64_t length) {
  board_.paged_[host_][pages.start] = {pages, length};
}

}  // namespace carillon
