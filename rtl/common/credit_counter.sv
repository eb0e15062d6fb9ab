// The producer's credits for a stream of Depth entries: those spent in cycle t are gone from t+1,
// an entry taken in t comes back in t+1.
`include "assertions.svh"

module credit_counter #(
    parameter  int unsigned Depth = 4,
    localparam int unsigned Width = $clog2(Depth + 1)
) (
    input  logic             clk_i,      // core clock
    input  logic             rst_ni,     // synchronous reset, active low
    input  logic [Width-1:0] spend_i,    // credits spent - the block that owns the counter
    input  logic             taken_i,    // the consumer took an entry - the stream
    output logic [Width-1:0] credits_o   // credits to spend - the block that owns the counter
);

  logic [Width-1:0] credits_q;

  assign credits_o = credits_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      credits_q <= Width'(Depth);
    end else begin
      credits_q <= credits_q - spend_i + Width'(taken_i);
    end
  end

  `CARILLON_ASSERT(spend_i <= credits_q)

endmodule
