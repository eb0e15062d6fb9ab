#include "cli/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <system_error>

#include "cli/compare_command.h"
#include "cli/config_space_command.h"
#include "cli/devinfo.h"
#include "cli/listing.h"
#include "cli/lockstep_command.h"
#include "cli/output_file.h"
#include "cli/perftest_command.h"
#include "cli/report.h"
#include "cli/report_command.h"
#include "cli/runner.h"
#include "cli/scenario_loader.h"
#include "cli/subprocess.h"
#include "cli/sweep_command.h"
#include "cli/text.h"
#include "cli/trace_window.h"
#include "common/error.h"

namespace carillon {

namespace {

constexpr const char* TopFooter = R"(Examples:
  carillon run scenarios/doorbell_to_wire.toml
  carillon run scenarios/ping_pong.toml --set pcie.generation=4 --out out/gen4 --trace
  carillon run scenarios/line_rate.toml --json --quiet
  carillon lockstep wqe_parser --transactions 10000 --seed 1
  carillon perftest ib_write_lat -s 2 -n 10000
  carillon devinfo --vfs 4
  carillon report out/ping_pong
  carillon params

Exit codes: 0 all expectations met; 1 one was not; 2 the scenario, the command line or an output is at
fault; 3 a check inside Carillon failed.)";

constexpr const char* RunFooter = R"(Examples:
  carillon run scenarios/doorbell_to_wire.toml --trace --pcap --out out/demo
  carillon run scenarios/ping_pong.toml --set workload.messages=1000 --set cpu.noise=true
  carillon run scenarios/first_write.toml --impl all=rtl --trace stages
  carillon run scenarios/message_rate.toml --impl wqe_parser=lockstep --seed 7 --stats
  carillon run scenarios/line_rate.toml --trace perfetto --window 20000:25000

Keys of --set: any parameter (see `carillon params`), workload.<key>, fault.<number>.<key>, device.<key>,
scenario.seed, report.path.)";

constexpr const char* LockstepFooter = R"(Examples:
  carillon lockstep wqe_parser --transactions 10000 --seed 1
  carillon lockstep all --source none --sink every4th
  carillon lockstep all --transactions 50000 --min-coverage 100 --junit lockstep.xml)";

constexpr const char* ConfigSpaceFooter = R"(Examples:
  carillon config-space --vfs 4 > device.txt && lspci -F device.txt -vvv
  carillon config-space scenarios/ping_pong.toml --function 0
  carillon config-space --set nic.total_vfs=128 --vfs 128 --function 128)";

constexpr const char* DevinfoFooter = R"(Examples:
  carillon devinfo
  carillon devinfo --vfs 4
  carillon devinfo scenarios/many_vfs.toml --json)";

constexpr const char* TraceOption = "--trace";

constexpr std::uint64_t MaxWhole = std::numeric_limits<std::int64_t>::max();  // as in a scenario
constexpr std::uint64_t MaxVfs = 256;
constexpr std::uint64_t PsPerNs = 1000;
constexpr std::uint64_t MaxNs = NeverPs / PsPerNs - 1;

struct run_arguments {
  std::string file;
  scenario_overrides overrides;
  std::vector<std::string> sinks;
  std::string out;
  std::uint64_t trace_from_ns = 0;
  std::optional<std::uint64_t> trace_to_ns;
  std::optional<std::uint64_t> trace_limit;
  std::string window;
  std::string rtl_clock;
  std::string profile;
  bool ignore_sweep = false;
  bool pcap = false;
  bool waves = false;
  bool json = false;
  bool stats = false;
  bool quiet = false;
};

struct devinfo_arguments {
  std::string file;
  std::vector<std::string> set;
  std::optional<unsigned> vfs;
  bool json = false;
};

struct list_arguments {
  bool json = false;
};

/// A whole number; CLI11 itself takes -1 for 2^64 - 1.
CLI::Validator whole(std::uint64_t min, std::uint64_t max = MaxWhole) {
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

void add_run(CLI::App& app, run_arguments& to) {
  CLI::App* run = app.add_subcommand("run", "Simulate a scenario and check its expectations");
  run->add_option("SCENARIO", to.file, "The scenario, a TOML file")->required();
  run->add_option("--set", to.overrides.set, "Change a parameter or a key of the workload")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  run->add_option("--impl", to.overrides.impl,
                  "Implementation of stages: model, rtl or lockstep; `all` is every twin")
      ->type_name("STAGE=IMPL,...")
      ->expected(1)
      ->take_all();
  run->add_option("--rtl-clock", to.rtl_clock, "Clock RTL only while busy (default) or always")
      ->type_name("busy|always")
      ->check(CLI::IsMember({"busy", "always"}));
  run->add_option("--profile", to.profile, "Profile instead of the scenario's")->type_name("NAME");
  run->add_option("--seed", to.overrides.seed, "Seed instead of the scenario's")
      ->type_name("N")
      ->check(whole(0));
  run->add_option("--shuffle", to.overrides.shuffle,
                  "Permute the order of evaluation within each cycle; no result may change")
      ->type_name("N")
      ->check(whole(0));
  run->add_option("--out", to.out, "Folder for the outputs (default: out/<name of the scenario>)")
      ->type_name("DIR");
  run->add_option(TraceOption, to.sinks, "Write traces: sqlite (default), perfetto, stages, all")
      ->type_name("[SINK,...]")
      ->delimiter(',')
      ->expected(1)
      ->take_all();
  run->add_option("--trace-from", to.trace_from_ns, "Trace from this simulated time on")
      ->type_name("NS")
      ->check(whole(0, MaxNs));
  run->add_option("--trace-to", to.trace_to_ns, "Trace up to this simulated time")
      ->type_name("NS")
      ->check(whole(0, MaxNs));
  run->add_option("--trace-limit", to.trace_limit, "Trace this many messages")
      ->type_name("N")
      ->check(whole(0));
  run->add_option("--window", to.window,
                  "Trace only this stretch: nanoseconds (1000:5000), or messages by id (m5:m9)")
      ->type_name("FROM:TO");
  run->add_flag("--ignore-sweep", to.ignore_sweep,
                "Run a scenario with [sweep] once, as if it had none");
  run->add_flag("--pcap", to.pcap, "Write the packets on the wire to wire.pcapng");
  run->add_flag("--waves", to.waves, "Write an FST file of each RTL stage, in the same window");
  run->add_flag("--json", to.json, "Print summary.json instead of the table");
  run->add_flag("--stats", to.stats, "Also print wakes, kernel events and TLPs per message");
  run->add_flag("--quiet", to.quiet, "Print only what is wrong");
  run->footer(RunFooter);
}

void add_list(CLI::App& app, const char* name, const char* about, list_arguments& to) {
  app.add_subcommand(name, about)->add_flag("--json", to.json, "For programs");
}

void add_devinfo(CLI::App& app, devinfo_arguments& to) {
  CLI::App* devinfo = app.add_subcommand(
      "devinfo", "Show what drivers find out about a device, in the manner of ibv_devinfo -v");
  devinfo->add_option("SCENARIO", to.file, "Whose device (default: the reference device)");
  devinfo->add_option("--vfs", to.vfs, "Enable so many VFs")->type_name("N")->check(whole(0, 256));
  devinfo->add_option("--set", to.set, "As of `run`")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  devinfo->add_flag("--json", to.json, "For programs");
  devinfo->footer(DevinfoFooter);
}

void add_lockstep(CLI::App& app, lockstep_arguments& to) {
  CLI::App* lockstep = app.add_subcommand(
      "lockstep",
      "Drive random traffic at a stage's model and RTL twin and compare them in every cycle");
  lockstep_options& options = to.options;
  lockstep->add_option("STAGE", options.stage, "A stage with a twin, or `all`")->required();
  lockstep->add_option("--transactions", options.transactions, "Items to drive (default: 10000)")
      ->type_name("N")
      ->check(whole(1));
  lockstep->add_option("--seed", options.seed, "Seed of the traffic (default: 1)")
      ->type_name("N")
      ->check(whole(0));
  lockstep
      ->add_option("--source,--idle", to.source,
                   "When the source offers: none = always, every4th, random (default)")
      ->type_name("PATTERN");
  lockstep
      ->add_option("--sink,--backpressure", to.sink,
                   "When the sink takes: none = always, every4th, random (default)")
      ->type_name("PATTERN");
  lockstep->add_flag_callback(
      "--audit", [&options] { options.audit = true; },
      "Prove at each idle edge that it changes no flop");
  lockstep
      ->add_option_function<std::string>(
          "--rtl-clock",
          [&options](const std::string& when) { options.rtl_clock_always = when == "always"; },
          "Clock the RTL only while busy (default) or always")
      ->type_name("busy|always")
      ->check(CLI::IsMember({"busy", "always"}));
  lockstep->add_option("--variant", options.variant, "Another RTL variant of the stage")
      ->type_name("NAME");
  lockstep->add_option("--shuffle", options.shuffle_seed, "Permute the order of evaluation")
      ->type_name("N")
      ->check(whole(0));
  lockstep
      ->add_option("--reset-seed", options.reset_seed,
                   "What flops hold before the reset and memories for ever: 0 = zeros (default)")
      ->type_name("N")
      ->check(whole(0));
  lockstep
      ->add_option("--min-coverage", to.min_coverage, "Fail if less of the coverage bins is hit")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 100.0));
  lockstep->add_option("--junit", to.junit, "Write the verdicts as JUnit XML, a test case a stage")
      ->type_name("FILE");
  lockstep->add_option("--waves", options.waves, "Write the RTL's signals as FST into this folder")
      ->type_name("DIR");
  lockstep->add_option("--waves-from", options.waves_from, "Waves from this cycle on")
      ->type_name("CYCLE")
      ->check(whole(0));
  lockstep->add_option("--waves-to", options.waves_to, "Waves up to this cycle")
      ->type_name("CYCLE")
      ->check(whole(0));
  lockstep->add_flag("--json", to.json, "For programs");
  lockstep->footer(LockstepFooter);
}

void add_config_space(CLI::App& app, config_space_arguments& to) {
  CLI::App* command = app.add_subcommand(
      "config-space", "Print the configuration spaces of the functions as lspci -xxxx does");
  command->add_option("SCENARIO", to.file, "A scenario, for its parameters (default: none)");
  command->add_option("--set", to.set, "Change a parameter")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command->add_option("--vfs", to.vfs, "Enable so many VFs first (default: 0)")
      ->type_name("N")
      ->check(whole(0, MaxVfs));
  command->add_option("--function", to.function, "Only this one: 0 is the PF, n VF n-1")
      ->type_name("N")
      ->check(whole(0, MaxVfs));
  command->footer(ConfigSpaceFooter);
}

/// `--trace` alone means sqlite; CLI11 would take the next word as its value.
std::vector<std::string> with_trace_values(const std::vector<std::string>& arguments) {
  static const std::vector<std::string> Sinks = {"sqlite", "perfetto", "stages", "pcap", "all"};
  std::vector<std::string> result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != TraceOption) {
      result.push_back(arguments[i]);
      continue;
    }
    const std::vector<std::string> parts =
        i + 1 < arguments.size() ? split(arguments[i + 1], ',') : std::vector<std::string>();
    const bool sinks =
        !parts.empty() && std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
          return std::find(Sinks.begin(), Sinks.end(), part) != Sinks.end();
        });
    result.push_back(sinks ? fmt::format("{}={}", TraceOption, arguments[++i])
                           : fmt::format("{}=sqlite", TraceOption));
  }
  return result;
}

trace_spec trace_of(const scenario& what, const run_arguments& from) {
  trace_spec trace = what.trace;
  for (const std::string& sink : from.sinks) {
    add_sink(trace, sink, TraceOption);
  }
  trace.pcap |= from.pcap;
  trace.waves |= from.waves;
  if (from.trace_from_ns != 0) {
    trace.from = from.trace_from_ns * PsPerNs;
  }
  if (from.trace_to_ns) {
    trace.to = *from.trace_to_ns * PsPerNs;
  }
  trace.limit = from.trace_limit.value_or(trace.limit);
  if (!from.window.empty()) {
    set_window(trace, from.window, "--window");
  }
  if (trace.from > trace.to) {
    throw config_error("--trace-from: is after --trace-to");
  }
  return trace;
}

int run_scenario_command(run_arguments& from) {
  if (!from.rtl_clock.empty()) {
    from.overrides.rtl_clock_always = from.rtl_clock == "always";
  }
  if (!from.profile.empty()) {
    from.overrides.profile = from.profile;
  }
  scenario what = load_scenario(from.file, from.overrides);
  if (!from.ignore_sweep) {
    refuse_open_sweep(what);
  }
  what.trace = trace_of(what, from);
  run_options options;
  options.out =
      from.out.empty() ? std::filesystem::path("out") / what.name : std::filesystem::path(from.out);
  options.progress = !from.quiet;
  const run_result result = run_scenario(what, options);
  const report_style style{wants_colour(stdout), from.stats};
  if (from.json) {
    print(result.summary.dump(2) + "\n");
  } else if (!from.quiet) {
    print(render_report(result.summary, style) + "\n" + render_expectations(result.summary, style) +
          fmt::format("summary: {}\n", (options.out / "summary.json").string()));
  }
  if (!result.met && (from.json || from.quiet)) {
    fmt::print(stderr, "{}", render_expectations(result.summary, {wants_colour(stderr), false}));
  }
  return static_cast<int>(result.met ? exit_code::ok : exit_code::expectation_failed);
}

int run_devinfo_command(const devinfo_arguments& from) {
  scenario_overrides overrides;
  overrides.set = from.set;
  if (from.vfs) {
    overrides.set.push_back(fmt::format("device.SRIOV_EN={}", *from.vfs != 0));
    overrides.set.push_back(fmt::format("device.NUM_OF_VFS={}", *from.vfs));
  }
  const scenario what = from.file.empty()
                            ? parse_scenario("profile = \"reference\"\n", "devinfo", overrides)
                            : load_scenario(from.file, overrides);
  const std::vector<device_info> devices = find_devices(what.points.front());
  print(from.json ? devices_json(devices).dump(2) + "\n" : render_devices(devices));
  return static_cast<int>(exit_code::ok);
}

/// The commands, and the options of those that are asked for.
std::vector<std::string> known_words(const CLI::App& app,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(command->get_name());
    if (std::find(arguments.begin(), arguments.end(), command->get_name()) == arguments.end()) {
      continue;
    }
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        words.push_back("--" + name);
      }
    }
  }
  return words;
}

/// The message of CLI11, and for a misspelt word the nearest that exists.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& arguments) {
  std::string near;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::vector<std::string> known = known_words(app, arguments);
    for (const std::string& word : arguments) {
      if (near.empty() && std::find(known.begin(), known.end(), word) == known.end()) {
        near = closest(word.substr(0, word.find('=')), known);
      }
    }
  }
  throw config_error(fmt::format("{}{}; `carillon --help` and `carillon COMMAND --help` tell more",
                                 error.what(),
                                 near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  CLI::App app("Carillon: a cycle-accurate model of an RDMA NIC with RTL twins in lockstep.",
               "carillon");
  app.require_subcommand(1);
  app.footer(TopFooter);
  app.get_formatter()->column_width(32);

  run_arguments run;
  lockstep_arguments lockstep;
  list_arguments list;
  config_space_arguments space;
  devinfo_arguments devinfo;
  perftest_arguments perftest;
  add_run(app, run);
  add_perftest(app, perftest);
  add_lockstep(app, lockstep);
  add_devinfo(app, devinfo);
  add_list(app, "stages", "List the pipeline's stages with their cycles and twins", list);
  add_list(app, "params", "List the parameters with ranges, defaults and provenance", list);
  add_list(app, "registers", "List the registers of BAR0, the UAR page and BAR4", list);
  add_list(app, "counters", "List the counters", list);
  add_config_space(app, space);
  add_sweep_command(app);
  add_report_command(app);
  add_compare_command(app);
  app.add_subcommand("version", "Print the version");

  try {
    // CLI11 takes a vector from its end.
    std::vector<std::string> words = with_trace_values(with_perftest(arguments));
    std::reverse(words.begin(), words.end());
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    print(chosen.empty() ? app.help() : chosen.front()->help("carillon"));
    return static_cast<int>(exit_code::ok);
  } catch (const CLI::ParseError& error) {
    refuse(app, error, with_perftest(arguments));
  }

  const std::string command = app.get_subcommands().front()->get_name();
  if (command == "run") {
    return run_scenario_command(run);
  }
  if (command == "perftest") {
    return run_perftest_command(perftest);
  }
  if (command == "devinfo") {
    return run_devinfo_command(devinfo);
  }
  if (command == "lockstep") {
    return run_lockstep_command(lockstep);
  }
  if (command == "config-space") {
    return run_config_space_command(space);
  }
  if (command == "sweep") {
    return run_sweep_command(app);
  }
  if (command == "compare") {
    return run_compare_command(app);
  }
  if (command == "report") {
    return run_report_command(app);
  }
  if (command == "version") {
    print(fmt::format("carillon {}\n", CARILLON_VERSION));
    return static_cast<int>(exit_code::ok);
  }

  struct listing {
    const char* name;
    json (*data)();
    std::string (*render)(bool);
  };

  constexpr listing Listings[] = {{"stages", stages_listing, render_stages},
                                  {"params", params_listing, render_params},
                                  {"registers", registers_listing, render_registers},
                                  {"counters", counters_listing, render_counters}};
  for (const listing& each : Listings) {
    if (command == each.name) {
      print(list.json ? each.data().dump(2) + "\n" : each.render(wants_colour(stdout)));
    }
  }
  return static_cast<int>(exit_code::ok);
}

int run_guarded(const std::vector<std::string>& arguments) {
  const auto report = [](const char* kind, const char* message, exit_code code) {
    std::fflush(stdout);
    fmt::print(stderr, "carillon: {}{}\n", kind, message);
    return static_cast<int>(code);
  };
  try {
    int code = 0;
    call_translated([&] { code = run_command(arguments); });
    return code;
  } catch (const config_error& error) {
    return report("", error.what(), exit_code::user_error);
  } catch (const model_error& error) {
    return report("internal check failed: ", error.what(), exit_code::model_error);
  } catch (const std::exception& error) {
    return report("internal error: ", error.what(), exit_code::model_error);
  }
}

}  // namespace carillon
