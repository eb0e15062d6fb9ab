// Where tx_mac puts its frames: the NIC knows no wire, only this.
#pragma once

#include "common/items.h"
#include "common/types.h"

namespace carillon {

class frame_sink {
 public:
  virtual ~frame_sink() = default;

  /// When the serializer can take another first bit: at or before now if it is idle.
  [[nodiscard]] virtual ps_t free_at() const = 0;

  /// The first bit leaves at max(first_bit, free_at()); `first_bit` is now or later, and the end of
  /// the frame's history.
  virtual void send(frame_item frame, ps_t first_bit) = 0;
};

}  // namespace carillon
