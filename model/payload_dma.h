// payload_dma: fetches the payload of one packet into a frame buffer, store and forward.
//
// Cuts the packet's bytes out of the message's gather list, one read request per piece, and
// releases the packet when its last byte is in: 1 cycle to the first request, the PCIe round trip,
// 1 cycle to the packet builder. The buffer holds PacketBuffers packets of the largest size, more
// of smaller ones; Outstanding are being fetched at most, and they leave in the order in which they
// came.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

/// A piece of memory that a packet's bytes come from.
struct gather_piece {
  std::uint64_t address = 0;
  std::uint32_t length = 0;

  bool operator==(const gather_piece&) const = default;
};

/// The pieces of bytes [offset, offset + length) of a message whose gather list is `count` mlx5
/// data segments. Appends to `pieces`; entries of length 0 have no piece.
void cut_gather_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                     std::uint32_t length, std::vector<gather_piece>& pieces);

class payload_dma final : public stage {
 public:
  struct ports {
    stream<packet_item>& packets;
    stream<dma_read>& reads;
    stream<dma_read_done>& done;
    stream<packet_item>& filled;
    stream<payload_left>& left;
  };

  payload_dma(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  struct pending {
    packet_item packet;
    unsigned missing = 0;  ///< reads not answered
    trace_ref trace;       ///< history of the last answer
    bool failed = false;
  };

  void evaluate(cycle_t t) override;
  void take_done(cycle_t t);
  void take_packet(cycle_t t);
  void release(cycle_t t);
  nic_shared& nic_;
  ports ports_;
  std::deque<pending> pending_;
  std::uint64_t first_ = 0;  ///< number of the oldest pending packet
  std::vector<gather_piece> pieces_;
  name_id order_reason_;
};

}  // namespace carillon
