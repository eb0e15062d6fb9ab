#include "host/command_channel.h"

#include <algorithm>

#include "common/command_format.h"
#include "common/error.h"
#include "gen/bytes.h"
#include "host/event_queue.h"

namespace carillon {

namespace {

constexpr std::size_t LastByte = command_entry::at::Ownership;
constexpr std::uint8_t OwnershipBit = 1;
constexpr std::uint64_t QueueAlign = 4096;
constexpr std::size_t LineBytes = 64;

ps_t copying(const cpu& core, std::size_t bytes) {
  return static_cast<ps_t>((bytes + LineBytes - 1) / LineBytes) *
         static_cast<ps_t>(core.params().cpu.wqe_build_ps);
}

void store_dword(cpu& core, std::uint64_t address, std::uint32_t value) {
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), value);
  core.store_uncached(address, raw);
}

}  // namespace

struct command_channel::slot final : polled_memory {
  slot(host_memory& memory, std::uint64_t at, unsigned index)
      : polled_memory(memory, at + LastByte, 1), entry(at), number(index) {}

  [[nodiscard]] bool ready() const override {
    std::uint8_t last = 0;
    memory_.read(entry + LastByte, &last, 1);
    return (last & OwnershipBit) == 0;
  }

  const std::uint64_t entry;
  const unsigned number;
  cpu_lock lock;
  mailbox_chain input;
  mailbox_chain output;

 private:
  void written(std::uint64_t /*address*/, std::uint64_t /*length*/) override {}
};

command_channel::command_channel(machine& host) : host_(host) {}

command_channel::~command_channel() = default;

task<> command_channel::start(cpu& core, std::uint64_t bar0) {
  bar0_ = bar0;
  const std::uint64_t word = co_await core.load(bar0_ + bar0::CmdqAddrLSz, 4);
  const auto shape = bar0::cmdq_addr_l_sz_value::unpack(static_cast<std::uint32_t>(word));
  const std::uint64_t entries = std::uint64_t{1} << shape.log_size;
  queue_ = host_.allocate(entries << shape.log_stride, QueueAlign);
  slots_.clear();
  for (unsigned i = 0; i < entries; ++i) {
    const std::uint64_t entry = queue_ + (std::uint64_t{i} << shape.log_stride);
    slots_.push_back(std::make_unique<slot>(host_.memory, entry, i));
  }
  store_dword(core, bar0_ + bar0::CmdqAddrH, static_cast<std::uint32_t>(queue_ >> 32));
  store_dword(core, bar0_ + bar0::CmdqAddrLSz, static_cast<std::uint32_t>(queue_));
}

command_channel::slot& command_channel::choose() {
  for (const auto& each : slots_) {
    if (!each->lock.held()) {
      return *each;
    }
  }
  return *slots_[next_++ % slots_.size()];
}

task<command_delivery> command_channel::run(cpu& core, std::span<const std::uint8_t> input,
                                            std::span<std::uint8_t> output) {
  co_await core.sync();
  if (queue_ == 0) {
    co_return command_delivery::Internal;
  }
  slot& mine = choose();
  co_await core.acquire(mine.lock);
  core.spend(copying(core, command_entry::Size + input.size()));
  co_await core.sync();
  if (queue_ == 0) {  // a reset came between
    core.release(mine.lock);
    co_return command_delivery::Internal;
  }
  write_entry(mine, input, static_cast<std::uint32_t>(output.size()));
  core.fence();
  store_dword(core, bar0_ + bar0::CmdDbell, std::uint32_t{1} << mine.number);
  co_await wait(core, mine);
  core.spend(static_cast<ps_t>(core.params().cpu.poll_cqe_ps) + copying(core, output.size()));
  const command_delivery result = take_output(mine, output);
  co_await core.sync();
  core.release(mine.lock);
  co_return result;
}

void command_channel::abandon() {
  queue_ = 0;
  for (const auto& each : slots_) {
    if (each->lock.held() && !each->ready()) {
      const auto last =
          static_cast<std::uint8_t>(static_cast<unsigned>(command_delivery::Internal) << 1);
      host_.memory.write(each->entry + LastByte, &last, 1);
    }
  }
}

task<> command_channel::wait(cpu& core, slot& mine) {
  if (events_ == nullptr) {
    co_await core.poll(mine);
    co_return;
  }
  co_await core.sync();
  while (!mine.ready()) {
    co_await core.acquire(events_lock_);
    if (!mine.ready()) {
      std::array<event, 8> seen{};
      co_await events_->wait(core, seen);
      co_await core.sync();
    }
    core.release(events_lock_);
  }
}

void command_channel::mailbox_chain::reserve(machine& host, std::uint32_t count) {
  while (boxes.size() < count) {
    boxes.push_back(host.allocate(MailboxBytes, std::uint64_t{1} << LogMailboxAlign));
  }
}

/// `data` is what the entry has no room for; the mailboxes of an output are empty.
void command_channel::write_chain(const mailbox_chain& chain, std::span<const std::uint8_t> data,
                                  std::uint32_t count, std::uint8_t token) {
  for (std::uint32_t i = 0; i < count; ++i) {
    std::array<std::uint8_t, MailboxBytes> box{};
    const auto here = data.subspan(std::min<std::size_t>(data.size(), i * MailboxDataBytes));
    std::copy_n(here.begin(), std::min<std::size_t>(here.size(), MailboxDataBytes), box.begin());
    mailbox_control control;
    control.next = i + 1 < count ? chain.boxes[i + 1] : 0;
    control.block_number = i;
    control.token = token;
    control.pack(box.data() + MailboxDataBytes);
    if (sign_) {
      sign_mailbox(box);
    }
    host_.memory.write(chain.boxes[i], box.data(), box.size());
  }
}

void command_channel::write_entry(slot& mine, std::span<const std::uint8_t> input,
                                  std::uint32_t output_bytes) {
  token_ = static_cast<std::uint8_t>(token_ == 0xff ? 1 : token_ + 1);
  const auto input_bytes = static_cast<std::uint32_t>(input.size());
  const std::uint32_t inputs = mailboxes_of(input_bytes);
  const std::uint32_t outputs = mailboxes_of(output_bytes);
  mine.input.reserve(host_, inputs);
  mine.output.reserve(host_, outputs);
  const std::size_t here = std::min<std::size_t>(input.size(), CommandInlineBytes);
  write_chain(mine.input, input.subspan(here), inputs, token_);
  write_chain(mine.output, {}, outputs, token_);
  command_entry entry;
  entry.kind = CommandType;
  entry.input_length = input_bytes;
  entry.input_mailbox = mine.input.first(inputs);
  std::copy_n(input.begin(), here, entry.input_inline.begin());
  entry.output_mailbox = mine.output.first(outputs);
  entry.output_length = output_bytes;
  entry.token = token_;
  entry.ownership = 1;
  std::array<std::uint8_t, command_entry::Size> raw{};
  entry.pack(raw.data());
  if (sign_) {
    sign_entry(raw);
  }
  host_.memory.write(mine.entry, raw.data(), raw.size());
}

command_delivery command_channel::take_output(const slot& mine,
                                              std::span<std::uint8_t> output) const {
  std::array<std::uint8_t, command_entry::Size> raw{};
  host_.memory.read(mine.entry, raw.data(), raw.size());
  const command_entry entry = command_entry::unpack(raw.data());
  if (entry.status != command_delivery::Ok) {
    return entry.status;
  }
  bool holds = signature_holds(raw);
  const std::size_t inlined = std::min<std::size_t>(output.size(), CommandInlineBytes);
  std::copy_n(entry.output_inline.begin(), inlined, output.begin());
  std::span<std::uint8_t> rest = output.subspan(inlined);
  for (std::size_t i = 0; !rest.empty(); ++i) {
    std::array<std::uint8_t, MailboxBytes> box{};
    host_.memory.read(mine.output.boxes[i], box.data(), box.size());
    holds = holds && mailbox_signature_holds(box);
    const std::size_t bytes = std::min<std::size_t>(rest.size(), MailboxDataBytes);
    std::copy_n(box.begin(), bytes, rest.begin());
    rest = rest.subspan(bytes);
  }
  return holds ? command_delivery::Ok : command_delivery::Signature;
}

}  // namespace carillon
