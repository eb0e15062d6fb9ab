// payload_dma: fetches the payload of one packet into a frame buffer, store and forward.
//
// Cuts the packet's bytes out of the message's gather list, one read request per piece, and
// releases the packet when its last byte is in: 1 cycle to the first request, the PCIe round trip,
// 1 cycle to the packet builder. The buffer holds PacketBuffers packets of the largest size, more
// of smaller ones; Outstanding are being fetched at most, and they leave in the order in which they
// came.
//
// Addresses under keys with a page list are translated first: the key's line, then a line for each
// eight pages. Packets behind one that is being translated start their reads meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/items.h"
#include "common/key_lookup.h"
#include "common/nic_shared.h"
#include "common/stage.h"

namespace carillon {

/// A piece of memory that a packet's bytes come from.
struct gather_piece {
  std::uint64_t address = 0;  ///< virtual
  std::uint32_t length = 0;
  std::uint32_t key = 0;

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
    stream<context_read>& key_reads;  ///< keys and translations - qpc_ram
    stream<context_line>& key_lines;
  };

  payload_dma(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

 private:
  struct pending {
    packet_item packet;
    unsigned missing = 0;  ///< translations and reads not answered
    trace_ref trace;       ///< history of the last answer
    dma_status status = dma_status::ok;
  };

  /// A translated piece whose read has not left.
  struct ready_read {
    std::uint64_t packet = 0;
    iova_piece piece;
    std::uint32_t into_offset = 0;
    held_history history;
  };

  void evaluate(cycle_t t) override;
  void take_done(cycle_t t);
  void take_key(cycle_t t);
  void issue_ready(cycle_t t);
  void fail(pending& packet, dma_status status);
  void translate(cycle_t t, std::uint64_t number, const packet_item& packet);
  void read_at_once(cycle_t t, std::uint64_t number, const packet_item& packet);
  void take_packet(cycle_t t);
  void release(cycle_t t);
  nic_shared& nic_;
  ports ports_;
  std::deque<pending> pending_;
  std::uint64_t first_ = 0;  ///< number of the oldest pending packet
  std::vector<gather_piece> pieces_;
  key_lookup keys_;
  ring<ready_read> ready_;
  name_id order_reason_;
};

}  // namespace carillon
