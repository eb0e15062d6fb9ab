// The completions of a device's read: cut, made of what memory holds, sent.
#include <cstdint>

#include "common/clock.h"
#include "host/root_complex.h"

namespace carillon {

namespace {

/// The last of all tags: no device uses it that has not a thousand reads in flight.
constexpr std::uint16_t StrayTag = 0x3ff;
constexpr std::uint32_t DwordBytes = 4;

}  // namespace

/// Makes the completions of a read, whose data is what memory holds now.
void root_complex::sample(const memory_access& access) {
  tlp* request = access.packet;
  port.consumed(request->flow, request->payload_bytes);
  if (!access.silent) {
    const std::uint32_t slot = completions_.obtain();
    answer_parts& parts = completions_[slot];
    const ps_t through = from_memory(access);
    parts.ready = through + access.delay;
    request->trace = context_.trace.wait(request->trace, {self_.place, request->row}, fault_,
                                         through, parts.ready);
    if (access.stray) {
      make_stray(parts, access);
    }
    if (access.status != completion_status::Success || access.range.bytes == 0) {
      const bool memory = access.header.kind == tlp_kind::memory_read;
      complete(parts, access, access.range.address, memory ? total_byte_count(access.header) : 4,
               access.status == completion_status::Success ? 1 : 0);
    } else {
      std::uint64_t address = access.range.address;
      for (std::uint32_t left = access.range.bytes; left != 0;) {
        const std::uint32_t bytes = cut(address, left);
        complete(parts, access, address, left, bytes);
        address += bytes;
        left -= bytes;
      }
    }
    // The completions of one read become ready together.
    at(parts.ready, work::send_completions, slot);
  }
  request->release();
}

std::uint32_t root_complex::cut(std::uint64_t address, std::uint32_t left) {
  const auto& pcie = context_.params.pcie;
  const auto payload = static_cast<std::uint32_t>(pcie.mps);
  const auto boundary = static_cast<std::uint32_t>(pcie.rcb);
  switch (pcie.completion_split) {
    case pcie_completion_split::EveryRcb:
      return next_completion(address, left, payload, boundary, completion_cut::every_boundary);
    case pcie_completion_split::LargestFit:
      return next_completion(address, left, payload, boundary, completion_cut::largest_fit);
    case pcie_completion_split::Random:
      return random_completion(address, left, payload, boundary, random_);
  }
  return left;
}

/// One completion with `bytes` bytes from `address` on, of `left` that are to come.
void root_complex::complete(answer_parts& parts, const memory_access& access, std::uint64_t address,
                            std::uint32_t left, std::uint32_t bytes) {
  tlp* packet = tlps_.take();
  make_completion(*packet, RootId, access.header.requester, access.header.tag, access.status, left,
                  static_cast<std::uint8_t>(address & 0x7f), nullptr, bytes);
  if (bytes != 0 && access.range.bytes != 0) {
    memory_.read(address, write_payload(*packet, address), bytes);
  }
  if (access.poisoned) {
    set_poisoned(*packet);
  }
  packet->trace = access.packet->trace;
  packet->row = access.packet->row;
  parts.packets.push_back(packet);
}

void root_complex::make_stray(answer_parts& parts, const memory_access& access) {
  tlp* packet = tlps_.take();
  make_completion(*packet, RootId, access.header.requester, StrayTag, completion_status::Success,
                  DwordBytes, 0, nullptr, DwordBytes);
  packet->row = access.packet->row;
  parts.packets.push_back(packet);
}

void root_complex::send_completions(std::uint32_t slot) {
  if (context_.params.pcie.completion_split == pcie_completion_split::Random) {
    mixed_.push_back(slot);
    mix_completions();
    return;
  }
  answer_parts& parts = completions_[slot];
  for (tlp* packet : parts.packets) {
    egress_.push(packet);
  }
  parts.packets.clear();
  completions_.give_back(slot);
}

/// Whenever the link is free one of the reads that have completions left sends its next one.
void root_complex::mix_completions() {
  const ps_t now = now_ps();
  while (!mixed_.empty()) {
    if (const ps_t free = port.free_at(); free > now) {
      if (!mixing_) {
        mixing_ = true;
        at(free, work::mix_completions);
      }
      return;
    }
    const std::uint64_t chosen = random_.below(mixed_.size());
    const std::uint32_t slot = mixed_[chosen];
    answer_parts& parts = completions_[slot];
    tlp* packet = parts.packets[parts.sent++];
    packet->trace =
        context_.trace.wait(packet->trace, {self_.place, packet->row}, link_, parts.ready, now);
    if (parts.sent == parts.packets.size()) {
      parts.packets.clear();
      parts.sent = 0;
      completions_.give_back(slot);
      mixed_[chosen] = mixed_.back();
      mixed_.pop_back();
    }
    egress_.push(packet);
  }
}

}  // namespace carillon
