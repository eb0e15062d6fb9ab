// From a context line that confirmed the owner to the doorbell: a pipeline of fixed latency, except
// that a BlueFlame WQE leaves a cycle early when nothing else does.

module uar_bells #(
    parameter int unsigned Width  = 8,
    parameter int unsigned Stages = 4
) (
    input  logic             clk_i,        // core clock
    input  logic             rst_ni,       // synchronous reset, active low
    input  logic             valid_i,      // something enters - uar
    input  logic             blueflame_i,  // it may leave a cycle early - uar
    input  logic [Width-1:0] data_i,       // what enters - uar
    output logic             valid_o,      // something leaves - uar
    output logic             blueflame_o,  // with a WQE - uar
    output logic [Width-1:0] data_o,       // what leaves - uar
    output logic             busy_o        // something is inside - uar
);

  logic [Stages-1:0] valid_q;
  logic [Stages-1:0] blueflame_q;
  logic [Width-1:0] data_q[Stages];
  logic early;

  assign early = !valid_q[Stages-1] && valid_q[Stages-2] && blueflame_q[Stages-2];
  assign valid_o = valid_q[Stages-1] || early;
  assign blueflame_o = early || blueflame_q[Stages-1];
  assign data_o = early ? data_q[Stages-2] : data_q[Stages-1];
  assign busy_o = valid_q != '0;

  // The data move only beside a valid, so that nothing changes in an empty pipe.
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Stages; i++) begin
      if (i == 0) begin
        if (valid_i) begin
          data_q[0]      <= data_i;
          blueflame_q[0] <= blueflame_i;
        end
      end else if (valid_q[i-1]) begin
        data_q[i]      <= data_q[i-1];
        blueflame_q[i] <= blueflame_q[i-1];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q[0] <= valid_i;
      for (int unsigned i = 1; i < Stages; i++) begin
        valid_q[i] <= valid_q[i-1] && !(early && i == Stages - 1);
      end
    end
  end

endmodule
