#include "cli/perftest_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

#include "cli/text.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr std::uint32_t MaxSize = 1U << 23;
constexpr std::uint32_t MinIterations = 5;
constexpr std::uint64_t MaxIterations = 100'000'000;
constexpr std::uint32_t MaxQps = 1024;
constexpr std::uint32_t MaxDepth = 16384;
constexpr std::uint32_t MaxInline = 912;
constexpr std::uint32_t MaxOuts = 128;
constexpr std::uint32_t MaxVfs = 256;
constexpr std::uint64_t PeakIterations = 20000;
constexpr std::uint32_t ModeratedSize = 8192;
constexpr std::uint32_t Moderation = 100;
constexpr double PsPerSecond = 1e12;
/// So much of -D is simulated, unless asked for more: 2 ms.
constexpr ps_t DefaultSimulated = 2'000'000'000;

/// What an inlined message may have in a WQE of 256 bytes, the largest that BlueFlame takes.
constexpr std::uint32_t InlineWrite = 220;
constexpr std::uint32_t InlineSend = 236;
constexpr std::uint32_t InlineDatagram = 188;

template <class Value>
CLI::Validator between(Value min, Value max) {
  return CLI::Validator(
      [min, max](const std::string& text) {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, failed] = std::from_chars(text.data(), end, value);
        const bool ok = failed == std::errc() && stop == end && value >= min && value <= max;
        return ok ? std::string()
                  : fmt::format("{} is not a whole number from {} to {}", text, min, max);
      },
      "");
}

[[noreturn]] void refuse(std::string_view flag, std::string_view why) {
  throw config_error(fmt::format("{}: {}", flag, why));
}

/// mlx5_0 is the PF, mlx5_n its VF n - 1.
std::uint16_t function_of(const std::string& device) {
  constexpr std::string_view Prefix = "mlx5_";
  std::uint16_t number = 0;
  const char* end = device.data() + device.size();
  const char* begin = device.data() + std::min(device.size(), Prefix.size());
  const auto [stop, failed] = std::from_chars(begin, end, number);
  if (device.rfind(Prefix, 0) != 0 || failed != std::errc() || stop != end || number > MaxVfs) {
    refuse("-d", fmt::format("there is no device `{}`; mlx5_0 is the PF, mlx5_1 to mlx5_{} are VFs",
                             device, MaxVfs));
  }
  return number;
}

std::uint32_t default_inline(const perftest_spec& spec) {
  if (!spec.latency || !spec.half_round_trip()) {
    return 0;
  }
  if (spec.service == qpc_service::Ud) {
    return InlineDatagram;
  }
  return spec.verb == perftest_verb::write ? InlineWrite : InlineSend;
}

void resolve_connection(const perftest_options& options, perftest_spec& spec) {
  if (options.connection == "UC") {
    spec.service = qpc_service::Uc;
  } else if (options.connection == "UD") {
    spec.service = qpc_service::Ud;
  } else if (options.connection != "RC") {
    refuse("-c", fmt::format("there is no connection type `{}`; allowed: RC, UC or UD",
                             options.connection));
  }
  if (spec.service == qpc_service::Uc && !spec.half_round_trip()) {
    refuse("-c", "UC has no READ and no atomics; RC would be right");
  }
  if (spec.service == qpc_service::Ud && spec.verb != perftest_verb::send) {
    refuse("-c", "UD has SENDs only: ib_send_lat, ib_send_bw");
  }
}

/// Flags that this kind of test does not have.
void refuse_foreign(const perftest_options& options, const perftest_spec& spec) {
  const auto only_bandwidth = [&](bool given, std::string_view flag) {
    if (given && spec.latency) {
      refuse(flag, fmt::format("only of a bandwidth test, which {} is not", options.test));
    }
  };
  only_bandwidth(options.qps.value_or(1) != 1, "-q");
  only_bandwidth(options.tx_depth.value_or(1) != 1, "-t");
  only_bandwidth(options.post_list.value_or(1) != 1, "-l");
  only_bandwidth(options.cq_mod.value_or(1) != 1, "-Q");
  only_bandwidth(options.bidirectional, "-b");
  if (options.inline_bytes.value_or(0) != 0 && !spec.half_round_trip()) {
    refuse("-I", "READs and atomics have no data in their WQE");
  }
  if (spec.verb == perftest_verb::atomic && (options.size.value_or(8) != 8 || options.all_sizes)) {
    refuse(options.all_sizes ? "-a" : "-s", "atomics have 8 bytes");
  }
  if (options.outs && spec.half_round_trip()) {
    refuse("-o", "only of READs and atomics");
  }
  if (options.rx_depth && spec.verb != perftest_verb::send) {
    refuse("-r", "only of SENDs");
  }
  if (options.immediate && spec.verb != perftest_verb::write) {
    refuse("--write_with_imm", "only of WRITEs");
  }
  if (options.blueflame && options.doorbell) {
    refuse("--blueflame", "not together with --doorbell");
  }
}

void resolve_bandwidth(const perftest_options& options, perftest_spec& spec) {
  spec.qps = options.qps.value_or(1);
  spec.tx_depth = options.tx_depth.value_or(spec.latency ? 1 : 128);
  spec.rx_depth = options.rx_depth.value_or(512);
  spec.post_list = options.post_list.value_or(1);
  if (spec.post_list > spec.tx_depth) {
    refuse("-l", fmt::format("a list of {} does not fit the send queue of {} (-t)", spec.post_list,
                             spec.tx_depth));
  }
  const bool often = spec.latency || spec.size > ModeratedSize || options.all_sizes;
  spec.cq_mod = options.cq_mod.value_or(often ? 1 : std::max(Moderation, spec.post_list));
  spec.cq_mod = std::min(spec.cq_mod, spec.tx_depth);
  if (spec.cq_mod > 1 && spec.post_list > 1 && spec.cq_mod % spec.post_list != 0) {
    if (options.cq_mod) {
      refuse("-Q", fmt::format("must be a multiple of the list's length (-l {})", spec.post_list));
    }
    spec.cq_mod = spec.post_list;
  }
  spec.peak = !spec.latency && !options.no_peak && !options.warmup && spec.duration == 0 &&
              spec.iterations <= PeakIterations;
}

}  // namespace

std::optional<std::size_t> find_perftest(std::string_view name) {
  for (std::size_t i = 0; i < PerftestNames.size(); ++i) {
    if (PerftestNames[i].name == name) {
      return i;
    }
  }
  return std::nullopt;
}

ps_t parse_duration(const std::string& text, std::string_view flag) {
  constexpr std::array<std::pair<std::string_view, double>, 4> Units = {
      {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1.0}}};
  double unit = 1;
  std::string number = text;
  for (const auto& [name, seconds] : Units) {
    if (number.size() > name.size() &&
        number.compare(number.size() - name.size(), name.size(), name) == 0) {
      unit = seconds;
      number.resize(number.size() - name.size());
      break;
    }
  }
  double value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, failed] = std::from_chars(number.data(), end, value);
  const double ps = value * unit * PsPerSecond;
  if (failed != std::errc() || stop != end || !(ps >= 1e6) || ps > 3600 * PsPerSecond) {
    refuse(flag, fmt::format("`{}` is no time of 1 us to an hour; for example 10, 0.5, 2ms, 500us",
                             text));
  }
  return static_cast<ps_t>(std::llround(ps));
}

void add_perftest_flags(CLI::App& app, perftest_options& to) {
  const auto number = [&app](const char* name, auto& into, const char* about, std::uint64_t min,
                             std::uint64_t max, const char* type = "N") {
    app.add_option(name, into, about)->type_name(type)->check(between(min, max));
  };
  app.add_option("SERVER", to.server, "Address of the other side: taken and not needed");
  app.add_option("-d,--ib-dev", to.device, "Device: mlx5_0 the PF (default), mlx5_n VF n-1")
      ->type_name("DEV");
  app.add_flag("-F,--CPU-freq", to.cpu_frequency, "Taken: these cores have one frequency");
  number("-x,--gid-index", to.gid_index, "GID index (default: 0)", 0, 255);
  number("-i,--ib-port", to.ib_port, "Port of the device: 1", 1, 1);
  number("-p,--port", to.port, "Taken: nothing listens", 1, 65535);
  number("-s,--size", to.size, "Bytes of a message (default: 2 of lat, 65536 of bw)", 1, MaxSize,
         "BYTES");
  app.add_flag("-a,--all", to.all_sizes, "Sizes from 2 to 2^23");
  number("-n,--iters", to.iterations, "Messages of a queue pair (default: 5000 of writes, 1000)",
         MinIterations, MaxIterations);
  app.add_flag("-N,--noPeak", to.no_peak, "No peak bandwidth; -N COUNT is --warmup COUNT");
  number("--warmup", to.warmup, "Messages in front that are not measured (default: 0)", 0,
         MaxIterations);
  app.add_option("-D,--duration", to.duration, "Time instead of -n: seconds, or 2ms, 500us")
      ->type_name("TIME");
  app.add_option("--simulate", to.simulate, "So much of a longer -D is simulated (default: 2ms)")
      ->type_name("TIME");
  app.add_flag("--full_duration", to.full_duration, "All of -D is simulated");
  number("-q,--qp", to.qps, "Queue pairs of a bandwidth test (default: 1)", 1, MaxQps);
  number("-t,--tx-depth", to.tx_depth, "Messages under way, of each (default: 128 of bw, 1)", 1,
         MaxDepth);
  number("-r,--rx-depth", to.rx_depth, "Receives posted ahead, of each (default: 512)", 1,
         MaxDepth);
  number("-l,--post_list", to.post_list, "WQEs of one post, with one doorbell (default: 1)", 1,
         MaxDepth);
  number("-Q,--cq-mod", to.cq_mod, "Messages of one CQE (default: 100 up to 8 KiB, 1)", 1, 1024);
  number("-I,--inline_size", to.inline_bytes,
         "Messages up to this go inline (default: 220 of write_lat, 236 of send_lat, 0)", 0,
         MaxInline, "BYTES");
  number("-m,--mtu", to.mtu, "Path MTU: 256, 512, 1024, 2048 or 4096 (default: wire.mtu)", 256,
         4096, "BYTES");
  app.add_option("-c,--connection", to.connection, "RC (default), UC or UD")->type_name("TYPE");
  number("-o,--outs", to.outs, "READs and atomics under way: a power of two (default: 16)", 1,
         MaxOuts);
  app.add_option("-A,--atomic_type", to.atomic_type, "FETCH_AND_ADD (default) or CMP_AND_SWAP")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"FETCH_AND_ADD", "CMP_AND_SWAP"}));
  number("-u,--qp-timeout", to.qp_timeout, "4.096 us * 2^N (default: 14)", 0, 31);
  number("-S,--sl", to.service_level, "Priority (default: wire.priority)", 0, 7);
  app.add_flag("-b,--bidirectional", to.bidirectional, "Both ways at the same time");
  app.add_flag("--report_gbits", to.gbits, "Bandwidth in Gb/s instead of MiB/s");
  app.add_flag("--write_with_imm", to.immediate, "WRITEs with immediate data");
  app.add_flag("--out_json", to.out_json, "Write the results to perftest_out.json, too");
  app.add_option("--out_json_file", to.json_file, "... or to this file")->type_name("FILE");
  app.add_flag("--blueflame", to.blueflame, "WQEs by BlueFlame wherever it can be (as it is)");
  app.add_flag("--doorbell", to.doorbell, "WQEs by doorbell only");
}

std::vector<std::string> with_warmups(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool counted = (arguments[i] == "-N" || arguments[i] == "--noPeak") &&
                         i + 1 < arguments.size() && !arguments[i + 1].empty() &&
                         arguments[i + 1].find_first_not_of("0123456789") == std::string::npos;
    result.push_back(counted ? fmt::format("--warmup={}", arguments[++i]) : arguments[i]);
  }
  return result;
}

std::vector<std::uint32_t> perftest_sizes(const perftest_options& options) {
  if (!options.all_sizes) {
    return {resolve_perftest(options).size};
  }
  const perftest_spec spec = resolve_perftest(options);
  std::vector<std::uint32_t> sizes;
  const std::uint32_t largest =
      spec.service == qpc_service::Ud ? options.mtu.value_or(4096) : MaxSize;
  for (std::uint32_t size = 2; size <= largest; size *= 2) {
    sizes.push_back(size);
  }
  return sizes;
}

perftest_spec resolve_perftest(const perftest_options& options) {
  const std::optional<std::size_t> found = find_perftest(options.test);
  if (!found) {
    std::vector<std::string> known;
    for (const perftest_name& each : PerftestNames) {
      known.emplace_back(each.name);
    }
    throw config_error(
        fmt::format("there is no test `{}`{}", options.test, suggestion(options.test, known)));
  }
  perftest_spec spec;
  spec.verb = PerftestNames[*found].verb;
  spec.latency = PerftestNames[*found].latency;
  spec.device = options.device;
  spec.function = function_of(options.device);
  resolve_connection(options, spec);
  refuse_foreign(options, spec);
  spec.gid_index = options.gid_index.value_or(0);
  spec.size =
      spec.verb == perftest_verb::atomic ? 8 : options.size.value_or(spec.latency ? 2 : 65536);
  if (options.all_sizes) {
    if (options.size) {
      refuse("-a", "not together with -s");
    }
    spec.size = 2;
  }
  if (options.mtu && (*options.mtu & (*options.mtu - 1)) != 0) {
    refuse("-m",
           fmt::format("{} is no path MTU; allowed: 256, 512, 1024, 2048 or 4096", *options.mtu));
  }
  if (spec.service == qpc_service::Ud && spec.size > options.mtu.value_or(4096)) {
    refuse("-s", fmt::format("a datagram of {} bytes does not fit the MTU of {}", spec.size,
                             options.mtu.value_or(4096)));
  }
  spec.iterations = options.iterations.value_or(spec.verb == perftest_verb::write ? 5000 : 1000);
  spec.warmup = options.warmup.value_or(0);
  if (!options.duration.empty()) {
    if (options.iterations) {
      refuse("-D", "not together with -n");
    }
    spec.duration = parse_duration(options.duration, "-D");
    const ps_t most = options.simulate.empty() ? DefaultSimulated
                                               : parse_duration(options.simulate, "--simulate");
    if (!options.full_duration) {
      spec.duration = std::min(spec.duration, most);
    }
  } else if (!options.simulate.empty() || options.full_duration) {
    refuse(options.full_duration ? "--full_duration" : "--simulate", "only with -D");
  }
  spec.outs = options.outs.value_or(16);
  if ((spec.outs & (spec.outs - 1)) != 0) {
    refuse("-o", fmt::format("{} is not a power of two", spec.outs));
  }
  spec.inline_bytes = options.inline_bytes.value_or(default_inline(spec));
  spec.bidirectional = options.bidirectional;
  spec.compare_swap = options.atomic_type == "CMP_AND_SWAP";
  spec.immediate = options.immediate;
  spec.gbits = options.gbits;
  spec.submit = options.doorbell    ? perftest_submit::doorbell
                : options.blueflame ? perftest_submit::blueflame
                                    : perftest_submit::automatic;
  resolve_bandwidth(options, spec);
  return spec;
}

perftest_options parse_perftest_line(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  perftest_options options;
  CLI::App app;
  app.set_help_flag();
  app.add_option("TEST", options.test)->required();
  add_perftest_flags(app, options);
  words = with_warmups(words);
  std::reverse(words.begin(), words.end());  // CLI11 takes a vector from its end
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw config_error(error.what());
  }
  return options;
}

}  // namespace carillon
