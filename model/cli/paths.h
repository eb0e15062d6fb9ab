// The named latencies: which two milestones of a message each lies between.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/tracer.h"

namespace carillon {

struct latency_path {
  const char* name;
  milestone from;
  milestone to;
  const char* doc;
};

inline constexpr std::array<latency_path, 8> LatencyPaths = {{
    {"doorbell_to_wire", milestone::doorbell, milestone::first_bit,
     "first symbol of the doorbell at the NIC to the first bit on the wire"},
    {"post_to_doorbell", milestone::post, milestone::doorbell,
     "begin of the post call to the first symbol of the doorbell at the NIC"},
    {"post_to_wire", milestone::post, milestone::first_bit,
     "begin of the post call to the first bit on the wire"},
    {"post_to_last_bit", milestone::post, milestone::last_bit,
     "begin of the post call to the last bit on the wire"},
    {"post_to_delivered", milestone::post, milestone::delivered,
     "begin of the post call until the last byte is in the receiver's memory"},
    {"one_way", milestone::post, milestone::remote_seen,
     "begin of the post call until the receiving CPU has seen the message"},
    {"post_to_cqe", milestone::post, milestone::cqe_written,
     "begin of the post call until the CQE is in host memory"},
    {"post_to_cqe_seen", milestone::post, milestone::cqe_seen,
     "begin of the post call until the CPU has polled the CQE"},
}};

inline constexpr std::size_t LatencyPathCount = LatencyPaths.size();

std::vector<std::string> latency_path_names();

/// Index of a path that exists.
std::size_t latency_path_index(std::string_view name);

}  // namespace carillon
