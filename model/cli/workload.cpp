#include "cli/workload.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "cli/scenario_loader.h"
#include "cli/workload_parts.h"
#include "cli/workload_settings.h"
#include "common/error.h"
#include "common/stream.h"

namespace carillon {

namespace {

unsigned log2_ceil(std::uint64_t value) {
  return value <= 1 ? 0U : static_cast<unsigned>(std::bit_width(value - 1));
}

/// A queue that holds a completion of each request in flight, however late the core looks.
unsigned log_cq_size(std::uint64_t in_flight) {
  return std::max(MinLogCqSize, log2_ceil(in_flight));
}

}  // namespace

unsigned workload::cores(const workload_spec& spec) {
  return static_cast<unsigned>(FirstBackgroundCore) + spec.background.qps;
}

workload::workload(system_model& system, const run_point& point)
    : system_(system), point_(point), spec_(point.workload), ready_(2), connected_(2) {
  const bool both = spec_.both_directions || spec_.kind == workload_kind::ping_pong;
  for (unsigned index = 0; index < sides_.size(); ++index) {
    sides_[index] = std::make_unique<side>(index, system_.at(index));
    side& each = *sides_[index];
    const std::uint64_t share = both ? 2 : 1;
    if (index == 0 || both) {
      // An odd message goes to node 0.
      each.warmup = (spec_.warmup + (index == 0 ? share - 1 : 0)) / share;
      each.total = each.warmup + (spec_.messages + (index == 0 ? share - 1 : 0)) / share;
    }
    for (std::uint32_t q = 0; q < spec_.qps + spec_.background.qps; ++q) {
      auto link = std::make_unique<connection>();
      link->index = q;
      link->background = q >= spec_.qps;
      link->opcode = link->background ? spec_.background.opcode : spec_.opcode;
      link->size = link->background ? spec_.background.size : spec_.size;
      link->outstanding = link->background ? spec_.background.outstanding : spec_.outstanding;
      const bool ping_pong = spec_.kind == workload_kind::ping_pong;
      link->slots = consumes_receive(link->opcode) && !ping_pong ? receives_ahead(link->outstanding)
                                                                 : link->outstanding;
      if (!link->background) {
        // Round robin over the connections.
        link->quota = each.total / spec_.qps + (q < each.total % spec_.qps ? 1 : 0);
      }
      each.links.push_back(std::move(link));
    }
    each.watcher.owner = &each;
    system_.context.trace.observe(each.watcher);
  }
  for (std::size_t q = 0; q < sides_[0]->links.size(); ++q) {
    sides_[0]->links[q]->peer = sides_[1]->links[q].get();
    sides_[1]->links[q]->peer = sides_[0]->links[q].get();
  }
}

workload::~workload() {
  system_.context.trace.close();
}

void workload::start() {
  for (unsigned index = 0; index < sides_.size(); ++index) {
    ++running_;
    system_.at(index).host.core(MainCore).run(main_program(index), [this] { --running_; });
  }
}

/// Until there is retransmission, a message that found no buffer is lost for good: the scenario
/// asks for more than the receiver can take.
void workload::refuse_overload() const {
  for (const auto& each : sides_) {
    for (const counter lost : {counter::RxDropBuffer, counter::RxOutOfBuffer}) {
      const std::uint64_t count = each->home.adapter.counters().value(lost);
      if (count != 0) {
        throw config_error(
            fmt::format("the workload overruns the receiver: {} lost {} packets ({}) and nothing "
                        "sends them again; fewer workload.outstanding or workload.qps would be "
                        "right",
                        each->home.adapter.shared().name, count,
                        CounterTable[static_cast<std::size_t>(lost)].name));
      }
    }
  }
}

void workload::check_finished() const {
  const bool all_done =
      running_ == 0 && std::all_of(sides_.begin(), sides_.end(), [](const auto& each) {
        return std::all_of(each->links.begin(), each->links.end(),
                           [](const auto& link) { return link->completed == link->posted; });
      });
  if (!all_done) {
    refuse_overload();
  }
  for (const auto& each : sides_) {
    for (const auto& link : each->links) {
      CARILLON_CHECK(link->completed == link->posted,
                     "{}: QP {} waits for {} of {} messages and nothing is left to happen;{}",
                     each->home.name, link->qp != nullptr ? link->qp->qpn() : 0,
                     link->posted - link->completed, link->posted, state_of_affairs(system_));
    }
  }
  CARILLON_CHECK(running_ == 0,
                 "{} programs have not come to their end and nothing is left to happen;{}",
                 running_, state_of_affairs(system_));
}

bool workload::measured(const message_record& message) const {
  for (const auto& each : sides_) {
    if (message.info.node != each->home.host.name()) {
      continue;
    }
    if (message.time_of(milestone::post) < each->measured_from) {
      return false;
    }
    return std::any_of(each->links.begin(), each->links.end(), [&](const auto& link) {
      return !link->background && link->qp != nullptr && link->qp->qpn() == message.info.qpn;
    });
  }
  return false;
}

// Setting up
// -----------------------------------------------------------------------------------------------

task<> workload::main_program(unsigned index) {
  side& here = *sides_[index];
  cpu& core = here.home.host.core(MainCore);
  co_await set_up(index);
  co_await core.meet(ready_);
  co_await connect(here, *sides_[1 - index]);
  if (consumes_receive(spec_.opcode)) {
    for (auto& link : here.links) {
      if (!link->background && link->peer != nullptr && sides_[1 - index]->total != 0) {
        co_await post_receives(core, *link, receives_ahead(link->outstanding));
      }
    }
  }
  co_await core.meet(connected_);
  if (consumes_receive(spec_.opcode) && sides_[1 - index]->total != 0) {
    ++running_;
    here.home.host.core(ReceiverCore).run(receiver_program(here), [this] { --running_; });
  }
  if (index == 0) {
    std::size_t background_core = FirstBackgroundCore;
    for (auto& link : here.links) {
      if (link->background) {
        ++running_;
        here.home.host.core(static_cast<unsigned>(background_core))
            .run(background_program(here, *link, background_core), [this] { --running_; });
        ++background_core;
      }
    }
  }
  if (spec_.kind == workload_kind::ping_pong) {
    co_await ping_pong_program(here);
  } else if (here.total != 0) {
    co_await requester_program(here);
  }
  here.finished = true;
}

task<> workload::set_up(unsigned index) {
  side& here = *sides_[index];
  machine& host = here.home.host;
  cpu& core = host.core(MainCore);
  device& dev = here.home.driver;
  co_await dev.open(core);
  here.pd = co_await dev.alloc_pd(core);
  here.uar = co_await dev.alloc_uar(core);
  const std::uint64_t sends = std::uint64_t{spec_.qps} * spec_.outstanding;
  const std::uint64_t receives = std::uint64_t{spec_.qps} * receives_ahead(spec_.outstanding);
  if (spec_.completions == waiting_mode::event) {
    co_await dev.bind_vector(core, MainCore, MainCore);
    co_await dev.bind_vector(core, ReceiverCore, ReceiverCore);
    here.send_events = co_await event_queue::create(dev, core, *here.uar, LogEqSize, 0, MainCore);
    here.receive_events =
        co_await event_queue::create(dev, core, *here.uar, LogEqSize, 0, ReceiverCore);
  }
  const event_moderation moderation{static_cast<std::uint16_t>(spec_.moderation_count),
                                    static_cast<std::uint16_t>(spec_.moderation_period)};
  here.send_cq = co_await completion_queue::create(dev, core, *here.uar, log_cq_size(sends),
                                                   here.send_events.get(), moderation);
  here.receive_cq = co_await completion_queue::create(
      dev, core, *here.uar, consumes_receive(spec_.opcode) ? log_cq_size(receives) : MinLogCqSize,
      here.receive_events.get(), moderation);
  for (auto& link : here.links) {
    const std::uint64_t bytes = std::max<std::uint64_t>(link->size, 1) * link->slots;
    link->source = co_await dev.register_memory(core, here.pd, host.allocate(bytes, 4096), bytes);
    link->target = co_await dev.register_memory(core, here.pd, host.allocate(bytes, 4096), bytes);
    queue_pair_options options;
    options.log_sq_size = log2_ceil(spec_.queue_depth);
    options.log_rq_size = log2_ceil(receives_ahead(link->outstanding));
    options.doorbell = spec_.submit == submit_mode::blueflame ? doorbell_mode::automatic
                                                              : doorbell_mode::doorbell_only;
    uar_handle* uar = here.uar;
    completion_queue* send_cq = here.send_cq.get();
    if (link->background) {
      uar = co_await dev.alloc_uar(core);
      link->own_send_cq =
          co_await completion_queue::create(dev, core, *uar, log_cq_size(link->outstanding));
      send_cq = link->own_send_cq.get();
    }
    link->qp =
        co_await queue_pair::create(dev, core, here.pd, *uar, *send_cq, *here.receive_cq, options);
    co_await link->qp->to_init(core);
  }
}

task<> workload::connect(side& here, const side& there) {
  cpu& core = here.home.host.core(MainCore);
  const connection_options options = connection_of(point_);
  for (std::size_t q = 0; q < here.links.size(); ++q) {
    co_await here.links[q]->qp->to_rtr(core, there.links[q]->qp->address(), options);
    co_await here.links[q]->qp->to_rts(core, options);
  }
}

}  // namespace carillon
