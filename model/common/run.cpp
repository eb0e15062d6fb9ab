#include "common/run.h"

#include <systemc>

#include "common/due_process.h"

namespace carillon {

std::exception_ptr& kept_exception() {
  static std::exception_ptr kept;
  return kept;
}

void run_simulation(ps_t end) {
  try {
    // Elaborates, so that the processes are all there.
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    if (!due_process::alone()) {
      if (end == NeverPs) {
        sc_core::sc_start();
      } else {
        sc_core::sc_start(sc_core::sc_time::from_value(end) - sc_core::sc_time_stamp());
      }
      return;
    }
  } catch (const sc_core::sc_report&) {
    const std::exception_ptr kept = std::exchange(kept_exception(), nullptr);
    if (kept != nullptr) {
      std::rethrow_exception(kept);
    }
    throw;
  }
  due_process::run_directly(end);
}

}  // namespace carillon
