// dma_engine: the DMA master. Cuts requests into TLPs, keeps tags, obeys credits and ordering, and
// puts read data together.
//
// One TLP a cycle at most, handed to the link when its serializer is free within the cycle.
// Register answers go first; writes and reads take turns. Writes of all clients leave in the order
// in which they became visible here, so a payload is never overtaken by its completion entry; reads
// likewise. Completions may interleave across tags and split anywhere the rules allow: data is
// placed by byte count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "common/stage.h"

namespace carillon {

class dma_engine final : public stage {
 public:
  struct read_client {
    stream<dma_read>& requests;
    stream<dma_read_done>& done;
    std::string_view row;  ///< on whose account the reads are booked
  };

  struct write_client {
    stream<dma_write>& requests;
    std::string_view row;
  };

  struct ports {
    pcie_port& link;
    std::vector<read_client> reads;
    std::vector<write_client> writes;
    std::vector<stream<mmio_answer>*> answers;
    stream<read_completion>& completions;
  };

  dma_engine(const sc_core::sc_module_name& name, nic_shared& nic, ports connected);

  /// Credits came home on the link.
  void on_credits();

 private:
  /// Why an input could not move in the last evaluation.
  enum class blocked : std::uint8_t { none, splitting, older, turn, link, credits, tags };

  struct verdict {
    blocked why = blocked::none;
    cycle_t cycle = NeverCycle;
  };

  struct read_source {
    stream<dma_read>& requests;
    stream<dma_read_done>& done;
    trace_site site;
    verdict state;
  };

  struct write_source {
    stream<dma_write>& requests;
    trace_site site;
    verdict state;
  };

  /// A request of which some TLPs are still to be sent.
  struct read_progress {
    bool active = false;
    std::size_t client = 0;
    std::uint32_t group = 0;
    std::uint16_t function = 0;
    std::uint64_t address = 0;
    std::uint32_t offset = 0;
    std::uint32_t remaining = 0;
    trace_ref trace;
    cycle_t since = 0;  ///< where its history ends: the take, then its last TLP
    std::uint64_t last_tlp = 0;
  };

  struct write_progress {
    bool active = false;
    std::size_t client = 0;
    dma_write item;
    std::uint32_t sent = 0;
    cycle_t since = 0;
    std::uint64_t last_tlp = 0;
  };

  /// A client's read whose data is under way.
  struct read_group {
    std::size_t client = 0;
    std::uint64_t cookie = 0;
    buffer_ref into;
    std::uint32_t missing = 0;  ///< bytes
    dma_status status = dma_status::ok;
  };

  struct read_tag {
    bool active = false;
    std::uint32_t group = 0;
    std::uint32_t offset = 0;  ///< in the group's buffer
    std::uint32_t length = 0;
    std::uint32_t missing = 0;
  };

  void evaluate(cycle_t t) override;
  void receive(cycle_t t);
  void finish(cycle_t t, std::uint32_t group, const read_completion& last, unsigned beats);
  void transmit(cycle_t t);
  bool send_answer(cycle_t t);
  bool send_write(cycle_t t);
  bool send_read(cycle_t t);
  blocked start_read(cycle_t t);
  [[nodiscard]] blocked read_blocked();
  void explain_inputs(cycle_t t, bool link_busy, bool sent);
  /// A TLP whose history continues `history`, which ends in cycle `since`; both move on to t.
  /// `last_tlp` is the number of the request's TLP before it.
  tlp* prepare(trace_ref& history, const trace_site& booked, cycle_t& since,
               std::uint64_t& last_tlp, cycle_t t);
  template <class Source>
  std::size_t oldest(const std::vector<Source>& sources, cycle_t t) const;
  blocker because(std::string name, const verdict& state, blocked why);

  nic_shared& nic_;
  pcie_port& link_;
  std::vector<read_source> reads_;
  std::vector<write_source> writes_;
  std::vector<stream<mmio_answer>*> answers_;
  stream<read_completion>& completions_;
  read_progress read_;
  write_progress write_;
  std::vector<read_group> groups_;
  std::vector<std::uint32_t> free_groups_;
  std::vector<read_tag> tags_;
  std::vector<std::uint16_t> free_tags_;
  std::uint64_t sent_ = 0;  ///< TLPs
  bool writes_turn_ = true;
  bool credits_short_ = false;
  verdict answer_state_;
  blocked write_why_ = blocked::none;
  blocked read_why_ = blocked::none;
  // The same of the last attempt, so that a wait is counted once.
  blocked write_why_told_ = blocked::none;
  blocked read_why_told_ = blocked::none;
  name_id link_reason_;
};

}  // namespace carillon
