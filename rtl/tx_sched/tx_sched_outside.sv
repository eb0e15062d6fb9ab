// QPs that have found no place wait here, in order; one a cycle comes in when there is room. An
// entry whose QP does not wait any more stays behind as a gap, and is used again if it comes back.
//
// In a cycle: what of QPs' steps is new, in order; then the first leaves.
`include "assertions.svh"

module tx_sched_outside #(
    parameter  int unsigned Early         = 4,
    parameter  int unsigned Late          = 1,
    parameter  int unsigned FunctionWidth = 7,
    localparam int unsigned Steps         = Early + Late,
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues        = 2 ** QpnWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [ Early*QpnWidth-1:0] early_qpn_i,      // of the first steps: which QP - turns
    output logic [          Early-1:0] early_outside_o,  // it waits, at first - turns
    output logic [          Early-1:0] early_queued_o,   // it has an entry, at first - turns
    input  logic [  Late*QpnWidth-1:0] late_qpn_i,       // of the steps behind the choice - turns
    output logic [           Late-1:0] late_outside_o,   // - turns
    output logic [           Late-1:0] late_queued_o,    // - turns

    input  logic [              Steps-1:0] change_i,    // a step changes that - turns
    input  logic [              Steps-1:0] outside_i,   // its QP waits then - turns
    input  logic [              Steps-1:0] queued_i,    // it has an entry then - turns
    input  logic [              Steps-1:0] queue_i,     // ... which is new - turns
    input  logic [              Steps-1:0] push_i,      // it joins, here or in a place - turns
    input  logic [Steps*FunctionWidth-1:0] function_i,  // whose it is - turns

    output logic                     waits_o,     // there were entries - turns
    input  logic                     pop_i,       // the first leaves - turns
    output logic                     admit_o,     // that is somebody who waits - turns
    output logic [     QpnWidth-1:0] qpn_o,       // who - turns
    output logic [FunctionWidth-1:0] function_o,  // whose it is - turns
    output logic                     busy_o       // there are entries - turns
);

  logic [Queues-1:0] outside_q, queued_q;
  logic [QpnWidth:0] count_q, grown;
  logic [QpnWidth-1:0] head_q;
  logic [QpnWidth-1:0] outside_mem[Queues];
  logic [FunctionWidth-1:0] owner_mem[Queues];

  assign waits_o = count_q != '0;
  assign busy_o = waits_o;
  always_comb begin
    for (int unsigned s = 0; s < Early; s++) begin
      early_outside_o[s] = outside_q[early_qpn_i[s*QpnWidth+:QpnWidth]];
      early_queued_o[s]  = queued_q[early_qpn_i[s*QpnWidth+:QpnWidth]];
    end
  end
  always_comb begin
    for (int unsigned s = 0; s < Late; s++) begin
      late_outside_o[s] = outside_q[late_qpn_i[s*QpnWidth+:QpnWidth]];
      late_queued_o[s]  = queued_q[late_qpn_i[s*QpnWidth+:QpnWidth]];
    end
  end
  logic [Steps*QpnWidth-1:0] qpn;
  assign qpn = {late_qpn_i, early_qpn_i};

  // The first, be it since this cycle. Its function is that of the last time.
  logic waits;
  always_comb begin
    qpn_o = outside_mem[head_q];
    for (int unsigned s = Steps; s > 0; s--) begin
      if (count_q == '0 && queue_i[s-1]) begin
        qpn_o = qpn[(s-1)*QpnWidth+:QpnWidth];
      end
    end
    function_o = owner_mem[qpn_o];
    waits      = outside_q[qpn_o];
    for (int unsigned s = 0; s < Steps; s++) begin
      if (qpn[s*QpnWidth+:QpnWidth] == qpn_o) begin
        if (push_i[s]) begin
          function_o = function_i[s*FunctionWidth+:FunctionWidth];
        end
        if (change_i[s]) begin
          waits = outside_i[s];
        end
      end
    end
  end
  assign admit_o = pop_i && waits;

  always_comb begin
    grown = '0;
    for (int unsigned s = 0; s < Steps; s++) begin
      grown = grown + (QpnWidth + 1)'(queue_i[s]);
    end
  end

  always_ff @(posedge clk_i) begin
    logic [QpnWidth-1:0] at;
    at = head_q + count_q[QpnWidth-1:0];
    for (int unsigned s = 0; s < Steps; s++) begin
      if (queue_i[s]) begin
        outside_mem[at] <= qpn[s*QpnWidth+:QpnWidth];
        at = at + 1'b1;
      end
      if (push_i[s]) begin
        owner_mem[qpn[s*QpnWidth+:QpnWidth]] <= function_i[s*FunctionWidth+:FunctionWidth];
      end
    end
  end

  // Of one QP's steps the last counts.
  always_ff @(posedge clk_i) begin
    logic [Queues-1:0] one, outside_next, queued_next;
    one          = '0;
    outside_next = outside_q;
    queued_next  = queued_q;
    for (int unsigned s = 0; s < Steps; s++) begin
      // Nothing changes for most QPs that step from place to place.
      if (change_i[s] && (outside_i[s] || queued_i[s] || waits_o)) begin
        one          = Queues'(1) << qpn[s*QpnWidth+:QpnWidth];
        outside_next = outside_i[s] ? outside_next | one : outside_next & ~one;
        queued_next  = queued_i[s] ? queued_next | one : queued_next & ~one;
      end
    end
    if (pop_i) begin
      one          = ~(Queues'(1) << qpn_o);
      outside_next = outside_next & one;
      queued_next  = queued_next & one;
    end
    if (!rst_ni) begin
      outside_q <= '0;
      queued_q  <= '0;
    end else if (change_i != '0 || pop_i) begin
      outside_q <= outside_next;
      queued_q  <= queued_next;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      head_q  <= '0;
    end else begin
      head_q  <= head_q + QpnWidth'(pop_i);
      count_q <= count_q + grown - (QpnWidth + 1)'(pop_i);
    end
  end

  `CARILLON_ASSERT(count_q <= (QpnWidth + 1)'(Queues))

endmodule
