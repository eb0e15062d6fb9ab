// What a bucket is short of being full, some time after somebody has looked at it. Combinational.
module tx_sched_level #(
    parameter int unsigned TimeWidth   = 8,
    parameter int unsigned RefillWidth = 4,
    parameter int unsigned LevelWidth  = 6
) (
    input  logic [ LevelWidth-1:0] short_i,   // tokens, in the cycle of the stamp - rates
    input  logic [  TimeWidth-1:0] stamp_i,   // that cycle - rates
    input  logic [RefillWidth-1:0] refill_i,  // tokens a cycle - rates
    input  logic [  TimeWidth-1:0] cycle_i,   // now - timer
    output logic [ LevelWidth-1:0] short_o    // tokens now - rates
);

  // A bucket fills up within 2 ** LevelWidth cycles, at whatever rate.
  localparam int unsigned ProductWidth = RefillWidth + LevelWidth;
  logic [TimeWidth-1:0] passed;
  logic [ProductWidth-1:0] filled;
  logic full;
  assign passed = cycle_i - stamp_i;
  assign filled = ProductWidth'(passed[LevelWidth-1:0]) * ProductWidth'(refill_i);
  assign full = passed[TimeWidth-1:LevelWidth] != '0 || filled >= ProductWidth'(short_i);
  assign short_o = full ? '0 : short_i - filled[LevelWidth-1:0];

endmodule
