// wqe_parser: parses a send WQE, looks up its QP and the keys of its data segments, checks both,
// and hands the checked work request on. docs/stages/wqe_parser.md has the timing;
// rtl/wqe_parser/wqe_parser.sv is its twin.
#pragma once

#include <string_view>
#include <vector>

#include "common/items.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stage.h"
#include "common/stream.h"
#include "common/twin.h"
#include "wqe_parser/wqe_parser_core.h"

namespace carillon {

struct wqe_parser_ports {
  enum index_e : unsigned { Wqe, CtxRead, CtxLine, MkeyRead, MkeyLine, Work };

  stream<wqe_item>& wqe;            ///< from wqe_fetch
  stream<context_read>& ctx_read;   ///< to qpc_ram: the QP's context
  stream<context_line>& ctx_line;   ///< from qpc_ram
  stream<context_read>& mkey_read;  ///< to qpc_ram: memory keys
  stream<context_line>& mkey_line;  ///< from qpc_ram
  stream<work_item>& work;          ///< to tx_sched

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&wqe, &ctx_read, &ctx_line, &mkey_read, &mkey_line, &work};
  }
};

/// Where every WQE in the parser stands. It follows from the inputs alone, so the model and the RTL
/// share it.
class wqe_parser_rules final : public twin_rules {
 public:
  /// A WQE whose context line was taken.
  struct checked_wqe {
    wqe_item wqe;
    wqe_shape shape;
    wqe_verdict verdict;
    qpc_common qp;
    unsigned keys = 0;      ///< read
    unsigned answered = 0;  ///< of these
    trace_ref history;      ///< up to `since`
    cycle_t since = 0;      ///< the last line it needed was taken
    unsigned latency = 0;   ///< from there to its result

    [[nodiscard]] bool done() const { return answered == keys; }
  };

  wqe_parser_rules(nic_shared& nic, trace_site site, const wqe_parser_ports& io);

  std::vector<wait_list> waits() override;
  [[nodiscard]] trace_site booked(unsigned port, trace_site own) const override;
  departure departs(unsigned port, cycle_t visible) override;

  // Conditions of cycle t: they count what happened before t.
  [[nodiscard]] bool ctx_slots_full(cycle_t t) const;

  [[nodiscard]] bool walker_busy(cycle_t t) const { return t < walker_free_; }

  [[nodiscard]] bool beats_missing(cycle_t t) const { return waiting_.empty() || t < beats_in(); }

  [[nodiscard]] bool key_slots_full(cycle_t t) const;

  [[nodiscard]] cycle_t walker_free() const { return walker_free_; }

  /// The cycle from which all beats of the oldest WQE without context are there.
  [[nodiscard]] cycle_t beats_in() const { return waiting_.front().taken + waiting_.front().beats; }

  /// WQEs with their context, oldest first.
  [[nodiscard]] bool any_checked() const { return !checked_.empty(); }

  [[nodiscard]] const checked_wqe& oldest_checked() const { return checked_.front(); }

  [[nodiscard]] const checked_wqe& newest_checked() const { return checked_[checked_.size() - 1]; }

 private:
  struct waiting_wqe {
    wqe_item wqe;
    cycle_t taken = 0;
    unsigned beats = 0;
  };

  struct key_walk {
    trace_ref history;
    cycle_t start = 0;
    unsigned left = 0;
  };

  /// Calls a member for each item of one input.
  template <class T>
  struct input_tap final : stream_tap<T> {
    using handler = void (wqe_parser_rules::*)(cycle_t, const T&);

    input_tap(wqe_parser_rules& to, handler which) : rules(to), method(which) {}

    void on_take(cycle_t t, const T& item) override { (rules.*method)(t, item); }

    wqe_parser_rules& rules;
    handler method;
  };

  void took_wqe(cycle_t t, const wqe_item& item);
  void took_ctx_line(cycle_t t, const context_line& line);
  void took_mkey_line(cycle_t t, const context_line& line);
  void work_left(cycle_t t, const work_item& item);

  nic_shared& nic_;
  trace_site site_;
  name_id order_;
  wqe_parser_ports io_;
  input_tap<wqe_item> wqe_tap_{*this, &wqe_parser_rules::took_wqe};
  input_tap<context_line> ctx_tap_{*this, &wqe_parser_rules::took_ctx_line};
  input_tap<context_line> mkey_tap_{*this, &wqe_parser_rules::took_mkey_line};
  input_tap<work_item> work_tap_{*this, &wqe_parser_rules::work_left};

  ring<waiting_wqe> waiting_;  ///< taken, without context
  ring<key_walk> ctx_asks_;    ///< context reads that have not left yet
  ring<key_walk> key_asks_;    ///< key reads that have not left yet
  ring<checked_wqe> checked_;
  std::size_t answering_ = 0;  ///< index in checked_ of the one that the next key belongs to
  cycle_t walker_free_ = 0;
  unsigned keys_open_ = 0;
};

class wqe_parser final : public stage {
 public:
  static constexpr const char* Row = "wqe_parser";
  using ports = wqe_parser_ports;
  using rules = wqe_parser_rules;

  wqe_parser(const sc_core::sc_module_name& name, nic_shared& nic, const ports& io);

 private:
  void evaluate(cycle_t t) override;
  void walk(cycle_t t);
  void take_wqe(cycle_t t);
  void release(cycle_t t);

  nic_shared& nic_;
  ports io_;
  rules rules_;
};

}  // namespace carillon
