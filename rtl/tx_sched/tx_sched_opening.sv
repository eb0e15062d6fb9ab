// The first cycle in which a bucket is open, if nothing more is charged: this one if it is.
// Combinational; in silicon the divider would take several cycles, which would have to be fewer
// than the shortest time to wait.
module tx_sched_opening #(
    parameter int unsigned TimeWidth   = 8,
    parameter int unsigned RefillWidth = 4,
    parameter int unsigned LevelWidth  = 6
) (
    input  logic [ LevelWidth-1:0] short_i,   // tokens that it is short of being full - rates
    input  logic [ LevelWidth-1:0] room_i,    // ... of an empty one - rates
    input  logic [RefillWidth-1:0] refill_i,  // tokens a cycle - rates
    input  logic [  TimeWidth-1:0] cycle_i,   // now - timer
    output logic [  TimeWidth-1:0] opens_o    // then - rates
);

  logic [LevelWidth-1:0] missing, waits;
  assign missing = short_i - room_i;
  assign waits = refill_i == '0 ? '1 : missing / LevelWidth'(refill_i);
  assign opens_o = short_i < room_i ? cycle_i : cycle_i + TimeWidth'(waits) + 1'b1;

endmodule
