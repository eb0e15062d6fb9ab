#include "fabric/switch/shared_buffer.h"

#include <algorithm>
#include <fmt/format.h>

#include "common/error.h"
#include "fabric/switch/headroom.h"

namespace carillon {

namespace {

std::uint64_t beyond(std::uint64_t bytes, std::uint64_t reserved) {
  return bytes > reserved ? bytes - reserved : 0;
}

}  // namespace

shared_buffer::shared_buffer(const switch_settings& settings, std::string_view owner)
    : accounts_(settings.ports.size() * PriorityCount),
      queued_(settings.ports.size() * PriorityCount) {
  std::uint64_t headroom = 0;
  std::uint64_t reserved = 0;
  for (unsigned priority = 0; priority < PriorityCount; ++priority) {
    const switch_priority_settings& from = settings.priorities[priority];
    rules_[priority] = {from.lossless,
                        from.reserved_bytes,
                        from.egress_reserved_bytes,
                        from.xon_offset_bytes,
                        static_cast<std::uint64_t>(from.ingress_alpha * 128),
                        static_cast<std::uint64_t>(from.egress_alpha * 128)};
    for (std::size_t port = 0; port < settings.ports.size(); ++port) {
      reserved += from.reserved_bytes;
      if (from.lossless) {
        const std::uint64_t own = headroom_bytes(settings, settings.ports[port]);
        accounts_[port * PriorityCount + priority].headroom = own;
        headroom += own;
      }
    }
  }
  if (headroom + reserved + settings.max_frame_bytes > settings.buffer_bytes) {
    throw config_error(
        fmt::format("{}: buffer_bytes = {}: headroom ({} bytes for the lossless priorities of {} "
                    "ports), reserved parts ({} bytes) and one frame ({} bytes) need {}",
                    owner, settings.buffer_bytes, headroom, settings.ports.size(), reserved,
                    settings.max_frame_bytes, headroom + reserved + settings.max_frame_bytes));
  }
  shared_ = settings.buffer_bytes - headroom - reserved;
}

buffer_verdict shared_buffer::enter(ingress_account& of, const rule& by, std::uint64_t bytes) {
  const std::uint64_t before = beyond(of.bytes, by.reserved);
  const std::uint64_t after = beyond(of.bytes + bytes, by.reserved);
  if (after == 0 || (after <= of_free(by.ingress_alpha) && after - before <= free_bytes())) {
    of.bytes += bytes;
    shared_used_ += after - before;
    return buffer_verdict::accepted;
  }
  if (!by.lossless) {
    return buffer_verdict::ingress_full;
  }
  of.xoff = true;
  if (of.in_headroom + bytes > of.headroom) {
    return buffer_verdict::headroom_full;
  }
  of.in_headroom += bytes;
  return buffer_verdict::in_headroom;
}

buffer_verdict shared_buffer::admit(const place& where, std::uint64_t bytes) {
  const rule& by = rules_[where.priority];
  std::uint64_t& queue = queued_[where.egress * PriorityCount + where.priority];
  if (!by.lossless && beyond(queue + bytes, by.egress_reserved) > of_free(by.egress_alpha)) {
    return buffer_verdict::egress_full;
  }
  const buffer_verdict result =
      enter(accounts_[where.ingress * PriorityCount + where.priority], by, bytes);
  if (result == buffer_verdict::accepted || result == buffer_verdict::in_headroom) {
    queue += bytes;
  }
  return result;
}

void shared_buffer::release(const place& where, std::uint64_t bytes) {
  const rule& by = rules_[where.priority];
  ingress_account& of = accounts_[where.ingress * PriorityCount + where.priority];
  std::uint64_t& queue = queued_[where.egress * PriorityCount + where.priority];
  CARILLON_CHECK(of.bytes + of.in_headroom >= bytes && queue >= bytes,
                 "switch buffer: {} bytes of port {} priority {} released, {} held, {} queued",
                 bytes, where.ingress, where.priority, of.bytes + of.in_headroom, queue);
  queue -= bytes;
  const std::uint64_t headroom = std::min(bytes, of.in_headroom);
  of.in_headroom -= headroom;
  const std::uint64_t before = beyond(of.bytes, by.reserved);
  of.bytes -= bytes - headroom;
  const std::uint64_t after = beyond(of.bytes, by.reserved);
  shared_used_ -= before - after;
  if (of.xoff && of.in_headroom == 0 &&
      (after == 0 || after + by.xon_offset <= of_free(by.ingress_alpha))) {
    of.xoff = false;
  }
}

bool shared_buffer::empty() const {
  return std::all_of(accounts_.begin(), accounts_.end(),
                     [](const ingress_account& each) {
                       return each.bytes == 0 && each.in_headroom == 0;
                     }) &&
         shared_used_ == 0;
}

}  // namespace carillon
