#include "host/session.h"

#include <utility>

namespace carillon {

session::session(session_options options, cpu& first_core, device& first, cpu& second_core,
                 device& second)
    : options_(std::move(options)),
      sides_{session_side(first_core, first), session_side(second_core, second)} {}

task<> session::establish(unsigned index) {
  session_side& mine = sides_.at(index);
  session_side& theirs = sides_.at(1 - index);
  cpu& core = mine.core;
  device& adapter = mine.adapter;
  co_await adapter.open(core);
  mine.pd = co_await adapter.alloc_pd(core);
  mine.uar = co_await adapter.alloc_uar(core);
  const std::uint64_t buffer = adapter.host().allocate(
      options_.buffer_bytes, static_cast<std::uint64_t>(core.params().host.page_bytes));
  memory_access_rights rights;
  rights.remote_atomic = options_.buffer_atomics;
  mine.buffer =
      co_await adapter.register_memory(core, mine.pd, buffer, options_.buffer_bytes, rights);
  if (options_.interrupt_core) {
    co_await adapter.bind_vector(core, 0, *options_.interrupt_core);
  }
  if (options_.log_eq_size) {
    mine.events =
        co_await event_queue::create(adapter, core, *mine.uar, *options_.log_eq_size, QueueEvents);
  }
  if (options_.srq) {
    mine.srq = co_await shared_receive_queue::create(adapter, core, mine.pd, *options_.srq);
  }
  mine.send_cq = co_await completion_queue::create(adapter, core, *mine.uar, options_.log_cq_size,
                                                   mine.events.get(), options_.moderation);
  mine.receive_cq = co_await completion_queue::create(
      adapter, core, *mine.uar, options_.log_cq_size, mine.events.get(), options_.moderation);
  queue_pair_options qp_options = options_.qp;
  qp_options.srq = mine.srq.get();
  for (unsigned i = 0; i < options_.qps; ++i) {
    mine.qps.push_back(co_await queue_pair::create(adapter, core, mine.pd, *mine.uar, *mine.send_cq,
                                                   *mine.receive_cq, qp_options));
    co_await mine.qps.back()->to_init(core, options_.connection);
  }
  co_await core.meet(created_);
  const unsigned gid_index = options_.connection.gid_index;
  for (unsigned i = 0; i < options_.qps; ++i) {
    co_await mine.qps[i]->to_rtr(core, theirs.qps[i]->address(gid_index), options_.connection);
    co_await mine.qps[i]->to_rts(core, options_.connection);
  }
  co_await core.meet(connected_);
}

}  // namespace carillon
