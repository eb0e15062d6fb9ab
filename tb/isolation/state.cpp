#include "tb/isolation/state.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

#include "gen/registers.h"

namespace carillon::isolation {

namespace {

constexpr std::uint32_t WordBytes = 8;
constexpr std::uint32_t ConfigBytes = 0x200;  ///< everything behind is reserved

constexpr std::array<context_kind, 9> LineKinds = {
    context_kind::qpc_common,    context_kind::qpc_address, context_kind::qpc_requester,
    context_kind::qpc_responder, context_kind::cqc,         context_kind::mkey,
    context_kind::mtt,           context_kind::srq,         context_kind::eqc};

constexpr std::array<std::uint32_t, 8> Registers = {
    bar0::CmdqAddrH, bar0::CmdqAddrLSz, bar0::InitState, bar0::RpRate,
    bar0::RpTarget,  bar0::RpCurrent,   bar0::RpTimer,   bar0::RpQpn};

/// Of others' objects: both maps have the same ones, with the same values.
template <class Record>
bool same_but_for(const number_table<Record>& left, const number_table<Record>& right,
                  std::uint16_t offender) {
  auto a = left.begin();
  auto b = right.begin();
  while (true) {
    while (a != left.end() && a->second.function == offender) {
      ++a;
    }
    while (b != right.end() && b->second.function == offender) {
      ++b;
    }
    if (a == left.end() || b == right.end()) {
      return a == left.end() && b == right.end();
    }
    if (a->first != b->first || !(a->second == b->second)) {
      return false;
    }
    ++a;
    ++b;
  }
}

}  // namespace

std::uint64_t hash_words(const std::uint64_t* words, std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t Prime1 = 0x9e3779b185ebca87;
  constexpr std::uint64_t Prime2 = 0xc2b2ae3d27d4eb4f;
  constexpr std::size_t Lanes = 4;
  std::array<std::uint64_t, Lanes> lane{seed + Prime1, seed + Prime2, seed, seed - Prime1};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t& state = lane[i % Lanes];
    state = std::rotl((state ^ words[i]) * Prime1, 31) * Prime2;
  }
  std::uint64_t hash = count;
  for (const std::uint64_t each : lane) {
    hash = std::rotl(hash ^ each, 27) * Prime1;
    hash ^= hash >> 29;
  }
  return hash;
}

const char* to_string(cell_kind kind) {
  switch (kind) {
    case cell_kind::context_line:
      return "context line";
    case cell_kind::config_space:
      return "configuration space";
    case cell_kind::command_queue:
      return "command queue and state";
    case cell_kind::rate_register:
      return "rate registers";
    case cell_kind::msix_table:
      return "MSI-X table";
    case cell_kind::msix_pending:
      return "MSI-X pending bits";
    case cell_kind::memory:
      return "host memory";
  }
  return "?";
}

std::string cell::name() const {
  return fmt::format("{} {:#x} of function {}", to_string(kind), index, owner);
}

tenant_state::tenant_state(tenant_house& house, std::vector<std::uint32_t> busy)
    : house_(house), busy_(std::move(busy)) {
  for (std::uint16_t function = 0; function < Functions; ++function) {
    first_word_[function] = cells_.empty() ? 0 : cells_.back().begin + cells_.back().words;
    add_lines(function);
    for (std::uint32_t at = 0; at < ConfigBytes; at += WordBytes) {
      add(cell_kind::config_space, function, at, WordBytes);
    }
    add(cell_kind::command_queue, function, 0, 16);
    add(cell_kind::rate_register, function, 0, 24);
    add(cell_kind::msix_table, function, 0, Vectors * MsixEntryBytes);
    add(cell_kind::msix_pending, function, 0, bar0::MsixPbaBytes);
    const tenant& who = house_.of(function);
    add_memory(function, who.buffer.address, who.buffer.length);
    add_memory(function, who.paged_at, 4096);
    add_memory(function, who.events->buffer(), 4096);
    add_memory(function, who.cq->buffer(), 4096);
    add_memory(function, who.cq->doorbell_record(), 8);
    add_memory(function, who.srq->buffer(), 256);
    add_memory(function, who.rc->receive_buffer(), 256);
    add_memory(function, who.rc->doorbell_record(), 8);
  }
  first_word_[Functions] = cells_.back().begin + cells_.back().words;
  now_.resize(first_word_[Functions]);
  accept();
}

void tenant_state::add(cell_kind kind, std::uint16_t owner, std::uint64_t index,
                       std::uint32_t bytes) {
  const std::uint32_t begin = cells_.empty() ? 0 : cells_.back().begin + cells_.back().words;
  cells_.push_back({kind, owner, index, begin, (bytes + WordBytes - 1) / WordBytes});
}

void tenant_state::add_lines(std::uint16_t function) {
  const partition_table parts = house_.endpoint().commands().partitions();
  const context_sizes sizes = house_.home().adapter.contexts();
  for (const context_kind kind : LineKinds) {
    for (std::uint32_t index = 0; index < sizes.count(kind); ++index) {
      std::uint16_t owner = Pf;
      for (std::uint16_t vf = 1; vf < Functions; ++vf) {
        owner = parts.of(vf, kind).holds(index) ? vf : owner;
      }
      const bool busy = kind == context_kind::qpc_responder &&
                        std::find(busy_.begin(), busy_.end(), index) != busy_.end();
      if (owner == function && !busy) {
        add(cell_kind::context_line, function,
            std::uint64_t{static_cast<unsigned>(kind)} << 32 | index, BeatBytes);
      }
    }
  }
}

/// In pieces that do not cross a page.
void tenant_state::add_memory(std::uint16_t function, std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t Piece = 256;
  for (std::uint64_t at = 0; at < bytes; at += Piece) {
    add(cell_kind::memory, function, address + at,
        static_cast<std::uint32_t>(std::min(Piece, bytes - at)));
  }
}

void tenant_state::capture(const cell& what) {
  auto* into = reinterpret_cast<std::uint8_t*>(now_.data() + what.begin);
  const std::size_t bytes = std::size_t{what.words} * WordBytes;
  const auto dwords = [&](std::uint32_t offset, std::size_t length, std::size_t at) {
    const bool there =
        house_.endpoint().debug_read(what.owner, 0, offset, std::span(into + at, length));
    if (!there) {
      std::memset(into + at, 0xff, length);
    }
  };
  switch (what.kind) {
    case cell_kind::context_line: {
      const auto line = house_.ram().debug_read(static_cast<context_kind>(what.index >> 32),
                                                static_cast<std::uint32_t>(what.index));
      std::memcpy(into, line.data(), line.size());
      break;
    }
    case cell_kind::config_space:
      for (unsigned i = 0; i < bytes; i += 4) {
        const std::uint32_t value =
            house_.endpoint().space().read(what.owner, static_cast<std::uint16_t>(what.index + i));
        std::memcpy(into + i, &value, sizeof value);
      }
      break;
    case cell_kind::command_queue:
      for (unsigned i = 0; i < 3; ++i) {
        dwords(Registers[i], 4, std::size_t{i} * 4);
      }
      break;
    case cell_kind::rate_register:
      for (unsigned i = 3; i < Registers.size(); ++i) {
        dwords(Registers[i], 4, (std::size_t{i} - 3) * 4);
      }
      break;
    case cell_kind::msix_table:
      dwords(bar0::MsixTable, bytes, 0);
      break;
    case cell_kind::msix_pending:
      dwords(bar0::MsixPba, bytes, 0);
      break;
    case cell_kind::memory:
      house_.home().host.memory.read(what.index, into, bytes);
      break;
  }
}

void tenant_state::capture() {
  for (const cell& each : cells_) {
    capture(each);
  }
}

std::uint64_t tenant_state::hash_now(std::uint16_t function) const {
  const std::uint32_t begin = first_word_[function];
  return hash_words(now_.data() + begin, first_word_[function + 1U] - begin, function);
}

void tenant_state::accept() {
  capture();
  right_ = now_;
  for (std::uint16_t function = 0; function < Functions; ++function) {
    hashes_[function] = hash_now(function);
  }
  tables_ = house_.endpoint().commands().tables();
}

void tenant_state::accept(std::uint16_t function) {
  const std::uint32_t begin = first_word_[function];
  const std::uint32_t end = first_word_[function + 1U];
  std::copy(now_.begin() + begin, now_.begin() + end, right_.begin() + begin);
  hashes_[function] = hash_now(function);
}

std::optional<std::string> tenant_state::first_difference(std::uint16_t function) const {
  for (const cell& each : cells_) {
    if (each.owner == function &&
        !std::equal(now_.begin() + each.begin, now_.begin() + each.begin + each.words,
                    right_.begin() + each.begin)) {
      return each.name();
    }
  }
  return fmt::format("the hash of function {} alone", function);
}

std::optional<std::string> tenant_state::tables_changed(std::uint16_t offender) {
  const command_tables& is = house_.endpoint().commands().tables();
  if (is == tables_) {
    return std::nullopt;
  }
  if (!same_but_for(is.pds, tables_.pds, offender)) {
    return "protection domains of others";
  }
  if (!same_but_for(is.eqs, tables_.eqs, offender)) {
    return "event queues of others";
  }
  if (!same_but_for(is.cqs, tables_.cqs, offender)) {
    return "completion queues of others";
  }
  if (!same_but_for(is.srqs, tables_.srqs, offender)) {
    return "shared receive queues of others";
  }
  if (!same_but_for(is.mkeys, tables_.mkeys, offender)) {
    return "memory keys of others";
  }
  if (!same_but_for(is.qps, tables_.qps, offender)) {
    return "queue pairs of others";
  }
  for (std::uint16_t function = 0; function < is.functions.size(); ++function) {
    if (function != offender && !(is.functions[function] == tables_.functions[function])) {
      return fmt::format("what is known of function {}", function);
    }
  }
  if (is.arbitration != tables_.arbitration) {
    return "the arbitration of the device";
  }
  const partition_table parts = house_.endpoint().commands().partitions();
  for (std::uint32_t qpn = 0; qpn < is.lives.size(); ++qpn) {
    if (is.lives[qpn] != tables_.lives[qpn]) {
      std::uint16_t owner = Pf;
      for (std::uint16_t vf = 1; vf < Functions; ++vf) {
        owner = parts.of(vf, context_kind::qpc_common).holds(qpn) ? vf : owner;
      }
      if (owner != offender) {
        return fmt::format("the life of QP {}", qpn);
      }
    }
  }
  tables_ = is;  // the offender's own things
  return std::nullopt;
}

std::optional<std::string> tenant_state::changed(std::uint16_t offender) {
  capture();
  for (std::uint16_t function = 0; function < Functions; ++function) {
    if (function == offender) {
      accept(function);
    } else if (hash_now(function) != hashes_[function]) {
      return first_difference(function);
    }
  }
  return tables_changed(offender);
}

void tenant_state::flip(const cell& where, unsigned bit) {
  right_[where.begin + bit / 64] ^= std::uint64_t{1} << bit % 64;
  std::swap(now_, right_);
  hashes_[where.owner] = hash_now(where.owner);
  std::swap(now_, right_);
}

}  // namespace carillon::isolation
