// The host's PCI code against a whole NIC: what it finds, where it puts it, and what resets leave.
#include "host/pci_bus.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "gen/registers.h"
#include "tb/common/bus_bench.h"

namespace carillon {
namespace {

using bus = bench::bus_bench;

constexpr std::uint64_t Low = 0x80000000;
constexpr std::uint64_t High = 0x2000000000;
constexpr std::uint64_t UarBytes = 0x10000;  // 16 pages
constexpr std::uint32_t Nothing = 0xffffffff;

TEST_F(bus, the_PFs_BARs_are_placed_in_the_hosts_windows_and_answer) {
  build();
  pci_function pf;
  std::uint64_t number = 1;
  std::uint64_t link = 0;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    pf = co_await slot.enumerate(core);
    number = co_await number_at(core, pf.bar0);
    link = co_await core.load(pf.bar4 + bar4::LinkStatus, 4);
  });
  EXPECT_EQ(pf.number, 0U);
  EXPECT_EQ(pf.routing_id, 0x0100U) << "bus 1";
  EXPECT_EQ(pf.bar0, Low);
  EXPECT_EQ(pf.bar4, Low + 0x8000) << "the smaller one behind the larger";
  EXPECT_EQ(pf.bar2, High);
  EXPECT_EQ(number, 0U);
  const auto trained = bar4::link_status_value::unpack(static_cast<std::uint32_t>(link));
  EXPECT_EQ(trained.ltssm, static_cast<std::uint8_t>(ltssm_state::L0));
  EXPECT_EQ(trained.width, 16U);
  EXPECT_EQ(trained.generation, 5U);
}

TEST_F(bus, registers_hold_what_was_enumerated) {
  build({"nic.total_vfs=8", "pcie.mps=256", "pcie.mrrs=1024", "pcie.tags=512"});
  std::vector<std::uint32_t> seen;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    co_await slot.enumerate(core);
    // Command, device control, device control 2, SR-IOV control; VF BAR0 and VF BAR2.
    const std::array<std::uint16_t, 4> words = {0x04, 0x68, 0x88, 0x188};
    for (const std::uint16_t at : words) {
      seen.push_back(co_await slot.read(core, 0x0100, at, 2));
    }
    const std::array<std::uint16_t, 4> dwords = {0x1a4, 0x1a8, 0x1ac, 0x1b0};
    for (const std::uint16_t at : dwords) {
      seen.push_back(co_await slot.read(core, 0x0100, at, 4));
    }
  });
  EXPECT_EQ(seen[0], 0x0006U) << "memory, bus master";
  EXPECT_EQ(seen[1], 3U << 12 | 0x0800 | 0x0100 | 1U << 5 | 0x10);
  EXPECT_EQ(seen[2], 0x1000U) << "10 bits of tag";
  EXPECT_EQ(seen[3], 0x0010U) << "ARI capable hierarchy, no VFs yet";
  EXPECT_EQ(seen[4], 0x80010004U) << "behind BAR0 and BAR4, aligned";
  EXPECT_EQ(seen[5], 0U);
  EXPECT_EQ(seen[6], 0x0001000cU);
  EXPECT_EQ(seen[7], High >> 32);
}

TEST_F(bus, enumeration_happens_once) {
  build();
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  run({[&](pci_bus& slot, cpu& core) -> task<> {
         co_await slot.enumerate(core);
         first = count(counter::ConfigRequests);
       },
       [&](pci_bus& slot, cpu& core) -> task<> {
         const pci_function pf = co_await slot.enumerate(core);
         EXPECT_EQ(pf.bar0, Low);
         second = count(counter::ConfigRequests);
       }});
  EXPECT_GT(first, 20U);
  EXPECT_EQ(second, first);
}

TEST_F(bus, VFs_have_consecutive_routing_IDs_and_BARs) {
  build();
  std::vector<pci_function> vfs;
  std::vector<std::uint64_t> numbers;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    vfs = co_await slot.enable_vfs(core, 3);
    for (const pci_function& each : vfs) {
      numbers.push_back(co_await number_at(core, each.bar0));
    }
  });
  ASSERT_EQ(vfs.size(), 3U);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(vfs[i].number, i + 1);
    EXPECT_EQ(vfs[i].routing_id, 0x0101 + i);
    EXPECT_EQ(vfs[i].bar0, Low + 0x10000 + i * 0x8000);
    EXPECT_EQ(vfs[i].bar2, High + UarBytes + i * UarBytes);
    EXPECT_EQ(vfs[i].bar4, 0U);
    EXPECT_EQ(numbers[i], i + 1);
  }
}

TEST_F(bus, a_VF_reads_no_vendor_and_one_that_is_not_enabled_nothing_at_all) {
  build();
  std::vector<std::uint32_t> seen;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    co_await slot.enable_vfs(core, 2);
    seen.push_back(co_await slot.read(core, 0x0102, 0x00, 4));
    seen.push_back(co_await slot.read(core, 0x0102, 0x08, 4));
    seen.push_back(co_await slot.read(core, 0x0103, 0x08, 4));
  });
  EXPECT_EQ(seen[0], Nothing);
  EXPECT_EQ(seen[1], 0x02000000U);
  EXPECT_EQ(seen[2], Nothing);
}

TEST_F(bus, more_VFs_than_the_device_has_are_refused_by_name) {
  build();
  std::string what;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    try {
      co_await slot.enable_vfs(core, 9);
    } catch (const config_error& error) {
      what = error.what();
    }
    co_await slot.enable_vfs(core, 8);
  });
  EXPECT_EQ(what, "host0: 9 VFs were asked for, but the device has 8 (nic.total_vfs)");
}

TEST_F(bus, the_number_of_VFs_changes_only_through_none) {
  build();
  std::string what;
  std::size_t now = 0;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    co_await slot.enable_vfs(core, 2);
    try {
      co_await slot.enable_vfs(core, 3);
    } catch (const config_error& error) {
      what = error.what();
    }
    co_await slot.disable_vfs(core);
    now = (co_await slot.enable_vfs(core, 3)).size();
  });
  EXPECT_EQ(what,
            "host0: 2 VFs are enabled already; their number changes only when they are disabled");
  EXPECT_EQ(now, 3U);
}

TEST_F(bus, VFs_that_are_disabled_answer_nobody) {
  build();
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    const std::vector<pci_function> vfs = co_await slot.enable_vfs(core, 2);
    before = co_await number_at(core, vfs[1].bar0);
    co_await slot.disable_vfs(core);
    after = co_await number_at(core, vfs[1].bar0);
    EXPECT_THROW((void)slot.function(2), config_error);
  });
  EXPECT_EQ(before, 2U);
  EXPECT_EQ(after, Nothing);
}

TEST_F(bus, all_256_VFs_answer_the_last_on_the_next_bus) {
  build({"nic.total_vfs=256"});
  std::vector<pci_function> vfs;
  std::vector<std::uint64_t> numbers;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    vfs = co_await slot.enable_vfs(core, 256);
    for (const pci_function& each : vfs) {
      numbers.push_back(co_await number_at(core, each.bar0));
    }
  });
  ASSERT_EQ(vfs.size(), 256U);
  EXPECT_EQ(vfs[254].routing_id, 0x01ffU);
  EXPECT_EQ(vfs[255].routing_id, 0x0200U);
  for (unsigned i = 0; i < 256; ++i) {
    EXPECT_EQ(numbers[i], i + 1);
  }
}

TEST_F(bus, a_window_that_is_too_small_is_named) {
  build({"nic.total_vfs=256", "host.mmio_bytes=1048576"});
  std::string what;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    try {
      co_await slot.enumerate(core);
    } catch (const config_error& error) {
      what = error.what();
    }
  });
  EXPECT_EQ(what, "host0: BARs of 256 times 32768 bytes do not fit what host.mmio_bytes leaves");
}

TEST_F(bus, MSIX_is_enabled_function_by_function) {
  build();
  std::vector<std::uint32_t> seen;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    co_await slot.enable_vfs(core, 2);
    co_await slot.enable_msix(core, 1, true);
    co_await slot.enable_msix(core, 2, true);
    co_await slot.enable_msix(core, 2, false);
    for (std::uint16_t id = 0x0100; id < 0x0103; ++id) {
      seen.push_back(co_await slot.read(core, id, 0x9e, 2));
    }
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{63, 0x8000 | 63, 63}));
}

// Errors

TEST_F(bus, a_read_of_no_BAR_is_noted_in_the_PFs_error_registers) {
  build();
  std::uint64_t value = 0;
  std::vector<std::uint32_t> seen;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    const pci_function pf = co_await slot.enumerate(core);
    value = co_await core.load(pf.bar4 + 0x800000, 4);
    seen.push_back(co_await slot.read(core, pf.routing_id, 0x104, 4));
    seen.push_back(co_await slot.read(core, pf.routing_id, 0x6a, 2));
    co_await slot.write(core, pf.routing_id, 0x104, 1U << 20, 4);
    seen.push_back(co_await slot.read(core, pf.routing_id, 0x104, 4));
  });
  EXPECT_EQ(value, Nothing);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{1U << 20, 0xa, 0}));
}

// Reset

TEST_F(bus, a_VF_comes_back_from_its_reset_with_its_place_and_what_was_enabled) {
  build();
  std::vector<std::uint32_t> seen;
  std::uint64_t number = 0;
  ps_t lasted = 0;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    const std::vector<pci_function> vfs = co_await slot.enable_vfs(core, 2);
    co_await slot.enable_msix(core, 2, true);
    const ps_t begin = core.time();
    co_await slot.reset(core, 2);
    lasted = core.time() - begin;
    seen.push_back(co_await slot.read(core, vfs[1].routing_id, 0x04, 2));
    seen.push_back(co_await slot.read(core, vfs[1].routing_id, 0x9e, 2));
    number = co_await number_at(core, vfs[1].bar0);
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{4, 0x8000 | 63}));
  EXPECT_EQ(number, 2U);
  EXPECT_GE(lasted, 20'000'000U) << "nic.flr_quiesce_ns";
  EXPECT_LT(lasted, 100'000'000'000U) << "100 ms are allowed";
  EXPECT_EQ(count(counter::FunctionResets), 1U);
}

TEST_F(bus, a_reset_of_the_PF_takes_the_VFs_and_leaves_the_PF_in_its_place) {
  build();
  std::uint64_t number = 1;
  std::uint64_t vf = 0;
  std::vector<pci_function> again;
  run([&](pci_bus& slot, cpu& core) -> task<> {
    const std::vector<pci_function> vfs = co_await slot.enable_vfs(core, 2);
    co_await slot.reset(core, 0);
    number = co_await number_at(core, slot.function(0).bar0);
    vf = co_await number_at(core, vfs[0].bar0);
    EXPECT_EQ(slot.functions().size(), 1U);
    again = co_await slot.enable_vfs(core, 2);
    EXPECT_EQ(co_await number_at(core, again[0].bar0), 1U);
  });
  EXPECT_EQ(number, 0U);
  EXPECT_EQ(vf, Nothing);
  EXPECT_EQ(count(counter::FunctionResets), 3U);
}

}  // namespace
}  // namespace carillon
