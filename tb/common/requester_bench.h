// The bench of the requester: tx_sched, the peer and the memory are scripts.
#pragma once

#include <gtest/gtest.h>
#include <initializer_list>
#include <utility>
#include <vector>

#include "gen/contexts.h"
#include "gen/wire.h"
#include "gen/wqe.h"
#include "requester.h"
#include "stage_bench.h"

namespace carillon::bench {

inline constexpr std::uint32_t Qpn = 0x31;
inline constexpr std::uint32_t Cqn = 9;
inline constexpr std::uint32_t Pd = 0x12;

/// What a QP is set to; nothing is repeated for ever unless a test says so.
struct send_settings {
  std::uint32_t psn = 5;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 6;
  std::uint8_t ack_timeout = 0;
  qp_service service = qp_service::Rc;
};

/// How slow the neighbours are.
struct slowness {
  cycle_t cqe_period = 1;
  cycle_t write_period = 1;
  unsigned write_depth = 1024;
};

class requester_bench : public testing::TestWithParam<int> {
 protected:
  explicit requester_bench(const slowness& slow = {})
      : bench(static_cast<std::uint64_t>(GetParam())),
        writes(bench.port<dma_write>("writes", slow.write_depth, 68)),
        completion("completion", bench, cqes, slow.cqe_period),
        memory("memory", bench, 10, slow.write_period) {
    ram.serve(key_reads, key_lines);
    memory.accept(writes);
  }

  // Commands ----

  void command(cycle_t cycle, qp_state state, const send_settings& set = {},
               std::uint32_t qpn = Qpn) {
    qp_command item;
    item.qpn = qpn;
    item.state = static_cast<std::uint8_t>(state);
    item.service = static_cast<std::uint8_t>(set.service);
    item.send_psn = set.psn;
    qpc_requester line;
    line.retry_count = set.retry_count;
    line.rnr_retry = set.rnr_retry;
    line.ack_timeout = set.ack_timeout;
    line.pack(item.requester.data());
    qpc_common common;
    common.pd = Pd;
    common.function_id = 3;
    common.pack(item.common.data());
    commands.at(cycle, item);
  }

  /// The QP is ready to send from the beginning.
  void start(const send_settings& set = {}, std::uint32_t qpn = Qpn) {
    service = set.service;
    command(0, qp_state::Rts, set, qpn);
  }

  // Notes of tx_sched ----

  sent_packet note(std::uint32_t psn, std::uint32_t first, std::uint32_t last, std::uint16_t index,
                   wqe_opcode opcode = wqe_opcode::RdmaWrite) const {
    sent_packet packet;
    packet.qpn = Qpn;
    packet.epoch = epoch;
    packet.psn = psn;
    packet.first_psn = first;
    packet.last_psn = last;
    packet.last = psn == last;
    packet.wqe_index = index;
    packet.wqebbs = 1;
    packet.opcode = static_cast<std::uint8_t>(opcode);
    packet.service = static_cast<std::uint8_t>(service);
    packet.mtu_code = static_cast<std::uint8_t>(mtu_code::Mtu256);
    packet.signaled = true;
    packet.length = 1000U + index;
    packet.send_cqn = Cqn;
    packet.function = 3;
    return packet;
  }

  /// A WRITE of one packet.
  void write(cycle_t cycle, std::uint32_t psn, std::uint16_t index, bool signaled = true,
             std::uint32_t qpn = Qpn) {
    sent_packet packet = note(psn, psn, psn, index);
    packet.signaled = signaled;
    packet.qpn = qpn;
    sent.at(cycle, packet);
  }

  /// Packets [from, to] of a WRITE of the packets [first, last], a cycle apart.
  void packets(cycle_t cycle, std::uint32_t from, std::uint32_t to, std::uint32_t first,
               std::uint32_t last, std::uint16_t index) {
    for (std::uint32_t psn = from;; psn = psn_add(psn, 1)) {
      sent.at(cycle++, note(psn, first, last, index));
      if (psn == to) {
        break;
      }
    }
  }

  void message(cycle_t cycle, std::uint32_t first, std::uint32_t last, std::uint16_t index) {
    packets(cycle, first, last, first, last, index);
  }

  /// A WQE that sends nothing more: it failed, or is flushed.
  void failed(cycle_t cycle, std::uint32_t psn, std::uint16_t index, cqe_syndrome syndrome) {
    sent_packet packet = note(psn, psn, psn, index);
    packet.syndrome = static_cast<std::uint8_t>(syndrome);
    sent.at(cycle, packet);
  }

  void no_packet(cycle_t cycle, std::uint32_t psn, std::uint16_t index,
                 wqe_opcode opcode = wqe_opcode::Nop) {
    sent_packet packet = note(psn, psn, psn, index, opcode);
    packet.no_packet = true;
    packet.length = 0;
    sent.at(cycle, packet);
  }

  using segments = std::vector<data_seg>;

  /// A READ whose request has PSN `psn`, the whole READ beginning at `first`.
  void read(cycle_t cycle, std::uint32_t psn, std::uint32_t first, std::uint16_t index,
            const segments& into, bool paged = false) {
    std::uint32_t length = 0;
    for (const data_seg& each : into) {
      length += each.byte_count;
    }
    const std::uint32_t n = length == 0 ? 1 : (length + 255) / 256;
    sent_packet packet = note(psn, first, psn_add(first, n - 1), index, wqe_opcode::RdmaRead);
    packet.last = true;
    packet.length = length;
    packet.paged = paged;
    add_body(packet, into);
    sent.at(cycle, packet);
  }

  void fetch_add(cycle_t cycle, std::uint32_t psn, std::uint16_t index, std::uint64_t address) {
    sent_packet packet = note(psn, psn, psn, index, wqe_opcode::AtomicFetchAdd);
    packet.length = 8;
    add_body(packet, {{0, 8, 0x100, address}});
    sent.at(cycle, packet);
  }

  void add_body(sent_packet& packet, const segments& into) {
    packet.sge_count = static_cast<std::uint8_t>(into.size());
    packet.body = bench.nic.buffers.take();
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i].pack(packet.body.data() + i * data_seg::Size);
    }
  }

  // The peer ----

  rx_packet response(std::uint32_t psn, bth_opcode opcode, std::uint32_t qpn = Qpn) const {
    rx_packet packet;
    packet.verdict = rx_verdict::response;
    packet.qpn = qpn;
    packet.bth_opcode = static_cast<std::uint8_t>(opcode);
    packet.psn = psn;
    packet.syndrome = 31;
    return packet;
  }

  void ack(cycle_t cycle, std::uint32_t psn, std::uint32_t qpn = Qpn) {
    responses.at(cycle, response(psn, bth_opcode::RcAcknowledge, qpn), 1, false);
  }

  void nak(cycle_t cycle, std::uint32_t psn, std::uint8_t syndrome) {
    rx_packet packet = response(psn, bth_opcode::RcAcknowledge);
    packet.syndrome = syndrome;
    responses.at(cycle, packet, 1, false);
  }

  /// READ data: byte i of the packet is `fill` + i.
  void data(cycle_t cycle, std::uint32_t psn, bth_opcode opcode, std::uint32_t bytes,
            std::uint8_t fill = 0, bool traced = false) {
    rx_packet packet = response(psn, opcode);
    packet.payload = bytes;
    packet.payload_offset = 60;
    packet.bytes = bench.nic.buffers.take();
    for (std::uint32_t i = 0; i < bytes; ++i) {
      packet.bytes.data()[60 + i] = static_cast<std::uint8_t>(fill + i);
    }
    responses.at(cycle, packet, 1, traced);
  }

  void result(cycle_t cycle, std::uint32_t psn, std::uint64_t value) {
    rx_packet packet = response(psn, bth_opcode::RcAtomicAcknowledge);
    packet.atomic_result = value;
    responses.at(cycle, packet, 1, false);
  }

  // What must have come out ----

  /// (WQE index, syndrome) of every completion, in order.
  using ended = std::vector<std::pair<unsigned, unsigned>>;

  [[nodiscard]] ended completions() const {
    ended result;
    for (const auto& each : completion.items) {
      result.emplace_back(each.item.wqe_counter, each.item.syndrome);
    }
    return result;
  }

  /// The controls of one kind.
  [[nodiscard]] std::vector<sink<send_control>::taken> controls_of(send_control_kind kind) const {
    std::vector<sink<send_control>::taken> result;
    for (const auto& each : controls.items) {
      if (each.item.kind == kind) {
        result.push_back(each);
      }
    }
    return result;
  }

  void expect_restart(std::size_t which, std::uint8_t in_epoch, std::uint32_t psn,
                      std::uint32_t skip, std::uint16_t index) {
    const auto restarts = controls_of(send_control_kind::restart);
    ASSERT_GT(restarts.size(), which);
    const send_control& control = restarts[which].item;
    EXPECT_EQ(control.qpn, Qpn);
    EXPECT_EQ(control.epoch, in_epoch);
    EXPECT_EQ(control.psn, psn);
    EXPECT_EQ(control.skip, skip);
    EXPECT_EQ(control.wqe_index, index);
  }

  void finish(cycle_t cycles = 1000) {
    bench.run(cycles);
    bench.context.check_drained();
  }

  std::uint8_t epoch = 0;  ///< of the notes that follow
  qp_service service = qp_service::Rc;
  stage_bench bench;
  stream<sent_packet>& sent_port = bench.port<sent_packet>("sent");
  stream<rx_packet>& response_port = bench.port<rx_packet>("responses");
  stream<qp_command>& command_port = bench.port<qp_command>("commands");
  stream<qp_error>& fault_port = bench.port<qp_error>("faults");
  stream<context_line>& key_lines = bench.port<context_line>("key_lines");
  stream<context_read>& key_reads = bench.port<context_read>("key_reads", 8);
  stream<cqe_item>& cqes = bench.port<cqe_item>("cqes", 2);
  stream<send_control>& control_port = bench.port<send_control>("controls");
  stream<dma_write>& writes;
  stream<qp_error>& error_port = bench.port<qp_error>("errors", 8);
  stream<qp_error>& told_port = bench.port<qp_error>("told");
  stream<async_event>& event_port = bench.port<async_event>("events", 8);
  requester dut{"requester",
                bench.nic,
                {sent_port, response_port, command_port, fault_port, key_lines, key_reads, cqes,
                 control_port, writes, error_port, told_port, event_port}};
  source<sent_packet> sent{"tx_sched", bench, sent_port};
  source<rx_packet> responses{"rx_parser", bench, response_port};
  source<qp_command> commands{"pcie_endpoint", bench, command_port};
  source<qp_error> faults{"responder", bench, fault_port};
  sink<cqe_item> completion;
  sink<send_control> controls{"controls", bench, control_port};
  sink<qp_error> errors{"errors", bench, error_port};
  sink<qp_error> told{"told", bench, told_port};
  sink<async_event> events{"events", bench, event_port};
  context_lines ram{"ram", bench};
  dma_memory memory;
};

}  // namespace carillon::bench
