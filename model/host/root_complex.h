// The host's end of a PCIe link: serves the device's reads and writes of host memory and carries
// the CPU's accesses to the device.
//
// Upstream. A request is taken when its last symbol is in. A read spends half of
// host.root_complex_ps on the way in, then host.memory_read_ps, at the end of which its data is
// sampled, then the other half on the way out; the completions are cut by pcie.mps, pcie.rcb and
// pcie.completion_split and leave in order, or with "random" in any order of the reads. A write is
// visible half of host.root_complex_ps and host.memory_write_ps later (host.llc_write_ps if it
// allocates in the cache). Memory is pipelined: it takes the next request when host.memory_gbps has
// room for it. Writes become visible in their order of arrival, except that one with relaxed
// ordering may pass slower ones before it; a read never sees memory as it was before an earlier
// write.
//
// A write into the interrupt window is no write to memory: half of host.root_complex_ps later, and
// not before the writes in front of it are visible, it is handed to the interrupt controller.
//
// Effects of the host, each off unless its parameters ask for it: a page that is not present is
// made so (page_faults); addresses are translated on their way in (iommu); what is for memory or
// cores of another socket crosses the link between them (socket_link); a read may hit the last
// level cache.
//
// Downstream. An access of the CPU spends half of it, then leaves in order; a read's
// answer comes the other half after the last symbol of its completion.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/context.h"
#include "common/pcie_port.h"
#include "common/tlp_codec.h"
#include "common/tlp_egress.h"
#include "host/effects/iommu.h"
#include "host/effects/last_level_cache.h"
#include "host/effects/page_faults.h"
#include "host/effects/socket_link.h"
#include "host/fifo.h"
#include "host/host_memory.h"
#include "host/interrupts.h"
#include "host/pcie_faults.h"
#include "host/slots.h"

namespace carillon {

/// Told of the answer to mmio_read, config_read and config_write.
class mmio_read_listener {
 public:
  virtual ~mmio_read_listener() = default;
  /// At time `when`, which is now. Without success `data` is all ones. `trace` is the access's
  /// history.
  virtual void on_mmio_data(ps_t when, std::uint16_t tag, const std::vector<std::uint8_t>& data,
                            completion_status status, trace_ref trace) = 0;
};

class root_complex : public sc_core::sc_module, private pcie_listener, private timed {
 public:
  /// `name` is "<host>.root_complex"; the time in memory is booked on "<host>.memory".
  root_complex(const sc_core::sc_module_name& name, sim_context& context, host_memory& memory,
               tlp_pool& tlps);

  /// Number of the link's bus; configuration requests for others are of type 1.
  static constexpr std::uint8_t LinkBus = 1;

  /// Connect it to the device's.
  pcie_port port;

  /// Addresses outside all windows are answered with "unsupported request".
  void add_window(std::uint64_t base, std::uint64_t length);

  /// Aligned writes of 4 bytes from there on are messages for the interrupt controller.
  void add_interrupt_window(std::uint64_t base, std::uint64_t length, message_listener& listener);

  // The CPU's side: now, in order.
  /// `length` is at most MPS, within one 4 KiB page.
  void mmio_write(trace_ref trace, name_id row, std::uint64_t address, const void* data,
                  std::uint32_t length);
  /// The tag that the answer will carry.
  std::uint16_t mmio_read(trace_ref trace, name_id row, std::uint64_t address, std::uint32_t length,
                          mmio_read_listener& listener);
  /// `function` is a routing ID.
  std::uint16_t config_read(trace_ref trace, name_id row, std::uint16_t function,
                            std::uint16_t offset, mmio_read_listener& listener);
  std::uint16_t config_write(trace_ref trace, name_id row, std::uint16_t function,
                             std::uint16_t offset, std::uint32_t value, std::uint8_t enables,
                             mmio_read_listener& listener);

  /// The next `count` reads that touch the range go wrong.
  void fail_reads(std::uint64_t address, std::uint64_t length, read_fault fault,
                  std::uint64_t count = ~std::uint64_t{0});

  /// Reads of memory go wrong by such a rule, too.
  void inject(const read_fault_rule& rule) { faults_.add(rule); }

  struct statistics {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t write_bytes = 0;
    std::uint64_t unsupported =
        0;                        ///< outside the windows, or of a kind that memory does not serve
    std::uint64_t malformed = 0;  ///< dropped without an answer
    std::uint64_t poisoned_writes = 0;         ///< dropped
    std::uint64_t unexpected_completions = 0;  ///< for no access of the CPU
    std::uint64_t unanswered = 0;              ///< on purpose
    std::uint64_t messages = 0;                ///< interrupts
  };

  [[nodiscard]] const statistics& stats() const { return stats_; }

  /// The link to other sockets, if cores or memory are there.
  [[nodiscard]] socket_link* sockets() { return sockets_.get(); }

  /// What translates the device's addresses, if anything does.
  [[nodiscard]] const iommu* translation() const { return iommu_.get(); }

  /// What makes pages present that are not pinned; nullptr if all are.
  [[nodiscard]] page_faults* paging() { return page_faults_.get(); }

  /// Reads that went wrong on purpose.
  [[nodiscard]] std::uint64_t injected() const { return faults_.hits(); }

 private:
  struct window {
    std::uint64_t first;
    std::uint64_t last;
  };

  /// A request on its way through memory.
  struct memory_access {
    tlp* packet = nullptr;
    tlp_header header;
    byte_range range;
    completion_status status = completion_status::Success;
    bool poisoned = false;  ///< answer with poisoned data
    bool silent = false;    ///< do not answer
    bool stray = false;     ///< send what nobody asked for first
    ps_t delay = 0;         ///< of the answer
  };

  /// The completions of a read, ready to leave.
  struct answer_parts {
    std::vector<tlp*> packets;
    std::size_t sent = 0;
    ps_t ready = 0;
  };

  struct outstanding {
    mmio_read_listener* listener = nullptr;
    std::vector<std::uint8_t> data;
    std::uint32_t length = 0;
    std::uint32_t received = 0;
    std::uint32_t lead = 0;  ///< bytes of the first dword that were not asked for
    completion_status status = completion_status::Success;
    trace_ref trace;
  };

  /// What a timeline callback is for. Those without a slot come back in the order in which they
  /// were asked for.
  enum class work : std::uint8_t {
    read_sampled,
    write_visible,     ///< with a slot
    message,           ///< with a slot
    send_completions,  ///< with a slot
    mix_completions,
    send_request,
    discard,
    answer,
  };

  void on_tlp(tlp* packet) override;
  void on_credits() override;
  unsigned on_debug(tlm::tlm_generic_payload& access) override;
  bool on_direct_access(tlm::tlm_generic_payload& access, tlm::tlm_dmi& granted) override;
  void on_time(ps_t now, std::uint64_t what) override;

  void at(ps_t when, work what, std::uint32_t slot = 0) {
    context_.line.at(when, *this, std::uint64_t{slot} << 8 | static_cast<std::uint8_t>(what));
  }

  void take_read(tlp* packet, const tlp_header& header, ps_t arrived);
  void take_write(tlp* packet, const tlp_header& header, ps_t arrived);
  void take_message(const memory_access& access, ps_t arrived);
  void deliver(const memory_access& access);
  void take_completion(tlp* packet, const tlp_header& header, ps_t arrived);
  void refuse(tlp* packet, const tlp_header& header, ps_t arrived);
  void drop(tlp* packet);
  void discard(tlp* packet, ps_t arrived);
  void apply_fault(memory_access& access, name_id row);
  [[nodiscard]] ps_t translated(tlp* packet, std::uint64_t address, ps_t ready);
  [[nodiscard]] ps_t to_memory(tlp* packet, ps_t ready);
  [[nodiscard]] ps_t to_cores(tlp* packet, ps_t ready);
  [[nodiscard]] ps_t read_time(const byte_range& range);
  ps_t from_memory(const memory_access& access);
  [[nodiscard]] bool allocates(std::uint64_t address) const;
  /// From the link towards memory or the CPU, and back.
  [[nodiscard]] ps_t way_in() const;
  [[nodiscard]] ps_t way_out() const;
  ps_t memory_slot(tlp* packet, ps_t ready, std::uint64_t bytes);

  void sample(const memory_access& access);
  [[nodiscard]] std::uint32_t cut(std::uint64_t address, std::uint32_t left);
  void complete(answer_parts& parts, const memory_access& access, std::uint64_t address,
                std::uint32_t left, std::uint32_t bytes);
  void make_stray(answer_parts& parts, const memory_access& access);
  void send_completions(std::uint32_t slot);
  void mix_completions();
  void store(const memory_access& access);
  void answer(std::uint16_t tag);

  void depart(tlp* packet, trace_ref trace, name_id row);
  std::uint16_t take_tag(mmio_read_listener& listener, std::uint32_t length, std::uint32_t lead);
  [[nodiscard]] bool inside(const byte_range& range) const;

  static constexpr std::uint16_t RootId = 0;  ///< bus 0, device 0, function 0

  sim_context& context_;
  host_memory& memory_;
  tlp_pool& tlps_;
  const trace_site self_;
  const name_id port_place_;
  const name_id memory_place_;
  const name_id memory_busy_;
  const name_id posted_order_;
  const name_id link_;
  const name_id fault_;
  tlp_egress egress_;
  std::vector<window> windows_;
  window interrupt_window_{1, 0};  ///< none
  message_listener* messages_ = nullptr;
  pcie_faults faults_;
  random_stream random_;

  fifo<memory_access> reads_;
  slots<memory_access> writes_;
  slots<answer_parts> completions_;
  std::vector<std::uint32_t> mixed_;  ///< completions_ that leave in any order
  bool mixing_ = false;               ///< a callback for them is asked for
  fifo<tlp*> discards_;
  fifo<tlp*> requests_;
  fifo<std::uint16_t> answers_;
  std::vector<outstanding> outstanding_;  ///< by tag
  std::uint16_t next_tag_ = 0;

  std::unique_ptr<page_faults> page_faults_;
  std::unique_ptr<iommu> iommu_;
  std::unique_ptr<socket_link> sockets_;
  bool far_memory_ = false;
  bool far_cores_ = false;
  std::unique_ptr<last_level_cache> cache_;

  serializer memory_pipe_;
  ps_t last_sampled_ = 0;
  ps_t last_visible_ = 0;
  statistics stats_;
};

}  // namespace carillon
