// QPs in the order in which they came: some join before the first is looked at, others afterwards.
// Each is in line once at most.
`include "assertions.svh"

module tx_sched_line #(
    parameter  int unsigned Before   = 2,
    parameter  int unsigned After    = 1,
    localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues   = 2 ** QpnWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [         Before-1:0] before_i,      // these join, in this order - top
    input  logic [Before*QpnWidth-1:0] before_qpn_i,  // which - top
    output logic                       valid_o,       // somebody is in line - top
    output logic [       QpnWidth-1:0] qpn_o,         // the first - top
    input  logic                       pop_i,         // he leaves - top
    input  logic [          After-1:0] after_i,       // these join - top
    input  logic [ After*QpnWidth-1:0] after_qpn_i    // which - top
);

  logic [QpnWidth-1:0] line_mem[Queues];
  logic [QpnWidth-1:0] head_q;
  logic [QpnWidth:0] count_q, grown;

  always_comb begin
    valid_o = count_q != '0;
    qpn_o   = line_mem[head_q];
    for (int unsigned i = Before; i > 0; i--) begin
      if (count_q == '0 && before_i[i-1]) begin
        valid_o = 1'b1;
        qpn_o   = before_qpn_i[(i-1)*QpnWidth+:QpnWidth];
      end
    end
  end

  always_comb begin
    grown = '0;
    for (int unsigned i = 0; i < Before; i++) begin
      grown = grown + (QpnWidth + 1)'(before_i[i]);
    end
    for (int unsigned i = 0; i < After; i++) begin
      grown = grown + (QpnWidth + 1)'(after_i[i]);
    end
  end

  always_ff @(posedge clk_i) begin
    logic [QpnWidth-1:0] at;
    at = head_q + count_q[QpnWidth-1:0];
    for (int unsigned i = 0; i < Before; i++) begin
      if (before_i[i]) begin
        line_mem[at] <= before_qpn_i[i*QpnWidth+:QpnWidth];
        at = at + 1'b1;
      end
    end
    for (int unsigned i = 0; i < After; i++) begin
      if (after_i[i]) begin
        line_mem[at] <= after_qpn_i[i*QpnWidth+:QpnWidth];
        at = at + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q  <= '0;
      count_q <= '0;
    end else begin
      head_q  <= head_q + QpnWidth'(pop_i);
      count_q <= count_q + grown - (QpnWidth + 1)'(pop_i);
    end
  end

  `CARILLON_ASSERT(!pop_i || valid_o)
  `CARILLON_ASSERT(count_q <= (QpnWidth + 1)'(Queues))

endmodule
