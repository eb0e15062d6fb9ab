// pcie_rx: forty cycles from the first symbol, beats without holes and never ahead of the link, and
// an answer or a count for everything that comes.
#include "pcie_rx.h"

#include <gtest/gtest.h>

#include "common/random.h"
#include "common/stage_bench.h"

namespace carillon {
namespace {

using bench::sink;
using bench::stage_bench;
using bench::waited_for;

constexpr std::uint64_t Bar0 = 0x8000'0000;
constexpr std::uint64_t Bar2 = 0x20'0000'0000;
constexpr std::uint64_t Bar4 = 0x9000'0000;
constexpr std::uint64_t VfBar2 = 0x20'1000'0000;

function_map two_functions() {
  function_map map;
  map.pf = {bar_window{Bar0, 0x10000}, bar_window{Bar2, 0x10000}, bar_window{Bar4, 0x4000}};
  map.pf_memory_enable = true;
  map.vf = {bar_window{}, bar_window{VfBar2, 0x10000}};
  map.vfs = 1;
  map.vf_memory_enable = true;
  map.functions.resize(2);
  return map;
}

parameters twenty_ns_away() {
  parameters params;
  params.pcie.link_delay_ps = 20'000;
  return params;
}

/// The host's end of the link: remembers nothing, counts the moments in which credits came home.
struct host_end final : pcie_listener {
  void on_tlp(tlp* packet) override { packet->release(); }

  void on_credits() override { ++credits; }

  unsigned credits = 0;
};

class pcie_rx_bench : public testing::TestWithParam<int> {
 protected:
  pcie_rx_bench() : bench(static_cast<std::uint64_t>(GetParam()), twenty_ns_away()) {
    // Room for three posted requests and 32 units of their data.
    nic_port = std::make_unique<pcie_port>("nic_pcie", bench.context,
                                           std::array<flow_credits, 3>{{{3, 32}, {}, {}}});
    host_port.listen(host);
    host_port.connect(*nic_port);
    arrivals = std::make_unique<pcie_arrivals>(bench.context, "pcie_rx.tlp", *nic_port,
                                               [this] { ++told; });
    dut = std::make_unique<pcie_rx>(
        "pcie_rx", bench.nic,
        pcie_rx::ports{*nic_port, arrivals->tlps(), functions, uar_writes, uar_reads,
                       register_writes, register_reads, completions, refusals, configs, errors});
  }

  /// Arrives with its first symbol at `first` and its last at `last`; its message begins there.
  void arrive(tlp* packet, ps_t first, ps_t last) {
    packet->first_symbol = first;
    packet->last_symbol = last;
    packet->trace = bench.context.trace.open(first, {});
    arrivals->on_tlp(packet);
    ++arrived;
  }

  tlp* write(std::uint64_t address, std::uint32_t bytes) {
    tlp* packet = bench.tlps.take();
    std::vector<std::uint8_t> data(bytes);
    for (std::uint32_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<std::uint8_t>(i + 1);
    }
    make_memory_write(*packet, 0x100, address, data.data(), bytes);
    return packet;
  }

  tlp* read(std::uint64_t address, std::uint32_t bytes, std::uint16_t tag) {
    tlp* packet = bench.tlps.take();
    make_memory_read(*packet, 0x100, tag, address, bytes);
    return packet;
  }

  tlp* completion(std::uint32_t bytes, std::uint16_t tag = 5) {
    tlp* packet = bench.tlps.take();
    const std::vector<std::uint8_t> data(bytes, 0xc0);
    make_completion(*packet, 0x100, 0, tag, completion_status::Success, bytes, 0, data.data(),
                    bytes);
    return packet;
  }

  /// Every TLP was counted and given back.
  void finish(cycle_t cycles) {
    bench.run(cycles);
    bench.context.check_drained();
    EXPECT_EQ(bench.count(counter::PcieRxTlps), arrived);
    EXPECT_EQ(bench.tlps.in_use(), 0U);
  }

  static std::vector<std::uint8_t> bytes_of(const mmio_write& item) {
    return {item.data.begin(), item.data.begin() + std::min<std::size_t>(item.length, 64)};
  }

  stage_bench bench;
  level<function_map> functions{bench.context.clock, "functions", two_functions()};
  host_end host;
  pcie_port host_port{"host_pcie", bench.context, std::array<flow_credits, 3>{}};
  std::unique_ptr<pcie_port> nic_port;
  stream<mmio_write>& uar_writes = bench.port<mmio_write>("pcie_rx.uar_write", 64);
  stream<mmio_read>& uar_reads = bench.port<mmio_read>("pcie_rx.uar_read", 8);
  stream<mmio_write>& register_writes = bench.port<mmio_write>("pcie_rx.register_write", 64);
  stream<mmio_read>& register_reads = bench.port<mmio_read>("pcie_rx.register_read", 8);
  stream<read_completion>& completions = bench.port<read_completion>("pcie_rx.completion", 512, 68);
  stream<mmio_answer>& refusals = bench.port<mmio_answer>("pcie_rx.refusal", 8);
  stream<config_request>& configs = bench.port<config_request>("pcie_rx.config_request", 8);
  stream<pcie_error>& errors = bench.port<pcie_error>("pcie_rx.error", 16);
  sink<pcie_error> reported{"reported", bench, errors};
  std::unique_ptr<pcie_arrivals> arrivals;
  std::unique_ptr<pcie_rx> dut;
  unsigned told = 0;
  unsigned arrived = 0;
};

/// The bench with takers that are always willing.
class pcie_rx_open : public pcie_rx_bench {
 protected:
  sink<mmio_write> uar_in{"uar_in", bench, uar_writes};
  sink<mmio_read> uar_read_in{"uar_read_in", bench, uar_reads};
  sink<mmio_write> registers_in{"registers_in", bench, register_writes};
  sink<mmio_read> register_read_in{"register_read_in", bench, register_reads};
  sink<read_completion> dma_in{"dma_in", bench, completions};
  sink<mmio_answer> refused{"refused", bench, refusals};
  sink<config_request> configs_in{"configs_in", bench, configs};
};

// Time ----

TEST_P(pcie_rx_open, forty_cycles_for_a_doorbell_and_for_64_bytes_on_an_edge_and_off_it) {
  arrive(write(Bar2, 8), 5'000, 5'559);             // 32 bytes at 57.3 bytes/ns
  arrive(write(Bar2 + 0x800, 64), 10'000, 11'536);  // 88 bytes
  arrive(write(Bar2, 8), 20'300, 20'859);
  arrive(write(Bar2 + 0x800, 64), 30'999, 32'535);
  arrive(write(Bar2, 8), 40'001, 40'560);
  finish(200);
  ASSERT_EQ(uar_in.items.size(), 5U);
  const std::array<cycle_t, 5> visible = {45, 50, 61, 71, 81};
  const std::array<ps_t, 5> sync = {0, 0, 700, 1, 999};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(uar_in.items[i].visible, visible[i]);
    const trace_ref trace = uar_in.items[i].item.trace;
    EXPECT_EQ(waited_for(bench.context.trace, trace, "clock_sync"), sync[i]);
    const message_record* record = bench.context.trace.record(trace.message);
    ASSERT_TRUE(record->reached(milestone::doorbell));
    EXPECT_EQ(record->time_of(milestone::doorbell), record->spans[0].begin);
  }
}

TEST_P(pcie_rx_open, a_completions_beats_are_contiguous_and_not_ahead_of_the_link) {
  arrive(completion(512), 10'000, 19'284);  // 532 bytes at 57.3 bytes/ns: eight beats
  arrive(completion(512), 19'284, 28'568);
  arrive(completion(64), 100'000, 101'467);
  arrive(completion(512), 200'000, 2'328'000);  // the same at 4 ns a byte
  finish(5000);
  ASSERT_EQ(dma_in.items.size(), 4U);
  // The last beat 39 cycles after the edge at or before the last symbol, the first seven earlier.
  EXPECT_EQ(dma_in.items[0].visible, 19U + 39U - 7U);
  EXPECT_EQ(dma_in.items[1].visible,
            60U);  // by its first symbol: 20 + 40; its last is 28 + 39 = 67
  EXPECT_EQ(dma_in.items[2].visible, 140U);
  EXPECT_EQ(dma_in.items[3].visible, 2328U + 39U - 7U);
  EXPECT_EQ(dma_in.items[0].item.length, 512U);
  EXPECT_EQ(dma_in.items[0].item.byte_count, 512U);
  EXPECT_EQ(dma_in.items[0].item.tag, 5U);
  EXPECT_EQ(dma_in.items[0].item.data.data()[511], 0xc0U);
}

TEST_P(pcie_rx_open, TLPs_pass_one_beat_a_cycle_in_order) {
  // Three doorbells within a nanosecond, and one behind a completion of eight beats.
  arrive(write(Bar2, 8), 10'000, 10'300);
  arrive(write(Bar2, 8), 10'300, 10'600);
  arrive(write(Bar2, 8), 10'600, 10'900);
  arrive(completion(512), 20'000, 23'000);
  arrive(write(Bar2, 8), 23'000, 23'300);
  finish(200);
  ASSERT_EQ(uar_in.items.size(), 4U);
  EXPECT_EQ(uar_in.items[0].visible, 50U);
  EXPECT_EQ(uar_in.items[1].visible, 51U);
  EXPECT_EQ(uar_in.items[2].visible, 52U);
  EXPECT_EQ(uar_in.items[3].visible, 68U);
  const auto order = [&](std::size_t i) {
    return waited_for(bench.context.trace, uar_in.items[i].item.trace, "order");
  };
  EXPECT_EQ(order(0), 0U);
  EXPECT_EQ(order(1), 0U);  // entered on the edge at 11 ns, as the first had left
  EXPECT_EQ(order(2), 1'000U);
  EXPECT_EQ(order(3), 5'000U);  // from 23 to 28
}

// Where it goes ----

TEST_P(pcie_rx_open, a_BAR_is_found_by_its_level) {
  arrive(write(Bar0 + 0x14, 4), 10'000, 10'500);
  arrive(write(Bar2 + 0x3008, 8), 20'000, 20'500);
  arrive(write(Bar4 + 0x3ffc, 4), 30'000, 30'500);
  arrive(write(VfBar2 + 0xfff8, 8), 40'000, 40'500);
  arrive(read(Bar0 + 8, 4, 1), 50'000, 50'500);
  arrive(read(VfBar2 + 0x1000, 8, 0x3a5), 60'000, 60'500);
  finish(200);
  ASSERT_EQ(registers_in.items.size(), 2U);
  EXPECT_EQ(registers_in.items[0].item.bar, 0U);
  EXPECT_EQ(registers_in.items[0].item.offset, 0x14U);
  EXPECT_EQ(registers_in.items[1].item.bar, 4U);
  EXPECT_EQ(registers_in.items[1].item.offset, 0x3ffcU);
  ASSERT_EQ(uar_in.items.size(), 2U);
  EXPECT_EQ(uar_in.items[0].item.function, 0U);
  EXPECT_EQ(uar_in.items[0].item.offset, 0x3008U);
  EXPECT_EQ(uar_in.items[1].item.function, 1U);
  EXPECT_EQ(uar_in.items[1].item.bar, 2U);
  EXPECT_EQ(uar_in.items[1].item.offset, 0xfff8U);
  ASSERT_EQ(register_read_in.items.size(), 1U);
  EXPECT_EQ(register_read_in.items[0].item.length, 4U);
  ASSERT_EQ(uar_read_in.items.size(), 1U);
  EXPECT_EQ(uar_read_in.items[0].visible, 100U);
  EXPECT_EQ(uar_read_in.items[0].item.tag, 0x3a5U);
  EXPECT_EQ(uar_read_in.items[0].item.requester, 0x100U);
  EXPECT_EQ(uar_read_in.items[0].item.length, 8U);
}

TEST_P(pcie_rx_open, a_BAR_that_moved_or_is_off_is_missed) {
  function_map later = two_functions();
  later.pf[1].base += 0x100000;
  later.vf_memory_enable = false;
  functions.write(0, later);
  arrive(write(Bar2, 8), 10'000, 10'500);
  arrive(write(Bar2 + 0x100000, 8), 20'000, 20'500);
  arrive(write(VfBar2, 8), 30'000, 30'500);
  arrive(read(Bar2, 4, 7), 40'000, 40'500);
  arrive(write(Bar0 + 0x10000, 4), 50'000, 50'500);  // just behind it
  finish(200);
  EXPECT_EQ(uar_in.items.size(), 1U);
  EXPECT_EQ(bench.count(counter::PcieRxBarMisses), 4U);
  EXPECT_EQ(refused.items.size(), 1U);  // posted writes have no answer
}

TEST_P(pcie_rx_open, reads_that_cannot_be_served_are_answered_unsupported_request) {
  arrive(read(0x1234'5678, 4, 0x11), 10'000, 10'500);  // no BAR
  arrive(read(Bar2 + 0x42, 100, 0x12), 20'000, 20'500);
  arrive(read(VfBar2 + 1, 2, 0x13), 30'000, 30'500);
  tlp* config = bench.tlps.take();
  make_config_write(*config, 0x100, 0x14, 0x100, 0x10, 1);
  set_poisoned(*config);
  arrive(config, 40'000, 40'500);
  arrive(read(Bar2, 0, 0x15), 50'000, 50'500);  // a flushing read
  finish(200);
  ASSERT_EQ(refused.items.size(), 5U);
  const std::array<std::uint16_t, 5> count = {4, 100, 2, 4, 1};
  const std::array<std::uint8_t, 5> lower = {0x78, 0x42, 0x01, 0, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    const mmio_answer& answer = refused.items[i].item;
    EXPECT_EQ(refused.items[i].visible, 50 + 10 * i);
    EXPECT_EQ(answer.status, 1U) << "Unsupported Request";
    EXPECT_EQ(answer.requester, 0x100U);
    EXPECT_EQ(answer.tag, 0x11U + i);
    EXPECT_EQ(answer.length, count[i]);
    EXPECT_EQ(answer.lower_address, lower[i]);
    EXPECT_EQ(answer.function, i == 2 ? 1U : 0U);
  }
  EXPECT_EQ(bench.count(counter::PcieRxBarMisses), 1U);
  EXPECT_EQ(bench.count(counter::PcieRxUnsupported), 4U);
}

TEST_P(pcie_rx_open, configuration_requests_are_handed_on_whatever_the_BARs) {
  functions.write(0, function_map{});
  tlp* packet = bench.tlps.take();
  make_config_read(*packet, 0x42, 0x14, 0x0107, 0x184, 0x3);
  arrive(packet, 10'000, 10'500);
  packet = bench.tlps.take();
  make_config_write(*packet, 0x42, 0x15, 0x0200, 0x10, 0x8765'4321);
  set_other_bus(*packet);
  arrive(packet, 20'000, 20'500);
  finish(200);
  ASSERT_EQ(configs_in.items.size(), 2U);
  EXPECT_EQ(configs_in.items[0].visible, 50U);
  const config_request& first = configs_in.items[0].item;
  EXPECT_FALSE(first.write);
  EXPECT_TRUE(first.local);
  EXPECT_EQ(first.destination, 0x0107U);
  EXPECT_EQ(first.offset, 0x184U);
  EXPECT_EQ(first.enables, 0x3U);
  EXPECT_EQ(first.requester, 0x42U);
  EXPECT_EQ(first.tag, 0x14U);
  const config_request& second = configs_in.items[1].item;
  EXPECT_TRUE(second.write);
  EXPECT_FALSE(second.local);
  EXPECT_EQ(second.value, 0x8765'4321U);
}

TEST_P(pcie_rx_open, what_is_refused_is_reported_to_the_function_that_it_was_for) {
  tlp* poisoned = write(VfBar2, 8);
  set_poisoned(*poisoned);
  arrive(poisoned, 10'000, 10'500);
  arrive(read(VfBar2 + 1, 2, 0x13), 20'000, 20'500);
  arrive(write(0x1234'5678, 4), 30'000, 30'500);  // nobody's
  finish(200);
  ASSERT_EQ(reported.items.size(), 3U);
  EXPECT_EQ(reported.items[0].item.function, 1U);
  EXPECT_EQ(reported.items[0].item.kind, pcie_error_kind::poisoned_request);
  EXPECT_EQ(reported.items[1].item.function, 1U);
  EXPECT_EQ(reported.items[1].item.kind, pcie_error_kind::unsupported_request);
  EXPECT_EQ(reported.items[2].item.function, 0U);
  EXPECT_EQ(reported.items[2].item.kind, pcie_error_kind::unsupported_request);
}

TEST_P(pcie_rx_open, unaligned_stores_keep_their_bytes) {
  arrive(write(Bar0 + 2, 4), 10'000, 10'500);
  arrive(write(Bar0 + 3, 8), 20'000, 20'500);
  arrive(write(Bar0 + 5, 1), 30'000, 30'500);
  arrive(write(Bar2 + 0x801, 64), 40'000, 41'600);  // 68 bytes of payload
  arrive(write(Bar2 + 0x800, 0), 50'000, 50'500);
  finish(200);
  ASSERT_EQ(registers_in.items.size(), 3U);
  EXPECT_EQ(registers_in.items[0].item.offset, 2U);
  EXPECT_EQ(bytes_of(registers_in.items[0].item), (std::vector<std::uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(registers_in.items[1].item.offset, 3U);
  EXPECT_EQ(bytes_of(registers_in.items[1].item),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(registers_in.items[2].item.offset, 5U);
  EXPECT_EQ(bytes_of(registers_in.items[2].item), (std::vector<std::uint8_t>{1}));
  ASSERT_EQ(uar_in.items.size(), 2U);
  EXPECT_EQ(uar_in.items[0].item.offset, 0x801U);
  EXPECT_EQ(bytes_of(uar_in.items[0].item).size(), 64U);
  EXPECT_EQ(bytes_of(uar_in.items[0].item)[63], 64U);
  EXPECT_EQ(uar_in.items[1].item.length, 0U);
}

TEST_P(pcie_rx_open, a_write_longer_than_a_line_is_one_item_and_takes_its_beats) {
  arrive(write(Bar2 + 0x800, 256), 10'000, 14'000);
  arrive(write(Bar2, 8), 14'000, 14'500);
  finish(200);
  ASSERT_EQ(uar_in.items.size(), 2U);
  EXPECT_EQ(uar_in.items[0].item.length, 256U);
  EXPECT_EQ(uar_in.items[0].item.data[63], 64U);
  EXPECT_EQ(uar_in.items[0].visible, 53U);  // whole 14 + 39
  EXPECT_EQ(uar_in.items[1].visible, 54U);
}

TEST_P(pcie_rx_open, a_write_with_holes_is_refused) {
  tlp* packet = write(Bar0, 8);
  packet->header[7] = 0x9f;  // last enables 1001
  arrive(packet, 10'000, 10'500);
  packet = write(Bar0, 4);
  packet->header[7] = 0x05;  // one dword, enables 0101
  arrive(packet, 20'000, 20'500);
  finish(200);
  EXPECT_TRUE(registers_in.items.empty());
  EXPECT_EQ(bench.count(counter::PcieRxUnsupported), 2U);
}

TEST_P(pcie_rx_open, poisoned_writes_are_dropped_and_poisoned_completions_marked) {
  tlp* packet = write(Bar2, 8);
  set_poisoned(*packet);
  arrive(packet, 10'000, 10'500);
  packet = completion(64);
  set_poisoned(*packet);
  arrive(packet, 20'000, 21'500);
  arrive(completion(64), 30'000, 31'500);
  finish(200);
  EXPECT_TRUE(uar_in.items.empty());
  ASSERT_EQ(dma_in.items.size(), 2U);
  EXPECT_TRUE(dma_in.items[0].item.poisoned);
  EXPECT_FALSE(dma_in.items[1].item.poisoned);
  EXPECT_EQ(bench.count(counter::PcieRxPoisoned), 2U);
}

TEST_P(pcie_rx_open, random_headers_are_served_answered_or_counted) {
  random_stream random(11, "headers");
  for (unsigned n = 0; n < 20000; ++n) {
    tlp* packet = bench.tlps.take();
    if (random.chance(1, 2)) {
      // A sound TLP with one bit turned.
      switch (random.below(3)) {
        case 0:
          make_memory_write(*packet, 1, Bar2 + 0x1000 * random.below(9) + random.below(0xf80),
                            nullptr, static_cast<std::uint32_t>(random.below(100)));
          break;
        case 1:
          make_memory_read(*packet, 1, 2, Bar0 + 4 * random.below(64), 4);
          break;
        default:
          make_completion(*packet, 1, 0, 3, completion_status::Success, 64, 0,
                          packet->payload.data(), 64);
          break;
      }
      packet->header[random.below(16)] ^= static_cast<std::uint8_t>(1U << random.below(8));
    } else {
      for (auto& each : packet->header) {
        each = static_cast<std::uint8_t>(random.below(256));
      }
      packet->header_bytes = static_cast<std::uint8_t>(random.chance(1, 2) ? 12 : 16);
      packet->payload_bytes = static_cast<std::uint16_t>(
          random.chance(1, 2) ? 0 : 4 * ((packet->header[2] & 3U) << 8 | packet->header[3]));
      packet->flow = static_cast<tlp_class>(random.below(3));
    }
    const ps_t first = 10'000 + n * 100'000ULL + random.below(1000);
    arrive(packet, first, first + 1000 + packet->payload_bytes * 16U);
  }
  finish(2'100'000);
  EXPECT_GT(uar_in.items.size(), 1000U);
  EXPECT_GT(refused.items.size(), 500U);
  EXPECT_GT(bench.count(counter::PcieRxUnsupported), 5000U);
}

// Flow control ----

TEST_P(pcie_rx_open, credits_go_home_when_a_TLP_enters) {
  for (unsigned i = 0; i < 3; ++i) {
    tlp* packet = write(Bar2, 8);
    host_port.send(packet);
  }
  arrived = 3;
  EXPECT_FALSE(host_port.can_send(tlp_class::posted, 8));
  // Out and back: twice 20 ns, and the edge in between.
  bench.run(30);
  EXPECT_FALSE(host_port.can_send(tlp_class::posted, 8));
  finish(200);
  EXPECT_TRUE(host_port.can_send(tlp_class::posted, 8));
  EXPECT_EQ(host.credits, 1U);
  EXPECT_EQ(uar_in.items.size(), 3U);
}

TEST_P(pcie_rx_bench, a_full_output_holds_back_what_is_behind_it) {
  sink<mmio_write> uar_in("uar_in", bench, uar_writes, 100);
  sink<read_completion> dma_in("dma_in", bench, completions);
  for (unsigned i = 0; i < 65; ++i) {
    arrive(write(Bar2, 8), 10'000 + i * 1000ULL, 10'500 + i * 1000ULL);
  }
  arrive(completion(64), 75'000, 76'500);
  finish(8000);
  ASSERT_EQ(uar_in.items.size(), 65U);
  // The first is taken in 100, so the last enters in 101 instead of 74, and the completion in 102.
  EXPECT_EQ(dma_in.items[0].visible, 142U);
  EXPECT_EQ(waited_for(bench.context.trace, uar_in.items[64].item.trace, "credit:output"), 27'000U);
  EXPECT_EQ(waited_for(bench.context.trace, dma_in.items[0].item.trace, "order"), 27'000U);
}

TEST_P(pcie_rx_bench, a_TLP_that_waits_goes_where_its_BAR_is_by_now) {
  sink<mmio_read> uar_read_in("uar_read_in", bench, uar_reads, 100);
  sink<mmio_answer> refused("refused", bench, refusals);
  for (unsigned i = 0; i < 9; ++i) {
    arrive(read(Bar2, 8, static_cast<std::uint16_t>(i)), 10'000 + i * 1000ULL,
           10'300 + i * 1000ULL);
  }
  // The ninth waits: there is room for eight. Meanwhile the BAR is taken away.
  bench.run(60);
  EXPECT_EQ(refused.items.size(), 0U);
  functions.write(60, function_map{});
  finish(8000);
  EXPECT_EQ(uar_read_in.items.size(), 8U);
  ASSERT_EQ(refused.items.size(), 1U);
  EXPECT_EQ(refused.items[0].item.tag, 8U);
  EXPECT_EQ(refused.items[0].visible, 61U + 40U);
}

TEST_P(pcie_rx_open, a_malformed_TLP_takes_its_beats) {
  tlp* packet = write(Bar2, 256);
  packet->header[3] = 1;  // it says one dword
  arrive(packet, 10'000, 14'000);
  arrive(write(Bar2, 8), 14'000, 14'500);
  packet = write(Bar2, 256);
  packet->header[3] = 1;
  arrive(packet, 20'000, 21'000);
  arrive(write(Bar2, 8), 21'000, 21'500);
  finish(200);
  ASSERT_EQ(uar_in.items.size(), 2U);
  EXPECT_EQ(uar_in.items[0].visible, 54U);
  EXPECT_EQ(uar_in.items[1].visible, 64U);  // taken in 24, behind four beats
}

TEST_P(pcie_rx_open, however_many_TLPs_are_on_their_way_none_is_lost) {
  // More beats than the stream has room for, announced at once.
  for (unsigned i = 0; i < 100; ++i) {
    arrive(completion(4096, static_cast<std::uint16_t>(i)), 10'000 + i * 100'000ULL,
           82'000 + i * 100'000ULL);
  }
  finish(20'000);
  ASSERT_EQ(dma_in.items.size(), 100U);
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_EQ(dma_in.items[i].item.tag, i);
    // The last of 64 beats 39 cycles after the edge of the last symbol.
    EXPECT_EQ(dma_in.items[i].visible, 82 + i * 100 + 39 - 63);
  }
}

INSTANTIATE_TEST_SUITE_P(shuffle, pcie_rx_open, testing::Values(0, 77, 4242));
INSTANTIATE_TEST_SUITE_P(shuffle, pcie_rx_bench, testing::Values(0, 77, 4242));

}  // namespace
}  // namespace carillon
