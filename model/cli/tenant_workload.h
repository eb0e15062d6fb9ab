// The traffic of many tenants: each has a function of the device, or a share of one, a core of its
// own, and sends to a peer that has the same at the other end.
//
// Core 0 of a host is the administrator's: it brings the PF up and enables the VFs. Then the
// tenants start; one that finds no function fails, or waits until another has given its own back.
// Nothing that goes wrong ends the run: it is kept as a symptom, with what the device answers when
// it is asked about it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "cli/breakdown.h"
#include "cli/diagnosis.h"
#include "cli/paths.h"
#include "cli/scenario.h"
#include "cli/system.h"
#include "cli/tenant_settings.h"
#include "cli/traffic.h"
#include "common/statistics.h"
#include "host/sriov.h"
#include "host/verbs.h"
#include "host/vf_pool.h"

namespace carillon {

class tenant_workload final : public traffic, private message_observer {
 public:
  tenant_workload(system_model& system, const run_point& point);
  ~tenant_workload() override;

  /// Cores that a host needs for it.
  static unsigned cores(const workload_spec& spec);

  void start() override;

  void finish() override {}

  void check_finished() const override;
  [[nodiscard]] bool measured(const message_record& message) const override;
  [[nodiscard]] std::uint64_t measured_messages() const override;

  [[nodiscard]] std::uint64_t verified_messages() const override { return 0; }

  [[nodiscard]] std::uint64_t wrong_bytes() const override { return 0; }

  [[nodiscard]] std::uint64_t failed_completions() const override { return failed_; }

  void report(run_facts& facts) const override;

 private:
  struct host_side;
  struct end;
  struct tenant;

  // tenant_workload.cpp: who runs when, and what is found
  task<> administrator_program(host_side& host);
  task<> tenant_program(tenant& who, end& mine, end& theirs);
  task<> set_up(tenant& who, end& mine);
  task<> ask(tenant& who, end& mine);
  task<> tear_down(end& mine);
  [[nodiscard]] bool fits(const tenant& who) const;
  void claim(const tenant& who, bool take);
  void start_tenants();
  void start_tenant(tenant& who);
  void end_finished(tenant& who);
  void run_errand(host_side& host);
  void fail_set_up(const tenant& who, end& mine, symptom what);
  void on_message(const message_record& message) override;
  [[nodiscard]] tenant* owner_of(const message_record& message) const;
  [[nodiscard]] std::string label_of(const tenant& who, const end& mine) const;

  // tenant_traffic.cpp: what a tenant's two programs do with their functions
  task<> create(tenant& who, end& mine);
  task<> connect(tenant& who, end& mine, end& theirs);
  task<> send(tenant& who, end& mine, end& theirs);
  task<bool> post_round(tenant& who, end& mine, end& theirs);
  task<> receive(tenant& who, end& mine);
  task<> post_receive(tenant& who, end& mine, std::size_t qp);
  task<> flush(end& theirs);
  task<> pause(cpu& core) const;
  [[nodiscard]] connection_options options_of(const tenant& who, const end& mine) const;
  [[nodiscard]] work_request request_of(const tenant& who, const end& mine, const end& theirs,
                                        std::size_t qp) const;
  [[nodiscard]] bool more_to_send(const tenant& who) const;
  void complete(tenant& who, end& mine, const completion& entry);

  system_model& system_;
  const run_point& point_;
  const workload_spec& spec_;
  std::array<std::unique_ptr<host_side>, 2> hosts_;
  std::vector<std::unique_ptr<tenant>> tenants_;
  std::deque<tenant*> waiting_;  ///< for a function
  rendezvous administrators_{2};
  std::unique_ptr<rendezvous> together_;
  unsigned measured_running_ = 0;
  unsigned running_ = 0;
  std::uint64_t failed_ = 0;
  std::vector<symptom> symptoms_;
};

}  // namespace carillon
