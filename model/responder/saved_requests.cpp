#include "responder/saved_requests.h"

#include "common/error.h"

namespace carillon {
namespace {

constexpr std::uint32_t Mask24 = 0xffffff;

}  // namespace

void saved_requests::start(unsigned log_size) {
  size_ = 1U << log_size;
  next_ = 0;
  busy_ = 0;
  open_ = 0;
  entries_.assign(entries_.size(), {});
}

void saved_requests::save(const saved_request& request) {
  CARILLON_CHECK(!all_busy(), "saved requests: PSN {} while all {} are busy", request.first_psn,
                 size_);
  if (entries_.size() < size_) {
    entries_.resize(size_);
  }
  entries_[next_] = request;
  entries_[next_].used = true;
  next_ = (next_ + 1) & (size_ - 1);
  ++busy_;
  ++open_;
}

void saved_requests::answered(std::uint64_t result) {
  CARILLON_CHECK(open_ != 0, "saved requests: an answer to none");
  saved_request& oldest = entries_[(next_ - open_) & (size_ - 1)];
  oldest.answered = true;
  oldest.result = result;
  --open_;
}

void saved_requests::left() {
  CARILLON_CHECK(busy_ > open_, "saved requests: an answer has left that was not given");
  --busy_;
}

bool saved_requests::covers_read(std::uint32_t psn, std::uint64_t address, std::uint32_t rkey,
                                 std::uint32_t length, std::uint32_t mtu) const {
  for (const saved_request& each : entries_) {
    const std::uint32_t packets = (psn - each.first_psn) & Mask24;
    if (!each.used || each.verb != bth_verb::ReadRequest || packets >= each.psns) {
      continue;
    }
    const std::uint64_t offset = std::uint64_t{packets} * mtu;
    if (each.rkey == rkey && address == each.address + offset && offset + length <= each.length) {
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> saved_requests::result_of(std::uint32_t psn, bth_verb verb,
                                                       std::uint64_t address) const {
  for (const saved_request& each : entries_) {
    if (each.used && each.verb == verb && each.first_psn == psn && each.address == address &&
        each.answered) {
      return each.result;
    }
  }
  return std::nullopt;
}

}  // namespace carillon
