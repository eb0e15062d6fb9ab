// Commands: right but for one object, which is somebody else's; and what only the PF may say, or
// not even the PF.
#include <utility>

#include "tb/common/qp_command_bench.h"
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

using namespace bench;  // NOLINT: the words of the commands

/// Gives the command and compares the answer; a refused command is counted for its giver.
task<> refused(hostile h, outcome& o, std::uint16_t function, input command, command_status status,
               command_syndrome why, std::size_t room = 0) {
  o.offender = function;
  std::vector<std::uint8_t> output(room);
  const command_reply reply =
      co_await h.house.of(function).driver->try_command(h.core, command, output);
  o.expect("the delivery", reply.delivery, command_delivery::Ok);
  o.expect("the status", reply.status, status);
  o.expect("the syndrome", reply.syndrome, why);
  o.expect("the number", reply.number, 0U);
  for (std::size_t i = cmd_out::Size; i < output.size() && o.wrong.empty(); ++i) {
    if (output[i] != 0) {
      o.wrong = "a refused command's output says something";
    }
  }
  o.count(function, counter::CommandErrors);
}

/// A command that is right but for one object.
struct reference {
  command_opcode opcode;
  const char* object;
  command_syndrome why;
  std::function<input(hostile, const tenant& own, const tenant& foreign)> make;
  std::size_t room = 0;  ///< of its output, if it is more than the head
};

std::uint32_t some_qp(hostile h, const tenant& who) {
  return any_of(h.random, who.qpns);
}

reference about(command_opcode opcode, const char* object, command_syndrome why,
                std::function<std::uint32_t(hostile, const tenant&)> number, std::size_t room = 0) {
  return {opcode, object, why,
          [=](hostile h, const tenant&, const tenant& foreign) {
            return simple(opcode, number(h, foreign));
          },
          room};
}

reference transition(command_opcode opcode) {
  return {opcode, "QP", command_syndrome::NoQp, [=](hostile h, const tenant&, const tenant& other) {
            return modify(opcode, some_qp(h, other), qpc{});
          }};
}

std::uint32_t eq_of(hostile, const tenant& who) {
  return who.events->eqn();
}

std::uint32_t cq_of(hostile, const tenant& who) {
  return who.cq->cqn();
}

std::uint32_t srq_of(hostile, const tenant& who) {
  return who.srq->srqn();
}

std::uint32_t key_of(hostile h, const tenant& who) {
  return h.random.chance(1, 2) ? who.buffer.index() : who.paged.index();
}

create_qp_in right_qp(const tenant& own) {
  create_qp_in in = qp_request(own.pd, own.uar->number, own.cq->cqn());
  in.qpc.rq_type = rq_type::Srq;
  in.qpc.srqn_rmpn_xrqn = own.srq->srqn();
  return in;
}

/// CREATE_QP with one thing of another's.
template <class Change>
reference create_qp(const char* object, command_syndrome why, Change change) {
  return {CreateQp, object, why, [=](hostile, const tenant& own, const tenant& foreign) {
            create_qp_in in = right_qp(own);
            change(in.qpc, foreign);
            return packed(in, {0x4000});
          }};
}

std::vector<reference> references() {
  using enum command_syndrome;
  std::vector<reference> all = {
      about(DeallocPd, "PD", NoPd, [](hostile, const tenant& who) { return who.pd; }),
      about(DestroyMkey, "key", NoMkey, key_of),
      about(QueryMkey, "key", NoMkey, key_of, query_mkey_out::Size),
      {CreateMkey, "PD", NoPd,
       [](hostile, auto&, auto& foreign) { return packed(mkey_request(foreign.pd)); }},
      {CreateMkey, "QP", NoQp,
       [](hostile h, auto& own, auto& foreign) {
         create_mkey_in in = mkey_request(own.pd);
         in.memory_key_mkey_entry.qpn = some_qp(h, foreign);
         return packed(in);
       }},
      about(DestroyEq, "EQ", NoEq, eq_of),
      about(QueryEq, "EQ", NoEq, eq_of, query_eq_out::Size),
      about(DestroyCq, "CQ", NoCq, cq_of),
      about(QueryCq, "CQ", NoCq, cq_of, query_cq_out::Size),
      {ModifyCq, "CQ", NoCq,
       [](hostile, auto&, auto& foreign) {
         modify_cq_in in;
         in.opcode = ModifyCq;
         in.cqn = foreign.cq->cqn();
         in.field_select = CqSelectPeriod;
         return packed(in);
       }},
      {CreateCq, "EQ", NoEq,
       [](hostile, auto& own, auto& foreign) {
         create_cq_in in = cq_request(own.uar->number);
         in.cq_context.c_eqn_or_apu_element = foreign.events->eqn();
         return packed(in, {0x8000});
       }},
      about(DestroySrq, "SRQ", NoSrq, srq_of),
      about(QuerySrq, "SRQ", NoSrq, srq_of, query_srq_out::Size),
      {ArmRq, "SRQ", NoSrq,
       [](hostile, auto&, auto& foreign) {
         arm_rq_in in;
         in.opcode = ArmRq;
         in.op_mod = ArmRqSrq;
         in.srq_number = foreign.srq->srqn();
         return packed(in);
       }},
      {CreateSrq, "PD", NoPd,
       [](hostile, auto&, auto& foreign) { return packed(srq_request(foreign.pd), {0x6000}); }},
      about(DestroyQp, "QP", NoQp, some_qp),
      about(QueryQp, "QP", NoQp, some_qp, query_qp_out::Size),
      about(ToErrQp, "QP", NoQp, some_qp),
      about(ToRstQp, "QP", NoQp, some_qp),
      create_qp("PD", NoPd, [](qpc& it, const tenant& foreign) { it.pd = foreign.pd; }),
      create_qp("send CQ", NoCq,
                [](qpc& it, const tenant& foreign) { it.cqn_snd = foreign.cq->cqn(); }),
      create_qp("receive CQ", NoCq,
                [](qpc& it, const tenant& foreign) { it.cqn_rcv = foreign.cq->cqn(); }),
      create_qp("SRQ", NoSrq,
                [](qpc& it, const tenant& foreign) { it.srqn_rmpn_xrqn = foreign.srq->srqn(); }),
  };
  for (const command_opcode opcode : {Rst2InitQp, Init2InitQp, Init2RtrQp, Rtr2RtsQp, Rts2RtsQp,
                                      Sqerr2RtsQp, Rts2SqdQp, Sqd2RtsQp}) {
    all.push_back(transition(opcode));
  }
  return all;
}

/// Page numbers are each function's own: these name one that the other has and the caller has not.
std::vector<reference> page_references() {
  using enum command_syndrome;
  return {
      about(DeallocUar, "UAR page", NoUar,
            [](hostile, const tenant& who) { return who.last_page; }),
      {CreateEq, "UAR page", NoUar,
       [](hostile, auto&, auto& foreign) {
         return packed(eq_request(foreign.last_page), {0x7000});
       }},
      {CreateCq, "UAR page", NoUar,
       [](hostile, auto&, auto& foreign) {
         return packed(cq_request(foreign.last_page), {0x8000});
       }},
      create_qp("UAR page", NoUar,
                [](qpc& it, const tenant& foreign) { it.uar_page = foreign.last_page; }),
  };
}

// Functions and their ports ---------------------------------------------------------------------

input port_command(command_opcode opcode, std::uint16_t other, std::uint16_t op_mod = 0,
                   std::uint8_t admin_state = 0) {
  vport_state_in in;
  in.opcode = opcode;
  in.op_mod = op_mod;
  in.other_vport = 1;
  in.vport_number = other;
  in.admin_state = admin_state;
  return packed(in);
}

input decision(std::uint16_t other, std::uint32_t fields, random_stream& random) {
  modify_function_in in;
  in.opcode = ModifyFunction;
  in.function_id = other;
  in.field_select = fields;
  in.function_context.mac = 0x020000000000 + random.below(0x10000);
  in.function_context.trust = 1;
  in.function_context.weight = 7;
  return packed(in);
}

input own_link(std::uint8_t state) {
  vport_state_in in;
  in.opcode = ModifyVportState;
  in.op_mod = VportStateEswitch;
  in.admin_state = state;
  return packed(in);
}

input count_of(std::uint16_t other) {
  query_vport_counter_in in;
  in.opcode = QueryVportCounter;
  in.other_vport = 1;
  in.vport_number = other;
  return packed(in);
}

template <class Change>
input modify_port(std::uint32_t fields, Change change, std::optional<std::uint16_t> other = {}) {
  modify_nic_vport_context_in in;
  in.opcode = ModifyNicVportContext;
  in.other_vport = other ? 1 : 0;
  in.vport_number = other.value_or(0);
  in.field_select = fields;
  change(in.nic_vport_context);
  return packed(in);
}

/// What the caller may not say because it is not the PF.
struct privilege {
  const char* name;
  command_status status;
  command_syndrome why;
  std::function<input(hostile, std::uint16_t other)> make;
};

/// About another function, by its number.
std::vector<privilege> privileges() {
  using enum command_status;
  constexpr auto Why = command_syndrome::PrivilegedFunction;
  return {
      {"EnableHca", BadParameter, Why,
       [](hostile, auto other) { return simple(EnableHca, other); }},
      {"DisableHca", BadParameter, Why,
       [](hostile, auto other) { return simple(DisableHca, other); }},
      {"QueryFunction", BadOperation, Why,
       [](hostile, auto other) { return simple(QueryFunction, other); }},
      {"ModifyFunction", BadOperation, Why,
       [](hostile h, auto other) {
         const auto fields = static_cast<std::uint32_t>(1U << h.random.below(8));
         return decision(other, fields, h.random);
       }},
      {"QueryNicVportContext", BadParameter, Why,
       [](hostile, auto other) { return port_command(QueryNicVportContext, other); }},
      {"ModifyNicVportContext", BadParameter, Why,
       [](hostile, auto other) {
         return modify_port(
             VportSelectMtu, [](auto& it) { it.mtu = 1500; }, other);
       }},
      {"QueryVportState", BadParameter, Why,
       [](hostile, auto other) { return port_command(QueryVportState, other); }},
      {"ModifyVportState", BadParameter, Why,
       [](hostile h, auto other) {
         return port_command(ModifyVportState, other, VportStateNic,
                             static_cast<std::uint8_t>(h.random.below(2)));
       }},
      {"QueryVportCounter", BadParameter, Why, [](hostile, auto other) { return count_of(other); }},
  };
}

/// About itself: what needs the PF, or trust.
std::vector<privilege> own_limits() {
  using enum command_status;
  constexpr auto Privileged = command_syndrome::PrivilegedFunction;
  constexpr auto NotTrusted = command_syndrome::NotTrusted;
  return {
      {"QueryFunction", BadOperation, Privileged,
       [](hostile, auto) { return simple(QueryFunction, Attacker); }},
      {"ModifyFunction", BadOperation, Privileged,
       [](hostile h, auto) {
         return decision(Attacker, static_cast<std::uint32_t>(1U << h.random.below(8)), h.random);
       }},
      {"congestion parameters of the port", BadOperation, Privileged,
       [](hostile h, auto) {
         return simple(h.random.chance(1, 2) ? QueryCongParams : ModifyCongParams,
                       static_cast<std::uint32_t>(h.random.between(1, 3)));
       }},
      {"link state", BadParameter, Privileged,
       [](hostile h, auto) { return own_link(static_cast<std::uint8_t>(h.random.below(2))); }},
      {"counters of the chip", BadParameter, Privileged,
       [](hostile, auto) { return count_of(VportUplink); }},
      {"MAC address", BadParameter, NotTrusted,
       [](hostile h, auto) {
         const std::uint64_t wanted = h.house.mac(Victim);
         return modify_port(VportSelectAddress, [=](auto& it) { it.permanent_address = wanted; });
       }},
      {"promiscuous mode", BadParameter, NotTrusted,
       [](hostile, auto) {
         return modify_port(VportSelectPromisc, [](auto& it) { it.promisc_uc = 1; });
       }},
      {"source MAC of a GID", BadParameter, NotTrusted,
       [](hostile h, auto) {
         set_roce_address_in in = gid_request(2, ip(77));
         in.roce_address.source_mac = h.house.mac(h.random.chance(1, 2) ? Victim : Pf);
         return packed(in);
       }},
      {"VLAN of a GID", BadParameter, NotTrusted,
       [](hostile, auto) {
         set_roce_address_in in = gid_request(2, ip(77));
         in.roce_address.vlan_valid = 1;
         in.roce_address.vlan_id = BystanderVlan;
         return packed(in);
       }},
      {"EQ on a vector that is not there", BadIndex, command_syndrome::Vector,
       [](hostile h, auto) {
         create_eq_in in = eq_request(h.house.of(Attacker).uar->number);
         in.eq_context_entry.intr = static_cast<std::uint8_t>(h.random.between(Vectors, 255));
         return packed(in, {0x7000});
       }},
  };
}

context_range range_of(hostile h, std::uint16_t function) {
  const auto part = h.house.endpoint().commands().partitions().of(function, context_kind::cqc);
  return {part.first, part.count};
}

/// What not even the PF may.
std::vector<privilege> limits_of_the_pf() {
  using enum command_status;
  const auto partition = [](std::uint16_t function, context_range cqs) {
    modify_function_in in;
    in.opcode = ModifyFunction;
    in.function_id = function;
    in.field_select = FunctionPartition;
    in.function_context.cqs = cqs;
    return packed(in);
  };
  return {
      {"partition of a VF that works", BadSystemState, command_syndrome::FunctionState,
       [=](hostile h, auto other) { return partition(other, range_of(h, other)); }},
      {"partition over another VF's", NoResources, command_syndrome::Partition,
       [=](hostile h, auto other) { return partition(Ghost, range_of(h, other)); }},
      {"function that does not exist", BadParameter, command_syndrome::BadFunction,
       [](hostile h, auto) {
         return simple(QueryFunction, static_cast<std::uint32_t>(h.random.between(20, 0xffff)));
       }},
      {"EQ on a vector that is not there", BadIndex, command_syndrome::Vector,
       [](hostile h, auto) {
         create_eq_in in = eq_request(h.house.of(Pf).uar->number);
         in.eq_context_entry.intr = static_cast<std::uint8_t>(h.random.between(Vectors, 255));
         return packed(in, {0x7000});
       }},
  };
}

/// A disabled VF gives a command as if it were alive, about its own old things or others'.
std::vector<command_opcode> ghostly() {
  return {AllocPd, AllocUar, QueryCq, DestroyQp, ToErrQp, QueryMkey, DestroyEq, QuerySrq, QueryQp};
}

}  // namespace

void add_command_bins(bin_table& to) {
  constexpr const char* Status = "status and syndrome of the command";
  constexpr unsigned Often = 4;
  const auto add = [&](const reference& each, offence who) {
    const std::string name = std::string(to_string(each.opcode)) + " with its " + each.object;
    to.push_back({"context", who, name, Status, Often, [=](hostile h, outcome& o) {
                    const auto [offender, target] = choose(who, h.random);
                    input command = each.make(h, h.house.of(offender), h.house.of(target));
                    return refused(h, o, offender, std::move(command), command_status::BadResource,
                                   each.why, each.room);
                  }});
  };
  for (const reference& each : references()) {
    add(each, offence::vf_to_vf);
    add(each, offence::vf_to_pf);
    add(each, offence::pf_to_vf);
  }
  for (const reference& each : page_references()) {
    add(each, offence::vf_to_vf);
    add(each, offence::vf_to_pf);
    // The PF has as many pages as the attacker and one more: of the others' one is beyond its own.
    to.push_back({"context", offence::pf_to_vf,
                  std::string(to_string(each.opcode)) + " with its " + each.object, Status, Often,
                  [=](hostile h, outcome& o) {
                    const std::uint16_t target = h.random.chance(1, 2) ? Victim : Bystander;
                    input command = each.make(h, h.house.of(Pf), h.house.of(target));
                    return refused(h, o, Pf, std::move(command), command_status::BadResource,
                                   each.why, each.room);
                  }});
  }
  const auto add_privilege = [&](const privilege& each, offence who, const char* resource) {
    to.push_back({resource, who, each.name, Status, Often, [=](hostile h, outcome& o) {
                    const auto [offender, target] = choose(who, h.random);
                    return refused(h, o, offender, each.make(h, target), each.status, each.why);
                  }});
  };
  for (const privilege& each : privileges()) {
    add_privilege(each, offence::vf_to_vf, "function");
    // 0 is the caller itself, so the PF cannot be named by ENABLE_HCA and DISABLE_HCA.
    if (std::string_view(each.name).find("ableHca") == std::string_view::npos) {
      add_privilege(each, offence::vf_to_pf, "function");
    }
  }
  for (const privilege& each : own_limits()) {
    add_privilege(each, offence::own, "function");
  }
  for (const privilege& each : limits_of_the_pf()) {
    add_privilege(each, offence::pf_to_vf, "function");
  }
  for (const command_opcode opcode : ghostly()) {
    to.push_back(
        {"function", offence::ghost, to_string(opcode), Status, Often, [=](hostile h, outcome& o) {
           const std::uint32_t number = static_cast<std::uint32_t>(h.random.below(128));
           return refused(h, o, Ghost, simple(opcode, number), command_status::BadSystemState,
                          command_syndrome::FunctionState);
         }});
  }
}

}  // namespace carillon::isolation
