#include "pcie_endpoint/command_queue.h"

#include <algorithm>
#include <bit>

#include "common/error.h"
#include "gen/bytes.h"

namespace carillon {

namespace {

constexpr unsigned Entries = 1U << command_queue::LogEntries;
static_assert(Entries == 32, "the doorbell vector has a bit for each entry");
constexpr std::uint64_t MailboxMask = (std::uint64_t{1} << LogMailboxAlign) - 1;

}  // namespace

command_queue::command_queue(const limits& allowed, counter_block& counters)
    : limits_(allowed), counters_(counters), functions_(allowed.functions) {}

void command_queue::place(std::uint16_t function, std::uint64_t address) {
  functions_[function].address = address;
}

void command_queue::ring(std::uint16_t function, std::uint32_t vector) {
  function_queue& mine = functions_[function];
  const std::uint32_t refused = mine.address == 0 ? vector : vector & mine.busy;
  counters_.add_for(function, counter::CommandDoorbellsIgnored,
                    static_cast<std::uint64_t>(std::popcount(refused)));
  const std::uint32_t taken = vector & ~refused;
  if (taken != 0 && mine.rung == 0) {
    waiting_.push_back(function);
  }
  mine.rung |= taken;
}

// Reading

std::optional<command_queue::read_request> command_queue::next_read() {
  command* next = nullptr;
  for (command& each : slots_) {
    if (each.wants_read && (next == nullptr || each.age < next->age)) {
      next = &each;
    }
  }
  if (next == nullptr) {
    const auto taken = take_entry();
    if (!taken) {
      return std::nullopt;
    }
    next = &slots_[*taken];
  }
  next->wants_read = false;
  read_request read{.slot = index(*next), .function = next->function};
  switch (next->at) {
    case step::entry:
      read.address = next->address;
      read.length = command_entry::Size;
      break;
    case step::input:
      read.address = next->mailbox;
      read.length = MailboxBytes;
      break;
    default:
      // Of an output mailbox the end is enough.
      read.address = next->mailbox + MailboxDataBytes;
      read.length = mailbox_control::Size;
      break;
  }
  return read;
}

/// A slot for the next entry: functions in turn, and those of a function in turn.
std::optional<unsigned> command_queue::take_entry() {
  const auto slot = std::find_if(slots_.begin(), slots_.end(),
                                 [](const command& each) { return each.at == step::free; });
  const auto who = std::find_if(waiting_.begin(), waiting_.end(), [this](std::uint16_t each) {
    return functions_[each].slots < SlotsOfFunction;
  });
  if (slot == slots_.end() || who == waiting_.end()) {
    return std::nullopt;
  }
  const std::uint16_t function = *who;
  waiting_.erase(who);
  function_queue& queue = functions_[function];
  const unsigned first = (queue.last + 1U) % Entries;
  const auto number =
      (first +
       static_cast<unsigned>(std::countr_zero(std::rotr(queue.rung, static_cast<int>(first))))) %
      Entries;
  const std::uint32_t bit = std::uint32_t{1} << number;
  queue.rung &= ~bit;
  queue.busy |= bit;
  queue.last = static_cast<std::uint8_t>(number);
  ++queue.slots;
  if (queue.rung != 0) {
    waiting_.push_back(function);
  }
  slot->at = step::entry;
  slot->function = function;
  slot->entry_number = static_cast<std::uint8_t>(number);
  slot->age = ages_++;
  slot->address = queue.address + (std::uint64_t{number} << LogStride);
  return index(*slot);
}

void command_queue::arrived(unsigned slot, bool read, const std::uint8_t* bytes) {
  command& what = slots_[slot];
  if (what.abandoned) {
    release(what);
    return;
  }
  if (!read) {
    what.readable = what.at != step::entry;
    if (!what.readable) {
      functions_[what.function].unreadable = what.entry_number;
    }
    fail(what, command_delivery::Internal);
    return;
  }
  switch (what.at) {
    case step::entry:
      read_entry(what, bytes);
      break;
    case step::input:
      take_input(what, bytes);
      break;
    default:
      take_output(what, bytes);
      break;
  }
}

void command_queue::read_entry(command& what, const std::uint8_t* bytes) {
  std::copy_n(bytes, command_entry::Size, what.raw.begin());
  what.entry = command_entry::unpack(bytes);
  if (what.entry.ownership == 0) {
    counters_.add_for(what.function, counter::CommandDoorbellsIgnored);
    release(what);
    return;
  }
  if (const auto status = check_entry(what); status != command_delivery::Ok) {
    fail(what, status);
    return;
  }
  const command_entry& entry = what.entry;
  const auto here = std::min<std::uint32_t>(entry.input_length, CommandInlineBytes);
  what.input.assign(entry.input_inline.begin(), entry.input_inline.begin() + here);
  what.mailboxes = 0;
  what.at = step::input;
  follow(what, entry.input_mailbox);
}

command_delivery command_queue::check_entry(const command& what) const {
  const command_entry& entry = what.entry;
  if (entry.kind != CommandType) {
    return command_delivery::Descriptor;
  }
  if (!signature_holds(what.raw)) {
    return command_delivery::Signature;
  }
  // What an entry is made of again has zeros where nothing is defined.
  std::array<std::uint8_t, command_entry::Size> defined{};
  entry.pack(defined.data());
  if (defined != what.raw) {
    return command_delivery::ReservedField;
  }
  if (entry.input_length < cmd_in::Size || entry.input_length > limits_.most_input) {
    return command_delivery::InputLength;
  }
  if (entry.output_length < cmd_out::Size || entry.output_length > limits_.most_output) {
    return command_delivery::OutputLength;
  }
  return command_delivery::Ok;
}

command_delivery command_queue::check_mailbox(const command& what, const mailbox_control& control) {
  if (control.token != what.entry.token) {
    return command_delivery::Token;
  }
  return control.block_number == what.mailboxes ? command_delivery::Ok
                                                : command_delivery::BlockNumber;
}

void command_queue::take_input(command& what, const std::uint8_t* bytes) {
  const std::span<const std::uint8_t, MailboxBytes> box(bytes, MailboxBytes);
  const auto control = mailbox_control::unpack(bytes + MailboxDataBytes);
  const command_delivery status =
      mailbox_signature_holds(box) ? check_mailbox(what, control) : command_delivery::Signature;
  if (status != command_delivery::Ok) {
    fail(what, status);
    return;
  }
  const std::size_t here =
      std::min<std::size_t>(what.entry.input_length - what.input.size(), MailboxDataBytes);
  what.input.insert(what.input.end(), bytes, bytes + here);
  ++what.mailboxes;
  follow(what, control.next);
}

void command_queue::take_output(command& what, const std::uint8_t* bytes) {
  const std::span<const std::uint8_t, mailbox_control::Size> raw(bytes, mailbox_control::Size);
  const auto control = mailbox_control::unpack(bytes);
  const command_delivery status =
      control_signature_holds(raw) ? check_mailbox(what, control) : command_delivery::Signature;
  if (status != command_delivery::Ok) {
    fail(what, status);
    return;
  }
  output_mailbox& box = what.outputs.emplace_back();
  box.address = what.mailbox;
  std::copy_n(bytes, mailbox_control::Size, box.control.begin());
  ++what.mailboxes;
  follow(what, control.next);
}

void command_queue::follow(command& what, std::uint64_t next) {
  const bool input = what.at == step::input;
  const std::uint32_t wanted =
      mailboxes_of(input ? what.entry.input_length : what.entry.output_length);
  if (what.mailboxes < wanted) {
    if (next == 0) {
      fail(what, input ? command_delivery::InputLength : command_delivery::OutputLength);
    } else if ((next & MailboxMask) != 0) {
      fail(what, input ? command_delivery::InputPointer : command_delivery::OutputPointer);
    } else {
      what.mailbox = next;
      what.wants_read = true;
    }
  } else if (input) {
    what.mailboxes = 0;
    what.at = step::output;
    what.outputs.clear();
    follow(what, what.entry.output_mailbox);
  } else {
    what.output.assign(what.entry.output_length, 0);
    what.at = step::ready;
  }
}

// Executing

bool command_queue::has_command() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const command& each) { return each.at == step::ready; });
}

std::optional<unsigned> command_queue::next_command() {
  const auto turn = [this](const command& each) {
    const std::size_t count = functions_.size();
    return (each.function + count - served_ - 1) % count;
  };
  const command* next = nullptr;
  for (const command& each : slots_) {
    if (each.at != step::ready) {
      continue;
    }
    if (next == nullptr || turn(each) < turn(*next) ||
        (each.function == next->function && each.age < next->age)) {
      next = &each;
    }
  }
  if (next == nullptr) {
    return std::nullopt;
  }
  served_ = next->function;
  slots_[index(*next)].at = step::executing;
  return index(*next);
}

void command_queue::finish(unsigned slot) {
  command& what = slots_[slot];
  CARILLON_CHECK(what.at == step::executing, "pcie_endpoint: slot {} executes no command", slot);
  if (what.abandoned) {
    release(what);
    return;
  }
  what.entry.status = command_delivery::Ok;
  std::copy_n(what.output.begin(), std::min<std::size_t>(what.output.size(), CommandInlineBytes),
              what.entry.output_inline.begin());
  leave(what);
}

void command_queue::fail(command& what, command_delivery why) {
  counters_.add_for(what.function, counter::CommandDeliveryErrors);
  what.entry.status = why;
  what.outputs.clear();
  leave(what);
}

void command_queue::leave(command& what) {
  what.at = step::leaving;
  what.written = 0;
  leaving_.push_back(index(what));
}

// Writing

std::optional<command_queue::write_request> command_queue::next_write() {
  if (leaving_.empty()) {
    return std::nullopt;
  }
  command& what = slots_[leaving_.front()];
  write_request write{.function = what.function};
  if (what.written < what.outputs.size()) {
    const output_mailbox& box = what.outputs[what.written];
    const std::size_t from = CommandInlineBytes + what.written * MailboxDataBytes;
    const std::size_t here = std::min<std::size_t>(what.output.size() - from, MailboxDataBytes);
    bytes_.fill(0);
    std::copy_n(what.output.begin() + static_cast<std::ptrdiff_t>(from), here, bytes_.begin());
    std::copy(box.control.begin(), box.control.end(), bytes_.begin() + MailboxDataBytes);
    if (mailbox_control::unpack(box.control.data()).control_signature != 0) {
      sign_mailbox(bytes_);
    }
    write.address = box.address;
    write.bytes = bytes_;
    ++what.written;
    return write;
  }
  leaving_.pop_front();
  function_queue& mine = functions_[what.function];
  if (mine.done == 0) {
    ended_.push_back(what.function);
  }
  mine.done |= std::uint32_t{1} << what.entry_number;
  write.address = what.address;
  if (what.readable) {
    what.entry.ownership = 0;
    what.entry.pack(bytes_.data());
    // What the device does not define stays as the driver wrote it.
    const auto entry = std::span(bytes_).first<command_entry::Size>();
    if (what.entry.signature != 0) {
      sign_entry(entry);
    }
    write.bytes = entry;
  } else {
    // Of the entry nothing is known but where its last word is.
    const command_entry unknown{.status = command_delivery::Internal};
    unknown.pack(bytes_.data());
    write.address += command_entry::at::Token;
    write.bytes = std::span(bytes_).subspan(command_entry::at::Token, 4);
  }
  release(what);
  return write;
}

std::optional<command_queue::completion> command_queue::next_completion() const {
  if (ended_.empty()) {
    return std::nullopt;
  }
  return completion{ended_.front(), functions_[ended_.front()].done};
}

void command_queue::take_completion() {
  functions_[ended_.front()].done = 0;
  ended_.pop_front();
}

void command_queue::release(command& what) {
  if (!what.abandoned) {
    function_queue& mine = functions_[what.function];
    mine.busy &= ~(std::uint32_t{1} << what.entry_number);
    --mine.slots;
  }
  what.at = step::free;
  what.abandoned = false;
  what.readable = true;
  what.wants_read = false;
}

void command_queue::reset(std::uint16_t function) {
  for (command& each : slots_) {
    if (each.at == step::free || each.function != function || each.abandoned) {
      continue;
    }
    // A read that is under way comes back; the command in execution ends.
    const bool reading = !each.wants_read && (each.at == step::entry || each.at == step::input ||
                                              each.at == step::output);
    if (reading || each.at == step::executing) {
      each.abandoned = true;
      continue;
    }
    std::erase(leaving_, index(each));
    release(each);
  }
  std::erase(waiting_, function);
  std::erase(ended_, function);
  functions_[function] = {};
}

}  // namespace carillon
