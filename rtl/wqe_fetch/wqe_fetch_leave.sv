// Hands WQEs to the parser: those of answered reads after a fixed time, BlueFlame WQEs in the next
// cycle, all of them in the order in which they came here, a beat a cycle. What waits holds at
// least a beat of the output each, so there is always room.
`include "assertions.svh"

module wqe_fetch_leave #(
    parameter  int unsigned QpnWidth   = params_pkg::NicLogMaxQp,
    localparam int unsigned Depth      = stages_pkg::WqeFetchDepth,
    localparam int unsigned Wqebbs     = stages_pkg::WqeFetchGrantWqebbs,
    localparam int unsigned SlotWidth  = $clog2(Depth),
    localparam int unsigned CountWidth = $clog2(Depth + 1),
    localparam int unsigned RowWidth   = $clog2(Depth)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic                read_i,           // WQEs of an answered read - cut
    input logic [QpnWidth-1:0] read_qpn_i,       // QP - reads
    input logic [        15:0] read_function_i,  // owner - queues
    input logic [         7:0] read_epoch_i,     // epoch - queues
    input logic [         2:0] read_status_i,    // how it was answered - reads
    input logic [        15:0] read_index_i,     // index of its first WQEBB - reads
    input logic [RowWidth-1:0] read_row_i,       // its row - reads
    input logic [6*Wqebbs-1:0] read_sizes_i,     // sizes of WQEs that begin with its WQEBBs - reads
    input logic [  Wqebbs-1:0] read_ends_i,      // WQEs end with these - cut
    input logic                begun_i,          // the first has begun before - unfinished
    input logic [        15:0] begun_index_i,    // at this index - unfinished
    input logic [         3:0] begun_wqebbs_i,   // with so many WQEBBs - unfinished
    input logic [         5:0] begun_size_i,     // of this size - unfinished
    input logic [RowWidth-1:0] begun_row_i,      // in this row - unfinished
    input logic [         1:0] begun_wqebb_i,    // from this WQEBB on - unfinished

    input logic                      bell_i,        // a BlueFlame WQE - doorbell
    input streams_pkg::doorbell_beat_t bell_beat_i, // what it is - uar
    input logic [               7:0] bell_epoch_i,  // epoch - queues

    output logic [RowWidth-1:0] row_o,           // a WQEBB leaves: of this row - rows
    output logic [         1:0] wqebb_o,         // which - rows
    input  logic [       511:0] data_i,          // its bytes - rows
    input  logic [RowWidth-1:0] behind_row_i,    // row of the WQEBB behind it - rows
    input  logic [         1:0] behind_wqebb_i,  // which - rows
    output logic                leave_o,         // it leaves now - rows

    output logic                   push_o,  // a beat of a WQE - output
    output streams_pkg::wqe_beat_t beat_o,  // the beat - output
    output logic                   busy_o   // something is here - clock gate
);

  localparam int unsigned ReadWidth = QpnWidth + 16 + 8 + 3 + 16 + RowWidth + 6 * Wqebbs + Wqebbs +
                                      1 + 16 + 4 + 6 + RowWidth + 2;

  function automatic logic [4:0] wqebbs_of(input logic [5:0] size);
    wqebbs_of = size == '0 ? 5'd1 : 5'((7'(size) + 7'd3) >> 2);
  endfunction

  // Reads and BlueFlame WQEs in queues of their own, and in which order they came.
  logic [ReadWidth-1:0] read_mem[Depth];
  logic [$bits(bell_beat_i)+8-1:0] bell_mem[Depth];
  logic [Depth-1:0] order_q;  // the entry is a BlueFlame WQE
  logic [SlotWidth-1:0] read_head_q, read_tail_q, bell_head_q, bell_tail_q;
  logic [SlotWidth-1:0] order_head_q, order_tail_q, order_next;
  logic [CountWidth-1:0] order_count_q;

  // Reads whose time has come.
  logic due, waiting;
  logic unused_due;
  logic [CountWidth-1:0] due_q, due_now;
  credit_pipe #(
      .Width (1),
      .Stages(stages_pkg::WqeFetchDone - 1)
  ) u_time (
      .clk_i,
      .rst_ni,
      .valid_i(read_i),
      .data_i (1'b0),
      .valid_o(due),
      .data_o (unused_due),
      .busy_o (waiting)
  );
  assign due_now = due_q + CountWidth'(due);

  // A BlueFlame WQE that finds nobody leaves at once.
  logic direct, front_is_bell;
  assign direct = order_count_q == '0 && bell_i && !read_i;
  assign front_is_bell = direct || order_q[order_head_q];

  logic [QpnWidth-1:0] front_qpn;
  logic [15:0] front_function, front_index, front_begun_index;
  logic [7:0] front_epoch;
  logic [2:0] front_status;
  logic [RowWidth-1:0] front_row, front_begun_row;
  logic [6*Wqebbs-1:0] front_sizes;
  logic [Wqebbs-1:0] front_ends;
  logic front_begun;
  logic [3:0] front_begun_wqebbs;
  logic [5:0] front_begun_size;
  logic [1:0] front_begun_wqebb;
  assign {front_qpn, front_function, front_epoch, front_status, front_index, front_row, front_sizes,
          front_ends, front_begun, front_begun_index, front_begun_wqebbs, front_begun_size,
          front_begun_row, front_begun_wqebb} = read_mem[read_head_q];

  streams_pkg::doorbell_beat_t front_bell;
  logic [7:0] front_bell_epoch;
  assign {front_bell, front_bell_epoch} = direct ? {bell_beat_i, bell_epoch_i}
                                                 : bell_mem[bell_head_q];

  // The next WQE of the read in front: from WQEBB from_q on, up to the next one that ends one.
  logic [1:0] from_q, upto;
  logic [Wqebbs-1:0] ends_left;
  logic here, last_of_read;
  logic [5:0] size;
  logic [4:0] length;
  assign ends_left = front_ends & (4'hf << from_q);
  assign here = !front_begun || from_q != '0;
  assign size = here ? front_sizes[6*from_q+:6] : front_begun_size;
  always_comb begin
    upto = 2'd3;
    if (ends_left[0]) upto = 2'd0;
    else if (ends_left[1]) upto = 2'd1;
    else if (ends_left[2]) upto = 2'd2;
  end
  assign last_of_read = (ends_left & ~(4'h1 << upto)) == '0;
  assign length = (here ? 5'd0 : 5'(front_begun_wqebbs)) + 5'(upto) - (here ? 5'(from_q) : 5'd0) +
                  5'd1;

  logic whole;
  assign whole = front_status == streams_pkg::ReadResultOk && length >= wqebbs_of(size);

  // The beat that leaves.
  logic [4:0] left_q, beats;  // behind the first beat
  logic [3:0] beat_q;
  logic [RowWidth-1:0] row_q;
  logic [1:0] wqebb_q;
  logic running, last;
  assign running = left_q != '0;
  assign push_o = running || direct ||
                  (order_count_q != '0 && (front_is_bell || due_now != '0));
  assign beats = front_is_bell ? wqebbs_of(front_bell.ds) : length;
  assign last = running ? left_q == 5'd1 : beats == 5'd1;
  assign row_o = running ? row_q : here ? front_row : front_begun_row;
  assign wqebb_o = running ? wqebb_q : front_is_bell ? 2'd0 : here ? from_q : front_begun_wqebb;
  assign leave_o = push_o && !front_is_bell;

  logic [511:0] bytes, kept;
  logic [5:0] ds, units;
  logic [2:0] status;
  always_comb begin
    ds     = front_bell.ds;
    status = streams_pkg::ReadResultOk;
    unique case (wqebb_o)
      2'd0: bytes = front_bell.data[2047:1536];
      2'd1: bytes = front_bell.data[1535:1024];
      2'd2: bytes = front_bell.data[1023:512];
      default: bytes = front_bell.data[511:0];
    endcase
    if (!front_is_bell) begin
      ds     = whole ? size : length[4] ? 6'd63 : {length[3:0], 2'b00};
      status = front_status;
      bytes  = data_i;
    end
    // Bytes beyond the WQE are nobody's, nor are those of a read that failed.
    units = ds == '0 ? 6'd1 : ds;
    kept  = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      if (status == streams_pkg::ReadResultOk && {running ? beat_q : 4'd0, 2'(i)} < units) begin
        kept[511-128*i-:128] = bytes[511-128*i-:128];
      end
    end
  end

  always_comb begin
    // Which message a WQE belongs to is not known here.
    beat_o.trace_id    = '0;
    beat_o.function_id = front_is_bell ? front_bell.function_id : front_function;
    beat_o.qpn         = front_is_bell ? front_bell.qpn : 24'(front_qpn);
    beat_o.wqe_index   = front_is_bell ? front_bell.wqe_index
                                       : here ? front_index + 16'(from_q) : front_begun_index;
    beat_o.ds          = ds;
    beat_o.origin      = front_is_bell ? streams_pkg::WqeSourceBlueFlame
                                       : streams_pkg::WqeSourceFetched;
    beat_o.epoch       = front_is_bell ? front_bell_epoch : front_epoch;
    beat_o.status      = status;
    beat_o.first       = !running;
    beat_o.last        = last;
    beat_o.data        = kept;
  end

  logic leaves, read_leaves, bell_stays;
  assign leaves = push_o && last && (front_is_bell || last_of_read);
  assign read_leaves = leaves && !front_is_bell;
  assign bell_stays = bell_i && !(direct && last);
  assign order_next = order_tail_q + SlotWidth'(read_i);

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      read_mem[read_tail_q] <= {read_qpn_i, read_function_i, read_epoch_i, read_status_i,
                                read_index_i, read_row_i, read_sizes_i, read_ends_i, begun_i,
                                begun_index_i, begun_wqebbs_i, begun_size_i, begun_row_i,
                                begun_wqebb_i};
    end
    if (bell_stays) begin
      bell_mem[bell_tail_q] <= {bell_beat_i, bell_epoch_i};
    end
    if (read_i) order_q[order_tail_q] <= 1'b0;
    if (bell_stays) order_q[order_next] <= 1'b1;
    if (push_o) begin
      row_q   <= behind_row_i;
      wqebb_q <= front_is_bell ? wqebb_o + 2'd1 : behind_wqebb_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_head_q   <= '0;
      read_tail_q   <= '0;
      bell_head_q   <= '0;
      bell_tail_q   <= '0;
      order_head_q  <= '0;
      order_tail_q  <= '0;
      order_count_q <= '0;
      due_q         <= '0;
      from_q        <= '0;
      left_q        <= '0;
      beat_q        <= '0;
    end else begin
      read_tail_q  <= read_tail_q + SlotWidth'(read_i);
      bell_tail_q  <= bell_tail_q + SlotWidth'(bell_stays);
      order_tail_q <= order_tail_q + SlotWidth'(read_i) + SlotWidth'(bell_stays);
      due_q        <= due_now - CountWidth'(read_leaves);
      if (push_o) begin
        left_q <= running ? left_q - 5'd1 : beats - 5'd1;
        beat_q <= running ? beat_q + 4'd1 : 4'd1;
        if (last && !front_is_bell) begin
          from_q <= last_of_read ? '0 : upto + 2'd1;
        end
      end
      if (read_leaves) read_head_q <= read_head_q + 1'b1;
      if (leaves && front_is_bell && !direct) bell_head_q <= bell_head_q + 1'b1;
      if (leaves && !direct) order_head_q <= order_head_q + 1'b1;
      order_count_q <= order_count_q + CountWidth'(read_i) + CountWidth'(bell_stays) -
                       CountWidth'(leaves && !direct);
    end
  end

  assign busy_o = waiting || order_count_q != '0;

  `CARILLON_ASSERT(order_count_q <= CountWidth'(Depth))
  `CARILLON_ASSERT(!bell_i || bell_beat_i.ds <= 6'(4 * Wqebbs))

endmodule
