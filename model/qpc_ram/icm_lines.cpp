#include "qpc_ram/icm_lines.h"

#include <cstring>

#include "gen/stages.h"

namespace carillon {

namespace {

constexpr std::uint16_t Pf = 0;

}  // namespace

icm_lines::icm_lines(nic_shared& nic, const context_sizes& sizes, const ports& connected,
                     bool sends)
    : nic_(nic),
      sizes_(sizes),
      io_(connected),
      sends_(sends),
      cache_(static_cast<std::uint32_t>(nic.context.params.nic.icm_cache_lines),
             static_cast<std::uint32_t>(nic.context.params.nic.icm_cache_ways)),
      registers_(static_cast<std::size_t>(nic.context.params.nic.icm_misses)),
      free_(registers_.size()) {
  if (io_.done.depth() < registers_.size()) {
    throw config_error(fmt::format("{}: depth {} is less than the {} reads that may be under way",
                                   io_.done.name(), io_.done.depth(), registers_.size()));
  }
}

void icm_lines::follow(cycle_t t) {
  const std::uint64_t base = io_.base.read(t);
  if (base == base_) {
    return;
  }
  base_ = base;
  cache_.clear();
  for (miss& each : registers_) {
    each.outdated = !each.written &&
                    (each.state == miss::state_e::reading || each.state == miss::state_e::ready);
  }
}

std::uint64_t icm_lines::address_of(const context_id& id) const {
  return base_ + (sizes_.first(id.kind) + id.index) * BeatBytes;
}

std::uint32_t icm_lines::find(const context_id& id) const {
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    if (registers_[i].state != miss::state_e::idle && registers_[i].id == id) {
      return static_cast<std::uint32_t>(i);
    }
  }
  return None;
}

std::uint32_t icm_lines::take_register(const context_id& id) {
  // The idle one with the lowest number.
  std::uint32_t index = 0;
  while (registers_[index].state != miss::state_e::idle) {
    ++index;
  }
  --free_;
  miss& taken = registers_[index];
  taken.id = id;
  taken.written = false;
  taken.outdated = false;
  return index;
}

void icm_lines::release(std::uint32_t index) {
  registers_[index].state = miss::state_e::idle;
  ++free_;
}

std::optional<context_id> icm_lines::take_answer(const dma_read_done& done) {
  const auto index = static_cast<std::uint32_t>(done.cookie);
  miss& answered = registers_[index];
  if (answered.outdated && !answered.written) {
    read_again(index);
    return std::nullopt;
  }
  const bool failed = done.status != dma_status::ok && !answered.written;
  if (done.status != dma_status::ok) {
    nic_.counters.add(counter::IcmErrors);
  }
  if (failed) {
    release(index);
    return answered.id;
  }
  if (!answered.written) {
    std::memcpy(answered.data.data(), done.data.data(), BeatBytes);
  }
  answered.state = miss::state_e::ready;
  ready_.push(index);
  return std::nullopt;
}

void icm_lines::read_again(std::uint32_t index) {
  miss& again = registers_[index];
  again.outdated = false;
  again.state = miss::state_e::wanted;
  wanted_.push(index);
}

bool icm_lines::write(const context_id& id, const line& data) {
  wrote_cache_ = false;
  if (icm_cache::entry* const held = cache_.use(id); held != nullptr) {
    held->data = data;
    held->dirty = true;
    wrote_cache_ = true;
    return true;
  }
  std::uint32_t index = find(id);
  if (index == None) {
    if (free_ == 0) {
      return false;
    }
    index = take_register(id);
    registers_[index].state = miss::state_e::ready;
    ready_.push(index);
  }
  registers_[index].data = data;
  registers_[index].written = true;
  return true;
}

icm_lines::outcome icm_lines::chance(const context_id& id, std::size_t spared) const {
  if (find(id) != None) {
    return outcome::coming;
  }
  if (base_ == 0) {
    return outcome::nowhere;
  }
  return free_ > spared ? outcome::fetching : outcome::full;
}

void icm_lines::fetch(const context_id& id, std::uint16_t function) {
  const std::uint32_t index = take_register(id);
  registers_[index].state = miss::state_e::wanted;
  wanted_.push(index);
  nic_.counters.add_for(function, counter::IcmMisses);
}

void icm_lines::replace(cycle_t t, icm_cache::entry& place) {
  if (registers_[ready_.front()].outdated && !registers_[ready_.front()].written) {
    read_again(ready_.pop());
    return;
  }
  if (place.valid && place.dirty && base_ != 0 && !io_.writes.has_credit(t)) {
    io_.writes.ask_credit(t);
    return;
  }
  if (place.valid) {
    nic_.counters.add(counter::IcmEvictions);
    if (place.dirty) {
      write_back(t, place);
    }
  }
  const std::uint32_t index = ready_.pop();
  miss& ended = registers_[index];
  cache_.put(place, ended.id, ended.data, ended.written);
  release(index);
}

void icm_lines::write_back(cycle_t t, const icm_cache::entry& entry) {
  if (base_ == 0) {
    nic_.counters.add(counter::IcmErrors);
    return;
  }
  io_.writes.reserve(t, 1);
  if (sends_) {
    dma_write out;
    out.function = Pf;
    out.address = address_of(entry.id);
    out.length = BeatBytes;
    out.from = nic_.buffers.take();
    std::memcpy(out.from.data(), entry.data.data(), BeatBytes);
    io_.writes.push_reserved(t, stage_spec::dma_engine::RequestHop, std::move(out));
  }
  nic_.counters.add(counter::IcmWriteBacks);
  going_.push(entry.id);
  while (going_.size() > io_.writes.depth()) {
    going_.pop();
  }
}

bool icm_lines::issue(cycle_t t) {
  if (wanted_.empty()) {
    return false;
  }
  // dma_engine hands a line to the link in the cycle in which it takes it.
  const unsigned not_gone = io_.writes.depth() - io_.writes.credits(t);
  while (going_.size() > not_gone) {
    going_.pop();
  }
  const std::uint32_t index = wanted_.front();
  miss& next = registers_[index];
  for (std::size_t i = going_.size(); i != 0; --i) {
    if (going_[i - 1] == next.id) {
      io_.writes.ask_credit(t, io_.writes.depth() - static_cast<unsigned>(going_.size() - i));
      return false;
    }
  }
  if (!io_.reads.has_credit(t)) {
    io_.reads.ask_credit(t);
    return false;
  }
  wanted_.pop();
  next.state = miss::state_e::reading;
  io_.reads.reserve(t, 1);
  if (sends_) {
    dma_read read;
    read.function = Pf;
    read.address = address_of(next.id);
    read.length = BeatBytes;
    read.into = nic_.buffers.take();
    read.cookie = index;
    io_.reads.push_reserved(t, stage_spec::dma_engine::RequestHop, std::move(read));
  }
  return !wanted_.empty();
}

icm_lines::line icm_lines::debug_read(const context_id& id) const {
  if (const std::uint32_t index = find(id); index != None) {
    const miss& each = registers_[index];
    return each.written || each.state == miss::state_e::ready ? each.data : line{};
  }
  const icm_cache::entry* const held = cache_.find(id);
  return held == nullptr ? line{} : held->data;
}

}  // namespace carillon
