// What wqe_parser computes, without time: what a WQE says by itself, what its QP's context says
// about it, and whether a memory key covers a data segment.
#pragma once

#include <cstdint>

#include "common/items.h"
#include "gen/wqe.h"

namespace carillon {

/// What a WQE says by itself. One that cannot be read or understood has no body.
struct wqe_shape {
  bool unread = false;      ///< its read failed: nothing of it is known
  bool misplaced = false;   ///< the control segment is not that of the expected WQE
  bool malformed = false;   ///< unsupported operation or wrong sizes
  bool has_remote = false;  ///< a remote address segment comes before the data
  bool is_inline = false;
  unsigned sge_count = 0;
  std::uint64_t length = 0;  ///< of all data segments, before any limit
  ctrl_seg control;
  raddr_seg remote;

  [[nodiscard]] unsigned fixed_units() const { return has_remote ? 2 : 1; }

  [[nodiscard]] std::uint32_t body_bytes() const {
    return is_inline ? static_cast<std::uint32_t>(length) : sge_count * data_seg::Size;
  }
};

struct wqe_verdict {
  cqe_syndrome syndrome = cqe_syndrome::None;
  bool drop = false;

  [[nodiscard]] bool refused() const { return drop || syndrome != cqe_syndrome::None; }
};

[[nodiscard]] wqe_shape shape_of(const wqe_item& wqe);

/// The checks that need no memory key. The first one that fails decides.
[[nodiscard]] wqe_verdict check_context(const wqe_shape& shape, const context_line& qp);

/// Data segment `index` of a WQE with pointers.
[[nodiscard]] data_seg segment_of(const wqe_item& wqe, const wqe_shape& shape, unsigned index);

/// Whether the key in `line` lets a QP of protection domain `pd` read the segment.
[[nodiscard]] bool key_covers(const data_seg& segment, std::uint32_t pd, const context_line& line);

/// The work item without its body and history.
[[nodiscard]] work_item describe(const wqe_item& wqe, const wqe_shape& shape,
                                 const wqe_verdict& verdict, const context_line& qp);

}  // namespace carillon
