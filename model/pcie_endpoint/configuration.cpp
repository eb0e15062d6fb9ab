// Configuration requests, and the resets of functions that they begin.
#include <algorithm>
#include <bit>
#include <optional>

#include "gen/registers.h"
#include "gen/stages.h"
#include "gen/tlp.h"
#include "pcie_endpoint.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_endpoint;

constexpr std::uint16_t DwordBytes = 4;
constexpr std::uint64_t PsPerNs = 1000;

}  // namespace

config_shape shape_of(const parameters& params) {
  const std::uint64_t uar_bytes =
      std::bit_ceil(static_cast<std::uint64_t>(params.nic.uar_pages) * UarPageBytes);
  config_shape shape;
  shape.pf_bars = {bar0::Size, uar_bytes, bar4::Size};
  shape.vf_bars = {bar0::Size, uar_bytes};
  shape.total_vfs = static_cast<std::uint16_t>(params.nic.total_vfs);
  shape.msix_vectors = static_cast<std::uint16_t>(params.nic.msix_vectors);
  shape.max_payload = static_cast<std::uint16_t>(params.pcie.mps);
  shape.link_generation = static_cast<std::uint8_t>(params.pcie.generation);
  shape.link_width = static_cast<std::uint8_t>(params.pcie.width);
  return shape;
}

function_map pcie_endpoint::reset_functions(const parameters& params) {
  return config_space(shape_of(params)).map();
}

// Requests

void pcie_endpoint::configure(cycle_t t) {
  note_errors(t);
  end_resets(t);
  if (!ports_.configs.takeable(t)) {
    return;
  }
  if (answering_) {
    // Both are answered on one stream.
    wake(t + 1);
  } else if (ports_.answers.has_credit(t)) {
    ports_.answers.push(t, spec::RegisterRead, answer(ports_.configs.take(t), t));
  } else {
    ports_.answers.ask_credit(t);
  }
}

void pcie_endpoint::note_errors(cycle_t t) {
  for (stream<pcie_error>* errors : ports_.errors) {
    if (errors->takeable(t)) {
      const pcie_error error = errors->take(t);
      space_.report(error.function, error.kind);
    }
  }
}

mmio_answer pcie_endpoint::answer(const config_request& request, cycle_t t) {
  nic_.counters.add(counter::ConfigRequests);
  mmio_answer out;
  out.trace = request.trace;
  out.requester = request.requester;
  out.tag = request.tag;
  out.length = DwordBytes;
  const std::optional<std::uint16_t> function = space_.find(request.destination, request.local);
  if (!function) {
    // Whoever asks for a function that is not there has done nothing wrong.
    out.status = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
    return out;
  }
  out.function = *function;
  if (space_.resetting(*function)) {
    out.status = static_cast<std::uint8_t>(completion_status::ConfigRetry);
    return out;
  }
  if (request.write) {
    out.without_data = true;
    apply(request, *function, t);
    return out;
  }
  const std::uint32_t value = space_.read(*function, request.offset);
  for (unsigned i = 0; i < DwordBytes; ++i) {
    out.data[i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return out;
}

void pcie_endpoint::apply(const config_request& request, std::uint16_t function, cycle_t t) {
  bool changed =
      request.local && space_.capture_bus(static_cast<std::uint8_t>(request.destination >> 8));
  const std::uint16_t vfs_before = space_.map().vfs;
  const config_space::effects done =
      space_.write(function, request.offset, request.value, request.enables);
  changed = changed || done.map;
  if (done.reset) {
    start_reset(*done.reset, t);
    changed = true;
  }
  if (done.reset == 0) {
    give_up_icm(t);
  }
  // VF Enable cleared, or the PF's reset: the VFs end as by a reset of their own.
  if (done.vfs_vanishing || done.reset == 0) {
    for (std::uint16_t vf = 1; vf <= vfs_before; ++vf) {
      take_away(vf, t);
    }
  }
  if (changed) {
    publish_map(t);
    wake(t + 1);
  }
}

/// To the other stages, and what of it concerns commands and interrupts.
void pcie_endpoint::publish_map(cycle_t t) {
  function_map now = space_.map();
  core_.set_vfs(now.vfs);
  for (std::uint16_t i = 0; i < now.functions.size(); ++i) {
    const function_enables& is = now.functions[i];
    const function_enables& was = map_.functions[i];
    if (is.msix_enable != was.msix_enable || is.msix_mask != was.msix_mask) {
      msix_.set_control(i, is.msix_enable, is.msix_mask);
    }
  }
  map_ = now;
  ports_.functions.write(t, std::move(now));
}

/// One command a cycle, so that a write of the host never waits.
void pcie_endpoint::tell_msix(cycle_t t) {
  if (!msix_.untold()) {
    return;
  }
  if (!ports_.msix.has_credit(t)) {
    ports_.msix.ask_credit(t);
    return;
  }
  ports_.msix.push(t, 1, msix_.tell());
  if (msix_.untold()) {
    wake(t + 1);
  }
}

// Reset

void pcie_endpoint::start_reset(std::uint16_t function, cycle_t t) {
  if (space_.resetting(function)) {
    return;  // it has begun already
  }
  space_.begin_reset(function);
  resets_.push_back({.function = function});
  // Its commands come to nothing; one that is being served ends without an answer.
  queue_.reset(function);
  functions_[function] = {};
  msix_.reset(function);
  // Its port goes down at once: nothing is acknowledged whose data would be dropped.
  core_.stop(function);
  ports_.vports.write(t, core_.vports());
}

void pcie_endpoint::take_away(std::uint16_t vf, cycle_t t) {
  start_reset(vf, t);
  core_.take_away(vf);
  // A reset that has got so far already goes back to that: there is more to take now.
  for (function_reset& reset : resets_) {
    reset.torn = reset.torn && reset.function != vf;
  }
}

/// The memory of the contexts is the host's again: the chip must not write there any more.
void pcie_endpoint::give_up_icm(cycle_t t) {
  icm_base_ = 0;
  if (ports_.icm_base != nullptr) {
    ports_.icm_base->write(t, 0);
  }
}

/// If the next thing to serve is to take away an object of a function that is being reset, does so
/// in the tables: what is left to do are the core's effects.
bool pcie_endpoint::tear_down(cycle_t t) {
  if (!teardown_turn_ && queue_.has_command()) {
    return false;
  }
  for (function_reset& reset : resets_) {
    if (reset.torn) {
      continue;
    }
    if (core_.teardown_step(reset.function)) {
      tearing_ = true;
      publish(t);
      teardown_turn_ = false;
      return true;
    }
    reset.torn = true;
    const auto quiet = static_cast<ps_t>(context_.params.nic.flr_quiesce_ns) * PsPerNs;
    reset.until = context_.clock.entry(time_of(t + 1) + quiet);
    wake(reset.until);
  }
  return false;
}

void pcie_endpoint::finish_teardown(cycle_t t) {
  tearing_ = false;
  phase_ = phase::idle;
  wake(t + 1);
}

void pcie_endpoint::end_resets(cycle_t t) {
  const auto over = [t](const function_reset& each) { return each.torn && each.until <= t; };
  const std::size_t before = resets_.size();
  for (const function_reset& each : resets_) {
    if (over(each)) {
      space_.end_reset(each.function);
      nic_.counters.reset(each.function);
      nic_.counters.add_for(each.function, counter::FunctionResets);
    }
  }
  std::erase_if(resets_, over);
  for (const function_reset& each : resets_) {
    if (each.torn) {
      wake(each.until);
    }
  }
  if (resets_.size() != before) {
    publish_map(t);
  }
}

}  // namespace carillon
