// The one process behind all Verilated blocks of a run.
//
// In a cycle all blocks are settled with what they are offered, then all transfers are made, then
// all blocks get their edge. If each adapter settled and clocked its own block, a transfer between
// two of them would depend on who comes first. The domain is evaluated after everybody else in the
// cycle, so that what the model stages take is known.
//
// A block is clocked only while it is busy or something is offered or taken at its ports. `always`
// clocks it in every cycle (in arrears, so that the run still ends) and must give the same bytes.
// `audit` adds an edge whenever a block says that it is idle, and fails if that changes anything.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/context.h"
#include "common/twin.h"
#include "cosim/twin_driver.h"

namespace carillon {

struct rtl_options {
  bool always = false;
  bool audit = false;
  std::map<std::string, std::string, std::less<>> variants;  ///< by stage; absent: the twin itself
  unsigned reset_seed = 0;                                   ///< of what no reset sets, 0 for zeros
  std::string replay;  ///< the command that repeats this run, for messages

  std::string waves;  ///< folder for an FST file of each block, "" for none
  ps_t waves_from = 0;
  ps_t waves_to = NeverPs;
  cycle_t waves_from_cycle = 0;  ///< the same in cycles, for a bench
  cycle_t waves_to_cycle = NeverCycle;
};

class rtl_domain final : public twin_host, public clocked {
 public:
  rtl_domain(sim_context& context, rtl_options options);

  std::unique_ptr<clocked> replace(twin_request request) override;
  std::unique_ptr<clocked> accompany(twin_request request) override;
  void finish() override;
  void stop() override;

  void on_cycle(cycle_t t) override;

  [[nodiscard]] std::string path() const override { return "rtl_domain"; }

  /// A block has something to do in the cycle that is being evaluated.
  void request();

  void join(twin_driver& driver) { drivers_.push_back(&driver); }

  void leave(const twin_driver& driver);

  [[nodiscard]] sim_context& context() { return context_; }

  [[nodiscard]] const rtl_options& options() const { return options_; }

  [[nodiscard]] std::uint64_t edges() const;

  /// Cycles in which some block was clocked.
  [[nodiscard]] std::uint64_t busy_cycles() const { return busy_cycles_; }

  /// Throws again what a block or its checker threw: of an exception that leaves a process, the
  /// kernel keeps only the text.
  void rethrow() const {
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  void run(cycle_t t);

  sim_context& context_;
  rtl_options options_;
  std::vector<twin_driver*> drivers_;
  std::uint64_t busy_cycles_ = 0;
  bool running_ = false;
  std::exception_ptr failure_;
};

}  // namespace carillon
