// When the serializer can take another frame. It is told of a frame when the frame's first beat is
// taken, a fixed time before its first bit, and asked whether a frame taken now would find it busy.
//
// A byte takes cost / credit cycles on the wire. What is owed is kept as a number of credits and
// never rounded, so frames leave back to back for as long as there are any.
module tx_mac_pacer (
    input  logic        clk_i,           // core clock
    input  logic        rst_ni,          // synchronous reset, active low
    input  logic        first_i,         // the first beat of a frame is taken - tx_mac
    input  logic [12:0] length_i,        // its bytes, FCS not included - tx_mac
    input  logic [12:0] byte_cost_i,     // what a byte costs on the wire - straps
    input  logic [18:0] cycle_credit_i,  // what a cycle of the wire is worth - straps
    output logic        wire_busy_o,     // it is not free by the end of the cycle - tx_mac
    output logic        owes_o           // it is not free now - tx_mac
);

  localparam int unsigned OverheadBytes = 32'(wire_pkg::FcsBytes) + 32'(wire_pkg::PreambleBytes) +
      32'(wire_pkg::InterPacketGapBytes);

  // Less than a cycle's credit when a frame is taken, and then the longest frame's cost more.
  logic [27:0] owed_q, cost, owed;

  assign cost = (28'(length_i) + 28'(OverheadBytes)) * 28'(byte_cost_i);
  assign owed = first_i ? owed_q + cost : owed_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      owed_q <= '0;
    end else begin
      owed_q <= owed > 28'(cycle_credit_i) ? owed - 28'(cycle_credit_i) : '0;
    end
  end

  assign wire_busy_o = owed_q >= 28'(cycle_credit_i);
  assign owes_o = owed_q != '0;

endmodule
