#include "common/run.h"

#include <systemc>

namespace carillon {

std::exception_ptr& kept_exception() {
  static std::exception_ptr kept;
  return kept;
}

void run_simulation() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report&) {
    const std::exception_ptr kept = std::exchange(kept_exception(), nullptr);
    if (kept != nullptr) {
      std::rethrow_exception(kept);
    }
    throw;
  }
}

}  // namespace carillon
