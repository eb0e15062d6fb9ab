#include "host/pcie_faults.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace carillon {

namespace {

constexpr std::uint32_t RecordBytes = 4;
constexpr std::uint32_t AtomicBytes = 8;
constexpr std::uint32_t WqeUnit = 16;

/// In [0, 1): the 53 bits that a double holds.
double fraction(random_stream& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

}  // namespace

pcie_faults::pcie_faults(tracer& trace, std::uint64_t seed, std::string name)
    : wqe_fetch_(trace.intern("wqe_fetch")),
      payload_dma_(trace.intern("payload_dma")),
      responder_(trace.intern("responder")),
      completion_(trace.intern("completion")),
      qpc_ram_(trace.intern("qpc_ram")),
      seed_(seed),
      name_(std::move(name)) {}

void pcie_faults::add(const read_fault_rule& rule) {
  const std::string stream = fmt::format("{}.fault{}", name_, rules_.size());
  rules_.push_back({rule, random_stream(seed_, stream)});
}

bool pcie_faults::is(read_kind kind, std::uint32_t bytes, name_id row) const {
  switch (kind) {
    case read_kind::any:
      return true;
    case read_kind::wqe:
      return row == wqe_fetch_ && bytes % WqeUnit == 0;
    case read_kind::payload:
      return row == payload_dma_;
    case read_kind::record:
      return (row == wqe_fetch_ || row == responder_) && bytes == RecordBytes;
    case read_kind::receive_wqe:
      return row == responder_ && bytes % WqeUnit == 0;
    case read_kind::atomic:
      return row == responder_ && bytes == AtomicBytes;
    case read_kind::cq_record:
      return row == completion_;
    case read_kind::context:
      return row == qpc_ram_;
  }
  return false;
}

bool pcie_faults::about(const read_fault_rule& rule, const byte_range& range, name_id row) const {
  const std::uint64_t end = range.address + std::max(range.bytes, 1U) - 1;
  return range.address <= rule.last && end >= rule.first && range.bytes >= rule.min_bytes &&
         range.bytes <= rule.max_bytes && is(rule.kind, range.bytes, row);
}

/// Whether a read that the rule is about is hit.
bool pcie_faults::due(watched& each) {
  const read_fault_rule& rule = each.rule;
  const std::uint64_t number = ++each.seen;
  const std::uint64_t from = std::max<std::uint64_t>(rule.nth, 1);
  if (number < from || each.hits >= rule.count) {
    return false;
  }
  if (rule.every != 0) {
    const std::uint64_t turn = rule.nth != 0 ? number - from : number;
    if (turn % rule.every != 0) {
      return false;
    }
  } else if (rule.nth != 0 && number != rule.nth) {
    return false;
  }
  if (rule.probability < 1 && fraction(each.random) >= rule.probability) {
    return false;
  }
  ++each.hits;
  return true;
}

const read_fault_rule* pcie_faults::pick(const byte_range& range, name_id row) {
  const read_fault_rule* found = nullptr;
  for (watched& each : rules_) {
    // A rule that another one forestalls keeps its hit.
    if (!about(each.rule, range, row)) {
      continue;
    }
    if (found != nullptr) {
      ++each.seen;
    } else if (due(each)) {
      found = &each.rule;
      ++hits_;
    }
  }
  return found;
}

}  // namespace carillon
