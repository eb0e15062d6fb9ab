// The way to contexts in host memory: the cache, the misses under way and the lines on their way
// back.
//
// A miss has a register of its own, from when it is begun until its line is in the cache. A write
// of a line that is not in the cache takes one, too: whole lines are written, so none is read. A
// dirty line that makes room is written back by a posted write; a read of a line is not sent before
// its last write back has gone to the link, so that it sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/items.h"
#include "common/level.h"
#include "common/nic_shared.h"
#include "common/ring.h"
#include "common/stream.h"
#include "qpc_ram/icm_cache.h"

namespace carillon {

class icm_lines {
 public:
  using line = context_store::line;

  struct ports {
    stream<dma_read>& reads;
    stream<dma_read_done>& done;
    stream<dma_write>& writes;
    level<std::uint64_t>& base;  ///< where the PF's driver wants the contexts; 0: nowhere
  };

  enum class outcome : std::uint8_t {
    fetching,  ///< its line is read
    coming,    ///< it was on its way already
    full,      ///< no register is free
    nowhere    ///< there is no memory to read
  };

  /// `sends`: it moves what leaves; else the RTL does, and only credits are booked here.
  icm_lines(nic_shared& nic, const context_sizes& sizes, const ports& connected, bool sends = true);

  /// To be called first in each evaluation: other memory makes the chip forget what it holds.
  void follow(cycle_t t);

  /// An answer of the DMA engine. The context of which no line comes, if there is one.
  [[nodiscard]] std::optional<context_id> take_answer(const dma_read_done& done);

  /// A whole line, into the cache or a miss's register; false if none is free.
  [[nodiscard]] bool write(const context_id& id, const line& data);

  /// The last write was of a line in the cache: it took the RAM's write port.
  [[nodiscard]] bool wrote_cache() const { return wrote_cache_; }

  /// Puts the oldest line that has come into the cache, if there is room that nobody wants: a line
  /// for which `keep(id)` is true stays.
  template <class Keep>
  void install(cycle_t t, Keep keep) {
    if (icm_cache::entry* const place = cache_.place_for(registers_[ready_.front()].id, keep);
        place != nullptr) {
      replace(t, *place);
    }
  }

  /// A line has come that is not in the cache yet.
  [[nodiscard]] bool ready() const { return !ready_.empty(); }

  /// The context's line if it is in the cache; a use of it.
  [[nodiscard]] const line* use(const context_id& id) {
    const icm_cache::entry* const found = cache_.use(id);
    return found == nullptr ? nullptr : &found->data;
  }

  [[nodiscard]] bool holds(const context_id& id) const { return cache_.find(id) != nullptr; }

  [[nodiscard]] const icm_cache::entry* held(const context_id& id) const { return cache_.find(id); }

  /// What asking for a context's line, which is not in the cache, would lead to. The last `spared`
  /// registers are not for it.
  [[nodiscard]] outcome chance(const context_id& id, std::size_t spared) const;

  /// Makes the line come, for which there is a register. `function` asks for it.
  void fetch(const context_id& id, std::uint16_t function);

  void count_nowhere() { nic_.counters.add(counter::IcmErrors); }

  [[nodiscard]] bool room() const { return free_ != 0; }

  /// To be called last in each evaluation: sends one read. True if another can follow in the next
  /// cycle.
  [[nodiscard]] bool issue(cycle_t t);

  /// What the chip knows of a line: zeros if it is in memory only.
  [[nodiscard]] line debug_read(const context_id& id) const;

 private:
  struct miss {
    enum class state_e : std::uint8_t { idle, wanted, reading, ready };

    state_e state = state_e::idle;
    context_id id;
    bool written = false;   ///< `data` is newer than memory
    bool outdated = false;  ///< what was read is not the contexts' memory any more
    line data{};
  };

  static constexpr std::uint32_t None = ~std::uint32_t{0};

  [[nodiscard]] std::uint32_t find(const context_id& id) const;
  std::uint32_t take_register(const context_id& id);
  void release(std::uint32_t index);
  void replace(cycle_t t, icm_cache::entry& place);
  void read_again(std::uint32_t index);
  void write_back(cycle_t t, const icm_cache::entry& entry);
  [[nodiscard]] std::uint64_t address_of(const context_id& id) const;

  nic_shared& nic_;
  context_sizes sizes_;
  ports io_;
  bool sends_;
  icm_cache cache_;
  std::uint64_t base_ = 0;
  std::vector<miss> registers_;
  std::size_t free_;            ///< idle ones
  ring<std::uint32_t> wanted_;  ///< their reads have not been sent
  ring<std::uint32_t> ready_;   ///< their lines are here
  ring<context_id> going_;      ///< the last lines written back, oldest first
  bool wrote_cache_ = false;
};

}  // namespace carillon
