// What the two programs of a tenant do with their functions: objects, connection, messages.

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "cli/scenario_loader.h"
#include "cli/tenant_workload_parts.h"
#include "cli/workload_settings.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr unsigned MinTenantLogCq = 4;
constexpr unsigned IdShift = 48;
constexpr std::uint64_t NumberMask = (std::uint64_t{1} << IdShift) - 1;
constexpr unsigned DscpShift = 2;   // above the ECN field of the traffic class
constexpr unsigned ClassShift = 3;  // DSCP to priority, the usual trust map
constexpr std::uint8_t Ect0 = 2;

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

mtu_code code_of(std::uint32_t bytes) {
  return static_cast<mtu_code>(std::bit_width(bytes) - 8);
}

}  // namespace

task<> tenant_workload::create(tenant& who, end& mine) {
  cpu& core = *mine.core;
  device& adapter = *mine.lease.adapter;
  machine& host = mine.host->home.host;
  const tenant_spec& spec = who.spec;
  const std::uint64_t slots = std::uint64_t{who.slots()} * spec.qps;
  const std::uint64_t bytes = who.stride() * slots;
  std::uint32_t pd = mine.lease.pd;
  if (mine.sends && spec.mistake == tenant_mistake::foreign_pd) {
    pd = co_await adapter.alloc_pd(core);
  }
  mine.source = co_await adapter.register_memory(core, pd, host.allocate(bytes, 4096), bytes);
  mine.target =
      co_await adapter.register_memory(core, mine.lease.pd, host.allocate(bytes, 4096), bytes);
  if (mine.sends && spec.mistake == tenant_mistake::unregistered_memory) {
    co_await adapter.deregister_memory(core, mine.source);
  }
  const unsigned log_size = std::max(MinTenantLogCq, log2_ceil(slots));
  mine.send_cq = co_await completion_queue::create(adapter, core, *mine.lease.uar, log_size);
  mine.receive_cq = co_await completion_queue::create(adapter, core, *mine.lease.uar, log_size);
  queue_pair_options options;
  options.log_sq_size = log2_ceil(spec.queue_depth);
  if (consumes_receive(spec.opcode)) {
    options.log_rq_size = log2_ceil(receives_ahead(spec.outstanding));
  }
  options.doorbell = spec.submit == submit_mode::blueflame ? doorbell_mode::automatic
                                                           : doorbell_mode::doorbell_only;
  std::vector<std::unique_ptr<queue_pair>> made;
  for (std::uint32_t q = 0; q < spec.qps; ++q) {
    made.push_back(co_await queue_pair::create(adapter, core, mine.lease.pd, *mine.lease.uar,
                                               *mine.send_cq, *mine.receive_cq, options));
    const std::uint32_t qpn = made.back()->qpn();
    std::vector<tenant*>& owners = mine.host->by_qpn;
    owners.resize(std::max<std::size_t>(owners.size(), qpn + std::size_t{1}));
    owners[qpn] = &who;
    co_await made.back()->to_init(core, options_of(who, mine));
  }
  mine.qps = std::move(made);
  mine.posted.assign(spec.qps, 0);
  mine.completed.assign(spec.qps, 0);
}

connection_options tenant_workload::options_of(const tenant& who, const end& mine) const {
  connection_options options = connection_of(point_);
  const std::optional<std::uint32_t> mtu = mine.sends ? who.spec.mtu : who.spec.peer_mtu;
  if (mtu) {
    options.mtu = code_of(*mtu);
  }
  // What its port is for, unless the tenant wants something else.
  const std::uint8_t own = mine.lease.adapter->capabilities().qos;
  const std::uint8_t wanted = mine.sends ? who.spec.priority.value_or(own) : own;
  options.priority = wanted;
  if (wanted != static_cast<std::uint8_t>(point_.params.wire.priority)) {
    options.traffic_class = static_cast<std::uint8_t>(wanted << (ClassShift + DscpShift) | Ect0);
  }
  return options;
}

task<> tenant_workload::connect(tenant& who, end& mine, end& theirs) {
  cpu& core = *mine.core;
  const connection_options options = options_of(who, mine);
  const bool astray = mine.sends && who.spec.mistake == tenant_mistake::foreign_qp;
  const end& next = tenants_[(who.index + 1) % tenants_.size()]->ends[1];
  while (astray && next.qps.empty() && !next.failed) {
    co_await pause(core);
  }
  try {
    for (std::size_t q = 0; q < mine.qps.size(); ++q) {
      queue_pair_address peer = theirs.qps[q]->address();
      if (astray && !next.qps.empty()) {
        peer.qpn = next.qps.front()->qpn();
      }
      co_await mine.qps[q]->to_rtr(core, peer, options);
      co_await mine.qps[q]->to_rts(core, options);
      if (!mine.sends && consumes_receive(who.spec.opcode)) {
        const std::uint64_t ahead =
            std::min<std::uint64_t>(receives_ahead(who.spec.outstanding), who.quota(q));
        while (mine.posted[q] < ahead) {
          co_await post_receive(who, mine, q);
        }
      }
    }
  } catch (const command_refused& refused) {
    fail_set_up(who, mine, refusal_of(refused));
  }
}

task<> tenant_workload::pause(cpu& core) const {
  core.idle_until(core.time() + static_cast<ps_t>(point_.params.cpu.poll_interval_ps));
  co_await core.sync();
}

bool tenant_workload::more_to_send(const tenant& who) const {
  return !who.stopped && (who.spec.background ? measured_running_ != 0 : who.posted < who.total());
}

work_request tenant_workload::request_of(const tenant& who, const end& mine, const end& theirs,
                                         std::size_t qp) const {
  const std::uint64_t number = mine.posted[qp];
  const std::uint64_t offset = who.slot_offset(qp, number);
  work_request request;
  request.id = std::uint64_t{qp} << IdShift | number;
  request.opcode = wqe_opcode_of(who.spec.opcode);
  request.signaled = true;
  request.imm = static_cast<std::uint32_t>(number);
  if (who.spec.size != 0) {
    request.add({mine.source.address + offset, who.spec.size, mine.source.key});
    request.is_inline = who.spec.inlined;
  }
  if (writes_memory(who.spec.opcode)) {
    request.remote_address = theirs.target.address + offset;
    request.rkey = theirs.target.key;
  }
  return request;
}

/// One message on each QP that has room. True if there was one, or if a receiver must come first.
task<bool> tenant_workload::post_round(tenant& who, end& mine, end& theirs) {
  cpu& core = *mine.core;
  bool progress = false;
  bool unexpected = false;
  for (std::size_t q = 0; q < mine.qps.size() && more_to_send(who); ++q) {
    const bool room = mine.posted[q] - mine.completed[q] < who.spec.outstanding;
    if (!room || (!who.spec.background && mine.posted[q] == who.quota(q))) {
      continue;
    }
    if (consumes_receive(who.spec.opcode) && mine.posted[q] >= theirs.posted[q]) {
      unexpected = true;
      continue;
    }
    if (who.posted == who.spec.warmup) {
      who.measured_from = core.time();
    }
    const work_request request = request_of(who, mine, theirs, q);
    if (co_await mine.qps[q]->post_send(core, request)) {
      ++mine.posted[q];
      who.measured_posts += who.posted >= who.spec.warmup ? 1 : 0;
      ++who.posted;
      progress = true;
    }
  }
  if (!progress && unexpected && !mine.send_cq->ready()) {
    co_await pause(core);
    progress = true;
  }
  co_return progress;
}

task<> tenant_workload::send(tenant& who, end& mine, end& theirs) {
  cpu& core = *mine.core;
  std::array<completion, PollBatch> entries;
  const auto in_flight = [&] { return mine.posted != mine.completed; };
  while (more_to_send(who) || in_flight()) {
    const bool progress = co_await post_round(who, mine, theirs);
    unsigned found = 0;
    if (progress && more_to_send(who)) {
      if (!mine.send_cq->ready()) {
        continue;
      }
      found = co_await mine.send_cq->poll(core, entries);
    } else if (in_flight()) {
      found = co_await mine.send_cq->wait(core, entries);
    }
    for (unsigned i = 0; i < found; ++i) {
      complete(who, mine, entries[i]);
    }
  }
  if (who.stopped && consumes_receive(who.spec.opcode)) {
    // Nobody will ever send to the receiver: its administrator ends its wait.
    theirs.host->errands.push_back([this, &theirs] { return flush(theirs); });
    run_errand(*theirs.host);
  }
}

void tenant_workload::complete(tenant& who, end& mine, const completion& entry) {
  const std::size_t qp = entry.id >> IdShift;
  const std::uint64_t number = entry.id & NumberMask;
  mine.completed[qp] = std::max(mine.completed[qp], number + 1);
  if (!entry.failed()) {
    return;
  }
  ++failed_;
  ++who.failures;
  if (!who.first_failure) {
    symptom first;
    first.where = label_of(who, mine);
    first.syndrome = entry.syndrome;
    first.vendor_syndrome = entry.vendor_syndrome;
    who.first_failure = first;
  }
  who.stopped = true;
}

task<> tenant_workload::flush(end& theirs) {
  cpu& core = theirs.host->home.host.core(AdministratorCore);
  for (const auto& qp : theirs.qps) {
    co_await qp->to_error(core);
  }
}

task<> tenant_workload::post_receive(tenant& who, end& mine, std::size_t qp) {
  receive_request request;
  request.id = std::uint64_t{qp} << IdShift | mine.posted[qp];
  request.sge_count = 1;
  request.sges[0] = {mine.target.address + who.slot_offset(qp, mine.posted[qp]),
                     static_cast<std::uint32_t>(who.stride()), mine.target.key};
  co_await mine.qps[qp]->post_receive(*mine.core, request);
  ++mine.posted[qp];
}

task<> tenant_workload::receive(tenant& who, end& mine) {
  cpu& core = *mine.core;
  std::array<completion, PollBatch> entries;
  while (mine.posted != mine.completed) {
    const unsigned found = co_await mine.receive_cq->wait(core, entries);
    for (unsigned i = 0; i < found; ++i) {
      const std::size_t qp = entries[i].id >> IdShift;
      ++mine.completed[qp];
      if (entries[i].failed()) {
        ++failed_;
      } else if (mine.posted[qp] < who.quota(qp) && !who.stopped) {
        co_await post_receive(who, mine, qp);
      }
    }
  }
}

}  // namespace carillon
