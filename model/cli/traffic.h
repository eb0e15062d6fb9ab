// The traffic of one run: programs on the cores of both hosts. Everything goes through the driver.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/scenario.h"
#include "cli/system.h"
#include "common/tracer.h"

namespace carillon {

class progress_bar;
struct run_facts;

class traffic {
 public:
  traffic() = default;
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;
  virtual ~traffic() = default;

  /// Starts the programs; system_model::run then runs them to their end.
  virtual void start() = 0;

  /// After the run: compares what is still in memory.
  virtual void finish() = 0;

  /// Throws if a program has not come to its end, naming what it waited for.
  virtual void check_finished() const = 0;

  /// Whether a message belongs to the measurement: not warm-up, not background.
  [[nodiscard]] virtual bool measured(const message_record& message) const = 0;

  /// How many those are.
  [[nodiscard]] virtual std::uint64_t measured_messages() const = 0;

  /// Adds what only this traffic knows.
  virtual void report(run_facts& /*facts*/) const {}

  /// Bytes delivered so far of each flow, if it has flows.
  [[nodiscard]] virtual std::vector<std::uint64_t> delivered_bytes() const { return {}; }

  /// Messages whose bytes were compared at the receiver, and bytes that were wrong.
  [[nodiscard]] virtual std::uint64_t verified_messages() const = 0;
  [[nodiscard]] virtual std::uint64_t wrong_bytes() const = 0;

  /// Completions with an error.
  [[nodiscard]] virtual std::uint64_t failed_completions() const = 0;

  /// Of a run without traces: moves the bar itself.
  virtual void show_progress(progress_bar& /*bar*/) {}
};

/// What both NICs counted and which streams still hold items: where to look when a run came to a
/// halt.
std::string state_of_affairs(system_model& system);

/// Cores that a host needs for it.
unsigned cores_of(const run_point& point);

std::unique_ptr<traffic> make_traffic(system_model& system, const run_point& point);

}  // namespace carillon
