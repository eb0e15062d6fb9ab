// The commands about virtual ports, and what a VF may set of its traffic with and without trust.
#include "tb/common/function_bench.h"

namespace carillon {
namespace {

using namespace bench;  // NOLINT: the words of the bench

constexpr std::uint64_t MacOfVf1 = 0x020000000002;

class vport_commands : public bench::function_commands {
 protected:
  void SetUp() override { bring_all_up(); }

  void distrusted(const input& in, std::uint16_t function = 1) {
    refused(in, command_status::BadParameter, command_syndrome::NotTrusted, function);
  }

  nic_vport_context port_of(std::uint16_t function) {
    make(port_command(QueryNicVportContext), function);
    return query_nic_vport_context_out::unpack(output.data()).nic_vport_context;
  }

  query_vport_state_out state_of(std::uint16_t function, std::uint16_t whose) {
    make(port_command(QueryVportState, std::nullopt, whose), function);
    return query_vport_state_out::unpack(output.data());
  }

  /// The step to RTR with the port's priority and a DSCP of its class, and what the test changes.
  template <class Change>
  input to_rtr_with(std::uint32_t qpn, Change values) {
    qpc wanted = rtr_context();
    values(wanted.primary_address_path);
    return modify(Init2RtrQp, qpn, wanted);
  }

  std::uint32_t qp_in_init(std::uint16_t function) {
    const std::uint32_t qpn = furnish(function).qpn;
    make(modify(Rst2InitQp, qpn, init_context()), function);
    return qpn;
  }
};

// The NIC vport context

TEST_F(vport_commands, a_port_has_its_mac_and_guids_of_it) {
  const nic_vport_context port = port_of(1);
  EXPECT_EQ(port.permanent_address, MacOfVf1);
  EXPECT_EQ(port.node_guid, 0x020000fffe000002U) << "EUI-64: ff:fe in the middle of the MAC";
  EXPECT_EQ(port.mtu, 4200U);
  EXPECT_EQ(port.roce_en, 1U);
  make(port_command(QueryNicVportContext, 1));
  EXPECT_EQ(query_nic_vport_context_out::unpack(output.data()).nic_vport_context, port);
}

TEST_F(vport_commands, a_vf_changes_its_mtu_and_roce_and_nothing_privileged) {
  make(modify_port(VportSelectMtu | VportSelectRoce, [](auto& it) { it.mtu = 1500; }), 1);
  EXPECT_EQ(port_of(1).mtu, 1500U);
  EXPECT_FALSE(core.vports().at(1).enabled) << "without RoCE no frames";
  make(modify_port(VportSelectRoce, [](auto& it) { it.roce_en = 1; }), 1);
  EXPECT_TRUE(core.vports().at(1).enabled);
  const auto other_mac =
      modify_port(VportSelectAddress, [](auto& it) { it.permanent_address = 0x020000000077; });
  const auto promiscuous = modify_port(VportSelectPromisc, [](auto& it) { it.promisc_uc = 1; });
  const auto guid = modify_port(VportSelectNodeGuid, [](auto& it) { it.node_guid = 5; });
  distrusted(other_mac);
  distrusted(promiscuous);
  distrusted(guid);
  // Its own address and no promiscuous mode are nothing new.
  make(modify_port(VportSelectAddress | VportSelectPromisc,
                   [](auto& it) { it.permanent_address = MacOfVf1; }),
       1);
  trust(1);
  make(other_mac, 1);
  EXPECT_TRUE(core.effects().vports);
  make(promiscuous, 1);
  make(guid, 1);
  EXPECT_EQ(core.vports().at(1).mac, 0x020000000077U);
  EXPECT_TRUE(core.vports().at(1).promiscuous);
  EXPECT_EQ(port_of(1).node_guid, 5U);
  EXPECT_EQ(core.vports().promiscuous(std::nullopt), 1U);
}

TEST_F(vport_commands, a_refused_change_leaves_the_other_selected_fields_alone) {
  distrusted(modify_port(VportSelectMtu | VportSelectPromisc, [](auto& it) {
    it.mtu = 1500;
    it.promisc_all = 1;
  }));
  EXPECT_EQ(port_of(1).mtu, 4200U);
}

TEST_F(vport_commands, a_port_takes_no_value_that_cannot_be) {
  const auto no = [&](const input& in, command_syndrome why) {
    refused(in, command_status::BadParameter, why);
  };
  no(modify_port(VportSelectMtu, [](auto& it) { it.mtu = 4201; }), command_syndrome::Mtu);
  no(modify_port(VportSelectMtu, [](auto& it) { it.mtu = 67; }), command_syndrome::Mtu);
  no(modify_port(VportSelectAddress, [](auto&) {}), command_syndrome::FieldValue);
  no(modify_port(VportSelectAddress, [](auto& it) { it.permanent_address = 0x030000000001; }),
     command_syndrome::FieldValue);  // of a group
  // Inline mode, address lists, change events, local loopback, affiliation.
  for (const unsigned bit : {0, 2, 5, 7, 10, 11, 12, 13, 14, 31}) {
    no(modify_port(1U << bit, [](auto&) {}), command_syndrome::Option);
  }
  input in = modify_port(VportSelectMtu, [](auto& it) { it.mtu = 1500; });
  in.resize(in.size() - 8);
  refused(in, command_status::BadInputLength, command_syndrome::InputLength);
}

TEST_F(vport_commands, trust_does_not_go_so_far_as_to_take_another_ports_address) {
  trust(1);
  const auto take = [](std::uint64_t mac) {
    return modify_port(VportSelectAddress, [mac](auto& it) { it.permanent_address = mac; });
  };
  for (const std::uint64_t mac : {core.mac(0), core.mac(2)}) {
    refused(take(mac), command_status::BadParameter, command_syndrome::Spoofed, 1);
  }
  // In another VLAN it is another address.
  const auto in_vlan = [&](std::uint16_t function, std::uint16_t vlan) {
    make(change(function, FunctionVlan, [vlan](auto& it) {
      it.vlan_valid = 1;
      it.vlan = vlan;
      it.qos = 3;
    }));
  };
  in_vlan(1, 100);
  in_vlan(2, 200);
  make(take(core.mac(2)), 1);
}

TEST_F(vport_commands, an_address_that_the_pf_gave_is_the_ports_also_while_it_uses_another) {
  trust(1);
  trust(2);
  const std::uint64_t given = core.mac(1);
  const auto take = [](std::uint64_t mac) {
    return modify_port(VportSelectAddress, [mac](auto& it) { it.permanent_address = mac; });
  };
  make(take(0x020000000077), 1);
  refused(take(given), command_status::BadParameter, command_syndrome::Spoofed, 2);
  tear_down(1);
  EXPECT_EQ(core.mac(1), given);
}

TEST_F(vport_commands, the_pf_changes_the_ports_of_vfs) {
  make(modify_port(
      VportSelectAddress, [](auto& it) { it.permanent_address = 0x020000000088; }, 1));
  EXPECT_EQ(core.mac(1), 0x020000000088U);
  EXPECT_EQ(core.mac(0), 0x020000000001U);
  tear_down(1);
  EXPECT_EQ(core.mac(1), 0x020000000088U) << "what the PF says outlives a reset";
  refused(port_command(QueryNicVportContext, 4), command_status::BadParameter,
          command_syndrome::BadFunction);
}

// The link

TEST_F(vport_commands, a_link_is_up_if_the_pf_and_the_function_want_it) {
  const auto as_eswitch = [](std::uint16_t function, vport_link_state state) {
    return port_command(ModifyVportState, function, VportStateEswitch,
                        static_cast<std::uint8_t>(state));
  };
  const auto own = [](vport_link_state state) {
    return port_command(ModifyVportState, std::nullopt, VportStateNic,
                        static_cast<std::uint8_t>(state));
  };
  EXPECT_EQ(state_of(1, VportStateEswitch).admin_state, 2U) << "automatic";
  EXPECT_EQ(state_of(1, VportStateNic).admin_state, 1U);
  EXPECT_EQ(state_of(1, VportStateNic).state, 1U);
  make(as_eswitch(1, vport_link_state::Down));
  EXPECT_TRUE(core.effects().vports);
  EXPECT_EQ(state_of(1, VportStateNic).state, 0U);
  EXPECT_FALSE(core.vports().at(1).enabled);
  make(own(vport_link_state::Up), 1);
  EXPECT_FALSE(core.vports().at(1).enabled) << "the PF's word counts";
  make(as_eswitch(1, vport_link_state::Up));
  EXPECT_TRUE(core.vports().at(1).enabled);
  make(own(vport_link_state::Down), 1);
  EXPECT_FALSE(core.vports().at(1).enabled);
  EXPECT_EQ(state_of(1, VportStateNic).admin_state, 0U);
  EXPECT_TRUE(core.vports().at(2).enabled);

  const auto no = [&](const input& in, command_syndrome why, std::uint16_t function) {
    refused(in, command_status::BadParameter, why, function);
  };
  no(own(vport_link_state::Auto), command_syndrome::FieldValue, 1);
  no(as_eswitch(1, static_cast<vport_link_state>(3)), command_syndrome::FieldValue, 0);
  no(as_eswitch(1, vport_link_state::Up), command_syndrome::PrivilegedFunction, 1);
  no(port_command(QueryVportState, std::nullopt, 2), command_syndrome::Option, 0);
  no(port_command(ModifyVportState, std::nullopt, 2, 1), command_syndrome::Option, 0);
}

// Counters

TEST_F(vport_commands, counters_follow_each_other_in_the_order_of_the_list) {
  counter_block counters;
  core = command_core(shared_limits(), &counters);
  bring_all_up();
  counters.add_for(1, counter::RxPackets, 0x123456789a);
  counters.add_for(2, counter::RxPackets, 7);
  counters.add(counter::RxPackets, 100);
  const auto rx_packets = [this] {
    const auto head = query_vport_counter_out::unpack(output.data());
    EXPECT_EQ(head.count, CounterCount);
    return bytes::load_be<8>(output.data() + 16 + 8 * static_cast<std::size_t>(counter::RxPackets));
  };
  make(count(), 1);
  EXPECT_EQ(rx_packets(), 0x123456789aU);
  make(count(2));
  EXPECT_EQ(rx_packets(), 7U);
  make(count());
  EXPECT_EQ(rx_packets(), 0U) << "the PF's own";
  make(count(VportUplink));
  EXPECT_EQ(rx_packets(), 0x123456789aU + 107);
  refused(count(std::nullopt, true), command_status::BadParameter, command_syndrome::Option);
  refused(count(VportUplink), command_status::BadParameter, command_syndrome::PrivilegedFunction,
          1);
  input in = count();
  in.resize(in.size() - 8);
  refused(in, command_status::BadInputLength, command_syndrome::InputLength);
}

// Addresses

TEST_F(vport_commands, the_gid_table_can_be_read_back) {
  make(gid_of(5, MacOfVf1), 1);
  query_roce_address_in in;
  in.opcode = QueryRoceAddress;
  in.roce_address_index = 5;
  make(packed(in), 1);
  const auto entry = query_roce_address_out::unpack(output.data()).roce_address;
  EXPECT_EQ(entry.source_l3_address, ip(9));
  EXPECT_EQ(entry.source_mac, MacOfVf1);
  make(packed(in));
  EXPECT_EQ(query_roce_address_out::unpack(output.data()).roce_address, roce_addr_layout{})
      << "the PF has a table of its own";
  in.roce_address_index = 16;
  refused(packed(in), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(vport_commands, a_gid_entry_has_the_ports_mac_unless_the_vf_is_trusted) {
  const input foreign = gid_of(1, core.mac(2));
  make(gid_of(1, 0), 1);
  make(gid_of(1, MacOfVf1), 1);
  distrusted(foreign);
  make(change(1, FunctionSpoofCheck, [](auto&) {}));
  distrusted(foreign);  // what leaves unchecked is not for it to say either
  trust(1);
  make(foreign, 1);
  make(gid_of(1, 0x020000000099));  // the PF
}

TEST_F(vport_commands, a_gid_entry_has_the_ports_vlan_unless_the_vf_is_trusted) {
  distrusted(gid_of(1, 0, 100));
  make(change(1, FunctionVlan, [](auto& it) {
    it.vlan_valid = 1;
    it.vlan = 100;
    it.qos = 3;
  }));
  make(gid_of(1, 0, 100), 1);
  distrusted(gid_of(1, 0, 101));
  trust(1);
  make(gid_of(1, 0, 101), 1);
  make(gid_of(1, 0, 101));  // the PF
}

TEST_F(vport_commands, a_qp_takes_mac_and_vlan_of_its_gid_entry_or_else_of_the_port) {
  make(change(1, FunctionVlan, [](auto& it) {
    it.vlan_valid = 1;
    it.vlan = 100;
    it.qos = 3;
  }));
  const auto line_with = [&](std::uint8_t gid) {
    const std::uint32_t qpn = qp_in_init(1);
    make(to_rtr_with(qpn, [gid](auto& path) { path.src_addr_index = gid; }), 1);
    return line<qpc_address>(context_kind::qpc_address);
  };
  qpc_address address = line_with(0);
  EXPECT_EQ(address.smac, MacOfVf1);
  EXPECT_EQ(address.vlan_valid, 1U);
  EXPECT_EQ(address.vlan_id, 100U) << "whatever the QP says";
  EXPECT_EQ(address.eth_prio, 3U);
  trust(1);
  make(gid_of(1, 0x020000000099, 200), 1);
  address = line_with(1);
  EXPECT_EQ(address.smac, 0x020000000099U);
  EXPECT_EQ(address.vlan_id, 200U);
}

TEST_F(vport_commands, an_entry_that_is_no_longer_the_ports_takes_no_new_qp) {
  make(gid_of(1, MacOfVf1), 1);
  const std::uint32_t qpn = qp_in_init(1);
  make(change(1, FunctionMac, [](auto& it) { it.mac = 0x020000000042; }));
  distrusted(to_rtr_with(qpn, [](auto& path) { path.src_addr_index = 1; }));
  make(to_rtr_with(qpn, [](auto& path) { path.src_addr_index = 0; }), 1);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).smac, 0x020000000042U);
}

TEST_F(vport_commands, what_trust_allowed_ends_with_it) {
  trust(1);
  make(modify_port(VportSelectPromisc, [](auto& it) { it.promisc_uc = 1; }), 1);
  EXPECT_TRUE(core.vports().at(1).promiscuous);
  EXPECT_TRUE(core.vports().at(1).any_vlan);
  make(change(1, FunctionTrust, [](auto& it) { it.trust = 0; }));
  EXPECT_FALSE(core.vports().at(1).promiscuous);
  EXPECT_FALSE(core.vports().at(1).any_vlan);
  EXPECT_TRUE(core.vports().at(0).any_vlan) << "the PF";
}

// Priority, DSCP, service level

TEST_F(vport_commands, without_trust_a_qp_has_its_ports_priority_and_class) {
  const std::uint32_t qpn = qp_in_init(1);
  const auto with = [&](auto values) { return to_rtr_with(qpn, values); };
  const auto higher = with([](auto& path) { path.eth_prio = 4; });
  distrusted(higher);
  distrusted(with([](auto& path) { path.eth_prio = 0; }));
  distrusted(with([](auto& path) { path.sl = 4; }));
  distrusted(with([](auto& path) { path.tclass = 32 << 2; }));
  distrusted(with([](auto& path) { path.tclass = 0; }));
  distrusted(with([](auto& path) {
    path.f_dscp = 1;  // forced over a traffic class that is right
    path.dscp = 46;
  }));
  EXPECT_EQ(core.tables().qps.at(qpn).common.state, qp_state::Init);
  trust(1);
  make(higher, 1);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).eth_prio, 4U);
}

TEST_F(vport_commands, every_dscp_of_the_class_is_the_ports) {
  for (const unsigned dscp : {24U, 26U, 31U}) {  // class 3
    const std::uint32_t qpn = qp_in_init(1);
    make(to_rtr_with(qpn,
                     [dscp](auto& path) {
                       path.tclass = static_cast<std::uint8_t>(dscp << 2 | 1);
                       path.sl = 3;
                     }),
         1);
  }
}

TEST_F(vport_commands, another_qos_means_another_class) {
  make(change(1, FunctionVlan, [](auto& it) { it.qos = 5; }));
  const std::uint32_t qpn = qp_in_init(1);
  distrusted(to_rtr_with(qpn, [](auto&) {}));
  make(to_rtr_with(qpn,
                   [](auto& path) {
                     path.eth_prio = 5;
                     path.tclass = 46 << 2;  // EF is of class 5
                   }),
       1);
  EXPECT_EQ(core.capabilities(1).qos, 5U) << "so that a driver knows";
}

TEST_F(vport_commands, the_default_pair_of_priority_and_dscp_is_allowed) {
  command_limits odd = shared_limits();
  odd.priority = 4;  // DSCP 24 is of class 3
  core = command_core(odd);
  bring_all_up();
  const std::uint32_t qpn = qp_in_init(1);
  make(to_rtr_with(qpn, [](auto& path) { path.eth_prio = 4; }), 1);
}

TEST_F(vport_commands, the_pf_is_trusted) {
  const std::uint32_t qpn = qp_in_init(0);
  make(to_rtr_with(qpn, [](auto& path) {
    path.eth_prio = 7;
    path.sl = 1;
    path.tclass = 0;
  }));
}

// MODIFY_CQ

TEST_F(vport_commands, a_cq_takes_a_new_moderation_and_keeps_the_rest) {
  const belongings own = furnish(1);
  modify_cq_in in;
  in.opcode = ModifyCq;
  in.cqn = own.cqn;
  in.field_select = CqSelectPeriod;
  in.cq_context.cq_period = 16;
  in.cq_context.cq_max_count = 9;
  const cqc_line before = core.tables().cqs.at(own.cqn).line;
  make(packed(in), 1);
  cqc_line expected = before;
  expected.period = 16;
  EXPECT_EQ(line<cqc_line>(context_kind::cqc), expected);
  ASSERT_TRUE(core.effects().cq.has_value());
  EXPECT_TRUE(core.effects().cq->modify) << "its counters go on";
  EXPECT_EQ(cqc_line::unpack(core.effects().cq->line.data()), expected);
  in.field_select = CqSelectCount;
  in.cq_context.cq_period = 1;
  make(packed(in), 1);
  expected.max_count = 9;
  EXPECT_EQ(line<cqc_line>(context_kind::cqc), expected);
  make(simple(QueryCq, own.cqn), 1);
  const cqc seen = query_cq_out::unpack(output.data()).cq_context;
  EXPECT_EQ(seen.cq_period, 16U);
  EXPECT_EQ(seen.cq_max_count, 9U);

  const auto no = [&](auto change, command_syndrome why) {
    modify_cq_in wrong = in;
    change(wrong);
    refused(packed(wrong), command_status::BadParameter, why, 1);
  };
  no([](auto& it) { it.op_mod = 1; }, command_syndrome::Option);  // resize
  no([](auto& it) { it.field_select |= 4; }, command_syndrome::Option);
  no(
      [](auto& it) {
        it.field_select = CqSelectPeriodMode;
        it.cq_context.cq_period_mode = 1;
      },
      command_syndrome::Moderation);
  input cut = packed(in);
  cut.resize(cut.size() - 8);
  refused(cut, command_status::BadInputLength, command_syndrome::InputLength, 1);
}

}  // namespace
}  // namespace carillon
