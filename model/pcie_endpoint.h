// pcie_endpoint: configuration space, the registers of BAR0 and BAR4, and the command interface
// behind them.
//
// One access of each kind a cycle; nothing here ever stalls PCIe: writes are always taken, and a
// read waits only for room in the answer stream. Commands come from queues in host memory
// (pcie_endpoint/command_queue.h): several are fetched and answered at the same time, one is served
// at a time, functions in turn. What a command computes is in pcie_endpoint/commands.h; here it
// moves: the lines that the pipeline may have changed are read before a command, lines are written
// after it one a cycle, and only when the context RAM has them all are the owners of the state
// told, and after them the driver.
//
// Configuration requests and function-level resets are in pcie_endpoint/configuration.cpp. A reset
// function's objects are destroyed one after another by commands that nobody has given; commands of
// other functions take turns with them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/msix.h"
#include "common/nic_shared.h"
#include "common/rate_items.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/vport.h"
#include "pcie_endpoint/command_queue.h"
#include "pcie_endpoint/commands.h"
#include "pcie_endpoint/config_space.h"
#include "pcie_endpoint/counter_snapshot.h"
#include "pcie_endpoint/debug_registers.h"
#include "pcie_endpoint/msix_registers.h"

namespace carillon {

class pcie_endpoint final : public stage {
 public:
  struct ports {
    stream<mmio_write>& writes;                ///< of BAR0 and BAR4 - pcie_rx
    stream<mmio_read>& reads;                  ///< likewise - pcie_rx
    stream<mmio_answer>& answers;              ///< - dma_engine
    stream<context_read>& line_reads;          ///< what the pipeline may have changed - qpc_ram
    stream<context_line>& lines;               ///< - qpc_ram
    stream<context_write>& line_writes;        ///< - qpc_ram
    std::vector<stream<qp_command>*> owners;   ///< - wqe_fetch, tx_sched, requester, responder
    stream<cq_command>& completion;            ///< CQs and EQs created or destroyed - completion
    stream<srq_command>& srqs;                 ///< SRQs created, destroyed or armed - responder
    stream<dma_read>& queue_reads;             ///< command entries and mailboxes - dma_engine
    stream<dma_read_done>& queue_data;         ///< - dma_engine
    stream<dma_write>& queue_writes;           ///< mailboxes, then the entry - dma_engine
    stream<async_event>& events;               ///< entries are done - completion
    stream<msix_command>& msix;                ///< table, enables, resets - completion
    level<msix_pending>& msix_pending_bits;    ///< held back by a mask - completion
    stream<config_request>& configs;           ///< - pcie_rx
    std::vector<stream<pcie_error>*> errors;   ///< - pcie_rx, dma_engine
    level<function_map>& functions;            ///< - pcie_rx, dma_engine, uar
    level<vport_table>& vports;                ///< - rx_parser, packet_builder, tx_sched
    level<partition_table>& partitions;        ///< - qpc_ram
    level<std::uint64_t>* icm_base = nullptr;  ///< where contexts are in host memory - qpc_ram
    // If there is rate control - rate_control
    stream<rate_command>* rates = nullptr;      ///< resets, RP registers, parameters
    stream<rate_value>* rate_values = nullptr;  ///< what RP registers show
  };

  /// `mac`: of function 0; function n has mac + n.
  pcie_endpoint(const sc_core::sc_module_name& name, nic_shared& nic, ports connected,
                std::uint64_t mac);

  /// The functions at power-up: the initial value of the level.
  [[nodiscard]] static function_map reset_functions(const parameters& params);
  /// Likewise the virtual ports.
  [[nodiscard]] static vport_table reset_vports(const parameters& params, std::uint64_t mac);
  /// Likewise the parts of the context RAM: VFs have none.
  [[nodiscard]] static partition_table reset_partitions(const parameters& params);

  /// Reads registers outside time and without side effects (transport_dbg). False for a place that
  /// the function does not have.
  bool debug_read(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                  std::span<std::uint8_t> into);

  [[nodiscard]] const command_core& commands() const { return core_; }

  [[nodiscard]] const config_space& space() const { return space_; }

 private:
  enum class phase : std::uint8_t { idle, serving, reading, writing, settling, telling };

  /// What a driver can write and read back.
  struct function_registers {
    std::uint32_t queue_high = 0;
    std::uint32_t queue_low = bar0::CmdqAddrLSzReset;
  };

  /// A function that is being reset.
  struct function_reset {
    std::uint16_t function = 0;
    bool torn = false;  ///< it has no object left
    cycle_t until = 0;  ///< then: the end of its quiet time
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
                                    std::uint32_t value, cycle_t t);
  [[nodiscard]] bool write_icm_base(std::uint16_t function, std::uint64_t address, cycle_t t);

  [[nodiscard]] bool initializing() const { return debug_.firmware() != firmware_state::Running; }

  void tell_msix(cycle_t t);

  // rate_registers.cpp
  [[nodiscard]] bool write_rate(std::uint16_t function, rp_register which, std::uint32_t value);
  void forget_rate(const qp_command& command);
  void set_congestion();
  void tell_rates(cycle_t t);

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
  void begin(cycle_t t);
  void execute(cycle_t t);
  void go_on(cycle_t t);
  void publish(cycle_t t);

  // configuration.cpp
  void configure(cycle_t t);
  void note_errors(cycle_t t);
  mmio_answer answer(const config_request& request, cycle_t t);
  void apply(const config_request& request, std::uint16_t function, cycle_t t);
  void publish_map(cycle_t t);
  void start_reset(std::uint16_t function, cycle_t t);
  void take_away(std::uint16_t vf, cycle_t t);
  void give_up_icm(cycle_t t);
  bool tear_down(cycle_t t);
  void finish_teardown(cycle_t t);
  void end_resets(cycle_t t);

  nic_shared& nic_;
  ports ports_;
  counter_snapshot counted_;
  command_core core_;
  std::vector<function_registers> functions_;
  debug_registers debug_;
  std::uint64_t icm_base_ = 0;  ///< as it was written
  command_queue queue_;
  ring<rate_command> rates_;                              ///< to be told
  std::array<buffer_ref, command_queue::Slots> buffers_;  ///< of the reads under way
  msix_registers msix_;

  unsigned slot_ = 0;  ///< of the command that is served
  phase phase_ = phase::idle;
  cycle_t until_ = 0;                 ///< end of a phase of known length
  std::vector<context_read> wanted_;  ///< lines to read before the command
  std::size_t requested_ = 0;         ///< of them
  std::size_t answered_ = 0;
  std::size_t written_ = 0;
  std::size_t told_ = 0;  ///< owners

  config_space space_;
  function_map map_;        ///< as the level has it
  bool answering_ = false;  ///< a register read, in this cycle
  std::vector<function_reset> resets_;
  bool tearing_ = false;  ///< what is served takes an object of a reset function away
  bool teardown_turn_ = true;
};

}  // namespace carillon
