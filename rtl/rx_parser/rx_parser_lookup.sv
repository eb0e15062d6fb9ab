// ST_CTX_LOOKUP, the way out: packets ask for their QP's lines in order, one a cycle, requests of a
// QP one after the other. A lookup needs a place in both streams.
`include "assertions.svh"

module rx_parser_lookup (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic        push_i,      // a packet has passed ST_BTH - ST_BTH
    input logic [31:0] trace_id_i,  // its message - ST_BTH
    input logic [23:0] qpn_i,       // its QP - ST_BTH
    input logic        request_i,   // it is a request - ST_BTH

    input logic        commit_i,      // a request was decided - commits
    input logic [23:0] commit_qpn_i,  // of which QP - commits
    input logic        drop_i,        // a request was dropped - verdict
    input logic [23:0] drop_qpn_i,    // of which QP - verdict

    output logic                  common_valid_o,     // read of a common line - qpc_ram
    input  logic                  common_ready_i,     // it is taken - qpc_ram
    output streams_pkg::ctx_req_t common_o,           // which - qpc_ram
    output logic                  common_push_o,      // it enters the stream - monitor
    output logic                  responder_valid_o,  // read of a responder line - qpc_ram
    input  logic                  responder_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ctx_req_t responder_o,        // which - qpc_ram
    output logic                  responder_push_o    // it enters the stream - monitor
);

  localparam int unsigned Slots = stages_pkg::RxParserSlots;
  localparam int unsigned ReadDepth = stages_pkg::RxParserReadDepth;
  localparam int unsigned CreditWidth = $clog2(ReadDepth + 1);

  typedef struct packed {
    logic [31:0] trace_id;
    logic [23:0] qpn;
    logic        request;
  } lookup_t;
  localparam int unsigned LookupWidth = 57;

  lookup_t pushed, front;
  logic front_valid, issue;
  assign pushed = {trace_id_i, qpn_i, request_i};

  rx_parser_queue #(
      .Width(LookupWidth),
      .Depth(Slots)
  ) u_waiting (
      .clk_i,
      .rst_ni,
      .push_i,
      .data_i (pushed),
      .valid_o(front_valid),
      .pop_i  (issue),
      .data_o (front)
  );

  logic free;
  rx_parser_busy #(
      .Entries(stages_pkg::RxParserUndecided)
  ) u_busy (
      .clk_i,
      .rst_ni,
      .asked_i(front.qpn),
      .free_o (free),
      .enter_i(issue && front.request),
      .commit_i,
      .commit_qpn_i,
      .drop_i,
      .drop_qpn_i
  );

  logic [CreditWidth-1:0] common_credits, responder_credits;
  assign issue = front_valid && (free || !front.request) && common_credits != '0 &&
                 responder_credits != '0;
  assign common_push_o = issue;
  assign responder_push_o = issue && front.request;

  credit_counter #(
      .Depth(ReadDepth)
  ) u_common_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(common_push_o)),
      .taken_i  (common_valid_o && common_ready_i),
      .credits_o(common_credits)
  );

  credit_counter #(
      .Depth(ReadDepth)
  ) u_responder_credits (
      .clk_i,
      .rst_ni,
      .spend_i  (CreditWidth'(responder_push_o)),
      .taken_i  (responder_valid_o && responder_ready_i),
      .credits_o(responder_credits)
  );

  // On the chip's own behalf: behind the lookup the owner is compared.
  streams_pkg::ctx_req_t common_read, responder_read;
  always_comb begin
    common_read.trace_id    = front.trace_id;
    common_read.kind        = streams_pkg::LineKindQpcCommon;
    common_read.index       = front.qpn;
    common_read.function_id = '0;
    responder_read          = common_read;
    responder_read.kind     = streams_pkg::LineKindQpcResponder;
  end

  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(ReadDepth)
  ) u_common (
      .clk_i,
      .rst_ni,
      .push_i (common_push_o),
      .data_i (common_read),
      .valid_o(common_valid_o),
      .ready_i(common_ready_i),
      .data_o (common_o)
  );

  stream_fifo #(
      .Width(streams_pkg::CtxReqWidth),
      .Depth(ReadDepth)
  ) u_responder (
      .clk_i,
      .rst_ni,
      .push_i (responder_push_o),
      .data_i (responder_read),
      .valid_o(responder_valid_o),
      .ready_i(responder_ready_i),
      .data_o (responder_o)
  );

endmodule
