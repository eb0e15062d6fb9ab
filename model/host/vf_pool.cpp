#include "host/vf_pool.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace carillon {

namespace {

std::string exhausted_text(const std::string& host, unsigned existing, bool shared) {
  if (shared) {
    return fmt::format("vf_exhausted: the function of {} has its {} users", host, existing);
  }
  if (existing == 0) {
    return fmt::format("vf_exhausted: {} has no VFs", host);
  }
  return fmt::format("vf_exhausted: all {} VFs of {} are assigned", existing, host);
}

}  // namespace

vf_exhausted::vf_exhausted(const std::string& host, unsigned functions, bool shared)
    : config_error(exhausted_text(host, functions, shared)), existing(functions) {}

vf_pool::vf_pool(std::string host, sriov& functions)
    : host_(std::move(host)), functions_(functions) {}

task<vf_pool::lease> vf_pool::acquire(cpu& core) {
  co_await functions_.open(core);
  if (users_ >= capacity()) {
    throw vf_exhausted(host_, capacity(), shared());
  }
  ++users_;
  lease given;
  if (!shared()) {
    std::uint16_t index = 0;
    while (taken_.contains(index)) {
      ++index;
    }
    taken_.insert(index);
    given.function = static_cast<std::uint16_t>(index + 1);
  }
  try {
    if (shared()) {
      given.adapter = &functions_.pf();
      given.uar = co_await take_page(core);
    } else {
      given.adapter = &functions_.vf(static_cast<std::uint16_t>(given.function - 1));
      co_await given.adapter->open(core);
      given.uar = co_await given.adapter->alloc_uar(core);
    }
    given.pd = co_await given.adapter->alloc_pd(core);
  } catch (const config_error&) {
    --users_;
    if (!shared()) {
      taken_.erase(static_cast<std::uint16_t>(given.function - 1));
    }
    throw;
  }
  co_return given;
}

task<> vf_pool::release(cpu& core, lease from) {
  if (shared()) {
    co_await from.adapter->command(core, command_opcode::DeallocPd, from.pd);
    const auto used = std::find_if(pages_.begin(), pages_.end(),
                                   [&](const page& each) { return each.uar == from.uar; });
    --used->users;
  } else {
    const auto index = static_cast<std::uint16_t>(from.function - 1);
    co_await functions_.renew(core, index);
    taken_.erase(index);
    ++reused_;
  }
  --users_;
}

/// One that nobody has; a new one; the one with the fewest users.
task<uar_handle*> vf_pool::take_page(cpu& core) {
  co_await core.sync();
  co_await core.acquire(pages_lock_);
  const auto least = [this] {
    return std::min_element(pages_.begin(), pages_.end(),
                            [](const page& a, const page& b) { return a.users < b.users; });
  };
  if (pages_left_ && (pages_.empty() || least()->users != 0)) {
    uar_handle* fresh = co_await functions_.pf().try_alloc_uar(core);
    pages_left_ = fresh != nullptr;
    if (fresh != nullptr) {
      pages_.push_back({fresh, 0});
    }
  }
  co_await core.sync();
  core.release(pages_lock_);
  if (pages_.empty()) {
    throw vf_exhausted(host_, users_ - 1, true);
  }
  const auto chosen = least();
  ++chosen->users;
  co_return chosen->uar;
}

}  // namespace carillon
