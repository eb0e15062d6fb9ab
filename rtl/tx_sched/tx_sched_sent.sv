// Notes on their way to the requester: up to four come in a cycle, in this order, and are visible
// after the stage's latency or behind those before them, one a cycle.
`include "assertions.svh"

module tx_sched_sent #(
    localparam int unsigned Width   = streams_pkg::SentBeatWidth,
    localparam int unsigned NoteWidth = Width - 3840, // without data segments
    localparam int unsigned Depth   = stages_pkg::TxSchedDepth,
    localparam int unsigned Latency = stages_pkg::TxSchedLatency,
    localparam int unsigned PtrWidth = $clog2(Depth)
) (
    input  logic               clk_i,     // core clock
    input  logic               rst_ni,    // synchronous reset, active low
    output logic [PtrWidth:0]  credits_o, // room before this cycle - top
    input  logic [        3:0] push_i,    // notes come - top
    input  logic [NoteWidth-1:0] lost_i,  // what they say - cut
    input  logic [Width-1:0]   mark_i,    // - steps
    input  logic [NoteWidth-1:0] held_i,  // - notes
    input  logic [Width-1:0]   granted_i, // - cut
    output logic               valid_o,   // the front note is there - requester
    input  logic               ready_i,   // it is taken - requester
    output logic [  Width-1:0] data_o,    // what it says - requester
    output logic               push_o,    // a note enters the stream - monitor
    output logic               busy_o     // notes are under way - top
);

  logic [2:0] count;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      count = count + 3'(push_i[i]);
    end
  end

  credit_counter #(
      .Depth(Depth)
  ) i_credits (
      .clk_i,
      .rst_ni,
      .spend_i((PtrWidth + 1)'(count)),
      .taken_i(valid_o && ready_i),
      .credits_o
  );

  // They wait in order; how many came when travels beside them.
  logic [Width-1:0] mem[Depth];
  logic [PtrWidth-1:0] write_q, read_q;
  logic [3*(Latency-1)-1:0] came_q;
  logic [PtrWidth:0] released_q, released;
  assign released = released_q + (PtrWidth + 1)'(came_q[3*(Latency-2)+:3]);
  assign push_o = released != '0;
  assign busy_o = came_q != '0 || released_q != '0;

  always_ff @(posedge clk_i) begin
    logic [PtrWidth-1:0] at;
    at = write_q;
    if (push_i[0]) begin
      mem[at] <= {lost_i, 3840'b0};
      at = at + 1'b1;
    end
    if (push_i[1]) begin
      mem[at] <= mark_i;
      at = at + 1'b1;
    end
    if (push_i[2]) begin
      mem[at] <= {held_i, 3840'b0};
      at = at + 1'b1;
    end
    if (push_i[3]) begin
      mem[at] <= granted_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q    <= '0;
      read_q     <= '0;
      came_q     <= '0;
      released_q <= '0;
    end else begin
      write_q    <= write_q + PtrWidth'(count);
      read_q     <= read_q + PtrWidth'(push_o);
      came_q     <= {came_q[3*(Latency-2)-1:0], count};
      released_q <= released - (PtrWidth + 1)'(push_o);
    end
  end

  stream_fifo #(
      .Width(Width),
      .Depth(Depth)
  ) i_fifo (
      .clk_i,
      .rst_ni,
      .push_i(push_o),
      .data_i(mem[read_q]),
      .valid_o,
      .ready_i,
      .data_o
  );

endmodule
