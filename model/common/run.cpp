#include "common/run.h"

#include <systemc>

#include "common/due_process.h"

namespace carillon {

std::exception_ptr& kept_exception() {
  static std::exception_ptr kept;
  return kept;
}

void run_simulation() {
  try {
    // Elaborates, so that the processes are all there.
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    if (!due_process::alone()) {
      sc_core::sc_start();
      return;
    }
  } catch (const sc_core::sc_report&) {
    const std::exception_ptr kept = std::exchange(kept_exception(), nullptr);
    if (kept != nullptr) {
      std::rethrow_exception(kept);
    }
    throw;
  }
  due_process::run_directly();
}

}  // namespace carillon
