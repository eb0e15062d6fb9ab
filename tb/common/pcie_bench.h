// A bench for the whole way to host memory and back: clients, dma_engine, the link, root complex
// and memory, pcie_rx. The clients are those of the NIC by their names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/level.h"
#include "common/random.h"
#include "dma_engine.h"
#include "host/host_memory.h"
#include "host/root_complex.h"
#include "pcie_rx.h"
#include "tb/common/function_maps.h"
#include "tb/common/link_script.h"
#include "tb/common/stage_bench.h"

namespace carillon::bench {

inline constexpr std::uint64_t MemoryBytes = std::uint64_t{1} << 30;

/// A stage that reads.
struct reader {
  reader(stage_bench& bench, const std::string& row)
      : name(row),
        reads(bench.port<dma_read>(row + ".reads", 64)),
        done(bench.port<dma_read_done>(row + ".done", 64)) {}

  void start(stage_bench& bench) {
    ask = std::make_unique<source<dma_read>>((name + "_ask").c_str(), bench, reads);
    answers = std::make_unique<sink<dma_read_done>>((name + "_answers").c_str(), bench, done);
  }

  std::string name;
  stream<dma_read>& reads;
  stream<dma_read_done>& done;
  std::unique_ptr<source<dma_read>> ask;
  std::unique_ptr<sink<dma_read_done>> answers;
};

/// Functions that master the bus and have no BARs.
inline function_map functions_only(std::uint16_t vfs) {
  function_map map = placed_functions(vfs);
  map.pf = {};
  map.vf = {};
  return map;
}

struct pcie_bench {
  /// `relaxed_cqes` breaks a rule on purpose: completion entries may be passed, too.
  explicit pcie_bench(std::uint64_t shuffle_seed, const parameters& params = {},
                      bool relaxed_cqes = false)
      : bench(shuffle_seed, params),
        steps(bench.context),
        port("nic_pcie", bench.context, {}),
        host("root_complex", bench.context, memory, bench.tlps),
        functions(bench.context.clock, "functions", functions_only(4)),
        fetch(bench, "wqe_fetch"),
        payload(bench, "payload_dma"),
        responder(bench, "responder"),
        completion(bench, "completion"),
        context(bench, "qpc_ram"),
        received(bench.port<dma_write>("responder.writes", 1024, 68)),
        responses(bench.port<dma_write>("requester.writes", 1024, 68)),
        entries(bench.port<dma_write>("completion.writes", 32, 4)),
        uar_writes(bench.port<mmio_write>("uar_writes")),
        uar_reads(bench.port<mmio_read>("uar_reads")),
        register_writes(bench.port<mmio_write>("register_writes")),
        register_reads(bench.port<mmio_read>("register_reads")),
        refusals(bench.port<mmio_answer>("refusals")),
        completions(bench.port<read_completion>("completions", 512, 68)),
        configs(bench.port<config_request>("configs")),
        request_errors(bench.port<pcie_error>("request_errors", 16)),
        completion_errors(bench.port<pcie_error>("completion_errors", 16)),
        arrivals(bench.context, "pcie_rx.tlp", port, [this] { dut.on_credits(); }),
        receive("pcie_rx", bench.nic,
                {port, arrivals.tlps(), functions, uar_writes, uar_reads, register_writes,
                 register_reads, completions, refusals, configs, request_errors}),
        dut("dma_engine", bench.nic,
            dma_engine::ports{port,
                              {{fetch.reads, fetch.done, fetch.name},
                               {payload.reads, payload.done, payload.name},
                               {responder.reads, responder.done, responder.name},
                               {completion.reads, completion.done, completion.name},
                               {context.reads, context.done, context.name}},
                              {{received, "responder", true},
                               {responses, "requester", true},
                               {entries, "completion", relaxed_cqes}},
                              {&refusals},
                              completions,
                              functions,
                              completion_errors}),
        receives("receives", bench, received),
        answers("answers", bench, responses),
        cqes("cqes", bench, entries),
        request_error_sink("request_error_sink", bench, request_errors),
        completion_error_sink("completion_error_sink", bench, completion_errors) {
    for (reader* each : readers()) {
      each->start(bench);
    }
    host.add_window(0, MemoryBytes);
    host.port.connect(port);
  }

  std::array<reader*, 5> readers() { return {&fetch, &payload, &responder, &completion, &context}; }

  reader& by_name(const std::string& name) {
    for (reader* each : readers()) {
      if (each->name == name) {
        return *each;
      }
    }
    throw std::invalid_argument(name);
  }

  dma_read read(std::uint64_t address, std::uint32_t length, std::uint64_t cookie = 0,
                std::uint64_t writes_before = 0) {
    dma_read item;
    item.function = 2;
    item.address = address;
    item.length = length;
    item.into = bench.nic.buffers.take();
    item.cookie = cookie;
    item.writes_before = writes_before;
    std::fill_n(item.into.data(), BufferBytes, std::uint8_t{0});
    return item;
  }

  /// Filled with `value`.
  dma_write write(std::uint64_t address, std::uint32_t length, std::uint8_t value) {
    dma_write item;
    item.function = 2;
    item.address = address;
    item.length = length;
    item.from = bench.nic.buffers.take();
    std::fill_n(item.from.data(), length, value);
    return item;
  }

  /// Bytes that nobody would guess.
  void fill_memory(std::uint64_t address, std::uint32_t length, std::uint64_t seed) {
    random_stream random(seed, "memory");
    std::vector<std::uint8_t> bytes(length);
    for (std::uint8_t& each : bytes) {
      each = static_cast<std::uint8_t>(1 + random.below(255));
    }
    memory.write(address, bytes.data(), length);
  }

  [[nodiscard]] bool holds(const buffer_ref& into, std::uint64_t address,
                           std::uint32_t length) const {
    std::vector<std::uint8_t> expected(length);
    memory.read(address, expected.data(), length);
    return std::memcmp(expected.data(), into.data(), length) == 0;
  }

  [[nodiscard]] static bool untouched(const buffer_ref& into) {
    return std::all_of(into.data(), into.data() + BufferBytes, [](auto each) { return each == 0; });
  }

  void finish() { bench.context.check_drained(); }

  stage_bench bench;
  script steps;
  host_memory memory;
  pcie_port port;
  root_complex host;
  level<function_map> functions;
  reader fetch;
  reader payload;
  reader responder;
  reader completion;
  reader context;
  stream<dma_write>& received;
  stream<dma_write>& responses;
  stream<dma_write>& entries;
  stream<mmio_write>& uar_writes;
  stream<mmio_read>& uar_reads;
  stream<mmio_write>& register_writes;
  stream<mmio_read>& register_reads;
  stream<mmio_answer>& refusals;
  stream<read_completion>& completions;
  stream<config_request>& configs;
  stream<pcie_error>& request_errors;
  stream<pcie_error>& completion_errors;
  pcie_arrivals arrivals;
  pcie_rx receive;
  dma_engine dut;
  source<dma_write> receives;
  source<dma_write> answers;
  source<dma_write> cqes;
  sink<pcie_error> request_error_sink;
  sink<pcie_error> completion_error_sink;
};

}  // namespace carillon::bench
