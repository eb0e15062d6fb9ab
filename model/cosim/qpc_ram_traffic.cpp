#include "cosim/qpc_ram_traffic.h"

#include <algorithm>

#include "gen/contexts.h"
#include "gen/stages.h"

namespace carillon {

namespace {

namespace spec = stage_spec::qpc_ram;

/// Functions with a part of their own; the one behind each has none.
constexpr std::array<std::uint16_t, 6> Functions = {0, 1, 3, 0x55, 0xaa, 0x100};
/// Indices that are used most of the time.
constexpr std::uint32_t Hot = 6;

constexpr std::array<const char*, ram_side::Readers> ReaderNames = {
    "rx_common", "rx_responder", "parser",    "parser_key", "fetch",      "uar",
    "builder",   "payload",      "responder", "requester",  "completion", "command"};

constexpr std::array<unsigned, ram_side::Readers> LineDepths = {spec::Depth,
                                                                spec::Depth,
                                                                spec::Depth,
                                                                stage_spec::wqe_parser::KeySlots,
                                                                stage_spec::wqe_fetch::Lookups,
                                                                spec::Depth,
                                                                spec::Depth,
                                                                spec::Depth,
                                                                spec::ResponderLines,
                                                                spec::Depth,
                                                                spec::Depth,
                                                                spec::Depth};

}  // namespace

parameters qpc_ram_settings(std::uint64_t seed) {
  struct cache {
    std::int64_t lines;
    std::int64_t ways;
    std::int64_t misses;
  };

  static constexpr std::array<cache, 7> Caches = {
      {{16, 4, 8}, {8, 8, 5}, {32768, 8, 32}, {1, 1, 1}, {32, 2, 32}, {6, 6, 2}, {4, 2, 3}}};
  parameters params;
  const cache& chosen = Caches[seed % Caches.size()];
  params.nic.icm_cache_lines = chosen.lines;
  params.nic.icm_cache_ways = chosen.ways;
  params.nic.icm_misses = chosen.misses;
  if (seed % 3 != 2) {
    params.nic.log_max_qp = 4;
    params.nic.log_max_cq = 4;
    params.nic.log_max_mkey = 5;
    params.nic.log_max_mtt_lines = 4;
    params.nic.log_max_srq = 3;
    params.nic.log_max_eq = 2;
  }
  return params;
}

ram_side::ram_side(sim_context& context, const std::string& name, nic_shared& shared,
                   bool in_memory)
    : nic(shared),
      memory(in_memory),
      partitions(context.clock, name + ".partitions", {}),
      base(context.clock, name + ".base", in_memory ? 0x40000000 : 0),
      fetches(context, name + ".icm_fetch", spec::IcmReadDepth),
      answers(context, name + ".icm_done", static_cast<unsigned>(context.params.nic.icm_misses)),
      stores(context, name + ".icm_store", spec::Depth),
      icm{fetches, answers, stores, base} {
  for (unsigned i = 0; i < Readers; ++i) {
    const std::string reader = name + "." + ReaderNames.at(i);
    requests.push_back(std::make_unique<stream<context_read>>(context, reader + "_read", 8));
    lines.push_back(
        std::make_unique<stream<context_line>>(context, reader + "_line", LineDepths.at(i)));
  }
  for (const char* each : {".command", ".responder"}) {
    writes.push_back(std::make_unique<stream<context_write>>(context, name + each + "_write", 8));
  }
  for (const char* each : {".requester", ".responder"}) {
    errors.push_back(std::make_unique<stream<qp_error>>(context, name + each + "_error", 8));
  }
  for (const char* each : {".local", ".remote"}) {
    strikes.push_back(
        std::make_unique<stream<key_invalidation>>(context, name + each + "_strike", 8));
  }
}

qpc_ram_ports ram_side::ports() {
  qpc_ram_ports result;
  for (unsigned i = 0; i < Readers; ++i) {
    result.reads.push_back({*requests[i], *lines[i], "qpc_ram"});
  }
  for (unsigned i = 0; i < 2; ++i) {
    result.writes.push_back(writes[i].get());
    result.errors.push_back(errors[i].get());
    result.invalidations.push_back(strikes[i].get());
  }
  result.partitions = &partitions;
  (memory ? result.icm : result.idle_icm) = &icm;
  return result;
}

ram_traffic::place ram_traffic::some_line() {
  if (random_.chance(1, 3)) {
    return last_;
  }
  const auto kind = random_.chance(1, 3)
                        ? (random_.chance(1, 2) ? context_kind::qpc_common : context_kind::mkey)
                        : static_cast<context_kind>(random_.below(ContextKinds));
  const std::uint32_t count = sizes_.count(kind);
  std::uint32_t index = 0;
  if (random_.chance(1, 32)) {
    index = random_.chance(1, 4) ? 0xffffff : count + static_cast<std::uint32_t>(random_.below(8));
  } else if (random_.chance(1, 4)) {
    index = static_cast<std::uint32_t>(random_.below(count));
  } else {
    index = static_cast<std::uint32_t>(random_.below(std::min(Hot, count)));
    if (random_.chance(1, 4)) {
      // In the same set of a cache, however large.
      index = (index + static_cast<std::uint32_t>(random_.below(16) << 12)) % count;
    }
  }
  if (kind == last_.kind && random_.chance(1, 4)) {
    // Differs in one bit.
    const std::uint32_t other = last_.index ^ 1U << random_.below(24);
    index = other < count ? other : index;
  }
  last_ = {kind, index};
  return last_;
}

context_read ram_traffic::make_read() {
  place what = some_line();
  // The last EQ is written but never read.
  if (what.kind == context_kind::eqc && what.index + 1 == sizes_.count(what.kind)) {
    what.index = 0;
  }
  context_read item;
  item.kind = what.kind;
  item.index = what.index;
  if (random_.chance(1, 4)) {
    item.function = static_cast<std::uint16_t>(Functions[random_.below(Functions.size())] +
                                               (random_.chance(1, 5) ? 1 : 0));
  }
  static constexpr std::array<const char*, ContextKinds> Bins = {
      "read.common", "read.address", "read.requester", "read.responder", "read.cq",
      "read.key",    "read.mtt",     "read.srq",       "read.eq"};
  cover_.hit(Bins.at(static_cast<std::size_t>(item.kind)));
  cover_.hit_if(!sizes_.valid(item.kind, item.index), "read.no_index");
  return item;
}

context_write ram_traffic::make_write() {
  const place what = some_line();
  context_write item;
  item.kind = what.kind;
  item.index = what.index;
  for (std::size_t i = 0; i < item.data.size(); ++i) {
    item.data[i] = static_cast<std::uint8_t>(random_.below(256));
  }
  if (item.kind == context_kind::qpc_common) {
    qpc_common common = qpc_common::unpack(item.data.data());
    const std::uint64_t drawn = random_.below(8);
    common.state = drawn == 7 ? qp_state::Rts : static_cast<qp_state>(drawn);
    common.pack(item.data.data());
    cover_.hit_if(common.state == qp_state::Reset, "write.reset");
    cover_.hit_if(common.state == qp_state::Rts, "write.rts");
  }
  cover_.hit_if(!sizes_.valid(item.kind, item.index), "write.no_index");
  cover_.hit_if(item.kind == context_kind::eqc && item.index + 1 == sizes_.count(item.kind),
                "write.never_read");
  return item;
}

qp_error ram_traffic::make_error() {
  qp_error item;
  const place what = some_line();
  item.qpn = what.index;
  item.send_queue_only = random_.chance(1, 2);
  cover_.hit(item.send_queue_only ? "mark.send_error" : "mark.error");
  cover_.hit_if(!sizes_.valid(context_kind::qpc_common, item.qpn), "mark.no_index");
  return item;
}

key_invalidation ram_traffic::make_strike() {
  key_invalidation item;
  item.index = some_line().index;
  cover_.hit("mark.strike");
  return item;
}

partition_table ram_traffic::make_partitions() {
  partition_table table;
  if (random_.chance(1, 4)) {
    return table;
  }
  cover_.hit("change.partitions");
  for (const std::uint16_t function : Functions) {
    for (std::size_t kind = 0; kind < ContextKinds; ++kind) {
      const std::uint32_t count = sizes_.lines.at(kind);
      const auto first = static_cast<std::uint32_t>(random_.below(std::min(count, 2 * Hot)));
      table.set(function, static_cast<context_kind>(kind),
                {first, static_cast<std::uint32_t>(random_.below(2 * Hot))});
    }
  }
  return table;
}

std::uint64_t ram_traffic::make_base() {
  if (random_.chance(1, 4)) {
    cover_.hit("change.nowhere");
    return 0;
  }
  cover_.hit("change.base");
  if (random_.chance(1, 4)) {
    return random_.next() & ~std::uint64_t{0xfff};
  }
  const std::uint64_t base = (1 + random_.below(3)) << 30;
  return random_.chance(1, 3) ? base | std::uint64_t{0x123} << 32 : base;
}

ram_memory::ram_memory(const char* name, sim_context& context, ram_side& side,
                       bench_pattern pattern, std::uint64_t seed, coverage& cover)
    : stage(name, context, "dma_engine"),
      side_(side),
      pattern_(pattern),
      read_gate_(pattern, seed, std::string(this->name()) + ".reads"),
      write_gate_(pattern, seed, std::string(this->name()) + ".writes"),
      random_(seed, this->name()),
      cover_(cover) {
  side.fetches.to(*this, site());
  side.answers.from(*this, site());
  side.stores.to(*this, site());
  watch(side.fetches,
        {blocker::condition("bench", [this](cycle_t t) { return !read_gate_.open(t); })});
  watch(side.stores,
        {blocker::condition("bench", [this](cycle_t t) { return !write_gate_.open(t); })});
}

void ram_memory::evaluate(cycle_t t) {
  if (side_.stores.takeable(t)) {
    if (write_gate_.open(t)) {
      const dma_write in = side_.stores.take(t);
      std::copy_n(in.from.data() + in.from_offset, BeatBytes, lines_[in.address].begin());
      cover_.hit("memory.store");
    } else {
      wake(t + 1);
    }
  }
  if (!side_.fetches.takeable(t)) {
    return;
  }
  if (!read_gate_.open(t)) {
    wake(t + 1);
    return;
  }
  const dma_read in = side_.fetches.take(t);
  auto status = dma_status::ok;
  if (random_.chance(1, 24)) {
    status = static_cast<dma_status>(1 + random_.below(4));
    std::fill_n(in.into.data() + in.into_offset, BeatBytes, 0);
  } else {
    std::copy_n(lines_[in.address].begin(), BeatBytes, in.into.data() + in.into_offset);
  }
  static constexpr std::array<const char*, 5> Bins = {"memory.ok", "memory.unsupported_request",
                                                      "memory.completer_abort", "memory.poisoned",
                                                      "memory.timeout"};
  cover_.hit(Bins.at(static_cast<std::size_t>(status)));
  cycle_t latency = 20;
  if (pattern_ == bench_pattern::random) {
    latency = 1 + (random_.chance(1, 16) ? random_.below(150) : random_.below(12));
  }
  const cycle_t visible = std::max(t + latency, side_.answers.port_free());
  side_.answers.push(t, static_cast<unsigned>(visible - t), {in.trace, in.cookie, status, in.into});
}

forward_watch::forward_watch(ram_side& side, coverage& cover) : cover_(cover) {
  for (unsigned i = 0; i < ram_side::Readers; ++i) {
    readers_.at(i).owner = this;
    side.requests[i]->tap(&readers_.at(i));
  }
  for (unsigned i = 0; i < 2; ++i) {
    writers_.at(i).owner = this;
    side.writes[i]->tap(&writers_.at(i));
  }
}

void forward_watch::on_read(cycle_t t, const context_read& item) {
  reads_.at(next_++ % reads_.size()) = {t, item.kind, item.index};
  cover_.hit_if(written_.cycle == t && written_.kind == item.kind && written_.index == item.index,
                "forward.same_cycle");
}

void forward_watch::on_write(cycle_t t, const context_write& item) {
  written_ = {t, item.kind, item.index};
  static constexpr std::array<const char*, 5> Bins = {"forward.same_cycle", "forward.one_later",
                                                      "forward.two_later", "forward.three_later",
                                                      "forward.too_late"};
  for (const taken& each : reads_) {
    if (each.cycle != NeverCycle && each.kind == item.kind && each.index == item.index &&
        t - each.cycle < Bins.size()) {
      cover_.hit(Bins.at(t - each.cycle));
    }
  }
}

}  // namespace carillon
