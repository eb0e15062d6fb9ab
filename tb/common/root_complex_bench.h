// A bench for the root complex: a device that remembers at the other end of a slow link, and a CPU.
// A byte on the link takes 4000 ps and the link 20 ns, so each expected time is a sum that can be
// done by hand.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "host/root_complex.h"
#include "tb/common/link_script.h"
#include "tb/common/span_story.h"
#include "tb/common/tlm_protocol_checker.h"

namespace carillon::bench {

inline parameters host_parameters() {
  parameters params = slow_link();
  params.host.root_complex_ps = 50'000;  // 25 ns each way
  params.host.memory_read_ps = 35'000;
  params.host.memory_write_ps = 30'000;
  params.host.ddio = false;
  return params;
}

class mmio_cpu : public mmio_read_listener {
 public:
  struct answer {
    ps_t when;
    std::uint16_t tag;
    std::vector<std::uint8_t> data;
    completion_status status;
    trace_ref trace;
  };

  void on_mmio_data(ps_t when, std::uint16_t tag, const std::vector<std::uint8_t>& data,
                    completion_status status, trace_ref trace) override {
    answers.push_back({when, tag, data, status, trace});
  }

  std::vector<answer> answers;
};

/// The device's link is watched by the protocol checker in every test.
class root_complex_test : public testing::Test {
 protected:
  void build(const parameters& params = host_parameters()) {
    context = std::make_unique<sim_context>(params, 1, 0);
    steps = std::make_unique<script>(*context);
    host = std::make_unique<root_complex>("root_complex", *context, memory, pool);
    host->add_window(0, 0x1'0000'0000);
    device = std::make_unique<recording_device>("device", *context);
    protocol_limits limits;
    limits.max_payload = static_cast<std::uint32_t>(params.pcie.mps);
    checker = std::make_unique<tlm_protocol_checker>("checker", limits);
    checker->connect(device->port, host->port);
  }

  void run() {
    sc_core::sc_start();
    EXPECT_EQ(checker->violations(), std::vector<std::string>{});
    EXPECT_EQ(pool.in_use(), 0U);
  }

  tlp* read(std::uint64_t address, std::uint32_t bytes, std::uint16_t tag = 1) {
    tlp* packet = pool.take();
    make_memory_read(*packet, 0x100, tag, address, bytes);
    packet->row = context->trace.intern("wqe_fetch");
    return packet;
  }

  tlp* write(std::uint64_t address, const std::vector<std::uint8_t>& data) {
    tlp* packet = pool.take();
    make_memory_write(*packet, 0x100, address, data.data(),
                      static_cast<std::uint32_t>(data.size()));
    packet->row = context->trace.intern("responder");
    return packet;
  }

  std::vector<std::uint8_t> contents(std::uint64_t address, std::size_t length) const {
    std::vector<std::uint8_t> result(length);
    memory.read(address, result.data(), length);
    return result;
  }

  [[nodiscard]] span_story story(trace_ref ref) const { return story_of(context->trace, ref); }

  host_memory memory;
  tlp_pool pool;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<script> steps;
  std::unique_ptr<root_complex> host;
  std::unique_ptr<recording_device> device;
  std::unique_ptr<tlm_protocol_checker> checker;
  mmio_cpu core;
};

}  // namespace carillon::bench
