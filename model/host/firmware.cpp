#include "host/firmware.h"

#include <algorithm>
#include <array>

#include "common/crc32.h"
#include "common/error.h"
#include "gen/bytes.h"
#include "gen/registers.h"

namespace carillon {

namespace {

constexpr std::size_t ImageBytes = 8192;
constexpr std::size_t WordBytes = 8;

void store_dword(cpu& core, std::uint64_t address, std::uint32_t value) {
  std::array<std::uint8_t, 4> raw{};
  bytes::store_be<4>(raw.data(), value);
  core.store_uncached(address, raw);
}

task<firmware_state> state_of(cpu& core, std::uint64_t bar4) {
  const std::uint64_t word = co_await core.load(bar4 + bar4::FwStatus, 4);
  co_return static_cast<firmware_state>(
      bar4::fw_status_value::unpack(static_cast<std::uint32_t>(word)).state);
}

}  // namespace

std::vector<std::uint8_t> firmware_image() {
  std::vector<std::uint8_t> image(ImageBytes);
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8));
  }
  return image;
}

task<> load_firmware(cpu& core, std::uint64_t bar4, std::span<const std::uint8_t> image) {
  firmware_state state = co_await state_of(core, bar4);
  if (state == firmware_state::Running) {
    co_return;
  }
  store_dword(core, bar4 + bar4::FwLength, static_cast<std::uint32_t>(image.size()));
  store_dword(core, bar4 + bar4::FwCrc, crc32_of(image.data(), image.size()));
  store_dword(core, bar4 + bar4::FwControl, bar4::fw_control_value{.load = 1}.pack());
  for (std::size_t at = 0; at < image.size(); at += bar4::SramWindowBytes) {
    store_dword(core, bar4 + bar4::SramAddress, static_cast<std::uint32_t>(at));
    const std::size_t here = std::min<std::size_t>(image.size() - at, bar4::SramWindowBytes);
    for (std::size_t i = 0; i < here; i += WordBytes) {
      std::array<std::uint8_t, WordBytes> word{};
      std::copy_n(image.begin() + static_cast<std::ptrdiff_t>(at + i),
                  std::min(here - i, WordBytes), word.begin());
      core.store_uncached(bar4 + bar4::SramWindow + i, word);
    }
  }
  store_dword(core, bar4 + bar4::FwControl, bar4::fw_control_value{.boot = 1}.pack());
  state = co_await state_of(core, bar4);
  if (state != firmware_state::Running) {
    throw config_error(fmt::format("the device refused its firmware: {}", to_string(state)));
  }
}

}  // namespace carillon
