#include "host/cpu.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace carillon {

polled_memory::polled_memory(host_memory& memory, std::uint64_t address, std::uint64_t length)
    : memory_(memory), address_(address), length_(length) {
  memory_.watch(address_, length_, *this);
}

polled_memory::~polled_memory() {
  memory_.unwatch(address_, length_, *this);
}

void polled_memory::on_memory_write(std::uint64_t address, std::uint64_t length) {
  written(address, length);
  if (sleeper_ != nullptr) {
    sleeper_->poll_next(now_ps());
  }
}

polled_byte::polled_byte(host_memory& memory, tracer& trace, std::uint64_t address)
    : polled_memory(memory, address, 1), trace_(trace) {}

polled_byte::~polled_byte() {
  trace_.release(writer_);
}

bool polled_byte::ready() const {
  std::uint8_t value = 0;
  memory_.read(address_, &value, 1);
  return value == expected_;
}

void polled_byte::written(std::uint64_t /*address*/, std::uint64_t /*length*/) {
  trace_.release(writer_);
  writer_ = memory_.writer;
  trace_.hold(writer_);
}

cpu::cpu(const sc_core::sc_module_name& name, sim_context& context, host_memory& memory,
         root_complex& bus, const core_surroundings& around)
    : sc_core::sc_module(name),
      timed(context.line),
      context_(context),
      memory_(memory),
      bus_(bus),
      site_(context.trace.site(this->name(), "cpu")),
      pcie_row_(context.trace.intern("pcie")),
      poll_reason_(context.trace.intern("poll")),
      busy_reason_(context.trace.intern("cpu_busy")),
      noise_reason_(context.trace.intern("os_noise")),
      interrupt_site_(context.trace.site(std::string(this->name()) + ".interrupt", "cpu")),
      interrupt_reason_(context.trace.intern("interrupt")),
      asleep_reason_(context.trace.intern("asleep")),
      order_reason_(context.trace.intern("store_order")),
      combining_reason_(context.trace.intern("write_combining")),
      drain_reason_(context.trace.intern("drain")),
      drain_random_(context.seed, std::string(this->name()) + "/drain"),
      around_(around),
      far_polls_(context.params.host.core_node != context.params.host.memory_node) {
  if (context_.params.cpu.noise) {
    noise_ = std::make_unique<os_noise>(context_.params, context_.seed, this->name());
  }
}

void cpu::run(task<> program, std::function<void()> done) {
  CARILLON_CHECK(!busy(), "{}: a second program", this->name());
  program_ = std::move(program);
  done_ = std::move(done);
  time_ = std::max(time_, now_ps());
  sleep_until(time_, program_.handle());
}

void cpu::resume() {
  std::exchange(waiting_, nullptr).resume();
  if (program_ && program_.done()) {
    const task<> finished = std::exchange(program_, {});
    finished.rethrow();
    if (done_) {
      std::exchange(done_, {})();
    }
  }
}

void cpu::proceed(ps_t now) {
  const ps_t from = std::max(time_, now);
  time_ = after_handlers(from);
  if (time_ == from) {
    resume();
  } else {
    at(time_, event::resume);
  }
}

void cpu::sleep_until(ps_t when, std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  at(when, event::resume);
}

void cpu::on_time(ps_t now, std::uint64_t what) {
  switch (static_cast<event>(what)) {
    case event::resume:
      proceed(now);
      return;
    case event::handled:
      end_handler(now);
      return;
    case event::poll:
      poll_scheduled_ = false;
      if (const ps_t can = after_handlers(now); can != now) {
        // The loop goes on behind the handler.
        poll_start_ = can;
        poll_scheduled_ = true;
        at(can, event::poll);
        return;
      }
      if (polling_ != nullptr && polling_->ready()) {
        poll_now(now);
      }
      return;
    case event::fetched:
      poll_scheduled_ = false;
      std::exchange(polling_, nullptr)->sleeper_ = nullptr;
      proceed(now);
      return;
    case event::configure:
      if (config_.write) {
        bus_.config_write({}, pcie_row_, config_.routing_id, config_.offset, config_.value,
                          config_.enables, *this);
      } else {
        bus_.config_read({}, pcie_row_, config_.routing_id, config_.offset, *this);
      }
      return;
    case event::depart: {
      const departure item = departures_.pop();
      if (item.length == 0) {
        bus_.mmio_read(item.trace, pcie_row_, item.address, load_length_, *this);
      } else {
        bus_.mmio_write(item.trace, pcie_row_, item.address, item.bytes.data(), item.length);
      }
      return;
    }
  }
}

// Work

bool cpu::next_break(ps_t until, handler_time& taken, name_id& reason) {
  ps_t first = NeverPs;
  if (noise_ != nullptr) {
    const interruption& next = noise_->after(time_);
    first = next.begin;
    taken = {next.begin, next.end};
    reason = noise_reason_;
  }
  while (!taken_.empty() && taken_.front().end <= time_) {
    taken_.pop();
  }
  if (!taken_.empty() && taken_.front().begin < first) {
    taken = taken_.front();
    first = taken.begin;
    reason = interrupt_reason_;
  }
  return first <= time_ || first < until;
}

trace_ref cpu::spend(ps_t cost, trace_ref history) {
  history = caught_up(history);
  if (noise_ != nullptr || !taken_.empty()) {
    handler_time taken;
    name_id reason = 0;
    while (next_break(time_ + cost, taken, reason)) {
      const ps_t worked = taken.begin > time_ ? taken.begin - time_ : 0;
      history = context_.trace.service(history, site_, time_, time_ + worked);
      time_ += worked;
      cost -= worked;
      history = context_.trace.wait(history, site_, reason, time_, taken.end);
      time_ = taken.end;
    }
  }
  history = context_.trace.service(history, site_, time_, time_ + cost);
  time_ += cost;
  worked_until_ = time_;
  return history;
}

// Loads

void cpu::start_load(std::uint64_t address, std::uint32_t length, std::coroutine_handle<> waiting) {
  drain_all();
  spend(context_.params.cpu.mmio_store_ps);
  load_length_ = length;
  waiting_ = waiting;
  departure item;
  item.address = address;
  depart_at(time_, item);
}

void cpu::start_config(const config_access& access, std::coroutine_handle<> waiting) {
  drain_all();
  spend(context_.params.cpu.mmio_store_ps);
  config_ = access;
  waiting_ = waiting;
  last_departure_ = std::max(last_departure_, time_);
  at(last_departure_, event::configure);
}

void cpu::on_mmio_data(ps_t when, std::uint16_t /*tag*/, const std::vector<std::uint8_t>& data,
                       completion_status status, trace_ref /*trace*/) {
  config_answer_ = {status, 0};
  for (std::size_t i = data.size(); i > 0; --i) {
    config_answer_.value = config_answer_.value << 8 | data[i - 1];
  }
  loaded_ = 0;
  for (const std::uint8_t byte : data) {
    loaded_ = loaded_ << 8 | byte;
  }
  proceed(when);
}

// Polling

cpu::poll_awaiter cpu::poll(polled_memory& what) {
  poll_start_ = time_;
  return {*this, what};
}

void cpu::start_poll(polled_memory& what, std::coroutine_handle<> waiting) {
  CARILLON_CHECK(what.sleeper_ == nullptr, "{}: two cores poll the same memory", this->name());
  waiting_ = waiting;
  polling_ = &what;
  what.sleeper_ = this;
  // The first poll happens whether or not anything is written.
  if (poll_start_ > now_ps() || far_polls_) {
    poll_scheduled_ = true;
    at(poll_start_, event::poll);
  }
}

void cpu::poll_next(ps_t visible) {
  if (poll_scheduled_) {
    return;
  }
  const auto interval = static_cast<ps_t>(context_.params.cpu.poll_interval_ps);
  const ps_t polls = (visible - poll_start_ + interval - 1) / interval;
  poll_scheduled_ = true;
  at(poll_start_ + polls * interval, event::poll);
}

/// A poll that finds something, unless the loop is interrupted at that moment.
void cpu::poll_now(ps_t now) {
  if (noise_ != nullptr) {
    const interruption& next = noise_->after(now);
    if (next.begin <= now) {
      noise_from_ = next.begin;
      noise_to_ = next.end;
      poll_start_ = next.end;
      poll_scheduled_ = true;
      at(next.end, event::poll);
      return;
    }
  }
  if (far_polls_) {
    fetch_far(now);
    return;
  }
  std::exchange(polling_, nullptr)->sleeper_ = nullptr;
  time_ = now;
  resume();
}

/// The write has taken the line away from the core's cache: it is asked for on the other socket.
void cpu::fetch_far(ps_t now) {
  constexpr std::uint64_t RequestBytes = 16;
  const bool from_nic = context_.params.host.core_node == context_.params.host.nic_node;
  const socket_direction there = from_nic ? socket_direction::from_nic : socket_direction::to_nic;
  const socket_direction back = from_nic ? socket_direction::to_nic : socket_direction::from_nic;
  socket_link& link = *bus_.sockets();
  fetch_from_ = now;
  fetch_ways_[0] = link.cross(there, now, RequestBytes);
  fetch_ways_[1] = link.cross(back, fetch_ways_[0].end, LineBytes);
  fetch_to_ = fetch_ways_[1].end;
  poll_scheduled_ = true;
  at(fetch_to_, event::fetched);
}

trace_ref cpu::seen(trace_ref history) {
  if (!context_.trace.live(history)) {
    return history;
  }
  if (woken_by_.message == history.message) {
    // Its event was the interrupt: that is how the program came to look.
    history = context_.trace.later(history, woken_by_);
  }
  ps_t at = context_.trace.end_of(history);
  const auto waits_until = [&](ps_t end, name_id reason) {
    const ps_t next = std::clamp(end, at, std::max(at, time_));
    history = context_.trace.wait(history, site_, reason, at, next);
    at = next;
  };
  if (at >= slept_from_) {
    waits_until(woken_, asleep_reason_);
  }
  if (interrupted_to_ > at && interrupted_to_ <= std::max(poll_start_, woken_)) {
    waits_until(interrupted_from_, busy_reason_);
    waits_until(interrupted_to_, interrupt_reason_);
  }
  if (noise_to_ > at && noise_to_ <= poll_start_) {
    waits_until(noise_from_, poll_reason_);
    waits_until(noise_to_, noise_reason_);
  }
  waits_until(poll_start_, busy_reason_);
  if (fetch_to_ > at) {
    waits_until(fetch_from_, poll_reason_);
    const socket_link& link = *bus_.sockets();
    const trace_site site{link.place(), site_.row};
    for (const socket_link::passage& way : fetch_ways_) {
      const ps_t begin = std::max(at, way.begin);
      history = context_.trace.wait(history, site, link.queue_reason(), at, begin);
      at = std::max(begin, way.end);
      history = context_.trace.flight(history, site, begin, at);
    }
  }
  waits_until(std::max(at, time_), poll_reason_);
  return history;
}

trace_ref cpu::enter_device(trace_ref history) {
  if (around_.shared_device != nullptr) {
    history = caught_up(history);
    time_ = around_.shared_device->enter(time_, site_.row, history);
  }
  return history;
}

trace_ref cpu::pass_software(trace_ref history) {
  if (around_.software != nullptr) {
    history = caught_up(history);
    time_ = around_.software->pass(time_, site_.row, history);
  }
  return history;
}

// Other cores

bool cpu::try_lock(cpu_lock& lock) {
  CARILLON_CHECK(time_ == now_ps(), "{}: takes a lock ahead of time", this->name());
  if (lock.owner_ != nullptr) {
    return false;
  }
  lock.owner_ = this;
  return true;
}

void cpu::queue_for(cpu_lock& lock, std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  lock.waiting_.push_back(this);
}

void cpu::release(cpu_lock& lock) {
  CARILLON_CHECK(lock.owner_ == this && time_ == now_ps(),
                 "{}: gives back a lock that it does not hold now", this->name());
  lock.owner_ = nullptr;
  if (!lock.waiting_.empty()) {
    cpu* next = lock.waiting_.front();
    lock.waiting_.pop_front();
    lock.owner_ = next;
    // The others that spin ask for the lock's line, too.
    const ps_t taken = static_cast<ps_t>(context_.params.cpu.lock_handover_ps) +
                       lock.waiting_.size() * static_cast<ps_t>(context_.params.cpu.lock_spin_ps);
    next->at(now_ps() + taken, event::resume);
  }
}

task<> cpu::meet(rendezvous& where) {
  co_await sync();
  co_await meet_awaiter{*this, where};
}

void cpu::start_meeting(rendezvous& where, std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  where.waiting_.push_back(this);
  if (where.waiting_.size() < where.parties_) {
    return;
  }
  for (cpu* each : where.waiting_) {
    each->at(now_ps(), event::resume);
  }
  where.waiting_.clear();
}

}  // namespace carillon
