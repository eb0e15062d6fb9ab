// The traffic of one run: programs on the cores of both hosts.
//
// Core 0 of a host brings the device up, connects the queue pairs and posts; core 1 answers receive
// work; the background, if any, has a core for each of its queue pairs. Everything goes through the
// driver.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/scenario.h"
#include "cli/system.h"
#include "cli/traffic.h"
#include "host/verbs.h"

namespace carillon {

class workload final : public traffic {
 public:
  workload(system_model& system, const run_point& point);
  ~workload() override;

  /// Cores that a host needs for it.
  static unsigned cores(const workload_spec& spec);

  /// Starts the programs; system_model::run then runs them to their end.
  void start() override;

  /// After the run: compares what is still in memory.
  void finish() override;

  /// Throws model_error if a program has not come to its end, naming what it waited for.
  void check_finished() const override;

  /// Whether a message belongs to the measurement: not warm-up, not background.
  [[nodiscard]] bool measured(const message_record& message) const override;

  [[nodiscard]] std::uint64_t measured_messages() const override { return spec_.messages; }

  /// Messages whose bytes were compared at the receiver, and bytes that were wrong.
  [[nodiscard]] std::uint64_t verified_messages() const override { return verified_messages_; }

  [[nodiscard]] std::uint64_t wrong_bytes() const override { return wrong_bytes_; }

  /// Completions with an error.
  [[nodiscard]] std::uint64_t failed_completions() const override { return failed_; }

 private:
  struct connection;
  struct side;

  task<> main_program(unsigned index);
  task<> set_up(unsigned index);
  task<> connect(side& here, const side& there);
  task<> requester_program(side& here);
  task<> ping_pong_program(side& here);
  task<> receiver_program(side& here);
  task<> background_program(side& here, connection& link, std::size_t core_index);
  /// Waits for completions as the scenario says.
  task<unsigned> next_completions(cpu& core, completion_queue& queue, event_queue* events,
                                  std::span<completion> out) const;
  [[nodiscard]] bool expected(const connection& link, std::uint32_t count) const;
  task<> wait_until_expected(cpu& core, const connection& link) const;
  task<> pause(cpu& core) const;
  task<> post_receives(cpu& core, connection& link, std::uint32_t count);
  task<bool> post_batch(cpu& core, side& here, connection& link, std::uint32_t count);
  /// Polls until the byte has this value; the message that wrote it is seen.
  task<> see(cpu& core, polled_byte& arrival, std::uint8_t value);
  /// Delays the post so that its doorbell's first symbol arrives on an edge of the core clock.
  void align(cpu& core, const side& here) const;
  void start_measuring(side& here);
  void complete(side& here, const completion& entry);
  [[nodiscard]] work_request request_of(const connection& link, std::uint64_t number,
                                        bool signaled) const;
  void refuse_overload() const;
  void fill(connection& link, std::uint64_t number) const;
  void check(connection& link, std::uint64_t number);

  system_model& system_;
  const run_point& point_;
  const workload_spec& spec_;
  rendezvous ready_;
  rendezvous connected_;
  std::array<std::unique_ptr<side>, 2> sides_;
  unsigned running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t verified_messages_ = 0;
  std::uint64_t wrong_bytes_ = 0;
};

}  // namespace carillon
