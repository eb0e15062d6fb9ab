// A Verilated block in the domain, with the streams it is connected to. Its two kinds are the
// adapter, which puts the block in the model's place, and the lockstep checker, which puts it
// beside the model.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/twin.h"
#include "cosim/rtl_block.h"
#include "cosim/twin_port.h"

namespace carillon {

class rtl_domain;

/// What the RTL did wrong by itself: it broke a promise of the handshake or of busy_o.
class rtl_error : public model_error {
 public:
  using model_error::model_error;
};

class twin_driver : public clocked, private twin_port::listener {
 public:
  twin_driver(rtl_domain& domain, const twin_request& request);
  ~twin_driver() override;

  /// Woken because an item came, or may be taken: the domain does the rest.
  void on_cycle(cycle_t t) final;

  [[nodiscard]] std::string path() const override { return instance_; }

  /// Something may happen in cycle t: the block was busy, was woken, or somebody took its output.
  /// The steps of a cycle in which nothing can are left out.
  [[nodiscard]] bool due(cycle_t t) const { return due_ <= t; }

  // The steps of a cycle, each done for all blocks that are due before the next
  // ------------------------------------
  /// Drives the inputs and settles the logic, if there is anything to do.
  void settle(cycle_t t);
  /// Transfers on the inputs.
  virtual void transfer(cycle_t t) = 0;
  /// One edge, if the block is busy or something is transferred. Whether there was one.
  bool clock(cycle_t t, bool always);

  /// Ends cycle t. The first cycle after it in which the block has something to do, as far as it is
  /// known now.
  cycle_t rest(cycle_t t) {
    settled_ = false;
    return due_ = next(t);
  }

  /// As rest() said, or when it was woken since.
  [[nodiscard]] cycle_t due_at() const { return due_; }

  /// Edges in all cycles since the last one and before t: for a clock that never stops.
  void catch_up(cycle_t t);
  /// Proves that busy_o = 0 was the truth.
  void audit(cycle_t t);

  virtual void finish() = 0;

  /// The run ends with work under way.
  virtual void stop() {}

  [[nodiscard]] std::uint64_t edges() const { return edges_; }

 protected:
  struct port_state {
    std::unique_ptr<twin_port> stream;
    rtl_pins pins{};
    ring<cycle_t>
        visible;  ///< outputs: beats in the block's FIFO, by the cycle from which each is there
    bool handled = false;  ///< outputs: the item at the FIFO's front is known to the stream
  };

  /// Before the edge of cycle t, with all transfers of t known.
  virtual void before_edge(cycle_t t) = 0;
  virtual void after_edge(cycle_t t) = 0;

  void show_waves(cycle_t t, unsigned half);

  /// Called with what the model remembers and with what the block does, as words of a struct.
  using word_check =
      std::function<void(std::span<const std::uint32_t> query, std::span<const std::uint32_t> model,
                         std::span<const std::uint32_t> rtl)>;
  /// Asks the block for words that the model remembers; a run has ended.
  void read_content(content_words which, const word_check& check);

  void read(const port_state& port, std::uint32_t* words) const;

  [[nodiscard]] static bool bit(const std::uint8_t* pin) { return *pin != 0; }

  rtl_domain& domain_;
  nic_shared& nic_;
  std::string stage_;
  std::string instance_;
  std::unique_ptr<rtl_block> block_;
  std::vector<port_state> ports_;

  [[nodiscard]] const twin_content* content() const { return content_; }

 private:
  void on_taken(cycle_t t, twin_port& port) override;
  [[nodiscard]] cycle_t next(cycle_t t) const;
  void drive_levels(cycle_t t) const;
  /// Shows the stage's levels as they are in cycle t. True if a pin changed.
  bool drive_views(cycle_t t);
  /// Throws rtl_error unless the block tells others what the rules do.
  void check_values(cycle_t t) const;
  void drive_time(cycle_t t) const;
  /// The block has something to do in cycle t by itself.
  [[nodiscard]] bool busy(cycle_t t) const;
  /// The first cycle in which that is so though it is idle.
  [[nodiscard]] cycle_t wakes_at() const;
  void offer_nothing();
  /// Settles the logic, and again with the answers to what it asks.
  void settle_block(cycle_t t);
  [[nodiscard]] bool answer(cycle_t t, std::size_t index);
  [[nodiscard]] bool offers_input(cycle_t t) const;
  /// A level has changed that the block acts on by itself.
  [[nodiscard]] bool transfers_output(cycle_t t) const;
  void idle_edge(cycle_t t);
  void open_waves();
  void one_edge(cycle_t t);

  /// Gives the block the line of its store that it wants.
  void serve_store();

  std::vector<stream_base*> streams_;
  std::span<const twin_level_desc> levels_;
  std::span<const twin_view_desc> views_;
  std::span<const twin_value_desc> values_;
  std::vector<std::uint64_t> changes_;  ///< of the levels behind the views, as shown
  std::span<const twin_lookup_desc> lookups_;
  twin_levels tables_;  ///< that views show, and lookups are answered from
  bool waves_ = false;
  twin_store* store_;
  twin_content* content_;
  bool settled_ = false;
  cycle_t due_ = 0;
  cycle_t unclocked_ = 0;  ///< first cycle without an edge
  std::uint64_t edges_ = 0;
  std::vector<rtl_flop> flops_;  ///< for the audit
  std::vector<std::byte> snapshot_;
};

}  // namespace carillon
