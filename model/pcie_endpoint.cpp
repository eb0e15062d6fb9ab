#include "pcie_endpoint.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/congestion.h"
#include "common/context_sizes.h"
#include "common/error.h"
#include "gen/stages.h"
#include "gen/wqe.h"

namespace carillon {

namespace {

constexpr unsigned Hop = stage_spec::dma_engine::RequestHop;
constexpr std::uint64_t CommandEvent = std::uint64_t{1}
                                       << static_cast<unsigned>(event_type::Command);

template <class T>
constexpr T narrow(std::int64_t value) {
  return static_cast<T>(value);
}

command_limits limits_of(const parameters& params, std::uint64_t mac) {
  command_limits limits;
  limits.functions = narrow<std::uint16_t>(params.nic.total_vfs + 1);
  limits.uar_pages = narrow<std::uint16_t>(params.nic.uar_pages);
  limits.log_max_qp = narrow<std::uint8_t>(params.nic.log_max_qp);
  limits.log_max_cq = narrow<std::uint8_t>(params.nic.log_max_cq);
  limits.log_max_eq = narrow<std::uint8_t>(params.nic.log_max_eq);
  limits.log_max_srq = narrow<std::uint8_t>(params.nic.log_max_srq);
  limits.log_max_mkey = narrow<std::uint8_t>(params.nic.log_max_mkey);
  limits.log_max_mtt_lines = narrow<std::uint8_t>(params.nic.log_max_mtt_lines);
  limits.log_max_rd_atomic = narrow<std::uint8_t>(params.nic.log_max_rd_atomic);
  limits.max_vfs = narrow<std::uint16_t>(params.nic.total_vfs);
  limits.clock_mhz = narrow<std::uint16_t>(1000000 / params.core.clock_period_ps);
  limits.link_gbps = narrow<std::uint16_t>(params.wire.rate_gbps);
  limits.port_mtu = narrow<std::uint16_t>(params.wire.ethernet_mtu);
  limits.msix_vectors = narrow<std::uint16_t>(params.nic.msix_vectors);
  if (params.nic.icm == nic_icm::HostMemory) {
    const std::uint64_t bytes = context_sizes::of(params).total_bytes();
    limits.icm_pages = narrow<std::uint32_t>((bytes + IcmPageBytes - 1) / IcmPageBytes);
  }
  limits.mac = mac;
  limits.priority = narrow<std::uint8_t>(params.wire.priority);
  limits.dscp = narrow<std::uint8_t>(params.wire.dscp);
  limits.reaction = reaction_parameters(params);
  limits.notification = notification_parameters(params);
  limits.vendor_rule = params.dcqcn.rule == dcqcn_rule::Vendor;
  if (params.dcqcn.rule != dcqcn_rule::Off) {
    constexpr unsigned RateOfGbps = 21;  // an eighth of a byte a nanosecond, 24 bits behind it
    limits.line_rate = narrow<std::uint32_t>(params.wire.rate_gbps) << RateOfGbps;
  }
  return limits;
}

command_queue::limits queue_limits(std::size_t functions) {
  return {functions, MostCommandBytes, MostCommandBytes};
}

}  // namespace

pcie_endpoint::pcie_endpoint(const sc_core::sc_module_name& name, nic_shared& nic, ports connected,
                             std::uint64_t mac)
    : stage(name, nic.context, "pcie_endpoint"),
      nic_(nic),
      ports_(std::move(connected)),
      counted_(nic.context.clock, nic.counters, std::string(this->name()) + ".counted"),
      core_(limits_of(nic.context.params, mac), &counted_.seen()),
      functions_(core_.tables().functions.size()),
      debug_(nic.context.params),
      queue_(queue_limits(functions_.size()), nic.counters),
      msix_(functions_.size(), narrow<unsigned>(nic.context.params.nic.msix_vectors)),
      space_(shape_of(nic.context.params)),
      map_(space_.map()) {
  ports_.writes.to(*this, site());
  ports_.reads.to(*this, site());
  ports_.lines.to(*this, site());
  ports_.answers.from(*this, site());
  ports_.line_reads.from(*this, site());
  ports_.line_writes.from(*this, site());
  for (stream<qp_command>* owner : ports_.owners) {
    owner->from(*this, site());
  }
  ports_.completion.from(*this, site());
  ports_.srqs.from(*this, site());
  ports_.queue_reads.from(*this, site());
  ports_.queue_data.to(*this, site());
  ports_.queue_writes.from(*this, site());
  ports_.events.from(*this, site());
  ports_.msix.from(*this, site());
  watch(ports_.writes, {});
  watch(ports_.reads, {blocker::credit(ports_.answers)});
  watch(ports_.lines, {});
  watch(ports_.queue_data, {});
  ports_.configs.to(*this, site());
  watch(ports_.configs, {blocker::arbiter(ports_.reads), blocker::credit(ports_.answers)});
  if (ports_.rates != nullptr) {
    ports_.rates->from(*this, site());
    ports_.rate_values->to(*this, site());
    watch(*ports_.rate_values, {});
  }
  for (stream<pcie_error>* errors : ports_.errors) {
    errors->to(*this, site());
    watch(*errors, {});
  }
}

vport_table pcie_endpoint::reset_vports(const parameters& params, std::uint64_t mac) {
  return command_core(limits_of(params, mac)).vports();
}

partition_table pcie_endpoint::reset_partitions(const parameters& params) {
  return command_core(limits_of(params, 0)).partitions();
}

void pcie_endpoint::evaluate(cycle_t t) {
  if (ports_.writes.takeable(t)) {
    write(ports_.writes.take(t), t);
  }
  answering_ = false;
  if (ports_.reads.takeable(t)) {
    if (ports_.answers.has_credit(t)) {
      answer(ports_.reads.take(t), t);
      answering_ = true;
    } else {
      ports_.answers.ask_credit(t);
    }
  }
  if (ports_.lines.takeable(t)) {
    const context_line line = ports_.lines.take(t);
    // Without a line (its memory did not answer) the tables keep what commands have set.
    if (line.valid) {
      core_.observe(line.kind, line.index, line.data);
    }
    ++answered_;
  }
  if (ports_.rate_values != nullptr && ports_.rate_values->takeable(t)) {
    const rate_value value = ports_.rate_values->take(t);
    core_.observe_rate(value.qpn, value.current, value.target);
  }
  configure(t);
  tell_msix(t);
  take_data(t);
  serve(t);
  fetch(t);
  deliver(t);
  tell_driver(t);
  tell_rates(t);
}

void pcie_endpoint::take_data(cycle_t t) {
  if (!ports_.queue_data.takeable(t)) {
    return;
  }
  const dma_read_done done = ports_.queue_data.take(t);
  const auto slot = static_cast<unsigned>(done.cookie);
  queue_.arrived(slot, done.status == dma_status::ok, buffers_[slot].data());
  buffers_[slot].reset();
}

void pcie_endpoint::fetch(cycle_t t) {
  if (!ports_.queue_reads.has_credit(t)) {
    ports_.queue_reads.ask_credit(t);
    return;
  }
  const auto wanted = queue_.next_read();
  if (!wanted) {
    return;
  }
  buffers_[wanted->slot] = nic_.buffers.take();
  dma_read read;
  read.function = wanted->function;
  read.address = wanted->address;
  read.length = wanted->length;
  read.into = buffers_[wanted->slot];
  read.cookie = wanted->slot;
  ports_.queue_reads.push(t, Hop, std::move(read));
  wake(t + 1);
}

void pcie_endpoint::deliver(cycle_t t) {
  if (!queue_.has_write()) {
    return;
  }
  if (const cycle_t free = ports_.queue_writes.port_free(); t + Hop < free) {
    wake(free - Hop);
    return;
  }
  if (!ports_.queue_writes.has_credit(t, beats_of(MailboxBytes))) {
    ports_.queue_writes.ask_credit(t, beats_of(MailboxBytes));
    return;
  }
  const auto due = queue_.next_write();
  dma_write write;
  write.function = due->function;
  write.address = due->address;
  write.length = static_cast<std::uint32_t>(due->bytes.size());
  write.from = nic_.buffers.take();
  std::copy(due->bytes.begin(), due->bytes.end(), write.from.data());
  const unsigned beats = beats_of(write.length);
  ports_.queue_writes.push(t, Hop, std::move(write), beats);
  wake(t + 1);
}

/// Behind the entry: completion's writes come later than ours.
void pcie_endpoint::tell_driver(cycle_t t) {
  const auto ended = queue_.next_completion();
  if (!ended) {
    return;
  }
  if (wants_command_events(ended->function)) {
    if (!ports_.events.has_credit(t)) {
      ports_.events.ask_credit(t);
      return;
    }
    async_event event;
    event.function = ended->function;
    event.kind = static_cast<std::uint8_t>(event_type::Command);
    event.number = ended->vector;
    ports_.events.push(t, Hop, event);
  }
  queue_.take_completion();
  wake(t + 1);
}

bool pcie_endpoint::wants_command_events(std::uint16_t function) const {
  const auto& eqs = core_.tables().eqs;
  return std::any_of(eqs.begin(), eqs.end(), [function](const auto& each) {
    return each.second.function == function && (each.second.event_bitmask & CommandEvent) != 0;
  });
}

void pcie_endpoint::serve(cycle_t t) {
  switch (phase_) {
    case phase::idle:
      if (tear_down(t)) {
        written_ = 0;
        phase_ = phase::writing;
        wake(t + 1);
      } else if (const auto next = queue_.next_command()) {
        slot_ = *next;
        begin(t);
      }
      return;
    case phase::serving:
      if (t < until_) {
        wake(until_);
        return;
      }
      wanted_ = core_.lines_wanted(queue_.function(slot_), queue_.input(slot_));
      requested_ = 0;
      answered_ = 0;
      phase_ = phase::reading;
      [[fallthrough]];
    case phase::reading:
      if (!read_lines(t)) {
        return;
      }
      execute(t);
      written_ = 0;
      phase_ = phase::writing;
      [[fallthrough]];
    case phase::writing:
      if (!write_lines(t)) {
        return;
      }
      told_ = 0;
      until_ = t + stage_spec::qpc_ram::Latency;
      phase_ = phase::settling;
      wake(until_);
      return;
    case phase::settling:
      if (t < until_) {
        wake(until_);
        return;
      }
      phase_ = phase::telling;
      [[fallthrough]];
    case phase::telling:
      if (tell(t)) {
        go_on(t);
      }
      return;
  }
}

void pcie_endpoint::begin(cycle_t t) {
  teardown_turn_ = true;
  phase_ = phase::serving;
  until_ = t + static_cast<cycle_t>(context_.params.nic.command_cycles);
  wake(until_);
  const std::span<const std::uint8_t> input = queue_.input(slot_);
  if (input.size() >= cmd_in::Size &&
      cmd_in::unpack(input.data()).opcode == command_opcode::QueryVportCounter) {
    counted_.take(t, until_ - 1);
  }
}

/// One line a cycle; done when the core has seen all of them.
bool pcie_endpoint::read_lines(cycle_t t) {
  if (requested_ < wanted_.size()) {
    if (!ports_.line_reads.has_credit(t)) {
      ports_.line_reads.ask_credit(t);
      return false;
    }
    ports_.line_reads.push(t, 1, wanted_[requested_]);
    ++requested_;
    if (requested_ < wanted_.size()) {
      wake(t + 1);
    }
  }
  return answered_ == wanted_.size();
}

void pcie_endpoint::execute(cycle_t t) {
  const std::uint16_t function = queue_.function(slot_);
  const command_result result = core_.execute(function, queue_.input(slot_), queue_.output(slot_));
  nic_.counters.add_for(
      function, result.status == command_status::Ok ? counter::Commands : counter::CommandErrors);
  if (space_.resetting(function)) {
    core_.stop(function);  // whatever the command made of it
  }
  publish(t);
}

/// What the PF's decisions have made of virtual ports and partitions, for the stages that keep to
/// them.
void pcie_endpoint::publish(cycle_t t) {
  if (core_.effects().vports) {
    ports_.vports.write(t, core_.vports());
  }
  if (core_.effects().partitions) {
    ports_.partitions.write(t, core_.partitions());
  }
  set_congestion();
}

/// One line a cycle; done when the RAM has taken all of them.
bool pcie_endpoint::write_lines(cycle_t t) {
  const std::vector<context_write>& lines = core_.effects().lines;
  if (written_ < lines.size()) {
    if (!ports_.line_writes.has_credit(t)) {
      ports_.line_writes.ask_credit(t);
      return false;
    }
    ports_.line_writes.push(t, 1, lines[written_]);
    ++written_;
    wake(t + 1);
    return false;
  }
  if (!ports_.line_writes.has_credit(t, ports_.line_writes.depth())) {
    ports_.line_writes.ask_credit(t, ports_.line_writes.depth());
    return false;
  }
  return true;
}

/// Done when everybody whom the command concerns has heard of it.
bool pcie_endpoint::tell(cycle_t t) {
  const command_effects& effects = core_.effects();
  if (effects.qp) {
    return tell_owners(t);
  }
  if (effects.srq) {
    return tell_one(ports_.srqs, *effects.srq, t);
  }
  return !effects.cq || tell_one(ports_.completion, *effects.cq, t);
}

/// One owner a cycle.
bool pcie_endpoint::tell_owners(cycle_t t) {
  if (told_ < ports_.owners.size()) {
    stream<qp_command>& owner = *ports_.owners[told_];
    if (!owner.has_credit(t)) {
      owner.ask_credit(t);
      return false;
    }
    owner.push(t, 1, *core_.effects().qp);
    if (told_ == 0) {
      forget_rate(*core_.effects().qp);
    }
    ++told_;
    wake(t + 1);
    return false;
  }
  for (stream<qp_command>* owner : ports_.owners) {
    if (!owner->has_credit(t, owner->depth())) {
      owner->ask_credit(t, owner->depth());
      return false;
    }
  }
  return true;
}

template <class Command>
bool pcie_endpoint::tell_one(stream<Command>& owner, const Command& command, cycle_t t) {
  const unsigned needed = told_ == 0 ? 1 : owner.depth();
  if (!owner.has_credit(t, needed)) {
    owner.ask_credit(t, needed);
    return false;
  }
  if (told_ == 0) {
    owner.push(t, 1, command);
    ++told_;
    wake(t + 1);
    return false;
  }
  return true;
}

/// A command that ends a function takes away what it has, one thing after the other.
void pcie_endpoint::go_on(cycle_t t) {
  if (tearing_) {
    finish_teardown(t);
    return;
  }
  const std::optional<std::uint16_t> ending = core_.effects().teardown;
  if (ending && core_.teardown_step(*ending)) {
    publish(t);
    written_ = 0;
    phase_ = phase::writing;
    wake(t + 1);
    return;
  }
  queue_.finish(slot_);
  phase_ = phase::idle;
  wake(t + 1);
}

}  // namespace carillon
