// The bytes of a completion queue entry and where they go.
#pragma once

#include <array>
#include <cstdint>

#include "common/items.h"
#include "gen/contexts.h"
#include "gen/wqe.h"

namespace carillon {

/// Where entry `producer` of the ring stands in host memory: its last 64 bytes.
std::uint64_t cqe_address(const cqc_line& cq, std::uint32_t producer);

/// The 64 bytes of a CQE, an error CQE included. `now` is the time stamp in core cycles.
std::array<std::uint8_t, cqe64::Size> build_cqe(const cqe_item& item, unsigned log_size,
                                                std::uint32_t producer, std::uint64_t now);

/// The CQE of a failed WQE.
bool is_error(const cqe_item& item);

}  // namespace carillon
