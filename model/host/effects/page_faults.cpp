#include "host/effects/page_faults.h"

#include <algorithm>
#include <bit>

namespace carillon {

page_faults::page_faults(sim_context& context, const std::string& name)
    : context_(context),
      place_(context.trace.intern(name)),
      handler_reason_(context.trace.intern("fault_handler")),
      pending_reason_(context.trace.intern("page_fault")),
      order_reason_(context.trace.intern("page_fault_order")),
      page_bits_(static_cast<unsigned>(
          std::countr_zero(static_cast<std::uint64_t>(context.params.host.page_bytes)))),
      handlers_(static_cast<std::size_t>(context.params.host.page_fault_handlers)) {}

void page_faults::registered(std::uint64_t address, std::uint64_t length) {
  if (length == 0) {
    return;
  }
  const std::uint64_t last = (address + length - 1) >> page_bits_;
  for (std::uint64_t page = address >> page_bits_; page <= last; ++page) {
    pages_.try_emplace(page, NeverPs);
  }
}

ps_t page_faults::access(std::uint64_t address, ps_t when, name_id row, trace_ref& history) {
  const trace_site site{place_, row};
  const ps_t known = present(address, when, site, history);
  const ps_t leaves = std::max(known, last_);
  last_ = leaves;
  history = context_.trace.wait(history, site, order_reason_, known, leaves);
  return leaves;
}

ps_t page_faults::present(std::uint64_t address, ps_t when, trace_site site, trace_ref& history) {
  const auto found = pages_.find(address >> page_bits_);
  if (found == pages_.end()) {
    return when;  // pinned by whoever has it, as queues are
  }
  ps_t& from = found->second;
  if (from != NeverPs) {
    const ps_t known = std::max(when, from);
    history = context_.trace.wait(history, site, pending_reason_, when, known);
    return known;
  }
  ++count_;
  ps_t& handler = *std::min_element(handlers_.begin(), handlers_.end());
  const ps_t begin = std::max(when, handler);
  from = begin + static_cast<ps_t>(context_.params.host.page_fault_ps);
  handler = from;
  history = context_.trace.wait(history, site, handler_reason_, when, begin);
  history = context_.trace.service(history, site, begin, from);
  return from;
}

}  // namespace carillon
