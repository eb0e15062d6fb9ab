#include "host/interrupts.h"

#include "common/error.h"
#include "host/cpu.h"

namespace carillon {

namespace {

constexpr unsigned CoreShift = 12;
constexpr std::uint64_t CoreMask = 0xff;
constexpr std::uint32_t VectorMask = 0xff;
/// Those below are exceptions of the core.
constexpr std::uint32_t FirstVector = 0x20;

}  // namespace

interrupt_line& interrupts::bind(cpu& core, unsigned number) {
  if (number > CoreMask) {
    throw config_error(
        fmt::format("core {} cannot be interrupted: only the first {} can", number, CoreMask + 1));
  }
  if (number >= lines_.size()) {
    lines_.resize(number + std::size_t{1});
  }
  auto& mine = lines_[number];
  const std::uint32_t vector = FirstVector + static_cast<std::uint32_t>(mine.size());
  if (vector > VectorMask) {
    throw config_error(fmt::format("core {} has no free interrupt vector", number));
  }
  mine.push_back(std::make_unique<interrupt_line>(
      core, WindowBase | std::uint64_t{number} << CoreShift, vector));
  return *mine.back();
}

void interrupts::on_message(std::uint64_t address, std::uint32_t data, trace_ref trace) {
  const std::uint64_t number = ((address - WindowBase) >> CoreShift) & CoreMask;
  const std::uint32_t vector = data & VectorMask;
  if (number >= lines_.size() || vector < FirstVector ||
      vector - FirstVector >= lines_[number].size()) {
    ++spurious_;
    return;
  }
  interrupt_line& line = *lines_[number][vector - FirstVector];
  line.core_.interrupt(line, trace);
}

}  // namespace carillon
