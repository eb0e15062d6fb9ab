// The lookups of QP contexts, in order: those under way and those that wait to be sent. A burst
// that times out may lead to one whatever else is under way, a write to two; so there is a place
// for every lookup and every open burst.
`include "assertions.svh"

module uar_lookups #(
    parameter  int unsigned Buffers = 8,
    localparam int unsigned BufferWidth = $clog2(Buffers),
    localparam int unsigned Lookups = stages_pkg::UarLookups,
    localparam int unsigned Depth = Lookups + stages_pkg::UarBursts,
    localparam int unsigned CountWidth = $clog2(Depth + 1)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic        timeout_i,              // a burst became a doorbell by time - bursts
    input logic [15:0] timeout_function_id_i,  // of this function - bursts
    input logic [19:0] timeout_page_i,         // of this page - bursts
    input logic [63:0] timeout_record_i,       // with this control segment - bursts
    input logic [31:0] timeout_trace_id_i,     // message of its first chunk - bursts

    input logic [15:0] write_function_id_i,  // whose page was written - uar
    input logic [19:0] write_page_i,         // which one - uar

    input logic        first_i,           // a burst became a doorbell by the write - bursts
    input logic [63:0] first_record_i,    // with this control segment - bursts
    input logic [31:0] first_trace_id_i,  // message of its first chunk - bursts

    input logic                   second_i,            // the write's own event - bursts
    input logic [63:0]            second_record_i,     // its control segment - bursts
    input logic [31:0]            second_trace_id_i,   // its message - bursts
    input logic                   second_blueflame_i,  // with a WQE - bursts
    input logic [BufferWidth-1:0] second_buffer_i,     // which is here - bursts

    input  logic        send_ready_i,        // there is room for a read - uar
    output logic        send_valid_o,        // a read is sent - uar
    output logic [31:0] send_trace_id_o,     // its message - uar
    output logic [23:0] send_qpn_o,          // of this QP - uar
    output logic [15:0] send_function_id_o,  // on behalf of - uar

    input  logic                   line_take_i,         // the oldest is answered - uar
    output logic [15:0]            line_function_id_o,  // whose page rang - uar
    output logic [19:0]            line_page_o,         // which one - uar
    output logic [63:0]            line_record_o,       // the control segment - uar
    output logic                   line_blueflame_o,    // with a WQE - uar
    output logic [BufferWidth-1:0] line_buffer_o,       // which is here - uar

    output logic [CountWidth-1:0] count_o,  // lookups that are not answered - uar
    output logic                  busy_o    // some wait to be sent - uar
);

  localparam int unsigned PtrWidth = $clog2(Depth);

  typedef struct packed {
    logic [15:0]            function_id;
    logic [19:0]            page;
    logic [63:0]            record;
    logic [31:0]            trace_id;
    logic                   blueflame;
    logic [BufferWidth-1:0] buffer;
  } lookup_t;

  lookup_t timed, first, second, sent, oldest;
  logic [$bits(sent)-1:0] lookup_mem[Depth];
  logic [PtrWidth-1:0] tail_q, send_q, head_q;
  logic [CountWidth-1:0] waiting_q, flying_q, flying;
  logic send;

  always_comb begin
    timed              = '0;
    timed.function_id  = timeout_function_id_i;
    timed.page         = timeout_page_i;
    timed.record       = timeout_record_i;
    timed.trace_id     = timeout_trace_id_i;
    first              = '0;
    first.function_id  = write_function_id_i;
    first.page         = write_page_i;
    first.record       = first_record_i;
    first.trace_id     = first_trace_id_i;
    second.function_id = write_function_id_i;
    second.page        = write_page_i;
    second.record      = second_record_i;
    second.trace_id    = second_trace_id_i;
    second.blueflame   = second_blueflame_i;
    second.buffer      = second_buffer_i;
  end

  logic [PtrWidth-1:0] at_first, at_second;
  logic [CountWidth-1:0] more;
  assign at_first = tail_q + PtrWidth'(timeout_i);
  assign at_second = at_first + PtrWidth'(first_i);
  assign more = CountWidth'(timeout_i) + CountWidth'(first_i) + CountWidth'(second_i);

  // What came in this cycle leaves in it if nothing waits.
  assign flying = flying_q - CountWidth'(line_take_i);
  assign send = send_ready_i && flying < CountWidth'(Lookups) && (waiting_q != '0 || more != '0);
  always_comb begin
    if (waiting_q != '0) begin
      sent = lookup_mem[send_q];
    end else if (timeout_i) begin
      sent = timed;
    end else if (first_i) begin
      sent = first;
    end else begin
      sent = second;
    end
  end

  wqe_pkg::doorbell_word_t sent_word;
  assign sent_word = sent.record;
  assign send_valid_o = send;
  assign send_trace_id_o = sent.trace_id;
  assign send_qpn_o = sent_word.qpn;
  assign send_function_id_o = sent.function_id;

  assign oldest = lookup_mem[head_q];
  assign line_function_id_o = oldest.function_id;
  assign line_page_o = oldest.page;
  assign line_record_o = oldest.record;
  assign line_blueflame_o = oldest.blueflame;
  assign line_buffer_o = oldest.buffer;

  assign count_o = waiting_q + flying_q;
  assign busy_o = waiting_q != '0;

  always_ff @(posedge clk_i) begin
    if (timeout_i) begin
      lookup_mem[tail_q] <= timed;
    end
    if (first_i) begin
      lookup_mem[at_first] <= first;
    end
    if (second_i) begin
      lookup_mem[at_second] <= second;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tail_q    <= '0;
      send_q    <= '0;
      head_q    <= '0;
      waiting_q <= '0;
      flying_q  <= '0;
    end else begin
      tail_q    <= at_second + PtrWidth'(second_i);
      send_q    <= send_q + PtrWidth'(send);
      head_q    <= head_q + PtrWidth'(line_take_i);
      waiting_q <= waiting_q + more - CountWidth'(send);
      flying_q  <= flying + CountWidth'(send);
    end
  end

  `CARILLON_ASSERT(!line_take_i || flying_q != '0)
  `CARILLON_ASSERT(count_o <= CountWidth'(Depth))

endmodule
