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
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/partition.h"
#include "common/stage.h"

namespace carillon {

/// What the RAM holds, without time: lines by kind and index.
class context_store {
 public:
  using line = std::array<std::uint8_t, BeatBytes>;

  /// How many lines of each kind there are, as log2.
  struct sizes {
    unsigned log_qps = 0;
    unsigned log_cqs = 0;
    unsigned log_mkeys = 0;
    unsigned log_mtt_lines = 0;
    unsigned log_srqs = 0;
    unsigned log_eqs = 0;
  };

  explicit context_store(const sizes& lines);

  [[nodiscard]] bool valid(context_kind kind, std::uint32_t index) const;
  /// The line as a reader sees it; zeros for an index that does not exist.
  [[nodiscard]] line read(context_kind kind, std::uint32_t index) const;
  /// False, and nothing happens, for an index that does not exist.
  bool write(context_kind kind, std::uint32_t index, const line& data);
  void set_error(std::uint32_t qpn, bool send_queue_only = false);
  void invalidate(std::uint32_t mkey);

 private:
  [[nodiscard]] const std::vector<line>& bank(context_kind kind) const;

  std::array<std::vector<line>, ContextKinds> banks_;
  std::vector<bool> errors_;
  std::vector<bool> send_errors_;
  std::vector<bool> invalid_keys_;
};

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
  };

  qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, ports connected);

  /// A debug look at a line, outside time (transport_dbg).
  [[nodiscard]] context_store::line debug_read(context_kind kind, std::uint32_t index) const {
    return store_.read(kind, index);
  }

 private:
  void evaluate(cycle_t t) override;
  void forward_to_readers(cycle_t t, context_kind kind, std::uint32_t index);
  [[nodiscard]] bool denied(cycle_t t, const context_read& request) const;

  nic_shared& nic_;
  ports ports_;
  context_store store_;
  cycle_t full_cycle_ = NeverCycle;  ///< the cycle in which all read slots were taken
};

}  // namespace carillon
