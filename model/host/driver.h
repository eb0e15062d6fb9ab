// The driver: brings a device up through its registers and command interface and makes the objects
// that verbs.h works with.
//
// Nothing reaches behind the device's back: every call here is a sequence of stores and loads by a
// core in simulated time, of registers and of host memory. A command that the device refuses is the
// user's mistake (too many objects, impossible attributes) and thrown as command_refused, which
// names the command, its status and its syndrome.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/posted_work.h"
#include "common/roce_packet.h"
#include "gen/contexts.h"
#include "gen/registers.h"
#include "host/command_channel.h"
#include "host/cpu.h"
#include "host/machine.h"
#include "host/memory_region.h"
#include "host/pci_bus.h"
#include "host/task.h"
#include "host/verbs_observer.h"

namespace carillon {

class completion_queue;
class event_queue;
class interrupt_line;
class queue_pair;

class command_refused : public config_error {
 public:
  command_refused(command_opcode opcode, command_status status, command_syndrome syndrome);

  const command_opcode opcode;
  const command_status status;
  const command_syndrome syndrome;
};

/// A UAR page and the lock that a post holds across its doorbell.
struct uar_handle {
  std::uint32_t number = 0;
  std::uint64_t address = 0;
  cpu_lock lock;
  unsigned queue_pairs = 0;  ///< that ring it

  /// Only then is there anybody to lock out: a queue pair is posted to by one core at a time.
  [[nodiscard]] bool shared() const { return queue_pairs > 1; }
};

/// An entry of the device's address table: IPv4 (as a mapped GID) or IPv6, perhaps in a VLAN.
struct source_address {
  gid address{};
  std::optional<std::uint16_t> vlan;
};

/// A command that was not delivered is InternalError with the syndrome Mailbox.
struct command_reply {
  command_status status = command_status::Ok;
  command_syndrome syndrome = command_syndrome::None;
  command_delivery delivery = command_delivery::Ok;
  std::uint32_t number = 0;
};

class device : private reset_listener {
 public:
  /// The device in `slot`: its PF (0) or VF `function` - 1. `posted`: the NIC's table of traced
  /// work, beside the data.
  device(machine& host, pci_bus& slot, unsigned function, posted_work& posted, const gid& address);
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Enumerates the slot if nobody has, enables and initialises the function, reads what it can do
  /// and gives it its address. The second of several callers waits for the first. Throws
  /// config_error for a VF that the slot has not enabled.
  task<> open(cpu& core);

  task<std::uint32_t> alloc_pd(cpu& core);
  /// The page lives as long as the device object.
  task<uar_handle*> alloc_uar(cpu& core);
  /// The same, or nullptr if the function has no page left.
  task<uar_handle*> try_alloc_uar(cpu& core);
  /// Contiguous memory; virtual addresses are the physical ones. Only QP `qpn` may use the key.
  task<memory_region> register_memory(cpu& core, std::uint32_t pd, std::uint64_t address,
                                      std::uint64_t length, memory_access_rights rights = {},
                                      std::uint8_t variant = 0, std::uint32_t qpn = MkeyAnyQp);
  /// `length` bytes from pages.start on. Throws config_error if the list is too short or too long
  /// for a command.
  task<memory_region> register_pages(cpu& core, std::uint32_t pd, const page_list& pages,
                                     std::uint64_t length, memory_access_rights rights = {},
                                     std::uint8_t variant = 0, std::uint32_t qpn = MkeyAnyQp);
  task<> deregister_memory(cpu& core, memory_region region);

  /// Enters an address into the device's table. Entry 0 is the device's first address.
  task<> set_address(cpu& core, unsigned index, const source_address& entry);

  /// Runs a command; `output` is filled with its output and must have room for all of it if that is
  /// more than a cmd_out. Both outlive the call. Those of several cores are under way at the same
  /// time. Throws command_refused.
  task<command_reply> command(cpu& core, std::span<const std::uint8_t> input,
                              std::span<std::uint8_t> output = {});
  /// The same, but a refusal is an answer like another.
  task<command_reply> try_command(cpu& core, std::span<const std::uint8_t> input,
                                  std::span<std::uint8_t> output = {});
  /// A command about one object.
  task<command_reply> command(cpu& core, command_opcode opcode, std::uint32_t number);

  /// Gives an MSI-X vector of the function to a core of the host and unmasks it.
  task<> bind_vector(cpu& core, std::uint16_t vector, unsigned to_core);

  /// What a vector is bound to, or nullptr.
  [[nodiscard]] interrupt_line* vector(std::uint16_t number) const {
    return number < vectors_.size() ? vectors_[number] : nullptr;
  }

  /// From now on commands end by events of this queue, which takes no others; nullptr: cores poll.
  void wait_for_commands_by(event_queue* events) { commands_.wait_for(events); }

  /// Whether commands are signed; they are unless told otherwise.
  void sign_commands(bool signatures) { commands_.sign(signatures); }

  [[nodiscard]] machine& host() { return host_; }

  [[nodiscard]] posted_work& posted() { return posted_; }

  [[nodiscard]] const hca_cap& capabilities() const { return capabilities_; }

  [[nodiscard]] std::uint64_t mac() const { return mac_; }

  /// Zeros for an entry that was never set.
  [[nodiscard]] const gid& address(unsigned index = 0) const;

  /// The QP or CQ of that number, or nullptr.
  [[nodiscard]] queue_pair* find(std::uint32_t qpn) const {
    return qpn < qps_.size() ? qps_[qpn] : nullptr;
  }

  [[nodiscard]] completion_queue* find_cq(std::uint32_t cqn) const {
    return cqn < cqs_.size() ? cqs_[cqn] : nullptr;
  }

  /// A judge beside the programs, or nullptr.
  void observe(verbs_observer* observer) { observer_ = observer; }

  [[nodiscard]] verbs_observer* observer() const { return observer_; }

  void enter(std::uint32_t qpn, queue_pair* qp);
  void enter_cq(std::uint32_t cqn, completion_queue* cq);

 private:
  void function_reset() override;
  task<> bring_up(cpu& core);
  task<> identify(cpu& core);
  task<> wait_for_firmware(cpu& core);
  task<std::uint64_t> load(cpu& core, std::uint32_t offset, std::uint32_t bytes);

  machine& host_;
  pci_bus& slot_;
  const unsigned function_;
  pci_function where_;  ///< once it is open
  posted_work& posted_;
  std::vector<source_address> addresses_;
  hca_cap capabilities_;
  std::uint64_t mac_ = 0;
  std::vector<std::unique_ptr<uar_handle>> uars_;
  std::vector<queue_pair*> qps_;
  std::vector<completion_queue*> cqs_;
  std::vector<interrupt_line*> vectors_;
  command_channel commands_;
  cpu_lock open_lock_;
  bool opened_ = false;
  verbs_observer* observer_ = nullptr;
};

}  // namespace carillon
