#include "tb/isolation/hostile.h"

#include <fmt/format.h>

namespace carillon::isolation {

namespace {

constexpr std::uint64_t PsPerNs = 1000;

}  // namespace

const char* to_string(offence who) {
  switch (who) {
    case offence::vf_to_vf:
      return "VF to VF";
    case offence::vf_to_pf:
      return "VF to PF";
    case offence::pf_to_vf:
      return "PF to VF";
    case offence::own:
      return "own limits";
    case offence::ghost:
      return "disabled VF";
    case offence::wire:
      return "wire";
    case offence::nobody:
      return "nobody";
  }
  return "?";
}

std::string hostile_bin::name() const {
  return fmt::format("{}, {}, {}", resource, to_string(who), operation);
}

const bin_table& all_bins() {
  static const bin_table All = [] {
    bin_table made;
    add_command_bins(made);
    add_doorbell_bins(made);
    add_register_bins(made);
    add_config_bins(made);
    add_key_bins(made);
    add_wire_bins(made);
    add_loopback_bins(made);
    return made;
  }();
  return All;
}

pair_of_functions choose(offence who, random_stream& random) {
  const std::uint16_t tenant = random.chance(1, 2) ? Victim : Bystander;
  switch (who) {
    case offence::vf_to_vf:
      return {Attacker, tenant};
    case offence::vf_to_pf:
      return {Attacker, Pf};
    case offence::pf_to_vf:
      return {Pf, random.chance(1, 3) ? Attacker : tenant};
    case offence::own:
      return {Attacker, Attacker};
    case offence::ghost:
      return {Ghost, random.chance(1, 3) ? Pf : tenant};
    case offence::wire:
    case offence::nobody:
      break;
  }
  return {Attacker, tenant};
}

task<> settle(cpu& core, std::uint64_t ns) {
  core.idle_until(core.time() + ns * PsPerNs);
  co_await core.sync();
}

}  // namespace carillon::isolation
