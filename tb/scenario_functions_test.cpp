// What a scenario says about functions and their tenants, and the one message for what it cannot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "cli/scenario_loader.h"
#include "cli/tenant_settings.h"
#include "common/error.h"

namespace carillon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

run_point read(const std::string& text, const scenario_overrides& overrides = {}) {
  return parse_scenario(text, "s.toml", overrides).points.at(0);
}

std::string error_of(const std::string& text, const scenario_overrides& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const config_error& error) {
    return error.what();
  }
  return "no error";
}

const std::string FourVfs = "[device]\nSRIOV_EN = true\nNUM_OF_VFS = 4\n";

TEST(device_section, speaks_the_names_of_the_vendors_tool) {
  const run_point point = read(R"(
[device]
SRIOV_EN = 1
NUM_OF_VFS = 8
LINK_TYPE_P1 = 2
ROCE_NEXT_PROTOCOL = 254
pool = "shared"
arbitration = "weighted"
)");
  ASSERT_EQ(point.devices.size(), 2U);
  for (const device_settings& each : point.devices) {
    EXPECT_EQ(each.enabled_vfs(), 8U);
    EXPECT_TRUE(each.shared);
    EXPECT_EQ(each.arbitration, function_arbitration::Weighted);
  }
}

TEST(device_section, enables_no_vf_without_sriov_en) {
  EXPECT_EQ(read("[device]\nNUM_OF_VFS = 8\n").devices[0].enabled_vfs(), 0U);
  EXPECT_EQ(read("[workload]\n").devices[0].enabled_vfs(), 0U);
}

TEST(device_section, may_differ_by_host_wherever_the_hosts_table_stands) {
  const run_point point = read(R"(
[device.host1]
NUM_OF_VFS = 2
[device]
SRIOV_EN = true
NUM_OF_VFS = 8
)");
  EXPECT_EQ(point.devices[0].enabled_vfs(), 8U);
  EXPECT_EQ(point.devices[1].enabled_vfs(), 2U);
}

TEST(device_section, is_set_from_the_command_line_too) {
  scenario_overrides overrides;
  overrides.set = {"device.NUM_OF_VFS=16", "device.host0.pool=shared"};
  const run_point point = read(FourVfs, overrides);
  EXPECT_EQ(point.devices[1].enabled_vfs(), 16U);
  EXPECT_TRUE(point.devices[0].shared);
  EXPECT_FALSE(point.devices[1].shared);
  overrides.set = {"device.NUM_OF_VF=16"};
  EXPECT_THAT(error_of(FourVfs, overrides), HasSubstr("`NUM_OF_VFS`"));
}

TEST(device_section, may_differ_by_point) {
  const scenario what = parse_scenario(FourVfs + R"(
[[points]]
label = "two"
device = { NUM_OF_VFS = 2 }
[[points]]
label = "four"
)",
                                       "s.toml");
  EXPECT_EQ(what.points.at(0).devices[0].enabled_vfs(), 2U);
  EXPECT_EQ(what.points.at(1).devices[0].enabled_vfs(), 4U);
}

TEST(device_section, tells_what_is_wrong_where_and_what_would_be_right) {
  EXPECT_THAT(error_of("[device]\nLINK_TYPE_P1 = 1\n"),
              AllOf(HasSubstr("s.toml:2: device.LINK_TYPE_P1"), HasSubstr("InfiniBand"),
                    HasSubstr("2 (Ethernet)")));
  EXPECT_THAT(error_of("[device]\nLINK_TYPE_P1 = 3\n"), HasSubstr("1 to 2"));
  EXPECT_THAT(error_of("[device]\nROCE_NEXT_PROTOCOL = 17\n"), HasSubstr("254"));
  EXPECT_THAT(error_of("[device]\nSRIOV_EM = true\n"), HasSubstr("`SRIOV_EN`"));
  EXPECT_THAT(error_of("[device]\nSRIOV_EN = \"yes\"\n"), HasSubstr("true or false"));
  EXPECT_THAT(error_of("[device]\nNUM_OF_VFS = 257\n"), HasSubstr("0 to 256"));
  EXPECT_THAT(error_of("[device]\npool = \"common\"\n"), HasSubstr("exclusive or shared"));
  EXPECT_THAT(
      error_of("[device]\nSRIOV_EN = true\nNUM_OF_VFS = 65\n"),
      AllOf(HasSubstr("s.toml:3: device.NUM_OF_VFS"), HasSubstr("nic.total_vfs allows 64")));
  EXPECT_THAT(error_of("[device]\nSRIOV_EN = true\n"), HasSubstr("NUM_OF_VFS says how many"));
}

TEST(vf_section, sets_one_vf_or_a_range_and_later_tables_win) {
  const run_point point = read(FourVfs + R"(
[[vf]]
index = "0-3"
trust = false
spoofchk = true
weight = 2
qps = 16
[[vf]]
index = 2
mac = "02:00:00:00:0a:ff"
vlan = 100
qos = 5
trust = true
max_tx_rate = 10000
link_state = "disable"
urgency = 9
mtt_lines = 0
)");
  for (const device_settings& each : point.devices) {
    ASSERT_EQ(each.vf.size(), 4U);
    EXPECT_EQ(each.vf[1].trust, false);
    EXPECT_EQ(each.vf[1].spoof_check, true);
    EXPECT_EQ(each.vf[1].mac, std::nullopt);
    const vf_settings& second = each.vf[2];
    EXPECT_EQ(second.mac, 0x020000000affU);
    EXPECT_EQ(second.vlan, 100U);
    EXPECT_EQ(second.qos, 5U);
    EXPECT_EQ(second.trust, true);
    EXPECT_EQ(second.max_tx_rate, 10000U);
    EXPECT_EQ(second.link_state, vport_link_state::Down);
    EXPECT_EQ(second.weight, 2U);
    EXPECT_EQ(second.urgency, 9U);
    EXPECT_EQ(second.lines[context_table::qps], 16U);
    EXPECT_EQ(second.lines[context_table::mtt_lines], 0U);
    EXPECT_EQ(second.lines[context_table::cqs], std::nullopt);
  }
}

TEST(vf_section, may_be_for_one_host) {
  const run_point point = read(FourVfs + "[[vf]]\nindex = 0\nhost = 1\nqos = 7\n");
  EXPECT_TRUE(point.devices[0].vf.empty());
  EXPECT_EQ(point.devices[1].vf.at(0).qos, 7U);
}

TEST(vf_section, tells_what_is_wrong_where_and_what_would_be_right) {
  const auto with = [](const std::string& text) { return error_of(FourVfs + "[[vf]]\n" + text); };
  EXPECT_THAT(with("trust = true\n"), HasSubstr("needs `index`"));
  EXPECT_THAT(with("index = \"3-1\"\n"), HasSubstr("no range of VFs"));
  EXPECT_THAT(with("index = \"0-256\"\n"), HasSubstr("from 0 to 255"));
  EXPECT_THAT(with("index = 0\nspoofcheck = true\n"),
              AllOf(HasSubstr("s.toml:6: vf.0.spoofcheck"), HasSubstr("`spoofchk`")));
  EXPECT_THAT(with("index = 0\nmac = \"02:00:00:00:00\"\n"), HasSubstr("no MAC address"));
  EXPECT_THAT(with("index = 0\nmac = \"01:00:5e:00:00:01\"\n"), HasSubstr("group address"));
  EXPECT_THAT(with("index = \"0-1\"\nmac = \"02:00:00:00:00:01\"\n"), HasSubstr("one VF's"));
  EXPECT_THAT(with("index = 0\nvlan = 4095\n"), HasSubstr("1 to 4094"));
  EXPECT_THAT(with("index = 0\nqos = 8\n"), HasSubstr("0 to 7"));
  EXPECT_THAT(with("index = 0\nlink_state = \"up\"\n"), HasSubstr("auto, enable or disable"));
  EXPECT_THAT(with("index = 4\ntrust = true\n"),
              AllOf(HasSubstr("VF 4 of host0"), HasSubstr("4 VFs")));
  EXPECT_THAT(with("index = 7\n"), AllOf(HasSubstr("VF 7 of host0"), HasSubstr("4 VFs")));
  EXPECT_THAT(error_of("[vf]\nindex = 0\n"), HasSubstr("[[vf]]"));
  EXPECT_THAT(error_of("[device]\nNUM_OF_VFS = 4\n[[vf]]\nindex = 0\nqos = 1\n"),
              HasSubstr("SRIOV_EN is not true"));
}

TEST(tenant_section, takes_what_it_does_not_say_from_the_workload) {
  scenario_overrides overrides;
  overrides.set = {"workload.size=100"};
  const run_point point = read(R"(
[workload]
kind = "stream"
size = 4096
messages = 10
tenants = 5
[[tenant]]
count = 2
qps = 64
outstanding = 8
background = true
[[tenant]]
opcode = "send"
size = 8
peer = "loopback"
mistake = "foreign_pd"
priority = 6
)",
                               overrides);
  const std::vector<tenant_spec> tenants = tenants_of(point.workload);
  ASSERT_EQ(tenants.size(), 5U);
  EXPECT_EQ(tenants[0].qps, 64U);
  EXPECT_EQ(tenants[1].outstanding, 8U);
  EXPECT_TRUE(tenants[1].background);
  EXPECT_EQ(tenants[1].size, 100U);
  EXPECT_EQ(tenants[2].opcode, work_opcode::send);
  EXPECT_EQ(tenants[2].size, 8U);
  EXPECT_EQ(tenants[2].peer, tenant_peer::loopback);
  EXPECT_EQ(tenants[2].mistake, tenant_mistake::foreign_pd);
  EXPECT_EQ(tenants[2].priority, 6U);
  EXPECT_EQ(tenants[2].messages, 10U);
  EXPECT_EQ(tenants[4].qps, 1U);
  EXPECT_EQ(tenants[4].peer, tenant_peer::host1);
}

TEST(tenant_section, is_empty_for_the_traffic_of_one_user) {
  EXPECT_TRUE(tenants_of(read("[workload]\n").workload).empty());
}

TEST(tenant_section, tells_what_is_wrong_where_and_what_would_be_right) {
  EXPECT_THAT(error_of("[[tenant]]\nsize = 1\nqp = 3\n"),
              AllOf(HasSubstr("s.toml:3: tenant.0.qp"), HasSubstr("`qps`")));
  EXPECT_THAT(error_of("[[tenant]]\npeer = \"host2\"\n"), HasSubstr("host1 or loopback"));
  EXPECT_THAT(error_of("[[tenant]]\nmistake = \"pd\"\n"), HasSubstr("foreign_pd"));
  EXPECT_THAT(error_of("[[tenant]]\npeer_mtu = 1500\n"), HasSubstr("1024"));
  EXPECT_THAT(error_of("[[tenant]]\noutstanding = 100\n"),
              AllOf(HasSubstr("s.toml:2: tenant.0.outstanding"), HasSubstr("queue_depth is 64")));
  EXPECT_THAT(error_of("[[tenant]]\nbackground = true\n"), HasSubstr("nobody is measured"));
  EXPECT_THAT(error_of("[[tenant]]\nmistake = \"foreign_qp\"\n"), HasSubstr("another tenant"));
  EXPECT_THAT(error_of("[workload]\ntenants = 513\n"), HasSubstr("0 to 512"));
  EXPECT_THAT(error_of("[workload]\nkind = \"mixed\"\ntenants = 2\n"),
              HasSubstr("write_lat or stream"));
  EXPECT_THAT(error_of("[workload]\ntenants = 2\nverify = true\n"), HasSubstr("scoreboard"));
}

}  // namespace
}  // namespace carillon
