// The context RAM: 64-byte lines by kind and index, two reads and one write a cycle, and marks over
// the lines that errors and invalidations set. With lines in host memory it is a cache of them.
//
// A cycle's order is that of the model: another place in host memory, an answer from there, errors
// and invalidations, a write, a line that is put into the cache, reads in the order of the readers.
// docs/stages/qpc_ram.md has the timing.
`include "assertions.svh"

module qpc_ram (
    input  logic                  clk_i,  // core clock
    input  logic                  rst_ni,  // synchronous reset, active low
    input  logic                  rx_common_read_valid_i,  // a read is offered - rx_parser
    output logic                  rx_common_read_ready_o,  // it is taken - rx_parser
    input  streams_pkg::ctx_req_t rx_common_read_i,  // the read - rx_parser
    output logic                  rx_common_line_valid_o,  // a line is there - rx_parser
    input  logic                  rx_common_line_ready_i,  // it is taken - rx_parser
    output streams_pkg::ctx_rsp_t rx_common_line_o,  // the line - rx_parser
    output logic                  rx_common_line_push_o,  // a line becomes visible - rx_parser
    input  logic                  rx_responder_read_valid_i,  // a read is offered - rx_parser
    output logic                  rx_responder_read_ready_o,  // it is taken - rx_parser
    input  streams_pkg::ctx_req_t rx_responder_read_i,  // the read - rx_parser
    output logic                  rx_responder_line_valid_o,  // a line is there - rx_parser
    input  logic                  rx_responder_line_ready_i,  // it is taken - rx_parser
    output streams_pkg::ctx_rsp_t rx_responder_line_o,  // the line - rx_parser
    output logic                  rx_responder_line_push_o,  // a line becomes visible - rx_parser
    input  logic                  parser_read_valid_i,  // a read is offered - wqe_parser
    output logic                  parser_read_ready_o,  // it is taken - wqe_parser
    input  streams_pkg::ctx_req_t parser_read_i,  // the read - wqe_parser
    output logic                  parser_line_valid_o,  // a line is there - wqe_parser
    input  logic                  parser_line_ready_i,  // it is taken - wqe_parser
    output streams_pkg::ctx_rsp_t parser_line_o,  // the line - wqe_parser
    output logic                  parser_line_push_o,  // a line becomes visible - wqe_parser
    input  logic                  parser_key_read_valid_i,  // a read is offered - wqe_parser
    output logic                  parser_key_read_ready_o,  // it is taken - wqe_parser
    input  streams_pkg::ctx_req_t parser_key_read_i,  // the read - wqe_parser
    output logic                  parser_key_line_valid_o,  // a line is there - wqe_parser
    input  logic                  parser_key_line_ready_i,  // it is taken - wqe_parser
    output streams_pkg::ctx_rsp_t parser_key_line_o,  // the line - wqe_parser
    output logic                  parser_key_line_push_o,  // a line becomes visible - wqe_parser
    input  logic                  fetch_read_valid_i,  // a read is offered - wqe_fetch
    output logic                  fetch_read_ready_o,  // it is taken - wqe_fetch
    input  streams_pkg::ctx_req_t fetch_read_i,  // the read - wqe_fetch
    output logic                  fetch_line_valid_o,  // a line is there - wqe_fetch
    input  logic                  fetch_line_ready_i,  // it is taken - wqe_fetch
    output streams_pkg::ctx_rsp_t fetch_line_o,  // the line - wqe_fetch
    output logic                  fetch_line_push_o,  // a line becomes visible - wqe_fetch
    input  logic                  uar_read_valid_i,  // a read is offered - uar
    output logic                  uar_read_ready_o,  // it is taken - uar
    input  streams_pkg::ctx_req_t uar_read_i,  // the read - uar
    output logic                  uar_line_valid_o,  // a line is there - uar
    input  logic                  uar_line_ready_i,  // it is taken - uar
    output streams_pkg::ctx_rsp_t uar_line_o,  // the line - uar
    output logic                  uar_line_push_o,  // a line becomes visible - uar
    input  logic                  builder_read_valid_i,  // a read is offered - packet_builder
    output logic                  builder_read_ready_o,  // it is taken - packet_builder
    input  streams_pkg::ctx_req_t builder_read_i,  // the read - packet_builder
    output logic                  builder_line_valid_o,  // a line is there - packet_builder
    input  logic                  builder_line_ready_i,  // it is taken - packet_builder
    output streams_pkg::ctx_rsp_t builder_line_o,  // the line - packet_builder
    output logic                  builder_line_push_o,  // a line becomes visible - packet_builder
    input  logic                  payload_read_valid_i,  // a read is offered - payload_dma
    output logic                  payload_read_ready_o,  // it is taken - payload_dma
    input  streams_pkg::ctx_req_t payload_read_i,  // the read - payload_dma
    output logic                  payload_line_valid_o,  // a line is there - payload_dma
    input  logic                  payload_line_ready_i,  // it is taken - payload_dma
    output streams_pkg::ctx_rsp_t payload_line_o,  // the line - payload_dma
    output logic                  payload_line_push_o,  // a line becomes visible - payload_dma
    input  logic                  responder_read_valid_i,  // a read is offered - responder
    output logic                  responder_read_ready_o,  // it is taken - responder
    input  streams_pkg::ctx_req_t responder_read_i,  // the read - responder
    output logic                  responder_line_valid_o,  // a line is there - responder
    input  logic                  responder_line_ready_i,  // it is taken - responder
    output streams_pkg::ctx_rsp_t responder_line_o,  // the line - responder
    output logic                  responder_line_push_o,  // a line becomes visible - responder
    input  logic                  requester_read_valid_i,  // a read is offered - requester
    output logic                  requester_read_ready_o,  // it is taken - requester
    input  streams_pkg::ctx_req_t requester_read_i,  // the read - requester
    output logic                  requester_line_valid_o,  // a line is there - requester
    input  logic                  requester_line_ready_i,  // it is taken - requester
    output streams_pkg::ctx_rsp_t requester_line_o,  // the line - requester
    output logic                  requester_line_push_o,  // a line becomes visible - requester
    input  logic                  completion_read_valid_i,  // a read is offered - completion
    output logic                  completion_read_ready_o,  // it is taken - completion
    input  streams_pkg::ctx_req_t completion_read_i,  // the read - completion
    output logic                  completion_line_valid_o,  // a line is there - completion
    input  logic                  completion_line_ready_i,  // it is taken - completion
    output streams_pkg::ctx_rsp_t completion_line_o,  // the line - completion
    output logic                  completion_line_push_o,  // a line becomes visible - completion
    input  logic                  command_read_valid_i,  // a read is offered - pcie_endpoint
    output logic                  command_read_ready_o,  // it is taken - pcie_endpoint
    input  streams_pkg::ctx_req_t command_read_i,  // the read - pcie_endpoint
    output logic                  command_line_valid_o,  // a line is there - pcie_endpoint
    input  logic                  command_line_ready_i,  // it is taken - pcie_endpoint
    output streams_pkg::ctx_rsp_t command_line_o,  // the line - pcie_endpoint
    output logic                  command_line_push_o,  // a line becomes visible - pcie_endpoint
    input  logic                  command_write_valid_i,  // a line is offered - pcie_endpoint
    output logic                  command_write_ready_o,  // it is taken - pcie_endpoint
    input  streams_pkg::ram_write_t command_write_i,  // the line - pcie_endpoint
    input  logic                  responder_write_valid_i,  // a line is offered - responder
    output logic                  responder_write_ready_o,  // it is taken - responder
    input  streams_pkg::ram_write_t responder_write_i,  // the line - responder
    input  logic                  requester_error_valid_i,  // an error is offered - requester
    output logic                  requester_error_ready_o,  // it is taken - requester
    input  streams_pkg::ram_error_t requester_error_i,  // the error - requester
    input  logic                  responder_error_valid_i,  // an error is offered - responder
    output logic                  responder_error_ready_o,  // it is taken - responder
    input  streams_pkg::ram_error_t responder_error_i,  // the error - responder
    input  logic                  local_strike_valid_i,  // an invalidation is offered - tx_sched
    output logic                  local_strike_ready_o,  // it is taken - tx_sched
    input  streams_pkg::ram_strike_t local_strike_i,  // the invalidation - tx_sched
    input  logic                  remote_strike_valid_i,  // an invalidation is offered - responder
    output logic                  remote_strike_ready_o,  // it is taken - responder
    input  streams_pkg::ram_strike_t remote_strike_i,  // the invalidation - responder
    output logic                  icm_fetch_valid_o,  // a read of host memory is there - dma_engine
    input  logic                  icm_fetch_ready_i,  // it is taken - dma_engine
    output streams_pkg::icm_fetch_t icm_fetch_o,  // the read - dma_engine
    output logic                  icm_fetch_push_o,  // a read becomes visible - dma_engine
    input  logic                  icm_done_valid_i,  // an answer is offered - dma_engine
    output logic                  icm_done_ready_o,  // it is taken - dma_engine
    input  streams_pkg::icm_answer_t icm_done_i,  // the answer - dma_engine
    output logic                  icm_store_valid_o,  // a write of it is there - dma_engine
    input  logic                  icm_store_ready_i,  // it is taken - dma_engine
    output streams_pkg::icm_store_t icm_store_o,  // the write - dma_engine
    output logic                  icm_store_push_o,  // a write becomes visible - dma_engine
    input  logic [4:0]            log_qps_i,  // log2 of the QPs - level
    input  logic [4:0]            log_cqs_i,  // log2 of the CQs - level
    input  logic [4:0]            log_mkeys_i,  // log2 of the keys - level
    input  logic [4:0]            log_mtts_i,  // log2 of the translation lines - level
    input  logic [4:0]            log_srqs_i,  // log2 of the SRQs - level
    input  logic [4:0]            log_eqs_i,  // log2 of the EQs - level
    input  logic                  host_memory_i,  // lines are in host memory - level
    input  logic [4:0]            log_sets_i,  // log2 of the cache's sets - level
    input  logic [6:0]            ways_i,  // ways of the cache - level
    input  logic [8:0]            misses_i,  // misses under way at most - level
    input  logic [63:0]           base_i,  // where host memory has the lines, 0: nowhere - level
    output logic [12*streams_pkg::RamBoundWidth-1:0] bounds_query_o,  // asked - partitions
    input  logic [11:0]           bounds_i,  // it reaches that - partitions
    input  logic                  content_ask_i,  // a line is looked at, after a run - bench
    input  streams_pkg::ram_query_t content_query_i,  // which - bench
    output streams_pkg::ram_image_t content_o,  // it, a cycle later - bench
    output logic                  busy_o  // an idle edge may change it - clock gate
);

  localparam int unsigned Readers = 12;
  localparam int unsigned PortWidth = 4;
  // A line's name: its kind and number, as wide as a word.
  localparam int unsigned IdWidth = 32;
  localparam int unsigned ReqWidth = streams_pkg::CtxReqWidth;
  localparam int unsigned RspWidth = streams_pkg::CtxRspWidth;
  // Room for the lines of its readers, of 8 bits each.
  localparam logic [7:0] Short = 8'(stages_pkg::QpcRamDepth);
  localparam logic [8*Readers-1:0] Depths = {
    Short,  // command
    Short,  // completion
    Short,  // requester
    8'(stages_pkg::QpcRamResponderLines),
    Short,  // payload
    Short,  // builder
    Short,  // uar
    8'(stages_pkg::WqeFetchLookups),
    8'(stages_pkg::WqeParserKeySlots),
    Short,  // parser
    Short,  // rx_responder
    Short  // rx_common
  };

  // The tables, one behind the other, and the cache's sets in the same memory.
  localparam int unsigned Qps = 1 << params_pkg::NicLogMaxQp;
  localparam int unsigned Cqs = 1 << params_pkg::NicLogMaxCq;
  localparam int unsigned Keys = 1 << params_pkg::NicLogMaxMkey;
  localparam int unsigned Mtts = 1 << params_pkg::NicLogMaxMttLines;
  localparam int unsigned Srqs = 1 << params_pkg::NicLogMaxSrq;
  localparam int unsigned Eqs = 1 << params_pkg::NicLogMaxEq;
  localparam int unsigned Total = 4 * Qps + Cqs + Keys + Mtts + Srqs + Eqs;
  localparam int unsigned Ways = params_pkg::NicIcmCacheWays;
  localparam int unsigned LogSets = $clog2(params_pkg::NicIcmCacheLines / Ways);
  localparam int unsigned CacheWidth = LogSets + $clog2(Ways);
  localparam int unsigned Lines = Total > 1 << CacheWidth ? Total : 1 << CacheWidth;
  localparam int unsigned LineWidth = $clog2(Lines);
  localparam int unsigned Registers = params_pkg::NicIcmMisses;
  localparam int unsigned RegisterWidth = $clog2(Registers);

  function automatic logic [LineWidth-1:0] line_of(input logic [IdWidth-1:0] id);
    case (id[27:24])
      streams_pkg::LineKindQpcCommon: line_of = '0;
      streams_pkg::LineKindQpcAddress: line_of = LineWidth'(Qps);
      streams_pkg::LineKindQpcRequester: line_of = LineWidth'(2 * Qps);
      streams_pkg::LineKindQpcResponder: line_of = LineWidth'(3 * Qps);
      streams_pkg::LineKindCqc: line_of = LineWidth'(4 * Qps);
      streams_pkg::LineKindMkey: line_of = LineWidth'(4 * Qps + Cqs);
      streams_pkg::LineKindMtt: line_of = LineWidth'(4 * Qps + Cqs + Keys);
      streams_pkg::LineKindSrq: line_of = LineWidth'(4 * Qps + Cqs + Keys + Mtts);
      default: line_of = LineWidth'(4 * Qps + Cqs + Keys + Mtts + Srqs);
    endcase
    line_of = line_of + LineWidth'(id[23:0]);
  endfunction

  // How many lines there are of each kind, and where in host memory each kind begins.
  logic [9*5-1:0] logs;
  logic [9*23-1:0] firsts;
  assign logs = {
    log_eqs_i, log_srqs_i, log_mtts_i, log_mkeys_i, log_cqs_i, {4{log_qps_i}}
  };
  always_comb begin
    firsts = '0;
    for (int unsigned k = 1; k < 9; k++) begin
      firsts[23*k+:23] = firsts[23*(k-1)+:23] + (23'd1 << logs[5*(k-1)+:5]);
    end
  end

  function automatic logic exists(input logic [IdWidth-1:0] id, input logic [9*5-1:0] of_kinds);
    exists = id[23:0] >> of_kinds[5*id[27:24]+:5] == '0;
  endfunction

  // Readers
  // ----------------------------------------------------------------------------------------------
  logic [Readers-1:0] read_valid, read_ready, line_valid, line_ready, line_push;
  logic [Readers*ReqWidth-1:0] reads;
  logic [Readers*RspWidth-1:0] lines;
  assign read_valid = {command_read_valid_i, completion_read_valid_i, requester_read_valid_i,
      responder_read_valid_i, payload_read_valid_i, builder_read_valid_i,
      uar_read_valid_i, fetch_read_valid_i, parser_key_read_valid_i,
      parser_read_valid_i, rx_responder_read_valid_i, rx_common_read_valid_i};
  assign reads = {command_read_i, completion_read_i, requester_read_i, responder_read_i,
      payload_read_i, builder_read_i, uar_read_i, fetch_read_i, parser_key_read_i,
      parser_read_i, rx_responder_read_i, rx_common_read_i};
  assign line_ready = {command_line_ready_i, completion_line_ready_i, requester_line_ready_i,
      responder_line_ready_i, payload_line_ready_i, builder_line_ready_i,
      uar_line_ready_i, fetch_line_ready_i, parser_key_line_ready_i,
      parser_line_ready_i, rx_responder_line_ready_i, rx_common_line_ready_i};
  assign {command_read_ready_o, completion_read_ready_o, requester_read_ready_o,
      responder_read_ready_o, payload_read_ready_o, builder_read_ready_o,
      uar_read_ready_o, fetch_read_ready_o, parser_key_read_ready_o,
      parser_read_ready_o, rx_responder_read_ready_o, rx_common_read_ready_o} = read_ready;
  assign {command_line_valid_o, completion_line_valid_o, requester_line_valid_o,
        responder_line_valid_o, payload_line_valid_o, builder_line_valid_o,
        uar_line_valid_o, fetch_line_valid_o, parser_key_line_valid_o,
        parser_line_valid_o, rx_responder_line_valid_o, rx_common_line_valid_o} = line_valid;
  assign {command_line_push_o, completion_line_push_o, requester_line_push_o,
      responder_line_push_o, payload_line_push_o, builder_line_push_o, uar_line_push_o,
      fetch_line_push_o, parser_key_line_push_o, parser_line_push_o,
      rx_responder_line_push_o, rx_common_line_push_o} = line_push;
  assign {command_line_o, completion_line_o, requester_line_o, responder_line_o,
      payload_line_o, builder_line_o, uar_line_o, fetch_line_o, parser_key_line_o,
      parser_line_o, rx_responder_line_o, rx_common_line_o} = lines;

  logic [Readers-1:0] room, waiting, front_empty, reader_busy;
  logic [Readers-1:0] take, to_wait, wait_empty, make_empty, serve;
  logic [Readers*32-1:0] front_traces, read_traces;
  logic [Readers*IdWidth-1:0] front_ids, read_ids;
  logic [Readers-1:0] read_exists;
  logic fail;
  logic [IdWidth-1:0] fail_id;
  logic [1:0] lane_push;
  logic [2*PortWidth-1:0] lane_port;
  logic [2*RspWidth-1:0] lane_line;
  for (genvar i = 0; i < Readers; i++) begin : gen_reader
    assign read_exists[i] = exists(read_ids[IdWidth*i+:IdWidth], logs);
    // A reader is granted one read a cycle, so only one of the lanes has a line for it.
    logic mine;
    assign mine = lane_push[1] && lane_port[PortWidth+:PortWidth] == PortWidth'(i);
    assign line_push[i] = mine || (lane_push[0] && lane_port[0+:PortWidth] == PortWidth'(i));
    qpc_ram_reader #(
        .Depth(32'(Depths[8*i+:8]))
    ) u_reader (
        .clk_i,
        .rst_ni,
        .take_i(take[i]),
        .request_i(reads[ReqWidth*i+:ReqWidth]),
        .trace_o(read_traces[32*i+:32]),
        .id_o(read_ids[IdWidth*i+:IdWidth]),
        .bound_o(bounds_query_o[streams_pkg::RamBoundWidth*i+:streams_pkg::RamBoundWidth]),
        .wait_i(to_wait[i]),
        .wait_empty_i(wait_empty[i]),
        .room_o(room[i]),
        .fail_i(fail),
        .fail_id_i(fail_id),
        .waiting_o(waiting[i]),
        .front_trace_o(front_traces[32*i+:32]),
        .front_id_o(front_ids[IdWidth*i+:IdWidth]),
        .front_empty_o(front_empty[i]),
        .empty_i(make_empty[i]),
        .serve_i(serve[i]),
        .push_i(line_push[i]),
        .push_data_i(mine ? lane_line[RspWidth+:RspWidth] : lane_line[0+:RspWidth]),
        .valid_o(line_valid[i]),
        .ready_i(line_ready[i]),
        .line_o(lines[RspWidth*i+:RspWidth]),
        .busy_o(reader_busy[i])
    );
  end

  // Host memory, misses, tags
  // ----------------------------------------------------------------------------------------------
  logic moved, nowhere, store_room, store, memory_busy;
  logic wanted, wanted_pop;
  logic [RegisterWidth-1:0] wanted_number;
  logic [IdWidth-1:0] wanted_id, place_id;
  logic [511:0] old_line;
  assign nowhere = base_i == '0;
  qpc_ram_memory #(
      .RegisterWidth(RegisterWidth)
  ) u_memory (
      .clk_i,
      .rst_ni,
      .base_i,
      .first_i(firsts),
      .moved_o(moved),
      .wanted_i(wanted),
      .wanted_number_i(wanted_number),
      .wanted_id_i(wanted_id),
      .wanted_pop_o(wanted_pop),
      .store_room_o(store_room),
      .store_i(store),
      .store_id_i(place_id),
      .store_data_i(old_line),
      .fetch_push_o(icm_fetch_push_o),
      .fetch_valid_o(icm_fetch_valid_o),
      .fetch_ready_i(icm_fetch_ready_i),
      .fetch_o(icm_fetch_o),
      .store_push_o(icm_store_push_o),
      .store_valid_o(icm_store_valid_o),
      .store_ready_i(icm_store_ready_i),
      .store_o(icm_store_o),
      .busy_o(memory_busy)
  );

  logic [1:0] write_found, free;
  logic write_room, miss_write, ready, ready_again, ready_dirty, ready_pop, misses_busy;
  logic [IdWidth-1:0] ready_id, write_id, command_id, responder_id, content_id;
  assign command_id = {4'd0, command_write_i.kind, command_write_i.index};
  assign responder_id = {4'd0, responder_write_i.kind, responder_write_i.index};
  assign content_id = {4'd0, content_query_i};
  logic [511:0] ready_data, write_data;
  logic [2*Readers-1:0] found, hits;
  logic [1:0] fetches;
  logic [2*IdWidth-1:0] fetch_ids;
  assign icm_done_ready_o = 1'b1;
  qpc_ram_misses #(
      .Registers(Registers),
      .Finds(2 * Readers)
  ) u_misses (
      .clk_i,
      .rst_ni,
      .registers_i(misses_i),
      .outdate_i(moved),
      .answer_i(icm_done_valid_i),
      .answer_data_i(icm_done_i),
      .fail_o(fail),
      .fail_id_o(fail_id),
      .write_find_i({responder_id, command_id}),
      .write_found_o(write_found),
      .write_room_o(write_room),
      .write_i(miss_write),
      .write_id_i(write_id),
      .write_data_i(write_data),
      .ready_o(ready),
      .ready_id_o(ready_id),
      .ready_again_o(ready_again),
      .ready_dirty_o(ready_dirty),
      .ready_data_o(ready_data),
      .ready_pop_i(ready_pop),
      .find_i({read_ids, front_ids}),
      .found_o(found),
      .free_o(free),
      .fetch_i(fetches),
      .fetch_id_i(fetch_ids),
      .wanted_o(wanted),
      .wanted_number_o(wanted_number),
      .wanted_id_o(wanted_id),
      .wanted_pop_i(wanted_pop),
      .busy_o(misses_busy)
  );

  logic [1:0] early_hit;
  logic [2*CacheWidth-1:0] early_lines;
  logic image_hit, image_dirty, place, place_valid, place_dirty, put, cache_write;
  logic [CacheWidth-1:0] image_line, place_line, cache_line;
  logic [2*Readers*CacheWidth-1:0] hit_lines;
  logic [1:0] use_read;
  logic [2*CacheWidth-1:0] use_lines;
  qpc_ram_tags #(
      .LogSets(LogSets),
      .Ways(Ways),
      .Looks(2 * Readers),
      .Keeps(Readers)
  ) u_tags (
      .clk_i,
      .rst_ni,
      .log_sets_i,
      .ways_i,
      .clear_i(moved),
      .early_id_i({responder_id, command_id}),
      .early_hit_o(early_hit),
      .early_line_o(early_lines),
      .image_id_i(content_id),
      .image_hit_o(image_hit),
      .image_line_o(image_line),
      .image_dirty_o(image_dirty),
      .put_id_i(ready_id),
      .keep_i(waiting & ~front_empty),
      .keep_id_i(front_ids),
      .place_o(place),
      .place_line_o(place_line),
      .place_valid_o(place_valid),
      .place_dirty_o(place_dirty),
      .place_id_o(place_id),
      .put_i(put),
      .put_dirty_i(ready_dirty),
      .dirty_i(cache_write),
      .dirty_line_i(cache_line),
      .look_id_i({read_ids, front_ids}),
      .look_hit_o(hits),
      .look_line_o(hit_lines),
      .use_i({use_read, put || cache_write}),
      .use_line_i({use_lines, put ? place_line : cache_line})
  );

  // The cycle's write: of the first writer that need not wait for a register.
  // ----------------------------------------------------------------------------------------------
  logic [1:0] writes, write_exists, write_free, write_ready;
  logic write_taken, write_line, write_stalled, write_which;
  assign writes = {responder_write_valid_i, command_write_valid_i};
  assign write_exists = {
    exists(responder_id, logs),
    exists(command_id, logs)
  };
  assign write_free = host_memory_i ? ~write_exists | early_hit | write_found | {2{write_room}} :
      2'b11;
  assign write_which = !(writes[0] && write_free[0]);
  assign write_ready = {write_free[1] && write_which, write_free[0]};
  assign {responder_write_ready_o, command_write_ready_o} = write_ready;
  assign write_taken = (writes & write_ready) != '0;
  // A write behind one that was taken does not ask for a register.
  assign write_stalled = (writes[0] && !write_free[0]) ||
      (writes[1] && write_which && !write_free[1]);
  assign write_id = write_which ? responder_id : command_id;
  assign write_data = write_which ? responder_write_i.data : command_write_i.data;
  assign write_line = write_taken && write_exists[write_which];
  assign cache_write = host_memory_i && write_line && early_hit[write_which];
  assign cache_line = early_lines[CacheWidth*write_which+:CacheWidth];
  assign miss_write = host_memory_i && write_line && !early_hit[write_which];

  // A line goes into the cache, and another one back to host memory to make room.
  logic write_back;
  assign write_back = place_valid && place_dirty && !nowhere;
  assign put = ready && !cache_write && place && !ready_again && !(write_back && !store_room);
  assign ready_pop = put || (ready && !cache_write && place && ready_again);
  assign store = put && write_back;

  // Reads
  // ----------------------------------------------------------------------------------------------
  logic [1:0] grants, oks;
  logic [2*PortWidth-1:0] grant_ports;
  logic [2*32-1:0] grant_traces;
  logic [2*IdWidth-1:0] grant_ids;
  qpc_ram_grants #(
      .Readers(Readers),
      .PortWidth(PortWidth),
      .CacheWidth(CacheWidth)
  ) u_grants (
      .host_memory_i,
      .nowhere_i(nowhere),
      .spared_i(host_memory_i && write_stalled),
      .free_i(free),
      .waiting_i(waiting),
      .front_empty_i(front_empty),
      .front_trace_i(front_traces),
      .front_id_i(front_ids),
      .valid_i(read_valid),
      .room_i(room),
      .reaches_i(bounds_i & read_exists),
      .trace_i(read_traces),
      .id_i(read_ids),
      .hit_i(hits),
      .line_i(hit_lines),
      .found_i(found),
      .serve_o(serve),
      .make_empty_o(make_empty),
      .ready_o(read_ready),
      .wait_o(to_wait),
      .wait_empty_o(wait_empty),
      .fetch_o(fetches),
      .fetch_id_o(fetch_ids),
      .grant_o(grants),
      .ok_o(oks),
      .port_o(grant_ports),
      .grant_trace_o(grant_traces),
      .grant_id_o(grant_ids),
      .use_o(use_read),
      .use_line_o(use_lines)
  );
  assign take = read_ready;

  // ----------------------------------------------------------------------------------------------
  // The lines and their marks
  // ----------------------------------------------------------------------------------------------
  logic ram_write;
  logic [LineWidth-1:0] ram_line;
  logic [2*LineWidth-1:0] grant_lines;
  logic [LineWidth-1:0] chip_line;
  logic [2*512-1:0] ram_data;
  logic [2:0] known;
  logic [1:0] zeros;
  assign chip_line = line_of(write_id);
  assign ram_write = host_memory_i ? cache_write || put : write_line;
  assign ram_line = host_memory_i ? put ? LineWidth'(place_line) :
      LineWidth'(cache_line) : chip_line;
  for (genvar g = 0; g < 2; g++) begin : gen_grant
    assign grant_lines[LineWidth*g+:LineWidth] = host_memory_i ?
        LineWidth'(use_lines[CacheWidth*g+:CacheWidth]) : line_of(grant_ids[IdWidth*g+:IdWidth]);
    assign zeros[g] = !host_memory_i && !known[g] &&
        !(write_line && chip_line == grant_lines[LineWidth*g+:LineWidth]);
  end
  qpc_ram_lines #(
      .Lines(Lines)
  ) u_lines (
      .clk_i,
      .write_i(ram_write),
      .write_line_i(ram_line),
      .write_data_i(put ? ready_data : write_data),
      .read_a_i(grants[0] && oks[0]),
      .line_a_i(grant_lines[0+:LineWidth]),
      .data_a_o(ram_data[0+:512]),
      .read_b_i(grants[1] && oks[1]),
      .line_b_i(grant_lines[LineWidth+:LineWidth]),
      .data_b_o(ram_data[512+:512]),
      .old_i(store || content_ask_i),
      .old_line_i(!content_ask_i ? LineWidth'(place_line) :
                  host_memory_i ? LineWidth'(image_line) : line_of(content_id)),
      .old_data_o(old_line)
  );

  // On the chip a line that was never written reads as zeros.
  qpc_ram_bits #(
      .Count(Lines),
      .Updates(1),
      .Reads(3)
  ) u_known (
      .clk_i,
      .rst_ni,
      .clear_i(1'b0),
      .update_i(write_line && !host_memory_i),
      .index_i(chip_line),
      .value_i(1'b1),
      .read_i({line_of(content_id), grant_lines}),
      .bit_o(known)
  );

  logic [2*IdWidth-1:0] look_ids;
  logic [2:0] look_error, look_send_error, look_struck, look_alive;
  qpc_ram_marks #(
      .LogQps(params_pkg::NicLogMaxQp),
      .LogKeys(params_pkg::NicLogMaxMkey),
      .Looks(3)
  ) u_marks (
      .clk_i,
      .rst_ni,
      .log_qps_i,
      .log_keys_i(log_mkeys_i),
      .error_i({responder_error_valid_i, requester_error_valid_i}),
      .error_qpn_i({responder_error_i.qpn, requester_error_i.qpn}),
      .error_send_i({responder_error_i.send_queue_only, requester_error_i.send_queue_only}),
      .strike_i({remote_strike_valid_i, local_strike_valid_i}),
      .strike_key_i({remote_strike_i.index, local_strike_i.index}),
      .write_i(write_line),
      .write_id_i(write_id),
      .state_i(write_data[511:509]),
      .look_i({content_id, look_ids}),
      .error_o(look_error),
      .send_error_o(look_send_error),
      .struck_o(look_struck),
      .alive_o(look_alive)
  );
  assign requester_error_ready_o = 1'b1;
  assign responder_error_ready_o = 1'b1;
  assign local_strike_ready_o = 1'b1;
  assign remote_strike_ready_o = 1'b1;

  logic [1:0] lane_busy;
  for (genvar g = 0; g < 2; g++) begin : gen_lane
    qpc_ram_lane #(
        .PortWidth(PortWidth)
    ) u_lane (
        .clk_i,
        .rst_ni,
        .grant_i(grants[g]),
        .port_i(grant_ports[PortWidth*g+:PortWidth]),
        .trace_i(grant_traces[32*g+:32]),
        .id_i(grant_ids[IdWidth*g+:IdWidth]),
        .ok_i(oks[g]),
        .zero_i(zeros[g]),
        .data_i(ram_data[512*g+:512]),
        .write_i(write_line),
        .write_id_i(write_id),
        .write_data_i(write_data),
        .look_o(look_ids[IdWidth*g+:IdWidth]),
        .error_i(look_error[g]),
        .send_error_i(look_send_error[g]),
        .struck_i(look_struck[g]),
        .push_o(lane_push[g]),
        .port_o(lane_port[PortWidth*g+:PortWidth]),
        .line_o(lane_line[RspWidth*g+:RspWidth]),
        .busy_o(lane_busy[g])
    );
  end

  // A look at what is remembered, when a run has ended
  // ----------------------------------------------------------------------------------------------
  streams_pkg::ram_image_t image_q;
  logic image_known_q;
  always_ff @(posedge clk_i) begin
    if (content_ask_i) begin
      image_q.held       <= !host_memory_i || image_hit;
      image_q.dirty      <= host_memory_i && image_dirty;
      image_q.error      <= look_error[2];
      image_q.send_error <= look_send_error[2];
      image_q.alive      <= look_alive[2];
      image_q.struck     <= look_struck[2];
      image_q.data       <= '0;
      image_known_q      <= host_memory_i ? image_hit : known[2];
    end
  end
  always_comb begin
    content_o      = image_q;
    content_o.data = image_known_q ? old_line : '0;
  end

  assign busy_o = reader_busy != '0 || lane_busy != '0 || misses_busy || memory_busy;

  `CARILLON_ASSERT_STREAM(rx_common_line)
  `CARILLON_ASSERT_STREAM(rx_responder_line)
  `CARILLON_ASSERT_STREAM(parser_line)
  `CARILLON_ASSERT_STREAM(parser_key_line)
  `CARILLON_ASSERT_STREAM(fetch_line)
  `CARILLON_ASSERT_STREAM(uar_line)
  `CARILLON_ASSERT_STREAM(builder_line)
  `CARILLON_ASSERT_STREAM(payload_line)
  `CARILLON_ASSERT_STREAM(responder_line)
  `CARILLON_ASSERT_STREAM(requester_line)
  `CARILLON_ASSERT_STREAM(completion_line)
  `CARILLON_ASSERT_STREAM(command_line)
  `CARILLON_ASSERT_STREAM(icm_fetch)
  `CARILLON_ASSERT_STREAM(icm_store)

endmodule
