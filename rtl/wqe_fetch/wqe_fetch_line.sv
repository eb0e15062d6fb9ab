// Who is served next: QPs with work, in the order in which they come out of the arbiter's pipeline.
// Each is in line once. In a cycle one may come, and the one in front may leave or go behind.
`include "assertions.svh"

module wqe_fetch_line #(
    parameter int unsigned QpnWidth = params_pkg::NicLogMaxQp
) (
    input  logic                clk_i,    // core clock
    input  logic                rst_ni,   // synchronous reset, active low
    input  logic                enter_i,  // a QP has work now - control
    input  logic [QpnWidth-1:0] qpn_i,    // which - control
    output logic                valid_o,  // somebody is in line - arbiter
    output logic [QpnWidth-1:0] front_o,  // who is in front - arbiter
    input  logic                leave_i,  // the one in front leaves - arbiter
    input  logic                again_i,  // it goes to the end of the line - arbiter
    output logic                busy_o    // somebody is in line or comes - clock gate
);

  localparam int unsigned Half = 1 << (QpnWidth - 1);

  logic arrives, coming;
  logic [QpnWidth-1:0] arrival;
  credit_pipe #(
      .Width (QpnWidth),
      .Stages(stages_pkg::WqeFetchArbiter)
  ) u_coming (
      .clk_i,
      .rst_ni,
      .valid_i(enter_i),
      .data_i (qpn_i),
      .valid_o(arrives),
      .data_o (arrival),
      .busy_o (coming)
  );

  // Two may be added in a cycle, at neighbouring places.
  logic [QpnWidth-1:0] even_mem[Half];
  logic [QpnWidth-1:0] odd_mem[Half];
  logic [QpnWidth-1:0] head_q, tail_q;
  logic [QpnWidth-2:0] next_even;  // where the next even place behind the tail is stored
  logic [QpnWidth:0] count_q;

  logic empty, add_first, add_second;
  logic [QpnWidth-1:0] first, second;
  assign empty = count_q == '0;
  assign valid_o = !empty || arrives;
  assign front_o = empty ? arrival : head_q[0] ? odd_mem[head_q[QpnWidth-1:1]]
                                               : even_mem[head_q[QpnWidth-1:1]];

  // Who comes and is served at once is not stored before it goes behind.
  logic stored;
  assign stored = arrives && !(empty && leave_i);
  assign add_first = stored || again_i;
  assign first = stored ? arrival : front_o;
  assign add_second = stored && again_i;
  assign second = front_o;
  assign next_even = tail_q[QpnWidth-1:1] + (QpnWidth - 1)'(tail_q[0]);

  always_ff @(posedge clk_i) begin
    if (add_first && !tail_q[0]) even_mem[tail_q[QpnWidth-1:1]] <= first;
    if (add_second && tail_q[0]) even_mem[next_even] <= second;
  end
  always_ff @(posedge clk_i) begin
    if (add_first && tail_q[0]) odd_mem[tail_q[QpnWidth-1:1]] <= first;
    if (add_second && !tail_q[0]) odd_mem[tail_q[QpnWidth-1:1]] <= second;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      count_q <= '0;
    end else begin
      if (leave_i && !empty) head_q <= head_q + 1'b1;
      tail_q <= tail_q + QpnWidth'(add_first) + QpnWidth'(add_second);
      count_q <= count_q + (QpnWidth + 1)'(add_first) + (QpnWidth + 1)'(add_second) -
                 (QpnWidth + 1)'(leave_i && !empty);
    end
  end

  assign busy_o = coming || !empty;

  `CARILLON_ASSERT(!leave_i || valid_o)
  `CARILLON_ASSERT(!again_i || leave_i)

endmodule
