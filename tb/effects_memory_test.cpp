// What is between the device and memory besides root complex and DRAM: the link to another socket,
// pages that are not present, address translation, the last level cache. As in root_complex_test a
// byte on the PCIe link takes 4000 ps, the link 20 ns, the root complex 25 ns each way, a read of
// memory 35 ns and a write 30 ns; so each expected time is a sum that can be done by hand.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tb/common/root_complex_bench.h"

namespace carillon {
namespace {

using bench::host_parameters;
using bench::root_complex_test;
using bytes = std::vector<std::uint8_t>;
using lines = std::vector<std::string>;

constexpr ps_t Hop = 100'000;
constexpr ps_t SocketByte = 100;  // at 80 Gb/s

/// A short link between the sockets; a header has 12 bytes.
parameters two_sockets(int core_node, int memory_node) {
  parameters params = host_parameters();
  params.numa.hop_ps = Hop;
  params.numa.link_gbps = 80;
  params.host.core_node = core_node;
  params.host.memory_node = memory_node;
  return params;
}

class host_effects : public root_complex_test {
 protected:
  /// The device reads at 1000 ps; what comes back.
  lines read_at_1000(const parameters& params, std::uint64_t address = 0x1000) {
    build(params);
    reads({address});
    run();
    return story(device->seen.at(0).trace);
  }

  /// The device reads 64 bytes from each address, one request behind the other.
  void reads(const std::vector<std::uint64_t>& addresses, ps_t when = 1000) {
    steps->at(when, [this, addresses, when] {
      std::uint16_t tag = 0;
      for (const std::uint64_t address : addresses) {
        tlp* packet = read(address, 64, ++tag);
        packet->trace = context->trace.open(when, {});
        device->port.send(packet);
      }
    });
  }

  /// Until the data of read `index` leaves the root complex.
  [[nodiscard]] bool passed(std::size_t index, const std::string& line) const {
    const lines all = story(device->seen.at(index).trace);
    return std::find(all.begin(), all.end(), line) != all.end();
  }

  [[nodiscard]] std::string all_of(std::size_t index) const {
    std::string text;
    for (const std::string& line : story(device->seen.at(index).trace)) {
      text += line + "\n";
    }
    return text;
  }
};

// The link between sockets
// -------------------------------------------------------------------------

TEST_F(host_effects, a_read_of_far_memory_crosses_the_sockets_there_and_back) {
  EXPECT_EQ(read_at_1000(two_sockets(1, 1)),
            (lines{
                "device flight 21000",
                "root_complex.port flight 101000",
                "root_complex service 126000",
                "socket_link flight " + std::to_string(126'000 + 12 * SocketByte + Hop),
                "memory service 262200",
                "socket_link flight " + std::to_string(262'200 + 64 * SocketByte + Hop),
                "root_complex service 393600",
                "root_complex.port flight 413600",
            }));
}

TEST_F(host_effects, a_write_to_far_memory_crosses_once) {
  build(two_sockets(1, 1));
  steps->at(1000, [&] { device->port.send(write(0x1000, bytes(64, 0x77))); });
  // Without the hop it is visible at 412,000: 84 bytes on the link, 25,000 and 30,000.
  const ps_t visible = 412'000 + (12 + 64) * SocketByte + Hop;
  steps->at(visible - 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(visible + 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0x77}); });
  run();
}

/// When a store of 8 bytes, made at 1000 ps, comes to the device.
ps_t store_arrival(recording_device& device) {
  return device.seen.at(0).first;
}

TEST_F(host_effects, a_store_of_a_far_core_crosses_once) {
  build(two_sockets(1, 1));
  const bytes data(8, 1);
  steps->at(1000, [&] { host->mmio_write({}, 0, 0x80000000, data.data(), 8); });
  run();
  EXPECT_EQ(store_arrival(*device), 1'000 + (12 + 8) * SocketByte + Hop + 25'000 + 20'000);
}

TEST_F(host_effects, a_store_of_a_near_core_does_not_cross_though_memory_is_far) {
  build(two_sockets(0, 1));
  const bytes data(8, 1);
  steps->at(1000, [&] { host->mmio_write({}, 0, 0x80000000, data.data(), 8); });
  run();
  EXPECT_EQ(store_arrival(*device), 46'000U);
}

TEST_F(host_effects, near_memory_is_read_without_crossing_though_cores_are_far) {
  EXPECT_EQ(read_at_1000(two_sockets(1, 0)).back(), "root_complex.port flight 206000");
}

TEST_F(host_effects, a_far_cores_load_crosses_there_and_back) {
  build(two_sockets(1, 1));
  device->then = [this](const recording_device::arrival& got) {
    steps->at(got.last, [this, got] {
      tlp* answer = pool.take();
      make_completion(*answer, 0x100, got.header.requester, got.header.tag,
                      completion_status::Success, 4, 0, bytes(4, 9).data(), 4);
      device->port.send(answer);
    });
  };
  steps->at(0, [&] { host->mmio_read({}, 0, 0x80000000, 4, core); });
  run();
  ASSERT_EQ(core.answers.size(), 1U);
  // Request: 12 bytes over the sockets, 25 ns, 20 ns and 20 bytes on the link. Completion: 20 ns
  // and 24 bytes, 25 ns, and 12 + 4 bytes over the sockets.
  EXPECT_EQ(core.answers[0].when, 12 * SocketByte + Hop + 25'000 + 20'000 + 20 * SlowByte + 20'000 +
                                      24 * SlowByte + 25'000 + 16 * SocketByte + Hop);
}

TEST_F(host_effects, what_crosses_waits_for_what_is_before_it) {
  parameters params = two_sockets(1, 1);
  params.numa.link_gbps = 1;  // 8000 ps a byte: slower than the PCIe link
  build(params);
  steps->at(1000, [&] {
    device->port.send(write(0x1000, bytes(64, 1)));
    tlp* second = write(0x2000, bytes(64, 2));
    second->trace = context->trace.open(1000, {});
    context->trace.hold(second->trace);
    second->point = milestone::delivered;
    device->port.send(second);
  });
  run();
  // The first is at the sockets at 382,000 and takes 76 * 8000 ps; the second comes 84 * 4000
  // later.
  const message_record* record = context->trace.record(1);
  ASSERT_NE(record, nullptr);
  const lines all = story({1, record->span_at(milestone::delivered)});
  const std::string waited =
      "socket_link wait socket_queue " + std::to_string(382'000 + 76 * 8'000);
  EXPECT_NE(std::find(all.begin(), all.end(), waited), all.end()) << testing::PrintToString(all);
}

TEST_F(host_effects, without_a_second_socket_there_is_no_link) {
  build();
  EXPECT_EQ(host->sockets(), nullptr);
  EXPECT_EQ(host->translation(), nullptr);
}

// Pages that are not pinned
// -------------------------------------------------------------------------

constexpr ps_t Fault = 1'000'000;

parameters unpinned(std::int64_t handlers = 1) {
  parameters params = host_parameters();
  params.host.pinned = false;
  params.host.page_fault_ps = Fault;
  params.host.page_fault_handlers = handlers;
  return params;
}

TEST_F(host_effects, the_first_access_to_a_page_waits_until_the_host_has_made_it_present) {
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  reads({0x1000});
  run();
  EXPECT_EQ(story(device->seen.at(0).trace), (lines{
                                                 "device flight 21000",
                                                 "root_complex.port flight 101000",
                                                 "root_complex service 126000",
                                                 "page_fault service 1126000",
                                                 "memory service 1161000",
                                                 "root_complex service 1186000",
                                                 "root_complex.port flight 1206000",
                                             }));
  EXPECT_EQ(host->paging()->count(), 1U);
}

TEST_F(host_effects, a_page_stays_present) {
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  reads({0x1000});
  reads({0x1fc0}, 2'001'000);
  run();
  EXPECT_EQ(host->paging()->count(), 1U);
  // As without faults: 20 ns and 80 on the link, 25 in the root complex, 35 in memory.
  EXPECT_TRUE(passed(1, "memory service 2161000")) << all_of(1);
}

TEST_F(host_effects, memory_that_nobody_registered_has_no_faults) {
  // Queues and their records are pinned by the driver.
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  reads({0x2000});
  run();
  EXPECT_EQ(host->paging()->count(), 0U);
  EXPECT_TRUE(passed(0, "memory service 161000")) << all_of(0);
}

TEST_F(host_effects, a_second_access_to_a_page_waits_for_the_fault_of_the_first) {
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  reads({0x1000, 0x1040});
  run();
  EXPECT_TRUE(passed(1, "page_fault wait page_fault 1126000")) << all_of(1);
  EXPECT_EQ(host->paging()->count(), 1U);
}

TEST_F(host_effects, a_fault_waits_for_a_handler) {
  build(unpinned());
  host->paging()->registered(0x1000, 8192);
  reads({0x1000, 0x2000});
  run();
  EXPECT_TRUE(passed(1, "page_fault wait fault_handler 1126000")) << all_of(1);
  EXPECT_TRUE(passed(1, "page_fault service 2126000")) << all_of(1);
  EXPECT_EQ(host->paging()->count(), 2U);
}

TEST_F(host_effects, two_handlers_handle_faults_at_the_same_time) {
  build(unpinned(2));
  host->paging()->registered(0x1000, 8192);
  reads({0x1000, 0x2000});
  run();
  // The second request is 20 bytes behind the first.
  EXPECT_TRUE(passed(1, "page_fault service 1206000")) << all_of(1);
}

TEST_F(host_effects, what_comes_behind_a_fault_stays_behind_it) {
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  reads({0x1000, 0x2000});
  run();
  EXPECT_TRUE(passed(1, "page_fault wait page_fault_order 1126000")) << all_of(1);
}

TEST_F(host_effects, a_write_to_a_page_that_is_not_present_is_late_by_the_fault) {
  build(unpinned());
  host->paging()->registered(0x1000, 4096);
  steps->at(1000, [&] { device->port.send(write(0x1000, bytes(64, 0x77))); });
  // 84 bytes and 20 ns on the link, 25 and 30 ns.
  const ps_t visible = 412'000 + Fault;
  steps->at(visible - 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(visible + 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0x77}); });
  run();
}

TEST_F(host_effects, huge_pages_have_fewer_faults) {
  parameters params = unpinned();
  params.host.page_bytes = 2 << 20;
  build(params);
  host->paging()->registered(0x1000, 8192);
  reads({0x1000, 0x2000});
  run();
  EXPECT_EQ(host->paging()->count(), 1U);
}

// Translation
// --------------------------------------------------------------------------------------

parameters translated(std::int64_t page_bytes = 4096) {
  parameters params = host_parameters();
  params.iommu.enabled = true;
  params.iommu.lookup_ps = 10'000;
  params.iommu.scattered = false;
  params.host.page_bytes = page_bytes;
  return params;
}

TEST_F(host_effects, a_miss_of_the_iotlb_costs_a_read_of_memory_for_each_level) {
  EXPECT_EQ(read_at_1000(translated()), (lines{
                                            "device flight 21000",
                                            "root_complex.port flight 101000",
                                            "root_complex service 126000",
                                            "iommu service 136000",
                                            "iommu service 276000",  // 4 * 35 ns
                                            "memory service 311000",
                                            "root_complex service 336000",
                                            "root_complex.port flight 356000",
                                        }));
}

TEST_F(host_effects, tables_of_huge_pages_have_fewer_levels) {
  EXPECT_EQ(read_at_1000(translated(2 << 20)).at(4), "iommu service 241000") << "3 * 35 ns";
}

TEST_F(host_effects, tables_of_the_largest_pages_have_two_levels) {
  EXPECT_EQ(read_at_1000(translated(1 << 30)).at(4), "iommu service 206000") << "2 * 35 ns";
}

TEST_F(host_effects, a_hit_costs_the_lookup_only) {
  build(translated());
  reads({0x1000});
  reads({0x1040}, 1'001'000);
  run();
  EXPECT_TRUE(passed(1, "iommu service 1136000")) << all_of(1);
  EXPECT_TRUE(passed(1, "memory service 1171000")) << all_of(1);
  EXPECT_EQ(host->translation()->stats().hits, 1U);
  EXPECT_EQ(host->translation()->stats().reads, 4U);
}

TEST_F(host_effects, a_walk_begins_at_the_lowest_table_that_a_walk_cache_knows) {
  build(translated());
  reads({0x1000});
  reads({0x2000}, 1'001'000);    // the same last table
  reads({0x400000}, 2'001'000);  // another one, below the same
  run();
  EXPECT_TRUE(passed(1, "iommu service 1171000")) << "1 * 35 ns\n" << all_of(1);
  EXPECT_TRUE(passed(2, "iommu service 2206000")) << "2 * 35 ns\n" << all_of(2);
}

TEST_F(host_effects, without_walk_caches_every_walk_has_all_levels) {
  parameters params = translated();
  params.iommu.walk_cache_entries = 0;
  build(params);
  reads({0x1000});
  reads({0x2000}, 1'001'000);
  run();
  EXPECT_TRUE(passed(1, "iommu service 1276000")) << all_of(1);
}

TEST_F(host_effects, a_walk_waits_for_a_walker) {
  build(translated());
  reads({0x1000, 0x2000});
  run();
  // The second request is 20 bytes behind the first: looked up at 216,000, while the only walker is
  // busy until 276,000.
  EXPECT_TRUE(passed(1, "iommu wait page_walker 276000")) << all_of(1);
  EXPECT_TRUE(passed(1, "iommu service 311000")) << all_of(1);
}

TEST_F(host_effects, two_walkers_walk_at_the_same_time) {
  parameters params = translated();
  params.iommu.walkers = 2;
  build(params);
  reads({0x1000, 0x2000});
  run();
  EXPECT_TRUE(passed(1, "iommu service 251000")) << all_of(1);
  // ... but the first goes on first, at 276,000.
  EXPECT_TRUE(passed(1, "iommu wait translation_order 276000")) << all_of(1);
}

TEST_F(host_effects, a_second_access_to_a_page_waits_for_the_walk_of_the_first) {
  build(translated());
  reads({0x1000, 0x1040});
  run();
  EXPECT_TRUE(passed(1, "iommu wait page_walk 276000")) << all_of(1);
  EXPECT_EQ(host->translation()->stats().misses, 1U);
}

TEST_F(host_effects, a_working_set_beyond_the_iotlb_misses_again_and_again) {
  parameters params = translated();
  params.iommu.iotlb_entries = 4;
  params.iommu.iotlb_ways = 4;
  build(params);
  const std::vector<std::uint64_t> five = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000};
  reads(five);
  reads(five, 10'000'000);
  run();
  EXPECT_EQ(host->translation()->stats().misses, 10U);
  EXPECT_EQ(host->translation()->stats().hits, 0U);
}

TEST_F(host_effects, scattered_pages_do_not_share_tables) {
  parameters params = translated();
  params.iommu.scattered = true;
  build(params);
  reads({0x1000});
  reads({0x2000}, 1'001'000);
  run();
  EXPECT_GT(host->translation()->stats().reads, 5U) << "4 and 1 if they were neighbours";
}

TEST_F(host_effects, a_write_is_translated_too) {
  build(translated());
  steps->at(1000, [&] { device->port.send(write(0x1000, bytes(64, 0x77))); });
  // Without translation at 412,000.
  const ps_t visible = 412'000 + 10'000 + 4 * 35'000;
  steps->at(visible - 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0}); });
  steps->at(visible + 1, [&] { EXPECT_EQ(contents(0x1000, 1), bytes{0x77}); });
  run();
}

TEST_F(host_effects, a_write_does_not_pass_one_whose_page_is_walked) {
  build(translated());
  reads({0x2000});
  steps->at(1'000'000, [&] {
    device->port.send(write(0x9000, bytes(64, 1)));  // a page that is not known
    device->port.send(write(0x2000, bytes(64, 2)));  // one that is
  });
  bool early = false;
  for (ps_t when = 1'300'000; when < 2'200'000; when += 500) {
    steps->at(when, [&] {
      early = early || (contents(0x2000, 1) == bytes{2} && contents(0x9000, 1) != bytes{1});
    });
  }
  run();
  EXPECT_FALSE(early);
  EXPECT_EQ(contents(0x2000, 1), bytes{2});
}

// The last level cache
// -----------------------------------------------------------------------------

parameters cached() {
  parameters params = host_parameters();
  params.host.llc_bytes = 1024;  // one set of 16 lines
  params.host.llc_ways = 16;
  params.host.llc_saving_ps = 20'000;
  return params;
}

TEST_F(host_effects, a_read_of_what_a_core_wrote_hits_the_cache) {
  build(cached());
  memory.fill(0x1000, 1, 64);
  reads({0x1000, 0x8000});
  run();
  EXPECT_TRUE(passed(0, "memory service 141000")) << all_of(0);
  EXPECT_TRUE(passed(1, "memory service 241000")) << "80,000 behind, from memory\n" << all_of(1);
}

TEST_F(host_effects, a_read_is_as_slow_as_the_slowest_of_its_lines) {
  build(cached());
  memory.fill(0x1000, 1, 64);
  steps->at(1000, [&] {
    tlp* packet = read(0x1000, 128);
    packet->trace = context->trace.open(1000, {});
    device->port.send(packet);
  });
  run();
  EXPECT_TRUE(passed(0, "memory service 161000")) << all_of(0);
}

TEST_F(host_effects, lines_leave_the_cache_when_others_need_their_room) {
  build(cached());
  for (std::uint64_t line = 0; line < 17; ++line) {
    memory.fill(0x1000 + line * 64, 1, 64);
  }
  reads({0x1000});
  run();
  EXPECT_TRUE(passed(0, "memory service 161000")) << all_of(0);
}

TEST_F(host_effects, what_the_device_wrote_hits_only_if_its_writes_allocate) {
  parameters params = cached();
  params.host.ddio = true;
  params.host.llc_write_ps = 30'000;
  build(params);
  memory.set_attributes(0x8000, 0x1000, {0, false});
  steps->at(1000, [&] {
    device->port.send(write(0x1000, bytes(64, 1)));
    device->port.send(write(0x8000, bytes(64, 1)));
  });
  reads({0x1000, 0x8000}, 2'000'000);
  run();
  EXPECT_TRUE(passed(0, "memory service 2140000")) << all_of(0);
  EXPECT_TRUE(passed(1, "memory service 2240000")) << all_of(1);
}

}  // namespace
}  // namespace carillon
