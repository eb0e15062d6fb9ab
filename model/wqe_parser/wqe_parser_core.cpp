#include "wqe_parser/wqe_parser_core.h"

#include <algorithm>

#include "gen/contexts.h"
#include "gen/wire.h"

namespace carillon {

namespace {

static_assert(InlineHeaderBytes == inline_seg::Size);
static_assert(DatagramBytes == datagram_seg::Size);

constexpr unsigned DatagramDataUnit = 1 + DatagramBytes / SegmentBytes;
constexpr std::uint32_t AtomicBytes = 8;
constexpr std::uint8_t SignatureSum = 0xff;

/// What the opcode alone says.
struct operation {
  bool on_rc = false;
  bool on_uc = false;
  bool on_ud = false;
  bool has_data = true;
  bool has_remote = false;
  bool is_atomic = false;
  key_purpose use = key_purpose::read;

  /// Segments before the data on a connected QP.
  [[nodiscard]] unsigned fixed_units() const {
    return 1U + (has_remote ? 1U : 0U) + (is_atomic ? 1U : 0U);
  }

  [[nodiscard]] bool served_by(qp_service service) const {
    switch (service) {
      case qp_service::Rc:
        return on_rc;
      case qp_service::Uc:
        return on_uc;
      case qp_service::Ud:
        return on_ud;
    }
    return false;
  }
};

operation operation_of(wqe_opcode opcode) {
  operation result;
  switch (opcode) {
    case wqe_opcode::Nop:
      result.on_rc = result.on_uc = result.on_ud = true;
      result.has_data = false;
      break;
    case wqe_opcode::Send:
    case wqe_opcode::SendImmediate:
      result.on_rc = result.on_uc = result.on_ud = true;
      break;
    case wqe_opcode::SendInvalidate:
      result.on_rc = true;
      break;
    case wqe_opcode::RdmaWrite:
    case wqe_opcode::RdmaWriteImmediate:
      result.on_rc = result.on_uc = true;
      result.has_remote = true;
      break;
    case wqe_opcode::RdmaRead:
      result.on_rc = true;
      result.has_remote = true;
      result.use = key_purpose::write;
      break;
    case wqe_opcode::AtomicCompareSwap:
    case wqe_opcode::AtomicFetchAdd:
      result.on_rc = true;
      result.has_remote = true;
      result.is_atomic = true;
      result.use = key_purpose::write;
      break;
    case wqe_opcode::LocalInvalidate:
      result.on_rc = true;
      result.has_data = false;
      result.use = key_purpose::invalidate;
      break;
    default:
      break;
  }
  return result;
}

const std::uint8_t* unit_of(const wqe_item& wqe, std::size_t unit) {
  const std::uint8_t* const bytes = wqe.bytes.data();
  return bytes + unit * SegmentBytes;
}

/// Sums up the data segments; false if they make no sense.
bool measure(const wqe_item& wqe, wqe_shape& shape) {
  if (wqe.ds < shape.data_unit) {
    return false;
  }
  const unsigned units = wqe.ds - shape.data_unit;
  if (units == 0) {
    return true;
  }
  const auto first = inline_seg::unpack(unit_of(wqe, shape.data_unit));
  if (first.inline_flag != 0) {
    shape.is_inline = true;
    shape.length = first.byte_count;
    return (InlineHeaderBytes + shape.length + SegmentBytes - 1) / SegmentBytes == units;
  }
  bool pointers_only = true;
  for (unsigned i = 0; i < units; ++i) {
    const auto segment = data_seg::unpack(unit_of(wqe, shape.data_unit + i));
    pointers_only = pointers_only && segment.inline_flag == 0;
    shape.length += segment.byte_count;
  }
  shape.sge_count = units;
  return pointers_only && units <= MaxSge;
}

/// What the operation demands of its data segments.
bool suits(const operation& op, const wqe_shape& shape) {
  if (!op.has_data) {
    return shape.sge_count == 0 && !shape.is_inline;
  }
  if (op.use == key_purpose::write && shape.is_inline) {
    return false;
  }
  return !op.is_atomic || (shape.sge_count == 1 && shape.length == AtomicBytes &&
                           shape.remote.raddr % AtomicBytes == 0);
}

/// The bytes of a signed WQE, its signature among them, XOR to ff.
bool signature_right(const wqe_item& wqe) {
  std::uint8_t sum = 0;
  for (std::size_t i = 0; i < std::size_t{wqe.ds} * SegmentBytes; ++i) {
    sum ^= wqe.bytes.data()[i];
  }
  return sum == SignatureSum;
}

/// A datagram is one packet.
std::uint64_t longest_message(const qpc_common& qp) {
  return qp.service == qp_service::Ud ? std::uint64_t{128} << static_cast<unsigned>(qp.mtu)
                                      : std::uint64_t{MaxMessageBytes};
}

}  // namespace

wqe_shape shape_of(const wqe_item& wqe, qp_service service) {
  wqe_shape shape;
  shape.unread = wqe.status != dma_status::ok;
  if (shape.unread) {
    return shape;
  }
  shape.control = ctrl_seg::unpack(wqe.bytes.data());
  // A size that was not posted is another one than what came.
  shape.misplaced = shape.control.wqe_index != wqe.wqe_index || shape.control.qpn != wqe.qpn ||
                    shape.control.ds != wqe.ds;
  const operation op = operation_of(shape.control.opcode);
  if (op.has_remote && wqe.ds >= 2) {
    shape.remote = raddr_seg::unpack(unit_of(wqe, 1));
  }
  if (op.is_atomic && wqe.ds >= 3) {
    shape.atomic = atomic_seg::unpack(unit_of(wqe, 2));
  }
  shape.use = op.use;
  shape.datagram = service == qp_service::Ud && op.on_ud && op.has_data;
  shape.data_unit = shape.datagram ? DatagramDataUnit : op.fixed_units();
  shape.malformed = !op.served_by(service) || !measure(wqe, shape) || !suits(op, shape);
  if (shape.malformed) {
    shape.datagram = false;
    shape.is_inline = false;
    shape.sge_count = 0;
    shape.length = 0;
  }
  return shape;
}

wqe_verdict check_context(const wqe_item& wqe, const wqe_shape& shape, bool known,
                          const qpc_common& qp) {
  if (shape.unread) {
    return {cqe_syndrome::LocalQpOperation};
  }
  if (!known || qp.valid == 0) {
    return {cqe_syndrome::None, true};
  }
  switch (qp.state) {
    case qp_state::Reset:
    case qp_state::Init:
    case qp_state::Rtr:
      return {cqe_syndrome::None, true};
    case qp_state::Sqer:
    case qp_state::Err:
      return {cqe_syndrome::WrFlushed};
    case qp_state::Rts:
    case qp_state::Sqd:
    case qp_state::SqDraining:
      break;
  }
  if (shape.misplaced || shape.malformed || (qp.sig_enable != 0 && !signature_right(wqe))) {
    return {cqe_syndrome::LocalQpOperation};
  }
  if (shape.length > longest_message(qp)) {
    return {cqe_syndrome::LocalLength};
  }
  return {};
}

key_claim claim_of(const wqe_item& wqe, const wqe_shape& shape, unsigned index) {
  if (shape.use == key_purpose::invalidate) {
    return {.key = shape.control.imm, .use = shape.use};
  }
  const auto segment = data_seg::unpack(unit_of(wqe, shape.data_unit + index));
  return {segment.lkey, segment.byte_count, segment.address, shape.use};
}

bool key_allows(const key_claim& claim, std::uint32_t qpn, const qpc_common& qp,
                const context_line& line) {
  const auto key = mkey_line::unpack(line.data.data());
  if (!line.valid || key.variant != (claim.key & 0xff) || key.function_id != qp.function_id ||
      key.pd != qp.pd || (key.qpn != MkeyAnyQp && key.qpn != qpn)) {
    return false;
  }
  if (claim.use == key_purpose::invalidate) {
    return true;  // also of one that is not valid any more
  }
  if (key.valid == 0 || (claim.use == key_purpose::write ? key.lw : key.lr) == 0) {
    return false;
  }
  if (key.length64 != 0) {
    return true;
  }
  const std::uint64_t end = claim.address + claim.bytes;
  const std::uint64_t key_end = key.start_addr + key.len;
  const bool wraps = end < claim.address;
  const bool key_wraps = key_end < key.start_addr;
  return !wraps && claim.address >= key.start_addr && (key_wraps || end <= key_end);
}

bool has_pages(const context_line& line) {
  return mkey_line::unpack(line.data.data()).contiguous == 0;
}

work_item describe(const wqe_item& wqe, const wqe_shape& shape, const wqe_verdict& verdict,
                   const qpc_common& qp) {
  work_item work;
  work.function = wqe.function;
  work.qpn = wqe.qpn;
  work.wqe_index = wqe.wqe_index;
  work.wqebbs =
      static_cast<std::uint8_t>(std::max((wqe.ds + UnitsPerWqebb - 1) / UnitsPerWqebb, 1U));
  work.opcode = static_cast<std::uint8_t>(shape.control.opcode);
  work.fm_ce_se = shape.unread ? 0 : wqe.bytes.data()[ctrl_seg::at::Fm];
  work.syndrome = static_cast<std::uint8_t>(verdict.syndrome);
  work.drop = verdict.drop;
  work.epoch = wqe.epoch;
  work.is_inline = shape.is_inline;
  work.paged = verdict.paged;
  work.service = static_cast<std::uint8_t>(qp.service);
  work.mtu_code = static_cast<std::uint8_t>(qp.mtu);
  work.sge_count = static_cast<std::uint8_t>(shape.sge_count);
  work.imm = shape.control.imm;
  work.length = static_cast<std::uint32_t>(shape.length);
  work.remote_address = shape.remote.raddr;
  work.rkey = shape.remote.rkey;
  work.swap_add = shape.atomic.swap_add;
  work.compare = shape.atomic.compare;
  work.send_cqn = qp.cq_num_send;
  return work;
}

}  // namespace carillon
