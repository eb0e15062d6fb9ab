// How a stage gets its implementation: the model, its RTL twin, or both in lockstep.
//
// A stage with a twin is made by make_twin<Stage>(), whatever its implementation. Neither the stage
// nor the NIC knows Verilator: the RTL side is reached through a twin_host, which only a build with
// RTL has.
//
// What the twin needs to know of a stage beyond its ports is its twin_rules: why an input may have
// to wait, and how an output item's history follows from the inputs. The model uses the very same
// object, so both write the same traces.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/function_map.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/stage.h"
#include "common/stream.h"

namespace carillon {

class vport_table;
struct partition_table;
struct stream_field_desc;

enum class impl_kind : std::uint8_t { model, rtl, lockstep };

inline const char* to_string(impl_kind kind) {
  switch (kind) {
    case impl_kind::model:
      return "model";
    case impl_kind::rtl:
      return "rtl";
    case impl_kind::lockstep:
      return "lockstep";
  }
  return "?";
}

/// What port activity alone tells of a stage. An implementation follows the ports itself, as a tap
/// of the input streams; it also makes the reservations that the stage makes when it takes an item.
class twin_rules {
 public:
  struct wait_list {
    stream_base* input;
    std::vector<blocker> blockers;
  };

  /// How an item leaves: its history up to cycle `begin`, from where its fixed latency is booked.
  struct departure {
    trace_ref history;
    cycle_t begin;
  };

  virtual ~twin_rules() = default;

  /// What each input may wait for, in order of precedence.
  [[nodiscard]] virtual std::vector<wait_list> waits() = 0;

  /// On whose account `port` books: an output its latency, an input its waits; `own` is the
  /// stage's.
  [[nodiscard]] virtual trace_site booked(unsigned /*port*/, trace_site own) const { return own; }

  /// The histories of output `port` reach the cycle in which an item becomes visible: the stage
  /// books its latency itself.
  [[nodiscard]] virtual bool books(unsigned /*port*/) const { return false; }

  /// The next item of output `port` (index in the stage's port table) becomes visible in cycle
  /// `visible`.
  virtual departure departs(unsigned port, cycle_t visible) = 0;

  /// What an item refers to outside of the twin, whose beats only name it.
  struct item_handles {
    buffer_ref frame;
    buffer_ref body;
    std::uint32_t origin = 0;  ///< what the twin counts as the frame's first byte
  };

  /// Of the item that departed last.
  [[nodiscard]] virtual item_handles handles() const { return {}; }

  /// All inputs of cycle t are taken: time for reservations that follow from no input.
  virtual void settle(cycle_t /*t*/) {}
};

/// A memory beside a twin, of which it reads a line a cycle by a port of its own.
class twin_store {
 public:
  virtual ~twin_store() = default;

  virtual void read(unsigned line, std::uint8_t* to) const = 0;
};

/// Which words of a stage's memories a comparison is about.
enum class content_words : std::uint8_t {
  all,
  used,  ///< without those that are as a reset leaves them
};

/// What a stage remembers, word by word, for a comparison with the twin's memories once a run has
/// ended.
class twin_content {
 public:
  /// A word's name as the twin's port for such questions gets it, and what the twin must answer.
  using look = std::function<void(std::span<const std::uint32_t> query,
                                  std::span<const std::uint32_t> expected)>;

  virtual ~twin_content() = default;

  [[nodiscard]] virtual std::span<const stream_field_desc> word_fields() const = 0;
  virtual void each_word(content_words which, const look& compare) const = 0;
};

/// The levels that a stage reads and its twin sees, or looks things up in.
struct twin_levels {
  level<vport_table>* vports = nullptr;
  level<function_map>* functions = nullptr;
  const level<partition_table>* partitions = nullptr;
  level<std::uint64_t>* icm_base = nullptr;  ///< a change is something to do in itself
  level<std::uint8_t>* paused = nullptr;     ///< likewise; priorities, bit by bit
  level<std::uint8_t>* crowded = nullptr;    ///< likewise
};

struct twin_request {
  std::string_view stage;  ///< its row in the stage table
  std::string instance;    ///< its path
  nic_shared& nic;
  std::vector<stream_base*> ports;    ///< in the order of the stage's port table
  std::unique_ptr<twin_rules> rules;  ///< when the twin is in charge
  twin_store* store = nullptr;        ///< of a stage that has one
  twin_levels levels = {};
  twin_content* content = nullptr;  ///< of a stage whose twin can be asked for it
};

/// The memory beside `owner`, a stage or its rules.
template <class Owner>
twin_store* store_of(Owner& owner) {
  if constexpr (requires { owner.store(); }) {
    return &owner.store();
  } else {
    return nullptr;
  }
}

/// What `owner`, a stage or its rules, remembers.
template <class Owner>
twin_content* content_of(Owner& owner) {
  if constexpr (requires { owner.content(); }) {
    return &owner.content();
  } else {
    return nullptr;
  }
}

/// Those of a stage's ports, if it has any.
template <class Ports>
twin_levels levels_of(const Ports& io) {
  if constexpr (requires { io.levels(); }) {
    return io.levels();
  } else {
    return {};
  }
}

/// The RTL side.
class twin_host {
 public:
  virtual ~twin_host() = default;

  /// A Verilated block in place of the model.
  virtual std::unique_ptr<clocked> replace(twin_request request) = 0;

  /// A Verilated block beside the model, compared with it in every cycle.
  virtual std::unique_ptr<clocked> accompany(twin_request request) = 0;

  /// At the end of a run: nothing may be left over on either side. To be called before the blocks
  /// are destroyed.
  virtual void finish() = 0;

  /// In place of finish(), of a run that is ended with work under way: what is left is where it has
  /// to be, and what is remembered may be about to change.
  virtual void stop() = 0;
};

/// A stage as it was asked for. The RTL, if any, goes first.
struct twin_instance {
  std::unique_ptr<clocked> model;
  std::unique_ptr<clocked> rtl;
};

/// `Stage` has the types `ports` (with `all()`, its streams in table order) and `rules` (made from
/// the context, the site and the ports), and the constant Row. `name` is the whole path.
template <class Stage>
twin_instance make_twin(const std::string& name, nic_shared& nic, const typename Stage::ports& io,
                        impl_kind impl, twin_host* host) {
  if (impl != impl_kind::model && host == nullptr) {
    throw config_error(fmt::format(
        "{}={}: this program has no RTL; configure it with -DCARILLON_RTL=ON, or choose {}=model",
        Stage::Row, to_string(impl), Stage::Row));
  }
  if constexpr (requires { Stage::check_twin(nic); }) {
    if (impl != impl_kind::model) {
      Stage::check_twin(nic);
    }
  }
  twin_instance made;
  if (impl != impl_kind::rtl) {
    auto model = std::make_unique<Stage>(name.c_str(), nic, io);
    if (impl == impl_kind::lockstep) {
      made.rtl = host->accompany({Stage::Row, model->path(), nic, io.all(), nullptr,
                                  store_of(*model), levels_of(io), content_of(*model)});
    }
    made.model = std::move(model);
    return made;
  }
  const trace_site site = nic.context.trace.site(name, Stage::Row);
  auto rules = std::make_unique<typename Stage::rules>(nic, site, io);
  twin_store* const store = store_of(*rules);
  twin_content* const content = content_of(*rules);
  made.rtl = host->replace(
      {Stage::Row, name, nic, io.all(), std::move(rules), store, levels_of(io), content});
  return made;
}

}  // namespace carillon
