// Buffers of queues: contiguous, described to the device as a single page.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "gen/bytes.h"
#include "gen/contexts.h"
#include "host/machine.h"

namespace carillon {

constexpr unsigned log2_ceil_of(std::uint64_t value) {
  return static_cast<unsigned>(std::bit_width(std::bit_ceil(value)) - 1);
}

struct queue_memory {
  std::uint64_t address = 0;
  std::uint8_t log_page_size = 0;  ///< as contexts count it
};

inline queue_memory allocate_queue(machine& host, std::uint64_t bytes) {
  const unsigned log_page = std::max<unsigned>(LogPageBase, log2_ceil_of(bytes));
  return {host.allocate(bytes, std::uint64_t{1} << log_page),
          static_cast<std::uint8_t>(log_page - LogPageBase)};
}

/// The input of a command that creates a queue, followed by its only page.
template <class Input>
std::array<std::uint8_t, Input::Size + 8> with_page(const Input& request, std::uint64_t page) {
  std::array<std::uint8_t, Input::Size + 8> input{};
  request.pack(input.data());
  bytes::store_be<8>(input.data() + Input::Size, page);
  return input;
}

}  // namespace carillon
