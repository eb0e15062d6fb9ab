// Configuration space: registers that a VF has not, functions that are not there, and SR-IOV
// control that does not move under VFs. Software hears nothing of a write to a read-only register.
#include "gen/pci.h"
#include "tb/isolation/hostile.h"

namespace carillon::isolation {

namespace {

task<> write_config(hostile h, outcome& o, std::uint16_t function, std::uint16_t offset,
                    std::uint32_t value) {
  cpu::config_access access;
  access.routing_id = h.house.of(function).where.routing_id;
  access.offset = offset;
  access.write = true;
  access.value = value;
  const cpu::config_reply reply = co_await h.core.config(access);
  o.expect("the completion", reply.status, completion_status::Success);
  // Nobody's state may change, not even its own.
  o.offender = Functions;
  co_await settle(h.core);
}

task<> header_of_vf(hostile h, outcome& o) {
  constexpr std::array<std::uint16_t, 9> Places = {pci_header::VendorId,
                                                   pci_header::Revision,
                                                   pci_header::Bar0,
                                                   pci_header::Bar1,
                                                   pci_header::Bar2,
                                                   pci_header::Bar4,
                                                   pci_header::SubsystemVendorId,
                                                   pci_header::Capabilities,
                                                   0x30};
  co_await write_config(h, o, any_of(h.random, std::array{Attacker, Ghost}),
                        any_of(h.random, Places), static_cast<std::uint32_t>(h.random.next()));
}

/// Where the PF has its SR-IOV capability a VF has nothing.
task<> sriov_of_vf(hostile h, outcome& o) {
  const auto offset = static_cast<std::uint16_t>(pci_sriov::At + h.random.below(16) * 4);
  co_await write_config(h, o, Attacker, offset, static_cast<std::uint32_t>(h.random.next()));
}

task<> number_of_vfs(hostile h, outcome& o) {
  co_await write_config(h, o, Pf, pci_sriov::NumVfs & ~3U,
                        static_cast<std::uint32_t>(h.random.below(16)));
}

task<> nobody(hostile h, outcome& o) {
  cpu::config_access access;
  access.routing_id = static_cast<std::uint16_t>(h.house.of(Pf).where.routing_id +
                                                 h.random.between(Functions, 0xff));
  access.offset = static_cast<std::uint16_t>(h.random.below(0x80) * 4);
  access.write = h.random.chance(1, 2);
  access.value = static_cast<std::uint32_t>(h.random.next());
  const cpu::config_reply reply = co_await h.core.config(access);
  o.expect("the completion", reply.status, completion_status::UnsupportedRequest);
  o.offender = Functions;
  co_await settle(h.core);
}

}  // namespace

void add_config_bins(bin_table& to) {
  constexpr const char* Silent = "nothing, as PCI says";
  constexpr unsigned Often = 20;
  to.push_back(
      {"configuration", offence::own, "header that a VF has not", Silent, Often, header_of_vf});
  to.push_back(
      {"configuration", offence::vf_to_pf, "SR-IOV capability", Silent, Often, sriov_of_vf});
  to.push_back(
      {"configuration", offence::pf_to_vf, "NumVFs under VFs", Silent, Often, number_of_vfs});
  to.push_back({"configuration", offence::nobody, "function that is not there",
                "unsupported request", Often, nobody});
}

}  // namespace carillon::isolation
