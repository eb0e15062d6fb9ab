// What is to be told, one a cycle: up to two come in a cycle, and the first can leave in it.
`include "assertions.svh"

module tx_sched_reports #(
    parameter  int unsigned Width    = 8,
    parameter  int unsigned Depth    = 4,
    localparam int unsigned PtrWidth = $clog2(Depth)
) (
    input  logic                clk_i,    // core clock
    input  logic                rst_ni,   // synchronous reset, active low
    input  logic [         1:0] push_i,   // they come, in this order - responses
    input  logic [ 2*Width-1:0] data_i,   // what they are - responses
    output logic                valid_o,  // there is one - responses
    output logic [   Width-1:0] data_o,   // the first - responses
    input  logic                pop_i,    // it leaves - responses
    output logic [PtrWidth:0]   count_o   // how many there were before - responses
);

  logic [Width-1:0] mem[Depth];
  logic [PtrWidth-1:0] head_q, tail, tail_second;
  logic [PtrWidth:0] count_q;

  assign count_o = count_q;
  assign valid_o = count_q != '0 || push_i != '0;
  assign data_o = count_q != '0 ? mem[head_q] : push_i[0] ? data_i[0+:Width] : data_i[Width+:Width];
  assign tail = head_q + count_q[PtrWidth-1:0];
  assign tail_second = tail + PtrWidth'(push_i[0]);

  always_ff @(posedge clk_i) begin
    if (push_i[0]) begin
      mem[tail] <= data_i[0+:Width];
    end
    if (push_i[1]) begin
      mem[tail_second] <= data_i[Width+:Width];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q  <= '0;
      count_q <= '0;
    end else begin
      head_q  <= head_q + PtrWidth'(pop_i);
      count_q <= count_q + (PtrWidth + 1)'(push_i[0]) + (PtrWidth + 1)'(push_i[1]) -
          (PtrWidth + 1)'(pop_i);
    end
  end

  `CARILLON_ASSERT(!pop_i || valid_o)

endmodule
