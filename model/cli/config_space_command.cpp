#include "cli/config_space_command.h"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <memory>

#include "cli/output_file.h"
#include "cli/scenario_loader.h"
#include "cli/system.h"
#include "cli/text.h"
#include "common/error.h"
#include "gen/pci.h"

namespace carillon {

namespace {

constexpr unsigned SpaceBytes = 4096;
constexpr unsigned DwordBytes = 4;
constexpr unsigned LineBytes = 16;

struct space_image {
  pci_function function;
  std::array<std::uint8_t, SpaceBytes> bytes{};
};

task<> collect(pci_bus& slot, cpu& core, config_space_arguments wanted,
               std::vector<space_image>& into) {
  co_await slot.enumerate(core);
  if (wanted.vfs != 0) {
    co_await slot.enable_vfs(core, wanted.vfs);
  }
  std::vector<pci_function> functions = slot.functions();
  if (wanted.function) {
    functions = {slot.function(*wanted.function)};
  }
  for (const pci_function& each : functions) {
    space_image& image = into.emplace_back();
    image.function = each;
    for (std::uint16_t at = 0; at < SpaceBytes; at += DwordBytes) {
      const std::uint32_t value = co_await slot.read(core, each.routing_id, at, DwordBytes);
      for (unsigned i = 0; i < DwordBytes; ++i) {
        image.bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
      }
    }
  }
}

/// As lspci -xxxx prints it and lspci -F reads it. The text behind the address is for people.
std::string render(const space_image& image) {
  const unsigned id = image.function.routing_id;
  std::string out =
      fmt::format("{:02x}:{:02x}.{:x} Ethernet controller: {}\n", id >> 8, (id >> 3) & 0x1f, id & 7,
                  image.function.number == 0 ? std::string("PF")
                                             : fmt::format("VF {}", image.function.number - 1));
  for (unsigned at = 0; at < SpaceBytes; at += LineBytes) {
    fmt::format_to(std::back_inserter(out), "{:02x}:", at);
    for (unsigned i = 0; i < LineBytes; ++i) {
      fmt::format_to(std::back_inserter(out), " {:02x}", image.bytes[at + i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace

int run_config_space_command(const config_space_arguments& from) {
  scenario_overrides overrides;
  overrides.set = from.set;
  const scenario what = from.file.empty()
                            ? parse_scenario("[workload]\n", "config-space", overrides)
                            : load_scenario(from.file, overrides);
  run_point point = what.points.front();
  point.impl.clear();  // no stage with a twin has anything to do
  system_model system(point, 1, nullptr);
  std::vector<space_image> images;
  node& home = system.at(0);
  home.host.core(0).run(collect(home.slot, home.host.core(0), from, images));
  system.run();
  system.check_drained();
  std::string text;
  for (const space_image& each : images) {
    text += render(each) + "\n";
  }
  print(text);
  return static_cast<int>(exit_code::ok);
}

}  // namespace carillon
