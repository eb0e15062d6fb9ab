// dcqcn: the rate of each QP. Takes slices (what happened to a QP's rate, and when) and tells what
// became of it. rtl/dcqcn/dcqcn.sv is its twin.
//
// A slice waits in a slot at the input while one of the same QP is on its way, since that has not
// written its QP yet. A Setup waits for all before it, and all behind it for the Setup.
#pragma once

#include <array>
#include <vector>

#include "common/nic_shared.h"
#include "common/rate_items.h"
#include "common/stage.h"
#include "common/twin.h"
#include "dcqcn/rate_engine.h"

namespace carillon {

struct dcqcn_ports {
  stream<rate_slice_item>& slices;
  stream<rate_update_item>& rates;

  [[nodiscard]] std::vector<stream_base*> all() const { return {&slices, &rates}; }
};

class dcqcn_rules final : public twin_rules, private stream_tap<rate_slice_item> {
 public:
  /// The RTL's.
  dcqcn_rules(nic_shared& nic, trace_site site, const dcqcn_ports& io)
      : dcqcn_rules(nic, site, io, true) {}

  dcqcn_rules(nic_shared& nic, trace_site site, const dcqcn_ports& io, bool rtl);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  /// The slice taken last still stands in the slot in cycle t, and will in the next.
  [[nodiscard]] bool held(cycle_t t) const { return issued_ > t; }

  /// When the slice taken last leaves the slot.
  [[nodiscard]] cycle_t issued() const { return issued_; }

 private:
  /// A slice that has left the slot.
  struct issue {
    cycle_t at = 0;
    std::uint16_t slot = 0;
    bool setup = true;
  };

  void on_take(cycle_t t, const rate_slice_item& slice) override;

  dcqcn_ports io_;
  bool rtl_;
  cycle_t issued_ = 0;
  std::array<issue, 4> recent_{};  ///< as many as may not have written
  unsigned next_ = 0;
};

class dcqcn final : public stage {
 public:
  static constexpr const char* Row = "dcqcn";
  using ports = dcqcn_ports;
  using rules = dcqcn_rules;

  dcqcn(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  void evaluate(cycle_t t) override;

  ports ports_;
  rules rules_;
  rate_engine engine_;
};

}  // namespace carillon
