// An output with the stage's latency: credits, the pipeline and the stream's storage.
module tx_sched_output #(
    parameter  int unsigned Width       = 8,
    parameter  int unsigned Depth       = 16,
    parameter  int unsigned Latency     = 5,
    localparam int unsigned CreditWidth = $clog2(Depth + 1)
) (
    input  logic                   clk_i,     // core clock
    input  logic                   rst_ni,    // synchronous reset, active low
    output logic [CreditWidth-1:0] credits_o, // room before this cycle - top
    input  logic                   push_i,    // an item comes - top
    input  logic [      Width-1:0] item_i,    // what it is - top
    output logic                   valid_o,   // the front item is there - consumer
    input  logic                   ready_i,   // it is taken - consumer
    output logic [      Width-1:0] data_o,    // what it is - consumer
    output logic                   push_o,    // an item enters the stream - monitor
    output logic                   busy_o     // something is under way - top
);

  logic [Width-1:0] item;

  credit_counter #(
      .Depth(Depth)
  ) i_credits (
      .clk_i,
      .rst_ni,
      .spend_i(CreditWidth'(push_i)),
      .taken_i(valid_o && ready_i),
      .credits_o
  );

  credit_pipe #(
      .Width(Width),
      .Stages(Latency - 1)
  ) i_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(push_i),
      .data_i(item_i),
      .valid_o(push_o),
      .data_o(item),
      .busy_o
  );

  stream_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) i_fifo (
      .clk_i,
      .rst_ni,
      .push_i(push_o),
      .data_i(item),
      .valid_o,
      .ready_i,
      .data_o
  );

endmodule
