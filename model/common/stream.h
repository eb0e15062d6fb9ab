// stream<T>: the only way in which stages talk.
//
// One producer, one consumer, `depth` entries (beats). The contract:
//
//  * An item pushed by a stage of latency L in cycle t is visible from t+L on, L >= 1.
//  * A stage accepts work only while it holds a credit for its output:
//      credits(t) = depth - beats accepted before t + beats taken before t;
//    a slot freed in t can be used from t+1.
//  * An item of several beats is contiguous: its beats follow one a cycle; while it is being taken
//  the port
//    is busy; its credits return one a cycle, the first in the cycle after the take.
//  * A producer short of credits calls ask_credit(t, n): it is woken in the first cycle in which n
//  credits are
//    there, whether the pops that free them are already made or still to come.
//
// Why each rule matters (all proven by tests that break them): visibility in the same cycle makes
// results depend on the order of evaluation; an ask_credit that forgets a pop made in the same
// cycle starves without a single mismatch.
//
// The stream is also the monitor of the port: it knows from port activity alone why its front item
// waits (see stage.h) and writes the spans and transfers of the trace, the same for the model and
// the RTL.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/context.h"
#include "common/error.h"
#include "common/tracer.h"
#include "common/types.h"

namespace carillon {

class stream_base {
 public:
  /// `depth` counts beats and is also the largest number of items; `max_beats` is the largest item.
  /// A depth under max_beats is refused.
  stream_base(sim_context& context, std::string name, unsigned depth, unsigned max_beats);
  stream_base(const stream_base&) = delete;
  stream_base& operator=(const stream_base&) = delete;
  virtual ~stream_base() = default;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] std::uint32_t id() const { return id_; }

  [[nodiscard]] unsigned depth() const { return depth_; }

  [[nodiscard]] unsigned max_beats() const { return max_beats_; }

  /// Who pushes, and on whose account its service is booked.
  void from(clocked& producer, trace_site site);
  /// Who takes, and on whose account waiting at this port is booked.
  void to(clocked& consumer, trace_site site);

  /// Wakes `other` whenever the consumer is woken for an item: the RTL that runs beside it.
  void wakes_too(clocked& other) { companion_ = &other; }

  /// Keeps its transfers out of the stage trace: a stream that only one implementation of a stage
  /// has.
  void keep_private() { private_ = true; }

  // Producer's side
  // -----------------------------------------------------------------------------------
  /// Credits usable in cycle t.
  [[nodiscard]] unsigned credits(cycle_t t) { return fold(t); }

  /// Takes `beats` credits in cycle t for an item that is pushed later by push_reserved: for a
  /// stage that accepts work before it knows the cycle of its result.
  void reserve(cycle_t t, unsigned beats);

  /// Gives reserved credits back, usable at once: the item turned out smaller, or there is none.
  void cancel(cycle_t t, unsigned beats);

  [[nodiscard]] bool has_credit(cycle_t t, unsigned beats = 1) {
    // Credits only come back: what was there is there.
    return available_ >= beats || fold(t) >= beats;
  }

  /// Arranges that the producer is woken as soon as `beats` credits are usable (at the earliest in
  /// t+1).
  void ask_credit(cycle_t t, unsigned beats = 1);

  /// The cycle from which the port is free for another item's first beat to become visible.
  [[nodiscard]] cycle_t port_free() const { return port_free_; }

  // Consumer's side
  // -----------------------------------------------------------------------------------
  [[nodiscard]] bool empty() const { return count_ == 0; }

  /// The front item may be taken in cycle t.
  [[nodiscard]] bool takeable(cycle_t t) const {
    return count_ != 0 && entries_[head_].visible <= t && busy_until_ <= t;
  }

  /// The first cycle in which the front item can be taken; NeverCycle if there is none.
  [[nodiscard]] cycle_t next_take() const {
    return count_ == 0 ? NeverCycle : std::max(entries_[head_].visible, busy_until_);
  }

  /// Items waiting, visible or not.
  [[nodiscard]] unsigned size() const { return count_; }

  [[nodiscard]] cycle_t front_visible() const { return entries_[head_].visible; }

  [[nodiscard]] unsigned front_beats() const { return entries_[head_].beats; }

  /// A beat of an item is transferred in cycle t.
  [[nodiscard]] bool transferring(cycle_t t) const {
    return taken_any_ && last_taken_ <= t && t < busy_until_;
  }

  /// An item (its first beat) was taken in cycle t.
  [[nodiscard]] bool taken_in(cycle_t t) const { return taken_any_ && last_taken_ == t; }

  /// From when on the port is free for the next take.
  [[nodiscard]] cycle_t busy_until() const { return busy_until_; }

  /// The cycle of the last take; only after one.
  [[nodiscard]] cycle_t last_taken() const { return last_taken_; }

  /// When the item taken last had become visible.
  [[nodiscard]] cycle_t last_taken_visible() const { return last_taken_visible_; }

  /// Books that the front item, takeable in cycle t, was not taken in it because of `reason`.
  void explain(cycle_t t, name_id reason);

  /// Throws model_error unless the stream is empty and every credit is home.
  void check_drained() const;

 protected:
  struct entry {
    cycle_t visible;
    std::uint32_t beats;
  };

  /// Books the credits and the service span of a push; returns the item's new history. The caller
  /// stores the item at index `slot()` beforehand.
  trace_ref book_push(cycle_t t, unsigned latency, unsigned beats, bool reserved,
                      trace_ref history);
  /// Books the take of the front item; returns its new history.
  trace_ref book_take(cycle_t t, trace_ref history);

  [[nodiscard]] unsigned head() const { return head_; }

  [[nodiscard]] unsigned index_of(unsigned nth) const {
    const unsigned at = head_ + nth;
    return at >= capacity_ ? at - capacity_ : at;
  }

  [[nodiscard]] cycle_t visible_of(unsigned nth) const { return entries_[index_of(nth)].visible; }

  [[nodiscard]] unsigned tail() const { return index_of(count_); }

  [[nodiscard]] unsigned capacity() const { return capacity_; }

  sim_context& context_;

 private:
  struct credit_return {
    cycle_t first;  ///< usable from here on, one a cycle
    std::uint32_t beats;
    std::uint32_t folded;
  };

  struct wait_part {
    cycle_t from;
    name_id reason;
  };

  unsigned fold(cycle_t t);
  void wake_consumer(cycle_t t);
  [[nodiscard]] cycle_t credit_cycle(unsigned beats) const;

  std::string name_;
  std::uint32_t id_;
  unsigned depth_;
  unsigned max_beats_;
  unsigned capacity_;
  clocked* producer_ = nullptr;
  clocked* consumer_ = nullptr;
  clocked* companion_ = nullptr;
  trace_site producer_site_;
  trace_site consumer_site_;
  name_id order_reason_;

  std::vector<entry> entries_;
  unsigned head_ = 0;
  unsigned count_ = 0;
  cycle_t port_free_ = 0;

  unsigned available_;
  unsigned reserved_ = 0;
  std::vector<credit_return> returns_;  ///< oldest first
  std::size_t returns_head_ = 0;
  unsigned asked_ = 0;  ///< beats the producer waits for; 0: it does not

  cycle_t busy_until_ = 0;
  cycle_t last_taken_ = 0;
  cycle_t last_taken_visible_ = 0;
  bool taken_any_ = false;
  bool private_ = false;
  std::vector<wait_part> waits_;
};

/// Sees the items of a stream as they pass; for the RTL adapters and the lockstep checker.
template <class T>
class stream_tap {
 public:
  virtual ~stream_tap() = default;
  virtual void on_take(cycle_t t, const T& item) = 0;
};

/// T must have a member `trace_ref trace`.
template <class T>
class stream final : public stream_base {
 public:
  stream(sim_context& context, std::string name, unsigned depth, unsigned max_beats = 1)
      : stream_base(context, std::move(name), depth, max_beats), items_(capacity()) {}

  /// Accepts `item` in cycle t for a producer of latency `latency`: visible from t + latency on.
  /// The producer must hold `beats` credits.
  void push(cycle_t t, unsigned latency, T item, unsigned beats = 1) {
    item.trace = book_push(t, latency, beats, false, item.trace);
    items_[last_slot()] = std::move(item);
  }

  /// The same for an item whose history already reaches the cycle in which it becomes visible: the
  /// producer booked its service itself, on another account.
  void push_booked(cycle_t t, unsigned latency, T item, unsigned beats = 1) {
    const trace_ref history = item.trace;
    (void)book_push(t, latency, beats, false, {});
    items_[last_slot()] = std::move(item);
    items_[last_slot()].trace = history;
  }

  /// The same with credits reserved before.
  void push_reserved(cycle_t t, unsigned latency, T item, unsigned beats = 1) {
    item.trace = book_push(t, latency, beats, true, item.trace);
    items_[last_slot()] = std::move(item);
  }

  /// Both at once.
  void push_reserved_booked(cycle_t t, unsigned latency, T item, unsigned beats = 1) {
    const trace_ref history = item.trace;
    (void)book_push(t, latency, beats, true, {});
    items_[last_slot()] = std::move(item);
    items_[last_slot()].trace = history;
  }

  [[nodiscard]] const T& front() const { return items_[head()]; }

  [[nodiscard]] T& front() { return items_[head()]; }

  /// Takes the front item in cycle t; it must be takeable.
  T take(cycle_t t) {
    T item = std::move(items_[head()]);
    item.trace = book_take(t, item.trace);
    for (stream_tap<T>* observer : taps_) {
      observer->on_take(t, item);
    }
    return item;
  }

  /// Calls change(item) for every item not yet visible in cycle t: what is still inside the
  /// producer's pipeline. For a memory that forwards writes to the reads in flight.
  template <class Change>
  void in_flight(cycle_t t, Change&& change) {
    for (unsigned i = 0; i < size(); ++i) {
      if (visible_of(i) > t) {
        change(items_[index_of(i)]);
      }
    }
  }

  /// Adds an observer; observers are told in the order in which they were added.
  void tap(stream_tap<T>* observer) { taps_.push_back(observer); }

 private:
  [[nodiscard]] unsigned last_slot() const {
    const unsigned after = tail();
    return after == 0 ? capacity() - 1 : after - 1;
  }

  std::vector<T> items_;
  std::vector<stream_tap<T>*> taps_;
};

}  // namespace carillon
