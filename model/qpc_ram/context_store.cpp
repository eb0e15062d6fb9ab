#include "qpc_ram/context_store.h"

#include "gen/contexts.h"

namespace carillon {

namespace {

constexpr std::size_t bank_index(context_kind kind) {
  return static_cast<std::size_t>(kind);
}

/// Changes fields of a line and leaves its other bits, reserved ones too, as they are.
template <class Line, class Change>
void change(context_store::line& data, Change apply) {
  Line fields = Line::unpack(data.data());
  context_store::line before{};
  context_store::line after{};
  fields.pack(before.data());
  apply(fields);
  fields.pack(after.data());
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] ^= static_cast<std::uint8_t>(before[i] ^ after[i]);
  }
}

}  // namespace

context_store::context_store(const context_sizes& sizes, bool on_chip) : sizes_(sizes) {
  if (on_chip) {
    for (std::size_t i = 0; i < banks_.size(); ++i) {
      banks_[i].resize(sizes_.lines[i]);
    }
  }
  const std::size_t qps = sizes_.count(context_kind::qpc_common);
  errors_.resize(qps);
  send_errors_.resize(qps);
  in_reset_.resize(qps, true);
  invalid_keys_.resize(sizes_.count(context_kind::mkey));
}

context_store::line context_store::read(context_kind kind, std::uint32_t index) const {
  const std::vector<line>& bank = banks_[bank_index(kind)];
  if (index >= bank.size()) {
    return {};
  }
  line result = bank[index];
  overlay(kind, index, result);
  return result;
}

void context_store::overlay(context_kind kind, std::uint32_t index, line& data) const {
  if (kind == context_kind::qpc_common && (errors_[index] || send_errors_[index])) {
    change<qpc_common>(data, [&](qpc_common& common) {
      common.state = errors_[index] ? qp_state::Err : qp_state::Sqer;
    });
  } else if (kind == context_kind::mkey && invalid_keys_[index]) {
    change<mkey_line>(data, [](mkey_line& key) { key.valid = 0; });
  }
}

bool context_store::write(context_kind kind, std::uint32_t index, const line& data) {
  if (!valid(kind, index)) {
    return false;
  }
  banks_[bank_index(kind)][index] = data;
  mark_written(kind, index, data);
  return true;
}

void context_store::mark_written(context_kind kind, std::uint32_t index, const line& data) {
  if (kind == context_kind::qpc_common) {
    const qp_state state = qpc_common::unpack(data.data()).state;
    in_reset_[index] = state == qp_state::Reset;
    if (state == qp_state::Reset) {
      errors_[index] = false;
    }
    if (state == qp_state::Reset || state == qp_state::Rts) {
      send_errors_[index] = false;
    }
  } else if (kind == context_kind::mkey) {
    invalid_keys_[index] = false;
  }
}

void context_store::set_error(std::uint32_t qpn, bool send_queue_only) {
  // An owner may fail just before it hears of a reset: that error belongs to the life before.
  if (qpn < errors_.size() && !in_reset_[qpn]) {
    (send_queue_only ? send_errors_ : errors_)[qpn] = true;
  }
}

void context_store::invalidate(std::uint32_t mkey) {
  if (mkey < invalid_keys_.size()) {
    invalid_keys_[mkey] = true;
  }
}

context_store::marks context_store::marks_of(context_kind kind, std::uint32_t index) const {
  marks result;
  if (kind == context_kind::qpc_common) {
    result.error = errors_[index];
    result.send_error = send_errors_[index];
    result.alive = !in_reset_[index];
  } else if (kind == context_kind::mkey) {
    result.struck = invalid_keys_[index];
  }
  return result;
}

const context_store::line& context_store::raw(context_kind kind, std::uint32_t index) const {
  return banks_[bank_index(kind)][index];
}

}  // namespace carillon
