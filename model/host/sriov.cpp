#include "host/sriov.h"

#include <array>
#include <utility>

namespace carillon {

namespace {

/// The settings as the device takes them, and which of them there are.
struct function_change {
  std::uint32_t fields = 0;
  function_context values;
};

/// `now`: what is in force, for what shares a field with something that is set.
function_change change_of(const vf_settings& wanted, const function_context& now) {
  function_change change;
  function_context& to = change.values;
  if (wanted.mac) {
    change.fields |= FunctionMac;
    to.mac = *wanted.mac;
  }
  if (wanted.vlan || wanted.qos) {
    change.fields |= FunctionVlan;
    to.vlan_valid = wanted.vlan ? 1 : now.vlan_valid;
    to.vlan = wanted.vlan.value_or(now.vlan);
    to.qos = wanted.qos.value_or(now.qos);
  }
  if (wanted.spoof_check) {
    change.fields |= FunctionSpoofCheck;
    to.spoof_check = *wanted.spoof_check ? 1 : 0;
  }
  if (wanted.trust) {
    change.fields |= FunctionTrust;
    to.trust = *wanted.trust ? 1 : 0;
  }
  if (wanted.max_tx_rate) {
    change.fields |= FunctionRate;
    to.max_tx_rate = *wanted.max_tx_rate;
  }
  if (wanted.link_state) {
    change.fields |= FunctionLink;
    to.link_state = *wanted.link_state;
  }
  if (wanted.weight || wanted.urgency) {
    change.fields |= FunctionShare;
    to.weight = wanted.weight.value_or(now.weight);
    to.urgency = wanted.urgency.value_or(now.urgency);
  }
  return change;
}

void put_partition(const vf_partition& part, function_context& to) {
  to.qps = part[context_table::qps];
  to.cqs = part[context_table::cqs];
  to.eqs = part[context_table::eqs];
  to.srqs = part[context_table::srqs];
  to.mkeys = part[context_table::mkeys];
  to.mtt_lines = part[context_table::mtt_lines];
}

constexpr std::uint16_t function_of(std::uint16_t index) {
  return static_cast<std::uint16_t>(index + 1);
}

}  // namespace

sriov::sriov(pci_bus& slot, device& pf, device_settings wanted,
             std::function<device*(unsigned)> make)
    : slot_(slot), pf_(pf), wanted_(std::move(wanted)), make_(std::move(make)) {}

task<> sriov::open(cpu& core) {
  co_await core.sync();
  co_await core.acquire(lock_);
  if (!opened_) {
    co_await enable(core);
    opened_ = true;
  }
  co_await core.sync();
  core.release(lock_);
}

task<> sriov::enable(cpu& core) {
  co_await pf_.open(core);
  if (wanted_.arbitration) {
    function_context values;
    values.arbitration = *wanted_.arbitration;
    co_await modify(core, 0, FunctionScheduler, values);
  }
  const std::uint16_t count = wanted_.enabled_vfs();
  if (count == 0) {
    co_return;
  }
  partitions_ = plan_partitions(chip_lines(pf_.capabilities()), wanted_);
  co_await slot_.enable_vfs(core, count);
  for (std::uint16_t index = 0; index < count; ++index) {
    const vf_settings settings = wanted_.of(index);
    function_context now;
    if (settings != vf_settings{}) {
      now = co_await query(core, function_of(index));
    }
    function_change change = change_of(settings, now);
    put_partition(partitions_[index], change.values);
    co_await modify(core, function_of(index), change.fields | FunctionPartition, change.values);
    co_await pf_.command(core, command_opcode::EnableHca, function_of(index));
    vfs_.push_back(make_(function_of(index)));
  }
}

task<> sriov::change(cpu& core, std::uint16_t index, vf_settings wanted) {
  const function_context now = co_await query(core, function_of(index));
  const function_change change = change_of(wanted, now);
  co_await modify(core, function_of(index), change.fields, change.values);
}

task<> sriov::modify(cpu& core, std::uint16_t function, std::uint32_t fields,
                     function_context values) {
  modify_function_in request;
  request.opcode = command_opcode::ModifyFunction;
  request.function_id = function;
  request.field_select = fields;
  request.function_context = values;
  std::array<std::uint8_t, modify_function_in::Size> input{};
  request.pack(input.data());
  co_await pf_.command(core, input);
}

task<function_context> sriov::query(cpu& core, std::uint16_t function) {
  cmd_in head;
  head.opcode = command_opcode::QueryFunction;
  head.number = function;
  std::array<std::uint8_t, cmd_in::Size> input{};
  head.pack(input.data());
  std::array<std::uint8_t, query_function_out::Size> output{};
  co_await pf_.command(core, input, output);
  co_return query_function_out::unpack(output.data()).function_context;
}

task<> sriov::renew(cpu& core, std::uint16_t index) {
  co_await slot_.reset(core, function_of(index));
  vfs_.at(index) = make_(function_of(index));
}

}  // namespace carillon
