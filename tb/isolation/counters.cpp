#include "tb/isolation/counters.h"

#include <fmt/format.h>

namespace carillon::isolation {

bool counts_work(counter which) {
  switch (which) {
    case counter::PcieRxTlps:
    case counter::ConfigRequests:
    case counter::Doorbells:
    case counter::DoorbellsCoalesced:
    case counter::DbHalfWrites:
    case counter::BfOk:
    case counter::BfBytes:
    case counter::BfExecuted:
    case counter::BfDemoted:
    case counter::WqeFetches:
    case counter::WqeFetchedBytes:
    case counter::WqeParsed:
    case counter::WqeInline:
    case counter::CtxReads:
    case counter::CtxWrites:
    case counter::CtxPortConflicts:
    case counter::TxGrants:
    case counter::TxReadResponses:
    case counter::AcksCoalesced:
    case counter::PayloadReads:
    case counter::PayloadBytes:
    case counter::TxLoopbackPackets:
    case counter::TxLoopbackBytes:
    case counter::TxPackets:
    case counter::TxBytes:
    case counter::RxPackets:
    case counter::RxBytes:
    case counter::RxWriteRequests:
    case counter::RxSendMessages:
    case counter::RxReadRequests:
    case counter::RxAtomicRequests:
    case counter::AcksSent:
    case counter::AcksReceived:
    case counter::Cqes:
    case counter::CqArms:
    case counter::Eqes:
    case counter::MsixSent:
    case counter::DmaReads:
    case counter::DmaReadBytes:
    case counter::DmaWrites:
    case counter::DmaWriteBytes:
    case counter::DmaTagWaits:
    case counter::DmaCreditWaits:
    case counter::Commands:
      return true;
    default:
      return false;
  }
}

counter_watch::counter_watch(tenant_house& house) : house_(house) {
  for (std::uint16_t where = 0; where <= Chip; ++where) {
    for (std::size_t i = 0; i < CounterCount; ++i) {
      before_[where][i] = value(where, i);
    }
  }
}

std::uint64_t counter_watch::value(std::uint16_t where, std::size_t which) const {
  const counter_block& counters = house_.home().adapter.counters();
  return where == Chip ? counters.value(static_cast<counter>(which))
                       : counters.value_for(where, static_cast<counter>(which));
}

std::optional<std::string> counter_watch::wrong(const std::vector<count_move>& expected,
                                                std::array<bool, Functions> worked) {
  std::optional<std::string> found;
  for (const count_move& each : expected) {
    const auto which = static_cast<std::size_t>(each.which);
    before_[each.where][which] += each.by;
    if (each.where != Chip) {
      before_[Chip][which] += each.by;
    }
  }
  for (std::uint16_t where = 0; where <= Chip; ++where) {
    for (std::size_t i = 0; i < CounterCount; ++i) {
      const std::uint64_t now = value(where, i);
      std::uint64_t& before = before_[where][i];
      const bool may = counts_work(static_cast<counter>(i)) && (where == Chip || worked[where]);
      if (now != before && !may && !found) {
        found = fmt::format("{} of {} is {} and should be {}", CounterTable[i].name,
                            where == Chip ? "the chip" : fmt::format("function {}", where), now,
                            before);
      }
      before = now;
    }
  }
  return found;
}

std::uint64_t counter_watch::refusals() const {
  std::uint64_t sum = 0;
  for (std::uint16_t where = 0; where <= Chip; ++where) {
    for (std::size_t i = 0; i < CounterCount; ++i) {
      if (!counts_work(static_cast<counter>(i))) {
        sum += before_[where][i];
      }
    }
  }
  return sum;
}

}  // namespace carillon::isolation
