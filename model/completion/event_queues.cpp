#include "completion/event_queues.h"

namespace carillon {

std::uint64_t eqe_address(const eqc_line& eq, std::uint32_t producer) {
  return eq.base_addr + (producer & ((std::uint32_t{1} << eq.log_eq_size) - 1)) * eqe::Size;
}

std::array<std::uint8_t, eqe::Size> build_eqe(const event_record& event, unsigned log_size,
                                              std::uint32_t producer) {
  const auto owner = static_cast<std::uint8_t>((producer >> log_size) & 1);
  std::array<std::uint8_t, eqe::Size> bytes{};
  if (event.kind == event_type::Command) {
    eqe_command{.kind = event.kind, .command_vector = event.number, .owner = owner}.pack(
        bytes.data());
    return bytes;
  }
  eqe entry;
  entry.kind = event.kind;
  entry.sub_type = event.sub_type;
  entry.queue_type = event.queue_type;
  if (event.kind == event_type::CqError) {
    entry.cq_error_cqn = event.number;
    entry.cq_error_syndrome = event.cq_error;
  } else {
    entry.number = event.number;
  }
  entry.owner = owner;
  entry.pack(bytes.data());
  return bytes;
}

void event_queues::set(std::uint32_t eqn, const eqc_line& line) {
  if (eqn < queues_.size()) {
    queues_[eqn] = {.valid = line.valid != 0,
                    .function = line.function_id,
                    .uar_page = line.uar_page,
                    .events = line.event_bitmask,
                    .vector = line.intr,
                    .state = line.arm_state};
  }
}

void event_queues::reset(std::uint16_t function) {
  for (queue& eq : queues_) {
    if (eq.function == function) {
      eq = {};
    }
  }
}

event_queues::bell_result event_queues::ring(const queue_doorbell& bell) {
  if (bell.number >= queues_.size()) {
    return bell_result::ignored;
  }
  queue& eq = queues_[bell.number];
  if (!eq.valid || eq.function != bell.function || eq.uar_page != bell.uar_page) {
    return bell_result::ignored;
  }
  eq.consumer = bell.consumer_index;
  if (!bell.arm || eq.state == queue_arm_state::AlwaysArmed) {
    return bell_result::taken;
  }
  // A consumer beyond the producer is nonsense and has missed nothing.
  const std::uint32_t unread = (eq.producer - eq.consumer) & CqIndexMask;
  const bool missed = unread != 0 && unread <= CqIndexMask / 2;
  eq.state = missed ? queue_arm_state::Fired : queue_arm_state::Armed;
  return missed ? bell_result::interrupts : bell_result::taken;
}

std::optional<std::uint8_t> event_queues::taker(std::uint16_t function, event_type kind) const {
  const auto bit = static_cast<unsigned>(kind);
  for (std::size_t eqn = 0; eqn < queues_.size(); ++eqn) {
    const queue& eq = queues_[eqn];
    if (eq.valid && eq.function == function && bit < 64 && ((eq.events >> bit) & 1) != 0) {
      return static_cast<std::uint8_t>(eqn);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> event_queues::room(std::uint8_t eqn, const eqc_line& line) const {
  const queue& eq = queues_[eqn];
  const std::uint32_t used = (eq.producer - eq.consumer) & CqIndexMask;
  if (line.oi == 0 && used >= (std::uint32_t{1} << line.log_eq_size)) {
    return std::nullopt;
  }
  return eq.producer;
}

bool event_queues::advance(std::uint8_t eqn) {
  queue& eq = queues_[eqn];
  eq.producer = (eq.producer + 1) & CqIndexMask;
  if (eq.state == queue_arm_state::Armed) {
    eq.state = queue_arm_state::Fired;
    return true;
  }
  return eq.state == queue_arm_state::AlwaysArmed;
}

}  // namespace carillon
