// CNPs that are to be sent, in order. They go before everything else, and wait for nothing but
// their priority and room. The model's rates.cpp.
`include "assertions.svh"

module tx_sched_cnps #(
    localparam int unsigned Cnps       = stages_pkg::RateControlCnps,
    localparam int unsigned IndexWidth = $clog2(Cnps)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    output logic                     full_o,   // there is no room - top
    input  logic                     push_i,   // one comes - top
    input  streams_pkg::limit_beat_t item_i,   // which - rate_control
    input  logic [7:0]               halted_i, // priorities that get no grants - top
    input  logic                     room_i,   // a credit for packet_builder - top
    output logic                     grant_o,  // one is sent - top
    output streams_pkg::limit_beat_t first_o,  // which - top
    output logic                     busy_o    // one waits - top
);

  streams_pkg::limit_beat_t item_mem[Cnps];
  logic [IndexWidth-1:0] head_q, tail;
  logic [IndexWidth:0] count_q;
  assign tail = head_q + count_q[IndexWidth-1:0];
  assign full_o = count_q == (IndexWidth + 1)'(Cnps);
  assign first_o = busy_o ? item_mem[head_q] : item_i;
  assign grant_o = (busy_o || push_i) && room_i && !halted_i[first_o.pcp];
  assign busy_o = count_q != '0;

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      item_mem[tail] <= item_i;
    end
    if (!rst_ni) begin
      head_q  <= '0;
      count_q <= '0;
    end else begin
      head_q  <= head_q + IndexWidth'(grant_o);
      count_q <= count_q + (IndexWidth + 1)'(push_i) - (IndexWidth + 1)'(grant_o);
    end
  end

  `CARILLON_ASSERT(!push_i || !full_o)

endmodule
