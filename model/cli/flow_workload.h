// Traffic over the whole network: flows of WRITEs between hosts, each with its own queue pairs.
//
// Core 0 of a host brings its device up, makes its ends of all queue pairs and posts in turn over
// those that send. Each flow carries so many messages, or posts for so long; its rate is counted
// from its first delivery to its last. A queue pair that fails ends, the run does not. With
// `measure_from_ns` only what is delivered from then to the end of `duration_ns` counts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/network_window.h"
#include "cli/paths.h"
#include "cli/scenario.h"
#include "cli/summary.h"
#include "cli/system.h"
#include "cli/traffic.h"
#include "host/verbs.h"

namespace carillon {

/// Sender and receiver of each flow.
std::vector<std::pair<unsigned, unsigned>> flows_of(const workload_spec& workload, unsigned hosts);

class flow_workload final : public traffic, private message_observer {
 public:
  flow_workload(system_model& system, const run_point& point);
  ~flow_workload() override;

  static constexpr unsigned Cores = 1;

  void start() override;

  void finish() override {}

  void check_finished() const override;
  [[nodiscard]] bool measured(const message_record& message) const override;
  [[nodiscard]] std::uint64_t measured_messages() const override;

  [[nodiscard]] std::uint64_t verified_messages() const override { return 0; }

  [[nodiscard]] std::uint64_t wrong_bytes() const override { return 0; }

  [[nodiscard]] std::uint64_t failed_completions() const override { return failed_; }

  void report(run_facts& facts) const override;

  /// Bytes delivered so far of each flow, in the order of flows_of; for plots.
  [[nodiscard]] std::vector<std::uint64_t> delivered_bytes() const override;

 private:
  struct link;
  struct flow;
  struct side;

  task<> host_program(side& here);
  task<> set_up(side& here);
  task<> begin(side& here);
  task<> make_flow(side& here, flow& of);
  task<> connect(side& here);
  task<> send(side& here);
  task<bool> post_one(side& here, link& on);
  [[nodiscard]] bool counts(ps_t delivered) const;
  [[nodiscard]] bool may_post(const side& here, const link& on) const;
  void complete(side& here, const completion& entry);
  [[nodiscard]] connection_options options_of(const link& on) const;
  [[nodiscard]] link* owner_of(const message_record& message) const;
  void on_message(const message_record& message) override;

  system_model& system_;
  const run_point& point_;
  const workload_spec& spec_;
  std::vector<std::unique_ptr<side>> sides_;
  std::vector<std::unique_ptr<flow>> flows_;
  rendezvous created_;
  rendezvous connected_;
  network_window window_;
  unsigned running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t messages_ = 0;  ///< that came to their end in the trace
  std::uint64_t bytes_ = 0;     ///< delivered, of all flows
  ps_t first_post_ = NeverPs;
  ps_t last_delivery_ = 0;
  priority_latencies latency_;
};

}  // namespace carillon
