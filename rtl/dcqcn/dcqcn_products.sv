// The products that a new rate may need: what a cut leaves, what it leaves at least, and the way to
// the target. The first two are truncated, the last is rounded up.
module dcqcn_products (
    input logic [31:0] current_i,       // rate - dcqcn
    input logic [31:0] target_i,        // its target - dcqcn
    input logic [23:0] alpha_i,         // that cuts - dcqcn
    input logic [ 3:0] cut_shift_i,     // by alpha * 2^(10 - shift) - dcqcn
    input logic [24:0] min_decrease_i,  // share that stays at least - dcqcn
    input logic [23:0] beta_i,          // share of the way - dcqcn

    output logic [31:0] left_o,   // of a cut - dcqcn
    output logic [31:0] least_o,  // of a cut - dcqcn
    output logic [31:0] step_o    // towards the target, if that is above - dcqcn
);

  localparam logic [29:0] Whole = 30'h20000000;

  logic [31:0] way;
  logic [38:0] share;  // in parts of 2^-29
  logic [29:0] rest;
  // What is cut off, and what is beyond 32 bits.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [61:0] left;
  logic [56:0] least;
  logic [56:0] step;
  /* verilator lint_on UNUSEDSIGNAL */

  assign share = 39'(alpha_i) << (4'd15 - cut_shift_i);
  assign rest = share > 39'(Whole) ? '0 : Whole - share[29:0];
  assign way = target_i - current_i;
  assign left = 62'(current_i) * 62'(rest);
  assign least = 57'(current_i) * 57'(min_decrease_i);
  assign step = 57'(way) * 57'(beta_i) + 57'h0ffffff;

  assign left_o = left[60:29];
  assign least_o = least[55:24];
  assign step_o = step[55:24];

endmodule
