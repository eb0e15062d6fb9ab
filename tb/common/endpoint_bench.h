// pcie_endpoint between sources of register accesses, a memory with command queues, a context RAM
// and sinks. Every command gets the next entry of its function's queue and mailboxes of its own, so
// that all of them can be laid out before the run.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/wqe.h"
#include "pcie_endpoint.h"
#include "tb/common/command_bench.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

/// Two functions, commands of 100 cycles.
inline parameters endpoint_parameters() {
  parameters params;
  params.nic.total_vfs = 1;
  params.nic.command_cycles = 100;
  return params;
}

/// Where a command lies in memory.
struct placed_command {
  std::uint16_t function = 0;
  unsigned number = 0;  ///< of its entry
  std::uint64_t entry = 0;
  std::uint32_t output_bytes = 0;
  std::vector<std::uint64_t> inputs;
  std::vector<std::uint64_t> outputs;
};

struct endpoint_bench : stage_bench {
  /// From a read's arrival at the memory to its answer.
  static constexpr cycle_t ReadDelay = 20;
  static constexpr std::uint64_t QueueAt = 0x1000000;  ///< function n's n * 0x1000 behind
  static constexpr std::uint64_t MailboxesAt = 0x2000000;
  static constexpr std::uint8_t Token = 0x5a;
  static constexpr std::uint64_t Mac = 0x020000000001;  ///< the PF's

  explicit endpoint_bench(std::uint64_t shuffle, cycle_t owner_period = 1,
                          const parameters& params = endpoint_parameters(),
                          cycle_t answer_period = 1)
      : stage_bench(shuffle, params),
        writes(port<mmio_write>("writes")),
        reads(port<mmio_read>("reads")),
        answers(port<mmio_answer>("answers")),
        line_reads(port<context_read>("line_reads")),
        lines(port<context_line>("lines")),
        line_writes(port<context_write>("line_writes", 2)),
        fetch(port<qp_command>("fetch", 1)),
        responder(port<qp_command>("responder", 1)),
        completion(port<cq_command>("completion", 1)),
        srqs(port<srq_command>("srqs", 1)),
        queue_reads(port<dma_read>("queue_reads")),
        queue_data(port<dma_read_done>("queue_data")),
        queue_writes(port<dma_write>("queue_writes", 32, 9)),
        events(port<async_event>("events", 1)),
        msix(port<msix_command>("msix", 2)),
        configs(port<config_request>("configs")),
        errors(port<pcie_error>("errors", 16)),
        functions(context.clock, "functions", pcie_endpoint::reset_functions(context.params)),
        vports(context.clock, "vports", pcie_endpoint::reset_vports(context.params, Mac)),
        partitions(context.clock, "partitions", pcie_endpoint::reset_partitions(context.params)),
        write_source("write_source", *this, writes),
        read_source("read_source", *this, reads),
        answer_sink("answer_sink", *this, answers, answer_period),
        config_source("config_source", *this, configs),
        error_source("error_source", *this, errors),
        ram("ram", *this),
        fetch_sink("fetch_sink", *this, fetch, owner_period),
        responder_sink("responder_sink", *this, responder, owner_period),
        completion_sink("completion_sink", *this, completion),
        srq_sink("srq_sink", *this, srqs),
        event_sink("event_sink", *this, events),
        msix_sink("msix_sink", *this, msix),
        memory("memory", *this, ReadDelay),
        endpoint("endpoint", nic, {writes,
                                   reads,
                                   answers,
                                   line_reads,
                                   lines,
                                   line_writes,
                                   {&fetch, &responder},
                                   completion,
                                   srqs,
                                   queue_reads,
                                   queue_data,
                                   queue_writes,
                                   events,
                                   msix,
                                   msix_bits,
                                   configs,
                                   {&errors},
                                   functions,
                                   vports,
                                   partitions},
                 Mac) {
    ram.serve(line_reads, lines);
    ram.accept(line_writes);
    memory.serve(queue_reads, queue_data);
    memory.accept(queue_writes);
    for (std::uint16_t function = 0; function < 2; ++function) {
      store(1 + function * 2U, bar0::CmdqAddrH, dword(0), function);
      store(2 + function * 2U, bar0::CmdqAddrLSz,
            dword(static_cast<std::uint32_t>(queue_of(function))), function);
    }
  }

  static std::uint64_t queue_of(std::uint16_t function) { return QueueAt + function * 0x1000U; }

  static input dword(std::uint32_t value) {
    input raw(4);
    bytes::store_be<4>(raw.data(), value);
    return raw;
  }

  void store(cycle_t when, std::uint64_t offset, const input& bytes, std::uint16_t function = 0,
             std::uint8_t bar = 0) {
    mmio_write item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = static_cast<std::uint16_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), item.data.begin());
    write_source.at(when, item, 1, false);
  }

  void load(cycle_t when, std::uint64_t offset, std::uint16_t length = 4,
            std::uint16_t function = 0, std::uint8_t bar = 0) {
    mmio_read item;
    item.function = function;
    item.bar = bar;
    item.offset = offset;
    item.length = length;
    item.requester = 0x42;
    item.tag = static_cast<std::uint16_t>(when);
    read_source.at(when, item, 1, false);
  }

  /// Two bytes of the PF's configuration space.
  void config_write(cycle_t when, std::uint16_t offset, std::uint16_t value) {
    config_request item;
    item.local = true;
    item.write = true;
    item.offset = offset & 0xffcU;
    item.value = std::uint32_t{value} << (8 * (offset % 4));
    item.enables = static_cast<std::uint8_t>(3U << (offset % 4));
    config_source.at(when, item, 1, false);
  }

  void put(std::uint64_t address, const input& raw) {
    for (std::size_t i = 0; i < raw.size(); ++i) {
      memory.at(address + i) = raw[i];
    }
  }

  [[nodiscard]] input get(std::uint64_t address, std::size_t count) {
    input raw(count);
    for (std::size_t i = 0; i < count; ++i) {
      raw[i] = memory.at(address + i);
    }
    return raw;
  }

  /// A chain for `rest`, each mailbox at a place of its own.
  std::vector<std::uint64_t> chain(const input& rest) {
    std::vector<std::uint64_t> boxes;
    for (std::size_t at = 0; at < rest.size(); at += 512) {
      boxes.push_back(next_mailbox_);
      next_mailbox_ += 1024;
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      input box(576);
      std::copy_n(rest.begin() + static_cast<std::ptrdiff_t>(i * 512),
                  std::min<std::size_t>(512, rest.size() - i * 512), box.begin());
      bytes::store_be<8>(&box[0x230], i + 1 < boxes.size() ? boxes[i + 1] : 0);
      bytes::store_be<4>(&box[0x238], i);
      box[0x23d] = Token;
      put(boxes[i], box);
    }
    return boxes;
  }

  /// Lays a command out, not signed.
  placed_command place(const input& in, std::uint16_t function = 0,
                       std::uint32_t output_bytes = 16) {
    placed_command made;
    made.function = function;
    made.number = used_[function]++ % 32;
    made.entry = queue_of(function) + made.number * 64U;
    made.output_bytes = output_bytes;
    const std::size_t here = std::min<std::size_t>(16, in.size());
    made.inputs = chain(input(in.begin() + static_cast<std::ptrdiff_t>(here), in.end()));
    made.outputs = chain(input(output_bytes > 16 ? output_bytes - 16 : 0));
    input raw(64);
    raw[0] = 7;
    bytes::store_be<4>(&raw[0x04], in.size());
    bytes::store_be<8>(&raw[0x08], made.inputs.empty() ? 0 : made.inputs[0]);
    std::copy_n(in.begin(), here, raw.begin() + 0x10);
    bytes::store_be<8>(&raw[0x30], made.outputs.empty() ? 0 : made.outputs[0]);
    bytes::store_be<4>(&raw[0x38], output_bytes);
    raw[0x3c] = Token;
    raw[0x3f] = 1;
    put(made.entry, raw);
    return made;
  }

  void ring(cycle_t when, std::uint32_t vector, std::uint16_t function = 0) {
    store(when, bar0::CmdDbell, dword(vector), function);
  }

  void ring(cycle_t when, const placed_command& command) {
    ring(when, 1U << command.number, command.function);
  }

  /// Lays a command out and rings for it.
  placed_command command(cycle_t when, const input& in, std::uint16_t function = 0,
                         std::uint32_t output_bytes = 16) {
    placed_command made = place(in, function, output_bytes);
    ring(when, made);
    return made;
  }

  /// The last byte of its entry: twice the delivery status, and 1 as long as it is the device's.
  [[nodiscard]] unsigned last_byte(const placed_command& command) {
    return memory.at(command.entry + 0x3f);
  }

  /// Delivered and answered.
  [[nodiscard]] bool done(const placed_command& command) { return last_byte(command) == 0; }

  [[nodiscard]] input output(const placed_command& command) {
    input all = get(command.entry + 0x20, 16);
    for (const std::uint64_t box : command.outputs) {
      const input more = get(box, 512);
      all.insert(all.end(), more.begin(), more.end());
    }
    all.resize(command.output_bytes);
    return all;
  }

  [[nodiscard]] cmd_out answer(const placed_command& command) {
    return cmd_out::unpack(output(command).data());
  }

  /// The write of its entry.
  [[nodiscard]] const dma_memory::seen_write* entry_write(const placed_command& command) const {
    for (const auto& each : memory.written) {
      if (each.write.address / 64 == command.entry / 64) {
        return &each;
      }
    }
    return nullptr;
  }

  /// A register that a load has brought.
  [[nodiscard]] std::uint64_t value(std::size_t index) const {
    const mmio_answer& answer = answer_sink.items.at(index).item;
    return answer.length == 4 ? bytes::load_be<4>(answer.data.data())
                              : bytes::load_be<8>(answer.data.data());
  }

  stream<mmio_write>& writes;
  stream<mmio_read>& reads;
  stream<mmio_answer>& answers;
  stream<context_read>& line_reads;
  stream<context_line>& lines;
  stream<context_write>& line_writes;
  stream<qp_command>& fetch;
  stream<qp_command>& responder;
  stream<cq_command>& completion;
  stream<srq_command>& srqs;
  stream<dma_read>& queue_reads;
  stream<dma_read_done>& queue_data;
  stream<dma_write>& queue_writes;
  stream<async_event>& events;
  stream<msix_command>& msix;
  level<msix_pending> msix_bits{context.clock, "msix_pending", {}};
  stream<config_request>& configs;
  stream<pcie_error>& errors;
  level<function_map> functions;
  level<vport_table> vports;
  level<partition_table> partitions;
  source<mmio_write> write_source;
  source<mmio_read> read_source;
  sink<mmio_answer> answer_sink;
  source<config_request> config_source;
  source<pcie_error> error_source;
  context_lines ram;
  sink<qp_command> fetch_sink;
  sink<qp_command> responder_sink;
  sink<cq_command> completion_sink;
  sink<srq_command> srq_sink;
  sink<async_event> event_sink;
  sink<msix_command> msix_sink;
  dma_memory memory;
  pcie_endpoint endpoint;

 private:
  std::array<unsigned, 2> used_{};
  std::uint64_t next_mailbox_ = MailboxesAt;
};

}  // namespace carillon::bench
