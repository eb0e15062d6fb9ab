#include "cli/tenant_workload.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "cli/summary.h"
#include "cli/tenant_workload_parts.h"
#include "common/error.h"
#include "common/memory_key.h"

namespace carillon {

namespace {

constexpr std::uint32_t mtu_bytes(mtu_code code) {
  return 128U << static_cast<unsigned>(code);
}

}  // namespace

unsigned tenant_workload::cores(const workload_spec& spec) {
  const std::vector<tenant_spec> tenants = tenants_of(spec);
  const bool loopback = std::any_of(tenants.begin(), tenants.end(), [](const tenant_spec& each) {
    return each.peer == tenant_peer::loopback;
  });
  return FirstTenantCore + static_cast<unsigned>(tenants.size()) * (loopback ? 2 : 1);
}

tenant_workload::tenant_workload(system_model& system, const run_point& point)
    : system_(system), point_(point), spec_(point.workload) {
  for (unsigned i = 0; i < hosts_.size(); ++i) {
    hosts_[i] = std::make_unique<host_side>(i, system.at(i), point.devices[i]);
  }
  const std::vector<tenant_spec> specs = tenants_of(spec_);
  const auto count = static_cast<unsigned>(specs.size());
  for (unsigned i = 0; i < count; ++i) {
    auto made = std::make_unique<tenant>();
    made->index = i;
    made->spec = specs[i];
    const bool loopback = specs[i].peer == tenant_peer::loopback;
    made->ends[0].host = hosts_[0].get();
    made->ends[0].sends = true;
    made->ends[0].core = &system.at(0).host.core(FirstTenantCore + i);
    made->ends[1].host = hosts_[loopback ? 0 : 1].get();
    made->ends[1].core =
        &made->ends[1].host->home.host.core(FirstTenantCore + i + (loopback ? count : 0));
    measured_running_ += specs[i].background ? 0 : 1;
    waiting_.push_back(made.get());
    tenants_.push_back(std::move(made));
  }
  system_.context.trace.observe(*this);
}

tenant_workload::~tenant_workload() {
  for (const auto& host : hosts_) {
    machine& cores = host->home.host;
    for (unsigned i = 0; i < cores.cores(); ++i) {
      cores.core(i).abandon();
    }
  }
  system_.context.trace.close();
}

// Who runs when
// -----------------------------------------------------------------------------------------------

void tenant_workload::start() {
  for (auto& host : hosts_) {
    ++running_;
    host->home.host.core(AdministratorCore).run(administrator_program(*host), [this, &host] {
      --running_;
      run_errand(*host);
    });
  }
}

task<> tenant_workload::administrator_program(host_side& host) {
  cpu& core = host.home.host.core(AdministratorCore);
  co_await host.functions.open(core);
  co_await core.meet(administrators_);
  if (host.index == 0) {
    start_tenants();
  }
}

/// A tenant that can never have its functions is started, too: it finds out.
bool tenant_workload::fits(const tenant& who) const {
  std::array<unsigned, 2> needed{};
  for (const end& each : who.ends) {
    ++needed[each.host->index];
  }
  bool possible = true;
  bool now = true;
  for (const auto& host : hosts_) {
    const unsigned capacity = host->pool.capacity();
    possible = possible && needed[host->index] <= capacity;
    now = now && host->claimed + needed[host->index] <= capacity;
  }
  return now || !possible;
}

void tenant_workload::claim(const tenant& who, bool take) {
  for (const end& each : who.ends) {
    each.host->claimed += take ? 1U : ~0U;
  }
}

void tenant_workload::start_tenants() {
  std::vector<tenant*> starting;
  while (!waiting_.empty() && (!spec_.wait_for_function || fits(*waiting_.front()))) {
    starting.push_back(waiting_.front());
    claim(*waiting_.front(), true);
    waiting_.pop_front();
  }
  if (together_ == nullptr) {
    together_ = std::make_unique<rendezvous>(static_cast<unsigned>(starting.size()));
    for (tenant* each : starting) {
      each->together = true;
    }
  }
  for (tenant* each : starting) {
    start_tenant(*each);
  }
}

void tenant_workload::start_tenant(tenant& who) {
  for (std::size_t i = 0; i < who.ends.size(); ++i) {
    ++running_;
    ++who.running;
    who.ends[i].core->run(tenant_program(who, who.ends[i], who.ends[1 - i]),
                          [this, &who] { end_finished(who); });
  }
}

void tenant_workload::end_finished(tenant& who) {
  --running_;
  if (--who.running == 0 && spec_.wait_for_function) {
    claim(who, false);
    start_tenants();
  }
}

void tenant_workload::run_errand(host_side& host) {
  cpu& core = host.home.host.core(AdministratorCore);
  if (core.busy() || host.errands.empty()) {
    return;
  }
  const std::function<task<>()> errand = std::move(host.errands.front());
  host.errands.pop_front();
  ++running_;
  core.run(errand(), [this, &host] {
    --running_;
    run_errand(host);
  });
}

task<> tenant_workload::tenant_program(tenant& who, end& mine, end& theirs) {
  cpu& core = *mine.core;
  co_await set_up(who, mine);
  co_await core.meet(who.created);
  if (!mine.failed && !theirs.failed) {
    co_await connect(who, mine, theirs);
  }
  co_await core.meet(who.connected);
  if (mine.sends && who.together) {
    co_await core.meet(*together_);
  }
  if (!mine.failed && !theirs.failed) {
    if (mine.sends) {
      co_await send(who, mine, theirs);
    } else if (consumes_receive(who.spec.opcode)) {
      co_await receive(who, mine);
    }
  }
  if (mine.sends && !who.spec.background) {
    --measured_running_;
  }
  co_await core.meet(who.done);
  if (who.first_failure) {
    co_await ask(who, mine);
  }
  co_await core.meet(who.asked);
  if (mine.sends && who.first_failure) {
    who.first_failure->mtu = mine.mtu;
    who.first_failure->peer_mtu = theirs.mtu;
    symptoms_.push_back(*who.first_failure);
  }
  if (spec_.wait_for_function) {
    co_await tear_down(mine);
  }
}

std::string tenant_workload::label_of(const tenant& who, const end& mine) const {
  std::string place = mine.host->home.name;
  if (mine.leased) {
    const std::uint16_t function = mine.lease.function;
    place = fmt::format("{} of {}", function == 0 ? "PF" : fmt::format("VF {}", function - 1),
                        mine.host->home.name);
  }
  return fmt::format("tenant {} ({})", who.index, place);
}

void tenant_workload::fail_set_up(const tenant& who, end& mine, symptom what) {
  mine.failed = true;
  what.where = label_of(who, mine);
  symptoms_.push_back(std::move(what));
}

task<> tenant_workload::set_up(tenant& who, end& mine) {
  try {
    mine.lease = co_await mine.host->pool.acquire(*mine.core);
    mine.leased = true;
    co_await create(who, mine);
  } catch (const vf_exhausted& none) {
    symptom each;
    each.what = symptom::kind::exhausted;
    each.text = none.what();
    fail_set_up(who, mine, std::move(each));
  } catch (const command_refused& refused) {
    fail_set_up(who, mine, refusal_of(refused));
  }
}

/// What the device says about the end of a tenant whose work failed.
task<> tenant_workload::ask(tenant& who, end& mine) {
  cpu& core = *mine.core;
  if (mine.sends) {
    device& adapter = *mine.lease.adapter;
    cmd_in head;
    head.opcode = command_opcode::QueryMkey;
    head.number = mine.source.index();
    std::array<std::uint8_t, cmd_in::Size> input{};
    head.pack(input.data());
    std::array<std::uint8_t, query_mkey_out::Size> output{};
    const command_reply reply = co_await adapter.try_command(core, input, output);
    if (reply.status == command_status::Ok) {
      const mkc key = query_mkey_out::unpack(output.data()).memory_key_mkey_entry;
      if (key.free == 0) {
        who.first_failure->key_pd = key.pd;
      }
    }
  }
  const qpc seen = co_await mine.qps.front()->query(core);
  mine.mtu = mtu_bytes(seen.mtu);
  if (mine.sends) {
    who.first_failure->qp_pd = seen.pd;
    who.first_failure->asked = true;
  }
}

/// A VF is reset, whatever is in it; a share is given back piece by piece.
task<> tenant_workload::tear_down(end& mine) {
  if (!mine.leased) {
    co_return;
  }
  cpu& core = *mine.core;
  device& adapter = *mine.lease.adapter;
  const bool piecemeal = mine.host->pool.shared();
  if (piecemeal) {
    for (const auto& qp : mine.qps) {
      co_await qp->destroy(core);
    }
  }
  mine.qps.clear();
  for (auto* cq : {&mine.send_cq, &mine.receive_cq}) {
    if (*cq != nullptr && piecemeal) {
      co_await adapter.command(core, command_opcode::DestroyCq, (*cq)->cqn());
    }
    cq->reset();
  }
  for (const memory_region& region : {mine.source, mine.target}) {
    if (piecemeal && region.key != 0) {
      co_await adapter.deregister_memory(core, region);
    }
  }
  co_await mine.host->pool.release(core, mine.lease);
  mine.leased = false;
}

// What is found
// -----------------------------------------------------------------------------------------------

void tenant_workload::check_finished() const {
  if (running_ == 0 && waiting_.empty()) {
    return;
  }
  std::string who;
  for (const auto& each : tenants_) {
    if (each->running != 0) {
      const end& sender = each->ends[0];
      std::uint64_t completed = 0;
      for (const std::uint64_t count : sender.completed) {
        completed += count;
      }
      who += fmt::format(" tenant {} has {} of {} messages,", each->index, completed, each->posted);
    }
  }
  CARILLON_CHECK(false, "{} programs have not come to their end and nothing is left to happen:{}{}",
                 running_, who, state_of_affairs(system_));
}

tenant_workload::tenant* tenant_workload::owner_of(const message_record& message) const {
  for (const auto& host : hosts_) {
    if (message.info.node == host->home.host.name()) {
      const std::uint32_t qpn = message.info.qpn;
      return qpn < host->by_qpn.size() ? host->by_qpn[qpn] : nullptr;
    }
  }
  return nullptr;
}

bool tenant_workload::measured(const message_record& message) const {
  const tenant* who = owner_of(message);
  return who != nullptr && !who->spec.background &&
         message.time_of(milestone::post) >= who->measured_from;
}

std::uint64_t tenant_workload::measured_messages() const {
  std::uint64_t sum = 0;
  for (const auto& each : tenants_) {
    sum += each->spec.background ? 0 : each->measured_posts;
  }
  return sum;
}

void tenant_workload::on_message(const message_record& message) {
  tenant* who = owner_of(message);
  if (who == nullptr || message.time_of(milestone::post) < who->measured_from) {
    return;
  }
  ++who->messages;
  who->rate.count(message);
  for (std::size_t i = 0; i < LatencyPathCount; ++i) {
    const latency_path& path = LatencyPaths[i];
    if (message.reached(path.from) && message.reached(path.to) &&
        message.time_of(path.from) <= message.time_of(path.to)) {
      who->latency[i].add(message.time_of(path.to) - message.time_of(path.from));
    }
  }
}

void tenant_workload::report(run_facts& facts) const {
  for (const auto& each : tenants_) {
    tenant_facts one;
    one.spec = each->spec;
    for (std::size_t i = 0; i < each->ends.size(); ++i) {
      const end& from = each->ends[i];
      one.host[i] = from.host->index;
      if (from.lease.adapter != nullptr) {
        one.function[i] = from.lease.function;
      }
    }
    one.messages = each->messages;
    one.failures = each->failures;
    one.latency = each->latency;
    one.rate = each->rate;
    facts.tenants.push_back(std::move(one));
  }
  for (const auto& host : hosts_) {
    node_functions of;
    of.node = host->home.adapter.shared().name;
    of.host = host->home.name;
    of.reused = host->pool.reused();
    for (std::uint16_t i = 0; i < host->functions.vfs(); ++i) {
      of.partitions.push_back(host->functions.partition(i));
    }
    of.counters = &host->home.adapter.counters();
    facts.functions.push_back(std::move(of));
  }
  facts.symptoms = symptoms_;
}

}  // namespace carillon
