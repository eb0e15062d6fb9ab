// A core's stores to the device: uncached ones, write-combined ones, fences.
#include <algorithm>
#include <bit>
#include <cstring>

#include "common/error.h"
#include "host/cpu.h"

namespace carillon {

void cpu::depart_at(ps_t when, departure item) {
  // Stores leave in the order in which the core gave them away.
  const ps_t leaves = std::max(when, last_departure_);
  item.trace = context_.trace.wait(item.trace, site_, order_reason_, when, leaves);
  last_departure_ = leaves;
  departures_.push(item);
  at(leaves, event::depart);
}

trace_ref cpu::store_uncached(std::uint64_t address, std::span<const std::uint8_t> bytes,
                              trace_ref history) {
  CARILLON_CHECK(bytes.size() <= 8, "{}: an uncached store of {} bytes", this->name(),
                 bytes.size());
  drain_all();
  history = behind_fence(1, history);
  history = spend(context_.params.cpu.mmio_store_ps, history);
  departure item;
  item.address = address;
  item.length = static_cast<std::uint32_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), item.bytes.begin());
  item.trace = history;
  depart_at(time_, item);
  return history;
}

trace_ref cpu::store_combined(std::uint64_t address, std::span<const std::uint8_t> bytes,
                              trace_ref history) {
  const auto line_cost = static_cast<std::uint64_t>(context_.params.cpu.wc_store_ps);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::uint64_t at = address + done;
    const std::uint64_t line = at & ~std::uint64_t{LineBytes - 1};
    const auto offset = static_cast<std::uint32_t>(at - line);
    const auto piece = std::min<std::size_t>(LineBytes - offset, bytes.size() - done);
    history =
        behind_fence(static_cast<std::uint32_t>((piece + StoreBytes - 1) / StoreBytes), history);
    history = spend((line_cost * piece + LineBytes - 1) / LineBytes, history);
    auto found = std::find_if(lines_.begin(), lines_.end(),
                              [&](const line_buffer& each) { return each.line == line; });
    if (found == lines_.end()) {
      history = free_line_buffer(history);
      lines_.emplace_back().line = line;
      found = lines_.end() - 1;
    }
    std::memcpy(found->bytes.data() + offset, bytes.data() + done, piece);
    const std::uint64_t ones =
        piece == LineBytes ? ~std::uint64_t{0} : (std::uint64_t{1} << piece) - 1;
    found->mask |= ones << offset;
    found->trace = history;
    if (found->mask == ~std::uint64_t{0}) {
      drain_line(static_cast<std::size_t>(found - lines_.begin()));
    }
    done += piece;
  }
  return history;
}

/// Room for one more line: the oldest one goes if all buffers are in use, and those that have gone
/// keep their buffers for a while.
trace_ref cpu::free_line_buffer(trace_ref history) {
  const auto buffers = static_cast<std::size_t>(context_.params.cpu.wc_buffers);
  while (!busy_buffers_.empty() && busy_buffers_.front() <= time_) {
    busy_buffers_.pop();
  }
  if (lines_.size() + busy_buffers_.size() < buffers) {
    return history;
  }
  if (lines_.size() == buffers) {
    drain_line(0);
  }
  if (!busy_buffers_.empty()) {
    const ps_t free = busy_buffers_.pop();
    history = context_.trace.wait(history, site_, combining_reason_, time_, std::max(time_, free));
    time_ = std::max(time_, free);
  }
  return history;
}

/// The core may make `stores` more stores now: at once, or when the fence before them has ended.
trace_ref cpu::behind_fence(std::uint32_t stores, trace_ref history) {
  if (time_ >= fence_end_) {
    return history;
  }
  if (stores > stores_left_) {
    history = caught_up(history);
    return end_fence(history);
  }
  stores_left_ -= stores;
  return history;
}

trace_ref cpu::end_fence(trace_ref history) {
  if (fence_end_ > time_) {
    history = context_.trace.wait(history, site_, drain_reason_, time_, fence_end_);
    time_ = fence_end_;
  }
  return history;
}

/// Sends a line now: one TLP for each run of written bytes.
void cpu::drain_line(std::size_t index) {
  const line_buffer line = lines_[index];
  lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(index));
  trace_ref history = line.trace;
  if (context_.trace.live(history)) {
    history = context_.trace.wait(history, site_, combining_reason_, context_.trace.end_of(history),
                                  time_);
  }
  // What was stored behind a fence goes on its way when that has ended.
  const ps_t begin = std::max(time_, fence_end_);
  history = context_.trace.wait(history, site_, drain_reason_, time_, begin);
  const ps_t leaves = begin + static_cast<ps_t>(context_.params.cpu.wc_flush_ps);
  if (context_.params.cpu.wc_busy_ps != 0) {
    busy_buffers_.push(begin + static_cast<ps_t>(context_.params.cpu.wc_busy_ps));
  }
  last_line_ = std::max(leaves, last_departure_);
  history = context_.trace.service(history, site_, begin, leaves);
  for (std::uint64_t mask = line.mask; mask != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const auto length = static_cast<unsigned>(std::countr_one(mask >> first));
    departure item;
    item.address = line.line + first;
    item.length = length;
    std::memcpy(item.bytes.data(), line.bytes.data() + first, length);
    item.trace = history;
    depart_at(leaves, item);
    mask = first + length >= LineBytes ? 0 : mask & (~std::uint64_t{0} << (first + length));
  }
}

void cpu::drain_all() {
  while (!lines_.empty()) {
    switch (drain_order_) {
      case drain_order::oldest_first:
        drain_line(0);
        break;
      case drain_order::newest_first:
        drain_line(lines_.size() - 1);
        break;
      case drain_order::random:
        drain_line(drain_random_.below(lines_.size()));
        break;
    }
  }
}

trace_ref cpu::fence(trace_ref history) {
  history = end_fence(history);
  drain_all();
  history = spend(context_.params.cpu.fence_ps, history);
  fence_end_ = std::max(time_, last_departure_);
  if (last_line_ != 0) {
    fence_end_ = std::max(fence_end_, last_line_ + static_cast<ps_t>(params().cpu.fence_drain_ps));
    last_line_ = 0;
  }
  stores_left_ = static_cast<std::uint32_t>(params().cpu.stores_behind_fence);
  if (stores_left_ == 0) {
    return end_fence(history);
  }
  // What is behind it does not leave before.
  last_departure_ = fence_end_;
  return history;
}

trace_ref cpu::finish_fence(trace_ref history) {
  return fence_end_ > time_ ? end_fence(caught_up(history)) : history;
}

}  // namespace carillon
