// A read on its way out of the RAM: it was granted, and its line is visible to its reader when the
// time of the RAM has passed. What is written meanwhile it gets, too.

module qpc_ram_lane #(
    parameter  int unsigned PortWidth = 4,
    localparam int unsigned IdWidth   = 32
) (
    input  logic                  clk_i,         // core clock
    input  logic                  rst_ni,        // synchronous reset, active low
    input  logic                  grant_i,       // a read is granted - qpc_ram
    input  logic [ PortWidth-1:0] port_i,        // whose - qpc_ram
    input  logic [          31:0] trace_i,       // its message - qpc_ram
    input  logic [   IdWidth-1:0] id_i,          // its line - qpc_ram
    input  logic                  ok_i,          // it gets one - qpc_ram
    input  logic                  zero_i,        // which was never written - qpc_ram
    input  logic [         511:0] data_i,        // the line, a cycle later - lines
    input  logic                  write_i,       // a line is written - qpc_ram
    input  logic [   IdWidth-1:0] write_id_i,    // which - qpc_ram
    input  logic [         511:0] write_data_i,  // the line - qpc_ram
    output logic [   IdWidth-1:0] look_o,        // the line that is about to leave - marks
    input  logic                  error_i,       // its QP has failed - marks
    input  logic                  send_error_i,  // its QP's send queue has - marks
    input  logic                  struck_i,      // it is an invalidated key - marks
    output logic                  push_o,        // it leaves - readers
    output logic [ PortWidth-1:0] port_o,        // to whom - readers
    output streams_pkg::ctx_rsp_t line_o,        // the line - readers
    output logic                  busy_o         // reads are under way - qpc_ram
);

  localparam int unsigned Stages = stages_pkg::QpcRamRam - 1;

  logic [Stages-1:0] valid_q, ok_q;
  logic zero_q;
  logic [Stages*PortWidth-1:0] port_q;
  logic [Stages*32-1:0] trace_q;
  logic [Stages*IdWidth-1:0] id_q;
  logic [Stages*512-1:0] data_q;  // of the first stage it is the RAM's
  logic [Stages*512-1:0] data, now;
  assign data = {data_q[512+:(Stages-1)*512], zero_q || !ok_q[0] ? 512'd0 : data_i};

  for (genvar s = 0; s < Stages; s++) begin : gen_now
    assign now[512*s+:512] = write_i && ok_q[s] && write_id_i == id_q[IdWidth*s+:IdWidth] ?
        write_data_i : data[512*s+:512];
  end

  localparam int unsigned Out = Stages - 1;
  contexts_pkg::qpc_common_t common;
  contexts_pkg::mkey_line_t key;
  always_comb begin
    common       = now[512*Out+:512];
    common.state = error_i ? contexts_pkg::QpStateErr : contexts_pkg::QpStateSqer;
    key          = now[512*Out+:512];
    key.valid    = 1'b0;
  end

  assign look_o = id_q[IdWidth*Out+:IdWidth];
  assign push_o = valid_q[Out];
  assign port_o = port_q[PortWidth*Out+:PortWidth];
  always_comb begin
    line_o.trace_id = trace_q[32*Out+:32];
    {line_o.kind, line_o.index} = look_o[27:0];
    line_o.valid = ok_q[Out];
    line_o.data = now[512*Out+:512];
    if (ok_q[Out] && (error_i || send_error_i)) begin
      line_o.data = common;
    end else if (ok_q[Out] && struck_i) begin
      line_o.data = key;
    end
  end
  assign busy_o = valid_q != '0;

  always_ff @(posedge clk_i) begin
    if (grant_i) begin
      zero_q                  <= zero_i;
      ok_q[0]                 <= ok_i;
      port_q[0+:PortWidth]    <= port_i;
      trace_q[0+:32]          <= trace_i;
      id_q[0+:IdWidth]        <= id_i;
    end
    for (int unsigned s = 1; s < Stages; s++) begin
      if (valid_q[s-1]) begin
        ok_q[s]                         <= ok_q[s-1];
        port_q[PortWidth*s+:PortWidth]  <= port_q[PortWidth*(s-1)+:PortWidth];
        trace_q[32*s+:32]               <= trace_q[32*(s-1)+:32];
        id_q[IdWidth*s+:IdWidth]        <= id_q[IdWidth*(s-1)+:IdWidth];
        data_q[512*s+:512]              <= now[512*(s-1)+:512];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q <= {valid_q[Stages-2:0], grant_i};
    end
  end

endmodule
