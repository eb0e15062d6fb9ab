#include "completion/msix_vectors.h"

namespace carillon {

namespace {

constexpr unsigned WordBits = 64;

}  // namespace

msix_vectors::function_vectors& msix_vectors::of(std::uint16_t function) {
  if (function >= functions_.size()) {
    functions_.resize(function + std::size_t{1});
    pending_.resize(functions_.size());
  }
  function_vectors& mine = functions_[function];
  if (mine.entries.empty()) {
    mine.entries.resize(vectors_);
  }
  return mine;
}

void msix_vectors::set_pending(std::uint16_t function, unsigned vector, bool pending) {
  std::uint64_t& word = pending_[function][vector / WordBits];
  const std::uint64_t bit = std::uint64_t{1} << (vector % WordBits);
  const std::uint64_t now = pending ? word | bit : word & ~bit;
  changed_ = changed_ || now != word;
  word = now;
}

msix_vectors::result msix_vectors::raise(std::uint16_t function, unsigned vector) {
  function_vectors& mine = of(function);
  if (!mine.enabled || vector >= vectors_) {
    return result::disabled;
  }
  entry& each = mine.entries[vector];
  if (mine.masked || each.masked) {
    set_pending(function, vector, true);
    return result::pends;
  }
  return std::exchange(each.queued, true) ? result::merged : result::sends;
}

std::optional<msix_vectors::message> msix_vectors::send(std::uint16_t function, unsigned vector) {
  function_vectors& mine = of(function);
  entry& each = mine.entries[vector];
  if (!std::exchange(each.queued, false) || !mine.enabled) {
    return std::nullopt;
  }
  if (mine.masked || each.masked) {
    set_pending(function, vector, true);
    return std::nullopt;
  }
  return each.what;
}

void msix_vectors::change(const msix_command& command) {
  function_vectors& mine = of(command.function);
  switch (command.kind) {
    case msix_command_kind::entry: {
      entry& each = mine.entries[command.vector];
      each.what = {command.address, command.data};
      each.masked = command.masked;
      return;
    }
    case msix_command_kind::control:
      mine.enabled = command.enabled;
      mine.masked = command.masked;
      return;
    case msix_command_kind::reset:
      mine = {};
      for (unsigned vector = 0; vector < vectors_; ++vector) {
        set_pending(command.function, vector, false);
      }
      mine.entries.resize(vectors_);
      return;
  }
}

bool msix_vectors::take_pending(std::uint16_t function, unsigned vector) {
  function_vectors& mine = functions_[function];
  entry& each = mine.entries[vector];
  const bool pending = ((pending_[function][vector / WordBits] >> (vector % WordBits)) & 1) != 0;
  if (!pending || !mine.enabled || mine.masked || each.masked) {
    return false;
  }
  set_pending(function, vector, false);
  return !std::exchange(each.queued, true);
}

}  // namespace carillon
