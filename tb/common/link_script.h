// Small vocabulary of the benches around a PCIe link: a link on which a byte takes 4000 ps, steps
// at given times, and a device that remembers what it got.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/pcie_port.h"
#include "common/tlp_codec.h"

namespace carillon {

/// One lane of generation 1 without derate: 2.5 GT/s with 8b/10b are one byte in 4000 ps.
inline constexpr ps_t SlowByte = 4000;

inline parameters slow_link() {
  parameters params;
  params.pcie.generation = 1;
  params.pcie.width = 1;
  params.pcie.dllp_derate = false;
  params.pcie.link_delay_ps = 20'000;
  return params;
}

/// Calls functions at times.
class script : public timed {
 public:
  explicit script(sim_context& context) : timed(context.line), context_(context) {}

  void at(ps_t when, std::function<void()> what) {
    steps_.push_back(std::move(what));
    context_.line.at(when, *this, steps_.size() - 1);
  }

  void on_time(ps_t /*now*/, std::uint64_t what) override {
    const std::function<void()> step = steps_[what];  // it may add steps
    step();
  }

 private:
  sim_context& context_;
  std::vector<std::function<void()>> steps_;
};

/// The end of a link that has infinite room and remembers.
class recording_device : public pcie_listener {
 public:
  struct arrival {
    ps_t told;
    ps_t first;
    ps_t last;
    tlp_header header;
    std::vector<std::uint8_t> data;
    trace_ref trace;
  };

  recording_device(const char* name, sim_context& context,
                   const std::array<flow_credits, 3>& advertised = {})
      : port(name, context, advertised) {
    port.listen(*this);
  }

  void on_tlp(tlp* packet) override {
    const auto* data = packet->payload.data();
    seen.push_back({now_ps(),
                    packet->first_symbol,
                    packet->last_symbol,
                    decode(*packet),
                    {data, data + packet->payload_bytes},
                    packet->trace});
    packet->release();
    if (then) {
      then(seen.back());
    }
  }

  void on_credits() override {}

  pcie_port port;
  std::vector<arrival> seen;
  std::function<void(arrival)> then;
};

}  // namespace carillon
