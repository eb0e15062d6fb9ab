// Reads in flight: they leave in order, are answered in any order, and end in order, one a cycle.
`include "assertions.svh"

module wqe_fetch_reads #(
    parameter  int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    localparam int unsigned Reads      = stages_pkg::WqeFetchOutstanding,
    localparam int unsigned SlotWidth  = $clog2(Reads),
    localparam int unsigned CountWidth = $clog2(Reads + 1),
    localparam int unsigned RowWidth   = $clog2(stages_pkg::WqeFetchDepth),
    // of each WQEBB, how long the WQE is that begins with it
    localparam int unsigned SizesWidth = 6 * stages_pkg::WqeFetchGrantWqebbs
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic                forget_i,      // what is read for a QP is of no use - control
    input logic [QpnWidth-1:0] forget_qpn_i,  // which - control

    input  logic                  answer_i,         // a read is answered - dma_engine
    input  logic [ SlotWidth-1:0] answer_slot_i,    // which - dma_engine
    input  logic [           2:0] answer_status_i,  // how - dma_engine
    input  logic [SizesWidth-1:0] answer_sizes_i,   // sizes in its WQEBBs - dma_engine
    output logic [  RowWidth-1:0] answer_row_o,     // where its bytes go - rows

    output logic                  end_o,          // the oldest is answered: it ends - cut
    output logic                  end_stale_o,    // nobody wants it - cut
    output logic [  QpnWidth-1:0] end_qpn_o,      // its QP - cut
    output logic [          15:0] end_index_o,    // its first WQEBB - cut
    output logic [           2:0] end_wqebbs_o,   // how many - cut
    output logic [  RowWidth-1:0] end_row_o,      // where they are - cut
    output logic [           2:0] end_status_o,   // how it was answered - cut
    output logic [SizesWidth-1:0] end_sizes_o,    // sizes in its WQEBBs - cut
    output logic                  end_others_o,   // its QP has others - cut
    output logic                  pending_o,      // one will end in the next cycle - clock gate

    input  logic [QpnWidth-1:0] bell_qpn_i,  // the doorbell's QP - doorbell
    output logic                reading_o,   // it has reads - doorbell

    output logic [CountWidth-1:0] count_o,         // behind the one that ends - arbiter
    output logic [ SlotWidth-1:0] slot_o,          // of the next read - arbiter
    input  logic                  grant_i,         // a read leaves - arbiter
    input  logic [  QpnWidth-1:0] grant_qpn_i,     // - arbiter
    input  logic [          15:0] grant_index_i,   // - arbiter
    input  logic [           2:0] grant_wqebbs_i,  // - arbiter
    input  logic [  RowWidth-1:0] grant_row_i      // - arbiter
);

  logic [QpnWidth*Reads-1:0] qpn_q;
  logic [Reads-1:0] valid_q, stale_q, done_q;
  logic [SlotWidth-1:0] head_q, tail_q;
  logic [CountWidth-1:0] count_q;
  logic [16+3+RowWidth-1:0] read_mem[Reads];
  logic [3+SizesWidth-1:0] answer_mem[Reads];

  logic answer_front;
  logic [15:0] unused_index;
  logic [2:0] unused_wqebbs;
  assign answer_front = answer_i && answer_slot_i == head_q;
  assign {unused_index, unused_wqebbs, answer_row_o} = read_mem[answer_slot_i];

  assign end_o = valid_q[head_q] && (done_q[head_q] || answer_front);
  assign end_qpn_o = qpn_q[head_q*QpnWidth+:QpnWidth];
  assign end_stale_o = stale_q[head_q] || (forget_i && forget_qpn_i == end_qpn_o);
  assign {end_index_o, end_wqebbs_o, end_row_o} = read_mem[head_q];
  assign {end_status_o, end_sizes_o} = answer_front ? {answer_status_i, answer_sizes_i}
                                                    : answer_mem[head_q];

  always_comb begin
    end_others_o = 1'b0;
    reading_o    = 1'b0;
    for (int unsigned i = 0; i < Reads; i++) begin
      if (valid_q[i] && !stale_q[i]) begin
        if (qpn_q[i*QpnWidth+:QpnWidth] == end_qpn_o && head_q != SlotWidth'(i)) begin
          end_others_o = 1'b1;
        end
        if (qpn_q[i*QpnWidth+:QpnWidth] == bell_qpn_i && !(end_o && head_q == SlotWidth'(i))) begin
          reading_o = 1'b1;
        end
      end
    end
    if (forget_i && forget_qpn_i == bell_qpn_i) begin
      reading_o = 1'b0;
    end
  end

  assign pending_o = valid_q[head_q] && done_q[head_q];
  assign count_o = count_q - CountWidth'(end_o);
  assign slot_o = tail_q;

  always_ff @(posedge clk_i) begin
    if (answer_i) begin
      answer_mem[answer_slot_i] <= {answer_status_i, answer_sizes_i};
    end
    if (grant_i) begin
      read_mem[tail_q]                   <= {grant_index_i, grant_wqebbs_i, grant_row_i};
      qpn_q[tail_q*QpnWidth+:QpnWidth] <= grant_qpn_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      stale_q <= '0;
      done_q  <= '0;
      head_q  <= '0;
      tail_q  <= '0;
      count_q <= '0;
    end else begin
      if (forget_i) begin
        for (int unsigned i = 0; i < Reads; i++) begin
          if (valid_q[i] && qpn_q[i*QpnWidth+:QpnWidth] == forget_qpn_i) begin
            stale_q[i] <= 1'b1;
          end
        end
      end
      if (answer_i) begin
        done_q[answer_slot_i] <= 1'b1;
      end
      if (end_o) begin
        valid_q[head_q] <= 1'b0;
        head_q          <= head_q + 1'b1;
      end
      // The last free slot may be the one that ends.
      if (grant_i) begin
        valid_q[tail_q] <= 1'b1;
        stale_q[tail_q] <= 1'b0;
        done_q[tail_q]  <= 1'b0;
        tail_q          <= tail_q + 1'b1;
      end
      count_q <= count_q + CountWidth'(grant_i) - CountWidth'(end_o);
    end
  end

  `CARILLON_ASSERT(!answer_i || (valid_q[answer_slot_i] && !done_q[answer_slot_i]))
  `CARILLON_ASSERT(!grant_i || count_o != CountWidth'(Reads))

endmodule
