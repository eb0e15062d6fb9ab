#include "cli/flow_workload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <utility>

#include "cli/breakdown.h"
#include "cli/paths.h"
#include "cli/scenario_loader.h"
#include "cli/summary.h"
#include "cli/workload_settings.h"
#include "common/error.h"
#include "common/statistics.h"

namespace carillon {

namespace {

constexpr unsigned MainCore = 0;
constexpr unsigned MinLogCq = 4;
constexpr std::size_t PollBatch = 16;
constexpr unsigned IdShift = 48;
constexpr std::uint64_t NumberMask = (std::uint64_t{1} << IdShift) - 1;
constexpr unsigned DscpShift = 2;   // above the ECN field of the traffic class
constexpr unsigned ClassShift = 3;  // DSCP to priority, the usual trust map
constexpr std::uint8_t Ect0 = 2;
constexpr ps_t PsPerNs = 1000;

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

}  // namespace

std::vector<std::pair<unsigned, unsigned>> flows_of(const workload_spec& workload, unsigned hosts) {
  std::vector<std::pair<unsigned, unsigned>> flows;
  for (unsigned from = 0; from < hosts; ++from) {
    for (unsigned to = 0; to < hosts; ++to) {
      const bool wanted = workload.kind == workload_kind::incast ? to == 0
                          : workload.kind == workload_kind::shift
                              ? to == (from + workload.stride) % hosts
                              : true;
      if (wanted && from != to) {
        flows.emplace_back(from, to);
      }
    }
  }
  return flows;
}

/// One queue pair of a flow: both its ends.
struct flow_workload::link {
  flow* of = nullptr;
  std::uint32_t number = 0;  ///< among those of its flow
  std::uint32_t index = 0;   ///< among those on which its host sends
  std::uint8_t priority = 0;
  std::unique_ptr<queue_pair> sender;
  std::unique_ptr<queue_pair> receiver;
  std::uint64_t quota = 0;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t failures = 0;
  std::uint8_t syndrome = 0;  ///< of the first failure
  node_rate rate;
};

struct flow_workload::flow {
  unsigned from = 0;
  unsigned to = 0;
  memory_region source;
  memory_region target;
  std::vector<std::unique_ptr<link>> links;
  node_rate rate;
  std::uint64_t delivered = 0;  ///< bytes, whether they are measured or not
};

struct flow_workload::side {
  side(unsigned number, node& where) : index(number), home(where) {}

  unsigned index;
  node& home;
  std::uint32_t pd = 0;
  uar_handle* uar = nullptr;
  std::unique_ptr<completion_queue> send_cq;
  std::unique_ptr<completion_queue> receive_cq;
  std::vector<flow*> sends;
  std::vector<flow*> receives;
  std::vector<link*> links;   ///< on which it sends
  std::vector<link*> by_qpn;  ///< of those
  ps_t until = NeverPs;       ///< no message is posted later
};

flow_workload::flow_workload(system_model& system, const run_point& point)
    : system_(system),
      point_(point),
      spec_(point.workload),
      created_(system.size()),
      connected_(system.size()),
      window_(system) {
  for (unsigned i = 0; i < system.size(); ++i) {
    sides_.push_back(std::make_unique<side>(i, system.at(i)));
  }
  const auto usual = static_cast<std::uint8_t>(point.params.wire.priority);
  for (const auto& [from, to] : flows_of(spec_, system.size())) {
    auto made = std::make_unique<flow>();
    made->from = from;
    made->to = to;
    for (std::uint32_t q = 0; q < spec_.qps; ++q) {
      auto one = std::make_unique<link>();
      one->of = made.get();
      one->number = q;
      one->index = static_cast<std::uint32_t>(sides_[from]->links.size());
      one->priority =
          spec_.priorities.empty() ? usual : spec_.priorities[q % spec_.priorities.size()];
      one->quota = spec_.duration_ns != 0
                       ? NumberMask
                       : spec_.messages / spec_.qps + (q < spec_.messages % spec_.qps ? 1 : 0);
      sides_[from]->links.push_back(one.get());
      made->links.push_back(std::move(one));
    }
    sides_[from]->sends.push_back(made.get());
    sides_[to]->receives.push_back(made.get());
    flows_.push_back(std::move(made));
  }
  system_.context.trace.observe(*this);
}

flow_workload::~flow_workload() {
  for (const auto& each : sides_) {
    each->home.host.core(MainCore).abandon();
  }
  system_.context.trace.close();
}

// Programs
// -----------------------------------------------------------------------------------------------

void flow_workload::start() {
  for (auto& each : sides_) {
    ++running_;
    each->home.host.core(MainCore).run(host_program(*each), [this] { --running_; });
  }
}

task<> flow_workload::host_program(side& here) {
  cpu& core = here.home.host.core(MainCore);
  co_await set_up(here);
  co_await core.meet(created_);
  co_await connect(here);
  co_await core.meet(connected_);
  co_await begin(here);
  co_await send(here);
}

/// All hosts at the same time, but those that are to begin later.
task<> flow_workload::begin(side& here) {
  if (spec_.duration_ns == 0) {
    co_return;
  }
  cpu& core = here.home.host.core(MainCore);
  const ps_t now = core.time();
  here.until = now + spec_.duration_ns * PsPerNs;
  if (spec_.measure_from_ns != 0) {
    window_.open(now + spec_.measure_from_ns * PsPerNs, here.until);
  }
  const auto before = static_cast<std::size_t>(std::count_if(
      sides_.begin(), sides_.end(),
      [&here](const auto& each) { return each->index < here.index && !each->links.empty(); }));
  if (!here.links.empty() && before < spec_.starts_ns.size()) {
    core.idle_until(now + spec_.starts_ns[before] * PsPerNs);
    co_await core.sync();
  }
}

task<> flow_workload::set_up(side& here) {
  cpu& core = here.home.host.core(MainCore);
  device& dev = here.home.driver;
  co_await dev.open(core);
  here.pd = co_await dev.alloc_pd(core);
  here.uar = co_await dev.alloc_uar(core);
  const std::uint64_t requests = here.links.size() * std::uint64_t{spec_.outstanding};
  const unsigned log_size = std::max(MinLogCq, log2_ceil(requests));
  here.send_cq = co_await completion_queue::create(dev, core, *here.uar, log_size);
  here.receive_cq = co_await completion_queue::create(dev, core, *here.uar, MinLogCq);
  for (flow* each : here.sends) {
    co_await make_flow(here, *each);
  }
  for (flow* each : here.receives) {
    co_await make_flow(here, *each);
  }
}

/// This host's end of it.
task<> flow_workload::make_flow(side& here, flow& of) {
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  device& dev = here.home.driver;
  const bool sends = of.from == here.index;
  const std::uint64_t bytes =
      std::max<std::uint64_t>(spec_.size, 1) * spec_.outstanding * spec_.qps;
  const memory_region region =
      co_await dev.register_memory(core, here.pd, host.allocate(bytes, 4096), bytes);
  (sends ? of.source : of.target) = region;
  queue_pair_options options;
  if (sends) {
    options.log_sq_size = log2_ceil(spec_.queue_depth);
  }
  options.doorbell = spec_.submit == submit_mode::blueflame ? doorbell_mode::automatic
                                                            : doorbell_mode::doorbell_only;
  for (auto& each : of.links) {
    auto made = co_await queue_pair::create(dev, core, here.pd, *here.uar, *here.send_cq,
                                            *here.receive_cq, options);
    co_await made->to_init(core);
    if (sends) {
      here.by_qpn.resize(std::max<std::size_t>(here.by_qpn.size(), made->qpn() + std::size_t{1}));
      here.by_qpn[made->qpn()] = each.get();
    }
    (sends ? each->sender : each->receiver) = std::move(made);
  }
}

connection_options flow_workload::options_of(const link& on) const {
  connection_options options = connection_of(point_);
  options.priority = on.priority;
  if (on.priority != static_cast<std::uint8_t>(point_.params.wire.priority)) {
    options.traffic_class =
        static_cast<std::uint8_t>(on.priority << (ClassShift + DscpShift) | Ect0);
  }
  return options;
}

task<> flow_workload::connect(side& here) {
  cpu& core = here.home.host.core(MainCore);
  for (const bool sends : {true, false}) {
    for (flow* each : sends ? here.sends : here.receives) {
      for (auto& on : each->links) {
        const connection_options options = options_of(*on);
        queue_pair& own = sends ? *on->sender : *on->receiver;
        queue_pair_address peer = (sends ? *on->receiver : *on->sender).address();
        co_await own.to_rtr(core, peer, options);
        co_await own.to_rts(core, options);
      }
    }
  }
}

bool flow_workload::may_post(const side& here, const link& on) const {
  return on.failures == 0 && on.posted < on.quota &&
         here.home.host.core(MainCore).time() < here.until;
}

task<bool> flow_workload::post_one(side& here, link& on) {
  const std::uint64_t slot =
      std::uint64_t{on.number} * spec_.outstanding + on.posted % spec_.outstanding;
  const std::uint64_t offset = slot * std::max<std::uint64_t>(spec_.size, 1);
  work_request request;
  request.id = std::uint64_t{on.index} << IdShift | on.posted;
  request.opcode = wqe_opcode::RdmaWrite;
  if (spec_.size != 0) {
    request.add({on.of->source.address + offset, spec_.size, on.of->source.key});
    request.is_inline = spec_.inlined(inline_limit(work_opcode::write));
  }
  request.remote_address = on.of->target.address + offset;
  request.rkey = on.of->target.key;
  const bool posted = co_await on.sender->post_send(here.home.host.core(MainCore), request);
  if (posted) {
    ++on.posted;
  }
  co_return posted;
}

task<> flow_workload::send(side& here) {
  cpu& core = here.home.host.core(MainCore);
  std::array<completion, PollBatch> entries;
  const auto in_flight = [&here] {
    return std::any_of(here.links.begin(), here.links.end(),
                       [](const link* each) { return each->posted != each->completed; });
  };
  while (true) {
    bool progress = false;
    for (link* each : here.links) {
      if (may_post(here, *each) && each->posted - each->completed < spec_.outstanding) {
        progress |= co_await post_one(here, *each);
      }
    }
    unsigned found = 0;
    if (progress) {
      if (here.send_cq->ready()) {
        found = co_await here.send_cq->poll(core, entries);
      }
    } else if (in_flight()) {
      found = co_await here.send_cq->wait(core, entries);
    } else {
      break;
    }
    for (unsigned i = 0; i < found; ++i) {
      complete(here, entries[i]);
    }
  }
}

void flow_workload::complete(side& here, const completion& entry) {
  link& on = *here.links[entry.id >> IdShift];
  on.completed = std::max(on.completed, (entry.id & NumberMask) + 1);
  if (entry.failed()) {
    ++failed_;
    if (++on.failures == 1) {
      on.syndrome = static_cast<std::uint8_t>(entry.syndrome);
    }
  }
}

// What is found
// -----------------------------------------------------------------------------------------------

void flow_workload::check_finished() const {
  std::uint64_t missing = 0;
  for (const auto& each : flows_) {
    for (const auto& on : each->links) {
      missing += on->posted - on->completed;
    }
  }
  CARILLON_CHECK(running_ == 0,
                 "{} programs have not come to their end, {} messages have not completed and "
                 "nothing is left to happen:{}",
                 running_, missing, state_of_affairs(system_));
}

flow_workload::link* flow_workload::owner_of(const message_record& message) const {
  for (const auto& each : sides_) {
    if (message.info.node == each->home.host.name()) {
      const std::uint32_t qpn = message.info.qpn;
      return qpn < each->by_qpn.size() ? each->by_qpn[qpn] : nullptr;
    }
  }
  return nullptr;
}

bool flow_workload::measured(const message_record& message) const {
  return owner_of(message) != nullptr;
}

std::uint64_t flow_workload::measured_messages() const {
  if (system_.stopped()) {
    return messages_;  // the others are under way for ever
  }
  std::uint64_t sum = 0;
  for (const auto& each : flows_) {
    for (const auto& on : each->links) {
      sum += on->posted;
    }
  }
  return sum;
}

bool flow_workload::counts(ps_t delivered) const {
  return spec_.measure_from_ns == 0 || window_.contains(delivered);
}

void flow_workload::on_message(const message_record& message) {
  link* on = owner_of(message);
  if (on == nullptr) {
    return;
  }
  ++messages_;
  if (message.reached(milestone::delivered)) {
    on->of->delivered += message.info.bytes;
  }
  if (message.reached(milestone::delivered) && counts(message.time_of(milestone::delivered))) {
    on->rate.count(message);
    on->of->rate.count(message);
    bytes_ += message.info.bytes;
    first_post_ = std::min(first_post_, message.time_of(milestone::post));
    last_delivery_ = std::max(last_delivery_, message.time_of(milestone::delivered));
  }
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    const latency_path& path = LatencyPaths[i];
    if (message.reached(path.from) && message.reached(path.to) &&
        message.time_of(path.from) <= message.time_of(path.to)) {
      latency_[on->priority][i].add(message.time_of(path.to) - message.time_of(path.from));
    }
  }
}

std::vector<std::uint64_t> flow_workload::delivered_bytes() const {
  std::vector<std::uint64_t> result;
  result.reserve(flows_.size());
  for (const auto& each : flows_) {
    result.push_back(each->delivered);
  }
  return result;
}

void flow_workload::report(run_facts& facts) const {
  for (const auto& each : flows_) {
    flow_facts one;
    one.from = each->from;
    one.to = each->to;
    one.rate = each->rate;
    for (const auto& on : each->links) {
      flow_facts::queue queue;
      queue.priority = on->priority;
      queue.posted = on->posted;
      queue.completed = on->completed;
      queue.failures = on->failures;
      queue.syndrome = on->syndrome;
      queue.rate = on->rate;
      one.queues.push_back(std::move(queue));
    }
    facts.flows.push_back(std::move(one));
  }
  facts.flow_bytes = bytes_;
  if (spec_.measure_from_ns != 0) {
    facts.flow_time = (spec_.duration_ns - spec_.measure_from_ns) * PsPerNs;
  } else {
    facts.flow_time = bytes_ == 0 ? 0 : last_delivery_ - first_post_;
  }
  facts.priority_latency = latency_;
  facts.measured = window_.measured();
}

}  // namespace carillon
