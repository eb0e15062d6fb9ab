// The bytes of what was read: a row for each read, until its last WQEBB has left or is of no use.
// Every WQEBB holds a beat of the output, so there are never more rows than beats. Where a WQE goes
// on behind the last WQEBB of a row is kept with the row, and so is which unfinished WQE the last
// WQEBBs of a row belong to.
`include "assertions.svh"

module wqe_fetch_rows #(
    localparam int unsigned Wqebbs     = stages_pkg::WqeFetchGrantWqebbs,
    localparam int unsigned Rows       = stages_pkg::WqeFetchDepth,
    localparam int unsigned RowWidth   = $clog2(Rows),
    localparam int unsigned PlaceWidth = $clog2(stages_pkg::WqeFetchDepth),
    localparam int unsigned Blocks     = Wqebbs * Rows
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic                  forget_i,        // an unfinished WQE is given up - control
    input logic [PlaceWidth-1:0] forget_place_i,  // which - control

    input logic                  answer_i,      // bytes come - dma_engine
    input logic [  RowWidth-1:0] answer_row_i,  // for this row - reads
    input logic [512*Wqebbs-1:0] answer_data_i, // first WQEBB at the top - dma_engine

    input logic                  drop_i,         // a row is of no use - cut
    input logic                  cut_i,          // a row is cut into WQEs - cut
    input logic [  RowWidth-1:0] cut_row_i,      // which - cut
    input logic                  begun_i,        // its first WQE has begun before - cut
    input logic [PlaceWidth-1:0] begun_place_i,  // its place - cut
    input logic [  RowWidth-1:0] begun_last_i,   // its last row until now - cut
    input logic                  cut_ends_i,     // it ends in this row - cut
    input logic [    Wqebbs-1:0] left_i,         // WQEBBs of the one that is left - cut
    input logic [PlaceWidth-1:0] left_place_i,   // its place - cut

    input  logic [RowWidth-1:0] leave_row_i,     // a WQEBB leaves: of this row - leave
    input  logic [         1:0] leave_wqebb_i,   // which - leave
    output logic [       511:0] leave_data_o,    // its bytes - leave
    output logic [RowWidth-1:0] behind_row_o,    // row of the WQEBB behind it - leave
    output logic [         1:0] behind_wqebb_o,  // which - leave
    input  logic                leave_i,         // it leaves now - leave

    input  logic                  give_up_i,        // another one is given up - arbiter
    input  logic [PlaceWidth-1:0] give_up_place_i,  // which - arbiter
    output logic [  RowWidth-1:0] free_o,           // a free row - arbiter
    input  logic                  grant_i,          // it is used from now on - arbiter
    input  logic [           2:0] grant_wqebbs_i    // for so many WQEBBs - arbiter
);

  logic [512*Wqebbs-1:0] data_mem[Rows];
  logic [Blocks-1:0] used_q, used;            // WQEBBs that hold a beat
  logic [Blocks-1:0] tail_q, tail, tail_cut;  // of these, those of unfinished WQEs
  logic [PlaceWidth*Rows-1:0] owner_q, owner_cut;
  logic [RowWidth*Rows-1:0] next_q;  // where the last WQE of a row goes on
  logic [3*Rows-1:0] length_q;

  always_comb begin
    used = used_q;
    tail_cut = tail_q;
    owner_cut = owner_q;
    for (int unsigned i = 0; i < Rows; i++) begin
      if (forget_i && owner_q[PlaceWidth*i+:PlaceWidth] == forget_place_i) begin
        used[Wqebbs*i+:Wqebbs]     = used[Wqebbs*i+:Wqebbs] & ~tail_q[Wqebbs*i+:Wqebbs];
        tail_cut[Wqebbs*i+:Wqebbs] = '0;
      end
      if (cut_i && begun_i && cut_ends_i &&
          owner_q[PlaceWidth*i+:PlaceWidth] == begun_place_i) begin
        tail_cut[Wqebbs*i+:Wqebbs] = '0;
      end
    end
    if (drop_i) begin
      used[cut_row_i*Wqebbs+:Wqebbs] = '0;
    end
    if (cut_i) begin
      tail_cut[cut_row_i*Wqebbs+:Wqebbs]           = left_i;
      owner_cut[cut_row_i*PlaceWidth+:PlaceWidth] = left_place_i;
    end
    if (leave_i) begin
      used[{leave_row_i, leave_wqebb_i}] = 1'b0;
    end
    tail = tail_cut;
    for (int unsigned i = 0; i < Rows; i++) begin
      if (give_up_i && owner_cut[PlaceWidth*i+:PlaceWidth] == give_up_place_i) begin
        used[Wqebbs*i+:Wqebbs] = used[Wqebbs*i+:Wqebbs] & ~tail_cut[Wqebbs*i+:Wqebbs];
        tail[Wqebbs*i+:Wqebbs] = '0;
      end
    end
  end

  logic any_free;
  always_comb begin
    any_free = 1'b0;
    free_o   = '0;
    for (int unsigned i = Rows; i > 0; i--) begin
      if (used[Wqebbs*(i-1)+:Wqebbs] == '0) begin
        any_free = 1'b1;
        free_o   = RowWidth'(i - 1);
      end
    end
  end

  logic [512*Wqebbs-1:0] leave_row;
  logic [2:0] leave_length;
  assign leave_row = data_mem[leave_row_i];
  assign leave_length = length_q[leave_row_i*3+:3];
  always_comb begin
    unique case (leave_wqebb_i)
      2'd0: leave_data_o = leave_row[2047:1536];
      2'd1: leave_data_o = leave_row[1535:1024];
      2'd2: leave_data_o = leave_row[1023:512];
      default: leave_data_o = leave_row[511:0];
    endcase
    if (3'(leave_wqebb_i) + 3'd1 == leave_length) begin
      behind_row_o   = next_q[leave_row_i*RowWidth+:RowWidth];
      behind_wqebb_o = '0;
    end else begin
      behind_row_o   = leave_row_i;
      behind_wqebb_o = leave_wqebb_i + 2'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (answer_i) begin
      data_mem[answer_row_i] <= answer_data_i;
    end
    owner_q <= owner_cut;
    if (cut_i && begun_i) begin
      next_q[begun_last_i*RowWidth+:RowWidth] <= cut_row_i;
    end
    if (grant_i) begin
      length_q[free_o*3+:3] <= grant_wqebbs_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      tail_q <= '0;
    end else begin
      used_q <= used;
      tail_q <= tail;
      if (grant_i) begin
        for (int unsigned i = 0; i < Wqebbs; i++) begin
          used_q[free_o*Wqebbs+i] <= 3'(i) < grant_wqebbs_i;
        end
      end
    end
  end

  `CARILLON_ASSERT(!grant_i || any_free)
  `CARILLON_ASSERT(!leave_i || used_q[{leave_row_i, leave_wqebb_i}])

endmodule
