// What wqe_parser computes, without time: what a WQE says by itself, what its QP's context says
// about it, and whether a memory key allows what the WQE does with it.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

/// What the WQE does with the keys that it names.
enum class key_purpose : std::uint8_t {
  read,       ///< sends the data
  write,      ///< the response of a READ or an atomic goes there
  invalidate  ///< LOCAL_INVAL: the key of its control segment
};

/// What a WQE says by itself, read as one of a QP of some service. One that cannot be read or
/// understood has no body.
struct wqe_shape {
  bool unread = false;     ///< its read failed: nothing of it is known
  bool misplaced = false;  ///< the control segment is not that of the expected WQE
  bool malformed = false;  ///< unsupported operation, wrong sizes or a misaligned atomic
  bool datagram = false;   ///< a datagram segment comes before the data, and is in the body
  bool is_inline = false;
  key_purpose use = key_purpose::read;
  unsigned data_unit = 1;  ///< 16-byte unit at which the data segments begin
  unsigned sge_count = 0;
  std::uint64_t length = 0;  ///< of all data segments, before any limit
  ctrl_seg control;
  raddr_seg remote;
  atomic_seg atomic;

  /// Where the body begins in the WQE.
  [[nodiscard]] std::uint32_t body_offset() const {
    return datagram ? SegmentBytes : data_unit * SegmentBytes + (is_inline ? InlineHeaderBytes : 0);
  }

  [[nodiscard]] std::uint32_t body_bytes() const {
    const std::uint32_t data =
        is_inline ? static_cast<std::uint32_t>(length) : sge_count * data_seg::Size;
    return datagram ? DatagramBytes + (is_inline ? InlineHeaderBytes : 0) + data : data;
  }

  /// Keys that a WQE that is in order reads.
  [[nodiscard]] unsigned keys() const { return use == key_purpose::invalidate ? 1 : sge_count; }
};

struct wqe_verdict {
  cqe_syndrome syndrome = cqe_syndrome::None;
  bool drop = false;
  bool paged = false;  ///< a key of its data segments has a page list

  [[nodiscard]] bool refused() const { return drop || syndrome != cqe_syndrome::None; }
};

[[nodiscard]] wqe_shape shape_of(const wqe_item& wqe, qp_service service);

/// The checks that need no memory key; `known` says that the QP's number exists. The first one that
/// fails decides.
[[nodiscard]] wqe_verdict check_context(const wqe_item& wqe, const wqe_shape& shape, bool known,
                                        const qpc_common& qp);

/// What a WQE wants of one key.
struct key_claim {
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
  key_purpose use = key_purpose::read;

  [[nodiscard]] std::uint32_t index() const { return key >> MkeyVariantBits; }
};

/// Claim `index` of the shape's keys().
[[nodiscard]] key_claim claim_of(const wqe_item& wqe, const wqe_shape& shape, unsigned index);

/// Whether QP `qpn` with context `qp` may do so with the key in `line`.
[[nodiscard]] bool key_allows(const key_claim& claim, std::uint32_t qpn, const qpc_common& qp,
                              const context_line& line);

/// Whether addresses under the key in `line` must be translated page by page.
[[nodiscard]] bool has_pages(const context_line& line);

/// The work item without its body and history.
[[nodiscard]] work_item describe(const wqe_item& wqe, const wqe_shape& shape,
                                 const wqe_verdict& verdict, const qpc_common& qp);

}  // namespace carillon
