// The commands about functions: who may work, what each has of the chip, what the PF decides, and
// how a function ends. Expected numbers are the shares of the bench: of 4096 QPs, CQs and so on the
// VFs have the upper half, a third of it each.
#include <array>

#include "tb/common/function_bench.h"

namespace carillon {
namespace {

using namespace bench;  // NOLINT: the words of the bench

class function_commands : public bench::function_commands {};

// Who may work

TEST_F(function_commands, a_vf_works_when_the_pf_has_enabled_it_and_it_has_initialised_itself) {
  bring_up();
  make(decide(1, FunctionPartition, share_of(1)));
  refused(simple(EnableHca), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  refused(simple(InitHca), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  make(simple(EnableHca, 1));
  EXPECT_EQ(core.init_state(1), 1U);
  refused(simple(AllocPd), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  make(simple(EnableHca, 0), 1);  // function_id 0: the caller itself, as drivers say it
  make(simple(EnableHca, 1), 1);
  EXPECT_EQ(core.init_state(1), 1U);
  make(simple(InitHca), 1);
  EXPECT_EQ(core.init_state(1), 2U);
  make(simple(AllocPd), 1);
  refused(simple(EnableHca, 1), command_status::BadSystemState, command_syndrome::FunctionState);
}

TEST_F(function_commands, a_vf_that_has_disabled_itself_may_come_back_but_not_after_the_pf_did) {
  bring_up(1);
  make(simple(TeardownHca), 1);
  make(simple(DisableHca), 1);
  EXPECT_EQ(core.init_state(1), 0U);
  make(simple(EnableHca), 1);
  make(simple(DisableHca, 1));
  tear_down(1);
  refused(simple(EnableHca), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  refused(simple(DisableHca, 1), command_status::BadSystemState, command_syndrome::FunctionState);
  make(simple(EnableHca, 1));
}

TEST_F(function_commands, the_pf_enables_vfs_only_when_it_is_initialised_itself) {
  make(simple(EnableHca));
  refused(simple(EnableHca, 1), command_status::BadSystemState, command_syndrome::FunctionState);
}

TEST_F(function_commands, a_vf_enables_and_disables_nobody_else) {
  bring_all_up();
  for (const command_opcode opcode : {EnableHca, DisableHca}) {
    refused(simple(opcode, 2), command_status::BadParameter, command_syndrome::PrivilegedFunction,
            1);
    refused(simple(opcode, 4), command_status::BadParameter, command_syndrome::BadFunction);
  }
}

TEST_F(function_commands, a_vf_without_a_partition_is_not_enabled) {
  bring_up();
  refused(simple(EnableHca, 1), command_status::NoResources, command_syndrome::Partition);
}

// Partitions

TEST_F(function_commands, capabilities_show_the_functions_own_partition) {
  bring_all_up();
  // 2048 / 3 = 682 numbers, rounded down to a power of two: 512.
  const hca_cap vf = core.capabilities(1);
  EXPECT_EQ(vf.num_qps, 682U);
  EXPECT_EQ(vf.log_max_qp, 9U);
  EXPECT_EQ(vf.num_cqs, 682U);
  EXPECT_EQ(vf.num_eqs, 10U);  // 32 / 3
  EXPECT_EQ(vf.log_max_eq, 3U);
  EXPECT_EQ(vf.num_srqs, 42U);         // 128 / 3
  EXPECT_EQ(vf.num_mkeys, 2730U);      // 8192 / 3
  EXPECT_EQ(vf.num_mtt_lines, 2730U);  // 8192 / 3
  EXPECT_EQ(vf.log_max_mtt, 14U);      // 21840 entries
  EXPECT_EQ(vf.vport_group_manager, 0U);
  EXPECT_EQ(vf.max_vfs, 0U);
  // The PF has what is left: 4096 - 3 * 682.
  const hca_cap pf = core.capabilities(0);
  EXPECT_EQ(pf.num_qps, 2050U);
  EXPECT_EQ(pf.log_max_qp, 11U);
  EXPECT_EQ(pf.num_eqs, 34U);
  EXPECT_EQ(pf.max_vfs, 3U);
  core.set_vfs(2);
  EXPECT_EQ(core.capabilities(0).num_vfs, 2U);
}

TEST_F(function_commands, numbers_come_from_the_functions_partition_lowest_first) {
  bring_all_up();
  const belongings pf = furnish(0);
  const belongings second = furnish(2);
  EXPECT_EQ(pf.qpn, 2U);
  EXPECT_EQ(pf.cqn, 1U);
  EXPECT_EQ(second.qpn, 2048U + 682);
  EXPECT_EQ(second.cqn, 2048U + 682);
  EXPECT_EQ(second.eqn, 32U + 10);
  EXPECT_EQ(second.srqn, 128U + 42);
  EXPECT_EQ(second.key, 8192U + 2730);
  EXPECT_EQ(core.tables().mkeys.at(second.key).first_line, 8192U + 2730);
  EXPECT_EQ(core.tables().mkeys.at(second.key).lines, 2U) << "nine pages";
}

TEST_F(function_commands, a_full_partition_says_so_while_others_have_room) {
  bring_up();
  function_context share = share_of(1);
  share.cqs.count = 2;
  share.eqs.count = 1;
  share.mtt_lines.count = 2;
  share.srqs.count = 0;
  make(decide(1, FunctionPartition, share));
  make(simple(EnableHca, 1));
  make(simple(InitHca), 1);
  pd = make(simple(AllocPd), 1);
  uar = make(simple(AllocUar), 1);
  EXPECT_EQ(make(packed(cq_request(uar), {0x8000}), 1), 2048U);
  const std::uint32_t last = make(packed(cq_request(uar), {0x8000}), 1);
  const auto full = [&](const input& in) {
    refused(in, command_status::NoResources, command_syndrome::TableFull, 1);
  };
  full(packed(cq_request(uar), {0x8000}));
  make(packed(eq_request(uar), {0x7000}), 1);
  full(packed(eq_request(uar), {0x7000}));
  full(packed(srq_request(pd), {0x6000}));
  full(key_of_pages(pd, 17));
  make(key_of_pages(pd, 16), 1);
  make(simple(DestroyCq, last), 1);
  EXPECT_EQ(make(packed(cq_request(uar), {0x8000}), 1), last);
  uar = make(simple(AllocUar));
  make(packed(cq_request(uar), {0x8000}));
}

TEST_F(function_commands, a_partition_is_in_the_chip_and_nobody_elses) {
  bring_up(1);
  const belongings pf = furnish(0);
  const auto no = [&](std::uint32_t first, std::uint32_t count, command_status status) {
    refused(change(2, FunctionPartition,
                   [&](auto& it) {
                     it.qps = {first, count};
                   }),
            status, command_syndrome::Partition);
  };
  no(4095, 2, command_status::BadParameter);
  no(4096, 1, command_status::BadParameter);
  no(1, 4, command_status::BadParameter);  // QP 1 is a special one
  no(3, 0xffffffff, command_status::BadParameter);
  no(0xffffffff, 2, command_status::BadParameter);
  no(2048, 1, command_status::NoResources);        // VF 1's
  no(2048 + 681, 2, command_status::NoResources);  // its last one
  no(2000, 49, command_status::NoResources);       // up to its first one
  no(pf.qpn, 1, command_status::NoResources);      // a QP of the PF
  refused(change(2, FunctionPartition,
                 [](auto& it) {
                   it.cqs = {0, 4};
                 }),
          command_status::BadParameter, command_syndrome::Partition);
  // What is wrong with one table is wrong with all.
  refused(change(2, FunctionPartition,
                 [](auto& it) {
                   it.qps = {3000, 10};
                   it.mtt_lines = {16384, 1};
                 }),
          command_status::BadParameter, command_syndrome::Partition);
  make(change(2, FunctionPartition, [](auto& it) {
    it.qps = {2048 + 682, 1};
    it.mtt_lines = {16383, 1};
  }));
  EXPECT_TRUE(core.effects().partitions);
}

TEST_F(function_commands, the_pfs_numbers_leave_out_what_a_vf_has_and_get_it_back) {
  bring_up();
  const auto give = [&](std::uint32_t first, std::uint32_t count) {
    make(change(1, FunctionPartition, [&](auto& it) { it.eqs = {first, count}; }));
  };
  uar = make(simple(AllocUar));
  const auto next_eq = [&] { return make(packed(eq_request(uar), {0x7000})); };
  give(2, 3);
  EXPECT_EQ(next_eq(), 1U);
  EXPECT_EQ(next_eq(), 5U);
  EXPECT_EQ(core.capabilities(0).num_eqs, 61U);
  give(3, 1);
  EXPECT_EQ(next_eq(), 2U);
  EXPECT_EQ(next_eq(), 4U);
  give(0, 0);
  EXPECT_EQ(next_eq(), 3U);
  EXPECT_EQ(core.capabilities(0).num_eqs, 64U);
}

TEST_F(function_commands, a_partition_stays_while_the_vf_works_and_the_pf_has_none) {
  bring_up(1);
  refused(decide(1, FunctionPartition, share_of(1)), command_status::BadSystemState,
          command_syndrome::FunctionState);
  refused(decide(0, FunctionPartition, share_of(1)), command_status::BadParameter,
          command_syndrome::Partition);
  furnish(1);
  make(simple(DisableHca, 1));
  core.teardown_step(1);
  refused(decide(1, FunctionPartition, share_of(1)), command_status::BadSystemState,
          command_syndrome::FunctionState);  // something is left
  tear_down(1);
  make(decide(1, FunctionPartition, share_of(2)));
}

TEST_F(function_commands, the_partition_table_says_what_a_vf_reaches) {
  bring_all_up();
  const partition_table table = core.partitions();
  EXPECT_TRUE(table.reaches(1, context_kind::qpc_responder, 2048));
  EXPECT_FALSE(table.reaches(1, context_kind::qpc_responder, 2047));
  EXPECT_FALSE(table.reaches(1, context_kind::qpc_common, 2048 + 682));
  EXPECT_TRUE(table.reaches(2, context_kind::qpc_common, 2048 + 682));
  EXPECT_TRUE(table.reaches(3, context_kind::eqc, 61));
  EXPECT_FALSE(table.reaches(3, context_kind::eqc, 62));
  EXPECT_TRUE(table.reaches(3, context_kind::mtt, 16381));
  EXPECT_TRUE(table.reaches(0, context_kind::mkey, 8192)) << "the PF reaches everything";
}

TEST_F(function_commands, context_ram_is_four_lines_a_qp_and_one_of_the_others) {
  bring_all_up();
  const auto vf = core.context_bytes(2);
  EXPECT_EQ(vf[table_kind::qps], 682U * 4 * 64);
  EXPECT_EQ(vf[table_kind::cqs], 682U * 64);
  EXPECT_EQ(vf[table_kind::mtt_lines], 2730U * 64);
  EXPECT_EQ(core.context_bytes(0)[table_kind::qps], 2050U * 4 * 64);
}

// What the PF decides

TEST_F(function_commands, a_fresh_vf_is_checked_and_not_trusted_and_the_pf_the_other_way_round) {
  bring_up(1);
  const function_context vf = decided(1);
  EXPECT_EQ(vf.mac, 0x020000000002U);
  EXPECT_EQ(vf.spoof_check, 1U);
  EXPECT_EQ(vf.trust, 0U);
  EXPECT_EQ(vf.link_state, vport_link_state::Auto);
  EXPECT_EQ(vf.vlan_valid, 0U);
  EXPECT_EQ(vf.qos, 3U);
  EXPECT_EQ(vf.max_tx_rate, 0U);
  EXPECT_EQ(vf.weight, 1U);
  EXPECT_EQ(vf.qps, share_of(1).qps);
  const function_context pf = decided(0);
  EXPECT_EQ(pf.spoof_check, 0U);
  EXPECT_EQ(pf.trust, 1U);
  EXPECT_EQ(pf.arbitration, function_arbitration::RoundRobin);
}

TEST_F(function_commands, a_field_changes_when_it_is_selected_and_no_other_does) {
  bring_up(1);
  function_context all = decided(1);
  function_context wanted;
  wanted.mac = 0x020000000077;
  wanted.vlan_valid = 1;
  wanted.vlan = 100;
  wanted.qos = 5;
  wanted.spoof_check = 0;
  wanted.trust = 1;
  wanted.max_tx_rate = 25000;
  wanted.link_state = vport_link_state::Down;
  wanted.weight = 7;
  wanted.urgency = 2;
  const auto select = [&](std::uint32_t field) {
    make(decide(1, field, wanted));
    EXPECT_TRUE(core.effects().vports);
    EXPECT_EQ(decided(1), all);
  };
  all.mac = wanted.mac;
  select(FunctionMac);
  all.vlan_valid = 1;
  all.vlan = 100;
  all.qos = 5;
  select(FunctionVlan);
  all.spoof_check = 0;
  select(FunctionSpoofCheck);
  all.trust = 1;
  select(FunctionTrust);
  all.max_tx_rate = 25000;
  select(FunctionRate);
  all.link_state = vport_link_state::Down;
  select(FunctionLink);
  all.weight = 7;
  all.urgency = 2;
  select(FunctionShare);
  const vport_table ports = core.vports();
  const vport& port = ports.at(1);
  EXPECT_EQ(port.mac, 0x020000000077U);
  EXPECT_EQ(port.vlan, 100U);
  EXPECT_EQ(port.priority, 5U);
  EXPECT_FALSE(port.spoof_check);
  EXPECT_EQ(port.max_rate_mbps, 25000U);
  EXPECT_EQ(port.weight, 7U);
  EXPECT_EQ(port.urgency, 2U);
  EXPECT_FALSE(port.enabled) << "its link is down";
  make(change(0, FunctionScheduler,
              [](auto& it) { it.arbitration = function_arbitration::Strict; }));
  EXPECT_EQ(decided(0).arbitration, function_arbitration::Strict);
  EXPECT_EQ(core.vports().arbitration, vport_arbitration::strict);
}

TEST_F(function_commands, an_impossible_decision_is_refused) {
  bring_up(1);
  const auto no = [&](std::uint16_t function, std::uint32_t fields, auto values) {
    refused(change(function, fields, values), command_status::BadParameter,
            command_syndrome::FieldValue);
  };
  no(1, FunctionMac, [](auto& it) { it.mac = 0; });
  no(1, FunctionMac, [](auto& it) { it.mac = 0x010000000002; });  // of a group
  no(1, FunctionVlan, [](auto& it) { it.vlan_valid = 1; });       // VLAN 0 is none
  no(1, FunctionVlan, [](auto& it) {
    it.vlan_valid = 1;
    it.vlan = 4095;  // reserved by 802.1Q
  });
  no(0, FunctionTrust, [](auto&) {});
  no(1, FunctionRate, [](auto& it) { it.max_tx_rate = 100001; });  // a port of 100 Gb/s
  no(1, FunctionLink, [](auto& it) { it.link_state = static_cast<vport_link_state>(3); });
  no(1, FunctionShare, [](auto&) {});  // weight 0
  no(1, FunctionScheduler, [](auto&) {});
  no(0, FunctionScheduler, [](auto& it) { it.arbitration = static_cast<function_arbitration>(3); });
  // One that is right does not help one that is wrong.
  no(1, FunctionMac | FunctionShare, [](auto& it) { it.mac = 0x020000000099; });
  for (unsigned bit = 9; bit < 32; ++bit) {
    refused(change(1, 1U << bit, [](auto&) {}), command_status::BadParameter,
            command_syndrome::Option);
  }
  refused(change(4, FunctionMac, [](auto& it) { it.mac = 2; }), command_status::BadParameter,
          command_syndrome::BadFunction);
  refused(simple(QueryFunction, 4), command_status::BadParameter, command_syndrome::BadFunction);
  input in = change(1, FunctionMac, [](auto& it) { it.mac = 2; });
  in.resize(in.size() - 8);
  refused(in, command_status::BadInputLength, command_syndrome::InputLength);
}

// Ports as a level

TEST_F(function_commands, a_port_is_enabled_from_initialisation_to_teardown) {
  bring_up();
  EXPECT_TRUE(core.vports().at(0).enabled);
  make(decide(1, FunctionPartition, share_of(1)));
  make(simple(EnableHca, 1));
  EXPECT_FALSE(core.vports().at(1).enabled);
  make(simple(InitHca), 1);
  EXPECT_TRUE(core.effects().vports);
  EXPECT_TRUE(core.vports().at(1).enabled);
  make(packed(gid_request(2, ip(7))), 1);
  EXPECT_TRUE(core.effects().vports);
  const vport_table ports = core.vports();
  ASSERT_EQ(ports.at(1).sources.size(), 16U);
  EXPECT_TRUE(ports.at(1).sources[2].valid);
  EXPECT_EQ(ports.at(1).sources[2].address, ip(7));
  EXPECT_FALSE(ports.at(1).sources[0].valid);
  make(simple(TeardownHca), 1);
  EXPECT_TRUE(core.effects().vports);
  EXPECT_FALSE(core.vports().at(1).enabled);
  EXPECT_FALSE(core.vports().at(1).sources[2].valid);
}

// The end

TEST_F(function_commands, a_teardown_takes_qps_first_and_one_object_a_step) {
  bring_all_up();
  const belongings all = furnish(1);
  const belongings others = furnish(2);
  const auto step = [&] {
    EXPECT_TRUE(core.teardown_step(1));
    return core.effects();
  };
  command_effects done = step();
  ASSERT_TRUE(done.qp.has_value());
  EXPECT_TRUE(done.vports) << "from the first step on its port is off";
  EXPECT_EQ(done.qp->qpn, all.qpn);
  EXPECT_EQ(done.qp->state, 0U);
  EXPECT_EQ(done.lines.size(), 4U);
  EXPECT_EQ(core.init_state(1), 0U);
  refused(simple(AllocPd), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  done = step();
  ASSERT_TRUE(done.srq.has_value());
  EXPECT_EQ(done.srq->srqn, all.srqn);
  done = step();
  ASSERT_TRUE(done.cq.has_value());
  EXPECT_FALSE(done.cq->eq);
  EXPECT_EQ(done.cq->cqn, all.cqn);
  done = step();
  ASSERT_EQ(done.lines.size(), 1U);
  EXPECT_EQ(done.lines[0].kind, context_kind::mkey);
  EXPECT_EQ(done.lines[0].index, all.key);
  done = step();
  ASSERT_TRUE(done.cq.has_value());
  EXPECT_TRUE(done.cq->eq);
  EXPECT_EQ(done.cq->cqn, all.eqn);
  done = step();
  EXPECT_TRUE(done.lines.empty());
  EXPECT_TRUE(done.vports);
  EXPECT_FALSE(core.teardown_step(1));
  EXPECT_TRUE(has_nothing(1));
  EXPECT_TRUE(core.tables().qps.contains(others.qpn));
  EXPECT_EQ(core.init_state(2), 2U);
}

TEST_F(function_commands, a_vf_that_was_reset_comes_back_by_itself_with_what_the_pf_decided) {
  bring_up(1);
  furnish(1);
  trust(1);
  make(change(1, FunctionMac, [](auto& it) { it.mac = 0x020000000055; }));
  make(modify_port(VportSelectAddress | VportSelectPromisc,
                   [](auto& it) {
                     it.permanent_address = 0x020000000066;
                     it.promisc_all = 1;
                   }),
       1);
  EXPECT_EQ(core.mac(1), 0x020000000066U);
  tear_down(1);
  EXPECT_EQ(core.mac(1), 0x020000000055U) << "its own decisions end with its life";
  EXPECT_EQ(decided(1).trust, 1U);
  EXPECT_EQ(decided(1).promiscuous, 0U);
  EXPECT_EQ(decided(1).qps, share_of(1).qps);
  make(simple(EnableHca), 1);
  make(simple(InitHca), 1);
  const belongings again = furnish(1);
  EXPECT_EQ(again.qpn, share_of(1).qps.first);
  EXPECT_EQ(again.key, share_of(1).mkeys.first);
}

TEST_F(function_commands, a_vf_that_is_taken_away_loses_what_the_pf_decided) {
  bring_up(1);
  bring_up(2);
  furnish(1);
  trust(1);
  trust(2);
  make(change(1, FunctionMac, [](auto& it) { it.mac = 0x020000000055; }));
  core.take_away(1);
  tear_down(1);
  EXPECT_TRUE(has_nothing(1));
  EXPECT_EQ(decided(1).trust, 0U);
  EXPECT_EQ(decided(1).qps.count, 0U);
  EXPECT_EQ(core.mac(1), 0x020000000002U) << "the PF's and 1, as at power-up";
  refused(simple(EnableHca), command_status::BadSystemState, command_syndrome::FunctionState, 1);
  EXPECT_EQ(decided(2).trust, 1U) << "of the others it keeps everything";
  EXPECT_EQ(decided(2).qps, share_of(2).qps);
  // The PF has the part back, and may begin anew.
  make(decide(1, FunctionPartition, share_of(1)));
  make(simple(EnableHca, 1));
  EXPECT_EQ(core.init_state(1), 1U);
  tear_down(1);
  EXPECT_EQ(decided(1).qps, share_of(1).qps) << "an ordinary reset again";
}

TEST_F(function_commands, a_reset_of_the_pf_ends_all_vfs_and_all_decisions) {
  const command_tables fresh = core.tables();
  bring_all_up();
  for (std::uint16_t function = 0; function < Functions; ++function) {
    furnish(function);
    trust(function);
  }
  make(change(0, FunctionScheduler,
              [](auto& it) { it.arbitration = function_arbitration::Strict; }));
  EXPECT_TRUE(core.teardown_step(0));
  for (std::uint16_t function = 0; function < Functions; ++function) {
    EXPECT_EQ(core.init_state(function), 0U) << "from the first step on";
    EXPECT_FALSE(core.vports().at(function).enabled);
  }
  tear_down(0);
  command_tables left = core.tables();
  left.lives = fresh.lives;  // they outlive everything
  EXPECT_TRUE(left == fresh);
  bring_all_up();
}

TEST_F(function_commands, the_pfs_disable_takes_what_the_vf_has) {
  bring_all_up();
  furnish(1);
  const belongings others = furnish(2);
  make(simple(DisableHca, 1));
  EXPECT_EQ(core.effects().teardown, 1U);
  EXPECT_EQ(core.init_state(1), 0U);
  EXPECT_FALSE(core.vports().at(1).enabled);
  refused(simple(EnableHca, 1), command_status::BadSystemState,
          command_syndrome::FunctionState);  // something is left
  EXPECT_EQ(tear_down(1), 6U) << "QP, SRQ, CQ, key, EQ, the rest";
  EXPECT_TRUE(has_nothing(1));
  EXPECT_TRUE(core.tables().qps.contains(others.qpn));
  make(simple(EnableHca, 1));
}

TEST_F(function_commands, a_forced_teardown_takes_what_is_left_and_a_graceful_one_refuses) {
  bring_up(1);
  furnish(1);
  refused(simple(TeardownHca, 0), command_status::ResourceBusy, command_syndrome::InUse, 1);
  refused(simple(TeardownHca, 2), command_status::BadParameter, command_syndrome::Option, 1);
  make(simple(TeardownHca, TeardownForce), 1);
  EXPECT_EQ(core.effects().teardown, 1U);
  tear_down(1);
  EXPECT_TRUE(has_nothing(1));
  EXPECT_EQ(core.init_state(1), 1U) << "it may initialise itself again";
  make(simple(InitHca), 1);
  furnish(1);
  // The next one is a reset again.
  tear_down(1);
  EXPECT_EQ(core.init_state(1), 0U);
}

TEST_F(function_commands, the_pf_is_not_torn_down_while_vfs_work) {
  bring_up(1);
  refused(simple(TeardownHca), command_status::ResourceBusy, command_syndrome::InUse);
  refused(simple(TeardownHca, TeardownForce), command_status::ResourceBusy,
          command_syndrome::InUse);
  make(simple(DisableHca, 1));
  tear_down(1);
  make(simple(TeardownHca));
  EXPECT_EQ(core.init_state(0), 1U);
}

TEST_F(function_commands, nothing_to_tear_down_has_no_effects) {
  EXPECT_FALSE(core.teardown_step(2));
  EXPECT_TRUE(core.effects().none());
  bring_up();
  EXPECT_FALSE(core.teardown_step(2));
}

// RP_* registers

TEST_F(function_commands, rp_registers_hold_values_of_the_selected_qp) {
  bring_up();
  const belongings first = furnish(0);
  const belongings second = furnish(0);
  EXPECT_FALSE(core.rp_write(0, rp_register::rate, 5)) << "no QP is selected";
  EXPECT_TRUE(core.rp_write(0, rp_register::qpn, first.qpn));
  EXPECT_TRUE(core.rp_write(0, rp_register::rate, 1));
  EXPECT_TRUE(core.rp_write(0, rp_register::target, 0x80000000));
  EXPECT_TRUE(core.rp_write(0, rp_register::current, 3));
  EXPECT_TRUE(core.rp_write(0, rp_register::timer, 0x1234f));
  EXPECT_EQ(core.rp_read(0, rp_register::qpn), first.qpn);
  EXPECT_EQ(core.rp_read(0, rp_register::rate), 1U);
  EXPECT_EQ(core.rp_read(0, rp_register::target), 0x80000000U);
  EXPECT_EQ(core.rp_read(0, rp_register::current), 3U);
  EXPECT_EQ(core.rp_read(0, rp_register::timer), 0x234fU) << "16 bits";
  EXPECT_TRUE(core.rp_write(0, rp_register::qpn, second.qpn));
  EXPECT_EQ(core.rp_read(0, rp_register::target), 0U);
  make(simple(DestroyQp, second.qpn));
  EXPECT_EQ(core.rp_read(0, rp_register::qpn), 0U) << "it is gone";
}

TEST_F(function_commands, rp_registers_of_a_vf_show_its_own_qps_and_take_rates_from_a_trusted_one) {
  bring_all_up();
  const belongings own = furnish(1);
  const belongings other = furnish(2);
  const belongings pf = furnish(0);
  EXPECT_FALSE(core.rp_write(1, rp_register::qpn, other.qpn));
  EXPECT_FALSE(core.rp_write(1, rp_register::qpn, pf.qpn));
  EXPECT_EQ(core.rp_read(1, rp_register::qpn), 0U);
  EXPECT_TRUE(core.rp_write(1, rp_register::qpn, own.qpn));
  const command_tables before = core.tables();
  for (const rp_register which :
       {rp_register::rate, rp_register::target, rp_register::current, rp_register::timer}) {
    EXPECT_FALSE(core.rp_write(1, which, 7));
  }
  EXPECT_TRUE(core.tables() == before);
  trust(1);
  EXPECT_TRUE(core.rp_write(1, rp_register::target, 7));
  EXPECT_TRUE(core.rp_write(0, rp_register::qpn, own.qpn)) << "the PF sees all";
  EXPECT_EQ(core.rp_read(0, rp_register::target), 7U);
}

}  // namespace
}  // namespace carillon
