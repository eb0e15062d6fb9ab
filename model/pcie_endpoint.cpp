#include "pcie_endpoint.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "gen/bytes.h"
#include "gen/stages.h"
#include "gen/tlp.h"

namespace carillon {

namespace {

namespace spec = stage_spec::pcie_endpoint;

constexpr unsigned DwordBytes = 4;

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
  limits.mac = mac;
  limits.priority = narrow<std::uint8_t>(params.wire.priority);
  limits.dscp = narrow<std::uint8_t>(params.wire.dscp);
  return limits;
}

/// The registers of a block at reset, and what each dword allows.
void lay_out(std::string_view block, std::size_t size, std::vector<std::uint8_t>& image,
             std::vector<register_access>& access) {
  image.assign(size, 0);
  access.assign(size / DwordBytes, register_access::Ro);
  for (const register_desc& each : RegisterTable) {
    if (block != each.block) {
      continue;
    }
    for (std::uint32_t at = each.offset; at < each.offset + each.bytes; at += DwordBytes) {
      access[at / DwordBytes] = each.access;
    }
    if (!each.window) {
      for (std::uint32_t i = 0; i < each.bytes; ++i) {
        image[each.offset + i] =
            static_cast<std::uint8_t>(each.reset >> (8 * (each.bytes - 1 - i)));
      }
    }
  }
}

}  // namespace

pcie_endpoint::pcie_endpoint(const sc_core::sc_module_name& name, nic_shared& nic, ports connected,
                             std::uint64_t mac)
    : stage(name, nic.context, "pcie_endpoint"),
      nic_(nic),
      ports_(std::move(connected)),
      core_(limits_of(nic.context.params, mac), &nic.counters),
      functions_(static_cast<std::size_t>(nic.context.params.nic.total_vfs) + 1),
      space_(shape_of(nic.context.params)) {
  for (std::uint16_t i = 0; i < functions_.size(); ++i) {
    lay_out_registers(i);
  }
  lay_out("bar4", bar4::Size, bar4_, bar4_access_);
  bar4::link_status_value link;
  link.width = narrow<std::uint8_t>(nic.context.params.pcie.width);
  link.generation = narrow<std::uint8_t>(nic.context.params.pcie.generation);
  bytes::store_be<4>(&bar4_[bar4::LinkStatus], link.pack());

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
  watch(ports_.writes, {});
  watch(ports_.reads, {blocker::credit(ports_.answers)});
  watch(ports_.lines, {});
  ports_.configs.to(*this, site());
  watch(ports_.configs, {blocker::arbiter(ports_.reads), blocker::credit(ports_.answers)});
  for (stream<pcie_error>* errors : ports_.errors) {
    errors->to(*this, site());
    watch(*errors, {});
  }
}

void pcie_endpoint::lay_out_registers(std::uint16_t function) {
  lay_out("bar0", bar0::Size, functions_[function].bar0, bar0_access_);
  bytes::store_be<4>(&functions_[function].bar0[bar0::FunctionNumber], function);
}

vport_table pcie_endpoint::reset_vports(const parameters& params, std::uint64_t mac) {
  std::vector<vport> ports(static_cast<std::size_t>(params.nic.total_vfs) + 1);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].enabled = true;
    ports[i].mac = mac + i;
    ports[i].spoof_check = false;
  }
  return vport_table(std::move(ports));
}

// Registers

/// Brings the registers that change by themselves up to date.
void pcie_endpoint::refresh(std::uint16_t function, cycle_t t) {
  function_registers& mine = functions_[function];
  std::uint8_t* image = mine.bar0.data();
  bytes::store_be<4>(image + bar0::Health, bar0::health_value{.count = served_}.pack());
  bytes::store_be<4>(image + bar0::InitState, core_.init_state(function));
  bytes::store_be<8>(image + bar0::Timer, t);
  bar0::cmd_status_value status;
  status.status = static_cast<std::uint8_t>(mine.last.status);
  status.done = mine.done ? 1 : 0;
  status.busy = mine.busy ? 1 : 0;
  bytes::store_be<4>(image + bar0::CmdStatus, status.pack());
  bytes::store_be<4>(image + bar0::CmdSyndrome, static_cast<std::uint32_t>(mine.last.syndrome));
  core_.capabilities(function).pack(image + bar0::HcaCap);
  core_.vport(function).pack(image + bar0::HcaNicVportContext);
}

bool pcie_endpoint::read_register(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                                  std::span<std::uint8_t> into, cycle_t t) {
  if (function >= functions_.size() || (bar == 4 && function != 0) || space_.resetting(function)) {
    return false;
  }
  const bool registers = bar == 0;
  const std::vector<std::uint8_t>& image = registers ? functions_[function].bar0 : bar4_;
  const std::vector<register_access>& access = registers ? bar0_access_ : bar4_access_;
  if (offset + into.size() > image.size()) {
    return false;
  }
  if (registers) {
    refresh(function, t);
  }
  for (std::size_t i = 0; i < into.size(); ++i) {
    const std::uint64_t at = offset + i;
    into[i] = access[at / DwordBytes] == register_access::Wo ? 0 : image[at];
  }
  return true;
}

bool pcie_endpoint::debug_read(std::uint16_t function, std::uint8_t bar, std::uint64_t offset,
                               std::span<std::uint8_t> into) {
  return (bar == 0 || bar == 4) && read_register(function, bar, offset, into, context_.clock.now());
}

void pcie_endpoint::answer(const mmio_read& access, cycle_t t) {
  mmio_answer out;
  out.trace = access.trace;
  out.function = access.function;
  out.requester = access.requester;
  out.tag = access.tag;
  out.length = access.length;
  out.lower_address = static_cast<std::uint8_t>(access.offset & 0x7f);
  const bool shape = (access.length == 4 || access.length == 8) && access.offset % DwordBytes == 0;
  if (!shape || !read_register(access.function, access.bar, access.offset,
                               std::span(out.data).first(access.length), t)) {
    out.status = static_cast<std::uint8_t>(completion_status::UnsupportedRequest);
    nic_.counters.add(access.bar == 4 && access.function != 0 ? counter::Bar4Denied
                                                              : counter::RegisterDenied);
  }
  ports_.answers.push(t, spec::RegisterRead, out);
}

void pcie_endpoint::write(const mmio_write& access, cycle_t t) {
  if (access.function >= functions_.size() || (access.bar == 4 && access.function != 0) ||
      space_.resetting(access.function)) {
    nic_.counters.add(access.bar == 4 ? counter::Bar4Denied : counter::RegisterDenied);
    return;
  }
  function_registers& mine = functions_[access.function];
  const bool registers = access.bar == 0;
  std::vector<std::uint8_t>& image = registers ? mine.bar0 : bar4_;
  const std::vector<register_access>& allowed = registers ? bar0_access_ : bar4_access_;
  bool denied = access.offset % DwordBytes != 0 || access.length % DwordBytes != 0 ||
                access.length > access.data.size() || access.offset + access.length > image.size();
  for (std::uint64_t at = access.offset; !denied && at < access.offset + access.length;
       at += DwordBytes) {
    denied = allowed[at / DwordBytes] == register_access::Ro;
  }
  const bool command_input =
      registers && access.offset >= bar0::CmdIn && access.offset < bar0::CmdIn + bar0::CmdInBytes;
  if (denied || (command_input && mine.busy)) {
    nic_.counters.add(counter::RegisterDenied);
    return;
  }
  if (registers && access.offset == bar0::CmdDoorbell) {
    ring(access.function, static_cast<std::uint32_t>(bytes::load_be<4>(access.data.data())), t);
    return;
  }
  std::memcpy(image.data() + access.offset, access.data.data(), access.length);
}

void pcie_endpoint::ring(std::uint16_t function, std::uint32_t input_bytes, cycle_t t) {
  function_registers& mine = functions_[function];
  if (mine.busy) {
    nic_.counters.add(counter::RegisterDenied);
    return;
  }
  mine.busy = true;
  mine.done = false;
  mine.input_bytes = input_bytes;
  rung_.push_back(function);
  wake(t + 1);
}

// Commands

std::span<const std::uint8_t> pcie_endpoint::input_of(std::uint16_t function) const {
  const function_registers& mine = functions_[function];
  // A length beyond the window is passed on as one that the core refuses.
  const std::size_t length = mine.input_bytes <= bar0::CmdInBytes ? mine.input_bytes : 0;
  return std::span(mine.bar0).subspan(bar0::CmdIn, length);
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
    core_.observe(line.kind, line.index, line.data);
    ++answered_;
  }
  configure(t);
  serve(t);
}

void pcie_endpoint::serve(cycle_t t) {
  switch (phase_) {
    case phase::idle:
      if (tear_down(t)) {
        phase_ = phase::serving;
        until_ = t + 1;
        wake(until_);
      } else if (!rung_.empty()) {
        phase_ = phase::serving;
        until_ = t + static_cast<cycle_t>(context_.params.nic.command_cycles);
        wake(until_);
      }
      return;
    case phase::serving:
      if (t < until_) {
        wake(until_);
        return;
      }
      wanted_ = tearing_ ? core_.lines_wanted(tearing_->function, tearing_->input)
                         : core_.lines_wanted(rung_.front(), input_of(rung_.front()));
      requested_ = 0;
      answered_ = 0;
      phase_ = phase::reading;
      [[fallthrough]];
    case phase::reading:
      if (!read_lines(t)) {
        return;
      }
      execute();
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
        tearing_ ? finish_teardown(t) : finish(t);
      }
      return;
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

void pcie_endpoint::execute() {
  if (tearing_) {
    tearing_->execute(core_);
    return;
  }
  const std::uint16_t function = rung_.front();
  function_registers& mine = functions_[function];
  const auto output = std::span(mine.bar0).subspan(bar0::CmdOut).first<command_core::WindowBytes>();
  mine.last = core_.execute(function, input_of(function), output);
  nic_.counters.add(mine.last.status == command_status::Ok ? counter::Commands
                                                           : counter::CommandErrors);
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

void pcie_endpoint::finish(cycle_t t) {
  function_registers& mine = functions_[rung_.front()];
  mine.busy = false;
  mine.done = true;
  ++served_;
  rung_.pop_front();
  phase_ = phase::idle;
  if (!rung_.empty()) {
    wake(t + 1);
  }
}

}  // namespace carillon
