// A row as the steps before have left it: the last of them that wrote it counts. Combinational.
module tx_sched_forward #(
    parameter  int unsigned Steps    = 1,
    localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp,
    localparam int unsigned RowWidth = streams_pkg::SchedRowWidth
) (
    input  logic [         QpnWidth-1:0] qpn_i,     // the queue - top
    input  logic [         RowWidth-1:0] row_i,     // as it was before the cycle - rows
    input  logic [            Steps-1:0] write_i,   // a step has written a row - top
    input  logic [QpnWidth*Steps-1:0] write_qpn_i,  // which - top
    input  logic [RowWidth*Steps-1:0] write_row_i,  // what - top
    output logic [         RowWidth-1:0] row_o      // as it is now - top
);

  always_comb begin
    row_o = row_i;
    for (int unsigned i = 0; i < Steps; i++) begin
      if (write_i[i] && write_qpn_i[i*QpnWidth+:QpnWidth] == qpn_i) begin
        row_o = write_row_i[i*RowWidth+:RowWidth];
      end
    end
  end

endmodule
