// pcie_endpoint: the registers of BAR0 and BAR4, the command interface behind them, and the BAR
// values.
//
// One access of each kind a cycle; nothing here ever stalls PCIe: writes are always taken, and a
// read waits only for room in the answer stream. Commands come from queues in host memory
// (pcie_endpoint/command_queue.h): several are fetched and answered at the same time, one is served
// at a time, functions in turn. What a command computes is in pcie_endpoint/commands.h; here it
// moves: the lines that the pipeline may have changed are read before a command, lines are written
// after it one a cycle, and only when the context RAM has them all are the owners of the state
// told, and after them the driver.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "common/vport.h"
#include "pcie_endpoint/command_queue.h"
#include "pcie_endpoint/commands.h"
#include "pcie_endpoint/debug_registers.h"

namespace carillon {

class pcie_endpoint final : public stage {
 public:
  struct ports {
    stream<mmio_write>& writes;               ///< of BAR0 and BAR4 - pcie_rx
    stream<mmio_read>& reads;                 ///< likewise - pcie_rx
    stream<mmio_answer>& answers;             ///< - dma_engine
    stream<context_read>& line_reads;         ///< what the pipeline may have changed - qpc_ram
    stream<context_line>& lines;              ///< - qpc_ram
    stream<context_write>& line_writes;       ///< - qpc_ram
    std::vector<stream<qp_command>*> owners;  ///< - wqe_fetch, tx_sched, requester, responder
    stream<cq_command>& completion;           ///< CQs and EQs created or destroyed - completion
    stream<srq_command>& srqs;                ///< SRQs created, destroyed or armed - responder
    stream<dma_read>& queue_reads;            ///< command entries and mailboxes - dma_engine
    stream<dma_read_done>& queue_data;        ///< - dma_engine
    stream<dma_write>& queue_writes;          ///< mailboxes, then the entry - dma_engine
    stream<async_event>& events;              ///< entries are done - completion
  };

  /// `mac`: of function 0; function n has mac + n.
  pcie_endpoint(const sc_core::sc_module_name& name, nic_shared& nic, ports connected,
                std::uint64_t mac);

  /// The functions as firmware leaves them: the initial value of the level that pcie_rx reads.
  [[nodiscard]] static function_map reset_functions(const parameters& params);
  /// Likewise the virtual ports.
  [[nodiscard]] static vport_table reset_vports(const parameters& params, std::uint64_t mac);

  /// Reads registers outside time and without side effects (transport_dbg). False for a place that
  /// the function does not have.
  bool debug_read(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                  std::span<std::uint8_t> into);

  [[nodiscard]] const command_core& commands() const { return core_; }

 private:
  enum class phase : std::uint8_t { idle, serving, reading, writing, settling, telling };

  /// What a driver can write and read back.
  struct function_registers {
    std::uint32_t queue_high = 0;
    std::uint32_t queue_low = bar0::CmdqAddrLSzReset;
    std::array<std::uint32_t, 5> rates{};  ///< RP_RATE, TARGET, CURRENT, TIMER, QPN
  };

  void evaluate(cycle_t t) override;
  void write(const mmio_write& access, cycle_t t);
  void answer(const mmio_read& access, cycle_t t);
  bool read_register(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                     std::span<std::uint8_t> into, cycle_t t) const;
  [[nodiscard]] std::optional<std::uint32_t> read_dword(std::uint16_t function, std::uint8_t bar,
                                                        std::uint64_t offset, cycle_t t) const;
  [[nodiscard]] std::uint32_t read_function(std::uint16_t function, std::uint64_t offset,
                                            cycle_t t) const;
  [[nodiscard]] bool write_dword(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                                 std::uint32_t value, cycle_t t);
  [[nodiscard]] bool write_function(std::uint16_t function, std::uint64_t offset,
                                    std::uint32_t value);

  [[nodiscard]] bool initializing() const { return debug_.firmware() != firmware_state::Running; }

  // Entries and mailboxes on their way; one of each a cycle.
  void take_data(cycle_t t);
  void fetch(cycle_t t);
  void deliver(cycle_t t);
  void tell_driver(cycle_t t);
  [[nodiscard]] bool wants_command_events(std::uint16_t function) const;

  // The command being served; each returns true if the phase moved on and the next may start in the
  // same cycle.
  void serve(cycle_t t);
  bool read_lines(cycle_t t);
  bool write_lines(cycle_t t);
  bool tell(cycle_t t);
  bool tell_owners(cycle_t t);
  template <class Command>
  bool tell_one(stream<Command>& owner, const Command& command, cycle_t t);
  void execute();
  void finish(cycle_t t);

  nic_shared& nic_;
  ports ports_;
  command_core core_;
  std::vector<function_registers> functions_;
  debug_registers debug_;
  command_queue queue_;
  std::array<buffer_ref, command_queue::Slots> buffers_;  ///< of the reads under way

  unsigned slot_ = 0;  ///< of the command that is served
  phase phase_ = phase::idle;
  cycle_t until_ = 0;                 ///< end of a phase of known length
  std::vector<context_read> wanted_;  ///< lines to read before the command
  std::size_t requested_ = 0;         ///< of them
  std::size_t answered_ = 0;
  std::size_t written_ = 0;
  std::size_t told_ = 0;  ///< owners
};

}  // namespace carillon
