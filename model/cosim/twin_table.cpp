// The port table of every twin. A new twin needs an entry here, <stage>_block.cpp, and beat_codec<>
// for item types that no other twin has.
#include <algorithm>
#include <bit>

#include "common/function_map.h"
#include "common/packet_opcode.h"
#include "common/tx_pacer.h"
#include "cosim/dcqcn_beats.h"
#include "cosim/frame_beats.h"
#include "cosim/packet_builder_beats.h"
#include "cosim/payload_dma_beats.h"
#include "cosim/pcie_rx_beats.h"
#include "cosim/qpc_ram_beats.h"
#include "cosim/rx_parser_beats.h"
#include "cosim/twin_port.h"
#include "cosim/tx_sched_beats.h"
#include "cosim/wqe_fetch_beats.h"
#include "gen/stages.h"

namespace carillon {

namespace {

template <class T, class Codec>
std::unique_ptr<twin_port> make_port(stream_base& stream, bool input, buffer_pool& buffers) {
  return std::make_unique<typed_port<T, Codec>>(stream, input, buffers);
}

template <class T, class Codec = beat_codec<T>>
twin_port_desc in(const char* name) {
  return {name, true, &make_port<T, Codec>};
}

template <class T, class Codec = beat_codec<T>>
twin_port_desc out(const char* name) {
  return {name, false, &make_port<T, Codec>};
}

// Levels of pcie_rx
// ------------------------------------------------------------------------------------------------

std::uint32_t pcie_rx_now(const parameters& /*params*/, std::span<stream_base* const> /*ports*/,
                          cycle_t t) {
  return static_cast<std::uint32_t>(t);
}

// Levels of tx_mac
// ------------------------------------------------------------------------------------------------

std::uint32_t tx_mac_byte_cost(const parameters& params, std::span<stream_base* const> /*ports*/,
                               cycle_t /*t*/) {
  return tx_pacer(params).byte_cost();
}

std::uint32_t tx_mac_cycle_credit(const parameters& params, std::span<stream_base* const> /*ports*/,
                                  cycle_t /*t*/) {
  return tx_pacer(params).cycle_credit();
}

std::uint64_t pause_changes(const twin_levels& levels, cycle_t t) {
  return levels.paused == nullptr ? 0 : levels.paused->changes(t);
}

void paused_priorities(const parameters& /*params*/, const twin_levels& levels, cycle_t t,
                       std::uint32_t* words) {
  words[0] = levels.paused == nullptr ? 0 : levels.paused->read(t);
}

void tx_mac_crowded(const twin_levels& levels, cycle_t t, std::uint32_t* words) {
  words[0] = levels.crowded == nullptr ? 0 : levels.crowded->read(t);
}

std::uint64_t crowd_changes(const twin_levels& levels, cycle_t t) {
  return levels.crowded == nullptr ? 0 : levels.crowded->changes(t);
}

void crowded_priorities(const parameters& /*params*/, const twin_levels& levels, cycle_t t,
                        std::uint32_t* words) {
  tx_mac_crowded(levels, t, words);
}

// Levels of tx_sched
// ------------------------------------------------------------------------------------------------

std::uint32_t tx_sched_port_mtu(const parameters& params, std::span<stream_base* const> /*ports*/,
                                cycle_t /*t*/) {
  return static_cast<std::uint32_t>(params.wire.mtu);
}

std::uint32_t tx_sched_largest(const parameters& params, std::span<stream_base* const> /*ports*/,
                               cycle_t /*t*/) {
  return longest_wire_bytes(static_cast<std::uint32_t>(params.wire.mtu));
}

std::uint32_t tx_sched_send_window(const parameters& params,
                                   std::span<stream_base* const> /*ports*/, cycle_t /*t*/) {
  return static_cast<std::uint32_t>(params.nic.send_window);
}

/// At least twice in a window.
std::uint32_t tx_sched_ack_interval(const parameters& params,
                                    std::span<stream_base* const> /*ports*/, cycle_t /*t*/) {
  return std::min(static_cast<std::uint32_t>(params.nic.ack_req_interval),
                  std::max(1U, static_cast<std::uint32_t>(params.nic.send_window) / 2));
}

std::uint64_t vport_changes(const twin_levels& levels, cycle_t t) {
  return levels.vports->changes(t);
}

// Levels of uar
// ------------------------------------------------------------------------------------------------

std::uint32_t uar_log_pages(const parameters& params, std::span<stream_base* const> /*ports*/,
                            cycle_t /*t*/) {
  return static_cast<std::uint32_t>(
      std::bit_width(static_cast<std::uint64_t>(params.nic.uar_pages) - 1));
}

std::uint32_t uar_bf_slots(const parameters& params, std::span<stream_base* const> /*ports*/,
                           cycle_t /*t*/) {
  return static_cast<std::uint32_t>(params.uar.bf_slots);
}

std::uint32_t uar_bf_timeout(const parameters& params, std::span<stream_base* const> /*ports*/,
                             cycle_t /*t*/) {
  return static_cast<std::uint32_t>(params.uar.bf_timeout_cycles);
}

/// The fill of the queue of writes, before one of them may be taken in this cycle.
std::uint32_t uar_writes_waiting(const parameters& /*params*/, std::span<stream_base* const> ports,
                                 cycle_t t) {
  auto& writes = dynamic_cast<stream<mmio_write>&>(*ports[1]);
  std::uint32_t visible = writes.size() + (writes.taken_in(t) ? 1 : 0);
  writes.in_flight(t, [&](const mmio_write&) { --visible; });
  return visible;
}

constexpr unsigned WordBits = 32;
constexpr unsigned GoneWords = (stage_spec::uar::Functions + WordBits - 1) / WordBits;

std::uint64_t function_changes(const twin_levels& levels, cycle_t t) {
  return levels.functions == nullptr ? 0 : levels.functions->changes(t);
}

/// A bit for every function, the PF's first: it is not there, or being reset.
void uar_gone(const parameters& /*params*/, const twin_levels& levels, cycle_t t,
              std::uint32_t* words) {
  std::fill_n(words, GoneWords, 0);
  if (levels.functions == nullptr) {
    return;
  }
  const function_map& map = levels.functions->read(t);
  for (std::uint16_t i = 0; i < stage_spec::uar::Functions; ++i) {
    words[i / WordBits] |= (map.gone(i) ? 1U : 0U) << (i % WordBits);
  }
}

// Levels of qpc_ram
// ------------------------------------------------------------------------------------------------

template <std::int64_t parameters::nic_t::*Log>
std::uint32_t ram_setting(const parameters& params, std::span<stream_base* const> /*ports*/,
                          cycle_t /*t*/) {
  return static_cast<std::uint32_t>(params.nic.*Log);
}

std::uint32_t ram_log_sets(const parameters& params, std::span<stream_base* const> /*ports*/,
                           cycle_t /*t*/) {
  const auto sets =
      static_cast<std::uint64_t>(params.nic.icm_cache_lines / params.nic.icm_cache_ways);
  return static_cast<std::uint32_t>(std::bit_width(sets) - 1);
}

std::uint64_t base_changes(const twin_levels& levels, cycle_t t) {
  return levels.icm_base == nullptr ? 0 : levels.icm_base->changes(t);
}

void ram_host_memory(const parameters& /*params*/, const twin_levels& levels, cycle_t /*t*/,
                     std::uint32_t* words) {
  words[0] = levels.icm_base != nullptr ? 1 : 0;
}

void ram_base(const parameters& /*params*/, const twin_levels& levels, cycle_t t,
              std::uint32_t* words) {
  const std::uint64_t base = levels.icm_base == nullptr ? 0 : levels.icm_base->read(t);
  words[0] = static_cast<std::uint32_t>(base);
  words[1] = static_cast<std::uint32_t>(base >> WordBits);
}

template <class Query, class Answer>
twin_lookup_desc lookup(const char* name, decltype(twin_lookup_desc::answer) answer) {
  return {name, Query::Words, Answer::Words, answer};
}

const std::vector<twin_desc>& twins() {
  static const std::vector<twin_desc> Table = {
      {.stage = "dcqcn",
       .ports = {in<rate_slice_item, rate_slice_codec>("slices"),
                 out<rate_update_item, rate_update_codec>("rates")}},
      {.stage = "packet_builder",
       .ports = {in<context_line>("ctx_line"), in<packet_item, payload_beat_codec>("filled"),
                 in<packet_item, direct_packet_codec>("direct"), out<context_read>("ctx_read"),
                 out<frame_item, built_frame_codec>("frame"),
                 out<frame_item, built_frame_codec>("loopback")},
       .lookups = {lookup<vport_query, vport_view>("vport", answer_vport),
                   lookup<vport_source_query, vport_source>("source", answer_vport_source),
                   lookup<vport_route_query, vport_route>("route", answer_vport_route)}},
      {.stage = "payload_dma",
       .ports = {in<packet_item, packet_grant_codec>("packets"),
                 out<dma_read, payload_read_codec>("reads"),
                 in<dma_read_done, payload_answer_codec>("done"),
                 out<packet_item, payload_beat_codec>("filled"),
                 out<payload_left, payload_note_codec>("left"), out<context_read>("key_reads"),
                 in<context_line>("key_lines")}},
      {.stage = "pcie_rx",
       .ports = {in<tlp_arrival, tlp_codec>("tlp"), out<mmio_write>("uar_write"),
                 out<mmio_read>("uar_read"), out<mmio_write>("register_write"),
                 out<mmio_read>("register_read"),
                 out<read_completion, completion_codec>("completion"), out<mmio_answer>("refusal"),
                 out<config_request, config_request_codec>("config"),
                 out<pcie_error, request_error_codec>("error")},
       .levels = {{"now", pcie_rx_now}},
       .views = {{"windows", function_windows::Words, function_changes, pcie_rx_windows},
                 {"resetting", ResettingWords, function_changes, pcie_rx_resetting}}},
      {.stage = "qpc_ram",
       .ports = {in<context_read>("rx_common_read"),
                 out<context_line>("rx_common_line"),
                 in<context_read>("rx_responder_read"),
                 out<context_line>("rx_responder_line"),
                 in<context_read>("parser_read"),
                 out<context_line>("parser_line"),
                 in<context_read>("parser_key_read"),
                 out<context_line>("parser_key_line"),
                 in<context_read>("fetch_read"),
                 out<context_line>("fetch_line"),
                 in<context_read>("uar_read"),
                 out<context_line>("uar_line"),
                 in<context_read>("builder_read"),
                 out<context_line>("builder_line"),
                 in<context_read>("payload_read"),
                 out<context_line>("payload_line"),
                 in<context_read>("responder_read"),
                 out<context_line>("responder_line"),
                 in<context_read>("requester_read"),
                 out<context_line>("requester_line"),
                 in<context_read>("completion_read"),
                 out<context_line>("completion_line"),
                 in<context_read>("command_read"),
                 out<context_line>("command_line"),
                 in<context_write, ram_write_codec>("command_write"),
                 in<context_write, ram_write_codec>("responder_write"),
                 in<qp_error, ram_error_codec>("requester_error"),
                 in<qp_error, ram_error_codec>("responder_error"),
                 in<key_invalidation, ram_strike_codec>("local_strike"),
                 in<key_invalidation, ram_strike_codec>("remote_strike"),
                 out<dma_read, icm_fetch_codec>("icm_fetch"),
                 in<dma_read_done, icm_answer_codec>("icm_done"),
                 out<dma_write, icm_store_codec>("icm_store")},
       .levels = {{"log_qps", ram_setting<&parameters::nic_t::log_max_qp>},
                  {"log_cqs", ram_setting<&parameters::nic_t::log_max_cq>},
                  {"log_mkeys", ram_setting<&parameters::nic_t::log_max_mkey>},
                  {"log_mtts", ram_setting<&parameters::nic_t::log_max_mtt_lines>},
                  {"log_srqs", ram_setting<&parameters::nic_t::log_max_srq>},
                  {"log_eqs", ram_setting<&parameters::nic_t::log_max_eq>},
                  {"log_sets", ram_log_sets},
                  {"ways", ram_setting<&parameters::nic_t::icm_cache_ways>},
                  {"misses", ram_setting<&parameters::nic_t::icm_misses>}},
       .lookups = {{"bounds", RamBoundsWords, 1, answer_ram_bounds}},
       .views = {{"host_memory", 1, base_changes, ram_host_memory},
                 {"base", 2, base_changes, ram_base}}},
      {.stage = "rx_parser",
       .ports = {in<frame_item, received_frame_codec>("frames"),
                 in<qp_commit, commit_codec>("commits"), out<context_read>("common_reads"),
                 in<context_line>("common_lines"), out<context_read>("responder_reads"),
                 in<context_line>("responder_lines"),
                 out<rx_packet, parsed_packet_codec>("requests"),
                 out<rx_packet, parsed_packet_codec>("responses"),
                 out<rx_ended, rx_end_codec>("ends")},
       .lookups = {lookup<steer_query, steer_answer>("steer", answer_steer)}},
      {.stage = "tx_mac",
       .ports = {in<frame_item, built_frame_codec>("frame"),
                 in<frame_item, built_frame_codec>("control"),
                 out<frame_item, wire_frame_codec>("wire")},
       .levels = {{"byte_cost", tx_mac_byte_cost}, {"cycle_credit", tx_mac_cycle_credit}},
       .views = {{"paused", 1, pause_changes, paused_priorities}},
       .values = {{"crowded", 1, tx_mac_crowded}}},
      {.stage = "tx_sched",
       .ports = {in<work_item>("work"), in<response_item, sched_response_codec>("acknowledges"),
                 in<payload_left, payload_note_codec>("left"),
                 in<qp_command, sched_command_codec>("commands"),
                 in<send_control, sched_control_codec>("controls"),
                 out<packet_item, packet_grant_codec>("payload"),
                 out<packet_item, direct_packet_codec>("direct"),
                 out<sent_packet, sched_note_codec>("sent"),
                 out<refetch, refetch_codec>("refetches"),
                 out<key_invalidation, ram_strike_codec>("invalidations"),
                 out<response_failure, read_failure_codec>("failures"),
                 out<response_left, answered_codec>("answered")},
       .levels = {{"port_mtu", tx_sched_port_mtu},
                  {"largest", tx_sched_largest},
                  {"send_window", tx_sched_send_window},
                  {"ack_interval", tx_sched_ack_interval}},
       .views = {{"vports", VportShareWords, vport_changes, fill_vport_shares},
                 {"paused", 1, pause_changes, paused_priorities},
                 {"crowded", 1, crowd_changes, crowded_priorities}}},
      {.stage = "uar",
       .ports = {in<context_line>("ctx_line"), in<mmio_write>("write"), in<mmio_read>("read"),
                 out<context_read>("ctx_read"), out<doorbell>("doorbell"),
                 out<queue_doorbell>("queue_doorbell"), out<mmio_answer>("answer")},
       .levels = {{"log_pages", uar_log_pages},
                  {"bf_slots", uar_bf_slots},
                  {"bf_timeout", uar_bf_timeout},
                  {"writes_waiting", uar_writes_waiting}},
       .views = {{"gone", GoneWords, function_changes, uar_gone}}},
      {.stage = "wqe_fetch",
       .ports = {in<doorbell, fetch_doorbell_codec>("doorbells"),
                 out<context_read>("context_reads"), in<context_line>("context_lines"),
                 out<dma_read, wqe_read_codec>("reads"),
                 in<dma_read_done, wqe_answer_codec>("done"),
                 in<qp_command, fetch_command_codec>("commands"),
                 in<refetch, refetch_codec>("refetches"),
                 out<wqe_item, fetched_wqe_codec>("wqes")}},
      {.stage = "wqe_parser",
       .ports = {in<wqe_item>("wqe"), out<context_read>("ctx_read"), in<context_line>("ctx_line"),
                 out<context_read>("mkey_read"), in<context_line>("mkey_line"),
                 out<work_item>("work")}},
  };
  return Table;
}

}  // namespace

const twin_desc* find_twin(std::string_view stage) {
  for (const twin_desc& each : twins()) {
    if (stage == each.stage) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace carillon
