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
//
// rtl/payload_dma/payload_dma.sv is its twin.
#pragma once

#include "common/nic_shared.h"
#include "common/stage.h"
#include "common/twin.h"
#include "payload_dma/payload_rules.h"

namespace carillon {

class payload_dma final : public stage {
 public:
  static constexpr const char* Row = "payload_dma";
  using ports = payload_dma_ports;
  using rules = payload_dma_rules;

  payload_dma(const sc_core::sc_module_name& name, nic_shared& nic, const ports& connected);

  /// For the twin beside it.
  [[nodiscard]] twin_store& store() { return rules_.store(); }

 private:
  void evaluate(cycle_t t) override;
  void take_packet(cycle_t t);
  void send_reads(cycle_t t);
  void send_packets(cycle_t t);

  ports ports_;
  rules rules_;
};

}  // namespace carillon
