// uar: doorbells and BlueFlame bursts of the UAR pages, checked for ownership by a lookup of the
// QP's context; doorbells of CQs and EQs; reads. Cycle by cycle the same as model/uar.cpp;
// docs/stages/uar.md has the timing.
//
// A store is taken in a cycle and, if it completes something, sends a lookup in the same; the
// doorbell leaves a fixed time after the line came.
`include "assertions.svh"

module uar (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [3:0]  log_pages_i,       // pages of a function, as a power of two - configuration
    input logic [4:0]  bf_slots_i,        // bursts under assembly, at most - configuration
    input logic [26:0] bf_timeout_i,      // cycles that a burst may take - configuration
    input logic [7:0]  writes_waiting_i,  // writes at their port, the offered one too - pcie_rx

    input  logic                    ctx_line_valid_i,  // a QP's context - qpc_ram
    output logic                    ctx_line_ready_o,  // it is taken - qpc_ram
    input  streams_pkg::ctx_rsp_t   ctx_line_i,        // the line - qpc_ram

    input  logic                          write_valid_i,  // a store into a page - pcie_rx
    output logic                          write_ready_o,  // it is taken - pcie_rx
    input  streams_pkg::mmio_write_beat_t write_i,        // the store - pcie_rx

    input  logic                         read_valid_i,  // a load from a page - pcie_rx
    output logic                         read_ready_o,  // it is taken - pcie_rx
    input  streams_pkg::mmio_read_beat_t read_i,        // the load - pcie_rx

    output logic                    ctx_read_valid_o,  // read of a QP's context - qpc_ram
    input  logic                    ctx_read_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t   ctx_read_o,        // which line - qpc_ram
    output logic                    ctx_read_push_o,   // it enters the stream - monitor

    output logic                        doorbell_valid_o,  // a doorbell or a WQE - wqe_fetch
    input  logic                        doorbell_ready_i,  // it is taken - wqe_fetch
    output streams_pkg::doorbell_beat_t doorbell_o,        // the doorbell - wqe_fetch
    output logic                        doorbell_push_o,   // it enters the stream - monitor

    output logic                              queue_doorbell_valid_o,  // of a CQ or EQ - completion
    input  logic                              queue_doorbell_ready_i,  // it is taken - completion
    output streams_pkg::queue_doorbell_beat_t queue_doorbell_o,        // the doorbell - completion
    output logic                              queue_doorbell_push_o,   // it enters - monitor

    output logic                           answer_valid_o,  // answer to a load - dma_engine
    input  logic                           answer_ready_i,  // it is taken - dma_engine
    output streams_pkg::mmio_answer_beat_t answer_o,        // the answer - dma_engine
    output logic                           answer_push_o,   // it enters the stream - monitor

    output logic busy_o  // 0: an edge without a transfer changes no flop - clock gate
);

  localparam int unsigned Lookups = stages_pkg::UarLookups;
  localparam int unsigned Depth = stages_pkg::UarDepth;
  localparam int unsigned CtxReadDepth = stages_pkg::UarCtxReadDepth;
  localparam int unsigned AnswerDepth = stages_pkg::UarAnswerDepth;
  localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages);

  // From the context line to the doorbell visible; a result is written in the cycle before.
  localparam int unsigned CheckCycles = stages_pkg::UarLatency - stages_pkg::QpcRamLatency;
  // A burst, a lookup or a doorbell on its way may hold a WQE.
  localparam int unsigned Buffers = stages_pkg::UarBursts + Lookups + 2 * (CheckCycles - 1);
  localparam int unsigned BufferWidth = $clog2(Buffers);

  localparam int unsigned CountWidth = $clog2(Lookups + stages_pkg::UarBursts + 1);
  localparam int unsigned CreditWidth = $clog2(Depth + 1);
  localparam int unsigned CtxCreditWidth = $clog2(CtxReadDepth + 1);
  localparam int unsigned AnswerCreditWidth = $clog2(AnswerDepth + 1);

  logic [CreditWidth-1:0] doorbell_credits, queue_credits;
  logic [CtxCreditWidth-1:0] ctx_credits;
  logic [AnswerCreditWidth-1:0] answer_credits;
  logic [CountWidth-1:0] lookups, lookups_left;
  logic line_take, write_take;

  // ------------------------------------------------------------------------------------------
  // stores

  // A store may lead to two lookups, or to a doorbell of a CQ or EQ: which, is known when it is
  // taken.
  assign lookups_left = lookups - CountWidth'(line_take);
  assign write_ready_o = lookups_left + CountWidth'(2) <= CountWidth'(Lookups) &&
                         queue_credits != '0;
  assign write_take = write_valid_i && write_ready_o;

  logic [11:0] offset;
  logic is_cq, is_eq, arms;
  wqe_pkg::cq_doorbell_t cq;
  wqe_pkg::eq_doorbell_t eq;
  assign offset = write_i.offset[11:0];
  assign arms = offset == 12'(registers_pkg::UarPageEqDbArm);
  assign is_cq = offset == 12'(registers_pkg::UarPageCqDb) &&
                 write_i.length == 16'(wqe_pkg::CqDoorbellBytes);
  assign is_eq = (arms || offset == 12'(registers_pkg::UarPageEqDb)) &&
                 write_i.length == 16'(wqe_pkg::EqDoorbellBytes);
  assign cq = write_i.data[511 -: 64];
  assign eq = write_i.data[511 -: 32];

  streams_pkg::queue_doorbell_beat_t queue_bell;
  logic queue_take, queue_busy;
  assign queue_take = write_take && (is_cq || is_eq);
  always_comb begin
    queue_bell             = '0;
    queue_bell.trace_id    = write_i.trace_id;
    queue_bell.function_id = write_i.function_id;
    queue_bell.uar_page    = 24'(write_i.offset[31:12]);
    if (is_cq) begin
      queue_bell.solicited_only = cq.arm_solicited;
      queue_bell.arm_sn         = cq.arm_sn;
      queue_bell.number         = cq.cqn;
      queue_bell.consumer_index = cq.consumer_index;
    end else begin
      queue_bell.eq             = 1'b1;
      queue_bell.arm            = arms;
      queue_bell.number         = 24'(eq.eqn);
      queue_bell.consumer_index = eq.consumer_index;
    end
  end

  logic queue_push;
  streams_pkg::queue_doorbell_beat_t queue_in;
  credit_pipe #(
      .Width (streams_pkg::QueueDoorbellBeatWidth),
      .Stages(CheckCycles - 1)
  ) u_queue_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(queue_take),
      .data_i (queue_bell),
      .valid_o(queue_push),
      .data_o (queue_in),
      .busy_o (queue_busy)
  );

  logic timeout_event, first_event, second_event, second_blueflame;
  logic [15:0] timeout_function_id;
  logic [19:0] timeout_page;
  logic [63:0] timeout_record, first_record, second_record;
  logic [31:0] timeout_trace_id, first_trace_id, second_trace_id;
  logic [BufferWidth-1:0] second_buffer, store_buffer, line_buffer, leave_buffer;
  logic [7:0] store_lanes;
  logic [1:0] store_line;
  logic [511:0] store_data;
  logic refuse, leave, bursts_busy;

  uar_bursts #(
      .Buffers(Buffers)
  ) u_bursts (
      .clk_i,
      .rst_ni,
      .log_pages_i,
      .bf_slots_i,
      .bf_timeout_i,
      .take_i               (write_take && !queue_take),
      .write_i,
      .timeout_o            (timeout_event),
      .timeout_function_id_o(timeout_function_id),
      .timeout_page_o       (timeout_page),
      .timeout_record_o     (timeout_record),
      .timeout_trace_id_o   (timeout_trace_id),
      .first_o              (first_event),
      .first_record_o       (first_record),
      .first_trace_id_o     (first_trace_id),
      .second_o             (second_event),
      .second_record_o      (second_record),
      .second_trace_id_o    (second_trace_id),
      .second_blueflame_o   (second_blueflame),
      .second_buffer_o      (second_buffer),
      .store_lanes_o        (store_lanes),
      .store_buffer_o       (store_buffer),
      .store_line_o         (store_line),
      .store_data_o         (store_data),
      .refuse_i             (refuse),
      .refuse_buffer_i      (line_buffer),
      .leave_i              (leave),
      .leave_buffer_i       (leave_buffer),
      .busy_o               (bursts_busy)
  );

  // ------------------------------------------------------------------------------------------
  // lookups

  streams_pkg::ctx_req_t request;
  logic request_push, lookups_busy;
  logic [15:0] line_function_id;
  logic [19:0] line_page;
  logic [63:0] line_record;
  logic line_blueflame;
  assign request.kind = streams_pkg::LineKindQpcCommon;
  uar_lookups #(
      .Buffers(Buffers)
  ) u_lookups (
      .clk_i,
      .rst_ni,
      .timeout_i            (timeout_event),
      .timeout_function_id_i(timeout_function_id),
      .timeout_page_i       (timeout_page),
      .timeout_record_i     (timeout_record),
      .timeout_trace_id_i   (timeout_trace_id),
      .write_function_id_i  (write_i.function_id),
      .write_page_i         (write_i.offset[31:12]),
      .first_i              (first_event),
      .first_record_i       (first_record),
      .first_trace_id_i     (first_trace_id),
      .second_i             (second_event),
      .second_record_i      (second_record),
      .second_trace_id_i    (second_trace_id),
      .second_blueflame_i   (second_blueflame),
      .second_buffer_i      (second_buffer),
      .send_ready_i         (ctx_credits != '0),
      .send_valid_o         (request_push),
      .send_trace_id_o      (request.trace_id),
      .send_qpn_o           (request.index),
      .send_function_id_o   (request.function_id),
      .line_take_i          (line_take),
      .line_function_id_o   (line_function_id),
      .line_page_o          (line_page),
      .line_record_o        (line_record),
      .line_blueflame_o     (line_blueflame),
      .line_buffer_o        (line_buffer),
      .count_o              (lookups),
      .busy_o               (lookups_busy)
  );

  // ------------------------------------------------------------------------------------------
  // check

  contexts_pkg::qpc_common_t qpc;
  wqe_pkg::doorbell_word_t line_word;
  logic owned, accept;
  assign qpc = ctx_line_i.data;
  assign line_word = line_record;
  assign ctx_line_ready_o = doorbell_credits != '0;
  assign line_take = ctx_line_valid_i && ctx_line_ready_o;
  assign owned = ctx_line_i.valid && qpc.valid && qpc.function_id == line_function_id &&
                 qpc.uar_page == 24'(line_page);
  assign accept = line_take && owned;
  assign refuse = line_take && !owned && line_blueflame;

  typedef struct packed {
    logic [31:0]            trace_id;
    logic [15:0]            function_id;
    logic [23:0]            qpn;
    logic [15:0]            wqe_index;
    logic [5:0]             ds;
    logic [BufferWidth-1:0] buffer;
  } bell_t;

  bell_t bell, left;
  logic bells_busy, left_blueflame;
  always_comb begin
    bell.trace_id    = ctx_line_i.trace_id;
    bell.function_id = line_function_id;
    bell.qpn         = line_word.qpn;
    bell.wqe_index   = line_word.wqe_index;
    bell.ds          = line_word.ds;
    bell.buffer      = line_buffer;
  end
  uar_bells #(
      .Width ($bits(bell)),
      .Stages(CheckCycles - 1)
  ) u_bells (
      .clk_i,
      .rst_ni,
      .valid_i    (accept),
      .blueflame_i(line_blueflame),
      .data_i     (bell),
      .valid_o    (doorbell_push_o),
      .blueflame_o(left_blueflame),
      .data_o     (left),
      .busy_o     (bells_busy)
  );
  assign leave = doorbell_push_o && left_blueflame;
  assign leave_buffer = left.buffer;

  logic [2047:0] wqe;
  uar_store #(
      .Buffers(Buffers)
  ) u_store (
      .clk_i,
      .write_lanes_i (store_lanes),
      .write_buffer_i(store_buffer),
      .write_line_i  (store_line),
      .write_data_i  (store_data),
      .read_buffer_i (leave_buffer),
      .read_data_o   (wqe)
  );

  // Of a buffer, the WQE's 64-byte blocks.
  streams_pkg::doorbell_beat_t doorbell_in;
  always_comb begin
    doorbell_in.trace_id    = left.trace_id;
    doorbell_in.function_id = left.function_id;
    doorbell_in.qpn         = left.qpn;
    doorbell_in.wqe_index   = left.wqe_index;
    doorbell_in.ds          = left.ds;
    doorbell_in.blueflame   = left_blueflame;
    doorbell_in.data        = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      if (left_blueflame && (i == 0 || left.ds > 6'(4 * i))) begin
        doorbell_in.data[2047 - 512 * i -: 512] = wqe[2047 - 512 * i -: 512];
      end
    end
  end

  // ------------------------------------------------------------------------------------------
  // reads

  logic [RowWidth-1:0] line_row;
  logic reads_busy, answer_push;
  streams_pkg::mmio_answer_beat_t answer_in;
  uar_row u_line_row (
      .function_id_i(line_function_id),
      .page_i       (line_page),
      .log_pages_i,
      .row_o        (line_row)
  );
  uar_reads #(
      .CountWidth(CountWidth)
  ) u_reads (
      .clk_i,
      .rst_ni,
      .log_pages_i,
      .writes_waiting_i,
      .write_take_i   (write_take),
      .lookups_i      (lookups),
      .line_take_i    (line_take),
      .timeout_event_i(timeout_event),
      .write_events_i (2'(first_event) + 2'(second_event)),
      .accept_i       (accept),
      .accept_row_i   (line_row),
      .accept_record_i(line_record),
      .read_valid_i,
      .read_ready_o,
      .read_i,
      .answer_credit_i(answer_credits != '0),
      .answer_push_o  (answer_push),
      .answer_o       (answer_in),
      .busy_o         (reads_busy)
  );

  // ------------------------------------------------------------------------------------------
  // streams and credits

  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(CtxReadDepth)
  ) u_ctx_read (
      .clk_i,
      .rst_ni,
      .push_i (request_push),
      .data_i (request),
      .valid_o(ctx_read_valid_o),
      .ready_i(ctx_read_ready_i),
      .data_o (ctx_read_o)
  );
  stream_fifo #(
      .Width(streams_pkg::DoorbellBeatWidth),
      .Depth(Depth)
  ) u_doorbell (
      .clk_i,
      .rst_ni,
      .push_i (doorbell_push_o),
      .data_i (doorbell_in),
      .valid_o(doorbell_valid_o),
      .ready_i(doorbell_ready_i),
      .data_o (doorbell_o)
  );
  stream_fifo #(
      .Width(streams_pkg::QueueDoorbellBeatWidth),
      .Depth(Depth)
  ) u_queue_doorbell (
      .clk_i,
      .rst_ni,
      .push_i (queue_push),
      .data_i (queue_in),
      .valid_o(queue_doorbell_valid_o),
      .ready_i(queue_doorbell_ready_i),
      .data_o (queue_doorbell_o)
  );
  stream_fifo #(
      .Width(streams_pkg::MmioAnswerBeatWidth),
      .Depth(AnswerDepth)
  ) u_answer (
      .clk_i,
      .rst_ni,
      .push_i (answer_push),
      .data_i (answer_in),
      .valid_o(answer_valid_o),
      .ready_i(answer_ready_i),
      .data_o (answer_o)
  );

  credit_counter #(
      .Depth(CtxReadDepth)
  ) u_ctx_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CtxCreditWidth'(request_push)),
      .taken_i  (ctx_read_valid_o && ctx_read_ready_i),
      .credits_o(ctx_credits)
  );
  credit_counter #(
      .Depth(Depth)
  ) u_doorbell_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(accept)),
      .taken_i  (doorbell_valid_o && doorbell_ready_i),
      .credits_o(doorbell_credits)
  );
  credit_counter #(
      .Depth(Depth)
  ) u_queue_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(queue_take)),
      .taken_i  (queue_doorbell_valid_o && queue_doorbell_ready_i),
      .credits_o(queue_credits)
  );
  credit_counter #(
      .Depth(AnswerDepth)
  ) u_answer_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (AnswerCreditWidth'(read_valid_i && read_ready_o)),
      .taken_i  (answer_valid_o && answer_ready_i),
      .credits_o(answer_credits)
  );

  assign ctx_read_push_o = request_push;
  assign queue_doorbell_push_o = queue_push;
  assign answer_push_o = answer_push;
  assign busy_o = bursts_busy || lookups_busy || queue_busy || bells_busy || reads_busy;

  `CARILLON_ASSERT_STREAM(ctx_read)
  `CARILLON_ASSERT_STREAM(doorbell)
  `CARILLON_ASSERT_STREAM(queue_doorbell)
  `CARILLON_ASSERT_STREAM(answer)

endmodule
