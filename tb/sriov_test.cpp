// The PF driver's part of SR-IOV, against the device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "gen/pci.h"
#include "host/device_info.h"
#include "tb/common/two_hosts.h"

namespace carillon::bench {
namespace {

using testing::HasSubstr;

const std::string TwoVfs = R"(
[device]
SRIOV_EN = true
NUM_OF_VFS = 2
arbitration = "strict"
[[vf]]
index = 0
trust = true
[[vf]]
index = 1
mac = "02:00:00:00:0a:01"
vlan = 100
qos = 5
spoofchk = false
max_tx_rate = 10000
weight = 7
urgency = 2
qps = 100
cqs = 20
)";

class pf_driver : public testing::Test {
 protected:
  void build(const std::string& text) {
    hosts_ = std::make_unique<two_hosts>(text);
    functions_ = hosts_->functions_of(0);
  }

  /// Enables the VFs, then does what the test wants.
  void run(std::function<task<>(cpu&)> what = {}) {
    ASSERT_TRUE(hosts_->run(0, program(std::move(what))));
  }

  task<> program(std::function<task<>(cpu&)> what) {
    cpu& core = hosts_->core(0);
    co_await functions_->open(core);
    if (what) {
      co_await what(core);
    }
  }

  /// The message of the config_error that enabling ends with.
  std::string refusal() {
    try {
      hosts_->run(0, program({}));
    } catch (const config_error& error) {
      return error.what();
    }
    return "no error";
  }

  std::unique_ptr<two_hosts> hosts_;
  std::unique_ptr<sriov> functions_;
};

TEST_F(pf_driver, a_vf_that_refused_to_open_can_be_opened_later) {
  build(TwoVfs);
  unsigned refused = 0;
  bool open = false;
  run([&](cpu& core) -> task<> {
    device& vf = functions_->vf(0);
    co_await functions_->pf().command(core, command_opcode::DisableHca, 1);
    for (unsigned i = 0; i < 2; ++i) {
      try {
        co_await vf.open(core);
      } catch (const command_refused&) {
        ++refused;
      }
    }
    co_await functions_->pf().command(core, command_opcode::EnableHca, 1);
    co_await vf.open(core);
    open = true;
  });
  EXPECT_EQ(refused, 2U);
  EXPECT_TRUE(open);
}

TEST_F(pf_driver, enables_no_vf_of_a_device_without_sriov) {
  build("[workload]\n");
  run();
  EXPECT_EQ(functions_->vfs(), 0U);
  EXPECT_EQ(hosts_->at(0).slot.functions().size(), 1U);
}

TEST_F(pf_driver, tells_the_device_what_the_scenario_says_about_each_vf) {
  build(TwoVfs);
  std::vector<function_context> seen;
  run([&](cpu& core) -> task<> {
    for (std::uint16_t function = 0; function < 3; ++function) {
      seen.push_back(co_await functions_->query(core, function));
    }
  });
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].arbitration, function_arbitration::Strict);
  EXPECT_EQ(seen[1].trust, 1U);
  EXPECT_EQ(seen[1].spoof_check, 1U) << "the device's default";
  EXPECT_EQ(seen[1].vlan_valid, 0U);
  EXPECT_EQ(seen[2].trust, 0U);
  EXPECT_EQ(seen[2].mac, 0x020000000a01U);
  EXPECT_EQ(seen[2].vlan_valid, 1U);
  EXPECT_EQ(seen[2].vlan, 100U);
  EXPECT_EQ(seen[2].qos, 5U);
  EXPECT_EQ(seen[2].spoof_check, 0U);
  EXPECT_EQ(seen[2].max_tx_rate, 10'000U);
  EXPECT_EQ(seen[2].weight, 7U);
  EXPECT_EQ(seen[2].urgency, 2U);
  EXPECT_EQ(seen[2].qps.count, 100U);
  EXPECT_EQ(seen[2].cqs.count, 20U);
  for (std::uint16_t vf = 0; vf < 2; ++vf) {
    EXPECT_EQ(seen[vf + 1].qps, functions_->partition(vf)[context_table::qps]);
    EXPECT_EQ(seen[vf + 1].mkeys, functions_->partition(vf)[context_table::mkeys]);
  }
}

TEST_F(pf_driver, changes_one_setting_and_leaves_the_others) {
  build(TwoVfs);
  function_context seen;
  run([&](cpu& core) -> task<> {
    vf_settings change;
    change.qos = 2;
    change.urgency = 9;
    co_await functions_->change(core, 1, change);
    seen = co_await functions_->query(core, 2);
  });
  EXPECT_EQ(seen.qos, 2U);
  EXPECT_EQ(seen.vlan_valid, 1U) << "shares its field with the priority";
  EXPECT_EQ(seen.vlan, 100U);
  EXPECT_EQ(seen.urgency, 9U);
  EXPECT_EQ(seen.weight, 7U) << "shares its field with the urgency";
  EXPECT_EQ(seen.max_tx_rate, 10'000U);
}

TEST_F(pf_driver, names_the_table_that_vfs_do_not_fit_before_it_asks_the_device) {
  build(TwoVfs + "[[vf]]\nindex = 0\nqps = 4000\n");
  EXPECT_THAT(refusal(), HasSubstr("2 VFs do not fit the context RAM: they need 4100 lines of "
                                   "table qps, which has 4096"));
  EXPECT_EQ(hosts_->at(0).slot.functions().size(), 1U) << "no VF was enabled";
}

TEST_F(pf_driver, lets_each_vf_work_with_numbers_of_its_own) {
  build(TwoVfs);
  std::vector<std::uint32_t> pds;
  run([&](cpu& core) -> task<> {
    for (std::uint16_t vf = 0; vf < 2; ++vf) {
      device& adapter = functions_->vf(vf);
      co_await adapter.open(core);
      const std::uint32_t pd = co_await adapter.alloc_pd(core);
      const memory_region region = co_await adapter.register_memory(core, pd, 0x100000000, 4096);
      const context_range keys = functions_->partition(vf)[context_table::mkeys];
      EXPECT_GE(region.index(), keys.first);
      EXPECT_LT(region.index(), keys.first + keys.count);
      pds.push_back(pd);
    }
  });
  ASSERT_EQ(pds.size(), 2U);
  EXPECT_NE(pds[0], pds[1]);
}

TEST_F(pf_driver, makes_a_vf_as_good_as_new) {
  build(TwoVfs);
  const device* before = nullptr;
  function_context kept;
  run([&](cpu& core) -> task<> {
    before = &functions_->vf(1);
    co_await functions_->vf(1).open(core);
    const std::uint32_t pd = co_await functions_->vf(1).alloc_pd(core);
    co_await functions_->vf(1).register_memory(core, pd, 0x100000000, 4096);
    co_await functions_->renew(core, 1);
    co_await functions_->vf(1).open(core);
    const std::uint32_t fresh = co_await functions_->vf(1).alloc_pd(core);
    const memory_region region =
        co_await functions_->vf(1).register_memory(core, fresh, 0x100000000, 4096);
    EXPECT_EQ(region.index(), functions_->partition(1)[context_table::mkeys].first)
        << "the first user's keys are gone";
    kept = co_await functions_->query(core, 2);
  });
  EXPECT_NE(before, &functions_->vf(1));
  EXPECT_EQ(kept.vlan, 100U) << "what the PF has decided survives the reset";
  EXPECT_EQ(kept.qps.count, 100U);
}

TEST_F(pf_driver, finds_out_about_a_function_what_a_device_listing_shows) {
  build(TwoVfs);
  device_info pf;
  device_info vf;
  run([&](cpu& core) -> task<> {
    pf = co_await query_device(core, hosts_->at(0).slot, functions_->pf(), 0);
    co_await functions_->vf(1).open(core);
    vf = co_await query_device(core, hosts_->at(0).slot, functions_->vf(1), 2);
  });
  // 15b3:1021 of the hardware description; VF device 101e of the same family.
  EXPECT_EQ(pf.vendor_id, 0x15b3U);
  EXPECT_EQ(pf.device_id, 0x1021U);
  EXPECT_EQ(vf.vendor_id, 0x15b3U);
  EXPECT_EQ(vf.device_id, 0x101eU);
  EXPECT_EQ(vf.routing_id, pf.routing_id + 2U) << "first VF offset 1, stride 1";
  EXPECT_EQ(vf.port.permanent_address, 0x020000000a01U);
  EXPECT_EQ(vf.capabilities.num_qps, 100U);
  EXPECT_EQ(vf.capabilities.qos, 5U);
  EXPECT_EQ(vf.capabilities.trust, 0U);
  EXPECT_TRUE(vf.link_up);
  ASSERT_EQ(vf.gids.size(), 1U);
  EXPECT_EQ(vf.gids[0].index, 0U);
  EXPECT_EQ(vf.gids[0].address.roce_version, 2U);
  EXPECT_EQ(vf.gids[0].address.source_l3_address, gid_of_ipv4(0x0a010002));
  EXPECT_NE(vf.port.node_guid, pf.port.node_guid);
}

}  // namespace
}  // namespace carillon::bench
