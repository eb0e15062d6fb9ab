// The command queues of all functions as a plain core: which entries were rung for, what must be
// read of them and their mailboxes, which command is next, and what is written when it is done.
//
// A queue has 32 entries of 64 bytes in host memory. The first 16 bytes of input and output are in
// the entry, the others in chains of mailboxes; a chain is read mailbox by mailbox, as each names
// the next. The output's mailboxes are read before the command, so that a command with a broken
// chain has no effect. The output's mailboxes are written before the entry, whose last byte gives
// it back to the driver.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/command_format.h"
#include "common/counters.h"
#include "gen/contexts.h"
#include "gen/registers.h"
#include "gen/stages.h"

namespace carillon {

class command_queue {
 public:
  /// Commands under way. No function has all of them, so that another one's need not wait until a
  /// flood is over.
  static constexpr unsigned Slots = stage_spec::pcie_endpoint::Outstanding;
  static constexpr unsigned SlotsOfFunction = Slots / 2;
  static constexpr unsigned LogEntries = bar0::CmdqAddrLSzReset >> 4 & 0xf;
  static constexpr unsigned LogStride = bar0::CmdqAddrLSzReset & 0xf;

  struct read_request {
    unsigned slot = 0;
    std::uint16_t function = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 0;
  };

  /// The bytes are valid until the next call.
  struct write_request {
    std::uint16_t function = 0;
    std::uint64_t address = 0;
    std::span<const std::uint8_t> bytes;
  };

  /// Entries of a function that are the driver's again.
  struct completion {
    std::uint16_t function = 0;
    std::uint32_t vector = 0;
  };

  struct limits {
    std::size_t functions = 1;
    std::uint32_t most_input = 0;
    std::uint32_t most_output = 0;
  };

  command_queue(const limits& allowed, counter_block& counters);

  /// Where the function's queue is; 0 is nowhere.
  void place(std::uint16_t function, std::uint64_t address);

  /// The doorbell vector. Entries that cannot be taken are counted.
  void ring(std::uint16_t function, std::uint32_t vector);

  /// The next read, once: of a chain that goes on, or of a new entry.
  [[nodiscard]] std::optional<read_request> next_read();
  /// Its answer; `bytes` counts only if the read succeeded.
  void arrived(unsigned slot, bool read, const std::uint8_t* bytes);

  /// A command that is complete, if there is one: functions in turn, the oldest of each first. It
  /// is the one in execution until finish().
  [[nodiscard]] std::optional<unsigned> next_command();
  [[nodiscard]] bool has_command() const;

  [[nodiscard]] std::uint16_t function(unsigned slot) const { return slots_[slot].function; }

  [[nodiscard]] std::span<const std::uint8_t> input(unsigned slot) const {
    return slots_[slot].input;
  }

  [[nodiscard]] std::span<std::uint8_t> output(unsigned slot) { return slots_[slot].output; }

  /// Its output is there.
  void finish(unsigned slot);

  /// The next write, once. With the write of an entry its command is over.
  [[nodiscard]] std::optional<write_request> next_write();

  [[nodiscard]] bool has_write() const { return !leaving_.empty(); }

  /// What has ended since it was last asked, by function.
  [[nodiscard]] std::optional<completion> next_completion() const;
  void take_completion();

  /// The function begins anew: it has no queue, and nothing of it is read or written any more. Of a
  /// command in execution only the answer is lost.
  void reset(std::uint16_t function);

  /// The last entry of the function that could not be read.
  [[nodiscard]] std::optional<std::uint16_t> unreadable(std::uint16_t function) const {
    return functions_[function].unreadable;
  }

 private:
  enum class step : std::uint8_t { free, entry, input, output, ready, executing, leaving };

  struct output_mailbox {
    std::uint64_t address = 0;
    std::array<std::uint8_t, mailbox_control::Size> control{};
  };

  struct command {
    step at = step::free;
    bool wants_read = false;
    bool abandoned = false;  ///< the function began anew meanwhile
    bool readable = true;    ///< the entry was
    std::uint16_t function = 0;
    std::uint8_t entry_number = 0;
    std::uint64_t age = 0;
    std::uint64_t address = 0;  ///< of the entry
    std::uint64_t mailbox = 0;  ///< to be read next
    std::uint32_t mailboxes = 0;
    std::array<std::uint8_t, command_entry::Size> raw{};
    command_entry entry;
    std::vector<std::uint8_t> input;
    std::vector<std::uint8_t> output;
    std::vector<output_mailbox> outputs;
    std::size_t written = 0;  ///< of them
  };

  struct function_queue {
    std::uint64_t address = 0;
    std::uint32_t rung = 0;
    std::uint32_t busy = 0;  ///< entries that slots have
    std::uint32_t done = 0;  ///< of which nobody was told
    std::uint8_t slots = 0;
    std::uint8_t last = (1U << LogEntries) - 1;  ///< entry taken last
    std::optional<std::uint16_t> unreadable;
  };

  [[nodiscard]] std::optional<unsigned> take_entry();
  void take_input(command& what, const std::uint8_t* bytes);
  void take_output(command& what, const std::uint8_t* bytes);
  void read_entry(command& what, const std::uint8_t* bytes);
  [[nodiscard]] command_delivery check_entry(const command& what) const;
  [[nodiscard]] static command_delivery check_mailbox(const command& what,
                                                      const mailbox_control& control);
  /// Goes on with the chain at `next` or, when it is complete, with what follows it.
  void follow(command& what, std::uint64_t next);
  void begin_output(command& what);
  void fail(command& what, command_delivery why);
  void leave(command& what);
  void release(command& what);

  [[nodiscard]] unsigned index(const command& what) const {
    return static_cast<unsigned>(&what - slots_.data());
  }

  const limits limits_;
  counter_block& counters_;
  std::array<command, Slots> slots_;
  std::vector<function_queue> functions_;
  std::deque<std::uint16_t> waiting_;  ///< functions with entries rung for
  std::deque<unsigned> leaving_;       ///< slots whose writes are due
  std::deque<std::uint16_t> ended_;    ///< functions with `done` entries
  std::uint64_t ages_ = 0;
  std::uint16_t served_ = 0;  ///< function whose command was executed last
  std::array<std::uint8_t, MailboxBytes> bytes_{};
};

}  // namespace carillon
