// The programs of the perftest tests: two processes, one a host, on the drivers.
//
// Latency. Both sides have one message under way. WRITE: each waits until the last byte of its
// buffer has the next value, posts its own message and polls its CQE. SEND: the same with a receive
// completion instead of the byte. READ and atomic: the first host alone posts and polls the CQE.
// The time from one post of the first host to its next is a lap.
//
// Bandwidth. The sender fills the window of each of its queue pairs, then polls its CQ. With -b
// both hosts do. Of a SEND the other host's program polls its receive CQ and posts receives anew.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cli/perftest_spec.h"
#include "cli/perftest_statistics.h"
#include "cli/progress.h"
#include "cli/traffic.h"
#include "host/sriov.h"
#include "host/verbs.h"

namespace carillon {

class perftest_traffic final : public traffic {
 public:
  /// The program, and of a bidirectional SEND its receiving half.
  static constexpr unsigned Cores = 2;

  perftest_traffic(system_model& system, const run_point& point);
  ~perftest_traffic() override;

  void start() override;

  void finish() override {}

  void check_finished() const override;
  [[nodiscard]] bool measured(const message_record& message) const override;
  [[nodiscard]] std::uint64_t measured_messages() const override;
  void report(run_facts& facts) const override;

  [[nodiscard]] std::uint64_t verified_messages() const override { return 0; }

  [[nodiscard]] std::uint64_t wrong_bytes() const override { return 0; }

  [[nodiscard]] std::uint64_t failed_completions() const override { return failed_; }

  void show_progress(progress_bar& bar) override { bar_ = &bar; }

  /// Of the first host, in order.
  [[nodiscard]] const std::vector<ps_t>& laps() const { return laps_; }

 private:
  /// One queue pair of a side.
  struct connection {
    std::unique_ptr<queue_pair> qp;
    memory_region source;
    memory_region target;
    work_request request;  ///< what every message of it is like
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t receives = 0;
  };

  struct side {
    side(unsigned number, node& where, const device_settings& settings);

    unsigned index;
    node& home;
    sriov functions;
    device* adapter = nullptr;
    std::uint32_t pd = 0;
    uar_handle* uar = nullptr;
    std::unique_ptr<completion_queue> send_cq;
    std::unique_ptr<completion_queue> receive_cq;
    std::vector<connection> links;
    ps_t measured_from = NeverPs;
    std::uint64_t measured = 0;  ///< messages completed since then
    std::uint64_t received = 0;
    std::uint64_t counted = 0;  ///< of a test with a duration: since its window began
    bandwidth_record record;
  };

  [[nodiscard]] bool receives() const;
  [[nodiscard]] bool sends(const side& who) const;
  [[nodiscard]] wqe_opcode opcode() const;
  task<> program(unsigned index);
  task<> set_up(side& here);
  task<> create(side& here, connection& link);
  task<> connect(side& here, side& there);
  void prepare(side& here, connection& link, const side& there, const connection& peer) const;
  task<> ping_pong(side& here);
  task<> laps_of(side& here);
  task<> bandwidth(side& here);
  task<> receive_all(side& here, unsigned core_index);
  task<> post_receives(cpu& core, side& here, std::size_t number, std::uint64_t count);
  task<> await_message(cpu& core, side& here, polled_byte& arrival, std::uint64_t round);
  task<> await_completions(cpu& core, side& here);
  task<bool> fill_windows(cpu& core, side& here);
  void begin_lap(side& here, ps_t now, std::uint64_t round);
  void begin_measuring(side& here, ps_t now);
  void note_completed(side& here, connection& link, std::uint64_t messages, ps_t now);
  [[nodiscard]] std::uint64_t measured_iterations() const;
  void set_window(ps_t from);
  [[nodiscard]] bool more(std::uint64_t posted, ps_t now) const;

  [[nodiscard]] bool unreliable() const { return spec_.service != qpc_service::Rc; }

  system_model& system_;
  const run_point& point_;
  const perftest_spec& spec_;
  const connection_options options_;
  rendezvous created_{2};
  rendezvous connected_{2};
  rendezvous ready_{2};
  std::array<std::unique_ptr<side>, 2> sides_;
  unsigned running_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t rounds_ = NeverPs;  ///< of a test with a duration: known once it is over
  ps_t window_from_ = NeverPs;      ///< of a bandwidth test with a duration
  ps_t window_to_ = NeverPs;
  ps_t end_ = NeverPs;
  ps_t lap_began_ = NeverPs;
  std::vector<ps_t> laps_;
  progress_bar* bar_ = nullptr;
};

}  // namespace carillon
