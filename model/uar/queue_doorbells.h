// The CQ and EQ doorbells of a UAR page: single stores that need no memory of the page.
#pragma once

#include <cstdint>
#include <optional>

#include "common/items.h"

namespace carillon {

/// What a store of `length` bytes at `offset` of a page says to a CQ or EQ; nothing if it is
/// neither, or of another size. Function, page and history are the caller's to fill in.
std::optional<queue_doorbell> decode_queue_doorbell(std::uint32_t offset, const std::uint8_t* data,
                                                    std::uint16_t length);

}  // namespace carillon
