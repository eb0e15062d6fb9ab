// What the trace sinks have in common: the window, and errors that wait for the end of the run.
//
// Sinks are called while the kernel runs, where an exception would lose its type. They remember the
// first output_error and throw it from close().
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/scenario.h"
#include "common/context.h"
#include "common/counters.h"
#include "common/error.h"
#include "common/pcie_port.h"
#include "common/tracer.h"
#include "fabric/wire_link.h"

namespace carillon {

/// Messages are chosen by when they were posted, everything else by when it happened.
class trace_window {
 public:
  explicit trace_window(const trace_spec& spec)
      : from_(spec.from),
        to_(spec.to),
        first_(spec.first_message),
        last_(spec.last_message),
        limit_(spec.limit) {}

  [[nodiscard]] bool covers(ps_t time) const { return time >= from_ && time < to_; }

  /// The same for something on account of a message (0: of none).
  [[nodiscard]] bool covers(ps_t time, std::uint32_t message) const {
    return covers(time) && covers_message(message);
  }

  /// Whether the message is among the chosen; counts it.
  bool admit(const message_record& message);

 private:
  [[nodiscard]] bool covers_message(std::uint32_t id) const { return id >= first_ && id <= last_; }

  ps_t from_;
  ps_t to_;
  std::uint32_t first_;
  std::uint32_t last_;
  std::uint64_t limit_;
  std::uint64_t admitted_ = 0;
};

class error_keeper {
 public:
  template <class Function>
  void guard(Function&& function) {
    if (error_) {
      return;
    }
    try {
      function();
    } catch (const output_error&) {
      error_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::exception_ptr error_;
};

struct node_counters {
  std::string node;
  const counter_block* counters;
};

/// One output of a run. Nothing of it may change simulated time.
class trace_sink {
 public:
  virtual ~trace_sink() = default;
  virtual void on_message(const message_record& message) = 0;
  virtual void on_transfer(const transfer& seen) = 0;
  virtual void on_frame(const std::string& interface, ps_t first_bit, const frame_item& frame) = 0;

  /// A TLP leaves `port`. Most sinks have no use for it.
  virtual void on_tlp(const std::string& /*port*/, ps_t /*departure*/, const tlp& /*packet*/) {}

  /// Completes the file; throws output_error if anything of it could not be written.
  virtual void close(const std::vector<node_counters>& counters) = 0;
};

/// The chain of spans that ends latest among the milestones reached, first to last.
std::vector<span> critical_chain(const message_record& message);

/// Tells the measured messages from warm-up and background; empty: all are.
using measured_messages = std::function<bool(const message_record&)>;

/// All sinks of a run, connected to what they listen to.
class trace_outputs final : public message_observer, public transfer_observer {
 public:
  /// Creates the files in `folder` and listens to `context`.
  trace_outputs(sim_context& context, const trace_spec& spec, const std::filesystem::path& folder,
                measured_messages measured = {});

  /// A tap of one end of a cable, for the sinks that want packets.
  frame_tap& tap(std::string interface);
  /// A tap of one end of a PCIe link, likewise.
  tlp_tap& tap_tlps(std::string port);

  void on_message(const message_record& message) override;
  void on_transfer(const transfer& seen) override;

  void close(const std::vector<node_counters>& counters);

 private:
  class port_tap final : public tlp_tap {
   public:
    port_tap(trace_outputs& owner, std::string name) : owner_(owner), name_(std::move(name)) {}

    void on_tlp(ps_t departure, const tlp& packet) override;

   private:
    trace_outputs& owner_;
    std::string name_;
  };

  class interface_tap final : public frame_tap {
   public:
    interface_tap(trace_outputs& owner, std::string name) : owner_(owner), name_(std::move(name)) {}

    void on_frame(ps_t first_bit, const frame_item& frame) override;

   private:
    trace_outputs& owner_;
    std::string name_;
  };

  std::vector<std::unique_ptr<trace_sink>> sinks_;
  std::vector<std::unique_ptr<interface_tap>> taps_;
  std::vector<std::unique_ptr<port_tap>> port_taps_;
};

}  // namespace carillon
