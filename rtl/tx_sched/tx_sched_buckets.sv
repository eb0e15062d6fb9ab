// The rates of the functions: a bucket of tokens each, of which every cycle adds some and every
// packet takes some; nothing is ever rounded.
//
// A bucket never holds more than the largest packet, and never owes more. It is open while it holds
// anything. One without a rate is always full.
`include "assertions.svh"

module tx_sched_buckets #(
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned ShareWidth    = streams_pkg::VportShareWidth,
    localparam int unsigned RefillWidth   = 48,
    localparam int unsigned LevelWidth    = 52
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [                    13:0] largest_i,  // bytes of the largest packet - top
      input  logic [ShareWidth*Functions-1:0] shares_i,   // the virtual ports - functions
    input  logic [           Functions-1:0] limited_i,  // whose rate is limited - functions
    output logic [           Functions-1:0] open_o,     // it may send - functions
    input  logic                            charge_i,   // a packet is sent - functions
    input  logic [       FunctionWidth-1:0] charge_function_i,  // by whom - functions
    input  logic [                    15:0] charge_bytes_i,     // bytes on the wire - functions
    output logic [           Functions-1:0] open_after_o,  // it may send another - functions
    output logic                            busy_o         // somebody is filling up - top
);

  // What a bucket holds, and what a packet takes.
  logic signed [LevelWidth-1:0] room, taken;
  tx_sched_tokens #(
      .Width(LevelWidth)
  ) i_room (
      .bytes_i (16'(largest_i)),
      .tokens_o(room)
  );
  tx_sched_tokens #(
      .Width(LevelWidth)
  ) i_taken (
      .bytes_i (charge_bytes_i),
      .tokens_o(taken)
  );

  // Tokens that a bucket is short of being full.
  (* mem2reg *) logic signed [LevelWidth-1:0] short_q[Functions];
  logic signed [LevelWidth-1:0] short_next[Functions];
  // Who is short of anything, and who of less than all.
  logic [Functions-1:0] filling_q, filling, open_q, open_next, charged, changing;

  assign open_o = open_q | ~limited_i;
  assign charged = charge_i ? limited_i & (Functions'(1) << charge_function_i) : '0;
  assign changing = (filling_q & limited_i) | charged;
  streams_pkg::vport_share_t port;  // its rate lets so many tokens come each cycle
  always_comb begin
    logic signed [LevelWidth-1:0] less;
    open_after_o = open_o;
    open_next    = '1;
    filling      = '0;
    less         = '0;
    port         = '0;
    for (int unsigned i = 0; i < Functions; i++) begin
      short_next[i] = '0;
    end
    if (changing != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (changing[i]) begin
          less = filling_q[i] ? short_q[i] : '0;
          if (charged[i]) begin
            less = less + taken;
          end
          if (less > room + room) begin
            less = room + room;
          end
          open_after_o[i] = less < room;
          port            = shares_i[i*ShareWidth+:ShareWidth];
          less            = less - $signed({{(LevelWidth - RefillWidth) {1'b0}}, port.refill});
          if (less > 0) begin
            short_next[i] = less;
            filling[i]    = 1'b1;
            open_next[i]  = less < room;
          end
        end
      end
    end
  end

  assign busy_o = filling_q != '0;
  for (genvar i = 0; i < Functions; i++) begin : gen_function
    always_ff @(posedge clk_i) begin
      if (filling[i]) begin
        short_q[i] <= short_next[i];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      filling_q <= '0;
      open_q    <= '1;
    end else begin
      filling_q <= filling;
      open_q    <= open_next;
    end
  end

  `CARILLON_ASSERT(!charge_i || charge_function_i < FunctionWidth'(Functions))

endmodule
