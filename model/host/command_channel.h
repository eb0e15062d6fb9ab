// The driver's side of a function's command queue: entries and mailboxes in host memory, the
// doorbell, and waiting until the device gives an entry back.
//
// An entry is a slot that one core has from the building of its command until the output is taken;
// commands of several cores are under way at the same time, and a core waits only if all entries
// are used. A core polls its entry, or, once the driver has an event queue for commands, waits for
// events: one core at a time polls that queue, and each looks at its own entry then.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gen/contexts.h"
#include "gen/registers.h"
#include "host/cpu.h"
#include "host/machine.h"
#include "host/task.h"

namespace carillon {

class event_queue;

class command_channel {
 public:
  explicit command_channel(machine& host);
  command_channel(const command_channel&) = delete;
  command_channel& operator=(const command_channel&) = delete;
  ~command_channel();

  /// Allocates the queue and tells the device at BAR0 where it is.
  task<> start(cpu& core, std::uint64_t bar0);

  /// Runs a command; `output` is as long as what is asked for. Its bytes count if it was delivered;
  /// without a queue that the device knows of it is not (Internal).
  task<command_delivery> run(cpu& core, std::span<const std::uint8_t> input,
                             std::span<std::uint8_t> output);

  /// The device has forgotten the queue: the commands that are under way, and all later ones, end
  /// as not delivered (Internal). Cores that wait for events are not woken.
  void abandon();

  /// From now on cores wait for the events of this queue, which must take no others and outlive the
  /// commands; nullptr: they poll.
  void wait_for(event_queue* events) { events_ = events; }

  /// Of an input or an output, with the entry not signed either.
  void sign(bool signatures) { sign_ = signatures; }

 private:
  struct slot;

  /// A chain of mailboxes, made longer when it must be.
  struct mailbox_chain {
    std::vector<std::uint64_t> boxes;

    void reserve(machine& host, std::uint32_t count);

    [[nodiscard]] std::uint64_t first(std::uint32_t count) const {
      return count == 0 ? 0 : boxes[0];
    }
  };

  slot& choose();
  void write_chain(const mailbox_chain& chain, std::span<const std::uint8_t> data,
                   std::uint32_t count, std::uint8_t token);
  void write_entry(slot& mine, std::span<const std::uint8_t> input, std::uint32_t output_bytes);
  command_delivery take_output(const slot& mine, std::span<std::uint8_t> output) const;
  task<> wait(cpu& core, slot& mine);

  machine& host_;
  std::uint64_t bar0_ = 0;
  std::uint64_t queue_ = 0;  ///< 0: the device knows of none
  std::vector<std::unique_ptr<slot>> slots_;
  unsigned next_ = 0;  ///< whose turn it is if all are used
  std::uint8_t token_ = 0;
  bool sign_ = true;
  event_queue* events_ = nullptr;
  cpu_lock events_lock_;
};

}  // namespace carillon
