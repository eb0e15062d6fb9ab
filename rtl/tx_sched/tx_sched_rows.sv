// The send queues: a row each. One that was never written is as after power-on.
module tx_sched_rows #(
    parameter  int unsigned Reads    = 10,
    parameter  int unsigned Writes   = 7,
    localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues   = 2 ** QpnWidth,
    localparam int unsigned RowWidth = streams_pkg::SchedRowWidth
) (
    input  logic                       clk_i,       // core clock
    input  logic                       rst_ni,      // synchronous reset, active low
    input  logic [ QpnWidth*Reads-1:0] read_qpn_i,  // whose rows are read - top
    output logic [ RowWidth*Reads-1:0] read_o,      // as they were before the cycle - top
    input logic [ Writes-1:0] write_i,  // rows are written; of one QP's the last counts - top
    input  logic [QpnWidth*Writes-1:0] write_qpn_i, // whose - top
    input  logic [RowWidth*Writes-1:0] write_row_i  // what - top
);

  logic [RowWidth-1:0] row_mem[Queues];
  logic [Queues-1:0] known_q;

  streams_pkg::sched_row_t initial_row;
  always_comb begin
    initial_row           = '0;
    initial_row.max_reads = 8'd1;
  end

  for (genvar r = 0; r < Reads; r++) begin : gen_read
    logic [QpnWidth-1:0] qpn;
    assign qpn = read_qpn_i[r*QpnWidth+:QpnWidth];
    assign read_o[r*RowWidth+:RowWidth] = known_q[qpn] ? row_mem[qpn] : initial_row;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Writes; i++) begin
      if (write_i[i]) begin
        row_mem[write_qpn_i[i*QpnWidth+:QpnWidth]] <= write_row_i[i*RowWidth+:RowWidth];
      end
    end
  end

  logic [Queues-1:0] written;
  always_comb begin
    written = '0;
    for (int unsigned i = 0; i < Writes; i++) begin
      written = written |
          (write_i[i] ? Queues'(1) << write_qpn_i[i*QpnWidth+:QpnWidth] : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      known_q <= '0;
    end else begin
      known_q <= known_q | written;
    end
  end

endmodule
