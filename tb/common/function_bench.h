// The words of the tests about several functions: a PF and three VFs with equal shares, and one
// object of each kind for any of them.
#pragma once

#include "tb/common/qp_command_bench.h"

namespace carillon::bench {

/// One of everything, of one function.
struct belongings {
  std::uint32_t pd = 0;
  std::uint32_t uar = 0;
  std::uint32_t eqn = 0;
  std::uint32_t cqn = 0;
  std::uint32_t srqn = 0;
  std::uint32_t qpn = 0;
  std::uint32_t key = 0;  ///< index, of a key with pages
};

class function_commands : public qp_commands {
 protected:
  static constexpr std::uint16_t Functions = 4;

  function_commands() : function_commands(shared_limits()) {}

  explicit function_commands(const command_limits& all) : qp_commands(all) {}

  static command_limits shared_limits() {
    command_limits all = limits();
    all.functions = Functions;
    all.max_vfs = Functions - 1;
    return all;
  }

  void bring_all_up() {
    for (std::uint16_t function = 0; function < Functions; ++function) {
      bring_up(function);
    }
  }

  /// Pages of 4 KiB that may be read and written.
  static input key_of_pages(std::uint32_t pd, std::size_t pages) {
    create_mkey_in in = mkey_request(pd);
    mkc& key = in.memory_key_mkey_entry;
    key.access_mode_1_0 = mkey_access_mode::Mtt;
    key.log_page_size = 12;
    key.len = pages * 4096;
    in.translations_octword_actual_size = static_cast<std::uint32_t>((pages + 1) / 2);
    std::vector<std::uint64_t> entries((pages + 1) / 2 * 2);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i] = 0x100003 + i * 0x1000;
    }
    return packed(in, entries);
  }

  belongings furnish(std::uint16_t function) {
    belongings all;
    all.pd = make(simple(AllocPd), function);
    all.uar = make(simple(AllocUar), function);
    all.eqn = make(packed(eq_request(all.uar), {0x7000}), function);
    create_cq_in cq = cq_request(all.uar);
    cq.cq_context.c_eqn_or_apu_element = all.eqn;
    all.cqn = make(packed(cq, {0x8000}), function);
    all.srqn = make(packed(srq_request(all.pd), {0x6000}), function);
    create_qp_in qp = qp_request(all.pd, all.uar, all.cqn);
    qp.qpc.rq_type = rq_type::Srq;
    qp.qpc.srqn_rmpn_xrqn = all.srqn;
    all.qpn = make(packed(qp, {0x4000}), function);
    all.key = make(key_of_pages(all.pd, 9), function);
    return all;
  }

  /// Something that the PF decides about a function.
  template <class Change>
  input change(std::uint16_t function, std::uint32_t fields, Change values) {
    function_context context;
    values(context);
    return decide(function, fields, context);
  }

  function_context decided(std::uint16_t function) {
    make(simple(QueryFunction, function));
    return query_function_out::unpack(output.data()).function_context;
  }

  void trust(std::uint16_t function, bool on = true) {
    make(change(function, FunctionTrust, [&](auto& it) { it.trust = on ? 1 : 0; }));
  }

  /// A command about the port of a function: of the caller without `other`.
  static input port_command(command_opcode opcode, std::optional<std::uint16_t> other = {},
                            std::uint16_t op_mod = 0, std::uint8_t admin_state = 0) {
    vport_state_in in;
    in.opcode = opcode;
    in.op_mod = op_mod;
    in.other_vport = other.has_value() ? 1 : 0;
    in.vport_number = other.value_or(0);
    in.admin_state = admin_state;
    return packed(in);
  }

  template <class Change>
  static input modify_port(std::uint32_t fields, Change values,
                           std::optional<std::uint16_t> other = {}) {
    modify_nic_vport_context_in in;
    in.opcode = ModifyNicVportContext;
    in.other_vport = other.has_value() ? 1 : 0;
    in.vport_number = other.value_or(0);
    in.field_select = fields;
    values(in.nic_vport_context);
    return packed(in);
  }

  static input count(std::optional<std::uint16_t> other = {}, bool clear = false) {
    query_vport_counter_in in;
    in.opcode = QueryVportCounter;
    in.other_vport = other.has_value() ? 1 : 0;
    in.vport_number = other.value_or(0);
    in.clear = clear ? 1 : 0;
    return packed(in);
  }

  static input gid_of(std::uint16_t index, std::uint64_t mac,
                      std::optional<std::uint16_t> vlan = {}) {
    set_roce_address_in in = gid_request(index, ip(9));
    in.roce_address.source_mac = mac;
    in.roce_address.vlan_valid = vlan.has_value() ? 1 : 0;
    in.roce_address.vlan_id = vlan.value_or(0);
    return packed(in);
  }

  /// Takes all steps of a teardown; each has one object at most.
  unsigned tear_down(std::uint16_t function) {
    unsigned steps = 0;
    while (core.teardown_step(function)) {
      ++steps;
      EXPECT_EQ(core.effects().teardown, function);
      const int owners =
          (core.effects().qp ? 1 : 0) + (core.effects().cq ? 1 : 0) + (core.effects().srq ? 1 : 0);
      EXPECT_LE(owners, 1);
    }
    EXPECT_TRUE(core.effects().none());
    return steps;
  }

  [[nodiscard]] bool has_nothing(std::uint16_t function) const {
    const auto has = [function](const auto& table) {
      for (const auto& [number, record] : table) {
        if (record.function == function) {
          return true;
        }
      }
      return false;
    };
    const command_tables& all = core.tables();
    return !has(all.pds) && !has(all.eqs) && !has(all.cqs) && !has(all.srqs) && !has(all.mkeys) &&
           !has(all.qps) && all.functions[function].uar_pages.empty();
  }
};

}  // namespace carillon::bench
