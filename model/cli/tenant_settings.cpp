#include "cli/tenant_settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>

#include "cli/scenario_loader.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

using origins = std::map<std::string, std::string, std::less<>>;

constexpr std::uint64_t Many = std::uint64_t{1} << 40;
constexpr std::uint64_t MaxMessage = std::uint64_t{1} << 31;
constexpr std::uint32_t WqeBlockBytes = 64;

std::uint32_t small(const setting& value, std::uint64_t min, std::uint64_t max) {
  return static_cast<std::uint32_t>(value.integer(min, max));
}

std::uint32_t mtu_of(const setting& value) {
  const std::uint32_t bytes = small(value, 1, Many >> 9);
  constexpr std::array Sizes = {256U, 512U, 1024U, 2048U, 4096U};
  if (std::find(Sizes.begin(), Sizes.end(), bytes) == Sizes.end()) {
    value.fail(fmt::format("{} is no path MTU; allowed: 256, 512, 1024, 2048 or 4096", bytes));
  }
  return bytes;
}

struct tenant_key {
  const char* name;
  void (*apply)(tenant_table&, const setting&);
};

constexpr tenant_key TenantKeys[] = {
    {"count", [](tenant_table& t, const setting& v) { t.count = small(v, 1, MaxTenants); }},
    {"opcode",
     [](tenant_table& t, const setting& v) {
       t.opcode = static_cast<work_opcode>(
           v.choice({to_string(work_opcode::write), to_string(work_opcode::write_imm),
                     to_string(work_opcode::send), to_string(work_opcode::send_imm)}));
     }},
    {"size", [](tenant_table& t, const setting& v) { t.size = small(v, 0, MaxMessage); }},
    {"messages", [](tenant_table& t, const setting& v) { t.messages = v.integer(1, Many); }},
    {"warmup", [](tenant_table& t, const setting& v) { t.warmup = v.integer(0, Many); }},
    {"outstanding", [](tenant_table& t, const setting& v) { t.outstanding = small(v, 1, 32768); }},
    {"qps", [](tenant_table& t, const setting& v) { t.qps = small(v, 1, 4096); }},
    {"queue_depth",
     [](tenant_table& t, const setting& v) {
       const std::uint32_t depth = small(v, 1, 32768);
       if (!std::has_single_bit(depth)) {
         v.fail(fmt::format("{} is not a power of two; the nearest are {} and {}", depth,
                            std::bit_floor(depth), std::bit_ceil(depth)));
       }
       t.queue_depth = depth;
     }},
    {"submit",
     [](tenant_table& t, const setting& v) {
       t.submit = static_cast<submit_mode>(
           v.choice({to_string(submit_mode::doorbell), to_string(submit_mode::blueflame)}));
     }},
    {"priority", [](tenant_table& t,
                    const setting& v) { t.priority = static_cast<std::uint8_t>(small(v, 0, 7)); }},
    {"mtu", [](tenant_table& t, const setting& v) { t.mtu = mtu_of(v); }},
    {"peer_mtu", [](tenant_table& t, const setting& v) { t.peer_mtu = mtu_of(v); }},
    {"peer",
     [](tenant_table& t, const setting& v) {
       t.peer = static_cast<tenant_peer>(
           v.choice({to_string(tenant_peer::host1), to_string(tenant_peer::loopback)}));
     }},
    {"mistake",
     [](tenant_table& t, const setting& v) {
       t.mistake = static_cast<tenant_mistake>(
           v.choice({to_string(tenant_mistake::none), to_string(tenant_mistake::foreign_pd),
                     to_string(tenant_mistake::unregistered_memory),
                     to_string(tenant_mistake::foreign_qp)}));
     }},
    {"background", [](tenant_table& t, const setting& v) { t.background = v.boolean(); }},
};

void apply_key(tenant_table& table, std::string_view key, const setting& value) {
  std::vector<std::string> known;
  for (const tenant_key& each : TenantKeys) {
    if (key == each.name) {
      each.apply(table, value);
      return;
    }
    known.emplace_back(each.name);
  }
  value.fail("unknown key" + suggestion(key, known));
}

tenant_spec resolved(const workload_spec& workload, const tenant_table& table) {
  tenant_spec one;
  one.opcode = table.opcode.value_or(workload.opcode);
  one.size = table.size.value_or(workload.size);
  one.messages = table.messages.value_or(workload.messages);
  one.warmup = table.warmup.value_or(workload.warmup);
  one.outstanding = table.outstanding.value_or(workload.outstanding);
  one.qps = table.qps.value_or(workload.qps);
  one.queue_depth = table.queue_depth.value_or(workload.queue_depth);
  one.submit = table.submit.value_or(workload.submit);
  workload_spec probe = workload;
  probe.opcode = one.opcode;
  probe.size = one.size;
  one.inlined = probe.inlined(inline_limit(one.opcode));
  one.priority = table.priority;
  one.mtu = table.mtu;
  one.peer_mtu = table.peer_mtu;
  one.peer = table.peer;
  one.mistake = table.mistake;
  one.background = table.background;
  return one;
}

std::uint32_t blocks_of(const workload_spec& workload, const tenant_spec& tenant) {
  workload_spec probe = workload;
  probe.opcode = tenant.opcode;
  probe.size = tenant.size;
  return (wqe_bytes(probe) + WqeBlockBytes - 1) / WqeBlockBytes;
}

}  // namespace

const char* to_string(tenant_peer peer) {
  constexpr std::array Names = {"host1", "loopback"};
  return Names[static_cast<std::size_t>(peer)];
}

const char* to_string(tenant_mistake mistake) {
  constexpr std::array Names = {"none", "foreign_pd", "unregistered_memory", "foreign_qp"};
  return Names[static_cast<std::size_t>(mistake)];
}

std::vector<tenant_spec> tenants_of(const workload_spec& workload) {
  std::vector<tenant_spec> all;
  for (const tenant_table& table : workload.tenant) {
    all.insert(all.end(), table.count, resolved(workload, table));
  }
  if (all.size() < workload.tenants) {
    all.resize(workload.tenants, resolved(workload, tenant_table{}));
  }
  return all;
}

void read_tenants(const std::string& file, const setting& list, std::vector<tenant_table>& tenants,
                  origins& origin) {
  if (list.node().is_table()) {
    list.fail("is one table, but tenants are a list: [[tenant]]");
  }
  tenants.clear();
  for (const toml::node& each : list.array()) {
    const std::string path = fmt::format("tenant.{}", tenants.size());
    const setting table(position(file, each.source()), path, each);
    tenant_table tenant;
    each_key(file, table.table(), path, [&](std::string_view key, const setting& value) {
      apply_key(tenant, key, value);
      origin[value.key()] = value.where();
    });
    origin[path] = table.where();
    tenants.push_back(tenant);
  }
}

void check_tenants(const run_point& point, const origins& origin, const std::string& fallback) {
  const workload_spec& w = point.workload;
  const std::vector<tenant_spec> tenants = tenants_of(w);
  if (tenants.empty()) {
    return;
  }
  const auto require = [&](bool holds, const std::string& key, const std::string& problem) {
    if (!holds) {
      const auto found = origin.find(key);
      throw config_error(
          fmt::format("{}: {}{}: {}", found != origin.end() ? found->second : fallback, key,
                      point.label.empty() ? "" : " (point " + point.label + ")", problem));
    }
  };
  require(w.kind == workload_kind::write_lat || w.kind == workload_kind::stream, "workload.kind",
          fmt::format("tenants have write_lat or stream, not {}", to_string(w.kind)));
  require(!w.verify, "workload.verify", "the scoreboard judges the bytes of tenants");
  require(!w.both_directions, "workload.directions", "a tenant sends in one direction");
  require(w.background.qps == 0, "workload.background",
          "a tenant with `background = true` is the background of others");
  require(w.batch == 1, "workload.batch", "tenants post one WQE a doorbell");
  require(tenants.size() <= MaxTenants, "workload.tenants",
          fmt::format("{} tenants; at most {}", tenants.size(), MaxTenants));
  require(std::any_of(tenants.begin(), tenants.end(),
                      [](const tenant_spec& each) { return !each.background; }),
          "tenant.0.background", "nobody is measured: all tenants are background");
  std::size_t number = 0;
  for (std::size_t table = 0; number < tenants.size(); ++table) {
    const bool given = table < w.tenant.size();
    const tenant_spec& each = tenants[number];
    const std::string path = given ? fmt::format("tenant.{}", table) : std::string("workload");
    const std::uint32_t blocks = blocks_of(w, each);
    const std::uint64_t needed = std::uint64_t{blocks} * each.outstanding;
    require(needed <= each.queue_depth, path + ".outstanding",
            fmt::format("{} requests of {} x 64 B need {} entries of the send queue; queue_depth "
                        "is {}",
                        each.outstanding, blocks, needed, each.queue_depth));
    require(each.mistake != tenant_mistake::foreign_qp || tenants.size() > 1, path + ".mistake",
            "foreign_qp needs another tenant, whose QP it is");
    require(!each.background || !consumes_receive(each.opcode), path + ".opcode",
            fmt::format("a background tenant has no end that its receiver could know: {}, not {}",
                        to_string(work_opcode::write), to_string(each.opcode)));
    require(
        !w.wait_for_function || (!each.background && each.mistake != tenant_mistake::foreign_qp),
        path + (each.background ? ".background" : ".mistake"),
        "with workload.when_exhausted = \"wait\" others may never have a function");
    number += given ? w.tenant[table].count : tenants.size();
  }
}

}  // namespace carillon
