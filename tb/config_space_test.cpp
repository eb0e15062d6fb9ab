// The configuration spaces without time. Expected values are those of the PCI Express and SR-IOV
// rules: offsets and bits as in the public pci_regs.h of Linux, written here as numbers so that
// they are not the generated ones.
#include "pcie_endpoint/config_space.h"

#include <gtest/gtest.h>
#include <optional>
#include <vector>

namespace carillon {
namespace {

constexpr std::uint64_t BarAddress = 0x20'8000'0000;
constexpr std::uint16_t Command = 0x04;
constexpr std::uint16_t Bar0 = 0x10;
constexpr std::uint16_t Bar2 = 0x18;
constexpr std::uint16_t DeviceControl = 0x60 + 0x08;
constexpr std::uint16_t DeviceStatus = 0x60 + 0x0a;
constexpr std::uint16_t Aer = 0x100;
constexpr std::uint16_t Sriov = 0x180;
constexpr std::uint16_t SriovControl = Sriov + 0x08;
constexpr std::uint16_t NumVfs = Sriov + 0x10;
constexpr std::uint16_t PageSize = Sriov + 0x20;
constexpr std::uint16_t VfBar0 = Sriov + 0x24;
constexpr std::uint16_t VfEnable = 1;
constexpr std::uint16_t VfMse = 8;
constexpr std::uint16_t MemoryEnable = 2;
constexpr std::uint16_t BusMaster = 4;

config_shape chip(std::uint16_t total_vfs = 8) {
  config_shape shape;
  shape.pf_bars = {0x8000, 0x10000, 0x4000};
  shape.vf_bars = {0x8000, 0x10000};
  shape.total_vfs = total_vfs;
  shape.msix_vectors = 64;
  shape.max_payload = 512;
  shape.link_generation = 5;
  shape.link_width = 16;
  return shape;
}

/// A space with accesses of 1, 2 and 4 bytes, as software has them.
class configured : public testing::Test {
 protected:
  explicit configured(const config_shape& shape = chip()) : space(shape) {}

  [[nodiscard]] std::uint32_t read(std::uint16_t offset, unsigned bytes = 4,
                                   std::uint16_t function = 0) const {
    const std::uint32_t value = space.read(function, offset & 0xffc) >> (8 * (offset % 4));
    return bytes == 4 ? value : value & ((1U << (8 * bytes)) - 1);
  }

  config_space::effects write(std::uint16_t offset, std::uint32_t value, unsigned bytes = 4,
                              std::uint16_t function = 0) {
    return space.write(function, offset & 0xffc, value << (8 * (offset % 4)),
                       static_cast<std::uint8_t>(((1U << bytes) - 1) << (offset % 4)));
  }

  void enable_vfs(std::uint16_t count) {
    write(NumVfs, count, 2);
    write(SriovControl, VfEnable | VfMse, 2);
  }

  /// Offsets of the capabilities in the order of their list.
  [[nodiscard]] std::vector<std::uint16_t> capabilities(std::uint16_t function) const {
    std::vector<std::uint16_t> found;
    for (std::uint32_t at = read(0x34, 1, function); at != 0 && found.size() < 20;
         at = read(static_cast<std::uint16_t>(at + 1), 1, function)) {
      found.push_back(static_cast<std::uint16_t>(at));
    }
    for (std::uint32_t at = 0x100; at != 0 && found.size() < 20;
         at = read(static_cast<std::uint16_t>(at), 4, function) >> 20) {
      found.push_back(static_cast<std::uint16_t>(at));
    }
    return found;
  }

  [[nodiscard]] std::vector<std::uint16_t> ids(std::uint16_t function) const {
    std::vector<std::uint16_t> result;
    for (const std::uint16_t at : capabilities(function)) {
      result.push_back(static_cast<std::uint16_t>(read(at, at < 0x100 ? 1 : 2, function)));
    }
    return result;
  }

  config_space space;
};

class without_vfs : public configured {
 protected:
  without_vfs() : configured(chip(0)) {}
};

class with_256_vfs : public configured {
 protected:
  with_256_vfs() : configured(chip(256)) {}
};

// Identity

TEST_F(configured, the_PF_says_who_made_it_and_a_VF_does_not) {
  EXPECT_EQ(read(0x00), 0x102115b3U);
  EXPECT_EQ(read(0x00, 4, 1), 0xffffffffU);
  EXPECT_EQ(read(Sriov + 0x1a, 2), 0x101eU) << "VF Device ID";
  EXPECT_EQ(read(0x0e, 1), 0U) << "header of type 0, one function besides the VFs";
  EXPECT_EQ(read(0x08), 0x02000000U) << "Ethernet controller";
}

TEST_F(configured, the_lists_of_capabilities_end_and_VFs_have_no_power_management_and_no_SRIOV) {
  // PCI Express 0x10, MSI-X 0x11, PM 0x01; AER 1, ARI 0xe, SR-IOV 0x10, ATS 0xf.
  EXPECT_EQ(ids(0), (std::vector<std::uint16_t>{0x10, 0x11, 0x01, 0x1, 0xe, 0x10, 0xf}));
  EXPECT_EQ(ids(1), (std::vector<std::uint16_t>{0x10, 0x11, 0x1, 0xe, 0xf}));
}

TEST_F(without_vfs, a_device_that_can_have_none_has_no_SRIOV_capability) {
  EXPECT_EQ(ids(0), (std::vector<std::uint16_t>{0x10, 0x11, 0x01, 0x1, 0xe, 0xf}));
  write(SriovControl, VfEnable, 2);
  EXPECT_EQ(read(SriovControl, 2), 0U);
  EXPECT_EQ(space.find(0x0101, true), std::nullopt);
}

TEST_F(configured, capabilities_say_what_the_chip_is) {
  EXPECT_EQ(read(0x64) & 7, 2U) << "MPS of 512 bytes";
  EXPECT_EQ(read(0x64) >> 28 & 1, 1U) << "FLR";
  EXPECT_EQ(read(0x6c) & 0x3ff, 16U << 4 | 5) << "x16, 32 GT/s";
  EXPECT_EQ(read(0x72, 2) & 0x3ff, 16U << 4 | 5);
  EXPECT_EQ(read(0x60 + 0x2c), 0x3eU) << "generations 1 to 5";
  EXPECT_EQ(read(0x9e, 2), 63U) << "MSI-X vectors less one";
  EXPECT_EQ(read(0xa0), 0x6000U) << "table in BAR0";
  EXPECT_EQ(read(0xa4), 0x7000U) << "pending bits in BAR0";
  EXPECT_EQ(read(Sriov + 0x0e, 2), 8U) << "TotalVFs";
  EXPECT_EQ(read(Sriov + 0x0c, 2), 8U) << "InitialVFs are as many";
  EXPECT_EQ(read(Sriov + 0x14), 0x0001'0001U) << "First VF Offset and Stride";
  EXPECT_EQ(read(Sriov + 0x1c), 0x553U) << "the page sizes that all must have";
}

TEST_F(configured, what_nobody_defined_reads_zero_and_cannot_be_written) {
  write(0xffc, 0xffffffff);
  write(0x28, 0xffffffff);
  EXPECT_EQ(read(0xffc), 0U);
  EXPECT_EQ(read(0x28), 0U);
}

// Writing

TEST_F(configured, only_enabled_bytes_are_written) {
  space.write(0, Bar2 + 4, 0xaabbccdd, 0x6);
  EXPECT_EQ(read(Bar2 + 4), 0x00bbcc00U);
  space.write(0, Bar2 + 4, 0x11223344, 0x8);
  EXPECT_EQ(read(Bar2 + 4), 0x11bbcc00U);
  space.write(0, Bar2 + 4, 0x55555555, 0x0);
  EXPECT_EQ(read(Bar2 + 4), 0x11bbcc00U);
}

TEST_F(configured, read_only_bits_stay) {
  write(0x00, 0);
  write(0x08, 0xffffffff);
  write(Command, 0xffff, 2);
  EXPECT_EQ(read(0x00), 0x102115b3U);
  EXPECT_EQ(read(0x08), 0x02000000U);
  EXPECT_EQ(read(Command, 2), 0x0546U) << "INTx off, SERR, parity, bus master, memory; no I/O";
}

TEST_F(configured, of_a_VFs_command_register_only_bus_master_is_its_own) {
  enable_vfs(2);
  write(Command, 0xffff, 2, 1);
  EXPECT_EQ(read(Command, 2, 1), BusMaster);
  EXPECT_EQ(read(Command, 2, 2), 0U);
  EXPECT_TRUE(space.map().masters(1));
  EXPECT_FALSE(space.map().masters(2));
}

TEST_F(configured, status_bits_are_cleared_by_writing_ones) {
  space.report(0, pcie_error_kind::poisoned_completion);
  EXPECT_EQ(read(0x06, 2), 0x8110U) << "detected parity error, master data parity error";
  write(0x06, 0, 2);
  EXPECT_EQ(read(0x06, 2), 0x8110U);
  write(0x06, 0x8000, 2);
  EXPECT_EQ(read(0x06, 2), 0x0110U);
}

TEST_F(configured, an_access_of_the_command_register_does_not_clear_the_status_beside_it) {
  space.report(0, pcie_error_kind::refused);
  write(Command, 0xffff, 2);
  EXPECT_EQ(read(0x06, 2), 0x2010U) << "received master abort";
}

// BARs

TEST_F(configured, a_BAR_of_all_ones_says_its_size_and_kind) {
  for (std::uint16_t at = Bar0; at < 0x28; at += 4) {
    write(at, 0xffffffff);
  }
  EXPECT_EQ(read(Bar0), 0xffff8004U) << "32 KiB, 64 bits";
  EXPECT_EQ(read(Bar0 + 4), 0xffffffffU);
  EXPECT_EQ(read(Bar2), 0xffff000cU) << "64 KiB, 64 bits, prefetchable";
  EXPECT_EQ(read(0x20), 0xffffc004U) << "16 KiB";
}

TEST_F(configured, a_BAR_answers_when_it_is_placed_and_memory_is_enabled) {
  write(Bar2, static_cast<std::uint32_t>(BarAddress));
  write(Bar2 + 4, BarAddress >> 32);
  EXPECT_FALSE(space.map().find(BarAddress + 0x42).hit);
  const auto done = write(Command, MemoryEnable, 2);
  EXPECT_TRUE(done.map);
  const bar_hit hit = space.map().find(BarAddress + 0x42);
  EXPECT_TRUE(hit.hit);
  EXPECT_EQ(hit.bar, 2U);
  EXPECT_EQ(hit.offset, 0x42U);
  EXPECT_FALSE(space.map().find(BarAddress + 0x10000).hit);
}

TEST_F(configured, VF_BARs_are_as_large_as_the_systems_pages_at_least) {
  const auto sized = [this] {
    write(VfBar0, 0xffffffff);
    return read(VfBar0);
  };
  EXPECT_EQ(sized(), 0xffff8004U);
  write(PageSize, 1U << 4);  // 64 KiB
  EXPECT_EQ(sized(), 0xffff0004U);
  EXPECT_EQ(space.map().vf[0].bytes, 0x10000U);
  write(PageSize, 1);
  EXPECT_EQ(sized(), 0xffff8004U);
}

TEST_F(configured, a_page_size_that_is_not_supported_is_not_taken) {
  write(PageSize, 1U << 2);
  EXPECT_EQ(read(PageSize), 1U);
  write(PageSize, 0x3);
  EXPECT_EQ(read(PageSize), 1U);
}

TEST_F(configured, the_BARs_of_VFs_follow_each_other) {
  write(VfBar0, 0x9000'0000);
  write(VfBar0 + 4, 0);
  enable_vfs(3);
  for (std::uint16_t vf = 0; vf < 3; ++vf) {
    const bar_hit hit = space.map().find(0x9000'0000U + vf * 0x8000U + 4);
    ASSERT_TRUE(hit.hit);
    EXPECT_EQ(hit.function, vf + 1);
    EXPECT_EQ(hit.offset, 4U);
  }
  EXPECT_FALSE(space.map().find(0x9000'0000U + 3 * 0x8000U).hit);
  write(SriovControl, VfEnable, 2);
  EXPECT_FALSE(space.map().find(0x9000'0000U).hit) << "without VF MSE";
}

// VFs

TEST_F(configured, a_VF_is_there_while_VF_Enable_is_set_and_it_is_one_of_NumVFs) {
  space.capture_bus(5);
  EXPECT_EQ(space.find(0x0500, true), 0U);
  EXPECT_EQ(space.find(0x0501, true), std::nullopt);
  enable_vfs(2);
  EXPECT_EQ(space.find(0x0501, true), 1U);
  EXPECT_EQ(space.find(0x0502, true), 2U);
  EXPECT_EQ(space.find(0x0503, true), std::nullopt);
  EXPECT_EQ(space.map().routing_id(2), 0x0502U);
  const auto done = write(SriovControl, 0, 2);
  EXPECT_EQ(done.vfs_vanishing, 2U);
  EXPECT_EQ(space.find(0x0501, true), std::nullopt);
}

TEST_F(configured, NumVFs_does_not_change_while_VF_Enable_is_set) {
  enable_vfs(2);
  write(NumVfs, 5, 2);
  EXPECT_EQ(read(NumVfs, 2), 2U);
  write(SriovControl, 0, 2);
  write(NumVfs, 5, 2);
  EXPECT_EQ(read(NumVfs, 2), 5U);
}

TEST_F(configured, NumVFs_beyond_TotalVFs_is_not_taken) {
  write(NumVfs, 8, 2);
  write(NumVfs, 9, 2);
  EXPECT_EQ(read(NumVfs, 2), 8U);
}

TEST_F(configured, the_page_size_does_not_change_while_VF_Enable_is_set) {
  enable_vfs(1);
  write(PageSize, 1U << 4);
  EXPECT_EQ(read(PageSize), 1U);
}

TEST_F(configured, VFs_that_come_again_are_as_new) {
  enable_vfs(1);
  write(Command, BusMaster, 2, 1);
  space.report(1, pcie_error_kind::completion_timeout);
  write(SriovControl, 0, 2);
  enable_vfs(1);
  EXPECT_EQ(read(Command, 2, 1), 0U);
  EXPECT_EQ(read(Aer + 4, 4, 1), 0U);
}

TEST_F(with_256_vfs, the_last_VFs_are_on_the_next_bus_and_reached_by_requests_of_type_1) {
  space.capture_bus(0x3b);
  enable_vfs(256);
  EXPECT_EQ(space.find(0x3bff, true), 255U);
  EXPECT_EQ(space.find(0x3c00, false), 256U);
  EXPECT_EQ(space.find(0x3c01, false), std::nullopt);
  EXPECT_EQ(space.find(0x3b01, false), std::nullopt) << "the link's own bus is for type 0";
  EXPECT_EQ(space.map().routing_id(256), 0x3c00U);
}

TEST_F(configured, all_functions_move_with_the_bus_number) {
  enable_vfs(1);
  EXPECT_TRUE(space.capture_bus(7));
  EXPECT_FALSE(space.capture_bus(7));
  EXPECT_EQ(space.map().routing_id(0), 0x0700U);
  EXPECT_EQ(space.map().routing_id(1), 0x0701U);
}

// What the host allows

TEST_F(configured, device_control_of_the_PF_rules_all_functions) {
  // At reset: 128 bytes of payload, reads of 512, relaxed ordering, 5 bits of tag.
  EXPECT_EQ(read(DeviceControl, 2), 0x2810U);
  EXPECT_EQ(space.map().max_payload, 128U);
  EXPECT_EQ(space.map().max_read, 512U);
  EXPECT_EQ(space.map().tags, 32U);
  EXPECT_TRUE(space.map().relaxed_ordering);
  write(DeviceControl, 0x5000 | 0x0100 | 2U << 5, 2);
  EXPECT_EQ(space.map().max_payload, 512U);
  EXPECT_EQ(space.map().max_read, 4096U);
  EXPECT_EQ(space.map().tags, 256U);
  EXPECT_FALSE(space.map().relaxed_ordering);
  write(0x60 + 0x28, 0x1000, 2);
  EXPECT_EQ(space.map().tags, 1024U);
  enable_vfs(1);
  write(DeviceControl, 0x7fff, 2, 1);
  EXPECT_EQ(read(DeviceControl, 2, 1), 0U) << "a VF's is reserved but for the reset";
}

TEST_F(configured, MSIX_is_each_functions_own) {
  enable_vfs(2);
  write(0x9e, 0xc000, 2, 2);
  EXPECT_TRUE(space.map().functions[2].msix_enable);
  EXPECT_TRUE(space.map().functions[2].msix_mask);
  EXPECT_FALSE(space.map().functions[1].msix_enable);
  EXPECT_EQ(read(0x9e, 2, 2), 0xc03fU) << "the number of vectors stays";
}

// Errors

TEST_F(configured, each_error_sets_its_bit_of_AER_and_of_the_device_status) {
  const auto seen = [this](pcie_error_kind kind) {
    write(Aer + 4, 0xffffffff);
    write(DeviceStatus, 0xf, 2);
    space.report(0, kind);
    return std::pair(read(Aer + 4), read(DeviceStatus, 2));
  };
  using both = std::pair<std::uint32_t, std::uint32_t>;
  // Non-fatal by default; an unsupported request has a bit of its own in the device status, too.
  EXPECT_EQ(seen(pcie_error_kind::unsupported_request), both(1U << 20, 0xa));
  EXPECT_EQ(seen(pcie_error_kind::poisoned_request), both(1U << 12, 0x2));
  EXPECT_EQ(seen(pcie_error_kind::poisoned_completion), both(1U << 12, 0x2));
  EXPECT_EQ(seen(pcie_error_kind::completion_timeout), both(1U << 14, 0x2));
  EXPECT_EQ(seen(pcie_error_kind::unexpected_completion), both(1U << 16, 0x2));
  EXPECT_EQ(seen(pcie_error_kind::refused), both(0, 0)) << "the host refused, nobody erred here";
}

TEST_F(configured, an_error_of_fatal_severity_is_a_fatal_one) {
  write(Aer + 0x0c, 1U << 14);
  space.report(0, pcie_error_kind::completion_timeout);
  EXPECT_EQ(read(DeviceStatus, 2), 0x4U);
}

TEST_F(configured, the_first_error_pointer_stays_until_the_errors_are_cleared) {
  space.report(0, pcie_error_kind::completion_timeout);
  space.report(0, pcie_error_kind::unsupported_request);
  EXPECT_EQ(read(Aer + 0x18) & 0x1f, 14U);
  EXPECT_EQ(read(Aer + 4), 1U << 14 | 1U << 20);
  write(Aer + 4, 1U << 14);
  write(Aer + 4, 1U << 20);
  space.report(0, pcie_error_kind::unsupported_request);
  EXPECT_EQ(read(Aer + 0x18) & 0x1f, 20U);
}

TEST_F(configured, a_masked_error_is_noted_but_is_not_the_first) {
  write(Aer + 8, 1U << 14);
  space.report(0, pcie_error_kind::completion_timeout);
  space.report(0, pcie_error_kind::unsupported_request);
  EXPECT_EQ(read(Aer + 4), 1U << 14 | 1U << 20);
  EXPECT_EQ(read(Aer + 0x18) & 0x1f, 20U);
}

TEST_F(configured, errors_are_the_functions_own) {
  enable_vfs(2);
  space.report(2, pcie_error_kind::unsupported_request);
  EXPECT_EQ(read(Aer + 4, 4, 2), 1U << 20);
  EXPECT_EQ(read(Aer + 4, 4, 1), 0U);
  EXPECT_EQ(read(Aer + 4, 4, 0), 0U);
}

// Reset

TEST_F(configured, the_reset_bit_asks_for_a_reset_and_reads_zero) {
  enable_vfs(1);
  EXPECT_EQ(write(DeviceControl, 0x8000, 2).reset, 0U);
  EXPECT_EQ(write(DeviceControl, 0x8000, 2, 1).reset, 1U);
  EXPECT_EQ(write(DeviceControl, 0x2810, 2).reset, std::nullopt);
  EXPECT_EQ(read(DeviceControl, 2), 0x2810U);
}

TEST_F(configured, the_reset_bit_counts_only_if_its_byte_is_enabled) {
  EXPECT_EQ(space.write(0, DeviceControl, 0x8000, 0x1).reset, std::nullopt);
}

TEST_F(configured, a_reset_takes_BARs_and_enables_and_leaves_MPS_and_what_is_sticky) {
  write(Bar0, 0x8000'0000);
  write(Command, MemoryEnable | BusMaster, 2);
  write(DeviceControl, 0x5150, 2);  // MRRS 4096, ext tags, MPS 512, relaxed ordering
  write(0x9e, 0x8000, 2);
  write(Aer + 8, 1U << 20);
  space.report(0, pcie_error_kind::completion_timeout);
  space.begin_reset(0);
  EXPECT_TRUE(space.resetting(0));
  EXPECT_TRUE(space.map().functions[0].resetting);
  space.end_reset(0);
  EXPECT_FALSE(space.map().functions[0].resetting);
  EXPECT_EQ(read(Bar0), 0x4U);
  EXPECT_EQ(read(Command, 2), 0U);
  EXPECT_EQ(read(DeviceControl, 2), 0x2810U | 2U << 5) << "MPS stays";
  EXPECT_EQ(read(0x9e, 2), 63U);
  EXPECT_EQ(read(Aer + 8), 1U << 20);
  EXPECT_EQ(read(Aer + 4), 1U << 14);
  EXPECT_EQ(read(DeviceStatus, 2), 0U);
}

TEST_F(configured, a_reset_of_a_VF_is_nobody_elses) {
  enable_vfs(2);
  write(Command, BusMaster, 2, 1);
  write(Command, BusMaster, 2, 2);
  space.begin_reset(1);
  EXPECT_FALSE(space.map().masters(1));
  EXPECT_TRUE(space.map().masters(2));
  EXPECT_EQ(space.find(0x0001, true), 1U) << "it is still there, and answers Retry";
  EXPECT_EQ(read(NumVfs, 2), 2U);
}

TEST_F(configured, a_reset_of_the_PF_clears_VF_Enable) {
  write(PageSize, 1U << 4);
  enable_vfs(2);
  space.begin_reset(0);
  EXPECT_EQ(space.map().vfs, 0U);
  EXPECT_EQ(read(NumVfs, 2), 0U);
  EXPECT_EQ(read(PageSize), 1U);
  EXPECT_EQ(space.map().vf[0].bytes, 0x8000U);
}

}  // namespace
}  // namespace carillon
