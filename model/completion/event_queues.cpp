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
    eqe_command{.kind = event.kind, .vector = event.number, .owner = owner}.pack(bytes.data());
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
                    .events = line.event_bitmask};
  }
}

bool event_queues::consumed(const queue_doorbell& bell) {
  if (bell.number >= queues_.size()) {
    return false;
  }
  queue& eq = queues_[bell.number];
  if (!eq.valid || eq.function != bell.function || eq.uar_page != bell.uar_page) {
    return false;
  }
  eq.consumer = bell.consumer_index;
  return true;
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

void event_queues::advance(std::uint8_t eqn) {
  queues_[eqn].producer = (queues_[eqn].producer + 1) & CqIndexMask;
}

}  // namespace carillon
