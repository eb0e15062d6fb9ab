// A bench for the responder: QPs, keys, receive queues, packets, and what came of them.
#pragma once

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "gen/wqe.h"
#include "responder.h"
#include "tb/common/responder_stand_ins.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

constexpr std::uint32_t Qpn = 0x31;
constexpr std::uint32_t Pd = 0x77;
constexpr std::uint32_t Rkey = 0x1205;  // index 0x12, variant 5
constexpr std::uint32_t Lkey = 0x1306;
constexpr std::uint32_t PagedKey = 0x1407;
constexpr std::uint64_t Va = 0x7f0000001000;
constexpr std::uint64_t Iova = 0x40001000;
constexpr std::uint32_t RegionBytes = 0x1000;
constexpr std::uint64_t LocalVa = 0x5000;
constexpr std::uint64_t LocalIova = 0x80005000;
constexpr std::uint64_t PagedVa = 0x9000100;  ///< begins 0x100 into its first page
constexpr std::uint32_t MttBase = 6;          ///< its list begins near the end of a line
constexpr std::uint64_t RqBase = 0x10000;
constexpr std::uint64_t Record = 0x20000;
constexpr std::uint32_t Srqn = 0x21;
constexpr std::uint32_t SrqPd = 0x88;
constexpr std::uint32_t SrqLkey = 0x1508;
constexpr std::uint64_t SrqBase = 0x30000;
constexpr std::uint64_t SrqRecord = 0x38000;
constexpr cycle_t DmaDelay = 100;
constexpr std::uint32_t Mtu = 256;

// AETH syndromes (RoCEv2/IBTA: bits 7:5 kind, 4:0 code).
constexpr std::uint8_t Ack = 0x1f;
constexpr std::uint8_t NakSequence = 0x60;
constexpr std::uint8_t NakInvalid = 0x61;
constexpr std::uint8_t NakAccess = 0x62;
constexpr std::uint8_t NakOperation = 0x63;

class responder_bench : public testing::TestWithParam<int> {
 protected:
  explicit responder_bench(cycle_t period = 1, const parameters& params = {})
      : bench(static_cast<std::uint64_t>(GetParam()), params),
        ports{bench.port<rx_packet>("packets"),
              bench.port<qp_command>("commands"),
              bench.port<srq_command>("srq_commands"),
              bench.port<qp_error>("requester_faults"),
              bench.port<response_failure>("failures"),
              bench.port<response_left>("answered", 64),
              bench.port<context_read>("key_reads"),
              bench.port<context_line>("key_lines"),
              bench.port<dma_read>("reads"),
              bench.port<dma_read_done>("reads_done"),
              bench.port<dma_write>("writes", 4),
              bench.port<context_write>("lines"),
              bench.port<qp_error>("errors"),
              bench.port<key_invalidation>("invalidations"),
              bench.port<qp_error>("faults"),
              bench.port<qp_commit>("commits"),
              bench.port<response_item>("responses", 4),
              bench.port<cqe_item>("cqes", 4),
              bench.port<async_event>("events")},
        dut("responder", bench.nic, ports),
        ram("qpc_ram", bench),
        parser(bench, ram, ports.packets, ports.commits),
        commands("pcie_endpoint", bench, ports.commands),
        srq_commands("pcie_endpoint_srq", bench, ports.srq_commands),
        requester_faults("requester", bench, ports.requester_faults),
        failures("tx_sched_failures", bench, ports.failures),
        memory(bench, DmaDelay, period, ports.reads, ports.reads_done, ports.writes),
        errors("qpc_ram_errors", bench, ports.errors),
        invalidations("qpc_ram_invalidations", bench, ports.invalidations),
        faults("requester_faults", bench, ports.faults),
        responses("tx_sched", bench, ports.responses, ports.answered, period),
        cqes("completion", bench, ports.cqes, period),
        events("completion_events", bench, ports.events) {
    ram.serve(ports.key_reads, ports.key_lines);
    ram.accept(ports.lines);
    set_key(Rkey, key(Rkey, Va, Iova));
    set_key(Lkey, key(Lkey, LocalVa, LocalIova));
    common.valid = 1;
    common.state = qp_state::Rts;
    common.mtu = mtu_code::Mtu256;
    common.pd = Pd;
    common.function_id = 2;
    common.rwe = 1;
    common.rre = 1;
    common.rae = 1;
    common.log_rq_size = 3;
    common.log_rq_stride = 1;  // 32 bytes: two segments
    common.rq_base_addr = RqBase;
    common.dbr_addr = Record;
    common.cq_num_recv = 5;
    common.remote_qpn = 0x99;
    line.next_rcv_psn = 100;
    line.rmsn = 40;
    line.min_rnr_nak = 12;
    line.log_rra_max = 2;
    set_qp();
  }

  // Objects
  // -----------------------------------------------------------------------------------------

  /// Puts `common` and `line` into the context RAM.
  void set_qp(std::uint32_t qpn = Qpn) {
    ram.set(context_kind::qpc_common, qpn, common);
    ram.set(context_kind::qpc_responder, qpn, line);
    psn[qpn] = line.next_rcv_psn;
  }

  void set_key(std::uint32_t value, const mkey_line& key) {
    ram.set(context_kind::mkey, value >> MkeyVariantBits, key);
  }

  static mkey_line key(std::uint32_t value, std::uint64_t va, std::uint64_t iova) {
    mkey_line key;
    key.valid = 1;
    key.contiguous = 1;
    key.lw = 1;
    key.rr = 1;
    key.rw = 1;
    key.a = 1;
    key.variant = static_cast<std::uint8_t>(value);
    key.function_id = 2;
    key.pd = Pd;
    key.qpn = MkeyAnyQp;
    key.start_addr = va;
    key.len = RegionBytes;
    key.phys_base = iova;
    return key;
  }

  /// PagedKey: pages of 4 KiB at 0x100000, 0x300000, 0x200000, ... with these access bits.
  void set_pages(unsigned access = MttReadEnable | MttWriteEnable) {
    mkey_line paged = key(PagedKey, PagedVa, 0);
    paged.contiguous = 0;
    paged.log_page_size = 12;
    paged.mtt_base = MttBase;
    paged.len = 0x3000;
    set_key(PagedKey, paged);
    constexpr std::array<std::uint64_t, 4> Pages = {0x100000, 0x300000, 0x200000, 0x201000};
    std::array<std::array<std::uint8_t, mtt_line::Size>, 2> packed{};
    for (unsigned i = 0; i < Pages.size(); ++i) {
      const unsigned entry = MttBase + i;
      bytes::store_be<8>(packed[entry / 8].data() + entry % 8 * 8, Pages[i] | access);
    }
    for (unsigned i = 0; i < packed.size(); ++i) {
      ram.set(context_kind::mtt, i, mtt_line::unpack(packed[i].data()));
    }
  }

  /// Writes receive WQE `index` with two segments, the second ends the list if it is empty, and
  /// counts it in the record.
  void post_receive(std::uint16_t index, std::uint32_t first, std::uint32_t second = 0) {
    data_seg a;
    a.byte_count = first;
    a.lkey = Lkey;
    a.address = LocalVa + index % 8U * 0x200U;
    data_seg b;
    b.byte_count = second;
    b.lkey = second == 0 ? InvalidLkey : Lkey;
    b.address = second == 0 ? 0 : a.address + 0x100;
    const std::uint64_t slot = index & ((1U << common.log_rq_size) - 1);
    memory.put(RqBase + slot * 32, a);
    memory.put(RqBase + slot * 32 + 16, b);
    memory.put_record(Record, static_cast<std::uint16_t>(index + 1));
  }

  /// Creates the SRQ with eight WQEs of 48 bytes room in strides of 64, its own protection domain
  /// and key.
  void set_srq(cycle_t cycle, std::uint16_t limit = 0) {
    srq_command made;
    made.srqn = Srqn;
    srq_line queue;
    queue.valid = 1;
    queue.log_size = 3;
    queue.log_stride = 2;
    queue.function_id = 2;
    queue.pd = SrqPd;
    queue.lwm = limit;
    queue.base_addr = SrqBase;
    queue.dbr_addr = SrqRecord;
    queue.pack(made.line.data());
    srq_commands.at(cycle, made);
    mkey_line local = key(SrqLkey, LocalVa, LocalIova);
    local.pd = SrqPd;
    set_key(SrqLkey, local);
    common.srq = 1;
    common.rq_base_addr = Srqn;
  }

  /// WQE `index` of the SRQ has one segment at LocalVa + index * 0x200; `next` follows it.
  void put_srq_wqe(std::uint16_t index, std::uint16_t next, std::uint32_t bytes) {
    srq_next_seg link;
    link.next_wqe_index = next;
    data_seg data;
    data.byte_count = bytes;
    data.lkey = SrqLkey;
    data.address = LocalVa + index * 0x200U;
    data_seg end;
    end.lkey = InvalidLkey;
    memory.put(SrqBase + index * 64U, link);
    memory.put(SrqBase + index * 64U + 16, data);
    memory.put(SrqBase + index * 64U + 32, end);
  }

  // Packets
  // -----------------------------------------------------------------------------------------

  /// The next packet of the QP; its payload counts on from the one before.
  rx_packet packet(bth_opcode opcode, std::uint32_t payload, bool ack = true,
                   std::uint32_t qpn = Qpn) {
    rx_packet out;
    out.function = 2;
    out.qpn = qpn;
    out.bth_opcode = static_cast<std::uint8_t>(opcode);
    out.ack_request = ack;
    out.psn = psn[qpn];
    psn[qpn] = (psn[qpn] + 1) & 0xffffff;
    out.payload = payload;
    out.payload_offset = 80;
    out.bytes = bench.nic.buffers.take();
    for (std::uint32_t i = 0; i < payload; ++i) {
      out.bytes.data()[80 + i] = static_cast<std::uint8_t>(next_byte_++);
    }
    const opcode_info& info = *find_opcode(opcode);
    if (info.has_reth || info.has_atomiceth) {
      out.remote_address = Va;
      out.rkey = Rkey;
      out.dma_length = payload;
    }
    out.imm = info.has_immdt ? 0xcafe0001 : 0;
    return out;
  }

  rx_packet read_request(std::uint32_t length, std::uint64_t offset = 0, std::uint32_t qpn = Qpn) {
    rx_packet out = packet(bth_opcode::RcReadRequest, 0, true, qpn);
    out.remote_address = Va + offset;
    out.dma_length = length;
    const std::uint32_t packets = length == 0 ? 1 : (length + Mtu - 1) / Mtu;
    psn[qpn] = (psn[qpn] + packets - 1) & 0xffffff;
    return out;
  }

  rx_packet fetch_add(std::uint64_t addend, std::uint32_t qpn = Qpn) {
    rx_packet out = packet(bth_opcode::RcFetchAdd, 0, true, qpn);
    out.swap_add = addend;
    return out;
  }

  rx_packet compare_swap(std::uint64_t compare, std::uint64_t swap) {
    rx_packet out = packet(bth_opcode::RcCompareSwap, 0);
    out.compare = compare;
    out.swap_add = swap;
    return out;
  }

  /// Arrives in that cycle, or when the QP's packet before it was committed.
  void send(cycle_t cycle, rx_packet out) { parser.at(cycle, std::move(out)); }

  /// Arrives in that cycle with the verdict `accept`, whatever came before.
  void send_at_once(cycle_t cycle, rx_packet out) {
    common.pack(out.common.data());
    line.pack(out.responder.data());
    out.verdict = rx_verdict::accept;
    parser.as_it_is(cycle, std::move(out));
  }

  void command(cycle_t cycle, qp_state state, std::uint32_t qpn = Qpn) {
    qp_command out;
    out.qpn = qpn;
    out.state = static_cast<std::uint8_t>(state);
    common.state = state;
    common.pack(out.common.data());
    line.pack(out.responder.data());
    commands.at(cycle, out);
  }

  // What came of it
  // --------------------------------------------------------------------------------

  bool memory_holds(std::uint64_t address, std::uint32_t length, std::uint8_t first) {
    for (std::uint32_t i = 0; i < length; ++i) {
      if (memory.at(address + i) != static_cast<std::uint8_t>(first + i)) {
        return false;
      }
    }
    return true;
  }

  qpc_responder stored(std::uint32_t qpn = Qpn) {
    return ram.get<qpc_responder>(context_kind::qpc_responder, qpn);
  }

  /// "syndrome psn msn" of each answer, hexadecimal syndrome; R or A in front of READs and atomics.
  std::string answers(std::uint32_t qpn = Qpn) {
    std::string result;
    for (const auto& each : responses.items) {
      const response_item& item = each.item;
      if (item.qpn != qpn) {
        continue;
      }
      const char* kind = item.kind == response_kind::read     ? "R"
                         : item.kind == response_kind::atomic ? "A"
                                                              : "";
      result += fmt::format("{}{}{:x} {} {}", result.empty() ? "" : ", ", kind, item.syndrome,
                            item.psn, item.msn);
    }
    return result;
  }

  /// "opcode/syndrome index" of each completion; without the syndrome if it is good.
  std::string completions(std::uint32_t qpn = Qpn) {
    std::string result;
    for (const auto& each : cqes.items) {
      const cqe_item& item = each.item;
      if (item.qpn != qpn) {
        continue;
      }
      result += result.empty() ? "" : ", ";
      result += item.syndrome == 0
                    ? fmt::format("{} {}", item.cqe_opcode, item.wqe_counter)
                    : fmt::format("{}/{:x} {}", item.cqe_opcode, item.syndrome, item.wqe_counter);
    }
    return result;
  }

  /// Runs, then checks what holds for every run: each packet was committed once, all streams are
  /// empty, no buffer is lost.
  void finish(cycle_t cycles) {
    bench.run(cycles);
    EXPECT_EQ(parser.uncommitted, 0);
    EXPECT_TRUE(ram.asked.empty() || ram.all_asked_for(2)) << "keys are read for the QP's owner";
    bench.context.check_drained();
  }

  stage_bench bench;
  responder::ports ports;
  responder dut;
  context_lines ram;
  parser_stand_in parser;
  source<qp_command> commands;
  source<srq_command> srq_commands;
  source<qp_error> requester_faults;
  source<response_failure> failures;
  responder_memory memory;
  sink<qp_error> errors;
  sink<key_invalidation> invalidations;
  sink<qp_error> faults;
  response_taker responses;
  sink<cqe_item> cqes;
  sink<async_event> events;
  qpc_common common;
  qpc_responder line;
  std::map<std::uint32_t, std::uint32_t> psn;  ///< of the next packet

 private:
  unsigned next_byte_ = 0;
};

class responder_back_pressure : public responder_bench {
 protected:
  responder_back_pressure() : responder_bench(9) {}
};

}  // namespace carillon::bench
