// No command reaches another function's things: every command with every object that it names, each
// of them in turn another function's, and everything that only the PF may do.
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "tb/common/function_bench.h"

namespace carillon {
namespace {

using namespace bench;  // NOLINT: the words of the bench

/// A command that is right but for one object, which is somebody else's.
struct reference {
  command_opcode opcode;
  const char* object;
  command_syndrome why;
  std::function<input(const belongings& own, const belongings& foreign)> command;
};

reference about(command_opcode opcode, const char* object, command_syndrome why,
                std::uint32_t belongings::*number) {
  return {opcode, object, why, [=](const belongings&, const belongings& foreign) {
            return simple(opcode, foreign.*number);
          }};
}

reference transition(command_opcode opcode) {
  return {opcode, "qp", command_syndrome::NoQp, [=](const belongings&, const belongings& foreign) {
            return modify(opcode, foreign.qpn, qpc{});
          }};
}

create_qp_in right_qp(const belongings& own) {
  create_qp_in in = qp_request(own.pd, own.uar, own.cqn);
  in.qpc.rq_type = rq_type::Srq;
  in.qpc.srqn_rmpn_xrqn = own.srqn;
  return in;
}

const std::vector<reference>& references() {
  using enum command_syndrome;
  static const std::vector<reference> All = {
      about(DeallocPd, "pd", NoPd, &belongings::pd),
      about(DeallocUar, "uar", NoUar, &belongings::uar),
      about(DestroyMkey, "key", NoMkey, &belongings::key),
      about(QueryMkey, "key", NoMkey, &belongings::key),
      {CreateMkey, "pd", NoPd,
       [](auto&, auto& foreign) { return packed(mkey_request(foreign.pd)); }},
      {CreateMkey, "qp", NoQp,
       [](auto& own, auto& foreign) {
         create_mkey_in in = mkey_request(own.pd);
         in.memory_key_mkey_entry.qpn = foreign.qpn;
         return packed(in);
       }},
      about(DestroyEq, "eq", NoEq, &belongings::eqn),
      about(QueryEq, "eq", NoEq, &belongings::eqn),
      {CreateEq, "uar", NoUar,
       [](auto&, auto& foreign) { return packed(eq_request(foreign.uar), {0x7000}); }},
      about(DestroyCq, "cq", NoCq, &belongings::cqn),
      about(QueryCq, "cq", NoCq, &belongings::cqn),
      {ModifyCq, "cq", NoCq,
       [](auto&, auto& foreign) {
         modify_cq_in in;
         in.opcode = ModifyCq;
         in.cqn = foreign.cqn;
         in.field_select = CqSelectPeriod;
         return packed(in);
       }},
      {CreateCq, "uar", NoUar,
       [](auto&, auto& foreign) { return packed(cq_request(foreign.uar), {0x8000}); }},
      {CreateCq, "eq", NoEq,
       [](auto& own, auto& foreign) {
         create_cq_in in = cq_request(own.uar);
         in.cq_context.c_eqn_or_apu_element = foreign.eqn;
         return packed(in, {0x8000});
       }},
      about(DestroySrq, "srq", NoSrq, &belongings::srqn),
      about(QuerySrq, "srq", NoSrq, &belongings::srqn),
      {ArmRq, "srq", NoSrq,
       [](auto&, auto& foreign) {
         arm_rq_in in;
         in.opcode = ArmRq;
         in.op_mod = ArmRqSrq;
         in.srq_number = foreign.srqn;
         return packed(in);
       }},
      {CreateSrq, "pd", NoPd,
       [](auto&, auto& foreign) { return packed(srq_request(foreign.pd), {0x6000}); }},
      about(DestroyQp, "qp", NoQp, &belongings::qpn),
      about(QueryQp, "qp", NoQp, &belongings::qpn),
      about(ToErrQp, "qp", NoQp, &belongings::qpn),
      about(ToRstQp, "qp", NoQp, &belongings::qpn),
      transition(Rst2InitQp),
      transition(Init2InitQp),
      transition(Init2RtrQp),
      transition(Rtr2RtsQp),
      transition(Rts2RtsQp),
      transition(Sqerr2RtsQp),
      transition(Rts2SqdQp),
      transition(Sqd2RtsQp),
      {CreateQp, "pd", NoPd,
       [](auto& own, auto& foreign) {
         create_qp_in in = right_qp(own);
         in.qpc.pd = foreign.pd;
         return packed(in, {0x4000});
       }},
      {CreateQp, "uar", NoUar,
       [](auto& own, auto& foreign) {
         create_qp_in in = right_qp(own);
         in.qpc.uar_page = foreign.uar;
         return packed(in, {0x4000});
       }},
      {CreateQp, "send_cq", NoCq,
       [](auto& own, auto& foreign) {
         create_qp_in in = right_qp(own);
         in.qpc.cqn_snd = foreign.cqn;
         return packed(in, {0x4000});
       }},
      {CreateQp, "receive_cq", NoCq,
       [](auto& own, auto& foreign) {
         create_qp_in in = right_qp(own);
         in.qpc.cqn_rcv = foreign.cqn;
         return packed(in, {0x4000});
       }},
      {CreateQp, "srq", NoSrq,
       [](auto& own, auto& foreign) {
         create_qp_in in = right_qp(own);
         in.qpc.srqn_rmpn_xrqn = foreign.srqn;
         return packed(in, {0x4000});
       }},
  };
  return All;
}

/// What the caller may not say because it is not the PF. The number is a function's.
struct privilege {
  command_opcode opcode;
  const char* about;
  command_status status;
  std::function<input(std::uint16_t other)> command;
};

class isolated_function : public function_commands {
 public:
  static input decision(std::uint16_t other) {
    function_context values;
    values.mac = 0x020000000077;
    return decide(other, FunctionMac, values);
  }

  static const std::vector<privilege>& privileges() {
    using enum command_status;
    static const std::vector<privilege> All = {
        {EnableHca, "other", BadParameter, [](auto other) { return simple(EnableHca, other); }},
        {DisableHca, "other", BadParameter, [](auto other) { return simple(DisableHca, other); }},
        {QueryFunction, "other", BadOperation,
         [](auto other) { return simple(QueryFunction, other); }},
        {QueryFunction, "own", BadOperation, [](auto) { return simple(QueryFunction, 1); }},
        {ModifyFunction, "other", BadOperation, decision},
        {ModifyFunction, "own", BadOperation, [](auto) { return decision(1); }},
        {QueryNicVportContext, "other", BadParameter,
         [](auto other) { return port_command(QueryNicVportContext, other); }},
        {ModifyNicVportContext, "other", BadParameter,
         [](auto other) {
           return modify_port(
               VportSelectMtu, [](auto& it) { it.mtu = 1500; }, other);
         }},
        {QueryVportState, "other", BadParameter,
         [](auto other) { return port_command(QueryVportState, other); }},
        {ModifyVportState, "other", BadParameter,
         [](auto other) { return port_command(ModifyVportState, other, VportStateNic, 1); }},
        {ModifyVportState, "own_link", BadParameter,
         [](auto) { return port_command(ModifyVportState, {}, VportStateEswitch, 1); }},
        {QueryVportCounter, "other", BadParameter, [](auto other) { return count(other); }},
        {QueryVportCounter, "chip", BadParameter, [](auto) { return count(VportUplink); }},
        {QueryCongParams, "port", BadOperation,
         [](auto) { return simple(QueryCongParams, CongReactionPoint); }},
        {ModifyCongParams, "port", BadOperation,
         [](auto) { return simple(ModifyCongParams, CongNotificationPoint); }},
    };
    return All;
  }

 protected:
  void SetUp() override {
    bring_all_up();
    for (std::uint16_t function = 0; function < Functions; ++function) {
      // Page numbers are each function's own: the others' has one that this one has not.
      extra_pages(function, function);
      things_[function] = furnish(function);
    }
  }

  void extra_pages(std::uint16_t function, unsigned pages) {
    for (unsigned i = 0; i < pages; ++i) {
      make(simple(AllocUar), function);
    }
  }

  std::array<belongings, Functions> things_{};
};

class foreign_object : public isolated_function, public testing::WithParamInterface<reference> {};

TEST_P(foreign_object, is_refused_and_nothing_changes) {
  constexpr std::array<std::array<std::uint16_t, 2>, 4> Pairs = {{{1, 2}, {2, 3}, {0, 1}, {0, 3}}};
  for (const auto& [caller, owner] : Pairs) {
    const input in = GetParam().command(things_[caller], things_[owner]);
    refused(in, command_status::BadResource, GetParam().why, caller);
    EXPECT_TRUE(core.lines_wanted(caller, in).empty()) << "not even a line is read";
  }
}

TEST_P(foreign_object, of_the_pf_is_refused_too) {
  if (std::string_view(GetParam().object) == "uar") {
    return;  // a VF has the PF's page numbers, too: they are its own pages
  }
  const input in = GetParam().command(things_[1], things_[0]);
  refused(in, command_status::BadResource, GetParam().why, 1);
}

std::string name_of(const testing::TestParamInfo<reference>& info) {
  return std::string(to_string(info.param.opcode)) + "_" + info.param.object;
}

INSTANTIATE_TEST_SUITE_P(commands, foreign_object, testing::ValuesIn(references()), name_of);

class privilege_of_the_pf : public isolated_function,
                            public testing::WithParamInterface<privilege> {};

TEST_P(privilege_of_the_pf, is_refused_to_a_vf_and_nothing_changes_trusted_or_not) {
  for (const bool trusted : {false, true}) {
    trust(1, trusted);
    for (const std::uint16_t other : {std::uint16_t{2}, std::uint16_t{3}}) {
      refused(GetParam().command(other), GetParam().status, command_syndrome::PrivilegedFunction,
              1);
    }
  }
}

std::string privilege_name(const testing::TestParamInfo<privilege>& info) {
  return std::string(to_string(info.param.opcode)) + "_" + info.param.about;
}

INSTANTIATE_TEST_SUITE_P(commands, privilege_of_the_pf,
                         testing::ValuesIn(isolated_function::privileges()), privilege_name);

TEST(isolation, every_command_that_names_something_is_in_these_tests) {
  // The caller's own state, new objects of nobody yet, and its own tables.
  std::set<command_opcode> seen = {QueryHcaCap, InitHca,        TeardownHca,     AllocPd,
                                   AllocUar,    SetRoceAddress, QueryRoceAddress};
  // No such commands: tested as unknown ones.
  seen.insert({None, QueryAdapter, ManagePages});
  for (const reference& each : references()) {
    seen.insert(each.opcode);
  }
  for (const privilege& each : isolated_function::privileges()) {
    seen.insert(each.opcode);
  }
  for (unsigned code = 0; code < 0x1000; ++code) {
    const auto opcode = static_cast<command_opcode>(code);
    if (std::string_view(to_string(opcode)) != "?") {
      EXPECT_TRUE(seen.contains(opcode)) << to_string(opcode);
    }
  }
}

}  // namespace
}  // namespace carillon
