// What the context RAM does in a cycle. The stage lets it decide and move; beside a twin in the
// model's place it follows what the twin takes, and knows from it the histories of what leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/partition.h"
#include "common/ring.h"
#include "common/twin.h"
#include "qpc_ram/context_store.h"
#include "qpc_ram/icm_lines.h"
#include "qpc_ram/ram_input.h"

namespace carillon {

struct qpc_ram_ports {
  struct read_port {
    stream<context_read>& requests;
    stream<context_line>& lines;
    std::string_view row;  ///< on whose account the read is booked
  };

  std::vector<read_port> reads;                ///< highest priority first
  std::vector<stream<context_write>*> writes;  ///< likewise
  std::vector<stream<qp_error>*> errors;
  std::vector<stream<key_invalidation>*> invalidations;
  level<partition_table>* partitions = nullptr;  ///< none: everybody reaches everything
  const icm_lines::ports* icm = nullptr;         ///< needed if the lines are in host memory
  /// Ports that a twin has though nothing passes them: the lines are on the chip.
  const icm_lines::ports* idle_icm = nullptr;

  /// Each reader's requests and lines, then the rest.
  [[nodiscard]] std::vector<stream_base*> all() const;

  [[nodiscard]] twin_levels levels() const;
};

class qpc_ram_rules final : public twin_rules, public twin_content {
 public:
  enum class role : std::uint8_t {
    decides,  ///< what is taken, and sends what leaves
    follows   ///< what the RTL takes
  };

  qpc_ram_rules(nic_shared& nic, trace_site site, qpc_ram_ports io, role part = role::follows);

  std::vector<wait_list> waits() override;
  [[nodiscard]] trace_site booked(unsigned port, trace_site own) const override;
  departure departs(unsigned port, cycle_t visible) override;
  void settle(cycle_t t) override;

  /// After settle(): there is something to do in the next cycle that no item brings about.
  [[nodiscard]] bool goes_on() const { return goes_on_; }

  [[nodiscard]] context_store::line debug_read(context_kind kind, std::uint32_t index) const;

  [[nodiscard]] twin_content& content() { return *this; }

  [[nodiscard]] std::span<const stream_field_desc> word_fields() const override;
  void each_word(content_words which, const look& compare) const override;

 private:
  /// A read that was taken and whose line is not on its way yet, because it or one before it
  /// missed.
  struct waiting_read {
    context_read request;
    held_history history;
    bool empty = false;  ///< it gets no line: denied, no such index, or memory did not answer
  };

  struct reader {
    reader(const qpc_ram_ports::read_port& io, trace_site booked, bool decides)
        : requests(io.requests, decides), lines(io.lines), site(booked) {}

    ram_input<context_read> requests;
    stream<context_line>& lines;
    trace_site site;
    ring<departure> departures;  ///< of lines that the RTL will show
    // While lines are in host memory:
    ring<waiting_read> waiting;
    cycle_t served = NeverCycle;   ///< when the oldest waiting read was served last
    cycle_t stalled = NeverCycle;  ///< when a new read found no register for its miss
  };

  void take_marks(cycle_t t);
  void take_write(cycle_t t);
  void take_reads(cycle_t t);
  /// What a reader gets without its line.
  [[nodiscard]] static context_line answer_to(const context_read& request);
  [[nodiscard]] bool denied(cycle_t t, const context_read& request);
  /// Tells the reads under way that a line was written (`data`), or its marks alone.
  void forward_to_readers(cycle_t t, const context_id& id, const context_store::line* data);
  /// Sends a line for which a credit was reserved.
  void send(cycle_t t, reader& to, context_line item);
  void check(cycle_t t) const;

  // Lines in host memory (icm_reads.cpp)
  void settle_icm(cycle_t t);
  void take_icm_write(cycle_t t);
  void install_line(cycle_t t);
  void take_icm_reads(cycle_t t);
  void serve_waiting(cycle_t t, reader& mine, unsigned& left);
  void take_icm_read(cycle_t t, reader& mine, unsigned& left);
  /// The oldest read of a reader waits on: its line is still to come, or no port is left.
  [[nodiscard]] bool still_waits(cycle_t t, reader& mine, unsigned& left);
  void port_conflict(cycle_t t);
  void fail_waiting(const context_id& id);
  [[nodiscard]] bool wanted(const context_id& id) const;
  /// Its line, marks laid over.
  void fill(context_line& item, const context_store::line& data) const;

  nic_shared& nic_;
  trace_site site_;
  qpc_ram_ports ports_;
  bool decides_;
  context_store store_;
  std::unique_ptr<icm_lines> icm_;
  std::deque<reader> readers_;  ///< by read port
  std::deque<ram_input<context_write>> writes_;
  std::deque<ram_input<qp_error>> errors_;
  std::deque<ram_input<key_invalidation>> invalidations_;
  std::unique_ptr<ram_input<dma_read_done>> done_;
  std::vector<cycle_t> write_stalled_;  ///< by write port: when no register was free
  cycle_t settled_ = NeverCycle;
  bool goes_on_ = false;
  bool cache_written_ = false;       ///< in this cycle
  bool stalled_ = false;             ///< in this cycle, for a register
  std::size_t spared_ = 0;           ///< registers that reads leave to a stalled write
  cycle_t full_cycle_ = NeverCycle;  ///< the cycle in which all read slots were taken
  name_id order_ = 0;
  name_id miss_ = 0;
  name_id registers_ = 0;
  name_id ram_port_ = 0;
};

}  // namespace carillon
