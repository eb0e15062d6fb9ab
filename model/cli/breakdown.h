// Where the time of every measured message went.
//
// For each completed message the spans between the two milestones of a path must add up to its
// latency, to the picosecond; anything else is a model error. What is added up:
//
//  * per stage (the row on whose account a span is booked): service, wait and flight of the
//  report's path;
//  * the same per line of the stage table, in which several stages share a line;
//  * per place (the component that spent it), and per reason of waiting.
//
// A stage's service contains the flight of its own requests, and the fraction of a cycle in which
// an answer waits for the next clock edge: rounding up is part of what the stage takes. The
// fraction in which the doorbell itself waits for its first edge is a wait.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/paths.h"
#include "common/statistics.h"
#include "common/tracer.h"

namespace carillon {

/// Picoseconds for each reason of waiting, by the reason's id. There are few reasons an account, so
/// looking for one is a short walk.
class reason_sums {
 public:
  std::uint64_t& operator[](name_id reason) {
    auto at = sums_.begin();
    while (at != sums_.end() && at->first < reason) {
      ++at;
    }
    if (at == sums_.end() || at->first != reason) {
      at = sums_.insert(at, {reason, 0});
    }
    return at->second;
  }

  [[nodiscard]] auto begin() const { return sums_.begin(); }

  [[nodiscard]] auto end() const { return sums_.end(); }

 private:
  std::vector<std::pair<name_id, std::uint64_t>> sums_;
};

/// Picoseconds of one stage, line or message.
struct time_account {
  distribution service;
  distribution wait;
  distribution total;
  std::uint64_t flight = 0;  ///< part of service, summed
  reason_sums waits;
};

/// Picoseconds at one component, summed.
struct place_account {
  std::uint64_t service = 0;
  std::uint64_t wait = 0;
  std::uint64_t flight = 0;
};

/// What one node delivered.
struct node_rate {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  ps_t first = NeverPs;
  ps_t last = 0;
  std::uint64_t first_bytes = 0;

  /// Counts a message that was delivered, or else left.
  void count(const message_record& message);

  /// Over the time from the first delivery to the last; the first message's own is before it.
  [[nodiscard]] double gigabits() const;
  [[nodiscard]] double messages_per_second() const;
};

class breakdown final : public message_observer {
 public:
  /// `measured` tells warm-up and background from the rest; empty: all count.
  breakdown(const tracer& trace, std::string_view report_path,
            std::function<bool(const message_record&)> measured = {});

  void on_message(const message_record& message) override;

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  [[nodiscard]] const distribution& latency(std::size_t path) const { return latencies_[path]; }

  [[nodiscard]] const time_account& total() const { return total_; }

  /// Stages in the order of the stage table, then other rows by name; those that no message passed
  /// are absent.
  [[nodiscard]] std::vector<std::pair<std::string, const time_account*>> stages() const;

  struct table_line {
    std::string number;  ///< as in the stage table, "" for rows outside it
    std::string title;
    time_account account;
  };

  /// The lines of the stage table that messages passed, in order.
  [[nodiscard]] std::vector<const table_line*> lines() const;

  [[nodiscard]] std::map<std::string, place_account> places() const;

  [[nodiscard]] const std::map<std::string, node_rate, std::less<>>& rates() const {
    return rates_;
  }

  [[nodiscard]] const tracer& names() const { return trace_; }

 private:
  /// What one message spent on one account.
  struct scratch {
    std::uint64_t service = 0;
    std::uint64_t wait = 0;
    std::uint64_t flight = 0;
    bool touched = false;
  };

  void sum_spans(const message_record& message);
  [[nodiscard]] bool sum_path(const message_record& message, const latency_path& path) const;
  void account_path(const message_record& message, const latency_path& path);
  void book(const span& part);
  static void settle(scratch& from, time_account& into);
  void know_names();
  void count_rate(const message_record& message);
  std::size_t line_of(name_id row);

  const tracer& trace_;
  std::size_t report_path_;
  std::function<bool(const message_record&)> measured_;
  name_id clock_sync_;
  std::uint64_t messages_ = 0;
  std::array<distribution, LatencyPathCount> latencies_;
  time_account total_;
  std::vector<time_account> rows_;     ///< by name
  std::vector<scratch> row_scratch_;   ///< by name
  std::vector<place_account> places_;  ///< by name
  std::vector<std::size_t> row_line_;  ///< name -> index of its line + 1
  std::vector<table_line> lines_;
  std::vector<scratch> line_scratch_;
  std::vector<name_id> touched_rows_;
  std::vector<std::size_t> touched_lines_;
  std::vector<std::uint32_t> chain_;  ///< of the report's path, last span first
  std::vector<ps_t> sums_;  ///< of the message: its spans from the first up to each, added up
  std::map<std::string, node_rate, std::less<>> rates_;
};

}  // namespace carillon
