// The bench of completion: what comes in, a context RAM, a DMA engine with a memory of bytes.
#pragma once

#include <gtest/gtest.h>

#include "completion.h"
#include "stage_bench.h"

namespace carillon::bench {

class completion_bench : public testing::TestWithParam<int> {
 protected:
  static constexpr std::uint32_t Cqn = 9;
  static constexpr std::uint64_t Base = 0x100000;
  static constexpr std::uint64_t Record = 0x200000;
  static constexpr cycle_t DmaDelay = 100;
  static constexpr std::uint16_t Owner = 4;
  static constexpr std::uint32_t Page = 6;
  static constexpr std::uint8_t Eqn = 5;
  static constexpr std::uint64_t EqBase = 0x300000;

  completion_bench()
      : bench(static_cast<std::uint64_t>(GetParam())),
        ports{bench.port<cqe_item>("from_responder"),
              bench.port<cqe_item>("from_requester"),
              bench.port<async_event>("responder_events", 64),
              bench.port<async_event>("requester_events", 64),
              bench.port<async_event>("command_events", 64),
              bench.port<queue_doorbell>("doorbells"),
              bench.port<cq_command>("commands"),
              bench.port<context_read>("context_reads"),
              bench.port<context_line>("context_lines"),
              bench.port<dma_read>("record_reads"),
              bench.port<dma_read_done>("records"),
              bench.port<dma_write>("writes", 4),
              bench.port<msix_command>("msix"),
              pending_bits},
        dut("completion", bench.nic, ports),
        responder("responder", bench, ports.from_responder),
        requester("requester", bench, ports.from_requester),
        responder_events("responder_events_source", bench, ports.responder_events),
        requester_events("requester_events_source", bench, ports.requester_events),
        command_events("command_events_source", bench, ports.command_events),
        uar("uar", bench, ports.doorbells),
        commands("pcie_endpoint", bench, ports.commands),
        msix("msix_registers", bench, ports.msix),
        ram("qpc_ram", bench),
        dma("dma_engine", bench, DmaDelay, GetParam() == 0 ? 1 : 7) {
    ram.serve(ports.context_reads, ports.context_lines);
    dma.serve(ports.record_reads, ports.records);
    dma.accept(ports.writes);
    ram.set(context_kind::cqc, Cqn, cq_line(4));
  }

  void create_cq(cycle_t cycle, std::uint32_t cqn, const cqc_line& line) {
    ram.set(context_kind::cqc, cqn, line);
    cq_command command{.cqn = cqn};
    line.pack(command.line.data());
    commands.at(cycle, command);
  }

  void create_eq(cycle_t cycle, std::uint8_t eqn, const eqc_line& line) {
    ram.set(context_kind::eqc, eqn, line);
    cq_command command{.cqn = eqn, .eq = true};
    line.pack(command.line.data());
    commands.at(cycle, command);
  }

  static cqc_line cq_line(unsigned log_size) {
    cqc_line line;
    line.valid = 1;
    line.log_cq_size = static_cast<std::uint8_t>(log_size);
    line.function_id = Owner;
    line.uar_page = Page;
    line.eqn = Eqn;
    line.base_addr = Base;
    line.dbr_addr = Record;
    return line;
  }

  static eqc_line eq_line(unsigned log_size, std::uint64_t base = EqBase) {
    eqc_line line;
    line.valid = 1;
    line.log_eq_size = static_cast<std::uint8_t>(log_size);
    line.function_id = Owner;
    line.uar_page = Page;
    line.base_addr = base;
    return line;
  }

  static cqe_item item(std::uint16_t index, std::uint32_t cqn = Cqn) {
    cqe_item cqe;
    cqe.cqn = cqn;
    cqe.qpn = 0x31;
    cqe.cqe_opcode = static_cast<std::uint8_t>(cqe_opcode::Requester);
    cqe.wqe_opcode = static_cast<std::uint8_t>(wqe_opcode::RdmaWrite);
    cqe.wqe_counter = index;
    cqe.byte_count = 64;
    cqe.point = milestone::cqe_written;
    return cqe;
  }

  void consumed(std::uint32_t index) {
    for (unsigned i = 0; i < 4; ++i) {
      dma.at(Record + i) = static_cast<std::uint8_t>(index >> (24 - 8 * i));
    }
  }

  stage_bench bench;
  level<msix_pending> pending_bits{bench.context.clock, "msix_pending", {}};
  completion::ports ports;
  completion dut;
  source<cqe_item> responder;
  source<cqe_item> requester;
  source<async_event> responder_events;
  source<async_event> requester_events;
  source<async_event> command_events;
  source<queue_doorbell> uar;
  source<cq_command> commands;
  source<msix_command> msix;
  context_lines ram;
  dma_memory dma;
};

}  // namespace carillon::bench
