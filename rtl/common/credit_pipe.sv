// A pipeline of fixed latency: what enters in cycle t is at the output in t+Stages. It never
// stalls, since whoever lets something in holds the credit for its result.

module credit_pipe #(
    parameter int unsigned Width  = 8,
    parameter int unsigned Stages = 3
) (
    input  logic             clk_i,    // core clock
    input  logic             rst_ni,   // synchronous reset, active low
    input  logic             valid_i,  // something enters - the block that owns the pipe
    input  logic [Width-1:0] data_i,   // what enters - the block that owns the pipe
    output logic             valid_o,  // something leaves - the block that owns the pipe
    output logic [Width-1:0] data_o,   // what leaves - the block that owns the pipe
    output logic             busy_o    // something is inside - the block that owns the pipe
);

  logic [Stages-1:0] valid_q;
  logic [Width-1:0] data_q[Stages];

  assign valid_o = valid_q[Stages-1];
  assign data_o = data_q[Stages-1];
  assign busy_o = valid_q != '0;

  // The data move only beside a valid, so that nothing changes in an empty pipe.
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Stages; i++) begin
      if (i == 0) begin
        if (valid_i) begin
          data_q[0] <= data_i;
        end
      end else if (valid_q[i-1]) begin
        data_q[i] <= data_q[i-1];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q[0] <= valid_i;
      for (int unsigned i = 1; i < Stages; i++) begin
        valid_q[i] <= valid_q[i-1];
      end
    end
  end

endmodule
