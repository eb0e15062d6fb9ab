// What was taken, until it is due at its output: its fields in one memory, its bytes in another, a
// line each cycle. TLPs become due in the order in which they were taken, and never two in the same
// cycle, since each enters behind the last symbol of the one before.
`include "assertions.svh"

module pcie_rx_line #(
    parameter int unsigned Width = 8
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [31:0] now_i,  // core cycle - clock

    input logic             push_i,       // something was taken - router
    input logic [31:0]      push_due_i,   // when its first beat is to leave - router
    input logic [6:0]       push_beats_i, // how many leave - router
    input logic             push_bytes_i, // each has a line of bytes - router
    input logic [Width-1:0] push_data_i,  // its fields - router

    input logic         line_i,       // a line of bytes comes - router
    input logic [511:0] line_data_i,  // the bytes - router

    output logic             valid_o,       // a beat leaves - outputs
    output logic             first_o,       // it is the first of its item - outputs
    output logic             last_o,        // it is the last - outputs
    output logic [Width-1:0] data_o,        // the fields of what it belongs to - outputs
    output logic [511:0]     line_data_o,   // its bytes, if it has some - outputs
    output logic             busy_o         // something is inside - clock gate
);

  // TLPs of the last forty cycles, and one that is held back for the end of its own bytes.
  localparam int unsigned Items = 64;
  // Its lines, and those of one that is being taken behind it.
  localparam int unsigned Lines = 128;
  localparam int unsigned ItemWidth = $clog2(Items);
  localparam int unsigned LineWidth = $clog2(Lines);

  localparam int unsigned EntryWidth = 32 + 7 + 1 + Width;

  logic [EntryWidth-1:0] item_mem[Items];
  logic [511:0] line_mem[Lines];
  logic [ItemWidth:0] item_write_q, item_read_q;
  logic [LineWidth:0] line_write_q, line_read_q;
  logic [6:0] beat_q;  // of the front item, that leaves next
  logic there;

  logic [31:0] front_due;
  logic [6:0] front_beats;
  logic front_bytes;
  assign {front_due, front_beats, front_bytes, data_o} = item_mem[item_read_q[ItemWidth-1:0]];
  assign there = item_write_q != item_read_q;
  assign busy_o = there;

  assign valid_o = there && (front_due == now_i || beat_q != '0);
  assign first_o = beat_q == '0;
  assign last_o = beat_q + 7'd1 == front_beats;
  assign line_data_o = front_bytes ? line_mem[line_read_q[LineWidth-1:0]] : '0;

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      item_mem[item_write_q[ItemWidth-1:0]] <=
          {push_due_i, push_beats_i, push_bytes_i, push_data_i};
    end
    if (line_i) begin
      line_mem[line_write_q[LineWidth-1:0]] <= line_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      item_write_q <= '0;
      item_read_q  <= '0;
      line_write_q <= '0;
      line_read_q  <= '0;
      beat_q       <= '0;
    end else begin
      if (push_i) begin
        item_write_q <= item_write_q + 1'b1;
      end
      if (line_i) begin
        line_write_q <= line_write_q + 1'b1;
      end
      if (valid_o) begin
        beat_q <= last_o ? '0 : beat_q + 7'd1;
        if (last_o) begin
          item_read_q <= item_read_q + 1'b1;
        end
        if (front_bytes) begin
          line_read_q <= line_read_q + 1'b1;
        end
      end
    end
  end

  `CARILLON_ASSERT(!push_i || item_write_q - item_read_q != (ItemWidth + 1)'(Items))
  `CARILLON_ASSERT(!line_i || line_write_q - line_read_q != (LineWidth + 1)'(Lines))
  `CARILLON_ASSERT(!(valid_o && front_bytes) || line_write_q != line_read_q)
  `CARILLON_ASSERT(!there || beat_q != '0 || 32'(front_due - now_i) < 32'h8000_0000)

endmodule
