// The rate machine over a memory of QPs: what dcqcn computes, slice by slice.
#pragma once

#include <cstddef>
#include <vector>

#include "common/rate_items.h"
#include "dcqcn/rate_machine.h"

namespace carillon {

class rate_engine {
 public:
  explicit rate_engine(std::size_t contexts);

  rate_update_item serve(const rate_slice_item& slice);

  [[nodiscard]] const rate_state& qp(std::size_t slot) const { return qps_[slot]; }

  [[nodiscard]] const dcqcn_settings& settings() const { return machine_.settings(); }

 private:
  rate_machine machine_;
  std::vector<rate_state> qps_;
};

}  // namespace carillon
