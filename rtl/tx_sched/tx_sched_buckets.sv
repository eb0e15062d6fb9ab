// The rates of the functions: a bucket of tokens each, of which every cycle adds some and every
// packet takes some. Tokens are thousandths of 2^-24 byte, so nothing is ever rounded.
//
// A bucket never holds more than the largest packet, and never owes more. It is open while it holds
// anything. One without a rate is always full.
`include "assertions.svh"

module tx_sched_buckets #(
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned RefillWidth   = 48,
    localparam int unsigned LevelWidth    = 50
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [                      13:0] largest_i,        // bytes of the largest packet - top
    input  logic [RefillWidth*Functions-1:0] refill_i,         // tokens a cycle, 0: no limit - top
    output logic [             Functions-1:0] open_o,           // it may send - functions
    input  logic                              charge_i,         // a packet is sent - functions
    input  logic [         FunctionWidth-1:0] charge_function_i, // by whom - functions
    input  logic [                      15:0] charge_bytes_i,   // bytes on the wire - functions
    output logic [             Functions-1:0] open_after_o,     // it may send another - functions
    output logic                              busy_o            // somebody is filling up - top
);

  // A byte in tokens is 1000 * 2^24.
  localparam int unsigned Fraction = 24;
  localparam logic [9:0] Parts = 10'd1000;

  function automatic logic signed [LevelWidth-1:0] tokens_of(input logic [15:0] bytes);
    tokens_of = LevelWidth'(26'(bytes) * 26'(Parts)) << Fraction;
  endfunction

  logic signed [LevelWidth-1:0] room;
  assign room = tokens_of(16'(largest_i));

  logic [LevelWidth*Functions-1:0] level_q, level, level_next;
  logic [Functions-1:0] limited;
  always_comb begin
    for (int unsigned i = 0; i < Functions; i++) begin
      limited[i] = refill_i[i*RefillWidth+:RefillWidth] != '0;
      level[i*LevelWidth+:LevelWidth] = limited[i] ? level_q[i*LevelWidth+:LevelWidth] : room;
      open_o[i] = $signed(level[i*LevelWidth+:LevelWidth]) > 0;
    end
  end

  always_comb begin
    logic signed [LevelWidth-1:0] after;
    for (int unsigned i = 0; i < Functions; i++) begin
      after = $signed(level[i*LevelWidth+:LevelWidth]);
      if (charge_i && limited[i] && charge_function_i == FunctionWidth'(i)) begin
        after = after - tokens_of(charge_bytes_i);
        if (after < -room) begin
          after = -room;
        end
      end
      open_after_o[i] = after > 0;
      after = after +
          $signed({{(LevelWidth - RefillWidth) {1'b0}}, refill_i[i*RefillWidth+:RefillWidth]});
      level_next[i*LevelWidth+:LevelWidth] = after > room ? room : after;
    end
  end

  logic filling_q;
  assign busy_o = filling_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_q   <= {Functions{room}};
      filling_q <= 1'b0;
    end else begin
      level_q   <= level_next;
      filling_q <= level_next != {Functions{room}};
    end
  end

  `CARILLON_ASSERT(!charge_i || charge_function_i < FunctionWidth'(Functions))

endmodule
