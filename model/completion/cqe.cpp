#include "completion/cqe.h"

namespace carillon {
namespace {

bool of_requester(cqe_opcode opcode) {
  return opcode == cqe_opcode::Requester || opcode == cqe_opcode::RequesterError;
}

/// What both layouts have.
template <class Entry>
void set_common(Entry& entry, const cqe_item& item, unsigned log_size, std::uint32_t producer) {
  entry.opcode = static_cast<cqe_opcode>(item.cqe_opcode);
  // A receive completion does not know what the peer posted.
  entry.send_opcode =
      of_requester(entry.opcode) ? static_cast<wqe_opcode>(item.wqe_opcode) : wqe_opcode{};
  entry.qpn = item.qpn;
  entry.wqe_counter = item.wqe_counter;
  entry.format = cqe_format::None;
  // An error wakes whoever waits for solicited completions, but no packet has asked for it.
  entry.se = item.solicited && !is_error(item) ? 1 : 0;
  entry.owner = static_cast<std::uint8_t>((producer >> log_size) & 1);
}

}  // namespace

std::uint64_t cqe_address(const cqc_line& cq, std::uint32_t producer) {
  const std::uint64_t slot = producer & ((std::uint32_t{1} << cq.log_cq_size) - 1);
  // A 128-byte entry carries the CQE in its second half.
  return cq.cqe128 != 0 ? cq.base_addr + slot * (2 * cqe64::Size) + cqe64::Size
                        : cq.base_addr + slot * cqe64::Size;
}

std::array<std::uint8_t, cqe64::Size> build_cqe(const cqe_item& item, unsigned log_size,
                                                std::uint32_t producer, std::uint64_t now) {
  std::array<std::uint8_t, cqe64::Size> bytes{};
  if (is_error(item)) {
    cqe_error entry;
    set_common(entry, item, log_size, producer);
    entry.srqn = item.srqn;
    entry.vendor_syndrome = item.vendor_syndrome;
    entry.syndrome = static_cast<cqe_syndrome>(item.syndrome);
    entry.pack(bytes.data());
    return bytes;
  }
  cqe64 entry;
  set_common(entry, item, log_size, producer);
  entry.grh = item.grh ? 1 : 0;
  entry.sl = item.service_level;
  entry.rqpn = item.remote_qpn;
  entry.srqn_uidx = item.srqn;
  entry.imm_inval_pkey = item.imm;
  entry.byte_cnt = item.byte_count;
  entry.timestamp = now;
  entry.pack(bytes.data());
  return bytes;
}

bool is_error(const cqe_item& item) {
  const auto opcode = static_cast<cqe_opcode>(item.cqe_opcode);
  return opcode == cqe_opcode::RequesterError || opcode == cqe_opcode::ResponderError;
}

}  // namespace carillon
