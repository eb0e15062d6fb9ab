// A stage's way to the memory keys: it asks for the key of a range of virtual addresses and gets
// the pieces of IOVA space that it stands for.
//
// One read of the context RAM a cycle, over the stage's pair of streams; a contiguous key costs one
// read, one with a page list one more for each eight pages. Lookups may end in another order than
// they began.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/memory_key.h"
#include "common/ring.h"
#include "common/stage.h"

namespace carillon {

/// The lookups themselves, without the streams: which lines they need, and what comes of them.
class key_walks {
 public:
  struct answer {
    std::uint64_t cookie = 0;
    key_fault fault = key_fault::none;
    const std::vector<iova_piece>* pieces = nullptr;  ///< valid during the call
    bool paged = false;                               ///< the key has a page list
    trace_ref trace;  ///< the history of the asker, the lookup included; ends in this cycle
  };

  key_walks(sim_context& context, trace_site site)
      : context_(context), site_(site), order_(context.trace.intern("order")) {}

  /// Asks in cycle t; `cookie` comes back with the answer. The history waits for `order` until the
  /// read leaves.
  void ask(cycle_t t, std::uint64_t cookie, const key_use& use, const held_history& history);

  /// A read has to be sent.
  [[nodiscard]] bool wanting() const { return !wanted_.empty(); }

  /// The oldest of these, which leaves in cycle t.
  context_read next_read(cycle_t t);

  /// A line came; calls `done(answer)` if it ends a lookup.
  template <class Done>
  void took(cycle_t t, const context_line& line, Done done) {
    const std::uint32_t ended = take_line(t, line);
    if (ended != NoJob) {
      job& each = jobs_[ended];
      done(answer{each.cookie, each.fault, &each.walk.pieces(), each.key.contiguous == 0,
                  each.history.wait_until(context_, site_, t)});
      free_.push_back(ended);
    }
  }

  [[nodiscard]] bool idle() const { return free_.size() == jobs_.size(); }

 private:
  static constexpr std::uint32_t NoJob = 0xffffffff;

  struct job {
    std::uint64_t cookie = 0;
    key_use use;
    mkey_line key;
    page_walk walk;
    bool has_key = false;
    key_fault fault = key_fault::none;
    held_history history;
  };

  /// The job that the line has ended, or NoJob.
  std::uint32_t take_line(cycle_t t, const context_line& line);

  sim_context& context_;
  trace_site site_;
  std::deque<job> jobs_;  ///< references stay valid while an answer is given
  std::vector<std::uint32_t> free_;
  ring<std::uint32_t> wanted_;  ///< jobs whose next read has not left
  ring<std::uint32_t> asked_;   ///< jobs in the order of their reads under way
  name_id order_;
};

/// Lookups over a stage's own pair of streams.
class key_lookup {
 public:
  using answer = key_walks::answer;

  key_lookup(sim_context& context, trace_site site, stream<context_read>& reads,
             stream<context_line>& lines)
      : walks_(context, site), reads_(reads), lines_(lines) {}

  /// See key_walks.
  void ask(cycle_t t, std::uint64_t cookie, const key_use& use, const held_history& history) {
    walks_.ask(t, cookie, use, history);
  }

  /// To be called in each evaluation: takes a line and calls `done(answer)` if it ends a lookup.
  template <class Done>
  void take(cycle_t t, Done done) {
    if (lines_.takeable(t)) {
      walks_.took(t, lines_.take(t), done);
    }
  }

  /// To be called after all that may ask: sends one read. True if more are waiting for a later
  /// cycle (the stage wakes itself then); without credit the stream wakes it.
  [[nodiscard]] bool issue(cycle_t t);

  [[nodiscard]] bool idle() const { return walks_.idle(); }

 private:
  key_walks walks_;
  stream<context_read>& reads_;
  stream<context_line>& lines_;
};

}  // namespace carillon
