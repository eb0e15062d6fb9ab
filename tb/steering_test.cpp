// The switch inside the NIC as plain functions: which port a frame is for, and what a port may
// send. Group addresses are those of IEEE 802: the lowest bit of the first byte.
#include "common/steering.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

constexpr std::uint64_t Pf = 0x020000000001;
constexpr std::uint64_t Vf = 0x020000000002;
constexpr std::uint64_t Peer = 0x0200000000fe;

vport port_of(std::uint64_t mac, std::optional<std::uint16_t> vlan = std::nullopt) {
  vport port;
  port.enabled = true;
  port.mac = mac;
  port.vlan = vlan;
  return port;
}

std::optional<std::uint16_t> taken_by(const vport_table& ports, std::uint64_t destination,
                                      std::optional<std::uint16_t> vlan = std::nullopt) {
  const steering way = steer(ports, {destination, Peer, vlan}, false);
  return way.verdict == steering_verdict::port ? std::optional(way.port) : std::nullopt;
}

using number = std::optional<std::uint16_t>;

// Receive -----------------------------------------------------------------------------------------

TEST(steering, a_frame_goes_to_the_port_with_its_destination) {
  const vport_table ports({port_of(Pf), port_of(Vf)});
  EXPECT_EQ(taken_by(ports, Pf), number(0));
  EXPECT_EQ(taken_by(ports, Vf), number(1));
  EXPECT_EQ(taken_by(ports, Vf + 1), std::nullopt);
}

TEST(steering, a_port_with_a_vlan_takes_frames_of_that_vlan_only) {
  const vport_table ports({port_of(Pf), port_of(Vf, 7)});
  EXPECT_EQ(taken_by(ports, Vf, 7), number(1));
  EXPECT_EQ(taken_by(ports, Vf, 8), std::nullopt);
  EXPECT_EQ(taken_by(ports, Vf), std::nullopt) << "an untagged frame is of no VLAN";
  EXPECT_EQ(taken_by(ports, Vf, 0), std::nullopt) << "nor is one with a priority tag";
}

TEST(steering, a_port_without_a_vlan_takes_tagged_and_untagged_frames) {
  const vport_table ports({port_of(Pf)});
  EXPECT_EQ(taken_by(ports, Pf), number(0));
  EXPECT_EQ(taken_by(ports, Pf, 7), number(0));
}

TEST(steering, of_ports_with_one_address_that_of_the_frames_vlan_takes_it) {
  const vport_table ports({port_of(Vf), port_of(Vf, 7), port_of(Vf, 8)});
  EXPECT_EQ(taken_by(ports, Vf, 8), number(2));
  EXPECT_EQ(taken_by(ports, Vf, 7), number(1));
  EXPECT_EQ(taken_by(ports, Vf, 9), number(0));
  EXPECT_EQ(taken_by(ports, Vf), number(0));
}

TEST(steering, a_disabled_port_takes_nothing) {
  std::vector<vport> list = {port_of(Pf), port_of(Vf)};
  list[1].enabled = false;
  list[1].promiscuous = true;
  const vport_table ports(list);
  EXPECT_EQ(taken_by(ports, Vf), std::nullopt);
  EXPECT_EQ(taken_by(ports, Vf + 1), std::nullopt);
}

TEST(steering, a_promiscuous_port_takes_what_nobody_else_does) {
  std::vector<vport> list = {port_of(Pf), port_of(Vf), port_of(Vf + 1)};
  list[1].promiscuous = true;
  list[2].promiscuous = true;
  const vport_table ports(list);
  EXPECT_EQ(taken_by(ports, Vf + 9), number(1)) << "the first of them";
  EXPECT_EQ(taken_by(ports, Pf), number(0)) << "not what is another's";
  EXPECT_EQ(taken_by(ports, Vf + 1), number(2));
}

TEST(steering, a_promiscuous_port_with_a_vlan_sees_nothing_of_others) {
  std::vector<vport> list = {port_of(Pf), port_of(Vf, 7), port_of(Vf + 1, 8)};
  list[1].promiscuous = true;
  list[2].promiscuous = true;
  const vport_table ports(list);
  EXPECT_EQ(taken_by(ports, Vf + 9, 7), number(1));
  EXPECT_EQ(taken_by(ports, Vf + 9, 8), number(2));
  EXPECT_EQ(taken_by(ports, Vf + 9), std::nullopt);
  EXPECT_EQ(taken_by(ports, Vf, 8), number(2)) << "of its VLAN, for an address nobody there has";
}

TEST(steering, group_addresses_are_nobodys) {
  std::vector<vport> list = {port_of(Pf)};
  list[0].promiscuous = true;
  const vport_table ports(list);
  EXPECT_EQ(taken_by(ports, 0xffffffffffff), std::nullopt);
  EXPECT_EQ(taken_by(ports, 0x01005e000001), std::nullopt) << "IPv4 multicast";
  EXPECT_EQ(taken_by(ports, 0x333300000001), std::nullopt) << "IPv6 multicast";
  EXPECT_EQ(taken_by(ports, 0x323300000001), number(0));
}

TEST(steering, nobody_on_the_wire_has_the_address_of_one_of_our_ports) {
  const vport_table ports({port_of(Pf), port_of(Vf, 7)});
  EXPECT_EQ(steer(ports, {Pf, Vf, 7}, false).verdict, steering_verdict::alien_source);
  EXPECT_EQ(steer(ports, {Pf, Pf, std::nullopt}, false).verdict, steering_verdict::alien_source);
  EXPECT_EQ(steer(ports, {Pf, Vf, 7}, true).verdict, steering_verdict::port) << "it was looped";
  EXPECT_EQ(steer(ports, {Pf, Vf, 9}, false).verdict, steering_verdict::port)
      << "in another VLAN it is somebody else's address";
}

// Transmit ----------------------------------------------------------------------------------------

TEST(steering, a_frame_stays_inside_if_a_port_has_its_destination_and_vlan) {
  std::vector<vport> list = {port_of(Pf), port_of(Vf, 7), port_of(Vf + 1)};
  list[2].enabled = false;
  list[0].promiscuous = true;
  const vport_table ports(list);
  EXPECT_EQ(destination_port(ports, {Vf, Pf, 7}), number(1));
  EXPECT_EQ(destination_port(ports, {Pf, Pf, std::nullopt}), number(0)) << "its own, too";
  EXPECT_EQ(destination_port(ports, {Vf, Pf, 8}), std::nullopt);
  EXPECT_EQ(destination_port(ports, {Vf + 1, Pf, std::nullopt}), std::nullopt);
  EXPECT_EQ(destination_port(ports, {Peer, Vf, 7}), std::nullopt)
      << "a promiscuous port takes nothing from the wire's other end";
}

class sources : public testing::Test {
 protected:
  sources() {
    port.spoof_check = true;
    claimed.mac = Vf;
  }

  [[nodiscard]] source_verdict verdict() const {
    return source_allowed(vport_table({port_of(Pf), port}), 1, claimed);
  }

  vport port = port_of(Vf);
  claimed_source claimed;
};

TEST_F(sources, what_is_the_ports_own_may_leave) {
  EXPECT_EQ(verdict(), source_verdict::allowed);
  claimed.mac = 0;
  EXPECT_EQ(verdict(), source_verdict::allowed) << "0 stands for the port's address";
}

TEST_F(sources, another_mac_address_is_spoofed) {
  claimed.mac = Pf;
  EXPECT_EQ(verdict(), source_verdict::spoofed);
  port.spoof_check = false;
  EXPECT_EQ(verdict(), source_verdict::allowed);
}

TEST_F(sources, another_vlan_than_the_ports_is_spoofed) {
  port.vlan = 7;
  EXPECT_EQ(verdict(), source_verdict::allowed) << "without a tag: it gets the port's";
  claimed.vlan = 7;
  EXPECT_EQ(verdict(), source_verdict::allowed);
  claimed.vlan = 8;
  EXPECT_EQ(verdict(), source_verdict::spoofed);
  port.spoof_check = false;
  EXPECT_EQ(verdict(), source_verdict::allowed);
  port.spoof_check = true;
  port.vlan.reset();
  EXPECT_EQ(verdict(), source_verdict::allowed) << "a port without a VLAN may tag as it likes";
}

// A tag that is left from when the port had that VLAN, or the VF trust.
TEST_F(sources, without_a_vlan_a_port_has_tagged_frames_only_if_it_may_choose) {
  claimed.vlan = 7;
  EXPECT_EQ(verdict(), source_verdict::allowed);
  port.any_vlan = false;
  EXPECT_EQ(verdict(), source_verdict::spoofed);
  port.vlan = 7;
  EXPECT_EQ(verdict(), source_verdict::allowed);
  port.vlan = std::nullopt;
  claimed.vlan = std::nullopt;
  EXPECT_EQ(verdict(), source_verdict::allowed);
}

TEST_F(sources, another_address_than_the_gid_tables_is_spoofed) {
  claimed.address[15] = 9;
  claimed.gid_index = 1;
  EXPECT_EQ(verdict(), source_verdict::allowed) << "no list, no rule";
  port.sources.resize(2);
  EXPECT_EQ(verdict(), source_verdict::spoofed) << "the entry is empty";
  port.sources[1].valid = true;
  port.sources[1].address[15] = 9;
  EXPECT_EQ(verdict(), source_verdict::allowed);
  claimed.gid_index = 0;
  EXPECT_EQ(verdict(), source_verdict::spoofed) << "another index";
  claimed.gid_index = 2;
  EXPECT_EQ(verdict(), source_verdict::spoofed) << "beyond the table";
  claimed.gid_index = 1;
  claimed.address[0] = 1;
  EXPECT_EQ(verdict(), source_verdict::spoofed) << "another address";
}

TEST_F(sources, a_disabled_port_sends_nothing_checked_or_not) {
  port.enabled = false;
  EXPECT_EQ(verdict(), source_verdict::down);
  port.spoof_check = false;
  EXPECT_EQ(verdict(), source_verdict::down);
  EXPECT_EQ(source_allowed(vport_table({port_of(Pf)}), 1, claimed), source_verdict::down)
      << "nor does one that is not there";
}

}  // namespace
}  // namespace carillon
