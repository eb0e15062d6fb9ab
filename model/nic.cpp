#include "nic.h"

#include <optional>
#include <utility>

#include "common/level.h"
#include "common/partition.h"
#include "common/stream.h"
#include "completion.h"
#include "dcqcn/dcqcn.h"
#include "dma_engine.h"
#include "gen/stages.h"
#include "packet_builder.h"
#include "payload_dma.h"
#include "pcie_endpoint.h"
#include "pcie_rx.h"
#include "qpc_ram.h"
#include "rate_control/rate_control.h"
#include "requester.h"
#include "responder.h"
#include "rx_mac.h"
#include "rx_parser.h"
#include "tx_mac.h"
#include "tx_mac/tx_mac_wire.h"
#include "tx_sched.h"
#include "uar.h"
#include "wqe_fetch.h"
#include "wqe_parser.h"

namespace carillon {

namespace {

/// Makes the streams of one NIC, named after it.
struct stream_maker {
  sim_context& context;
  const std::string& prefix;

  template <class T>
  [[nodiscard]] std::unique_ptr<stream<T>> of(const char* name, unsigned depth,
                                              unsigned max_beats = 1) const {
    return std::make_unique<stream<T>>(context, prefix + "." + name, depth, max_beats);
  }
};

/// A reader's pair of streams to the context RAM.
struct context_pair {
  context_pair(const stream_maker& make, const std::string& reader, unsigned requests,
               unsigned answers)
      : reads(make.of<context_read>((reader + ".context_read").c_str(), requests)),
        lines(make.of<context_line>(("qpc_ram." + reader + "_line").c_str(), answers)) {}

  std::unique_ptr<stream<context_read>> reads;
  std::unique_ptr<stream<context_line>> lines;
};

/// A DMA reader's pair. The answers have room for everything that the reader asks for.
struct dma_pair {
  dma_pair(const stream_maker& make, const std::string& reader, unsigned requests, unsigned answers)
      : reads(make.of<dma_read>((reader + ".dma_read").c_str(), requests)),
        done(make.of<dma_read_done>(("dma_engine." + reader + "_done").c_str(), answers)) {}

  std::unique_ptr<stream<dma_read>> reads;
  std::unique_ptr<stream<dma_read_done>> done;
};

std::array<flow_credits, 3> advertised_credits(const parameters& params) {
  const auto credits = [](std::int64_t header, std::int64_t data) {
    return flow_credits{static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(data)};
  };
  // Completions are never refused: the NIC asked for them.
  return {credits(params.pcie.nic_credits_ph, params.pcie.nic_credits_pd),
          credits(params.pcie.nic_credits_nph, params.pcie.nic_credits_npd), flow_credits{}};
}

constexpr unsigned ShortQueue = 8;
constexpr unsigned LineQueue = stage_spec::qpc_ram::Depth;
constexpr unsigned ControlQueue = 16;
constexpr unsigned DmaQueue = 64;
constexpr unsigned WritesQueue = 1024;  ///< beats: a few of the largest messages' packets
constexpr unsigned MaxDmaBeats = BufferBytes / BeatBytes;

}  // namespace

// The order of the members is the order of construction: streams, then stages. Nothing depends on
// it but the ranks of processes, which decide nothing.
struct nic::parts {
  parts(sim_context& context, std::string name, tlp_pool& tlps, frame_sink& sink,
        const nic_options& options)
      : shared(context, std::move(name), tlps),
        make{context, shared.name},
        port((shared.name + "_pcie").c_str(), context, advertised_credits(context.params)),
        functions(context.clock, shared.name + ".functions",
                  pcie_endpoint::reset_functions(context.params)),
        vports(context.clock, shared.name + ".vports",
               pcie_endpoint::reset_vports(context.params, options.mac)),
        partitions(context.clock, shared.name + ".partitions",
                   pcie_endpoint::reset_partitions(context.params)),
        icm_base(context.clock, shared.name + ".icm_base", 0),
        paused(context.clock, shared.name + ".paused", 0),
        crowded(context.clock, shared.name + ".crowded", 0) {
    control_frames->keep_private();
    build(sink, options);
  }

  void build(frame_sink& sink, const nic_options& options);
  void build_tx_mac(frame_sink& sink, const nic_options& options);
  void build_rx_parser(const nic_options& options);
  void build_icm(const nic_options& options);
  void build_rate_control(const nic_options& options);

  [[nodiscard]] std::string path(const char* stage_name) const {
    return shared.name + "_" + stage_name;
  }

  nic_shared shared;
  stream_maker make;
  pcie_port port;
  level<function_map> functions;
  level<vport_table> vports;
  level<partition_table> partitions;
  level<std::uint64_t> icm_base;
  level<std::uint8_t> paused;   ///< priorities that the other end has paused
  level<std::uint8_t> crowded;  ///< those of which tx_mac has enough

  // From the host.
  std::unique_ptr<stream<mmio_write>> uar_writes =
      make.of<mmio_write>("pcie_rx.uar_write", stage_spec::pcie_rx::Depth);
  std::unique_ptr<stream<mmio_read>> uar_reads =
      make.of<mmio_read>("pcie_rx.uar_read", stage_spec::pcie_rx::ReadDepth);
  std::unique_ptr<stream<mmio_write>> register_writes =
      make.of<mmio_write>("pcie_rx.register_write", stage_spec::pcie_rx::Depth);
  std::unique_ptr<stream<mmio_read>> register_reads =
      make.of<mmio_read>("pcie_rx.register_read", stage_spec::pcie_rx::ReadDepth);
  std::unique_ptr<stream<read_completion>> completion_tlps = make.of<read_completion>(
      "pcie_rx.completion", stage_spec::pcie_rx::CompletionDepth, MaxDmaBeats);
  std::unique_ptr<stream<mmio_answer>> refusals =
      make.of<mmio_answer>("pcie_rx.refusal", stage_spec::pcie_rx::RefusalDepth);
  std::unique_ptr<stream<config_request>> config_requests =
      make.of<config_request>("pcie_rx.config_request", stage_spec::pcie_rx::ConfigDepth);
  std::unique_ptr<stream<pcie_error>> request_errors =
      make.of<pcie_error>("pcie_rx.error", stage_spec::pcie_rx::ErrorDepth);
  std::unique_ptr<stream<pcie_error>> completion_errors =
      make.of<pcie_error>("dma_engine.error", ControlQueue);
  std::unique_ptr<stream<mmio_answer>> uar_answers = make.of<mmio_answer>("uar.answer", 16);
  std::unique_ptr<stream<mmio_answer>> register_answers =
      make.of<mmio_answer>("pcie_endpoint.answer", 16);

  // Context RAM.
  context_pair rx_common{make, "rx_parser_common", stage_spec::rx_parser::ReadDepth, LineQueue};
  context_pair rx_responder{make, "rx_parser_responder", stage_spec::rx_parser::ReadDepth,
                            LineQueue};
  context_pair parser_context{make, "wqe_parser", stage_spec::wqe_parser::CtxReadDepth, LineQueue};
  context_pair parser_keys{make, "wqe_parser_key", stage_spec::wqe_parser::KeyReadDepth,
                           stage_spec::wqe_parser::KeyReadDepth};
  context_pair fetch_context{make, "wqe_fetch", stage_spec::wqe_fetch::CtxReadDepth,
                             stage_spec::wqe_fetch::Lookups};
  context_pair uar_context{make, "uar", ShortQueue, LineQueue};
  context_pair builder_context{make, "packet_builder", stage_spec::packet_builder::CtxReadDepth,
                               LineQueue};
  context_pair responder_keys{make, "responder", stage_spec::qpc_ram::ResponderLines,
                              stage_spec::qpc_ram::ResponderLines};
  context_pair completion_context{make, "completion", ShortQueue, LineQueue};
  context_pair command_context{make, "pcie_endpoint", ShortQueue, LineQueue};
  std::unique_ptr<stream<context_write>> command_lines =
      make.of<context_write>("pcie_endpoint.context_write", ShortQueue);
  std::unique_ptr<stream<context_write>> responder_lines =
      make.of<context_write>("responder.context_write", 16);
  std::unique_ptr<stream<qp_error>> requester_errors =
      make.of<qp_error>("requester.qp_error", ShortQueue);
  std::unique_ptr<stream<qp_error>> responder_errors =
      make.of<qp_error>("responder.qp_error", ShortQueue);
  std::unique_ptr<stream<key_invalidation>> local_invalidations =
      make.of<key_invalidation>("tx_sched.key_invalidation", ShortQueue);
  std::unique_ptr<stream<key_invalidation>> remote_invalidations =
      make.of<key_invalidation>("responder.key_invalidation", ShortQueue);
  context_pair payload_keys{make, "payload_dma", stage_spec::payload_dma::KeyReadDepth, LineQueue};
  context_pair requester_keys{make, "requester", ShortQueue, LineQueue};

  // Transmit.
  std::unique_ptr<stream<doorbell>> doorbells =
      make.of<doorbell>("uar.doorbell", stage_spec::uar::Depth);
  dma_pair fetch_dma{make, "wqe_fetch", DmaQueue, stage_spec::wqe_fetch::Outstanding};
  std::unique_ptr<stream<wqe_item>> wqes = make.of<wqe_item>(
      "wqe_fetch.wqe", stage_spec::wqe_fetch::Depth, stage_spec::wqe_fetch::MaxBeats);
  std::unique_ptr<stream<work_item>> work = make.of<work_item>(
      "wqe_parser.work", stage_spec::wqe_parser::Depth, stage_spec::wqe_parser::MaxBeats);
  std::unique_ptr<stream<packet_item>> packets =
      make.of<packet_item>("tx_sched.packet", stage_spec::tx_sched::Depth);
  std::unique_ptr<stream<packet_item>> direct =
      make.of<packet_item>("tx_sched.direct", stage_spec::tx_sched::Depth);
  std::unique_ptr<stream<sent_packet>> sent =
      make.of<sent_packet>("tx_sched.sent", stage_spec::tx_sched::Depth);
  std::unique_ptr<stream<send_control>> send_controls =
      make.of<send_control>("requester.control", ControlQueue);
  std::unique_ptr<stream<refetch>> refetches = make.of<refetch>("tx_sched.refetch", ControlQueue);
  dma_pair payload_reads{make, "payload_dma", stage_spec::payload_dma::ReadDepth,
                         stage_spec::payload_dma::Outstanding* MaxSge};
  std::unique_ptr<stream<packet_item>> filled = make.of<packet_item>(
      "payload_dma.filled", stage_spec::payload_dma::Depth, stage_spec::payload_dma::MaxBeats);
  std::unique_ptr<stream<payload_left>> left =
      make.of<payload_left>("payload_dma.left", stage_spec::payload_dma::LeftDepth);
  std::unique_ptr<stream<frame_item>> tx_frames =
      make.of<frame_item>("packet_builder.frame", stage_spec::packet_builder::Depth,
                          stage_spec::packet_builder::MaxBeats);
  std::unique_ptr<stream<frame_item>> leaving_frames;  ///< where tx_mac has a twin
  std::unique_ptr<stream<frame_item>> looped_frames =
      make.of<frame_item>("packet_builder.loopback", stage_spec::packet_builder::Depth,
                          stage_spec::packet_builder::MaxBeats);

  // Receive.
  std::unique_ptr<stream<frame_item>> rx_frames =
      make.of<frame_item>("rx_mac.frame", stage_spec::rx_mac::Depth, stage_spec::rx_mac::MaxBeats);
  std::unique_ptr<stream<rx_packet>> requests =
      make.of<rx_packet>("rx_parser.request", stage_spec::rx_parser::PacketDepth);
  std::unique_ptr<stream<rx_packet>> responses =
      make.of<rx_packet>("rx_parser.response", stage_spec::rx_parser::PacketDepth);
  std::unique_ptr<stream<rx_ended>> parser_ends;  ///< where rx_parser has a twin
  std::unique_ptr<stream<qp_commit>> commits =
      make.of<qp_commit>("responder.commit", stage_spec::responder::Depth);
  dma_pair receive_dma{make, "responder", DmaQueue, responder::MaxReads};
  std::unique_ptr<stream<dma_write>> payload_writes =
      make.of<dma_write>("responder.dma_write", WritesQueue, MaxDmaBeats);
  std::unique_ptr<stream<response_item>> acknowledges =
      make.of<response_item>("responder.acknowledge", stage_spec::responder::Depth);
  std::unique_ptr<stream<response_failure>> response_failures =
      make.of<response_failure>("tx_sched.response_failure", ShortQueue);
  std::unique_ptr<stream<response_left>> responses_left =
      make.of<response_left>("tx_sched.response_left", ShortQueue);
  /// Each half of a QP tells the other that it failed.
  std::unique_ptr<stream<qp_error>> requester_faults =
      make.of<qp_error>("requester.fault", ControlQueue);
  std::unique_ptr<stream<qp_error>> responder_faults =
      make.of<qp_error>("responder.fault", ControlQueue);
  std::unique_ptr<stream<dma_write>> response_writes =
      make.of<dma_write>("requester.dma_write", WritesQueue, MaxDmaBeats);
  std::unique_ptr<stream<async_event>> requester_events =
      make.of<async_event>("requester.event", ShortQueue);
  std::unique_ptr<stream<async_event>> responder_events =
      make.of<async_event>("responder.event", ShortQueue);
  std::unique_ptr<stream<queue_doorbell>> queue_doorbells =
      make.of<queue_doorbell>("uar.queue_doorbell", stage_spec::uar::Depth);
  std::unique_ptr<stream<cqe_item>> receive_cqes =
      make.of<cqe_item>("responder.cqe", stage_spec::responder::Depth);
  std::unique_ptr<stream<cqe_item>> send_cqes =
      make.of<cqe_item>("requester.cqe", stage_spec::requester::Depth);
  dma_pair record_dma{make, "completion", ShortQueue, 16};
  std::unique_ptr<stream<dma_write>> cqe_writes =
      make.of<dma_write>("completion.dma_write", 32, MaxDmaBeats > 32 ? 32 : MaxDmaBeats);

  // Commands.
  std::unique_ptr<stream<qp_command>> fetch_commands =
      make.of<qp_command>("pcie_endpoint.wqe_fetch_command", ShortQueue);
  std::unique_ptr<stream<qp_command>> sched_commands =
      make.of<qp_command>("pcie_endpoint.tx_sched_command", ShortQueue);
  std::unique_ptr<stream<qp_command>> requester_commands =
      make.of<qp_command>("pcie_endpoint.requester_command", ShortQueue);
  std::unique_ptr<stream<qp_command>> responder_commands =
      make.of<qp_command>("pcie_endpoint.responder_command", ShortQueue);
  std::unique_ptr<stream<srq_command>> srq_commands =
      make.of<srq_command>("pcie_endpoint.srq_command", ShortQueue);
  std::unique_ptr<stream<cq_command>> cq_commands =
      make.of<cq_command>("pcie_endpoint.completion_command", ShortQueue);
  dma_pair queue_dma{make, "pcie_endpoint", ShortQueue, 16};
  std::unique_ptr<stream<dma_write>> queue_writes =
      make.of<dma_write>("pcie_endpoint.dma_write", 32, beats_of(MailboxBytes));
  std::unique_ptr<stream<async_event>> command_events =
      make.of<async_event>("pcie_endpoint.event", ShortQueue);

  /// Of contexts in host memory only.
  std::optional<dma_pair> icm_dma;
  std::unique_ptr<stream<dma_write>> icm_writes;
  std::optional<icm_lines::ports> icm;
  std::unique_ptr<stream<msix_command>> msix_commands =
      make.of<msix_command>("pcie_endpoint.msix_command", ShortQueue);
  level<msix_pending> msix_pending_bits{shared.context.clock, shared.name + ".msix_pending", {}};

  /// Of a NIC whose QPs have rates.
  struct rate_streams {
    explicit rate_streams(const stream_maker& make)
        : commands(make.of<rate_command>("pcie_endpoint.rate_command", ShortQueue)),
          requests(make.of<congestion_note>("responder.note", NoteQueue)),
          responses(make.of<congestion_note>("requester.note", NoteQueue)),
          charges(make.of<rate_charge>("tx_sched.charge", NoteQueue)),
          slices(make.of<rate_slice_item>("rate_control.slice", stage_spec::dcqcn::SliceDepth)),
          rates(make.of<rate_update_item>("dcqcn.rate", stage_spec::dcqcn::Depth)),
          limits(make.of<rate_limit>("rate_control.limit", stage_spec::rate_control::Depth)),
          values(make.of<rate_value>("rate_control.value", NoteQueue)) {}

    static constexpr unsigned NoteQueue = stage_spec::rate_control::NoteDepth;

    std::unique_ptr<stream<rate_command>> commands;
    std::unique_ptr<stream<congestion_note>> requests;
    std::unique_ptr<stream<congestion_note>> responses;
    std::unique_ptr<stream<rate_charge>> charges;
    std::unique_ptr<stream<rate_slice_item>> slices;
    std::unique_ptr<stream<rate_update_item>> rates;
    std::unique_ptr<stream<rate_limit>> limits;
    std::unique_ptr<stream<rate_value>> values;
  };

  std::optional<rate_streams> rates;

  /// Not in the stage trace: it is empty but for PFC.
  std::unique_ptr<stream<frame_item>> control_frames =
      make.of<frame_item>("rx_mac.control", stage_spec::tx_mac::ControlDepth);

  pcie_arrivals arrivals{shared.context, shared.name + ".pcie_rx.tlp", port,
                         [this] { dma->on_credits(); }};

  std::vector<std::unique_ptr<clocked>> stages;
  dma_engine* dma = nullptr;
  rx_mac* ingress = nullptr;
  rate_control* control = nullptr;  ///< only where QPs have rates

  /// Adds a stage; its SystemC name is the NIC's and its own.
  template <class Stage, class... Arguments>
  Stage& add(const char* stage_name, Arguments&&... arguments) {
    auto made = std::make_unique<Stage>(path(stage_name).c_str(), shared,
                                        std::forward<Arguments>(arguments)...);
    Stage& result = *made;
    stages.push_back(std::move(made));
    return result;
  }

  /// Adds a stage that has a twin.
  template <class Stage>
  void add_twin(const typename Stage::ports& io, const nic_options& options) {
    const auto chosen = options.impl.find(Stage::Row);
    twin_instance made = make_twin<Stage>(
        path(std::string(Stage::Row).c_str()), shared, io,
        chosen == options.impl.end() ? impl_kind::model : chosen->second, options.twins);
    if (made.rtl != nullptr) {
      stages.push_back(std::move(made.rtl));
    }
    if (made.model != nullptr) {
      stages.push_back(std::move(made.model));
    }
  }
};

/// The model tells the wire of a frame when it takes it, a twin shows it beat by beat.
void nic::parts::build_tx_mac(frame_sink& sink, const nic_options& options) {
  tx_mac::ports io{*tx_frames, sink, nullptr, control_frames.get(), &paused, &crowded};
  const auto chosen = options.impl.find(tx_mac::Row);
  const impl_kind impl = chosen == options.impl.end() ? impl_kind::model : chosen->second;
  if (impl != impl_kind::model) {
    leaving_frames = make.of<frame_item>("tx_mac.leaving", stage_spec::tx_mac::Depth,
                                         stage_spec::tx_mac::MaxBeats);
    leaving_frames->keep_private();
    io.leaving = leaving_frames.get();
    add<tx_mac_wire>("tx_mac_wire", *leaving_frames, impl == impl_kind::rtl ? &sink : nullptr);
  }
  add_twin<tx_mac>(io, options);
}

/// A twin tells how each packet left it; the model only counts.
void nic::parts::build_rx_parser(const nic_options& options) {
  rx_parser::ports io{*rx_frames,
                      *commits,
                      *rx_common.reads,
                      *rx_common.lines,
                      *rx_responder.reads,
                      *rx_responder.lines,
                      *requests,
                      *responses,
                      vports};
  const auto chosen = options.impl.find(rx_parser::Row);
  if (chosen != options.impl.end() && chosen->second != impl_kind::model) {
    parser_ends = make.of<rx_ended>("rx_parser.end", stage_spec::rx_parser::EndDepth);
    io.ends = parser_ends.get();
    add<rx_parser_ends>("rx_parser_ends", *parser_ends);
  }
  add_twin<rx_parser>(io, options);
}

/// A twin of qpc_ram has these ports even if the contexts are on the chip.
void nic::parts::build_icm(const nic_options& options) {
  const bool host_memory = shared.context.params.nic.icm == nic_icm::HostMemory;
  const auto chosen = options.impl.find(qpc_ram::Row);
  if (!host_memory && (chosen == options.impl.end() || chosen->second == impl_kind::model)) {
    return;
  }
  icm_dma.emplace(make, "qpc_ram", stage_spec::qpc_ram::IcmReadDepth,
                  static_cast<unsigned>(shared.context.params.nic.icm_misses));
  icm_writes = make.of<dma_write>("qpc_ram.dma_write", LineQueue);
  if (!host_memory) {
    icm_dma->reads->keep_private();
    icm_dma->done->keep_private();
    icm_writes->keep_private();
  }
  icm.emplace(icm_lines::ports{*icm_dma->reads, *icm_dma->done, *icm_writes, icm_base});
}

/// Without it nobody hears of a mark or of a CNP, and no QP has a rate; dcqcn is not there,
/// whatever was chosen for it.
void nic::parts::build_rate_control(const nic_options& options) {
  if (shared.context.params.dcqcn.rule == dcqcn_rule::Off) {
    return;
  }
  rates.emplace(make);
  control = &add<rate_control>(
      "rate_control",
      rate_control::ports{*rates->commands, *rates->requests, *rates->responses, *rates->charges,
                          *rates->rates, *rates->slices, *rates->limits, *rates->values});
  add_twin<dcqcn>({*rates->slices, *rates->rates}, options);
}

void nic::parts::build(frame_sink& sink, const nic_options& options) {
  build_icm(options);
  build_rate_control(options);
  add_twin<pcie_rx>(
      {port, arrivals.tlps(), functions, *uar_writes, *uar_reads, *register_writes, *register_reads,
       *completion_tlps, *refusals, *config_requests, *request_errors},
      options);
  add_twin<uar>({*uar_writes, *uar_reads, *uar_answers, *uar_context.reads, *uar_context.lines,
                 *doorbells, *queue_doorbells, &functions},
                options);
  add_twin<wqe_fetch>({*doorbells, *fetch_context.reads, *fetch_context.lines, *fetch_dma.reads,
                       *fetch_dma.done, *fetch_commands, *refetches, *wqes},
                      options);
  add_twin<wqe_parser>({*wqes, *parser_context.reads, *parser_context.lines, *parser_keys.reads,
                        *parser_keys.lines, *work},
                       options);
  add_twin<tx_sched>({*work, *acknowledges, *left, *sched_commands, *send_controls, *packets,
                      *direct, *sent, *refetches, *local_invalidations, *response_failures,
                      *responses_left, vports, rates ? rates->limits.get() : nullptr,
                      rates ? rates->charges.get() : nullptr, &paused, &crowded},
                     options);
  add_twin<payload_dma>({*packets, *payload_reads.reads, *payload_reads.done, *filled, *left,
                         *payload_keys.reads, *payload_keys.lines},
                        options);
  add_twin<packet_builder>({*filled, *direct, *builder_context.reads, *builder_context.lines,
                            *tx_frames, *looped_frames, vports},
                           options);
  build_tx_mac(sink, options);

  ingress = &add<rx_mac>(
      "rx_mac",
      rx_mac::ports{*looped_frames, *rx_frames, {control_frames.get(), &paused, options.mac}});
  build_rx_parser(options);
  add<responder>("responder", responder::ports{*requests,
                                               *responder_commands,
                                               *srq_commands,
                                               *requester_faults,
                                               *response_failures,
                                               *responses_left,
                                               *responder_keys.reads,
                                               *responder_keys.lines,
                                               *receive_dma.reads,
                                               *receive_dma.done,
                                               *payload_writes,
                                               *responder_lines,
                                               *responder_errors,
                                               *remote_invalidations,
                                               *responder_faults,
                                               *commits,
                                               *acknowledges,
                                               *receive_cqes,
                                               *responder_events,
                                               rates ? rates->requests.get() : nullptr});
  add<requester>(
      "requester",
      requester::ports{*sent, *responses, *requester_commands, *responder_faults,
                       *requester_keys.lines, *requester_keys.reads, *send_cqes, *send_controls,
                       *response_writes, *requester_errors, *requester_faults, *requester_events,
                       rates ? rates->responses.get() : nullptr});
  add<completion>(
      "completion",
      completion::ports{*receive_cqes, *send_cqes, *responder_events, *requester_events,
                        *command_events, *queue_doorbells, *cq_commands, *completion_context.reads,
                        *completion_context.lines, *record_dma.reads, *record_dma.done, *cqe_writes,
                        *msix_commands, msix_pending_bits});

  // Priority: receive lookup, stage 4, fetch, doorbells, what is left.
  const bool host_memory = shared.context.params.nic.icm == nic_icm::HostMemory;
  add_twin<qpc_ram>(
      qpc_ram::ports{{{*rx_common.reads, *rx_common.lines, "rx_parser"},
                      {*rx_responder.reads, *rx_responder.lines, "rx_parser"},
                      {*parser_context.reads, *parser_context.lines, "qpc_ram"},
                      {*parser_keys.reads, *parser_keys.lines, "wqe_parser"},
                      {*fetch_context.reads, *fetch_context.lines, "wqe_fetch"},
                      {*uar_context.reads, *uar_context.lines, "uar"},
                      {*builder_context.reads, *builder_context.lines, "packet_builder"},
                      {*payload_keys.reads, *payload_keys.lines, "payload_dma"},
                      {*responder_keys.reads, *responder_keys.lines, "responder"},
                      {*requester_keys.reads, *requester_keys.lines, "requester"},
                      {*completion_context.reads, *completion_context.lines, "completion"},
                      {*command_context.reads, *command_context.lines, "pcie_endpoint"}},
                     {command_lines.get(), responder_lines.get()},
                     {requester_errors.get(), responder_errors.get()},
                     {local_invalidations.get(), remote_invalidations.get()},
                     &partitions,
                     host_memory ? &*icm : nullptr,
                     !host_memory && icm ? &*icm : nullptr},
      options);
  dma_engine::ports masters{port,
                            {{*fetch_dma.reads, *fetch_dma.done, "wqe_fetch"},
                             {*payload_reads.reads, *payload_reads.done, "payload_dma"},
                             {*receive_dma.reads, *receive_dma.done, "responder"},
                             {*record_dma.reads, *record_dma.done, "completion"},
                             {*queue_dma.reads, *queue_dma.done, "pcie_endpoint"}},
                            {{*payload_writes, "responder", true},
                             {*response_writes, "requester", true},
                             {*cqe_writes, "completion"},
                             {*queue_writes, "pcie_endpoint"}},
                            {register_answers.get(), uar_answers.get(), refusals.get()},
                            *completion_tlps,
                            functions,
                            *completion_errors};
  if (host_memory) {
    masters.reads.push_back({*icm_dma->reads, *icm_dma->done, "qpc_ram"});
    masters.writes.push_back({*icm_writes, "qpc_ram"});
  }
  dma = &add<dma_engine>("dma_engine", std::move(masters));
  add<pcie_endpoint>("pcie_endpoint",
                     pcie_endpoint::ports{*register_writes,
                                          *register_reads,
                                          *register_answers,
                                          *command_context.reads,
                                          *command_context.lines,
                                          *command_lines,
                                          {fetch_commands.get(), sched_commands.get(),
                                           requester_commands.get(), responder_commands.get()},
                                          *cq_commands,
                                          *srq_commands,
                                          *queue_dma.reads,
                                          *queue_dma.done,
                                          *queue_writes,
                                          *command_events,

                                          *msix_commands,
                                          msix_pending_bits,
                                          *config_requests,
                                          {request_errors.get(), completion_errors.get()},
                                          functions,
                                          vports,
                                          partitions,
                                          &icm_base,
                                          rates ? rates->commands.get() : nullptr,
                                          rates ? rates->values.get() : nullptr},
                     options.mac);
}

nic::nic(sim_context& context, std::string name, tlp_pool& tlps, frame_sink& wire,
         const nic_options& options)
    : parts_(std::make_unique<parts>(context, std::move(name), tlps, wire, options)) {}

nic::~nic() = default;

nic_shared& nic::shared() {
  return parts_->shared;
}

const counter_block& nic::counters() const {
  return parts_->shared.counters;
}

pcie_port& nic::pcie() {
  return parts_->port;
}

context_sizes nic::contexts() const {
  return context_sizes::of(parts_->shared.context.params);
}

context_sizes nic::contexts(std::uint16_t function) const {
  return contexts().of(parts_->partitions.read(parts_->shared.context.clock.now()), function);
}

void nic::stick(unsigned priority, ps_t from, ps_t to) {
  parts_->ingress->stick(priority, from, to);
}

std::uint8_t nic::paused() const {
  return parts_->paused.read(NeverCycle);
}

void nic::list_rates(std::vector<qp_rate>& into) const {
  if (parts_->control != nullptr) {
    parts_->control->list(into);
  }
}

void nic::on_frame(frame_item&& frame, ps_t first_bit, ps_t last_bit) {
  parts_->ingress->on_frame(std::move(frame), first_bit, last_bit);
}

}  // namespace carillon
