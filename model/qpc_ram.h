// qpc_ram: the context RAM. One 64-byte line a context; 5 cycles a read (request hop 1, RAM 4).
//
// Two reads and one write a cycle, granted by fixed priority in the order of the ports; a read that
// lost waits for `ram_port`. Write-first: a write reaches every read that is not yet visible, so a
// line read is as of the cycle before it is visible. Each kind of line has one writer. The error
// bit of a QP is set-only, may be set by both directions, and overlays the state in its qpc_common
// line until a command writes that line with state RESET: a command that read the line before the
// error and writes it after cannot undo it. The error bit of a send queue (UC, UD) likewise makes
// the state SQER until a command writes RTS or RESET. An invalidated memory key stays invalid until
// a command writes its line. A VF reaches the lines of its partition only: others are not valid for
// it and read as zeros.
//
// With nic.icm = host_memory the lines are in host memory and the RAM is a cache of them. A read
// that finds its line takes as long as ever; one that does not waits for `icm_miss`, and the later
// reads of its reader behind it. Other readers go on.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/held_history.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/partition.h"
#include "common/ring.h"
#include "common/stage.h"
#include "qpc_ram/context_store.h"
#include "qpc_ram/icm_lines.h"

namespace carillon {

class qpc_ram final : public stage {
 public:
  struct read_port {
    stream<context_read>& requests;
    stream<context_line>& lines;
    std::string_view row;  ///< on whose account the read is booked
  };

  struct ports {
    std::vector<read_port> reads;                ///< highest priority first
    std::vector<stream<context_write>*> writes;  ///< likewise
    std::vector<stream<qp_error>*> errors;
    std::vector<stream<key_invalidation>*> invalidations;
    const level<partition_table>* partitions = nullptr;  ///< none: everybody reaches everything
    const icm_lines::ports* icm = nullptr;               ///< needed if the lines are in host memory
  };

  qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, ports connected);

  /// A debug look at a line, outside time (transport_dbg). Of a line that is in host memory only
  /// the chip knows nothing: zeros.
  [[nodiscard]] context_store::line debug_read(context_kind kind, std::uint32_t index) const;

 private:
  /// A read that was taken and whose line is not on its way yet, because it or one before it
  /// missed.
  struct waiting_read {
    context_read request;
    held_history history;
    bool empty = false;  ///< it gets no line: denied, no such index, or memory did not answer
  };

  /// A reader's state while lines are in host memory.
  struct reader {
    trace_site site;
    ring<waiting_read> waiting;
    cycle_t served = NeverCycle;   ///< when the oldest waiting read was served last
    cycle_t stalled = NeverCycle;  ///< when a new read found no register for its miss
  };

  void evaluate(cycle_t t) override;
  void take_marks(cycle_t t);
  void take_write(cycle_t t);
  void take_reads(cycle_t t);
  /// What a reader gets without its line.
  [[nodiscard]] static context_line answer_to(const context_read& request);
  [[nodiscard]] bool denied(cycle_t t, const context_read& request);
  /// Tells the reads under way that a line was written (`data`), or its marks alone.
  void forward_to_readers(cycle_t t, const context_id& id, const context_store::line* data);

  // Lines in host memory (qpc_ram/icm_reads.cpp)
  void take_icm_write(cycle_t t);
  void install_line(cycle_t t);
  void take_icm_reads(cycle_t t);
  void serve_waiting(cycle_t t, std::size_t port, unsigned& left);
  void take_icm_read(cycle_t t, std::size_t port, unsigned& left);
  void fail_waiting(const context_id& id);
  [[nodiscard]] bool wanted(const context_id& id) const;
  /// Its line, marks laid over.
  void fill(context_line& item, const context_store::line& data) const;

  nic_shared& nic_;
  ports ports_;
  context_store store_;
  std::unique_ptr<icm_lines> icm_;
  std::vector<reader> readers_;         ///< by read port
  std::vector<cycle_t> write_stalled_;  ///< by write port: when no register was free
  bool cache_written_ = false;          ///< in this evaluation
  bool stalled_ = false;                ///< in this evaluation, for a register
  std::size_t spared_ = 0;              ///< registers that reads leave to a stalled write
  cycle_t full_cycle_ = NeverCycle;     ///< the cycle in which all read slots were taken
  name_id order_ = 0;
  name_id miss_ = 0;
  name_id registers_ = 0;
  name_id ram_port_ = 0;
};

}  // namespace carillon
