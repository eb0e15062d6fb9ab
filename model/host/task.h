// Coroutines for what runs on a CPU core: a task starts when it is awaited, and its caller
// continues when it returns.
//
// Frames come from free lists, so that a program in steady state allocates nothing.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace carillon {

/// Free lists of coroutine frames, one for each size in steps of 64 bytes. Single-threaded, like
/// the simulation.
class frame_pool {
 public:
  static void* take(std::size_t bytes) {
    const std::size_t slot = slot_of(bytes);
    if (slot >= Slots) {
      return ::operator new(bytes);
    }
    std::vector<void*>& free = lists()[slot];
    if (free.empty()) {
      return ::operator new((slot + 1) * Step);
    }
    void* frame = free.back();
    free.pop_back();
    return frame;
  }

  static void give_back(void* frame, std::size_t bytes) noexcept {
    const std::size_t slot = slot_of(bytes);
    if (slot >= Slots) {
      ::operator delete(frame);
      return;
    }
    lists()[slot].push_back(frame);
  }

 private:
  static constexpr std::size_t Step = 64;
  static constexpr std::size_t Slots = 64;

  struct free_lists : std::array<std::vector<void*>, Slots> {
    ~free_lists() {
      for (const std::vector<void*>& each : *this) {
        for (void* frame : each) {
          ::operator delete(frame);
        }
      }
    }
  };

  static std::size_t slot_of(std::size_t bytes) { return (bytes + Step - 1) / Step - 1; }

  static free_lists& lists() {
    static free_lists all;
    return all;
  }
};

template <class T>
class [[nodiscard]] task;

namespace detail {

struct task_promise_base {
  static void* operator new(std::size_t bytes) { return frame_pool::take(bytes); }

  static void operator delete(void* frame, std::size_t bytes) noexcept {
    frame_pool::give_back(frame, bytes);
  }

  struct final_awaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) const noexcept {
      const std::coroutine_handle<> next = done.promise().continuation;
      return next ? next : std::noop_coroutine();
    }

    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  [[nodiscard]] final_awaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() { error = std::current_exception(); }

  std::coroutine_handle<> continuation;
  std::exception_ptr error;
};

template <class T>
struct task_promise : task_promise_base {
  task<T> get_return_object();

  void return_value(T result) { value.emplace(std::move(result)); }

  T take() { return std::move(*value); }

  std::optional<T> value;
};

template <>
struct task_promise<void> : task_promise_base {
  task<void> get_return_object();

  void return_void() {}

  void take() {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;

  task() = default;

  explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

  task& operator=(task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  task(const task&) = delete;
  task& operator=(const task&) = delete;

  ~task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    handle_.promise().continuation = caller;
    return handle_;
  }

  T await_resume() {
    if (handle_.promise().error) {
      std::rethrow_exception(handle_.promise().error);
    }
    return handle_.promise().take();
  }

  // For whoever runs a task without awaiting it.
  explicit operator bool() const { return static_cast<bool>(handle_); }

  [[nodiscard]] bool done() const { return handle_.done(); }

  [[nodiscard]] std::coroutine_handle<> handle() const { return handle_; }

  void rethrow() const {
    if (handle_.promise().error) {
      std::rethrow_exception(handle_.promise().error);
    }
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() {
  return task<T>(std::coroutine_handle<task_promise<T>>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() {
  return task<void>(std::coroutine_handle<task_promise<void>>::from_promise(*this));
}

}  // namespace detail

}  // namespace carillon
