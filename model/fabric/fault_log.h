// What the fault injector did in a run, for files and for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/fault_injector.h"

namespace carillon {

class fault_log final : public fault_observer {
 public:
  void on_fault(const fault_record& record) override { records_.push_back(record); }

  /// By time, then direction: the same whatever order things were decided in.
  [[nodiscard]] std::vector<fault_record> records() const;

  /// The numbers of the frames to which that was done, from 1 in each direction: also the numbers
  /// that they have among the packets of the sender's interface in a capture of the whole run.
  [[nodiscard]] std::vector<std::uint64_t> frames(fault_direction direction,
                                                  fault_action action) const;

  /// A JSON object a line.
  [[nodiscard]] std::string json_lines() const;

 private:
  std::vector<fault_record> records_;
};

}  // namespace carillon
