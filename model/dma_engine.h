// dma_engine: the DMA master. Cuts requests into TLPs, keeps tags, obeys credits and ordering, and
// puts read data together.
//
// One TLP a cycle at most, handed to the link when its serializer is free within the cycle.
// Register answers go first; writes and reads take turns. Writes of all clients leave in the order
// in which they became visible here, so a payload is never overtaken by its completion entry; reads
// likewise, except that a read which must see the responder's writes waits for them and lets other
// clients' reads pass. Completions may interleave across tags and split anywhere the rules allow:
// data is placed by byte count. A request that is not answered in time is given up.
//
// What a function that may not master the bus asks for does not reach the link: writes are dropped,
// reads answered with an error; so is what a function had under way when its reset began.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/function_map.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/pcie_port.h"
#include "common/stage.h"
#include "dma_engine/read_tags.h"

namespace carillon {

class dma_engine final : public stage, private timed {
 public:
  struct read_client {
    stream<dma_read>& requests;
    stream<dma_read_done>& done;
    std::string_view row;  ///< on whose account the reads are booked
  };

  struct write_client {
    stream<dma_write>& requests;
    std::string_view row;    ///< dma_read::writes_before counts those of "responder"
    bool may_relax = false;  ///< its writes are payload: pcie.relaxed_ordering may be used
  };

  struct ports {
    pcie_port& link;
    std::vector<read_client> reads;
    std::vector<write_client> writes;
    std::vector<stream<mmio_answer>*> answers;
    stream<read_completion>& completions;
    level<function_map>& functions;
    stream<pcie_error>& errors;  ///< always taken
  };

  dma_engine(const sc_core::sc_module_name& name, nic_shared& nic, ports connected);

  /// Credits came home on the link.
  void on_credits();

 private:
  /// Why an input could not move in the last evaluation.
  enum class blocked : std::uint8_t { none, fence, splitting, older, turn, link, credits, tags };

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
    bool relaxed;
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
    std::uint16_t function = 0;
    std::uint64_t cookie = 0;
    buffer_ref into;
    std::uint32_t missing = 0;           ///< bytes of requests that are not settled
    dma_status status = dma_status::ok;  ///< the first error
  };

  void evaluate(cycle_t t) override;
  void on_time(ps_t now, std::uint64_t what) override;
  void receive(cycle_t t);
  void give_up(cycle_t t);
  void report(std::uint16_t function, pcie_error_kind kind);
  void send_report(cycle_t t);
  void abort(cycle_t t);
  void abort_read(cycle_t t, const function_map& map);
  void drop_write(const dma_write& item, std::size_t client);
  void refuse_read(cycle_t t, std::size_t client);
  /// `bytes` of the group will not come any more, or are there; the last ones end its read.
  void settle(cycle_t t, std::uint32_t group, std::uint32_t bytes, trace_ref trace, unsigned beats);
  void set_timer();
  void transmit(cycle_t t);
  bool send_answer(cycle_t t);
  bool send_write(cycle_t t);
  bool send_read(cycle_t t);
  blocked start_read(cycle_t t);
  std::uint32_t make_group(std::size_t client, dma_read& item);
  [[nodiscard]] blocked read_blocked(cycle_t t);
  void explain_inputs(cycle_t t, bool link_busy, bool sent);
  /// The read in front waits for writes.
  [[nodiscard]] bool fenced(const read_source& source, cycle_t t) const;

  [[nodiscard]] static bool fenced(const write_source& /*source*/, cycle_t /*t*/) { return false; }

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
  level<function_map>& functions_;
  stream<pcie_error>& errors_;
  std::vector<pcie_error> reports_;  ///< to be sent, one a cycle
  std::uint32_t resets_seen_ = 0;
  bool aborting_ = false;  ///< there may be reads in flight of functions that are being reset
  bool dropped_ = false;   ///< a request was, in this cycle
  read_progress read_;
  write_progress write_;
  std::vector<read_group> groups_;
  std::vector<std::uint32_t> free_groups_;
  read_tags tags_;
  ps_t timer_ = NeverPs;            ///< when it expires
  std::size_t fence_client_;        ///< whose writes reads may wait for
  std::uint64_t fence_writes_ = 0;  ///< of it, handed to the link to the end
  std::uint64_t sent_ = 0;          ///< TLPs
  bool writes_turn_ = true;
  bool credits_short_ = false;
  verdict answer_state_;
  blocked write_why_ = blocked::none;
  blocked read_why_ = blocked::none;
  // The same of the last attempt, so that a wait is counted once.
  blocked write_why_told_ = blocked::none;
  blocked read_why_told_ = blocked::none;
  name_id link_reason_;
  name_id timeout_reason_;
  name_id reset_reason_;
};

}  // namespace carillon
