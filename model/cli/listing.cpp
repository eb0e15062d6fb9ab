#include "cli/listing.h"

#include <fmt/format.h>
#include <string_view>

#include "cli/table.h"
#include "cli/text.h"
#include "gen/counters.h"
#include "gen/params.h"
#include "gen/registers.h"
#include "gen/stages.h"

namespace carillon {

namespace {

/// What drivers of real parts call a counter: `ethtool -S`, and the hw_counters of RDMA.
struct known_name {
  const char* counter;
  const char* ethtool;
  const char* rdma;
};

constexpr known_name KnownNames[] = {
    {"tx_packets", "tx_packets_phy", ""},
    {"rx_packets", "rx_packets_phy", ""},
    {"rx_drop_fcs", "rx_crc_errors_phy", ""},
    {"rx_drop_buffer", "rx_discards_phy", ""},
    {"rx_drop_oversize", "rx_oversize_pkts_phy", ""},
    {"rx_steer_overflow", "rx_steer_missed_packets", ""},
    {"rx_out_of_buffer", "rx_out_of_buffer", "out_of_buffer"},
    {"rx_drop_icrc", "", "rx_icrc_encapsulated"},
    {"rx_ecn_marked", "", "np_ecn_marked_roce_packets"},
    {"rp_cnp_handled", "", "rp_cnp_handled"},
    {"rp_cnp_ignored", "", "rp_cnp_ignored"},
    {"np_cnp_sent", "", "np_cnp_sent"},
    {"rx_write_requests", "", "rx_write_requests"},
    {"rx_read_requests", "", "rx_read_requests"},
    {"rx_atomic_requests", "", "rx_atomic_requests"},
    {"out_of_sequence", "", "out_of_sequence"},
    {"duplicate_request", "", "duplicate_request"},
    {"packet_seq_err", "", "packet_seq_err"},
    {"implied_nak_seq_err", "", "implied_nak_seq_err"},
    {"local_ack_timeout_err", "", "local_ack_timeout_err"},
    {"rnr_nak_retry_err", "", "rnr_nak_retry_err"},
    {"req_remote_invalid_request", "", "req_remote_invalid_request"},
    {"req_remote_access_errors", "", "req_remote_access_errors"},
    {"resp_cqe_error", "", "resp_cqe_error"},
    {"resp_cqe_flush_error", "", "resp_cqe_flush_error"},
    {"resp_local_length_error", "", "resp_local_length_error"},
    {"resp_remote_access_errors", "", "resp_remote_access_errors"},
};

known_name names_of(const counter_desc& about) {
  for (const known_name& each : KnownNames) {
    if (std::string_view(each.counter) == about.name) {
      return each;
    }
  }
  // Those of PFC have the drivers' names.
  const std::string_view name = about.name;
  const bool pfc = name.find("_pause") != std::string_view::npos;
  return {about.name, pfc ? about.name : "", ""};
}

std::string cycles(std::uint32_t value) {
  return value == 0 ? "-" : std::to_string(value);
}

const char* access_text(register_access access) {
  switch (access) {
    case register_access::Ro:
      return "ro";
    case register_access::Rw:
      return "rw";
    case register_access::Wo:
      return "wo";
  }
  return "?";
}

const char* functions_text(register_functions functions) {
  return functions == register_functions::Pf ? "PF" : "all";
}

const char* twin_text(const stage_desc& stage) {
  if (stage.twin_done) {
    return "yes";
  }
  return stage.twin ? "planned" : "-";
}

}  // namespace

json stages_listing() {
  json list = json::array();
  for (const stage_desc& each : StageTable) {
    json timing = json::object();
    for (std::uint32_t i = 0; i < each.timing_count; ++i) {
      const stage_timing_desc& part = each.timing[i];
      timing[part.name] = {
          {"cycles", part.value}, {"provenance", part.provenance}, {"doc", part.doc}};
    }
    list.push_back({{"name", each.name},
                    {"job", each.job},
                    {"row", each.row},
                    {"row_title", each.row_title},
                    {"latency", each.latency},
                    {"initiation_interval", each.initiation_interval},
                    {"depth", each.depth},
                    {"outstanding", each.outstanding},
                    {"max_beats", each.max_beats},
                    {"twin", each.twin},
                    {"twin_done", each.twin_done},
                    {"timing", std::move(timing)}});
  }
  return list;
}

json params_listing() {
  json list = json::array();
  for (const param_desc& each : ParamTable) {
    list.push_back({{"name", each.name},
                    {"type", to_string(each.type)},
                    {"unit", each.unit},
                    {"default", each.default_text},
                    {"allowed", each.allowed},
                    {"provenance", to_string(each.origin)},
                    {"source", each.source},
                    {"doc", each.doc}});
  }
  return list;
}

json registers_listing() {
  json list = json::array();
  for (const register_desc& each : RegisterTable) {
    json fields = json::array();
    for (std::uint32_t i = 0; i < each.bits_count; ++i) {
      const register_bits_desc& bits = each.bits[i];
      fields.push_back(
          {{"name", bits.name}, {"msb", bits.msb}, {"lsb", bits.lsb}, {"doc", bits.doc}});
    }
    list.push_back({{"block", each.block},
                    {"name", each.name},
                    {"offset", each.offset},
                    {"bytes", each.bytes},
                    {"access", access_text(each.access)},
                    {"functions", functions_text(each.functions)},
                    {"window", each.window},
                    {"reset", each.reset},
                    {"layout", each.layout},
                    {"doc", each.doc},
                    {"fields", std::move(fields)}});
  }
  return list;
}

json counters_listing() {
  json list = json::array();
  for (const counter_desc& each : CounterTable) {
    const known_name known = names_of(each);
    list.push_back({{"name", each.name},
                    {"stage", each.stage},
                    {"ethtool", known.ethtool},
                    {"rdma", known.rdma},
                    {"doc", each.doc}});
  }
  return list;
}

std::string render_stages(bool colour) {
  text_table table({"#", "<stage", "cycles", "II", "depth", "outstanding", "<twin", "<job"});
  std::uint32_t total = 0;
  for (const stage_desc& each : StageTable) {
    total += *each.row != '\0' ? each.latency : 0;
    table.row({each.row, each.name, cycles(each.latency), std::to_string(each.initiation_interval),
               std::to_string(each.depth), cycles(each.outstanding), twin_text(each), each.job});
  }
  return table.render(colour, "") +
         fmt::format("\nDoorbell to wire, stages 1 to 8: {} cycles.\n", total);
}

std::string render_params(bool colour) {
  text_table table({"<parameter", "default", "<unit", "<allowed", "<provenance", "<meaning"});
  for (const param_desc& each : ParamTable) {
    table.row(
        {each.name, each.default_text, each.unit, each.allowed, to_string(each.origin), each.doc});
  }
  return table.render(colour, "") +
         "\nProvenance: reference = the hardware description; documented = a public "
         "specification;\n"
         "measured = a public measurement; assumed = our choice. --json tells the sources.\n";
}

std::string render_registers(bool colour) {
  text_table table({"<block", "offset", "bytes", "<access", "<functions", "<register", "<meaning"});
  for (const register_desc& each : RegisterTable) {
    table.row({each.block, fmt::format("0x{:03x}", each.offset), std::to_string(each.bytes),
               access_text(each.access), functions_text(each.functions), each.name, each.doc});
  }
  return table.render(colour, "");
}

std::string render_counters(bool colour) {
  text_table table({"<counter", "<stage", "<ethtool -S", "<hw_counters", "<meaning"});
  for (const counter_desc& each : CounterTable) {
    const known_name known = names_of(each);
    table.row({each.name, each.stage, known.ethtool, known.rdma, each.doc});
  }
  return table.render(colour, "");
}

}  // namespace carillon
