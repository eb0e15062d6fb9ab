#include "cli/perftest_table.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace carillon {

namespace {

constexpr double BytesPerMib = 1048576;
constexpr double BytesPerGigabit = 1.25e8;
constexpr double PerMillion = 1e6;
constexpr std::size_t RuleWidth = 87;

std::string test_title(const perftest_spec& spec) {
  constexpr std::array Verbs = {"RDMA_Write", "RDMA_Read", "Send", "Atomic"};
  std::string verb = Verbs[static_cast<std::size_t>(spec.verb)];
  if (spec.verb == perftest_verb::write && spec.immediate) {
    verb += "_imm";
  }
  if (spec.verb == perftest_verb::atomic) {
    verb = fmt::format("{} {}", verb, spec.compare_swap ? "CMP_AND_SWAP" : "FETCH_AND_ADD");
  }
  return fmt::format("{}{} {} Test", verb, spec.bidirectional ? " Bidirectional" : "",
                     spec.latency ? "Latency" : "BW");
}

const char* service_name(qpc_service service) {
  switch (service) {
    case qpc_service::Uc:
      return "UC";
    case qpc_service::Ud:
      return "UD";
    default:
      return "RC";
  }
}

const char* on_off(bool on) {
  return on ? "ON" : "OFF";
}

json info_json(const perftest_facts& facts) {
  const perftest_spec& spec = *facts.spec;
  json info;
  info["test"] = test_title(spec);
  info["latency"] = spec.latency;
  info["device"] = spec.device;
  info["qps"] = spec.qps;
  info["connection"] = service_name(spec.service);
  info["relaxed_ordering"] = facts.relaxed_ordering;
  info["tx_depth"] = spec.tx_depth;
  if (spec.verb == perftest_verb::send) {
    info["rx_depth"] = spec.rx_depth;
  }
  info["post_list"] = spec.post_list;
  info["cq_moderation"] = spec.cq_mod;
  info["mtu"] = facts.mtu;
  info["gid_index"] = spec.gid_index;
  if (spec.half_round_trip()) {
    info["inline"] = spec.inline_bytes;
  } else {
    info["outstanding"] = spec.outs;
  }
  info["duration"] = spec.duration != 0;
  info["gbits"] = spec.gbits;
  return info;
}

json latency_result(const perftest_facts& facts) {
  const perftest_spec& spec = *facts.spec;
  const latency_figures found = figures_of(*facts.laps, spec.half_round_trip() ? 2 : 1);
  json result;
  result["bytes"] = spec.verb == perftest_verb::atomic ? 8U : spec.size;
  result["iterations"] = spec.duration != 0 ? facts.laps->size() : spec.iterations;
  result["t_min"] = found.min;
  result["t_max"] = found.max;
  result["t_typical"] = found.typical;
  result["t_avg"] = found.average;
  result["t_stdev"] = found.deviation;
  result["p99"] = found.p99;
  result["p999"] = found.p999;
  result["t_worst"] = found.worst;
  return result;
}

json bandwidth_result(const perftest_facts& facts) {
  const perftest_spec& spec = *facts.spec;
  const std::uint64_t bytes = spec.verb == perftest_verb::atomic ? 8U : spec.size;
  // Both directions together, as both are the test's.
  bandwidth_figures sum;
  std::uint64_t messages = 0;
  for (const bandwidth_record* each : facts.records) {
    const bandwidth_figures found = figures_of(*each, bytes);
    sum.peak += found.peak;
    sum.average += found.average;
    sum.messages_per_second += found.messages_per_second;
  }
  if (!facts.records.empty()) {
    messages = facts.records.front()->messages;
  }
  json result;
  result["bytes"] = bytes;
  result["iterations"] = messages;
  result["bw_peak_gbps"] = sum.peak / BytesPerGigabit;
  result["bw_average_gbps"] = sum.average / BytesPerGigabit;
  result["bw_peak_mibps"] = sum.peak / BytesPerMib;
  result["bw_average_mibps"] = sum.average / BytesPerMib;
  result["msg_rate_mpps"] = sum.messages_per_second / PerMillion;
  return result;
}

/// Two settings a line; the names are as wide as the longest.
std::string pair_line(const std::string& left, const std::string& value, const std::string& right,
                      const std::string& other) {
  return fmt::format(" {:<16}: {:<13}{:<15}: {}\n", left, value, right, other);
}

std::string line(const std::string& name, const std::string& value) {
  return fmt::format(" {:<16}: {}\n", name, value);
}

std::string gid_text(const json& bytes) {
  std::string text;
  for (const json& each : bytes) {
    text += fmt::format("{}{:02}", text.empty() ? "" : ":", each.get<unsigned>());
  }
  return text;
}

std::string end_line(const json& end, bool remote_access, const json& info) {
  std::string text = fmt::format(" {} address: LID 0000 QPN {:#06x} PSN {:#06x}",
                                 end["host"].get<unsigned>() == 0 ? "local" : "remote",
                                 end["qpn"].get<unsigned>(), end["psn"].get<unsigned>());
  if (info.contains("outstanding")) {
    text += fmt::format(" OUT {:#04x}", info["outstanding"].get<unsigned>());
  }
  if (remote_access) {
    text += fmt::format(" RKey {:#08x} VAddr {:#016x}", end["rkey"].get<unsigned>(),
                        end["address"].get<std::uint64_t>());
  }
  return text + fmt::format("\n GID: {}\n", gid_text(end["gid"]));
}

std::string headings(const json& info) {
  if (!info["latency"].get<bool>()) {
    return info["gbits"].get<bool>()
               ? " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   "
                 "MsgRate[Mpps]\n"
               : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
                 "MsgRate[Mpps]\n";
  }
  if (info["duration"].get<bool>()) {
    return " #bytes        #iterations       t_avg[usec]\n";
  }
  return " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
         "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n";
}

}  // namespace

json perftest_json(const perftest_facts& facts) {
  json test;
  test["info"] = info_json(facts);
  json ends = json::array();
  for (const perftest_end& each : facts.ends) {
    ends.push_back({{"host", each.host},
                    {"qpn", each.qpn},
                    {"psn", each.psn},
                    {"rkey", each.rkey},
                    {"address", each.address},
                    {"gid", each.source}});
  }
  test["ends"] = std::move(ends);
  test["result"] = facts.spec->latency ? latency_result(facts) : bandwidth_result(facts);
  return test;
}

std::string perftest_rule() {
  return std::string(RuleWidth, '-') + "\n";
}

std::string perftest_head(const json& test) {
  const json& info = test["info"];
  const auto number = [&info](const char* key) {
    return fmt::format("{}", info[key].get<std::uint64_t>());
  };
  std::string text = perftest_rule();
  text += fmt::format("                    {}\n", info["test"].get<std::string>());
  text += pair_line("Dual-port", "OFF", "Device", info["device"]);
  text += pair_line("Number of qps", number("qps"), "Transport type", "IB");
  text += pair_line("Connection type", info["connection"], "Using SRQ", "OFF");
  text += line("PCIe relax order", on_off(info["relaxed_ordering"].get<bool>()));
  text += line("ibv_wr* API", "OFF");
  text += line("TX depth", number("tx_depth"));
  if (info.contains("rx_depth")) {
    text += line("RX depth", number("rx_depth"));
  }
  if (!info["latency"].get<bool>()) {
    if (info["post_list"].get<unsigned>() > 1) {
      text += line("Post List", number("post_list"));
    }
    text += line("CQ Moderation", number("cq_moderation"));
  }
  text += line("Mtu", number("mtu") + "[B]");
  text += line("Link type", "Ethernet");
  text += line("GID index", number("gid_index"));
  text += info.contains("outstanding") ? line("Outstand reads", number("outstanding"))
                                       : line("Max inline data", number("inline") + "[B]");
  text += line("rdma_cm QPs", "OFF");
  text += line("Data ex. method", "Ethernet");
  text += perftest_rule();
  const bool remote_access = info["test"].get<std::string>().rfind("Send", 0) != 0;
  for (const unsigned host : {0U, 1U}) {
    for (const json& end : test["ends"]) {
      if (end["host"].get<unsigned>() == host) {
        text += end_line(end, remote_access, info);
      }
    }
  }
  return text + perftest_rule() + headings(info);
}

std::string perftest_row(const json& test) {
  const json& info = test["info"];
  const json& result = test["result"];
  const auto bytes = result["bytes"].get<std::uint64_t>();
  const auto iterations = result["iterations"].get<std::uint64_t>();
  const auto value = [&result](const char* key) { return result[key].get<double>(); };
  if (!info["latency"].get<bool>()) {
    const bool gbits = info["gbits"].get<bool>();
    return fmt::format(" {:<11}{:<17}{:<19.2f}{:<19.2f}{:.6f}\n", bytes, iterations,
                       value(gbits ? "bw_peak_gbps" : "bw_peak_mibps"),
                       value(gbits ? "bw_average_gbps" : "bw_average_mibps"),
                       value("msg_rate_mpps"));
  }
  if (info["duration"].get<bool>()) {
    return fmt::format(" {:<14}{:<16}{:.2f}\n", bytes, iterations, value("t_avg"));
  }
  return fmt::format(" {:<7} {:<14}{:<15.2f}{:<13.2f}{:<19.2f}{:<15.2f}{:<16.2f}{:<23.2f}{:.2f}\n",
                     bytes, iterations, value("t_min"), value("t_max"), value("t_typical"),
                     value("t_avg"), value("t_stdev"), value("p99"), value("p999"));
}

json perftest_document(const std::vector<json>& tests) {
  const json& info = tests.front()["info"];
  json document;
  json& head = document["test_info"];
  head["test"] = info["test"];
  head["Dual_port"] = "OFF";
  head["Device"] = info["device"];
  head["Number_of_qps"] = info["qps"];
  head["Transport_type"] = "IB";
  head["Connection_type"] = info["connection"];
  head["Using_SRQ"] = "OFF";
  head["PCIe_relax_order"] = on_off(info["relaxed_ordering"].get<bool>());
  head["ibv_wr_API"] = "OFF";
  head["TX_depth"] = info["tx_depth"];
  if (!info["latency"].get<bool>()) {
    head["CQ_Moderation"] = info["cq_moderation"];
  }
  head["Mtu"] = info["mtu"];
  head["Link_type"] = "Ethernet";
  head["GID_index"] = info["gid_index"];
  if (info.contains("outstanding")) {
    head["Outstand_reads"] = info["outstanding"];
  } else {
    head["Max_inline_data"] = info["inline"];
  }
  head["rdma_cm_QPs"] = "OFF";
  head["Data_ex_method"] = "Ethernet";
  json results = json::array();
  for (const json& test : tests) {
    const json& found = test["result"];
    json row;
    row["MsgSize"] = found["bytes"];
    row["n_iterations"] = found["iterations"];
    if (info["latency"].get<bool>()) {
      for (const char* key : {"t_min", "t_max", "t_typical", "t_avg", "t_stdev"}) {
        row[key] = found[key];
      }
      row["t_99_percentile"] = found["p99"];
      row["t_99_9_percentile"] = found["p999"];
    } else {
      const bool gbits = info["gbits"].get<bool>();
      row["BW_peak"] = found[gbits ? "bw_peak_gbps" : "bw_peak_mibps"];
      row["BW_average"] = found[gbits ? "bw_average_gbps" : "bw_average_mibps"];
      row["MsgRate"] = found["msg_rate_mpps"];
    }
    results.push_back(std::move(row));
  }
  document["results"] = std::move(results);
  return document;
}

}  // namespace carillon
