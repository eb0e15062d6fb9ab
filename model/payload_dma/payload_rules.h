// What payload_dma knows of every packet, and what follows from it: reads, lookups, the order in
// which packets leave. It follows from the inputs and the credits alone, so the model and the RTL
// share it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/items.h"
#include "common/key_lookup.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stream.h"
#include "common/twin.h"

namespace carillon {

/// A piece of memory that a packet's bytes come from.
struct gather_piece {
  std::uint64_t address = 0;  ///< virtual
  std::uint32_t length = 0;
  std::uint32_t key = 0;

  bool operator==(const gather_piece&) const = default;
};

/// The pieces of bytes [offset, offset + length) of a message whose gather list is `count` mlx5
/// data segments. Appends to `pieces`; entries of length 0 have no piece.
void cut_gather_list(const std::uint8_t* segments, unsigned count, std::uint32_t offset,
                     std::uint32_t length, std::vector<gather_piece>& pieces);

struct payload_dma_ports {
  enum index_e : unsigned { Packets, Reads, Done, Filled, Left, KeyReads, KeyLines };

  stream<packet_item>& packets;
  stream<dma_read>& reads;
  stream<dma_read_done>& done;
  stream<packet_item>& filled;
  stream<payload_left>& left;
  stream<context_read>& key_reads;  ///< keys and translations - qpc_ram
  stream<context_line>& key_lines;

  [[nodiscard]] std::vector<stream_base*> all() const {
    return {&packets, &reads, &done, &filled, &left, &key_reads, &key_lines};
  }
};

class payload_dma_rules final : public twin_rules, private twin_store {
 public:
  /// A read that has its credit.
  struct issued_read {
    dma_read read;         ///< its history comes with the departure
    held_history history;  ///< up to when it may leave
  };

  /// A packet whose reads are answered, and those of all packets before it.
  struct released_packet {
    packet_item packet;
    dma_status status = dma_status::ok;
    trace_ref history;  ///< of the last answer
  };

  payload_dma_rules(nic_shared& nic, trace_site site, const payload_dma_ports& io);

  std::vector<wait_list> waits() override;
  departure departs(unsigned port, cycle_t visible) override;

  [[nodiscard]] item_handles handles() const override { return handles_; }

  /// What leaves without an input of cycle t: a translated read, and a read of the context RAM.
  void settle(cycle_t t) override;

  /// The frames, a ring of as many lines of 64 bytes as the output has beats: each packet has its
  /// lines from the cycle on in which it is taken.
  [[nodiscard]] twin_store& store();

  // Conditions of cycle t.
  [[nodiscard]] bool packet_slots_full() const { return pending_.size() >= Slots; }

  /// Counts what happened before t.
  [[nodiscard]] bool lookup_slots_full(cycle_t t) const;

  [[nodiscard]] bool lookup_ended_in(cycle_t t) const { return ended_ != 0 && ended_in_ == t; }

  /// A translated read that has not left; the first part of settle(), which takes its credit before
  /// a packet is looked at.
  [[nodiscard]] bool any_translated() const { return !translated_.empty(); }

  void issue_translated(cycle_t t);

  [[nodiscard]] bool any_lookup() const { return walks_.wanting(); }

  // What is to be pushed, in the order in which it leaves.
  [[nodiscard]] ring<issued_read>& issued() { return issued_; }

  [[nodiscard]] ring<context_read>& asked() { return asked_; }

  [[nodiscard]] ring<released_packet>& released() { return released_; }

 private:
  static constexpr unsigned Slots = stage_spec::payload_dma::Outstanding;

  struct pending {
    packet_item packet;
    std::uint64_t number = 0;
    std::uint32_t origin = 0;  ///< its first byte in the store
    unsigned missing = 0;      ///< translations and reads not answered
    trace_ref trace;           ///< history of the last answer
    dma_status status = dma_status::ok;
  };

  /// A translated piece whose read has not left.
  struct translated_piece {
    std::uint64_t packet = 0;
    iova_piece piece;
    std::uint32_t offset = 0;  ///< in the payload
    bool last = false;         ///< of its lookup
    held_history history;
  };

  /// A packet's place in the store.
  struct stored_frame {
    buffer_ref frame;
    unsigned line = 0;
    unsigned lines = 0;
  };

  /// Calls a member for each item of one stream.
  template <class T>
  struct item_tap final : stream_tap<T> {
    using handler = void (payload_dma_rules::*)(cycle_t, const T&);

    item_tap(payload_dma_rules& to, handler which) : rules(to), method(which) {}

    void on_take(cycle_t t, const T& item) override { (rules.*method)(t, item); }

    payload_dma_rules& rules;
    handler method;
  };

  void took_packet(cycle_t t, const packet_item& item);
  void took_done(cycle_t t, const dma_read_done& item);
  void took_line(cycle_t t, const context_line& line);
  void filled_left(cycle_t t, const packet_item& item);
  void read(unsigned line, std::uint8_t* to) const override;

  [[nodiscard]] pending& at(std::uint64_t number) { return pending_[number - first_]; }

  void cut(const packet_item& packet);
  void begin_reads(cycle_t t, pending& packet);
  void begin_lookups(cycle_t t, const pending& packet);
  void issue(const pending& packet, const iova_piece& piece, std::uint32_t offset,
             const held_history& history);
  static void fail(pending& packet, dma_status status);
  void end_lookup(cycle_t t);
  void release();

  nic_shared& nic_;
  trace_site site_;
  name_id order_;
  payload_dma_ports io_;
  item_tap<packet_item> packet_tap_{*this, &payload_dma_rules::took_packet};
  item_tap<dma_read_done> done_tap_{*this, &payload_dma_rules::took_done};
  item_tap<context_line> line_tap_{*this, &payload_dma_rules::took_line};
  item_tap<packet_item> filled_tap_{*this, &payload_dma_rules::filled_left};

  ring<pending> pending_;
  std::uint64_t first_ = 0;  ///< number of the oldest pending packet
  unsigned next_line_ = 0;   ///< of the store
  bool new_packet_ = false;  ///< the youngest was taken in this cycle and has not begun
  std::vector<gather_piece> pieces_;
  key_walks walks_;
  ring<translated_piece> translated_;
  cycle_t translated_in_ = NeverCycle;  ///< cycle of the last look at these
  unsigned lookups_ = 0;                ///< not ended, or their reads have not left
  unsigned ended_ = 0;                  ///< of them in cycle ended_in_
  cycle_t ended_in_ = 0;

  ring<issued_read> issued_;
  ring<context_read> asked_;
  ring<released_packet> released_;
  item_handles handles_;
  bool store_watched_ = false;
  bool stored_left_ = false;  ///< the oldest is being taken, or was
  ring<stored_frame> stored_;
};

}  // namespace carillon
