// The RTL in the model's place: takes from the input streams when the block's ready says so, and
// hands its output items to the output streams with the cycle in which they became visible in the
// block's own FIFO. Waits, histories and reservations follow from the stage's rules, which the
// model uses too, so the traces are the same.
#pragma once

#include <memory>

#include "common/stage.h"
#include "cosim/twin_driver.h"

namespace carillon {

class rtl_adapter final : public twin_driver {
 public:
  rtl_adapter(rtl_domain& domain, twin_request&& request);

  void transfer(cycle_t t) override;
  void finish() override;

 private:
  void before_edge(cycle_t t) override;
  void after_edge(cycle_t t) override;

  std::unique_ptr<twin_rules> rules_;
  port_monitor monitor_;
};

}  // namespace carillon
