// What the stages of one NIC share besides streams: its name, counters and buffer pools.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/buffer.h"
#include "common/context.h"
#include "common/counters.h"
#include "common/posted_work.h"
#include "common/tlp.h"

namespace carillon {

struct nic_shared {
  nic_shared(sim_context& run, std::string nic_name, tlp_pool& pool)
      : context(run), name(std::move(nic_name)), tlps(pool) {}

  sim_context& context;
  const std::string name;
  counter_block counters;
  buffer_pool buffers;
  tlp_pool& tlps;
  posted_work posted;  ///< messages of the send WQEs that the host has announced
};

}  // namespace carillon
