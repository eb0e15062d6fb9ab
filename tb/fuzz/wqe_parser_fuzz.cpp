// wqe_parser under libFuzzer: any bytes as a WQE, any bytes as its QP and as the memory keys that
// it names. An input is the line qpc_common, a byte with the number of memory-key lines (its low
// three bits), these lines, a header, and the WQE:
//
//   status 1, ds 1, flags 1, expected wqe_index 2, expected qpn 3 (bytes, big endian)
//
// Flag 0 takes the expected index and QP from the WQE itself, flag 1 leaves out the QP, flag 2 the
// keys. A WQE that names more keys than there are lines sees them again from the first on.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sanitizer/asan_interface.h>
#include <vector>

#include "common/buffer.h"
#include "common/memory_key.h"
#include "gen/bytes.h"
#include "gen/contexts.h"
#include "gen/wire.h"
#include "gen/wqe.h"
#include "wqe_parser/wqe_parser_core.h"

namespace {

using namespace carillon;

constexpr std::size_t LineBytes = 64;
constexpr std::size_t MostKeyLines = 7;
constexpr std::size_t HeaderBytes = 8;

void require(bool holds, int line = __builtin_LINE()) {
  if (!holds) {
    std::fprintf(stderr, "%s:%d does not hold\n", __FILE__, line);
    std::abort();
  }
}

/// The input from its beginning on; what it does not hold is zero.
class reader {
 public:
  reader(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  template <std::size_t N>
  std::array<std::uint8_t, N> take() {
    std::array<std::uint8_t, N> bytes{};
    take(bytes.data(), N);
    return bytes;
  }

  void take(std::uint8_t* into, std::size_t length) {
    const std::size_t part = std::min(length, left_);
    if (part != 0) {
      std::memcpy(into, at_, part);
    }
    std::memset(into + part, 0, length - part);
    at_ += part;
    left_ -= part;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

struct fuzzed_input {
  qpc_common qp;
  bool known = true;
  std::vector<context_line> keys;
  wqe_item wqe;
};

/// Only the beats of the WQE may be read: what is behind them in the buffer is poisoned.
class poisoned_tail {
 public:
  poisoned_tail(const buffer_ref& bytes, std::size_t used)
      : begin_(bytes.data() + used), length_(BufferBytes - used) {
    ASAN_POISON_MEMORY_REGION(begin_, length_);
  }

  poisoned_tail(const poisoned_tail&) = delete;
  poisoned_tail& operator=(const poisoned_tail&) = delete;

  ~poisoned_tail() { ASAN_UNPOISON_MEMORY_REGION(begin_, length_); }

 private:
  std::uint8_t* begin_;
  std::size_t length_;
};

fuzzed_input read_input(reader& from, buffer_pool& pool) {
  fuzzed_input input;
  const auto line = from.take<LineBytes>();
  input.qp = qpc_common::unpack(line.data());
  const std::size_t count = from.take<1>()[0] & MostKeyLines;
  for (std::size_t i = 0; i < count; ++i) {
    context_line key;
    key.kind = context_kind::mkey;
    key.valid = true;
    key.data = from.take<LineBytes>();
    input.keys.push_back(key);
  }
  const auto header = from.take<HeaderBytes>();
  const unsigned flags = header[2];
  wqe_item& wqe = input.wqe;
  wqe.function = input.qp.function_id;
  wqe.status =
      static_cast<dma_status>(header[0] % (static_cast<unsigned>(dma_status::timeout) + 1));
  wqe.ds = header[1] & MaxWqeUnits;
  wqe.wqe_index = static_cast<std::uint16_t>(bytes::load_be<2>(header.data() + 3));
  wqe.qpn = static_cast<std::uint32_t>(bytes::load_be<3>(header.data() + 5));
  wqe.bytes = pool.take();
  from.take(wqe.bytes.data(),
            std::size_t{beats_of(std::uint64_t{wqe.ds} * SegmentBytes)} * LineBytes);
  if ((flags & 1) != 0) {
    const ctrl_seg control = ctrl_seg::unpack(wqe.bytes.data());
    wqe.wqe_index = control.wqe_index;
    wqe.qpn = control.qpn;
  }
  input.known = (flags & 2) == 0;
  for (context_line& key : input.keys) {
    key.valid = (flags & 4) == 0;
  }
  return input;
}

bool may_send(qp_state state) {
  return state == qp_state::Rts || state == qp_state::Sqd || state == qp_state::SqDraining;
}

/// A shape's parts lie within the WQE, whatever else is wrong with it.
void check_shape(const wqe_item& wqe, const wqe_shape& shape) {
  const std::uint32_t bytes = std::uint32_t{wqe.ds} * SegmentBytes;
  require(shape.sge_count <= MaxSge);
  require(shape.keys() <= MaxSge);
  require(!shape.is_inline || shape.sge_count == 0);
  require(beats_of(shape.body_bytes()) <= stage_spec::wqe_parser::MaxBeats);
  if (shape.unread || shape.malformed) {
    require(shape.body_bytes() == 0 && shape.length == 0);
    return;
  }
  require(wqe.ds >= 1);
  require(shape.body_bytes() == 0 || shape.body_offset() + shape.body_bytes() <= bytes);
  require((shape.data_unit + shape.sge_count) * SegmentBytes <= bytes);
}

/// What a WQE that passes the checks without keys promises.
void check_accepted(const fuzzed_input& input, const wqe_shape& shape) {
  const qpc_common& qp = input.qp;
  require(input.known && qp.valid != 0 && may_send(qp.state));
  require(!shape.unread && !shape.malformed && !shape.misplaced);
  require(shape.control.wqe_index == input.wqe.wqe_index && shape.control.qpn == input.wqe.qpn);
  require(shape.length <= MaxMessageBytes);
  const wqe_opcode opcode = shape.control.opcode;
  switch (qp.service) {
    case qp_service::Rc:
      break;
    case qp_service::Uc:
      require(opcode != wqe_opcode::RdmaRead && opcode != wqe_opcode::AtomicCompareSwap &&
              opcode != wqe_opcode::AtomicFetchAdd && opcode != wqe_opcode::SendInvalidate &&
              opcode != wqe_opcode::LocalInvalidate);
      break;
    case qp_service::Ud:
      require(opcode == wqe_opcode::Nop || opcode == wqe_opcode::Send ||
              opcode == wqe_opcode::SendImmediate);
      require(shape.length <= std::uint64_t{128} << static_cast<unsigned>(qp.mtu));
      break;
    default:
      require(false);  // no such service
  }
  if (opcode == wqe_opcode::AtomicCompareSwap || opcode == wqe_opcode::AtomicFetchAdd) {
    require(shape.sge_count == 1 && shape.length == 8 && shape.remote.raddr % 8 == 0);
  }
  if (opcode == wqe_opcode::Nop || opcode == wqe_opcode::LocalInvalidate) {
    require(shape.length == 0 && shape.body_bytes() == 0);
  }
  require(!shape.is_inline || shape.use == key_purpose::read);
}

/// The keys as the stage reads them; returns the sum of what is claimed.
std::uint64_t check_keys(const fuzzed_input& input, const wqe_shape& shape, wqe_verdict& verdict) {
  std::uint64_t claimed = 0;
  for (unsigned i = 0; i < shape.keys(); ++i) {
    const key_claim claim = claim_of(input.wqe, shape, i);
    require(claim.use == shape.use);
    claimed += claim.bytes;
    const context_line line =
        input.keys.empty() ? context_line{} : input.keys[i % input.keys.size()];
    const bool allowed = key_allows(claim, input.wqe.qpn, input.qp, line);
    if (!allowed) {
      verdict.syndrome = cqe_syndrome::LocalProtection;
    }
    verdict.paged |= claim.use != key_purpose::invalidate && has_pages(line);
    if (!allowed || claim.use == key_purpose::invalidate) {
      continue;
    }
    // Whoever gathers the data looks at the key again, with rules of its own: they may not differ.
    key_use use;
    use.key = claim.key;
    use.pd = input.qp.pd;
    use.qpn = input.wqe.qpn;
    use.function = input.qp.function_id;
    use.right = claim.use == key_purpose::write ? key_right::local_write : key_right::local_read;
    use.address = claim.address;
    use.length = claim.bytes;
    require(check_key(mkey_line::unpack(line.data.data()), line.valid, use) == key_fault::none);
  }
  return claimed;
}

void check_work(const fuzzed_input& input, const wqe_shape& shape, const wqe_verdict& verdict,
                const work_item& work) {
  require(work.qpn == input.wqe.qpn && work.wqe_index == input.wqe.wqe_index);
  require(work.wqebbs >= 1 && work.wqebbs * UnitsPerWqebb >= input.wqe.ds);
  require(work.drop == verdict.drop &&
          work.syndrome == static_cast<std::uint8_t>(verdict.syndrome));
  require(!work.drop || work.syndrome == 0);
  require(beats_of(work.body_bytes()) == beats_of(shape.body_bytes()));
  if (!verdict.refused()) {
    require(work.length == shape.length);
    require(shape.body_bytes() == 0 || work.body_bytes() == shape.body_bytes());
  }
  switch (verdict.syndrome) {
    case cqe_syndrome::None:
    case cqe_syndrome::LocalLength:
    case cqe_syndrome::LocalQpOperation:
    case cqe_syndrome::LocalProtection:
    case cqe_syndrome::WrFlushed:
      break;
    default:
      require(false);  // not one of the parser's
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static buffer_pool pool;
  reader from(data, size);
  const fuzzed_input input = read_input(from, pool);
  const wqe_item& wqe = input.wqe;
  const poisoned_tail tail(wqe.bytes,
                           std::size_t{beats_of(std::uint64_t{wqe.ds} * SegmentBytes)} * LineBytes);

  const wqe_shape shape = shape_of(wqe, input.qp.service);
  check_shape(wqe, shape);
  wqe_verdict verdict = check_context(wqe, shape, input.known, input.qp);
  require(!verdict.paged);
  if (shape.unread || shape.malformed || shape.misplaced) {
    require(verdict.refused());
  }
  if (!verdict.refused()) {
    check_accepted(input, shape);
    const std::uint64_t claimed = check_keys(input, shape, verdict);
    require(shape.is_inline || shape.use == key_purpose::invalidate || claimed == shape.length);
  }
  const work_item work = describe(wqe, shape, verdict, input.qp);
  check_work(input, shape, verdict, work);
  // The copy that the stage makes of the body.
  const buffer_ref body = pool.take();
  if (shape.body_bytes() != 0) {
    std::memcpy(body.data(), wqe.bytes.data() + shape.body_offset(), shape.body_bytes());
  }
  return 0;
}
