#include "cli/workload_settings.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "cli/scenario_loader.h"
#include "cli/tenant_settings.h"
#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint64_t MaxMessage = std::uint64_t{1} << 31;  // the transport's limit
constexpr std::uint32_t WqeControlBytes = 16;
constexpr std::uint32_t WqeRemoteBytes = 16;
constexpr std::uint32_t WqeDataBytes = 16;
constexpr std::uint32_t WqeInlineHeaderBytes = 4;
constexpr std::uint32_t LargestPostedWqe = 256;  // what one BlueFlame buffer takes
constexpr std::uint32_t WqeBlockBytes = 64;
constexpr std::uint64_t MaxCqCount = 0xffff;  // the fields of a CQ's context
constexpr std::uint64_t MaxCqPeriod = 0xfff;
constexpr std::uint64_t Many = std::uint64_t{1} << 40;

template <class Enum>
std::vector<std::string> words(std::initializer_list<Enum> values) {
  std::vector<std::string> result;
  for (const Enum value : values) {
    result.emplace_back(to_string(value));
  }
  return result;
}

const std::vector<std::string>& opcodes() {
  static const auto list =
      words({work_opcode::write, work_opcode::write_imm, work_opcode::send, work_opcode::send_imm});
  return list;
}

template <class Spec>
struct table_key {
  const char* name;
  void (*apply)(Spec&, const setting&);
};

template <class Spec, std::size_t N>
void apply_key(Spec& spec, std::string_view key, const setting& value,
               const std::array<table_key<Spec>, N>& keys) {
  for (const auto& each : keys) {
    if (key == each.name) {
      each.apply(spec, value);
      return;
    }
  }
  std::vector<std::string> names;
  for (const auto& each : keys) {
    names.emplace_back(each.name);
  }
  value.fail("unknown key" + suggestion(key, names));
}

template <class Spec, std::size_t N>
void apply_table(Spec& spec, const setting& value, const std::array<table_key<Spec>, N>& keys) {
  for (const auto& [key, node] : value.table()) {
    apply_key(spec, key.str(),
              setting(value.where(), fmt::format("{}.{}", value.key(), key.str()), node), keys);
  }
}

constexpr std::uint32_t MaxWeight = 1000;

std::uint32_t small(const setting& value, std::uint64_t min, std::uint64_t max) {
  return static_cast<std::uint32_t>(value.integer(min, max));
}

void apply_background(background_spec& background, const setting& value) {
  static const std::vector<std::string> Keys = {"qps", "opcode", "size", "outstanding"};
  for (const auto& [key, node] : value.table()) {
    const setting each(value.where(), fmt::format("{}.{}", value.key(), key.str()), node);
    if (key == "qps") {
      background.qps = small(each, 0, 4096);
    } else if (key == "opcode") {
      background.opcode = static_cast<work_opcode>(each.choice(opcodes()));
    } else if (key == "size") {
      background.size = small(each, 0, MaxMessage);
    } else if (key == "outstanding") {
      background.outstanding = small(each, 1, 32768);
    } else {
      each.fail("unknown key" + suggestion(key.str(), Keys));
    }
  }
}

void apply_weights(mixed_spec& mixed, const setting& value) {
  mixed.weights = {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < WorkOpcodes; ++i) {
    names.emplace_back(to_string(static_cast<work_opcode>(i)));
  }
  std::uint64_t sum = 0;
  for (const auto& [key, node] : value.table()) {
    const setting each(value.where(), fmt::format("{}.{}", value.key(), key.str()), node);
    const auto found = std::find(names.begin(), names.end(), key.str());
    if (found == names.end()) {
      each.fail("unknown operation" + suggestion(key.str(), names));
    }
    const std::uint32_t weight = small(each, 0, MaxWeight);
    mixed.weights[static_cast<std::size_t>(found - names.begin())] = weight;
    sum += weight;
  }
  if (sum == 0) {
    value.fail("must give at least one operation a weight");
  }
}

constexpr std::array<table_key<mixed_spec>, 10> MixedKeys = {{
    {"weights", apply_weights},
    {"service",
     [](mixed_spec& m, const setting& v) {
       m.service = static_cast<qpc_service>(v.choice({"rc", "uc", "ud"}));
     }},
    {"max_sges", [](mixed_spec& m, const setting& v) { m.max_sges = small(v, 1, 30); }},
    {"unsignaled", [](mixed_spec& m, const setting& v) { m.unsignaled = small(v, 0, 100); }},
    {"fenced", [](mixed_spec& m, const setting& v) { m.fenced = small(v, 0, 100); }},
    {"receives", [](mixed_spec& m, const setting& v) { m.receives = small(v, 1, 4096); }},
    {"shared_receives", [](mixed_spec& m, const setting& v) { m.shared_receives = v.boolean(); }},
    {"scattered", [](mixed_spec& m, const setting& v) { m.scattered = v.boolean(); }},
    {"signature", [](mixed_spec& m, const setting& v) { m.signature = v.boolean(); }},
    {"receiver_pause_ps",
     [](mixed_spec& m, const setting& v) {
       m.receiver_pause_ps = v.integer(1, std::uint64_t{1} << 40);
     }},
}};

constexpr std::array<table_key<connection_spec>, 6> ConnectionKeys = {{
    {"ack_timeout", [](connection_spec& c, const setting& v) { c.ack_timeout = small(v, 0, 31); }},
    {"retry_count", [](connection_spec& c, const setting& v) { c.retry_count = small(v, 0, 7); }},
    {"rnr_retry", [](connection_spec& c, const setting& v) { c.rnr_retry = small(v, 0, 7); }},
    {"min_rnr_nak", [](connection_spec& c, const setting& v) { c.min_rnr_nak = small(v, 0, 31); }},
    {"log_max_rd_atomic",
     [](connection_spec& c, const setting& v) { c.log_max_rd_atomic = small(v, 0, 7); }},
    {"log_max_dest_rd_atomic",
     [](connection_spec& c, const setting& v) { c.log_max_dest_rd_atomic = small(v, 0, 7); }},
}};

void apply_inline(workload_spec& workload, const setting& value) {
  if (const auto flag = value.node().value_exact<bool>()) {
    workload.inline_data = *flag ? inline_mode::always : inline_mode::never;
    return;
  }
  if (value.node().value_exact<std::string>() != "auto") {
    value.fail("must be true, false or \"auto\"");
  }
  workload.inline_data = inline_mode::automatic;
}

void apply_priorities(workload_spec& workload, const setting& value) {
  workload.priorities.clear();
  for (const toml::node& each : value.array()) {
    const setting one(value.where(), value.key(), each);
    workload.priorities.push_back(static_cast<std::uint8_t>(one.integer(0, PriorityCount - 1)));
  }
}

void apply_queue_depth(workload_spec& workload, const setting& value) {
  const std::uint32_t depth = small(value, 1, 32768);
  if (!std::has_single_bit(depth)) {
    value.fail(fmt::format("{} is not a power of two; the nearest are {} and {}", depth,
                           std::bit_floor(depth), std::bit_ceil(depth)));
  }
  workload.queue_depth = depth;
}

void apply_starts(workload_spec& workload, const setting& value) {
  workload.starts_ns.clear();
  for (const toml::node& each : value.array()) {
    workload.starts_ns.push_back(setting(value.where(), value.key(), each).integer(0, Many));
  }
}

using apply_function = void (*)(workload_spec&, const setting&);

struct workload_key {
  const char* name;
  apply_function apply;
};

const std::array<workload_key, 29> WorkloadKeys = {{
    {"kind",
     [](workload_spec& w, const setting& v) {
       w.kind = static_cast<workload_kind>(
           v.choice(words({workload_kind::write_lat, workload_kind::ping_pong,
                           workload_kind::stream, workload_kind::mixed, workload_kind::incast,
                           workload_kind::all_to_all, workload_kind::shift})));
     }},
    {"opcode", [](workload_spec& w,
                  const setting& v) { w.opcode = static_cast<work_opcode>(v.choice(opcodes())); }},
    {"size", [](workload_spec& w, const setting& v) { w.size = small(v, 0, MaxMessage); }},
    {"messages", [](workload_spec& w, const setting& v) { w.messages = v.integer(1, Many); }},
    {"warmup", [](workload_spec& w, const setting& v) { w.warmup = v.integer(0, Many); }},
    {"duration_ns", [](workload_spec& w, const setting& v) { w.duration_ns = v.integer(0, Many); }},
    {"starts_ns", apply_starts},
    {"measure_from_ns",
     [](workload_spec& w, const setting& v) { w.measure_from_ns = v.integer(0, Many); }},
    {"stride", [](workload_spec& w, const setting& v) { w.stride = small(v, 1, MaxHosts - 1); }},
    {"priorities", apply_priorities},
    {"outstanding", [](workload_spec& w, const setting& v) { w.outstanding = small(v, 1, 32768); }},
    {"qps", [](workload_spec& w, const setting& v) { w.qps = small(v, 1, 65536); }},
    {"queue_depth", apply_queue_depth},
    {"submit",
     [](workload_spec& w, const setting& v) {
       w.submit = static_cast<submit_mode>(
           v.choice(words({submit_mode::doorbell, submit_mode::blueflame})));
     }},
    {"inline", apply_inline},
    {"batch", [](workload_spec& w, const setting& v) { w.batch = small(v, 1, 32768); }},
    {"signaled_every",
     [](workload_spec& w, const setting& v) { w.signaled_every = small(v, 1, 32768); }},
    {"completion",
     [](workload_spec& w, const setting& v) {
       w.completions =
           static_cast<waiting_mode>(v.choice(words({waiting_mode::poll, waiting_mode::event})));
     }},
    {"cq_moderation_count",
     [](workload_spec& w, const setting& v) { w.moderation_count = small(v, 0, MaxCqCount); }},
    {"cq_moderation_period",
     [](workload_spec& w, const setting& v) { w.moderation_period = small(v, 0, MaxCqPeriod); }},
    {"directions",
     [](workload_spec& w, const setting& v) {
       w.both_directions = v.choice({"one", "both"}) == 1;
     }},
    {"align_doorbell", [](workload_spec& w, const setting& v) { w.align_doorbell = v.boolean(); }},
    {"verify", [](workload_spec& w, const setting& v) { w.verify = v.boolean(); }},
    {"scoreboard", [](workload_spec& w, const setting& v) { w.scoreboard = v.boolean(); }},
    {"mixed", [](workload_spec& w, const setting& v) { apply_table(w.mixed, v, MixedKeys); }},
    {"connection",
     [](workload_spec& w, const setting& v) { apply_table(w.connection, v, ConnectionKeys); }},
    {"background", [](workload_spec& w, const setting& v) { apply_background(w.background, v); }},
    {"tenants", [](workload_spec& w, const setting& v) { w.tenants = small(v, 0, MaxTenants); }},
    {"when_exhausted",
     [](workload_spec& w,
        const setting& v) { w.wait_for_function = v.choice({"fail", "wait"}) == 1; }},
}};

class combination_check {
 public:
  combination_check(const run_point& point,
                    const std::map<std::string, std::string, std::less<>>& origin,
                    const std::string& fallback)
      : point_(point), origin_(origin), fallback_(fallback) {}

  void run() const {
    if (point_.workload.kind == workload_kind::mixed) {
      check_mixed();
    } else {
      check_submission();
      check_queue();
      check_kind();
    }
    check_completions();
    check_background();
    check_flows();
    check_network();
  }

 private:
  template <class... Args>
  void require(bool holds, std::string_view key, fmt::format_string<Args...> text,
               Args&&... args) const {
    if (holds) {
      return;
    }
    const auto found = origin_.find(key);
    throw config_error(fmt::format("{}: {}{}: {}",
                                   found != origin_.end() ? found->second : fallback_, key,
                                   point_.label.empty() ? "" : " (point " + point_.label + ")",
                                   fmt::format(text, std::forward<Args>(args)...)));
  }

  void check_submission() const {
    const workload_spec& w = point_.workload;
    const std::uint32_t limit = inline_limit(w.opcode);
    require(w.inline_data != inline_mode::always || w.size <= limit, "workload.inline",
            "{} B do not fit into a WQE of {} B; a {} takes at most {} B inline", w.size,
            LargestPostedWqe, to_string(w.opcode), limit);
    require(w.submit != submit_mode::blueflame || w.batch == 1, "workload.submit",
            "BlueFlame carries one WQE a post, so workload.batch must be 1, not {}", w.batch);
  }

  void check_queue() const {
    const workload_spec& w = point_.workload;
    const std::uint32_t blocks = (wqe_bytes(w) + WqeBlockBytes - 1) / WqeBlockBytes;
    const std::uint64_t needed = std::uint64_t{blocks} * w.outstanding;
    require(
        needed <= w.queue_depth, "workload.outstanding",
        "{} requests of {} x 64 B need {} entries of the send queue; workload.queue_depth is {}",
        w.outstanding, blocks, needed, w.queue_depth);
    require(w.batch <= w.outstanding, "workload.batch",
            "{} WQEs a doorbell need as many outstanding; workload.outstanding is {}", w.batch,
            w.outstanding);
    const std::uint32_t room =
        w.kind == workload_kind::ping_pong ? w.queue_depth / blocks : w.outstanding;
    require(w.signaled_every <= room, "workload.signaled_every",
            "at most {}: with fewer completions the send queue is never freed", room);
  }

  void check_completions() const {
    const workload_spec& w = point_.workload;
    const bool events = w.completions == waiting_mode::event;
    require(!events || w.kind != workload_kind::mixed, "workload.completion",
            "a mixed workload polls");
    require(
        events || (w.moderation_count == 0 && w.moderation_period == 0),
        w.moderation_count != 0 ? "workload.cq_moderation_count" : "workload.cq_moderation_period",
        "only events are moderated: workload.completion must be \"event\"");
    require(w.moderation_count <= 1 || w.moderation_period != 0, "workload.cq_moderation_count",
            "without a workload.cq_moderation_period nobody would hear of the last completions");
    require(!events || point_.params.nic.msix_vectors > 1, "workload.completion",
            "requests and receives have a vector each; nic.msix_vectors is {}",
            point_.params.nic.msix_vectors);
  }

  void check_kind() const {
    const workload_spec& w = point_.workload;
    if (w.kind != workload_kind::ping_pong) {
      return;
    }
    require(w.outstanding == 1, "workload.outstanding",
            "a ping_pong has one request in flight, not {}", w.outstanding);
    require(w.size > 0, "workload.size",
            "the other side of a ping_pong waits for the last byte; at least 1");
    require(w.qps == 1, "workload.qps", "a ping_pong has one QP, not {}", w.qps);
    require(w.messages % 2 == 0, "workload.messages",
            "a ping_pong answers each message: an even number, not {}", w.messages);
    require(w.warmup % 2 == 0, "workload.warmup",
            "a ping_pong answers each message: an even number, not {}", w.warmup);
    require(w.both_directions, "workload.directions", "a ping_pong has \"both\"");
  }

  void check_mixed() const {
    const workload_spec& w = point_.workload;
    // Control, address and the gather list of the longest request.
    const std::uint32_t bytes =
        WqeControlBytes + 3 * WqeRemoteBytes + w.mixed.max_sges * WqeDataBytes;
    const std::uint32_t blocks = std::max((bytes + WqeBlockBytes - 1) / WqeBlockBytes, 4U);
    require(std::uint64_t{blocks} * w.outstanding <= w.queue_depth, "workload.outstanding",
            "{} requests of up to {} x 64 B need {} entries of the send queue; "
            "workload.queue_depth is {}",
            w.outstanding, blocks, std::uint64_t{blocks} * w.outstanding, w.queue_depth);
    require(w.warmup == 0, "workload.warmup", "a mixed workload has none");
    const auto weight = [&](work_opcode opcode) {
      return w.mixed.weights[static_cast<std::size_t>(opcode)];
    };
    require(weight(work_opcode::send_invalidate) == 0, "workload.mixed",
            "send_invalidate would take the keys of the buffers away");
    const bool reads = weight(work_opcode::read) != 0 || weight(work_opcode::compare_swap) != 0 ||
                       weight(work_opcode::fetch_add) != 0;
    require(w.mixed.service == qpc_service::Rc || !reads, "workload.mixed",
            "only rc has read, compare_swap and fetch_add");
    const bool memory = weight(work_opcode::write) != 0 || weight(work_opcode::write_imm) != 0;
    require(w.mixed.service != qpc_service::Ud || !memory, "workload.mixed",
            "ud has send and send_imm only");
    require(w.mixed.service != qpc_service::Ud || w.size <= point_.params.wire.mtu, "workload.size",
            "a datagram is at most one packet of {} B", point_.params.wire.mtu);
  }

  void check_flows() const {
    const workload_spec& w = point_.workload;
    if (!w.flows()) {
      const std::string_view why = "is for incast, all_to_all and shift";
      require(w.duration_ns == 0, "workload.duration_ns", "{}", why);
      require(w.priorities.empty(), "workload.priorities", "{}", why);
      require(w.starts_ns.empty(), "workload.starts_ns", "{}", why);
      require(w.measure_from_ns == 0, "workload.measure_from_ns", "{}", why);
      return;
    }
    require(w.opcode == work_opcode::write, "workload.opcode", "{} has write only, not {}",
            to_string(w.kind), to_string(w.opcode));
    require(w.warmup == 0, "workload.warmup", "{} has none", to_string(w.kind));
    require(w.batch == 1, "workload.batch", "{} posts one by one", to_string(w.kind));
    require(w.signaled_every == 1, "workload.signaled_every", "{} has every request signaled",
            to_string(w.kind));
    require(w.completions == waiting_mode::poll, "workload.completion", "{} polls",
            to_string(w.kind));
    require(!w.verify, "workload.verify", "{} leaves it to the scoreboard", to_string(w.kind));
    require(!w.has_tenants(), "workload.kind", "{} knows no tenants", to_string(w.kind));
    require(w.background.qps == 0, "workload.background", "{} has none", to_string(w.kind));
    require(w.starts_ns.empty() || w.duration_ns != 0, "workload.starts_ns", "needs {}",
            "workload.duration_ns");
    require(w.measure_from_ns == 0 || w.measure_from_ns < w.duration_ns, "workload.measure_from_ns",
            "must be before the end, workload.duration_ns");
    require(w.stride < point_.network.hosts, "workload.stride", "there are {} hosts",
            point_.network.hosts);
  }

  void check_background() const {
    const background_spec& b = point_.workload.background;
    if (b.qps == 0) {
      return;
    }
    require(!consumes_receive(b.opcode), "workload.background",
            "nobody posts receives for the background: its opcode must be {}, not {}",
            to_string(work_opcode::write), to_string(b.opcode));
    require(b.outstanding <= point_.workload.queue_depth, "workload.background",
            "{} requests outstanding need as many entries of the send queue; workload.queue_depth "
            "is {}",
            b.outstanding, point_.workload.queue_depth);
  }

  void check_network() const {
    const parameters& p = point_.params;
    // The longest header chain between Ethernet and payload, and the ICRC.
    constexpr std::int64_t UdpToRethImmIcrc = 8 + 12 + 16 + 4 + 4;
    const std::int64_t ip = p.wire.ip_version == 6 ? 40 : 20;
    const std::int64_t needed = static_cast<std::int64_t>(p.wire.mtu) + ip + UdpToRethImmIcrc;
    require(needed <= static_cast<std::int64_t>(p.wire.ethernet_mtu), "wire.mtu",
            "packets of {} B payload need an Ethernet MTU of {} B; wire.ethernet_mtu is {}",
            p.wire.mtu, needed, p.wire.ethernet_mtu);
    const std::uint64_t qps = std::uint64_t{point_.workload.qps} + point_.workload.background.qps;
    // Both ends of a loop-back pair and the numbers below the first usable one.
    const std::uint64_t limit = (std::uint64_t{1} << static_cast<unsigned>(p.nic.log_max_qp)) / 2;
    require(qps <= limit, "workload.qps", "{} QPs with the background's; nic.log_max_qp allows {}",
            qps, limit);
    const auto require_node = [&](std::int64_t node, const char* name) {
      require(node < static_cast<std::int64_t>(p.host.numa_nodes), name,
              "there are only {} nodes (host.numa_nodes)", p.host.numa_nodes);
    };
    require_node(p.host.nic_node, "host.nic_node");
    require_node(p.host.core_node, "host.core_node");
    require_node(p.host.memory_node, "host.memory_node");
  }

  const run_point& point_;
  const std::map<std::string, std::string, std::less<>>& origin_;
  const std::string& fallback_;
};

}  // namespace

const char* to_string(workload_kind kind) {
  constexpr std::array Names = {"write_lat", "ping_pong",  "stream", "mixed",
                                "incast",    "all_to_all", "shift"};
  return Names[static_cast<std::size_t>(kind)];
}

const char* to_string(work_opcode opcode) {
  constexpr std::array Names = {"write",           "write_imm", "send",         "send_imm",
                                "send_invalidate", "read",      "compare_swap", "fetch_add"};
  return Names[static_cast<std::size_t>(opcode)];
}

bool consumes_receive(work_opcode opcode) {
  return opcode != work_opcode::write;
}

bool writes_memory(work_opcode opcode) {
  return opcode == work_opcode::write || opcode == work_opcode::write_imm;
}

const char* to_string(submit_mode mode) {
  constexpr std::array Names = {"doorbell", "blueflame"};
  return Names[static_cast<std::size_t>(mode)];
}

const char* to_string(waiting_mode mode) {
  constexpr std::array Names = {"poll", "event"};
  return Names[static_cast<std::size_t>(mode)];
}

const char* to_string(inline_mode mode) {
  constexpr std::array Names = {"never", "always", "auto"};
  return Names[static_cast<std::size_t>(mode)];
}

std::uint32_t inline_limit(work_opcode opcode) {
  return LargestPostedWqe - WqeControlBytes - (writes_memory(opcode) ? WqeRemoteBytes : 0) -
         WqeInlineHeaderBytes;
}

std::uint32_t wqe_bytes(const workload_spec& workload) {
  const std::uint32_t fixed =
      WqeControlBytes + (writes_memory(workload.opcode) ? WqeRemoteBytes : 0);
  if (!workload.inlined(inline_limit(workload.opcode))) {
    return fixed + (workload.size == 0 ? 0 : WqeDataBytes);
  }
  const std::uint32_t inlined = workload.size == 0 ? 0 : WqeInlineHeaderBytes + workload.size;
  return fixed + (inlined + 15) / 16 * 16;
}

wqe_opcode wqe_opcode_of(work_opcode opcode) {
  switch (opcode) {
    case work_opcode::write:
      return wqe_opcode::RdmaWrite;
    case work_opcode::write_imm:
      return wqe_opcode::RdmaWriteImmediate;
    case work_opcode::send:
      return wqe_opcode::Send;
    case work_opcode::send_imm:
      return wqe_opcode::SendImmediate;
    case work_opcode::send_invalidate:
      return wqe_opcode::SendInvalidate;
    case work_opcode::read:
      return wqe_opcode::RdmaRead;
    case work_opcode::compare_swap:
      return wqe_opcode::AtomicCompareSwap;
    case work_opcode::fetch_add:
      return wqe_opcode::AtomicFetchAdd;
  }
  return wqe_opcode::Nop;
}

connection_options connection_of(const run_point& point) {
  const connection_spec& wanted = point.workload.connection;
  connection_options options;
  // Code n is 128 << n bytes.
  options.mtu =
      static_cast<mtu_code>(std::bit_width(static_cast<std::uint64_t>(point.params.wire.mtu)) - 8);
  options.ack_timeout = static_cast<std::uint8_t>(wanted.ack_timeout);
  options.retry_count = static_cast<std::uint8_t>(wanted.retry_count);
  options.rnr_retry = static_cast<std::uint8_t>(wanted.rnr_retry);
  options.min_rnr_nak = static_cast<std::uint8_t>(wanted.min_rnr_nak);
  options.log_max_rd_atomic = static_cast<std::uint8_t>(wanted.log_max_rd_atomic);
  options.log_max_dest_rd_atomic = static_cast<std::uint8_t>(wanted.log_max_dest_rd_atomic);
  return options;
}

std::vector<std::string> workload_keys() {
  std::vector<std::string> result;
  for (const workload_key& each : WorkloadKeys) {
    result.emplace_back(each.name);
  }
  return result;
}

void apply_workload(workload_spec& workload, std::string_view key, const setting& value) {
  for (const workload_key& each : WorkloadKeys) {
    if (key == each.name) {
      each.apply(workload, value);
      return;
    }
  }
  const auto inner = [&](std::string_view table) {
    return key.size() > table.size() && key.substr(0, table.size()) == table;
  };
  if (inner("mixed.")) {
    apply_key(workload.mixed, key.substr(std::string_view("mixed.").size()), value, MixedKeys);
    return;
  }
  if (inner("connection.")) {
    apply_key(workload.connection, key.substr(std::string_view("connection.").size()), value,
              ConnectionKeys);
    return;
  }
  value.fail("unknown key" + suggestion(key, workload_keys()));
}

void check_point(const run_point& point,
                 const std::map<std::string, std::string, std::less<>>& origin,
                 const std::string& fallback) {
  combination_check(point, origin, fallback).run();
}

}  // namespace carillon
