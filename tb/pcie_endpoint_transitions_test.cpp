// The state machine of queue pairs: which transitions there are, which optional attributes each
// takes, and what attributes must be.
#include <map>
#include <set>
#include <utility>

#include "pcie_endpoint/commands.h"
#include "tb/common/qp_command_bench.h"

namespace carillon {
namespace {

using bench::gid_request;
using bench::input;
using bench::ip6;
using bench::modify;
using bench::packed;
using bench::simple;
using enum command_opcode;

class qp_transitions : public bench::qp_commands {};

// Which transitions there are

// mlx5 driver: its table of commands by state; verbs: RTS to SQD, and SQERR to RTS for UC and UD.
TEST_F(qp_transitions, only_the_transitions_of_the_table_are_allowed_and_others_change_nothing) {
  const std::map<command_opcode, std::pair<qp_state, qp_state>> table = {
      {Rst2InitQp, {qp_state::Reset, qp_state::Init}},
      {Init2InitQp, {qp_state::Init, qp_state::Init}},
      {Init2RtrQp, {qp_state::Init, qp_state::Rtr}},
      {Rtr2RtsQp, {qp_state::Rtr, qp_state::Rts}},
      {Rts2RtsQp, {qp_state::Rts, qp_state::Rts}},
      {Sqerr2RtsQp, {qp_state::Sqer, qp_state::Rts}},
      {Rts2SqdQp, {qp_state::Rts, qp_state::Sqd}},
      {Sqd2RtsQp, {qp_state::Sqd, qp_state::Rts}},
  };
  prepare();
  unsigned allowed = 0;
  for (const auto service : {qpc_service::Rc, qpc_service::Uc, qpc_service::Ud}) {
    const std::uint32_t qpn = another_qp(service);
    for (unsigned from = 0; from < 8; ++from) {
      for (const auto& [opcode, step] : table) {
        SCOPED_TRACE(testing::Message()
                     << to_string(service) << " " << to_string(opcode) << " from state " << from);
        bring_to(qpn, static_cast<qp_state>(from));
        const bool possible = opcode != Sqerr2RtsQp || service != qpc_service::Rc;
        if (static_cast<qp_state>(from) != step.first || !possible) {
          refused(modify(opcode, qpn, any_context()), command_status::BadQpState,
                  command_syndrome::Transition);
          continue;
        }
        ++allowed;
        make(modify(opcode, qpn, any_context()));
        EXPECT_EQ(state(), step.second);
        EXPECT_EQ(core.effects().qp->state, static_cast<unsigned>(step.second));
        EXPECT_EQ(query(qpn).state, to_host(step.second));
      }
      for (const auto& [opcode, to] :
           {std::pair{ToErrQp, qp_state::Err}, std::pair{ToRstQp, qp_state::Reset}}) {
        bring_to(qpn, static_cast<qp_state>(from));
        make(simple(opcode, qpn));
        EXPECT_EQ(state(), to);
        EXPECT_EQ(core.effects().qp->state, static_cast<unsigned>(to));
      }
    }
  }
  EXPECT_EQ(allowed, 3U * 8 - 1);
}

// mlx5 driver: its table of optional attributes, without what the chip does not have.
TEST_F(qp_transitions, only_the_optional_attributes_of_the_table_are_allowed) {
  const std::set<unsigned> access = {QpOptRre, QpOptRae, QpOptRwe};
  const std::set<unsigned> place = {QpOptPkeyIndex, QpOptPort};
  const auto both = [](std::set<unsigned> all, const std::set<unsigned>& more) {
    all.insert(more.begin(), more.end());
    return all;
  };

  struct row {
    command_opcode opcode;
    qp_state from;
    std::set<unsigned> rc, uc, ud;
  };

  const std::vector<row> table = {
      {Rst2InitQp, qp_state::Reset, {}, {}, {}},
      {Init2InitQp, qp_state::Init, both(access, place), both({QpOptRwe}, place),
       both({QpOptQkey}, place)},
      {Init2RtrQp,
       qp_state::Init,
       both(access, {QpOptPkeyIndex}),
       {QpOptRwe, QpOptPkeyIndex},
       {QpOptQkey, QpOptPkeyIndex}},
      {Rtr2RtsQp, qp_state::Rtr, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
      {Rts2RtsQp, qp_state::Rts, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
      {Sqerr2RtsQp, qp_state::Sqer, {}, {QpOptRwe}, {QpOptQkey}},
      {Rts2SqdQp, qp_state::Rts, {}, {}, {}},
      {Sqd2RtsQp, qp_state::Sqd, both(access, {QpOptRnrTimeout}), {QpOptRwe}, {QpOptQkey}},
  };
  prepare();
  for (const auto service : {qpc_service::Rc, qpc_service::Uc, qpc_service::Ud}) {
    const std::uint32_t qpn = another_qp(service);
    for (const row& each : table) {
      if (each.opcode == Sqerr2RtsQp && service == qpc_service::Rc) {
        continue;  // never allowed
      }
      const std::set<unsigned>& options = service == qpc_service::Rc   ? each.rc
                                          : service == qpc_service::Uc ? each.uc
                                                                       : each.ud;
      for (unsigned bit = 0; bit < 32; ++bit) {
        SCOPED_TRACE(testing::Message()
                     << to_string(service) << " " << to_string(each.opcode) << " option " << bit);
        bring_to(qpn, each.from);
        const input in = modify(each.opcode, qpn, any_context(), 1U << bit);
        if (options.contains(1U << bit)) {
          make(in);
        } else {
          refused(in, command_status::BadParameter, command_syndrome::Option);
        }
      }
    }
  }
}

// What attributes must be

TEST_F(qp_transitions, an_impossible_path_is_refused) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  const auto with = [&](auto change) {
    qpc wanted = rtr_context();
    change(wanted, wanted.primary_address_path);
    return modify(Init2RtrQp, qpn, wanted);
  };
  const auto parameter = [&](auto change, command_syndrome why) {
    refused(with(change), command_status::BadParameter, why);
  };
  parameter([](qpc& q, ads&) { q.mtu = static_cast<mtu_code>(6); }, command_syndrome::Mtu);
  parameter([](qpc& q, ads&) { q.mtu = static_cast<mtu_code>(0); }, command_syndrome::Mtu);
  parameter([](qpc&, ads& path) { path.rgid_rip = {}; }, command_syndrome::Path);
  parameter([](qpc&, ads& path) { path.rgid_rip = ip6(2); }, command_syndrome::Path);
  parameter([](qpc&, ads& path) { path.vhca_port_num = 2; }, command_syndrome::Path);
  refused(with([](qpc&, ads& path) { path.src_addr_index = 1; }), command_status::BadIndex,
          command_syndrome::NoGid);
  refused(with([](qpc&, ads& path) { path.src_addr_index = 16; }), command_status::BadIndex,
          command_syndrome::NoGid);
  // A GID that was deleted is none.
  make(packed(gid_request(0, {})));
  refused(with([](qpc&, ads&) {}), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(qp_transitions, a_ud_qp_needs_a_source_too) {
  const std::uint32_t qpn = make_qp(qpc_service::Ud);
  make(modify(Rst2InitQp, qpn, init_context()));
  make(packed(gid_request(0, {})));
  refused(modify(Init2RtrQp, qpn, {}), command_status::BadIndex, command_syndrome::NoGid);
}

TEST_F(qp_transitions, more_reads_than_the_capabilities_say_are_refused) {
  const std::uint32_t qpn = make_qp();
  make(modify(Rst2InitQp, qpn, init_context()));
  qpc wanted = rtr_context();
  wanted.log_rra_max = 5;  // 32 of at most 16
  refused(modify(Init2RtrQp, qpn, wanted), command_status::BadParameter,
          command_syndrome::ReadLimit);
  wanted.log_rra_max = 4;
  make(modify(Init2RtrQp, qpn, wanted));
  wanted = rts_context();
  wanted.log_sra_max = 5;
  refused(modify(Rtr2RtsQp, qpn, wanted), command_status::BadParameter,
          command_syndrome::ReadLimit);
  wanted.log_sra_max = 4;
  make(modify(Rtr2RtsQp, qpn, wanted));
}

TEST_F(qp_transitions, an_ipv6_path_takes_its_vlan_from_the_gid_entry) {
  const std::uint32_t qpn = make_qp();
  set_roce_address_in gid = gid_request(3, ip6(1));
  gid.roce_address.vlan_valid = 1;
  gid.roce_address.vlan_id = 0x234;
  make(packed(gid));
  make(modify(Rst2InitQp, qpn, init_context()));
  qpc wanted = rtr_context();
  wanted.primary_address_path.src_addr_index = 3;
  wanted.primary_address_path.rgid_rip = ip6(2);
  wanted.primary_address_path.flow_label = 0x54321;
  wanted.primary_address_path.fl = 1;
  make(modify(Init2RtrQp, qpn, wanted));
  const auto address = line<qpc_address>(context_kind::qpc_address);
  EXPECT_EQ(address.ip_version, 6U);
  EXPECT_EQ(address.gid_index, 3U);
  EXPECT_EQ(address.vlan_valid, 1U);
  EXPECT_EQ(address.vlan_id, 0x234U);
  EXPECT_EQ(address.src_ip, ip6(1));
  EXPECT_EQ(address.dst_ip, ip6(2));
  EXPECT_EQ(address.flow_label, 0x54321U);
  EXPECT_EQ(address.loopback, 1U);
}

TEST_F(qp_transitions, forced_dscp_and_ecn_replace_their_part_of_the_traffic_class) {
  const auto tclass = [&](bool dscp, bool ecn) {
    const std::uint32_t qpn = another_qp();
    make(modify(Rst2InitQp, qpn, init_context()));
    qpc wanted = rtr_context();
    ads& path = wanted.primary_address_path;
    path.tclass = 0x62;  // DSCP 24, ECT(0)
    path.dscp = 46;
    path.ecn = 1;
    path.f_dscp = dscp ? 1 : 0;
    path.f_ecn = ecn ? 1 : 0;
    make(modify(Init2RtrQp, qpn, wanted));
    return line<qpc_address>(context_kind::qpc_address).tclass;
  };
  prepare();
  EXPECT_EQ(tclass(false, false), 0x62U);
  EXPECT_EQ(tclass(true, false), 0xbaU);  // 46 << 2 | 2
  EXPECT_EQ(tclass(false, true), 0x61U);
  EXPECT_EQ(tclass(true, true), 0xb9U);
}

TEST_F(qp_transitions, the_p_key_is_that_of_the_index) {
  command_limits two = limits();
  two.pkeys = {0xffff, 0x8123};
  core = command_core(two);
  const std::uint32_t qpn = make_qp();
  qpc wanted = init_context();
  wanted.primary_address_path.pkey_index = 2;
  refused(modify(Rst2InitQp, qpn, wanted), command_status::BadIndex, command_syndrome::NoPkey);
  wanted.primary_address_path.pkey_index = 1;
  make(modify(Rst2InitQp, qpn, wanted));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0x8123U);
  make(modify(Init2RtrQp, qpn, rtr_context()));
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).pkey, 0x8123U);
  EXPECT_EQ(query(qpn).primary_address_path.pkey_index, 1U) << "the path of RTR does not name it";

  bring_to(qpn, qp_state::Init);
  make(modify(Init2InitQp, qpn, wanted, QpOptPkeyIndex));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0x8123U);
  make(modify(Init2RtrQp, qpn, rtr_context(), QpOptPkeyIndex));  // index 0 again
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).pkey, 0xffffU);
  EXPECT_EQ(line<qpc_address>(context_kind::qpc_address).pkey, 0xffffU);
}

TEST_F(qp_transitions, a_port_that_is_not_there_is_refused) {
  const std::uint32_t qpn = make_qp();
  qpc wanted = init_context();
  wanted.primary_address_path.vhca_port_num = 2;
  refused(modify(Rst2InitQp, qpn, wanted), command_status::BadParameter, command_syndrome::Path);
  make(modify(Rst2InitQp, qpn, init_context()));
  refused(modify(Init2InitQp, qpn, wanted, QpOptPort), command_status::BadParameter,
          command_syndrome::Path);
}

TEST_F(qp_transitions, options_change_what_they_name_and_nothing_else) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  qpc_common expected = line<qpc_common>(context_kind::qpc_common);
  EXPECT_EQ(expected.rre, 0U);
  EXPECT_EQ(expected.rwe, 1U);
  qpc wanted;
  wanted.rre = wanted.rae = 1;
  make(modify(Rts2RtsQp, qpn, wanted, QpOptRre | QpOptRwe));
  expected.rre = 1;
  expected.rwe = 0;
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common), expected);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(query(qpn).rre, 1U);
  EXPECT_EQ(query(qpn).rae, 0U);

  const std::uint32_t datagrams = another_qp(qpc_service::Ud);
  to_rts(datagrams);
  wanted.q_key = 0x55667788;
  make(modify(Rts2RtsQp, datagrams, wanted, QpOptQkey));
  EXPECT_EQ(line<qpc_common>(context_kind::qpc_common).qkey, 0x55667788U);
}

// Once packets come, the responder's line has one writer, which is the responder.
TEST_F(qp_transitions, a_new_rnr_timer_reaches_the_responder_by_its_command_and_not_by_its_line) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  qpc wanted;
  wanted.min_rnr_nak = 20;
  make(modify(Rts2RtsQp, qpn, wanted, QpOptRnrTimeout));
  EXPECT_FALSE(wrote(context_kind::qpc_responder));
  const auto told = [&] { return qpc_responder::unpack(core.effects().qp->responder.data()); };
  EXPECT_EQ(told().min_rnr_nak, 20U);
  // A line from before the change does not bring the old value back.
  qpc_responder left;
  left.min_rnr_nak = 12;
  left.next_rcv_psn = 0xabcdf0;
  observe(context_kind::qpc_responder, qpn, left);
  make(modify(Rts2RtsQp, qpn, {}));
  EXPECT_EQ(told().min_rnr_nak, 20U);
  EXPECT_EQ(told().next_rcv_psn, 0xabcdf0U);
  EXPECT_EQ(query(qpn).min_rnr_nak, 20U);
}

TEST_F(qp_transitions, to_sqd_and_back_leaves_the_lines_of_both_sides_alone) {
  const std::uint32_t qpn = make_qp();
  to_rts(qpn);
  make(modify(Rts2SqdQp, qpn, any_context()));
  EXPECT_EQ(state(), qp_state::Sqd);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  make(modify(Sqd2RtsQp, qpn, any_context()));
  EXPECT_EQ(state(), qp_state::Rts);
  EXPECT_EQ(core.effects().lines.size(), 1U);
  EXPECT_EQ(query(qpn).remote_qpn, 0x123U);
}

}  // namespace
}  // namespace carillon
