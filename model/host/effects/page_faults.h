// Pages of memory that is registered but not pinned: the device's first access to one waits until
// the host has made it present; it stays so. Off (not made) with host.pinned.
//
// The host handles host.page_fault_handlers faults at a time, in the order in which they come, for
// host.page_fault_ps each. Accesses go on in the order in which they came.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/context.h"

namespace carillon {

class page_faults {
 public:
  /// `name` is the place on which time is booked, "<host>.page_fault".
  page_faults(sim_context& context, const std::string& name);

  /// Registered without being pinned: no page of it has been touched by the device yet, unless
  /// somebody has registered it before.
  void registered(std::uint64_t address, std::uint64_t length);

  /// An access that comes at `when`, within one page: when it goes on, with the page present.
  ps_t access(std::uint64_t address, ps_t when, name_id row, trace_ref& history);

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  ps_t present(std::uint64_t address, ps_t when, trace_site site, trace_ref& history);

  sim_context& context_;
  const name_id place_;
  const name_id handler_reason_;
  const name_id pending_reason_;
  const name_id order_reason_;
  const unsigned page_bits_;
  std::unordered_map<std::uint64_t, ps_t> pages_;  ///< present from then on
  std::vector<ps_t> handlers_;                     ///< when each is free
  ps_t last_ = 0;                                  ///< when the last access went on
  std::uint64_t count_ = 0;
};

}  // namespace carillon
