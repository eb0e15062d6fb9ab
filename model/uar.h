// uar: the user access region. Doorbells and BlueFlame bursts of each page, checked for ownership.
//
// 10 cycles from a write to the doorbell at wqe_fetch: decode, a look at the QP's context (5) and
// the check. Function and UAR page of the write must own the QP; else it is dropped and counted.
// CQ and EQ doorbells reach completion, which knows their owners, after 5. A read is answered 10
// cycles after everything that was written before it has taken effect. rtl/uar/uar.sv is its twin.
#pragma once

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "uar/uar_rules.h"

namespace carillon {

class uar final : public stage {
 public:
  static constexpr const char* Row = "uar";
  using ports = uar_ports;
  using rules = uar_rules;

  uar(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  void evaluate(cycle_t t) override;
  void take_write(cycle_t t);
  void take_line(cycle_t t);
  void answer_read(cycle_t t);
  void look_up(cycle_t t);

  nic_shared& nic_;
  ports ports_;
  rules rules_;
};

}  // namespace carillon
