// The driver against a device made of the real host-side stages (pcie_rx, dma_engine, qpc_ram,
// pcie_endpoint) and a stand-in for what lies behind the UAR: it records what is rung and, if
// asked, answers with CQEs.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/roce_packet.h"
#include "gen/bytes.h"
#include "host/driver.h"
#include "host/session.h"
#include "qpc_ram.h"
#include "tb/common/pcie_side.h"

namespace carillon::bench {

inline constexpr std::uint64_t FirstMac = 0x020000000001;

/// Takes UAR writes. With `complete`, each doorbell for a QP is answered by a CQE of the WQE that
/// it names.
class fake_uar final : public stage {
 public:
  fake_uar(const char* name, nic_shared& nic, stream<mmio_write>& in, stream<dma_write>& out,
           qpc_ram& ram)
      : stage(name, nic.context, "uar"), nic_(nic), in_(in), out_(out), ram_(ram) {
    in_.to(*this, site());
    out_.from(*this, site());
    watch(in_, {blocker::credit(out_)});
  }

  /// Writes a CQE into the CQ of the QP's send or receive queue.
  void write_cqe(cycle_t t, std::uint32_t qpn, bool receive, cqe64 entry, trace_ref trace) {
    const auto common = qpc_common::unpack(ram_.debug_read(context_kind::qpc_common, qpn).data());
    const std::uint32_t cqn = receive ? common.cq_num_recv : common.cq_num_send;
    const auto cq = cqc_line::unpack(ram_.debug_read(context_kind::cqc, cqn).data());
    const std::uint32_t producer = producers_[cqn]++;
    entry.qpn = qpn;
    entry.owner = (producer >> cq.log_cq_size) & 1;
    dma_write item;
    item.trace = trace;
    item.address = cq.base_addr + (producer & ((1U << cq.log_cq_size) - 1)) * cqe64::Size;
    item.length = cqe64::Size;
    item.from = nic_.buffers.take();
    entry.pack(item.from.data());
    item.point = milestone::cqe_written;
    out_.push(t, 1, item);
  }

  struct write {
    ps_t when;
    mmio_write item;
  };

  bool complete = false;
  cqe_opcode opcode = cqe_opcode::Requester;
  std::uint8_t syndrome = 0;
  std::vector<write> seen;

 private:
  void evaluate(cycle_t t) override {
    if (!in_.takeable(t)) {
      return;
    }
    if (!out_.has_credit(t)) {
      out_.ask_credit(t);
      return;
    }
    const mmio_write item = in_.take(t);
    seen.push_back({time_of(t), item});
    const std::uint64_t offset = item.offset % UarPageBytes;
    if (complete && (offset == uar_page::DbRec || offset == uar_page::BfBuffer)) {
      const doorbell_word rung = doorbell_word::unpack(item.data.data());
      cqe64 entry;
      entry.opcode = opcode;
      entry.wqe_counter = rung.wqe_index;
      entry.byte_cnt = 77;
      entry.timestamp =
          std::uint64_t{syndrome};  // the syndrome of an error CQE is in its last byte but two
      if (syndrome != 0) {
        entry.timestamp = 0x9300 | syndrome;
      }
      write_cqe(t, rung.qpn, false, entry, item.trace);
    }
  }

  nic_shared& nic_;
  stream<mmio_write>& in_;
  stream<dma_write>& out_;
  qpc_ram& ram_;
  std::map<std::uint32_t, std::uint32_t> producers_;
};

/// A host with the device that it drives.
struct node : pcie_side {
  node(sim_context& context, tlp_pool& tlps, const std::string& suffix, std::uint64_t mac,
       unsigned cores)
      : pcie_side(context, tlps, suffix, cores),
        line_reads(context, "line_reads" + suffix, 4),
        lines(context, "lines" + suffix, 4),
        line_writes(context, "line_writes" + suffix, 4),
        owners(context, "owners" + suffix, 4),
        completion_commands(context, "completion_commands" + suffix, 4),
        srq_commands(context, "srq_commands" + suffix, 4),
        msix_commands(context, "msix_commands" + suffix, 4),
        msix_bits(context.clock, "msix_pending" + suffix, {}),
        command_events(context, "command_events" + suffix, 4),
        vports(context.clock, "vports" + suffix, pcie_endpoint::reset_vports(context.params, mac)),
        partitions(context.clock, "partitions" + suffix,
                   pcie_endpoint::reset_partitions(context.params)),
        ram(("qpc_ram" + suffix).c_str(), shared,
            {{{line_reads, lines, "pcie_endpoint"}}, {&line_writes}, {}}),
        endpoint(("pcie_endpoint" + suffix).c_str(), shared,
                 {register_writes,
                  register_reads,
                  answers,
                  line_reads,
                  lines,
                  line_writes,
                  {&owners},
                  completion_commands,
                  srq_commands,
                  queue_reads,
                  queue_data,
                  queue_writes,
                  command_events,
                  msix_commands,
                  msix_bits,
                  configs,
                  {&request_errors, &completion_errors},
                  functions,
                  vports,
                  partitions},
                 mac),
        uar(("uar" + suffix).c_str(), shared, uar_writes, cqes, ram),
        owner_drain("owner_drain" + suffix, context, owners),
        completion_drain("completion_drain" + suffix, context, completion_commands),
        srq_drain("srq_drain" + suffix, context, srq_commands),
        msix_drain("msix_drain" + suffix, context, msix_commands),
        event_drain("event_drain" + suffix, context, command_events),
        driver(host, slot, 0, shared.posted,
               gid_of_ipv4(0x0a000000 | static_cast<std::uint32_t>(mac & 0xff))) {}

  template <class Line>
  Line line(context_kind kind, std::uint32_t index) const {
    return Line::unpack(ram.debug_read(kind, index).data());
  }

  stream<context_read> line_reads;
  stream<context_line> lines;
  stream<context_write> line_writes;
  stream<qp_command> owners;
  stream<cq_command> completion_commands;
  stream<srq_command> srq_commands;
  stream<msix_command> msix_commands;
  level<msix_pending> msix_bits;
  stream<async_event> command_events;
  level<vport_table> vports;
  level<partition_table> partitions;
  qpc_ram ram;
  pcie_endpoint endpoint;
  fake_uar uar;
  drain<qp_command> owner_drain;
  drain<cq_command> completion_drain;
  drain<srq_command> srq_drain;
  drain<msix_command> msix_drain;
  drain<async_event> event_drain;
  device driver;
};

/// Keeps a copy of every message that is complete.
struct finished_messages final : message_observer {
  void on_message(const message_record& message) override { all.push_back(message); }

  std::vector<message_record> all;
};

class drivers : public testing::Test {
 protected:
  void build(session_options options = {}, unsigned cores = 1, parameters params = {}) {
    params.nic.command_cycles = 50;
    context = std::make_unique<sim_context>(params, 7, 0);
    context->trace.observe(finished);
    first = std::make_unique<node>(*context, tlps, "0", FirstMac, cores);
    second = std::make_unique<node>(*context, tlps, "1", FirstMac + 1, cores);
    connection = std::make_unique<session>(options, first->host.core(0), first->driver,
                                           second->host.core(0), second->driver);
  }

  /// Establishes the session and then runs `traffic` on the first host's core.
  template <class Traffic>
  void run(Traffic traffic) {
    first->host.core(0).run(program(traffic));
    second->host.core(0).run(connection->establish(1));
    sc_core::sc_start();
    ASSERT_FALSE(first->host.core(0).busy()) << "the program waits for ever";
    ASSERT_FALSE(second->host.core(0).busy());
    context->check_drained();
  }

  template <class Traffic>
  task<> program(Traffic traffic) {
    co_await connection->establish(0);
    rung_before = first->uar.seen.size();
    co_await traffic(first->host.core(0), connection->side(0));
  }

  /// A WRITE of `length` bytes of the buffer to the peer's.
  work_request write(std::uint32_t length, std::uint64_t id = 0) {
    work_request request;
    request.id = id;
    request.remote_address = connection->side(1).buffer.address;
    request.rkey = connection->side(1).buffer.key;
    const memory_region& mine = connection->side(0).buffer;
    request.add({mine.address, length, mine.key});
    return request;
  }

  [[nodiscard]] const fake_uar::write& rung(std::size_t index) const {
    return first->uar.seen.at(rung_before + index);
  }

  [[nodiscard]] std::size_t rings() const { return first->uar.seen.size() - rung_before; }

  tlp_pool tlps;
  finished_messages finished;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<node> first;
  std::unique_ptr<node> second;
  std::unique_ptr<session> connection;
  std::size_t rung_before = 0;
};

inline task<> nothing(cpu& /*core*/, session_side& /*side*/) {
  co_return;
}

}  // namespace carillon::bench
