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
//
// docs/stages/qpc_ram.md has the timing; rtl/qpc_ram/qpc_ram.sv is its twin.
#pragma once

#include <cstdint>

#include "common/stage.h"
#include "qpc_ram/qpc_ram_rules.h"

namespace carillon {

class qpc_ram final : public stage {
 public:
  static constexpr const char* Row = "qpc_ram";
  using ports = qpc_ram_ports;
  using read_port = qpc_ram_ports::read_port;
  using rules = qpc_ram_rules;

  qpc_ram(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

  /// Throws config_error if the twin's memories are too small for the parameters.
  static void check_twin(const nic_shared& nic);

  /// A debug look at a line, outside time (transport_dbg). Of a line that is in host memory only
  /// the chip knows nothing: zeros.
  [[nodiscard]] context_store::line debug_read(context_kind kind, std::uint32_t index) const {
    return rules_.debug_read(kind, index);
  }

  [[nodiscard]] twin_content& content() { return rules_.content(); }

 private:
  void evaluate(cycle_t t) override;

  rules rules_;
};

}  // namespace carillon
