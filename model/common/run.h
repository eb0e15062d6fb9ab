// Running a simulation so that failures keep their type.
//
// The SystemC kernel turns an exception that leaves a process into an sc_report. The bodies of our
// processes therefore pass through guarded(), and run_simulation() throws what it kept: a
// config_error stays the user's mistake, a model_error ours.
#pragma once

#include <exception>
#include <utility>

#include "common/types.h"

namespace carillon {

/// The first exception that left a process since the last run_simulation().
std::exception_ptr& kept_exception();

template <class Body>
void guarded(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (...) {
    if (kept_exception() == nullptr) {
      kept_exception() = std::current_exception();
    }
    throw;
  }
}

/// Runs until nothing is left to happen, or until `end`, which is included: without the kernel if
/// only due_processes exist.
void run_simulation(ps_t end = NeverPs);

}  // namespace carillon
