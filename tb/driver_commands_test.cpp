// The driver's side of the command queue: several cores, events, long inputs, firmware.
#include <array>
#include <vector>

#include "host/event_queue.h"
#include "tb/common/driver_bench.h"
#include "tb/common/peer_bench.h"

namespace carillon::bench {
namespace {

TEST_F(drivers, register_more_pages_than_a_page_of_input_would_hold) {
  build();
  memory_region region;
  run([&](cpu& core, session_side& side) -> task<> {
    // 4096 bytes of input would hold 478 pages.
    page_list pages;
    pages.start = 0x7f0000000000;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      pages.pages.push_back(0x200000000 + i * 0x2000);
    }
    pages.log_page_size = 12;
    region = co_await side.adapter.register_pages(core, side.pd, pages, 1000 * 4096);
  });
  const auto key = first->line<mkey_line>(context_kind::mkey, region.index());
  EXPECT_EQ(key.valid, 1U);
  EXPECT_EQ(key.len, 1000U * 4096);
  // Page 999 is the last of line 124, readable and writable.
  EXPECT_EQ(first->line<mtt_line>(context_kind::mtt, 124).entry7, 0x200000003U + 999 * 0x2000);
}

TEST_F(drivers, have_commands_of_several_cores_under_way_at_once) {
  parameters params;
  build({}, 3, params);
  std::array<ps_t, 3> begins{};
  std::array<ps_t, 3> ends{};
  const auto ask = [&](unsigned index) -> task<> {
    cpu& core = first->host.core(index);
    co_await core.sync();
    begins[index] = core.time();
    co_await first->driver.alloc_pd(core);
    ends[index] = core.time();
  };
  run([&](cpu& /*core*/, session_side& /*side*/) -> task<> {
    first->host.core(1).run(ask(1));
    first->host.core(2).run(ask(2));
    co_await ask(0);
  });
  EXPECT_EQ(begins[0], begins[1]);
  EXPECT_EQ(begins[1], begins[2]);
  EXPECT_EQ(first->shared.counters.value(counter::CommandDeliveryErrors), 0U);
  // Alone a command takes the way of doorbell, read and write; the two others only add their
  // service: 50 cycles, 5 to settle and one to turn.
  const ps_t first_end = std::min({ends[0], ends[1], ends[2]});
  const ps_t last_end = std::max({ends[0], ends[1], ends[2]});
  EXPECT_LT(last_end - first_end, 2 * 56'000U + 40'000U);
  EXPECT_GT(first_end - begins[0], 300'000U) << "two thirds of it three times would be more";
}

TEST_F(drivers, wait_for_an_entry_when_all_are_used) {
  build({}, 34);
  unsigned done = 0;
  const auto ask = [&](unsigned index) -> task<> {
    cpu& core = first->host.core(index);
    for (unsigned i = 0; i < 3; ++i) {
      co_await first->driver.alloc_pd(core);
      ++done;
    }
  };
  run([&](cpu& /*core*/, session_side& /*side*/) -> task<> {
    for (unsigned i = 1; i < 34; ++i) {
      first->host.core(i).run(ask(i));
    }
    co_return;
  });
  EXPECT_EQ(done, 99U);
  EXPECT_EQ(first->shared.counters.value(counter::CommandDoorbellsIgnored), 0U);
  EXPECT_EQ(first->shared.counters.value(counter::CommandErrors), 0U);
}

TEST_F(drivers, do_without_signatures) {
  build();
  qpc seen;
  run([&](cpu& core, session_side& side) -> task<> {
    first->driver.sign_commands(false);
    seen = co_await side.qps[0]->query(core);
  });
  EXPECT_EQ(seen.state, qpc_state::Rts);
}

TEST_F(drivers, load_firmware_into_a_device_that_has_none) {
  parameters params;
  params.nic.firmware = nic_firmware::Host;
  build({}, 1, params);
  run(nothing);
  std::array<std::uint8_t, 4> status{};
  ASSERT_TRUE(first->endpoint.debug_read(0, 4, bar4::FwStatus, status));
  EXPECT_EQ(status[3], 2U) << "running";
  EXPECT_EQ(first->shared.counters.value(counter::Commands), 12U);
  EXPECT_EQ(first->shared.counters.value(counter::RegisterDenied), 0U);
}

constexpr std::uint64_t CommandEvents = events_of({event_type::Command});

TEST(driver_events, end_commands_when_there_is_a_queue_for_them) {
  peer_bench bench;
  std::vector<std::uint32_t> numbers;
  bench.run([&](peer_bench& home, cpu& core) -> task<> {
    device& dev = home.driver;
    co_await dev.open(core);
    uar_handle* page = co_await dev.alloc_uar(core);
    const auto events = co_await event_queue::create(dev, core, *page, 8, CommandEvents);
    dev.wait_for_commands_by(events.get());
    for (unsigned i = 0; i < 3; ++i) {
      numbers.push_back(co_await dev.alloc_pd(core));
    }
    dev.wait_for_commands_by(nullptr);
  });
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 3}));
  // CREATE_EQ's own and three more.
  EXPECT_EQ(bench.count(counter::Eqes), 4U);
  EXPECT_EQ(bench.count(counter::EventsUnclaimed), 0U);
}

}  // namespace
}  // namespace carillon::bench
