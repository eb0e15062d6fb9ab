// Doorbells whose QP is being looked up, oldest first.
`include "assertions.svh"

module wqe_fetch_lookups #(
    parameter  int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    // function, index, size
    localparam int unsigned BellWidth  = 16 + 16 + 6,
    localparam int unsigned Lookups    = stages_pkg::WqeFetchLookups,
    localparam int unsigned SlotWidth  = $clog2(Lookups),
    localparam int unsigned CountWidth = $clog2(Lookups + 1)
) (
    input  logic                  clk_i,         // core clock
    input  logic                  rst_ni,        // synchronous reset, active low
    input  logic                  pop_i,         // the oldest is answered - control
    output logic [  QpnWidth-1:0] qpn_o,         // its QP - control
    output logic [ BellWidth-1:0] bell_o,        // what it said - control
    output logic                  stale_o,       // its QP was reset since - control
    input  logic                  forget_i,      // a QP is reset - control
    input  logic [  QpnWidth-1:0] forget_qpn_i,  // which - control
    output logic                  room_o,        // there is room for one more - doorbell
    input  logic [  QpnWidth-1:0] bell_qpn_i,    // the doorbell's QP - doorbell
    output logic                  pending_o,     // it is being looked up - doorbell
    input  logic                  push_i,        // the doorbell is looked up - doorbell
    input  logic [ BellWidth-1:0] bell_i         // what it says - doorbell
);

  logic [BellWidth-1:0] bell_mem[Lookups];
  logic [QpnWidth*Lookups-1:0] qpn_q;
  logic [Lookups-1:0] valid_q, stale_q;
  logic [SlotWidth-1:0] head_q, tail_q;
  logic [CountWidth-1:0] count_q;

  assign qpn_o = qpn_q[head_q*QpnWidth+:QpnWidth];
  assign bell_o = bell_mem[head_q];
  assign stale_o = stale_q[head_q];
  assign room_o = count_q - CountWidth'(pop_i) < CountWidth'(Lookups);

  always_comb begin
    pending_o = 1'b0;
    for (int unsigned i = 0; i < Lookups; i++) begin
      if (valid_q[i] && !stale_q[i] && qpn_q[i*QpnWidth+:QpnWidth] == bell_qpn_i &&
          !(pop_i && head_q == SlotWidth'(i))) begin
        pending_o = 1'b1;
      end
    end
    if (forget_i && forget_qpn_i == bell_qpn_i) begin
      pending_o = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      bell_mem[tail_q]                   <= bell_i;
      qpn_q[tail_q*QpnWidth+:QpnWidth] <= bell_qpn_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      stale_q <= '0;
      head_q  <= '0;
      tail_q  <= '0;
      count_q <= '0;
    end else begin
      if (pop_i) begin
        valid_q[head_q] <= 1'b0;
        head_q          <= head_q + 1'b1;
      end
      if (forget_i) begin
        for (int unsigned i = 0; i < Lookups; i++) begin
          if (valid_q[i] && qpn_q[i*QpnWidth+:QpnWidth] == forget_qpn_i) begin
            stale_q[i] <= 1'b1;
          end
        end
      end
      if (push_i) begin
        valid_q[tail_q] <= 1'b1;
        stale_q[tail_q] <= 1'b0;
        tail_q          <= tail_q + 1'b1;
      end
      count_q <= count_q + CountWidth'(push_i) - CountWidth'(pop_i);
    end
  end

  `CARILLON_ASSERT(!pop_i || count_q != '0)
  `CARILLON_ASSERT(!push_i || room_o)

endmodule
