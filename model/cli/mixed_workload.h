// Mixed traffic in both directions: every kind of work request that the service knows, in random
// order, of random size and scattering, over several queue pairs. For soaking the transport; the
// scoreboard judges it.
//
// Message n of a queue pair uses slot n modulo `outstanding` of its buffers at both ends. Core 0 of
// each host posts and polls, core 1 answers with receive work.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/traffic.h"
#include "common/random.h"
#include "host/verbs.h"

namespace carillon {

class mixed_workload final : public traffic {
 public:
  mixed_workload(system_model& system, const run_point& point);
  ~mixed_workload() override;

  static constexpr unsigned Cores = 2;

  void start() override;

  void finish() override {}

  void check_finished() const override;
  [[nodiscard]] bool measured(const message_record& message) const override;

  [[nodiscard]] std::uint64_t measured_messages() const override { return spec_.messages; }

  [[nodiscard]] std::uint64_t verified_messages() const override { return completed_; }

  [[nodiscard]] std::uint64_t wrong_bytes() const override { return 0; }

  [[nodiscard]] std::uint64_t failed_completions() const override { return failed_; }

 private:
  struct area;
  struct link;
  struct side;

  task<> main_program(unsigned index);
  task<> set_up(side& here);
  task<> set_up_link(side& here, link& each);
  task<> connect(side& here, const side& there);
  task<> request(side& here);
  task<> receive(side& here, const side& there);
  task<bool> post_one(side& here, link& each);
  task<> post_receive(cpu& core, side& here, link& each, std::uint32_t buffer);
  task<area> make_area(side& here, std::uint64_t bytes);
  void take(side& here, const completion& entry);
  work_request random_request(side& here, link& each);
  void add_pieces(side& here, work_request& request, const area& where, std::uint64_t offset,
                  std::uint32_t length);
  [[nodiscard]] work_opcode random_opcode(side& here) const;

  system_model& system_;
  const run_point& point_;
  const workload_spec& spec_;
  rendezvous ready_;
  rendezvous connected_;
  std::array<std::unique_ptr<side>, 2> sides_;
  unsigned running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t completed_ = 0;
};

}  // namespace carillon
