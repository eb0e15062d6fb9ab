// A host with the real stages of the NIC's PCIe side, for benches of the driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/context.h"
#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "common/stream.h"
#include "dma_engine.h"
#include "host/machine.h"
#include "pcie_endpoint.h"
#include "pcie_rx.h"
#include "tb/common/function_maps.h"

namespace carillon::bench {

template <class T>
class drain final : public stage {
 public:
  drain(const std::string& name, sim_context& context, stream<T>& in)
      : stage(name.c_str(), context, "bench"), in_(in) {
    in_.to(*this, site());
    watch(in_, {});
  }

  std::vector<T> items;

 private:
  void evaluate(cycle_t t) override {
    if (in_.takeable(t)) {
      items.push_back(in_.take(t));
    }
  }

  stream<T>& in_;
};

template <class T>
class silent final : public stage {
 public:
  silent(const std::string& name, sim_context& context, stream<T>& out)
      : stage(name.c_str(), context, "bench") {
    out.from(*this, site());
  }

 private:
  void evaluate(cycle_t /*t*/) override {}
};

/// A host and the way to its device: the real stages of the NIC's PCIe side. Who reads and answers
/// registers and what UAR writes do is for others.
struct pcie_side {
  pcie_side(sim_context& context, tlp_pool& tlps, const std::string& suffix, unsigned cores)
      : host(("host" + suffix).c_str(), context, tlps, cores),
        slot(host),
        shared(context, "nic" + suffix, tlps),
        port(("port" + suffix).c_str(), context,
             {flow_credits{64, 512}, flow_credits{32, 32}, flow_credits{0, 0}}),
        functions(context.clock, "functions" + suffix, placed_functions()),
        uar_writes(context, "uar_writes" + suffix, 16),
        uar_reads(context, "uar_reads" + suffix, 4),
        register_writes(context, "register_writes" + suffix, 16),
        register_reads(context, "register_reads" + suffix, 4),
        refusals(context, "refusals" + suffix, 4),
        answers(context, "answers" + suffix, 4),
        completions(context, "completions" + suffix, 72, 66),
        cqes(context, "cqes" + suffix, 16),
        configs(context, "configs" + suffix, 4),
        request_errors(context, "request_errors" + suffix, 16),
        completion_errors(context, "completion_errors" + suffix, 16),
        queue_reads(context, "queue_reads" + suffix, 4),
        queue_data(context, "queue_data" + suffix, 16),
        queue_writes(context, "queue_writes" + suffix, 32, 9),
        arrivals(context, "pcie_rx.tlp" + suffix, port, [this] { dma.on_credits(); }),
        receive(("pcie_rx" + suffix).c_str(), shared,
                {port, arrivals.tlps(), functions, uar_writes, uar_reads, register_writes,
                 register_reads, completions, refusals, configs, request_errors}),
        dma(("dma_engine" + suffix).c_str(), shared,
            {port,
             {{queue_reads, queue_data, "pcie_endpoint"}},
             {{cqes, "completion"}, {queue_writes, "pcie_endpoint"}},
             {&answers, &refusals},
             completions,
             functions,
             completion_errors}),
        uar_read_drain("uar_read_drain" + suffix, context, uar_reads) {
    host.bus.port.connect(port);
    slot.adopt({placed_pf()});
  }

  [[nodiscard]] std::vector<std::uint8_t> memory(std::uint64_t address, std::size_t bytes) const {
    std::vector<std::uint8_t> result(bytes);
    host.memory.read(address, result.data(), bytes);
    return result;
  }

  machine host;
  pci_bus slot;  ///< the device was found there before
  nic_shared shared;
  pcie_port port;
  level<function_map> functions;
  stream<mmio_write> uar_writes;
  stream<mmio_read> uar_reads;
  stream<mmio_write> register_writes;
  stream<mmio_read> register_reads;
  stream<mmio_answer> refusals;
  stream<mmio_answer> answers;
  stream<read_completion> completions;
  stream<dma_write> cqes;
  stream<config_request> configs;
  stream<pcie_error> request_errors;
  stream<pcie_error> completion_errors;
  stream<dma_read> queue_reads;
  stream<dma_read_done> queue_data;
  stream<dma_write> queue_writes;
  pcie_arrivals arrivals;
  pcie_rx receive;
  dma_engine dma;
  drain<mmio_read> uar_read_drain;
};

}  // namespace carillon::bench
