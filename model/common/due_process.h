// Simulated time, and the two ways in which it advances.
//
// The core clock and the timeline are the only processes of the model. Each knows the next instant
// at which anything of it is due. Ordinarily the SystemC kernel takes them there, by an event each.
//
// When run_simulation() finds that no process but these exists, nobody else can notice how time
// advances: it then calls them itself, instant by instant, which saves what the kernel spends on an
// event. Simulated time is then kept here and sc_time_stamp() stays behind, so everything in the
// model asks now_ps(). A program with processes of its own simply stays with the kernel.
#pragma once

#include <cstddef>
#include <vector>

#include <systemc>

#include "common/types.h"

namespace carillon {

class due_process : public sc_core::sc_module {
 public:
  due_process(const due_process&) = delete;
  due_process& operator=(const due_process&) = delete;
  ~due_process() override;

  /// How often the kernel ran it (for `run --stats`).
  [[nodiscard]] std::uint64_t activations() const { return activations_; }

  /// Runs all of them without the kernel until nothing is due any more, or nothing up to `end`.
  /// Only after elaboration, and only if alone().
  static void run_directly(ps_t end = NeverPs);

  /// Nothing is due any more, whenever.
  [[nodiscard]] static bool at_rest();

  /// No process but these exists.
  [[nodiscard]] static bool alone();

 protected:
  explicit due_process(const sc_core::sc_module_name& name);

  /// Does all that is due now, and schedules what comes next.
  virtual void run_due() = 0;

  /// Asks for run_due() at `when`, if not for an earlier instant already. It is forgotten once
  /// run_due() is called.
  void schedule(ps_t when) {
    if (when < scheduled_) {
      scheduled_ = when;
      // cppcheck-suppress knownConditionTrueFalse ; run_simulation() sets it
      if (!direct_) {
        notify();
      }
    }
  }

 private:
  friend ps_t now_ps();

  void process();
  void notify();
  void run_now();

  static inline bool direct_ = false;
  static inline ps_t direct_now_ = 0;
  static inline std::vector<due_process*> all_;

  sc_core::sc_event due_;
  ps_t scheduled_ = NeverPs;
  std::uint64_t activations_ = 0;
};

/// Simulated time now, in picoseconds.
inline ps_t now_ps() {
  // cppcheck-suppress knownConditionTrueFalse ; likewise
  return due_process::direct_ ? due_process::direct_now_ : sc_core::sc_time_stamp().value();
}

}  // namespace carillon
