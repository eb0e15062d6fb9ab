// responder: requests in order, their bytes in memory, the acknowledge and the completion.
#include "responder.h"

#include <gtest/gtest.h>

#include "common/stage_bench.h"
#include "gen/wqe.h"

namespace carillon {
namespace {

using bench::context_lines;
using bench::dma_memory;
using bench::sink;
using bench::source;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint32_t Qpn = 0x31;
constexpr std::uint32_t Pd = 0x77;
constexpr std::uint32_t Rkey = 0x1205;  // index 0x12, variant 5
constexpr std::uint32_t Lkey = 0x1306;
constexpr std::uint64_t Va = 0x7f0000001000;
constexpr std::uint64_t Iova = 0x40001000;
constexpr std::uint64_t LocalVa = 0x5000;
constexpr std::uint64_t LocalIova = 0x80005000;
constexpr std::uint64_t RqBase = 0x10000;
constexpr std::uint64_t Record = 0x20000;
constexpr cycle_t DmaDelay = 100;

class responder_bench : public testing::TestWithParam<int> {
 protected:
  explicit responder_bench(cycle_t period = 1)
      : bench(static_cast<std::uint64_t>(GetParam())),
        ports{bench.port<rx_packet>("packets"),      bench.port<qp_command>("commands"),
              bench.port<context_read>("key_reads"), bench.port<context_line>("key_lines"),
              bench.port<dma_read>("reads"),         bench.port<dma_read_done>("reads_done"),
              bench.port<dma_write>("writes", 4),    bench.port<context_write>("lines"),
              bench.port<qp_commit>("commits"),      bench.port<response_item>("acks", 4),
              bench.port<cqe_item>("cqes", 4)},
        dut("responder", bench.nic, ports),
        packets("rx_parser", bench, ports.packets),
        commands("pcie_endpoint", bench, ports.commands),
        ram("qpc_ram", bench),
        dma("dma_engine", bench, DmaDelay, period),
        commits("parser_commits", bench, ports.commits),
        acks("tx_sched", bench, ports.acks, period),
        cqes("completion", bench, ports.cqes, period) {
    ram.serve(ports.key_reads, ports.key_lines);
    ram.accept(ports.lines);
    dma.serve(ports.reads, ports.reads_done);
    dma.accept(ports.writes);
    ram.set(context_kind::mkey, Rkey >> 8, key(Rkey, Va, Iova));
    ram.set(context_kind::mkey, Lkey >> 8, key(Lkey, LocalVa, LocalIova));
    common.valid = 1;
    common.state = qp_state::Rts;
    common.mtu = mtu_code::Mtu256;
    common.pd = Pd;
    common.function_id = 2;
    common.rwe = 1;
    common.log_rq_size = 2;
    common.log_rq_stride = 1;  // 32 bytes: two segments
    common.rq_base_addr = RqBase;
    common.dbr_addr = Record;
    common.cq_num_recv = 5;
    common.remote_qpn = 0x99;
    line.next_rcv_psn = 100;
    line.rmsn = 40;
  }

  static mkey_line key(std::uint32_t value, std::uint64_t va, std::uint64_t iova) {
    mkey_line key;
    key.valid = 1;
    key.contiguous = 1;
    key.lw = 1;
    key.rw = 1;
    key.variant = static_cast<std::uint8_t>(value);
    key.function_id = 2;
    key.pd = Pd;
    key.qpn = MkeyAnyQp;
    key.start_addr = va;
    key.len = 0x1000;
    key.phys_base = iova;
    return key;
  }

  /// Posts receive WQE `index` with two segments; the second ends the list if it is empty.
  void post_receive(std::uint16_t index, std::uint32_t first, std::uint32_t second = 0) {
    data_seg a;
    a.byte_count = first;
    a.lkey = Lkey;
    a.address = LocalVa + index * 0x200U;
    data_seg b;
    b.byte_count = second;
    b.lkey = second == 0 ? InvalidLkey : Lkey;
    b.address = second == 0 ? 0 : LocalVa + index * 0x200U + 0x100;
    dma.put(RqBase + (index & 3U) * 32, a);
    dma.put(RqBase + (index & 3U) * 32 + 16, b);
    const auto producer = static_cast<std::uint16_t>(index + 1);
    dma.at(Record + 2) = static_cast<std::uint8_t>(producer >> 8);
    dma.at(Record + 3) = static_cast<std::uint8_t>(producer);
  }

  rx_packet packet(bth_opcode opcode, std::uint32_t payload, bool ack = true) {
    rx_packet out;
    out.function = 2;
    out.qpn = Qpn;
    out.bth_opcode = static_cast<std::uint8_t>(opcode);
    out.ack_request = ack;
    out.payload = payload;
    out.payload_offset = 60;
    out.bytes = bench.nic.buffers.take();
    for (std::uint32_t i = 0; i < payload; ++i) {
      out.bytes.data()[60 + i] = static_cast<std::uint8_t>(next_byte_++);
    }
    const opcode_info& info = *find_opcode(opcode);
    if (info.has_reth) {
      out.remote_address = Va;
      out.rkey = Rkey;
      out.dma_length = payload;
    }
    out.imm = info.has_immdt ? 0xcafe0001 : 0;
    return out;
  }

  /// Sends it with the line that the parser would have looked up: the one after all packets sent
  /// before.
  void send(cycle_t cycle, rx_packet out) {
    common.pack(out.common.data());
    line.pack(out.responder.data());
    out.psn = line.next_rcv_psn;
    if (out.verdict == rx_verdict::accept) {
      // Only these tests' good packets come here, so the next line follows from the one rule.
      const std::uint32_t rq_consumer = line.rq_consumer;
      const request_step step = step_request(out, common, line);
      line = step.next;
      line.rq_consumer = static_cast<std::uint16_t>(rq_consumer + (step.takes_receive ? 1 : 0));
    }
    packets.at(cycle, std::move(out));
  }

  bool memory_holds(std::uint64_t address, std::uint32_t length, std::uint8_t first) {
    for (std::uint32_t i = 0; i < length; ++i) {
      if (dma.at(address + i) != static_cast<std::uint8_t>(first + i)) {
        return false;
      }
    }
    return true;
  }

  qpc_responder stored() { return ram.get<qpc_responder>(context_kind::qpc_responder, Qpn); }

  stage_bench bench;
  responder::ports ports;
  responder dut;
  source<rx_packet> packets;
  source<qp_command> commands;
  context_lines ram;
  dma_memory dma;
  sink<qp_commit> commits;
  sink<response_item> acks;
  sink<cqe_item> cqes;
  qpc_common common;
  qpc_responder line;

 private:
  unsigned next_byte_ = 0;
};

TEST_P(responder_bench, a_write_is_in_memory_and_acknowledged_15_cycles_later) {
  send(10, packet(bth_opcode::RcWriteOnly, 100));  // taken in 11
  bench.run(100);
  ASSERT_EQ(dma.written.size(), 1U);
  EXPECT_EQ(dma.written[0].visible, 26U);
  EXPECT_EQ(dma.written[0].write.address, Iova);
  EXPECT_EQ(dma.written[0].write.length, 100U);
  EXPECT_EQ(dma.written[0].write.function, 2);
  EXPECT_EQ(dma.written[0].write.point, milestone::delivered);
  EXPECT_TRUE(dma.written[0].write.point_last);
  EXPECT_TRUE(memory_holds(Iova, 100, 0));
  ASSERT_EQ(acks.items.size(), 1U);
  EXPECT_EQ(acks.items[0].visible, 26U);
  EXPECT_EQ(acks.items[0].item.psn, 100U);
  EXPECT_EQ(acks.items[0].item.msn, 41U);
  EXPECT_EQ(acks.items[0].item.syndrome, 0x1f);
  EXPECT_TRUE(cqes.items.empty());
  ASSERT_EQ(commits.items.size(), 1U);
  EXPECT_EQ(commits.items[0].visible, 12U);  // decided when taken
  EXPECT_EQ(stored().next_rcv_psn, 101U);
  EXPECT_EQ(stored().rmsn, 41U);
  EXPECT_EQ(bench.count(counter::RxWriteRequests), 1U);
  bench.context.check_drained();
}

TEST_P(responder_bench, a_write_of_three_packets_needs_one_key_read) {
  rx_packet first = packet(bth_opcode::RcWriteFirst, 256, false);
  first.dma_length = 600;
  send(10, std::move(first));
  send(11, packet(bth_opcode::RcWriteMiddle, 256, false));
  send(12, packet(bth_opcode::RcWriteLast, 88));
  bench.run(100);
  ASSERT_EQ(dma.written.size(), 3U);
  EXPECT_EQ(dma.written[1].write.address, Iova + 256);
  EXPECT_EQ(dma.written[2].write.address, Iova + 512);
  EXPECT_EQ(dma.written[0].visible, 26U);
  EXPECT_EQ(dma.written[1].visible, 27U);
  EXPECT_EQ(dma.written[2].visible, 28U);
  EXPECT_EQ(dma.written[1].write.point, milestone::count_);
  EXPECT_EQ(dma.written[2].write.point, milestone::delivered);
  EXPECT_TRUE(memory_holds(Iova, 600, 0));
  ASSERT_EQ(acks.items.size(), 1U);
  EXPECT_EQ(acks.items[0].item.psn, 102U);
  bench.context.check_drained();
}

TEST_P(responder_bench, the_first_send_asks_for_record_and_receive_wqe_the_next_finds_them) {
  post_receive(0, 256);
  post_receive(1, 256);
  post_receive(2, 256);
  send(10, packet(bth_opcode::RcSendOnly, 200));
  rx_packet second = packet(bth_opcode::RcSendOnlyImmediate, 50);
  second.solicited = true;
  send(500, std::move(second));
  bench.run(1000);
  ASSERT_EQ(dma.read.size(), 2U);
  EXPECT_EQ(dma.read[0].second.address, Record);
  EXPECT_EQ(dma.read[0].second.length, 4U);
  EXPECT_EQ(dma.read[1].second.address, RqBase);
  EXPECT_EQ(dma.read[1].second.length, 3 * 32U);  // all that are posted at once
  ASSERT_EQ(dma.written.size(), 2U);
  // Taken in 11, record asked in 11 and answered in 112, WQE asked in 112 and answered in 213, key
  // 5, write 10.
  EXPECT_EQ(dma.written[0].visible, 228U);
  EXPECT_EQ(dma.written[1].visible, 516U);
  EXPECT_TRUE(memory_holds(LocalIova, 200, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x200, 50, 200));
  ASSERT_EQ(cqes.items.size(), 2U);
  EXPECT_EQ(cqes.items[0].item.cqn, 5U);
  EXPECT_EQ(cqes.items[0].item.cqe_opcode, 2);
  EXPECT_EQ(cqes.items[0].item.byte_count, 200U);
  EXPECT_EQ(cqes.items[0].item.wqe_counter, 0);
  EXPECT_EQ(cqes.items[1].visible, 516U);
  EXPECT_EQ(cqes.items[1].item.cqe_opcode, 3);
  EXPECT_EQ(cqes.items[1].item.imm, 0xcafe0001U);
  EXPECT_EQ(cqes.items[1].item.wqe_counter, 1);
  EXPECT_TRUE(cqes.items[1].item.solicited);
  EXPECT_EQ(stored().rq_consumer, 2);
  EXPECT_EQ(stored().rq_db_rec, 3U);
  bench.context.check_drained();
}

TEST_P(responder_bench, a_send_of_several_packets_is_scattered_over_segments) {
  post_receive(0, 256, 256);
  send(10, packet(bth_opcode::RcSendFirst, 256, false));
  send(11, packet(bth_opcode::RcSendMiddle, 256, false));
  bench.run(400);
  EXPECT_EQ(dma.written.size(), 2U);
  EXPECT_TRUE(cqes.items.empty());
  bench.context.check_drained();
  EXPECT_TRUE(memory_holds(LocalIova, 256, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x100, 256, 0));
}

TEST_P(responder_bench, a_packet_across_two_segments_is_two_writes) {
  post_receive(0, 200, 200);
  send(10, packet(bth_opcode::RcSendFirst, 256, false));
  send(11, packet(bth_opcode::RcSendLast, 100));
  bench.run(500);
  ASSERT_EQ(dma.written.size(), 3U);
  EXPECT_EQ(dma.written[0].write.length, 200U);
  EXPECT_EQ(dma.written[1].write.length, 56U);
  EXPECT_EQ(dma.written[1].write.address, LocalIova + 0x100);
  EXPECT_EQ(dma.written[2].write.length, 100U);
  EXPECT_EQ(dma.written[2].write.address, LocalIova + 0x100 + 56);
  EXPECT_TRUE(memory_holds(LocalIova, 200, 0));
  EXPECT_TRUE(memory_holds(LocalIova + 0x100, 156, 200));
  ASSERT_EQ(cqes.items.size(), 1U);
  EXPECT_EQ(cqes.items[0].item.byte_count, 356U);
  bench.context.check_drained();
}

TEST_P(responder_bench, a_write_with_immediate_takes_a_receive_wqe_without_reading_it) {
  post_receive(0, 256);
  send(10, packet(bth_opcode::RcWriteOnlyImmediate, 64));
  bench.run(500);
  for (const auto& [cycle, read] : dma.read) {
    EXPECT_EQ(read.address, Record) << cycle;
  }
  ASSERT_EQ(cqes.items.size(), 1U);
  EXPECT_EQ(cqes.items[0].item.cqe_opcode, 1);
  EXPECT_EQ(cqes.items[0].item.imm, 0xcafe0001U);
  EXPECT_EQ(cqes.items[0].item.byte_count, 64U);
  EXPECT_TRUE(memory_holds(Iova, 64, 0));
  bench.context.check_drained();
}

TEST_P(responder_bench, a_message_without_bytes_needs_no_key) {
  post_receive(0, 256);
  rx_packet write = packet(bth_opcode::RcWriteOnly, 0);
  write.rkey = 0xffff00;
  send(10, std::move(write));
  send(12, packet(bth_opcode::RcSendOnly, 0));
  bench.run(500);
  EXPECT_TRUE(dma.written.empty());
  ASSERT_EQ(acks.items.size(), 2U);
  EXPECT_EQ(acks.items[0].visible, 26U);
  ASSERT_EQ(cqes.items.size(), 1U);
  EXPECT_EQ(cqes.items[0].item.point, milestone::delivered);
  bench.context.check_drained();
}

TEST_P(responder_bench, without_a_receive_wqe_the_message_is_dropped_and_epsn_stays) {
  send(10, packet(bth_opcode::RcSendOnly, 10));
  bench.run(500);
  EXPECT_EQ(bench.count(counter::RxOutOfBuffer), 1U);
  EXPECT_TRUE(acks.items.empty());
  EXPECT_EQ(commits.items.size(), 1U);
  EXPECT_EQ(stored().next_rcv_psn, 0U);  // never written
  bench.context.check_drained();
}

TEST_P(responder_bench, a_refused_key_fails_the_qp_and_nothing_after_it_is_acknowledged) {
  rx_packet wrong = packet(bth_opcode::RcWriteOnly, 100);
  wrong.rkey = Rkey + 1;  // another variant
  send(10, packet(bth_opcode::RcWriteOnly, 8));
  send(11, std::move(wrong));
  send(12, packet(bth_opcode::RcWriteOnly, 100));
  bench.run(200);
  EXPECT_EQ(dma.written.size(), 1U);
  EXPECT_EQ(acks.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::RespRemoteAccessErrors), 1U);
  EXPECT_EQ(bench.count(counter::RxDropAfterError), 1U);
  EXPECT_EQ(stored().error, 1);
  EXPECT_EQ(commits.items.size(), 3U);
  bench.context.check_drained();
}

TEST_P(responder_bench, a_send_longer_than_its_buffers_fails_the_qp) {
  post_receive(0, 100);
  send(10, packet(bth_opcode::RcSendOnly, 101));
  bench.run(500);
  EXPECT_TRUE(dma.written.empty());
  EXPECT_EQ(bench.count(counter::RespLocalLengthError), 1U);
  EXPECT_EQ(stored().error, 1);
  bench.context.check_drained();
}

TEST_P(responder_bench, other_verdicts_are_committed_counted_and_dropped) {
  rx_packet gap = packet(bth_opcode::RcWriteOnly, 8);
  gap.verdict = rx_verdict::gap;
  rx_packet again = packet(bth_opcode::RcWriteOnly, 8);
  again.verdict = rx_verdict::duplicate;
  rx_packet nobody = packet(bth_opcode::RcWriteOnly, 8);
  nobody.verdict = rx_verdict::no_qp;
  send(10, std::move(gap));
  send(11, std::move(again));
  send(12, std::move(nobody));
  bench.run(100);
  EXPECT_EQ(commits.items.size(), 3U);
  EXPECT_EQ(bench.count(counter::OutOfSequence), 1U);
  EXPECT_EQ(bench.count(counter::DuplicateRequest), 1U);
  EXPECT_TRUE(dma.written.empty());
  EXPECT_EQ(bench.nic.buffers.in_use(), 0U);
  bench.context.check_drained();
}

TEST_P(responder_bench, another_qp_does_not_wait_for_a_receive_wqe) {
  post_receive(0, 256);
  send(10, packet(bth_opcode::RcSendOnly, 10));
  rx_packet other = packet(bth_opcode::RcWriteOnly, 8);
  other.qpn = Qpn + 1;
  line = qpc_responder{};
  send(11, std::move(other));
  bench.run(500);
  ASSERT_EQ(dma.written.size(), 2U);
  EXPECT_EQ(dma.written[0].write.address, Iova);
  EXPECT_EQ(dma.written[0].visible, 27U);
  bench.context.check_drained();
}

TEST_P(responder_bench, reset_frees_what_waits) {
  send(10, packet(bth_opcode::RcSendOnly, 10));
  qp_command reset;
  reset.qpn = Qpn;
  reset.state = static_cast<std::uint8_t>(qp_state::Reset);
  commands.at(50, reset);
  bench.run(500);
  EXPECT_EQ(commits.items.size(), 1U);
  EXPECT_TRUE(acks.items.empty());
  EXPECT_EQ(bench.count(counter::RxDropBadState), 1U);
  bench.context.check_drained();
}

class responder_back_pressure : public responder_bench {
 protected:
  responder_back_pressure() : responder_bench(9) {}
};

TEST_P(responder_back_pressure, many_sends_keep_their_order) {
  for (std::uint16_t i = 0; i < 4; ++i) {
    post_receive(i, 100, 100);
  }
  for (unsigned i = 0; i < 4; ++i) {
    send(10, packet(bth_opcode::RcSendOnly, 150));
    rx_packet other = packet(bth_opcode::RcWriteOnly, 256);
    other.qpn = Qpn + 1 + i;
    const qpc_responder kept = line;
    line = qpc_responder{};
    send(10, std::move(other));
    line = kept;
  }
  bench.run(3000);
  ASSERT_EQ(cqes.items.size(), 4U);
  for (std::uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cqes.items[i].item.wqe_counter, i);
  }
  EXPECT_EQ(dma.written.size(), 12U);
  EXPECT_EQ(acks.items.size(), 8U);
  bench.context.check_drained();
}

INSTANTIATE_TEST_SUITE_P(shuffle, responder_bench, testing::Values(0, 77));
INSTANTIATE_TEST_SUITE_P(shuffle, responder_back_pressure, testing::Values(0, 77));

// The core, without time
// -------------------------------------------------------------------------------

struct step_case {
  bth_opcode opcode;
  std::uint32_t payload;
  std::uint32_t dma_length;
  bool in_message;
  bth_verb verb;
  std::uint32_t so_far;
  std::uint32_t announced;
  request_fault fault;
};

TEST(responder_core, opcode_sequence_and_lengths) {
  using enum request_fault;
  const step_case cases[] = {
      {bth_opcode::RcSendOnly, 256, 0, false, bth_verb::Send, 0, 0, none},
      {bth_opcode::RcSendOnly, 257, 0, false, bth_verb::Send, 0, 0, invalid},
      {bth_opcode::RcSendOnly, 0, 0, true, bth_verb::Send, 256, 0, invalid},
      {bth_opcode::RcSendFirst, 255, 0, false, bth_verb::Send, 0, 0, invalid},
      {bth_opcode::RcSendMiddle, 256, 0, false, bth_verb::Send, 0, 0, invalid},
      {bth_opcode::RcSendMiddle, 256, 0, true, bth_verb::Write, 256, 900, invalid},
      {bth_opcode::RcSendLast, 0, 0, true, bth_verb::Send, 256, 0, invalid},
      {bth_opcode::RcSendLast, 1, 0, true, bth_verb::Send, 256, 0, none},
      {bth_opcode::RcWriteFirst, 256, 256, false, bth_verb::Send, 0, 0, invalid},
      {bth_opcode::RcWriteFirst, 256, 257, false, bth_verb::Send, 0, 0, none},
      {bth_opcode::RcWriteLast, 1, 0, true, bth_verb::Write, 256, 257, none},
      {bth_opcode::RcWriteLast, 2, 0, true, bth_verb::Write, 256, 257, invalid},
      {bth_opcode::RcWriteMiddle, 256, 0, true, bth_verb::Write, 256, 512, invalid},
      {bth_opcode::RcWriteOnly, 8, 9, false, bth_verb::Send, 0, 0, invalid},
      {bth_opcode::RcReadRequest, 0, 9, false, bth_verb::Send, 0, 0, unsupported},
      {bth_opcode::RcSendOnlyInvalidate, 8, 0, false, bth_verb::Send, 0, 0, unsupported},
      {bth_opcode::UdSendOnly, 8, 0, false, bth_verb::Send, 0, 0, unsupported},
  };
  qpc_common common;
  common.mtu = mtu_code::Mtu256;
  common.rwe = 1;
  for (const step_case& each : cases) {
    rx_packet packet;
    packet.bth_opcode = static_cast<std::uint8_t>(each.opcode);
    packet.payload = each.payload;
    packet.dma_length = each.dma_length;
    qpc_responder line;
    line.in_message = each.in_message ? 1 : 0;
    line.cur_verb = each.verb;
    line.cur_bytes = each.so_far;
    line.cur_length = each.announced;
    EXPECT_EQ(step_request(packet, common, line).fault, each.fault)
        << to_string(each.opcode) << " " << each.payload << " after " << each.so_far;
  }
}

TEST(responder_core, psn_and_msn_wrap_at_24_bits) {
  qpc_common common;
  common.mtu = mtu_code::Mtu256;
  rx_packet packet;
  packet.bth_opcode = static_cast<std::uint8_t>(bth_opcode::RcSendOnly);
  qpc_responder line;
  line.next_rcv_psn = 0xffffff;
  line.rmsn = 0xffffff;
  const request_step step = step_request(packet, common, line);
  EXPECT_EQ(step.next.next_rcv_psn, 0U);
  EXPECT_EQ(step.next.rmsn, 0U);
}

TEST(responder_core, a_write_needs_the_qps_permission) {
  qpc_common common;
  common.mtu = mtu_code::Mtu256;
  rx_packet packet;
  packet.bth_opcode = static_cast<std::uint8_t>(bth_opcode::RcWriteOnly);
  EXPECT_EQ(step_request(packet, common, {}).fault, request_fault::invalid);
}

TEST(responder_core, keys_are_checked_for_everything) {
  mkey_line good;
  good.valid = 1;
  good.contiguous = 1;
  good.rw = 1;
  good.variant = 5;
  good.function_id = 2;
  good.pd = Pd;
  good.qpn = MkeyAnyQp;
  good.start_addr = 0x1000;
  good.len = 0x100;
  good.phys_base = 0x9000;
  const auto at = [](const mkey_line& key, std::uint64_t address, std::uint64_t length) {
    return translate(key, true, Rkey, Pd, Qpn, 2, key_right::remote_write, address, length);
  };
  EXPECT_EQ(at(good, 0x1010, 0xf0), 0x9010U);
  EXPECT_FALSE(at(good, 0x1010, 0xf1));
  EXPECT_FALSE(at(good, 0xfff, 1));
  EXPECT_FALSE(at(good, 0xffffffffffffffff, 2));
  EXPECT_FALSE(translate(good, true, Rkey, Pd, Qpn, 2, key_right::local_write, 0x1000, 1));
  EXPECT_FALSE(translate(good, true, Rkey + 1, Pd, Qpn, 2, key_right::remote_write, 0x1000, 1));
  EXPECT_FALSE(translate(good, true, Rkey, Pd + 1, Qpn, 2, key_right::remote_write, 0x1000, 1));
  EXPECT_FALSE(translate(good, true, Rkey, Pd, Qpn, 3, key_right::remote_write, 0x1000, 1));
  EXPECT_FALSE(translate(good, false, Rkey, Pd, Qpn, 2, key_right::remote_write, 0x1000, 1));
  mkey_line bound = good;
  bound.qpn = Qpn + 1;
  EXPECT_FALSE(at(bound, 0x1000, 1));
  mkey_line whole = good;
  whole.length64 = 1;
  whole.start_addr = 0;
  whole.phys_base = 0;
  EXPECT_EQ(at(whole, 0x123456789, 0x1000), 0x123456789U);
}

TEST(responder_core, receive_batches_stop_at_the_ring_end_and_are_given_back_in_order) {
  buffer_pool pool;
  qpc_common common;
  common.log_rq_size = 3;
  common.log_rq_stride = 0;
  common.rq_base_addr = 0x1000;
  receive_queue queue;
  queue.configure(common);
  queue.start(0xfffe, 0xfffe);
  EXPECT_FALSE(queue.has_credit());
  queue.set_producer(4);  // six WQEs: slots 6, 7, 0..3
  ASSERT_TRUE(queue.next_read());
  EXPECT_EQ(queue.next_read()->address, 0x1000U + 6 * 16);
  EXPECT_EQ(queue.next_read()->count, 2);
  queue.begin_read(*queue.next_read(), pool.take());
  EXPECT_FALSE(queue.next_read());  // one at a time
  queue.end_read(dma_status::ok);
  ASSERT_TRUE(queue.next_read());
  EXPECT_EQ(queue.next_read()->address, 0x1000U);
  EXPECT_EQ(queue.next_read()->count, 4);
  queue.begin_read(*queue.next_read(), pool.take());
  queue.end_read(dma_status::ok);
  EXPECT_EQ(queue.consume(true), 0xfffe);
  EXPECT_EQ(queue.consume(true), 0xffff);
  EXPECT_EQ(queue.consume(true), 0);
  queue.finished(0xfffe);
  EXPECT_EQ(pool.in_use(), 2U);
  queue.finished(0xffff);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_EQ(queue.find(0xffff), nullptr);
  EXPECT_NE(queue.find(0), nullptr);
}

}  // namespace
}  // namespace carillon
