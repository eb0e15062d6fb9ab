// A switch on the way to the device. As in effects_memory_test a byte on a PCIe link takes 4000 ps,
// each link 20 ns, the root complex 25 ns each way and a read of memory 35 ns. The switch adds
// 100 ns from the first symbol at its port to the first symbol at the next receiver, so it keeps a
// TLP for 80 ns.
#include "host/effects/pcie_switch.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "common/error.h"
#include "host/machine.h"
#include "tb/common/link_script.h"
#include "tb/common/span_story.h"

namespace carillon {
namespace {

constexpr ps_t Latency = 100'000;
constexpr ps_t Start = 1'000;
constexpr std::uint64_t Buffer = machine::MemoryBase + 0x1000;
constexpr std::uint64_t Bar = 0x80000000;

using bytes = std::vector<std::uint8_t>;
using lines = bench::span_story;

parameters with_switches(std::int64_t count) {
  parameters params = slow_link();
  params.host.root_complex_ps = 50'000;
  params.host.memory_read_ps = 35'000;
  params.host.memory_write_ps = 30'000;
  params.host.ddio = false;
  params.pcie.switches = count;
  params.pcie.switch_latency_ps = Latency;
  return params;
}

class pcie_switches : public testing::Test {
 protected:
  void build(const parameters& params, const std::array<flow_credits, 3>& credits = {}) {
    context = std::make_unique<sim_context>(params, 1, 0);
    steps = std::make_unique<script>(*context);
    host = std::make_unique<machine>("host0", *context, pool, 1);
    device = std::make_unique<recording_device>("device", *context, credits);
    host->slot_port().connect(device->port);
  }

  void run() {
    sc_core::sc_start();
    EXPECT_EQ(pool.in_use(), 0U);
  }

  void read(std::uint64_t address, std::uint32_t size, std::uint16_t tag = 1) {
    tlp* packet = pool.take();
    make_memory_read(*packet, 0x100, tag, address, size);
    packet->row = context->trace.intern("wqe_fetch");
    packet->trace = context->trace.open(Start, {});
    device->port.send(packet);
  }

  void write(std::uint64_t address, const bytes& data) {
    tlp* packet = pool.take();
    make_memory_write(*packet, 0x100, address, data.data(),
                      static_cast<std::uint32_t>(data.size()));
    device->port.send(packet);
  }

  [[nodiscard]] lines story(trace_ref ref) const { return bench::story_of(context->trace, ref); }

  /// When the last symbol of a 64-byte read's data is at the device.
  ps_t read_time(const parameters& params) {
    build(params);
    steps->at(Start, [this] { read(Buffer, 64); });
    run();
    return device->seen.at(0).last - Start;
  }

  [[nodiscard]] bytes contents(std::uint64_t address, std::size_t length) const {
    bytes result(length);
    host->memory.read(address, result.data(), length);
    return result;
  }

  tlp_pool pool;
  std::unique_ptr<sim_context> context;
  std::unique_ptr<script> steps;
  std::unique_ptr<machine> host;
  std::unique_ptr<recording_device> device;
};

// A read of 64 bytes: 24 bytes on the link and 84 back (20 of completion, 64 of data), two links'
// flights, 50 ns in the root complex and 35 ns in memory.
constexpr ps_t PlainRead = 24 * SlowByte + 84 * SlowByte + 40'000 + 50'000 + 35'000;

TEST_F(pcie_switches, are_not_there_unless_asked_for) {
  EXPECT_EQ(read_time(with_switches(0)), PlainRead);
}

TEST_F(pcie_switches, one_adds_its_latency_twice_to_a_read) {
  EXPECT_EQ(read_time(with_switches(1)), PlainRead + 2 * Latency);
}

TEST_F(pcie_switches, three_add_their_latencies_twice_to_a_read) {
  EXPECT_EQ(read_time(with_switches(3)), PlainRead + 3 * 2 * Latency);
}

TEST_F(pcie_switches, one_adds_its_latency_once_to_a_write_of_the_device) {
  build(with_switches(1));
  steps->at(Start, [&] { write(Buffer, bytes(64, 0x77)); });
  const ps_t visible = Start + 88 * SlowByte + 20'000 + Latency + 25'000 + 30'000;
  steps->at(visible - 1, [&] { EXPECT_EQ(contents(Buffer, 1), bytes{0}); });
  steps->at(visible + 1, [&] { EXPECT_EQ(contents(Buffer, 1), bytes{0x77}); });
  run();
}

TEST_F(pcie_switches, two_add_their_latencies_once_to_a_store_of_a_core) {
  build(with_switches(2));
  const bytes data(8, 1);
  steps->at(Start, [&] { host->bus.mmio_write({}, 0, Bar, data.data(), 8); });
  run();
  EXPECT_EQ(device->seen.at(0).first, Start + 25'000 + 20'000 + 2 * Latency);
}

TEST_F(pcie_switches, storing_adds_the_bytes_of_each_tlp_once_more) {
  parameters params = with_switches(1);
  params.pcie.switch_forwarding = pcie_switch_forwarding::StoreAndForward;
  EXPECT_EQ(read_time(params), PlainRead + 2 * Latency + (24 + 84) * SlowByte);
}

TEST_F(pcie_switches, have_a_line_of_their_own_in_the_breakdown) {
  build(with_switches(1));
  steps->at(Start, [this] { read(Buffer, 64); });
  run();
  EXPECT_EQ(story(device->seen.at(0).trace), (lines{
                                                 "device flight 21000",
                                                 "host0.pcie_switch0 service 101000",
                                                 "host0.pcie_switch0 flight 121000",
                                                 "host0.root_complex.port flight 217000",
                                                 "host0.root_complex service 242000",
                                                 "host0.memory service 277000",
                                                 "host0.root_complex service 302000",
                                                 "host0.root_complex.port flight 322000",
                                                 "host0.pcie_switch0 service 402000",
                                                 "host0.pcie_switch0 flight 422000",
                                             }));
}

TEST_F(pcie_switches, do_not_lower_the_rate) {
  // Ten writes, one behind the other: the last one is as late as the first one.
  build(with_switches(2));
  steps->at(Start, [&] {
    for (std::uint64_t i = 0; i < 10; ++i) {
      write(Buffer + i * 64, bytes(64, 0x77));
    }
  });
  const ps_t visible = Start + 10 * 88 * SlowByte + 20'000 + 2 * Latency + 25'000 + 30'000;
  steps->at(visible - 1, [&] { EXPECT_EQ(contents(Buffer + 576, 1), bytes{0}); });
  steps->at(visible + 1, [&] { EXPECT_EQ(contents(Buffer + 576, 1), bytes{0x77}); });
  run();
}

TEST_F(pcie_switches, hold_what_the_device_has_no_room_for) {
  // Room for one posted TLP; the device gives it back 1 us after the TLP came.
  constexpr ps_t Busy = 1'000'000;
  build(with_switches(1), {flow_credits{1, 0}, {}, {}});
  device->then = [this](const recording_device::arrival& got) {
    steps->at(got.last + Busy, [this] { device->port.consumed(tlp_class::posted, 8); });
  };
  const bytes data(8, 1);
  steps->at(Start, [&] {
    host->bus.mmio_write({}, 0, Bar, data.data(), 8);
    host->bus.mmio_write({}, 0, Bar + 8, data.data(), 8);
  });
  run();
  ASSERT_EQ(device->seen.size(), 2U);
  // 12 or 16 bytes of header, 8 of data, 8 of framing; the credit takes one link's flight to the
  // switch, and the TLP one back.
  const ps_t credit = device->seen[0].last + Busy + 20'000;
  EXPECT_EQ(device->seen[1].first, credit + 20'000);
}

TEST_F(pcie_switches, keep_a_read_behind_the_writes_before_it) {
  build(with_switches(1));
  steps->at(Start, [&] {
    write(Buffer, bytes(4, 1));
    write(Buffer, bytes(4, 2));
    read(Buffer, 4);
  });
  run();
  EXPECT_EQ(device->seen.at(0).data, bytes(4, 2));
}

TEST_F(pcie_switches, must_take_at_least_the_flight_to_the_next_receiver) {
  parameters params = with_switches(1);
  params.pcie.switch_latency_ps = params.pcie.link_delay_ps - 1;
  EXPECT_THROW(build(params), config_error);
}

TEST_F(pcie_switches, show_memory_to_debug_accesses_of_the_device) {
  build(with_switches(2));
  const std::uint8_t seven = 7;
  host->memory.write(Buffer, &seven, 1);
  std::uint8_t got = 0;
  tlm::tlm_generic_payload access;
  access.set_command(tlm::TLM_READ_COMMAND);
  access.set_address(Buffer);
  access.set_data_ptr(&got);
  access.set_data_length(1);
  steps->at(Start, [&] { EXPECT_EQ(device->port.transmit->transport_dbg(access), 1U); });
  run();
  EXPECT_EQ(got, 7);
}

}  // namespace
}  // namespace carillon
