// What the two sources of tenant_workload share.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/tenant_workload.h"
#include "cli/workload_parts.h"

namespace carillon {

inline constexpr unsigned AdministratorCore = 0;
inline constexpr unsigned FirstTenantCore = 1;

inline symptom refusal_of(const command_refused& refused) {
  symptom each;
  each.what = symptom::kind::refusal;
  each.opcode = refused.opcode;
  each.status = refused.status;
  each.detail = refused.syndrome;
  each.text = refused.what();
  return each;
}

/// A host's administrator and what it has to give away.
struct tenant_workload::host_side {
  host_side(unsigned number, node& where, const device_settings& settings)
      : index(number),
        home(where),
        functions(where.slot, where.driver, settings,
                  [&where](unsigned function) { return &where.make_device(function); }),
        pool(where.name, functions) {}

  unsigned index;
  node& home;
  sriov functions;
  vf_pool pool;
  std::vector<tenant*> by_qpn;                  ///< who has the QP now
  std::deque<std::function<task<>()>> errands;  ///< for the administrator's core
  unsigned claimed = 0;                         ///< functions that running tenants have or get
};

/// One end of a tenant's traffic.
struct tenant_workload::end {
  host_side* host = nullptr;
  cpu* core = nullptr;
  bool sends = false;
  vf_pool::lease lease;
  bool leased = false;
  bool failed = false;  ///< it could not be set up
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::vector<std::unique_ptr<queue_pair>> qps;
  memory_region source;
  memory_region target;
  std::vector<std::uint64_t> posted;  ///< by QP: sends, or receives of the receiving end
  std::vector<std::uint64_t> completed;
  std::uint32_t mtu = 0;
};

struct tenant_workload::tenant {
  unsigned index = 0;
  tenant_spec spec;
  std::array<end, 2> ends;
  rendezvous created{2};
  rendezvous connected{2};
  rendezvous done{2};
  rendezvous asked{2};
  bool together = false;  ///< begins when all of the first ones are set up
  bool stopped = false;   ///< a completion with an error ended its traffic
  bool flushed = false;   ///< its peer's receives were taken back
  std::uint64_t posted = 0;
  ps_t measured_from = NeverPs;
  std::uint64_t measured_posts = 0;
  std::array<distribution, LatencyPathCount> latency;
  std::uint64_t messages = 0;
  std::uint64_t failures = 0;
  node_rate rate;
  std::optional<symptom> first_failure;
  unsigned running = 0;

  [[nodiscard]] std::uint64_t total() const { return spec.warmup + spec.messages; }

  /// Messages that QP `qp` carries: round robin.
  [[nodiscard]] std::uint64_t quota(std::size_t qp) const {
    return total() / spec.qps + (qp < total() % spec.qps ? 1 : 0);
  }

  /// Bytes from one slot of a buffer to the next.
  [[nodiscard]] std::uint64_t stride() const { return std::max<std::uint64_t>(spec.size, 1); }

  /// Slots for each QP.
  [[nodiscard]] std::uint32_t slots() const {
    return consumes_receive(spec.opcode) ? receives_ahead(spec.outstanding) : spec.outstanding;
  }

  [[nodiscard]] std::uint64_t slot_offset(std::size_t qp, std::uint64_t number) const {
    return (qp * slots() + number % slots()) * stride();
  }
};

}  // namespace carillon
