// One stream of a stage with a twin, without its item's type: what the adapter and the lockstep
// checker need of it.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/stream.h"
#include "common/twin.h"
#include "cosim/beats.h"

namespace carillon {

class twin_port {
 public:
  twin_port(stream_base& stream, bool input) : stream_(stream), input_(input) {}

  twin_port(const twin_port&) = delete;
  twin_port& operator=(const twin_port&) = delete;
  virtual ~twin_port() = default;

  [[nodiscard]] stream_base& base() { return stream_; }

  [[nodiscard]] const stream_base& base() const { return stream_; }

  [[nodiscard]] bool input() const { return input_; }

  /// A beat is offered in cycle t: of the item being transferred, or the first of the front item.
  [[nodiscard]] bool offered(cycle_t t) const {
    return stream_.transferring(t) || (!stream_.empty() && stream_.front_visible() <= t);
  }

  /// The beat transferred in cycle t, or else the front item's first.
  virtual void pack(cycle_t t, std::uint32_t* words) const = 0;
  virtual void take(cycle_t t) = 0;

  /// An item of the RTL reached the front of its output FIFO with its first beat. Returns its
  /// number of beats.
  virtual unsigned count(const std::uint32_t* first) const = 0;
  /// Its history may reach `visible` already.
  virtual void deliver(const std::uint32_t* first, const twin_rules::departure& from,
                       cycle_t visible) = 0;
  /// Beat `index` of the item delivered last.
  virtual void fill(const std::uint32_t* words, unsigned index) = 0;

  [[nodiscard]] virtual std::span<const stream_field_desc> fields() const = 0;
  [[nodiscard]] virtual unsigned words() const = 0;
  /// The message of the item transferred last.
  [[nodiscard]] virtual std::uint32_t message() const = 0;

  /// Who hears of every item taken.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void on_taken(cycle_t t, twin_port& port) = 0;
  };

  void tell(listener* who) { listener_ = who; }

  /// Whose handles the items of the RTL get.
  void follow(const twin_rules* rules) { rules_ = rules; }

  /// Histories come whole: no latency is to be booked.
  void leave_histories(bool whole) { booked_ = whole; }

 protected:
  stream_base& stream_;
  bool input_;
  listener* listener_ = nullptr;
  const twin_rules* rules_ = nullptr;
  bool booked_ = false;
};

/// `Codec` is the item's on this very port: what an item needs on the pins may differ from port to
/// port.
template <class T, class Codec = beat_codec<T>>
class typed_port final : public twin_port, private stream_tap<T> {
 public:
  using codec = Codec;
  using beat = typename codec::beat;
  static_assert(beat::Words <= MaxBeatWords);

  typed_port(stream_base& stream, bool input, buffer_pool& buffers)
      : twin_port(stream, input),
        typed_(dynamic_cast<carillon::stream<T>&>(stream)),
        buffers_(buffers) {
    typed_.tap(this);
  }

  void pack(cycle_t t, std::uint32_t* words) const override {
    if (stream_.transferring(t)) {
      codec::pack(current_, static_cast<unsigned>(t - stream_.last_taken()), codec::count(current_),
                  words);
    } else {
      codec::pack(typed_.front(), 0, codec::count(typed_.front()), words);
    }
  }

  void take(cycle_t t) override { typed_.take(t); }

  unsigned count(const std::uint32_t* first) const override {
    return codec::count(codec::unpack_first(first, buffers_));
  }

  void deliver(const std::uint32_t* first, const twin_rules::departure& from,
               cycle_t visible) override {
    T item = codec::unpack_first(first, buffers_);
    if constexpr (!requires { typename codec::of_no_message; }) {
      CARILLON_CHECK(item.trace.message == from.history.message,
                     "{}: the RTL's item belongs to message {}, its inputs to {}", stream_.name(),
                     item.trace.message, from.history.message);
    }
    item.trace = from.history;
    if constexpr (requires { codec::attach(item, rules_->handles()); }) {
      codec::attach(item, rules_->handles());
    }
    const unsigned beats = codec::count(item);
    filling_ = codec::body(item);
    if constexpr (Whole) {
      delivered_ = item;
    } else {
      codec::unpack_rest(first, 0, filling_);
    }
    const auto latency = static_cast<unsigned>(visible - from.begin);
    if (booked_) {
      typed_.push_reserved_booked(from.begin, latency, std::move(item), beats);
    } else {
      typed_.push_reserved(from.begin, latency, std::move(item), beats);
    }
  }

  void fill(const std::uint32_t* words, unsigned index) override {
    if constexpr (Whole) {
      std::array<std::uint32_t, MaxBeatWords> known;
      codec::pack(delivered_, index, codec::count(delivered_), known.data());
      if (!std::equal(words, words + beat::Words, known.begin())) {
        throw model_error(
            fmt::format("{}: beat {} of the RTL's item of message {} is another one "
                        "than what its inputs say",
                        stream_.name(), index, delivered_.trace.message));
      }
    } else {
      codec::unpack_rest(words, index, filling_);
    }
  }

  [[nodiscard]] std::span<const stream_field_desc> fields() const override { return beat::Fields; }

  [[nodiscard]] unsigned words() const override { return beat::Words; }

  [[nodiscard]] std::uint32_t message() const override { return current_.trace.message; }

 private:
  /// Its consumer looks at the whole item when it takes its first beat, before the rest has passed:
  /// it is known from the rules, and the beats must be the same.
  static constexpr bool Whole = requires { Codec::Whole; };

  void on_take(cycle_t t, const T& item) override {
    current_ = item;
    if (listener_ != nullptr) {
      listener_->on_taken(t, *this);
    }
  }

  carillon::stream<T>& typed_;
  buffer_pool& buffers_;
  T current_{};
  T delivered_{};
  buffer_ref filling_;
};

/// A question of a block that is answered within the cycle: its pins' words, of structs of the
/// stream specification, and who answers.
struct twin_lookup_desc {
  const char* name;
  unsigned query_words;
  unsigned answer_words;
  void (*answer)(const twin_levels& levels, cycle_t t, const std::uint32_t* query,
                 std::uint32_t* answer);
};

/// What the RTL side knows of a stage with a twin: the names, directions and item types of its
/// streams, in the order of the stage's own port table.
struct twin_port_desc {
  const char* name;
  bool input;
  std::unique_ptr<twin_port> (*make)(stream_base& stream, bool input, buffer_pool& buffers);
  bool optional = false;  ///< a NIC may leave it out; then its pins are quiet
};

/// A value that a block sees beside its streams: what it is in cycle t, from what happened before
/// t.
struct twin_level_desc {
  const char* name;
  std::uint32_t (*value)(const parameters& params, std::span<stream_base* const> ports, cycle_t t);
};

/// What a block sees of a level of its stage. `changes` counts the changes of the level, `fill`
/// writes the words of the pins as they are in cycle t.
struct twin_view_desc {
  const char* name;
  unsigned words;
  std::uint64_t (*changes)(const twin_levels& levels, cycle_t t);
  void (*fill)(const parameters& params, const twin_levels& levels, cycle_t t,
               std::uint32_t* words);
};

/// A level that the stage's rules write, and the block has as pins: its words as they are seen in
/// cycle t.
struct twin_value_desc {
  const char* name;
  unsigned words;
  void (*fill)(const twin_levels& levels, cycle_t t, std::uint32_t* words);
};

struct twin_desc {
  const char* stage;
  std::vector<twin_port_desc> ports;
  std::vector<twin_level_desc> levels = {};
  std::vector<twin_lookup_desc> lookups = {};  ///< each may follow from the answers before it
  std::vector<twin_view_desc> views = {};  ///< a block lists their pins behind those of its levels
  std::vector<twin_value_desc> values = {};
};

/// nullptr for a stage without a twin.
const twin_desc* find_twin(std::string_view stage);

}  // namespace carillon
