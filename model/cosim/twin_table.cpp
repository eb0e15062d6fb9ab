// The port table of every twin. A new twin needs an entry here, <stage>_block.cpp, and beat_codec<>
// for item types that no other twin has.
#include <bit>

#include "common/tx_pacer.h"
#include "cosim/dcqcn_beats.h"
#include "cosim/frame_beats.h"
#include "cosim/packet_builder_beats.h"
#include "cosim/payload_dma_beats.h"
#include "cosim/twin_port.h"
#include "cosim/wqe_fetch_beats.h"

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
      {.stage = "tx_mac",
       .ports = {in<frame_item, built_frame_codec>("frame"),
                 out<frame_item, wire_frame_codec>("wire")},
       .levels = {{"byte_cost", tx_mac_byte_cost}, {"cycle_credit", tx_mac_cycle_credit}}},
      {.stage = "uar",
       .ports = {in<context_line>("ctx_line"), in<mmio_write>("write"), in<mmio_read>("read"),
                 out<context_read>("ctx_read"), out<doorbell>("doorbell"),
                 out<queue_doorbell>("queue_doorbell"), out<mmio_answer>("answer")},
       .levels = {{"log_pages", uar_log_pages},
                  {"bf_slots", uar_bf_slots},
                  {"bf_timeout", uar_bf_timeout},
                  {"writes_waiting", uar_writes_waiting}}},
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
