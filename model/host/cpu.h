// One core of a host: a sequential actor in simulated time that runs programs written as
// coroutines.
//
// A core has a time of its own, at or ahead of simulated time. Steps that nobody else can observe
// only move that time (spend); before a step that others can observe (a store to memory, to the
// device, a lock) the program waits until simulated time has come up to it (sync). So a post costs
// as many events as it has visible effects.
//
// Stores to the device. Uncached ones leave at once, in order. Write-combined ones gather in line
// buffers; a line leaves when it is full, when its buffer is needed for another, at a fence and
// before an uncached access; its buffer may be busy for a while after that. In which order a fence
// drains several lines is not defined by real cores and can be chosen here. Behind a fence that
// lasts a core may go on with so many stores as its store buffer holds.
//
// Polling is computed: the core sleeps until the watched memory is written and then continues at
// the next poll of its grid.
//
// An interrupt's handler takes time from whatever the core does. Work that the program has already
// done in its own time cannot be moved any more; what it does next is later by as much, and its
// history waits. Stores that it has given away leave as planned.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/context.h"
#include "common/random.h"
#include "host/effects/device_sharing.h"
#include "host/effects/os_noise.h"
#include "host/effects/software_path.h"
#include "host/fifo.h"
#include "host/host_memory.h"
#include "host/root_complex.h"
#include "host/task.h"

namespace carillon {

class cpu;
class interrupt_line;

/// What the cores of a host have in common, as far as there is any.
struct core_surroundings {
  device_sharing* shared_device = nullptr;
  software_path* software = nullptr;
};

/// Something in memory that a core polls for. It watches the range all the time, so that it knows
/// whose write it saw even when nobody polled at that moment.
class polled_memory : public memory_watcher {
 public:
  polled_memory(host_memory& memory, std::uint64_t address, std::uint64_t length);
  polled_memory(const polled_memory&) = delete;
  polled_memory& operator=(const polled_memory&) = delete;
  ~polled_memory() override;

  /// What a poll would find now.
  [[nodiscard]] virtual bool ready() const = 0;

 protected:
  /// After a write, before a sleeping core is told.
  virtual void written(std::uint64_t address, std::uint64_t length) = 0;

  host_memory& memory_;
  const std::uint64_t address_;
  const std::uint64_t length_;

 private:
  friend class cpu;
  void on_memory_write(std::uint64_t address, std::uint64_t length) final;

  cpu* sleeper_ = nullptr;
};

/// A byte that the peer's WRITE changes last.
class polled_byte final : public polled_memory {
 public:
  polled_byte(host_memory& memory, tracer& trace, std::uint64_t address);
  ~polled_byte() override;

  void expect(std::uint8_t value) { expected_ = value; }

  [[nodiscard]] bool ready() const override;

  /// The history of the write that was seen last; the caller gives it back by tracer::release.
  [[nodiscard]] trace_ref take_writer() { return std::exchange(writer_, {}); }

 private:
  void written(std::uint64_t address, std::uint64_t length) override;

  tracer& trace_;
  std::uint8_t expected_ = 0;
  trace_ref writer_;
};

/// A lock in memory that cores take in the order in which they asked.
class cpu_lock {
 public:
  [[nodiscard]] bool held() const { return owner_ != nullptr; }

 private:
  friend class cpu;
  cpu* owner_ = nullptr;
  std::deque<cpu*> waiting_;
};

/// A point where programs of several cores wait for each other: the out-of-band exchange of a
/// connection.
class rendezvous {
 public:
  explicit rendezvous(unsigned parties) : parties_(parties) {}

 private:
  friend class cpu;
  const unsigned parties_;
  std::vector<cpu*> waiting_;
};

enum class drain_order : std::uint8_t { oldest_first, newest_first, random };

class cpu final : public sc_core::sc_module, private timed, private mmio_read_listener {
 public:
  cpu(const sc_core::sc_module_name& name, sim_context& context, host_memory& memory,
      root_complex& bus, const core_surroundings& around = {});

  /// Starts a program now. A core runs one at a time. `done` is called when it has returned.
  void run(task<> program, std::function<void()> done = {});

  /// After a run that failed: the program's variables go before what they refer to.
  void abandon() { program_ = {}; }

  [[nodiscard]] bool busy() const { return static_cast<bool>(program_); }

  /// The core's own time.
  [[nodiscard]] ps_t time() const { return time_; }

  [[nodiscard]] trace_site site() const { return site_; }

  [[nodiscard]] tracer& trace() { return context_.trace; }

  [[nodiscard]] const parameters& params() const { return context_.params; }

  [[nodiscard]] host_memory& memory() { return memory_; }

  // Steps
  /// Works for `cost`. With a history, the work is booked on it and its new end returned.
  trace_ref spend(ps_t cost, trace_ref history = {});

  struct sync_awaiter {
    cpu& core;

    [[nodiscard]] bool await_ready() const { return core.time_ == now_ps(); }

    void await_suspend(std::coroutine_handle<> waiting) const {
      core.sleep_until(core.time_, waiting);
    }

    void await_resume() const {}
  };

  /// Waits until simulated time is the core's.
  [[nodiscard]] sync_awaiter sync() { return {*this}; }

  /// Sleeps until `when` if that is later than now.
  void idle_until(ps_t when) { time_ = std::max(time_, when); }

  /// A store of 4 or 8 bytes to the device that no buffer delays. The history is continued by the
  /// TLP.
  trace_ref store_uncached(std::uint64_t address, std::span<const std::uint8_t> bytes,
                           trace_ref history = {});
  trace_ref store_combined(std::uint64_t address, std::span<const std::uint8_t> bytes,
                           trace_ref history = {});
  /// Orders earlier stores before later ones and drains the line buffers.
  trace_ref fence(trace_ref history = {});

  /// Until the last fence has ended: what comes next is no store that may wait behind it.
  trace_ref finish_fence(trace_ref history = {});

  void drain_by(drain_order order) { drain_order_ = order; }

  struct load_awaiter {
    cpu& core;
    std::uint64_t address;
    std::uint32_t length;

    [[nodiscard]] bool await_ready() const { return false; }

    void await_suspend(std::coroutine_handle<> waiting) const {
      core.start_load(address, length, waiting);
    }

    /// The value, first byte most significant; all ones if the device refused.
    [[nodiscard]] std::uint64_t await_resume() const { return core.loaded_; }
  };

  /// Reads 4 or 8 bytes of the device; the core waits for the answer.
  [[nodiscard]] load_awaiter load(std::uint64_t address, std::uint32_t length) {
    return {*this, address, length};
  }

  /// An access to configuration space, one dword or some of its bytes.
  struct config_access {
    std::uint16_t routing_id = 0;
    std::uint16_t offset = 0;
    bool write = false;
    std::uint8_t enables = 0xf;
    std::uint32_t value = 0;  ///< byte 0 is the least significant
  };

  struct config_reply {
    completion_status status = completion_status::Success;
    std::uint32_t value = 0;  ///< of a read; all ones without success
  };

  struct config_awaiter {
    cpu& core;
    config_access access;

    [[nodiscard]] bool await_ready() const { return false; }

    void await_suspend(std::coroutine_handle<> waiting) const {
      core.start_config(access, waiting);
    }

    [[nodiscard]] config_reply await_resume() const { return core.config_answer_; }
  };

  /// The core waits for the completion.
  [[nodiscard]] config_awaiter config(const config_access& access) { return {*this, access}; }

  struct poll_awaiter {
    cpu& core;
    polled_memory& what;

    [[nodiscard]] bool await_ready() const {
      return core.time_ == now_ps() && !core.far_polls_ && what.ready();
    }

    void await_suspend(std::coroutine_handle<> waiting) const { core.start_poll(what, waiting); }

    void await_resume() const {}
  };

  /// Polls every cpu.poll_interval_ps from now on until it is ready. The cost of taking what was
  /// found is the caller's.
  [[nodiscard]] poll_awaiter poll(polled_memory& what);

  /// A poll loop of the program's own begins now.
  void begin_polling() { poll_start_ = time_; }

  /// Continues a history that ended at some time with the wait until the core's time: `asleep`
  /// until an interrupt woke the program, `cpu_busy` until the poll loop began, with `interrupt`
  /// for a handler, `poll` from then on. The message whose event was the interrupt goes on from the
  /// end of its handler.
  trace_ref seen(trace_ref history);

  // What a message passes between the program and the device
  /// A post has the device's lock and queues; now, if they are not shared.
  trace_ref enter_device(trace_ref history);
  /// A message is through the software on its way; now, if there is none.
  trace_ref pass_software(trace_ref history);

  // Interrupts
  /// A message for a line of this core has come.
  void interrupt(interrupt_line& line, trace_ref trace);

  struct interrupt_awaiter {
    cpu& core;
    interrupt_line& line;

    [[nodiscard]] bool await_ready() const;
    void await_suspend(std::coroutine_handle<> waiting) const;
    void await_resume() const;
  };

  /// Sleeps until the line's handler has run since the program waited for it last.
  [[nodiscard]] interrupt_awaiter sleep(interrupt_line& line) { return {*this, line}; }

  /// The history of what the program does, if it was interrupted before a step: up to the core's
  /// time. For those who book on it themselves.
  trace_ref caught_up(trace_ref history);

  struct lock_awaiter {
    cpu& core;
    cpu_lock& lock;

    [[nodiscard]] bool await_ready() const { return core.try_lock(lock); }

    void await_suspend(std::coroutine_handle<> waiting) const { core.queue_for(lock, waiting); }

    void await_resume() const {}
  };

  /// To be called in sync; the core's time moves on while it waits.
  [[nodiscard]] lock_awaiter acquire(cpu_lock& lock) { return {*this, lock}; }

  /// To be called in sync.
  void release(cpu_lock& lock);

  /// Waits until all parties have come.
  task<> meet(rendezvous& where);

 private:
  static constexpr std::uint32_t LineBytes = 64;
  static constexpr std::uint32_t StoreBytes = 8;

  struct line_buffer {
    std::uint64_t line = 0;  ///< address of its first byte
    std::uint64_t mask = 0;  ///< bytes written
    std::array<std::uint8_t, LineBytes> bytes{};
    trace_ref trace;
  };

  struct departure {
    std::uint64_t address = 0;
    std::uint32_t length = 0;  ///< 0: a load of load_length_ bytes
    std::array<std::uint8_t, LineBytes> bytes{};
    trace_ref trace;
  };

  enum class event : std::uint64_t { resume, depart, poll, fetched, handled, configure };

  struct handler {
    interrupt_line* line = nullptr;
    trace_ref history;  ///< up to its end
  };

  struct handler_time {
    ps_t begin = 0;
    ps_t end = 0;
  };

  void on_time(ps_t now, std::uint64_t what) override;
  void on_mmio_data(ps_t when, std::uint16_t tag, const std::vector<std::uint8_t>& data,
                    completion_status status, trace_ref trace) override;
  void resume();
  /// Lets the program go on now, or after the handlers that come first.
  void proceed(ps_t now);
  void end_handler(ps_t now);
  [[nodiscard]] ps_t after_handlers(ps_t from);
  void start_sleep(interrupt_line& line, std::coroutine_handle<> waiting);
  void sleep_until(ps_t when, std::coroutine_handle<> waiting);
  void start_load(std::uint64_t address, std::uint32_t length, std::coroutine_handle<> waiting);
  void start_config(const config_access& access, std::coroutine_handle<> waiting);
  void start_poll(polled_memory& what, std::coroutine_handle<> waiting);
  void poll_next(ps_t visible);
  void poll_now(ps_t now);
  void fetch_far(ps_t now);
  [[nodiscard]] bool try_lock(cpu_lock& lock);
  void queue_for(cpu_lock& lock, std::coroutine_handle<> waiting);

  struct meet_awaiter {
    cpu& core;
    rendezvous& where;

    [[nodiscard]] bool await_ready() const { return false; }

    void await_suspend(std::coroutine_handle<> waiting) const {
      core.start_meeting(where, waiting);
    }

    void await_resume() const {}
  };

  void start_meeting(rendezvous& where, std::coroutine_handle<> waiting);

  void at(ps_t when, event what) {
    context_.line.at(when, *this, static_cast<std::uint64_t>(what));
  }

  void depart_at(ps_t when, departure item);
  trace_ref free_line_buffer(trace_ref history);
  trace_ref behind_fence(std::uint32_t stores, trace_ref history);
  trace_ref end_fence(trace_ref history);
  void drain_line(std::size_t index);
  void drain_all();
  /// What takes the core from the program before it has worked until `until`; false: nothing.
  bool next_break(ps_t until, handler_time& taken, name_id& reason);

  friend class polled_memory;

  sim_context& context_;
  host_memory& memory_;
  root_complex& bus_;
  const trace_site site_;
  const name_id pcie_row_;
  const name_id poll_reason_;
  const name_id busy_reason_;
  const name_id noise_reason_;
  const trace_site interrupt_site_;
  const name_id interrupt_reason_;
  const name_id asleep_reason_;
  const name_id order_reason_;
  const name_id combining_reason_;
  const name_id drain_reason_;

  ps_t time_ = 0;
  task<> program_;
  std::function<void()> done_;
  std::coroutine_handle<> waiting_;

  std::vector<line_buffer> lines_;  ///< in use, oldest first
  fifo<departure> departures_;
  fifo<ps_t> busy_buffers_;  ///< of lines that were given away: when each is free
  ps_t last_departure_ = 0;
  ps_t last_line_ = 0;             ///< when the last line since the last fence leaves; 0: none
  ps_t fence_end_ = 0;             ///< of the last one
  std::uint32_t stores_left_ = 0;  ///< that may be made before it
  drain_order drain_order_ = drain_order::oldest_first;
  random_stream drain_random_;

  std::uint32_t load_length_ = 0;
  std::uint64_t loaded_ = 0;
  config_access config_;
  config_reply config_answer_;

  polled_memory* polling_ = nullptr;
  bool poll_scheduled_ = false;
  ps_t poll_start_ = 0;

  const core_surroundings around_;
  std::unique_ptr<os_noise> noise_;
  ps_t noise_from_ = 0;  ///< the last interruption of a poll loop ...
  ps_t noise_to_ = 0;    ///< ... until here; 0: none

  const bool far_polls_;  ///< what is polled lies on another socket
  ps_t fetch_from_ = 0;   ///< the last time that it was brought here ...
  ps_t fetch_to_ = 0;     ///< ... until here; 0: never
  std::array<socket_link::passage, 2> fetch_ways_{};

  fifo<handler> handlers_;  ///< that have not ended
  ps_t handlers_end_ = 0;
  fifo<handler_time> taken_;   ///< handlers that the program has not met yet
  ps_t owed_ = 0;              ///< time of handlers that it has worked through
  ps_t worked_until_ = 0;      ///< end of its last work
  ps_t interrupted_from_ = 0;  ///< when it was last held up before a step ...
  ps_t interrupted_to_ = 0;    ///< ... until here; 0: never
  ps_t slept_from_ = 0;
  ps_t woken_ = 0;
  trace_ref woken_by_;  ///< not held: who has seen the message knows whether it still lives
};

}  // namespace carillon
