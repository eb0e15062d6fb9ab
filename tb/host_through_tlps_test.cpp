// Everything that a driver does to a device goes through TLPs: what the device did is explained by
// what went over the link, and with the link cut nothing happens at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <string_view>

#include "cli/runner.h"
#include "cli/traffic.h"
#include "common/run.h"
#include "common/tlp_codec.h"
#include "gen/bytes.h"
#include "gen/pci.h"
#include "gen/registers.h"
#include "tb/common/two_hosts.h"

namespace carillon::bench {
namespace {

constexpr std::string_view Tenants = R"(
[device]
SRIOV_EN = true
NUM_OF_VFS = 3
[workload]
messages = 5
tenants = 3
)";

/// The register that starts a command: bit n of it, or its value, is one command.
std::uint32_t command_doorbell() {
  for (const register_desc& each : RegisterTable) {
    const std::string_view name = each.name;
    if (std::string_view(each.block) == "bar0" && name.rfind("cmd_d", 0) == 0) {
      return each.offset;
    }
  }
  ADD_FAILURE() << "BAR0 has no command doorbell";
  return 0;
}

/// What a host sends to its device.
class link_log final : public tlp_tap {
 public:
  void on_tlp(ps_t /*departure*/, const tlp& packet) override {
    const tlp_header header = decode(packet);
    if (header.kind == tlp_kind::memory_write) {
      const byte_range range = touched(header);
      ++writes[range.address];
    } else if (header.kind == tlp_kind::config_write) {
      ++config_writes[{header.destination, header.config_register}];
    }
  }

  /// Writes to that offset of a BAR.
  [[nodiscard]] std::uint64_t writes_to(std::uint64_t bar, std::uint64_t offset) const {
    const auto found = writes.find(bar + offset);
    return found == writes.end() ? 0 : found->second;
  }

  std::map<std::uint64_t, std::uint64_t> writes;  ///< by first byte
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint64_t> config_writes;
};

TEST(through_tlps, every_command_and_doorbell_of_a_run_with_vfs_went_over_the_link) {
  const run_point point = point_of(std::string(Tenants));
  system_model system(point, cores_of(point), {});
  std::array<link_log, 2> logs;
  for (unsigned i = 0; i < system.size(); ++i) {
    system.at(i).host.bus.port.tap(logs[i]);
  }
  const std::unique_ptr<traffic> programs = make_traffic(system, point);
  programs->start();
  system.run();
  programs->check_finished();
  EXPECT_EQ(programs->failed_completions(), 0U);

  for (unsigned i = 0; i < system.size(); ++i) {
    node& home = system.at(i);
    const counter_block& counted = home.adapter.counters();
    std::uint64_t commands = 0;
    std::uint64_t doorbells = 0;
    for (const pci_function& function : home.slot.functions()) {
      commands += logs[i].writes_to(function.bar0, command_doorbell());
      for (const auto& [address, count] : logs[i].writes) {
        const bool uar = address >= function.bar2 &&
                         address - function.bar2 <
                             static_cast<std::uint64_t>(point.params.nic.uar_pages) * UarPageBytes;
        doorbells += uar ? count : 0;
      }
    }
    EXPECT_GT(counted.value(counter::Commands), 3U * 8U) << "three VFs were brought up";
    EXPECT_EQ(counted.value(counter::Commands) + counted.value(counter::CommandErrors), commands)
        << home.name << ": a command that no TLP started";
    EXPECT_EQ(counted.value(counter::Doorbells) + counted.value(counter::DoorbellsCoalesced),
              doorbells)
        << home.name << ": a doorbell that no TLP rang";
    EXPECT_EQ(doorbells, i == 0 ? 3U * 5U : 0U);
    const std::uint16_t pf = home.slot.function(0).routing_id;
    const std::uint64_t enabled =
        logs[i].config_writes[{pf, static_cast<std::uint16_t>(pci_sriov::Control & ~3U)}];
    EXPECT_GE(enabled, 1U) << home.name << ": VFs that no configuration write enabled";
  }
}

/// Takes everything and answers nothing.
class dead_end final : public pcie_listener {
 public:
  explicit dead_end(sim_context& context) : port("dead_end", context, {}) { port.listen(*this); }

  void on_tlp(tlp* packet) override {
    ++taken;
    packet->release();
  }

  void on_credits() override {}

  pcie_port port;
  std::uint64_t taken = 0;
};

class no_wire final : public frame_sink {
 public:
  [[nodiscard]] ps_t free_at() const override { return 0; }

  void send(frame_item /*frame*/, ps_t /*first_bit*/) override { ++frames; }

  std::uint64_t frames = 0;
};

task<> bring_up(cpu& core, sriov& functions, bool& came_back) {
  co_await functions.open(core);
  came_back = true;
}

TEST(through_tlps, a_device_whose_link_is_cut_notices_nothing_of_its_driver) {
  const run_point point = point_of(std::string(Tenants));
  sim_context context(point.params, 1, 0);
  tlp_pool tlps;
  no_wire wire;
  nic_options options;
  options.mac = 0x020000000001;
  machine host("host", context, tlps, 1);
  nic adapter(context, "nic", tlps, wire, options);
  dead_end ends_here(context);
  dead_end nobody(context);
  host.bus.port.connect(ends_here.port);
  adapter.pcie().connect(nobody.port);
  pci_bus slot(host);
  device pf(host, slot, 0, adapter.shared().posted, gid_of_ipv4(0x0a000001));
  sriov functions(slot, pf, point.devices[0], [](unsigned) -> device* { return nullptr; });
  bool came_back = false;
  host.core(0).run(bring_up(host.core(0), functions, came_back));
  std::string refused;
  try {
    run_simulation();
  } catch (const config_error& error) {
    refused = error.what();  // "nobody is there" is an answer that a host may come to
  }
  EXPECT_FALSE(came_back);
  EXPECT_GE(ends_here.taken, 1U) << "the driver has tried";
  for (std::size_t i = 0; i < CounterCount; ++i) {
    EXPECT_EQ(adapter.counters().value(static_cast<counter>(i)), 0U) << CounterTable[i].name;
  }
  EXPECT_EQ(nobody.taken, 0U);
  EXPECT_EQ(wire.frames, 0U);
  host.core(0).abandon();
}

}  // namespace
}  // namespace carillon::bench
