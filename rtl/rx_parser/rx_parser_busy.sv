// The QPs with a request between its lookup and its commit. One that is released by a commit is
// free in the same cycle, one whose packet is dropped in the next.
`include "assertions.svh"

module rx_parser_busy #(
    parameter int unsigned Entries = 48
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [23:0] asked_i,  // QP whose request wants to be looked up - lookup
    output logic       free_o,   // it has no other, and there is an entry - lookup
    input  logic       enter_i,  // it is looked up - lookup

    input logic        commit_i,      // a request was decided - commits
    input logic [23:0] commit_qpn_i,  // of which QP - commits
    input logic        drop_i,        // a request was dropped - verdict
    input logic [23:0] drop_qpn_i     // of which QP - verdict
);

  logic [Entries-1:0] busy_q;
  logic [23:0] qpn_q[Entries];

  logic [Entries-1:0] held, dropped, asked, entered;  // held: after the commit
  always_comb begin
    for (int unsigned i = 0; i < Entries; i++) begin
      held[i]    = busy_q[i] && !(commit_i && qpn_q[i] == commit_qpn_i);
      dropped[i] = drop_i && qpn_q[i] == drop_qpn_i;
      asked[i]   = held[i] && qpn_q[i] == asked_i;
    end
  end

  assign free_o = asked == '0 && held != '1;

  // The lowest entry that is not held.
  assign entered = enter_i ? ~held & (held + 1'b1) : '0;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Entries; i++) begin
      if (entered[i]) begin
        qpn_q[i] <= asked_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= '0;
    end else begin
      busy_q <= (held & ~dropped) | entered;
    end
  end

  `CARILLON_ASSERT(!enter_i || free_o)
  `CARILLON_ASSERT(!commit_i || held != busy_q)

endmodule
