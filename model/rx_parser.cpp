#include "rx_parser.h"

#include <utility>

namespace carillon {

rx_parser::rx_parser(const sc_core::sc_module_name& name, nic_shared& shared, const ports& io)
    : stage(name, shared.context, Row), io_(io), rules_(shared, site(), io) {
  io_.frames.to(*this, site());
  io_.commits.to(*this, site());
  io_.common_lines.to(*this, site());
  io_.responder_lines.to(*this, site());
  io_.common_reads.from(*this, site());
  io_.responder_reads.from(*this, site());
  io_.requests.from(*this, site());
  io_.responses.from(*this, site());
  if (io_.ends != nullptr) {
    io_.ends->from(*this, site());
  }
  for (auto& [input, blockers] : rules_.waits()) {
    watch(*input, std::move(blockers));
  }
}

void rx_parser::evaluate(cycle_t t) {
  take_inputs(t);
  rules_.settle(t);
  send();
  ask(t);
}

void rx_parser::take_inputs(cycle_t t) {
  if (io_.commits.takeable(t)) {
    io_.commits.take(t);
  }
  if (io_.common_lines.takeable(t)) {
    io_.common_lines.take(t);
  }
  if (io_.responder_lines.takeable(t)) {
    io_.responder_lines.take(t);
  }
  if (io_.frames.takeable(t) && !rules_.full(t)) {
    io_.frames.take(t);
  }
}

void rx_parser::send() {
  const auto all = [](auto& queue, auto& to) {
    while (!queue.empty()) {
      auto [item, pushed] = queue.pop();
      to.push_reserved(pushed, 1, std::move(item));
    }
  };
  all(rules_.common_reads, io_.common_reads);
  all(rules_.responder_reads, io_.responder_reads);
  all(rules_.requests, io_.requests);
  all(rules_.responses, io_.responses);
  if (io_.ends != nullptr) {
    all(rules_.ends, *io_.ends);
  }
}

void rx_parser::ask(cycle_t t) {
  if (rules_.short_of_reads()) {
    io_.common_reads.ask_credit(t);
    io_.responder_reads.ask_credit(t);
  }
  if (stream<rx_packet>* const out = rules_.short_of()) {
    out->ask_credit(t);
  }
  if (rules_.next() != NeverCycle) {
    wake(rules_.next());
  }
}

rx_parser_ends::rx_parser_ends(const sc_core::sc_module_name& name, nic_shared& shared,
                               stream<rx_ended>& ends)
    : stage(name, shared.context, "rx_parser"), ends_(ends) {
  ends_.to(*this, site());
  ends_.keep_private();
  watch(ends_, {});
}

void rx_parser_ends::evaluate(cycle_t t) {
  if (ends_.takeable(t)) {
    ends_.take(t);
  }
}

}  // namespace carillon
