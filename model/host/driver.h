// The driver: brings a device up through its registers and command interface and makes the objects
// that verbs.h works with.
//
// Nothing reaches behind the device's back: every call here is a sequence of MMIO stores and loads
// by a core in simulated time. A command that the device refuses is the user's mistake (too many
// objects, impossible attributes) and thrown as command_refused, which names the command, its
// status and its syndrome.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/posted_work.h"
#include "common/roce_packet.h"
#include "gen/contexts.h"
#include "gen/registers.h"
#include "host/cpu.h"
#include "host/machine.h"
#include "host/task.h"

namespace carillon {

class queue_pair;

class command_refused : public config_error {
 public:
  command_refused(command_opcode opcode, command_status status, command_syndrome syndrome);

  const command_opcode opcode;
  const command_status status;
  const command_syndrome syndrome;
};

/// Where the operating system has mapped the function's BARs.
struct device_location {
  std::uint64_t bar0 = 0;
  std::uint64_t bar2 = 0;
  std::uint16_t function = 0;
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

struct memory_access_rights {
  bool local_write = true;
  bool remote_read = true;
  bool remote_write = true;
};

struct memory_region {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint32_t key = 0;  ///< lkey and rkey are the same number

  [[nodiscard]] std::uint32_t index() const { return key >> MkeyVariantBits; }
};

struct command_reply {
  command_status status = command_status::Ok;
  command_syndrome syndrome = command_syndrome::None;
  std::uint32_t number = 0;
};

class device {
 public:
  /// `posted`: the NIC's table of traced work, beside the data.
  device(machine& host, device_location where, posted_work& posted, const gid& address);
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Enables and initialises the function, reads what it can do and gives it its address. The
  /// second of several callers waits for the first.
  task<> open(cpu& core);

  task<std::uint32_t> alloc_pd(cpu& core);
  /// The page lives as long as the device object.
  task<uar_handle*> alloc_uar(cpu& core);
  task<memory_region> register_memory(cpu& core, std::uint32_t pd, std::uint64_t address,
                                      std::uint64_t length, memory_access_rights rights = {},
                                      std::uint8_t variant = 0);
  task<> deregister_memory(cpu& core, memory_region region);

  /// Runs a command; `output` is filled with as much of its output. Both are multiples of 8 bytes
  /// and outlive the call. Commands of several cores follow each other. Throws command_refused.
  task<command_reply> command(cpu& core, std::span<const std::uint8_t> input,
                              std::span<std::uint8_t> output = {});
  /// The same, but a refusal is an answer like another.
  task<command_reply> try_command(cpu& core, std::span<const std::uint8_t> input,
                                  std::span<std::uint8_t> output = {});
  /// A command about one object.
  task<command_reply> command(cpu& core, command_opcode opcode, std::uint32_t number);

  [[nodiscard]] machine& host() { return host_; }

  [[nodiscard]] posted_work& posted() { return posted_; }

  [[nodiscard]] const hca_cap& capabilities() const { return capabilities_; }

  [[nodiscard]] std::uint64_t mac() const { return mac_; }

  [[nodiscard]] const gid& address() const { return address_; }

  /// The QP of that number, or nullptr.
  [[nodiscard]] queue_pair* find(std::uint32_t qpn) const {
    return qpn < qps_.size() ? qps_[qpn] : nullptr;
  }

  void enter(std::uint32_t qpn, queue_pair* qp);

 private:
  task<> bring_up(cpu& core);
  task<std::uint64_t> load(cpu& core, std::uint32_t offset, std::uint32_t bytes);
  task<> read_output(cpu& core, std::span<std::uint8_t> output);

  machine& host_;
  const device_location where_;
  posted_work& posted_;
  const gid address_;
  hca_cap capabilities_;
  std::uint64_t mac_ = 0;
  std::vector<std::unique_ptr<uar_handle>> uars_;
  std::vector<queue_pair*> qps_;
  cpu_lock command_lock_;
  cpu_lock open_lock_;
  bool opened_ = false;
};

}  // namespace carillon
