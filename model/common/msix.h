// The pending bits of MSI-X: a level from completion, which sends the messages, read by
// pcie_endpoint, where the host reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gen/registers.h"

namespace carillon {

inline constexpr std::size_t MaxMsixVectors = bar0::MsixTableBytes / MsixEntryBytes;

/// Bit n of a function's words is vector n.
using msix_pending_bits = std::array<std::uint64_t, MaxMsixVectors / 64>;

/// By function; those beyond the end have nothing pending.
using msix_pending = std::vector<msix_pending_bits>;

}  // namespace carillon
