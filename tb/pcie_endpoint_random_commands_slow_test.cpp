// Random commands of several functions, right ones, nearly right ones and damaged ones, in a chip
// that is small enough to be full often. After each: a refused command has changed nothing, one
// that was served has changed nobody else, and every number is of the caller's partition.
#include <set>
#include <string_view>

#include "common/random.h"
#include "tb/common/function_bench.h"

namespace carillon {
namespace {

using namespace bench;  // NOLINT: the words of the bench

constexpr unsigned Commands = 200000;

class random_commands : public function_commands {
 protected:
  random_commands() : function_commands(small_chip()) {}

  /// Seven numbers of each kind for a VF.
  static command_limits small_chip() {
    command_limits all = shared_limits();
    all.log_max_qp = all.log_max_cq = all.log_max_eq = all.log_max_srq = 5;
    all.log_max_mkey = all.log_max_mtt_lines = 5;
    all.uar_pages = 4;
    all.num_gids = 3;
    all.vendor_rule = true;
    return all;
  }

  std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>(random.below(bound));
  }

  template <class Record>
  std::uint32_t some(const number_table<Record>& table, std::uint16_t function) {
    std::vector<std::uint32_t> own;
    std::vector<std::uint32_t> all;
    for (const auto& [number, record] : table) {
      all.push_back(number);
      if (record.function == function) {
        own.push_back(number);
      }
    }
    const std::vector<std::uint32_t>& from = random.chance(9, 10) ? own : all;
    return from.empty() || random.chance(1, 20) ? below(40) : from[below(from.size())];
  }

  std::uint32_t some_page(std::uint16_t function) {
    const auto& pages = core.tables().functions[function].uar_pages;
    return pages.empty() || random.chance(1, 10) ? below(6)
                                                 : *std::next(pages.begin(), below(pages.size()));
  }

  std::uint16_t some_function() { return static_cast<std::uint16_t>(below(Functions + 1)); }

  std::optional<std::uint16_t> some_port() {
    return random.chance(1, 2) ? std::optional<std::uint16_t>(some_function()) : std::nullopt;
  }

  context_range some_range() { return {below(34), random.chance(1, 10) ? 40 : below(9)}; }

  input decision(std::uint16_t other) {
    function_context values = share_of(static_cast<std::uint16_t>(1 + below(Functions - 1)));
    if (random.chance(1, 2)) {
      values.qps = some_range();
      values.eqs = some_range();
      values.mtt_lines = some_range();
    }
    values.mac = 0x020000000001 + below(6);
    values.vlan_valid = static_cast<std::uint8_t>(below(2));
    values.vlan = static_cast<std::uint16_t>(below(3));
    values.qos = static_cast<std::uint8_t>(3 + below(2));
    values.trust = static_cast<std::uint8_t>(below(2));
    values.spoof_check = static_cast<std::uint8_t>(below(2));
    values.weight = static_cast<std::uint16_t>(below(3));
    values.link_state = static_cast<vport_link_state>(below(4));
    values.arbitration = static_cast<function_arbitration>(below(4));
    return decide(other, below(0x400) & below(0x400), values);
  }

  input about_functions(std::uint16_t function) {
    // Functions go now and then and come back soon.
    const std::uint32_t other = some_function();
    switch (below(20)) {
      case 0:
        return simple(TeardownHca, random.chance(1, 2) ? TeardownForce : 0);
      case 1:
        return simple(DisableHca, random.chance(1, 2) ? other : 0);
      case 2:
        return decision(static_cast<std::uint16_t>(other));
      case 3:
        return simple(QueryFunction, other);
      case 4:
        return simple(QueryHcaCap);
      case 5:
      case 6:
      case 7:
      case 8:
        return simple(EnableHca, other);
      case 9:
      case 10:
      case 11:
        return simple(EnableHca);
      case 12: {
        nic_vport_context values;
        values.mtu = 1500;
        values.roce_en = 1;
        values.permanent_address = core.mac(function) + below(2);
        values.promisc_uc = static_cast<std::uint8_t>(below(2));
        return modify_port(
            below(0x400) & 0x35a, [&](auto& it) { it = values; }, some_port());
      }
      case 13:
        return port_command(random.chance(1, 2) ? QueryVportState : ModifyVportState, some_port(),
                            static_cast<std::uint16_t>(below(3)),
                            static_cast<std::uint8_t>(below(3)));
      case 14:
        return random.chance(1, 2) ? count(some_port())
                                   : port_command(QueryNicVportContext, some_port());
      default:
        return simple(InitHca);
    }
  }

  input about_addresses(std::uint16_t function) {
    if (random.chance(1, 4)) {
      return simple(QueryRoceAddress, below(4) << 16);
    }
    const std::uint64_t mac = random.chance(1, 2) ? core.mac(function) : 0x020000000001 + below(6);
    return gid_of(static_cast<std::uint16_t>(below(4)), random.chance(1, 2) ? mac : 0,
                  random.chance(1, 4) ? std::optional<std::uint16_t>(below(3)) : std::nullopt);
  }

  /// Some value is out of its range now and then, and some protocol is none.
  input about_congestion() {
    const auto protocol = static_cast<std::uint8_t>(CongReactionPoint - 1 + below(3));
    const std::uint32_t select = 1U << below(20) | 1U << below(20);
    if (random.chance(1, 3)) {
      return congestion_request(QueryCongParams, protocol, select, roce_ecn_rp{});
    }
    if (protocol == CongNotificationPoint) {
      roce_ecn_np notification;
      notification.min_time_between_cnps = below(0x20000);
      notification.cnp_dscp = static_cast<std::uint8_t>(below(70));
      notification.cnp_802p_prio = static_cast<std::uint8_t>(below(8));
      return congestion_request(ModifyCongParams, protocol, select, notification);
    }
    roce_ecn_rp reaction;
    reaction.rpg_time_reset = below(0x20000);
    reaction.rpg_min_dec_fac = below(110);
    reaction.rpg_min_rate = below(5);
    reaction.rpg_gd = 9 + below(4);
    return congestion_request(ModifyCongParams, protocol, select, reaction);
  }

  input creation(std::uint16_t function) {
    const command_tables& all = core.tables();
    switch (below(8)) {
      case 0:
        return simple(AllocPd);
      case 1:
        return simple(AllocUar);
      case 2:
        return packed(eq_request(some_page(function)), {0x7000});
      case 3: {
        create_cq_in in = cq_request(some_page(function));
        in.cq_context.c_eqn_or_apu_element = random.chance(1, 3) ? 0 : some(all.eqs, function);
        return packed(in, {0x8000});
      }
      case 4:
        return packed(srq_request(some(all.pds, function)), {0x6000});
      case 5:
        return key_of_pages(some(all.pds, function), 1 + below(20));
      default: {
        create_qp_in in =
            qp_request(some(all.pds, function), some_page(function), some(all.cqs, function));
        in.qpc.cqn_rcv = some(all.cqs, function);
        in.qpc.st = static_cast<qpc_service>(below(4));
        if (random.chance(1, 2)) {
          in.qpc.rq_type = rq_type::Srq;
          in.qpc.srqn_rmpn_xrqn = some(all.srqs, function);
        }
        return packed(in, {0x4000});
      }
    }
  }

  input destruction(std::uint16_t function) {
    const command_tables& all = core.tables();
    const bool query = random.chance(1, 3);
    switch (below(8)) {
      case 0:
        return simple(DeallocPd, some(all.pds, function));
      case 1:
        return simple(DeallocUar, some_page(function));
      case 2:
        return simple(query ? QueryEq : DestroyEq, some(all.eqs, function));
      case 3: {
        modify_cq_in in;
        in.opcode = ModifyCq;
        in.cqn = some(all.cqs, function);
        in.field_select = below(8);
        return query ? packed(in) : simple(random.chance(1, 3) ? QueryCq : DestroyCq, in.cqn);
      }
      case 4: {
        arm_rq_in in;
        in.opcode = ArmRq;
        in.op_mod = ArmRqSrq;
        in.srq_number = some(all.srqs, function);
        in.lwm = static_cast<std::uint16_t>(below(40));
        return query ? packed(in)
                     : simple(random.chance(1, 3) ? QuerySrq : DestroySrq, in.srq_number);
      }
      case 5:
        return simple(query ? QueryMkey : DestroyMkey, some(all.mkeys, function));
      default:
        return simple(query ? QueryQp : DestroyQp, some(all.qps, function));
    }
  }

  input step_of_qp(std::uint16_t function) {
    constexpr std::array Steps = {Rst2InitQp,  Init2InitQp, Init2RtrQp, Rtr2RtsQp, Rts2RtsQp,
                                  Sqerr2RtsQp, Rts2SqdQp,   Sqd2RtsQp,  ToErrQp,   ToRstQp};
    qpc wanted = any_context();
    ads& path = wanted.primary_address_path;
    path.eth_prio = static_cast<std::uint8_t>(3 + below(2));
    path.src_addr_index = static_cast<std::uint8_t>(below(4));
    return modify(Steps[below(Steps.size())], some(core.tables().qps, function), wanted,
                  random.chance(1, 8) ? below(0x80) : 0);
  }

  input next(std::uint16_t function) {
    input in;
    switch (below(10)) {
      case 0:
        in = about_functions(function);
        break;
      case 1:
        in = random.chance(1, 4) ? about_congestion() : about_addresses(function);
        break;
      case 2:
      case 3:
      case 4:
      case 5:
        in = creation(function);
        break;
      case 6:
      case 7:
        in = destruction(function);
        break;
      default:
        in = step_of_qp(function);
        break;
    }
    if (random.chance(1, 6)) {
      in[below(random.chance(1, 2) ? 16 : in.size())] ^= static_cast<std::uint8_t>(1 + below(255));
    }
    if (random.chance(1, 50)) {
      in.resize(below(in.size()));
    }
    return in;
  }

  /// Everything of other functions is as it was; of `allowed` the record may have changed.
  void others_are_untouched(const command_tables& before, std::uint16_t caller,
                            std::uint16_t allowed) {
    const command_tables& now = core.tables();
    for (std::uint16_t function = 0; function < Functions; ++function) {
      if (function != caller && function != allowed) {
        ASSERT_TRUE(now.functions[function] == before.functions[function]) << function;
      }
    }
    const auto compare = [caller](const auto& a, const auto& b) {
      auto left = a.begin();
      auto right = b.begin();
      for (;;) {
        while (left != a.end() && left->second.function == caller) {
          ++left;
        }
        while (right != b.end() && right->second.function == caller) {
          ++right;
        }
        if (left == a.end() || right == b.end()) {
          return left == a.end() && right == b.end();
        }
        if (!(*left == *right)) {
          return false;
        }
        ++left;
        ++right;
      }
    };
    ASSERT_TRUE(compare(now.pds, before.pds));
    ASSERT_TRUE(compare(now.eqs, before.eqs));
    ASSERT_TRUE(compare(now.cqs, before.cqs));
    ASSERT_TRUE(compare(now.srqs, before.srqs));
    ASSERT_TRUE(compare(now.mkeys, before.mkeys));
    ASSERT_TRUE(compare(now.qps, before.qps));
  }

  void lines_are_of(std::uint16_t function) {
    const partition_table parts = core.partitions();
    for (const context_write& each : core.effects().lines) {
      if (function != 0) {
        ASSERT_TRUE(parts.reaches(function, each.kind, each.index));
        continue;
      }
      for (std::uint16_t vf = 1; vf < Functions; ++vf) {
        ASSERT_FALSE(parts.reaches(vf, each.kind, each.index)) << "VF " << vf;
      }
    }
  }

  /// Every object is as often referred to as it says.
  void users_are_counted() {
    const command_tables& all = core.tables();
    std::map<std::uint32_t, std::uint32_t> pds;
    std::map<std::uint32_t, std::uint32_t> eqs;
    std::map<std::uint32_t, std::uint32_t> cqs;
    std::map<std::uint32_t, std::uint32_t> srqs;
    for (const auto& [number, qp] : all.qps) {
      ++pds[qp.created.pd];
      ++cqs[qp.created.cqn_snd];
      ++cqs[qp.created.cqn_rcv];
      if (qp.created.rq_type == rq_type::Srq) {
        ++srqs[qp.created.srqn_rmpn_xrqn];
      }
    }
    for (const auto& [number, srq] : all.srqs) {
      ++pds[srq.context.pd];
      ASSERT_EQ(srq.users, srqs[number]);
    }
    for (const auto& [number, key] : all.mkeys) {
      ++pds[key.context.pd];
    }
    for (const auto& [number, cq] : all.cqs) {
      ++eqs[cq.context.c_eqn_or_apu_element];
      ASSERT_EQ(cq.users, cqs[number]);
    }
    for (const auto& [number, eq] : all.eqs) {
      ASSERT_EQ(eq.users, eqs[number]);
    }
    for (const auto& [number, domain] : all.pds) {
      ASSERT_EQ(domain.users, pds[number]);
    }
  }

  /// The function that the command has taken everything from has nothing, and nobody else less.
  void finish_teardown(std::uint16_t function) {
    const command_tables before = core.tables();
    while (core.teardown_step(function)) {
      ASSERT_NO_FATAL_FAILURE(lines_are_of(function));
    }
    ASSERT_TRUE(has_nothing(function));
    ASSERT_NO_FATAL_FAILURE(others_are_untouched(before, function, function));
  }

  /// No such commands; and SQER comes from the pipeline, which is not here.
  static std::vector<command_opcode> not_served() {
    return {None, QueryAdapter, ManagePages, Sqerr2RtsQp};
  }

  random_stream random{2024, "random_commands"};
};

TEST_F(random_commands, touch_nobody_else_and_change_nothing_when_they_are_refused) {
  bring_all_up();
  unsigned served = 0;
  std::set<command_opcode> served_kinds;
  std::set<command_syndrome> reasons;
  for (unsigned i = 0; i < Commands; ++i) {
    const auto caller = static_cast<std::uint16_t>(below(Functions));
    const input in = next(caller);
    const command_tables before = core.tables();
    const command_result result = run(in, caller);
    if (result.status != command_status::Ok) {
      reasons.insert(result.syndrome);
      ASSERT_TRUE(core.tables() == before) << "command " << i;
      ASSERT_TRUE(core.effects().none());
      continue;
    }
    ++served;
    const cmd_in head = cmd_in::unpack(in.data());
    served_kinds.insert(head.opcode);
    // Function or port that the PF commands about, by the same bits in all of these commands.
    std::uint16_t allowed = caller;
    switch (head.opcode) {
      case EnableHca:
      case DisableHca:
      case ModifyFunction:
      case ModifyNicVportContext:
      case ModifyVportState:
        allowed = caller == 0 ? static_cast<std::uint16_t>(head.number) : caller;
        break;
      default:
        break;
    }
    ASSERT_NO_FATAL_FAILURE(others_are_untouched(before, caller, allowed)) << "command " << i;
    ASSERT_NO_FATAL_FAILURE(lines_are_of(caller)) << "command " << i;
    if (core.effects().teardown) {
      ASSERT_NO_FATAL_FAILURE(finish_teardown(*core.effects().teardown)) << "command " << i;
    }
    if (i % 64 == 0) {
      ASSERT_NO_FATAL_FAILURE(users_are_counted()) << "command " << i;
    }
  }
  // The test has been everywhere.
  EXPECT_GT(served, Commands / 5);
  for (const command_opcode each : not_served()) {
    served_kinds.insert(each);
  }
  for (unsigned code = 0; code < 0x1000; ++code) {
    const auto opcode = static_cast<command_opcode>(code);
    if (std::string_view(to_string(opcode)) != "?") {
      EXPECT_TRUE(served_kinds.contains(opcode)) << to_string(opcode);
    }
  }
  for (const command_syndrome why :
       {command_syndrome::UnknownCommand, command_syndrome::FunctionState,
        command_syndrome::BadFunction, command_syndrome::InputLength, command_syndrome::NoPd,
        command_syndrome::NoUar, command_syndrome::NoCq, command_syndrome::NoQp,
        command_syndrome::NoMkey, command_syndrome::NoSrq, command_syndrome::NoEq,
        command_syndrome::InUse, command_syndrome::TableFull, command_syndrome::Transition,
        command_syndrome::NotTrusted, command_syndrome::Partition,
        command_syndrome::PrivilegedFunction, command_syndrome::FieldValue}) {
    EXPECT_TRUE(reasons.contains(why)) << to_string(why);
  }
  tear_down(0);
  const command_tables fresh = command_core(small_chip()).tables();
  command_tables left = core.tables();
  left.lives = fresh.lives;
  EXPECT_TRUE(left == fresh) << "every number came back";
}

}  // namespace
}  // namespace carillon
