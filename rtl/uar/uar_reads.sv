// Reads of UAR pages: a read waits until all that was written before it has taken effect, and is
// answered after a fixed latency with the last accepted doorbell of its page, or with zero.
`include "assertions.svh"

module uar_reads #(
    parameter  int unsigned CountWidth = 6,
    localparam int unsigned RowWidth = $clog2(stages_pkg::UarPages)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [3:0] log_pages_i,       // pages of a function - configuration
    input logic [7:0] writes_waiting_i,  // writes at their port, the one offered included - pcie_rx

    input logic                  write_take_i,     // a write is taken - uar
    input logic [CountWidth-1:0] lookups_i,        // lookups that are not answered - uar
    input logic                  line_take_i,      // one of them is answered - uar
    input logic                  timeout_event_i,  // one more, by time - uar
    input logic [1:0]            write_events_i,   // more, by the write that is taken - uar

    input logic                accept_i,        // a doorbell passed its check - uar
    input logic [RowWidth-1:0] accept_row_i,    // of this page - uar
    input logic [63:0]         accept_record_i, // its value - uar

    input  logic                       read_valid_i,    // a read - pcie_rx
    output logic                       read_ready_o,    // it is taken - pcie_rx
    input  streams_pkg::mmio_read_beat_t read_i,        // which one - pcie_rx
    input  logic                       answer_credit_i, // there is room for an answer - uar

    output logic                           answer_push_o,  // an answer - uar
    output streams_pkg::mmio_answer_beat_t answer_o,       // the answer - uar
    output logic                           busy_o          // some are under way - uar
);

  localparam int unsigned Latency = stages_pkg::UarLatency;

  // ------------------------------------------------------------------------------------------
  // order

  logic counted_q;                    // the writes before the read at the port are counted
  logic passed_q;                     // a later write was taken
  logic [7:0] writes_q, writes;       // of those before, not taken
  logic [CountWidth-1:0] earlier_q, earlier;  // lookups that these and earlier ones led to
  logic count_timeout, count_write, take;

  assign writes = counted_q ? writes_q : writes_waiting_i;
  assign count_timeout = !counted_q || !passed_q;
  assign count_write = write_take_i && writes != '0;
  always_comb begin
    if (!counted_q) begin
      earlier = lookups_i - CountWidth'(line_take_i);
    end else begin
      earlier = earlier_q - CountWidth'(line_take_i && earlier_q != '0);
    end
    earlier = earlier + CountWidth'(timeout_event_i && count_timeout);
  end

  assign read_ready_o = writes == '0 && earlier == '0 && answer_credit_i;
  assign take = read_valid_i && read_ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      counted_q <= 1'b0;
      passed_q  <= 1'b0;
      writes_q  <= '0;
      earlier_q  <= '0;
    end else if (read_valid_i) begin
      counted_q <= !take;
      passed_q  <= (counted_q && passed_q) || (write_take_i && writes == '0);
      writes_q  <= writes - 8'(count_write);
      earlier_q  <= earlier + (count_write ? CountWidth'(write_events_i) : '0);
    end
  end

  // ------------------------------------------------------------------------------------------
  // answers

  logic [RowWidth-1:0] row, row_q;
  logic [$bits(read_i)-1:0] read_q;
  logic taken_q;
  streams_pkg::mmio_read_beat_t asked;
  logic [63:0] record_mem[stages_pkg::UarPages];
  logic live;  // the row was ever written

  uar_row u_row (
      .function_id_i(read_i.function_id),
      .page_i       (read_i.offset[31:12]),
      .log_pages_i,
      .row_o        (row)
  );

  always_ff @(posedge clk_i) begin
    if (accept_i) begin
      record_mem[accept_row_i] <= accept_record_i;
    end
    if (take) begin
      read_q <= read_i;
      row_q  <= row;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q <= 1'b0;
    end else begin
      taken_q <= take;
    end
  end

  uar_flags u_live (
      .clk_i,
      .rst_ni,
      .set_i        (1'b0),
      .set_row_i    ('0),
      .write_i      (accept_i),
      .write_row_i  (accept_row_i),
      .write_value_i(1'b1),
      .read_row_i   (row_q),
      .flag_o       (live)
  );

  // The memory is read a cycle after the read was taken, when what was accepted with it is there.
  // Of a page only DB_REC has something to tell.
  streams_pkg::mmio_answer_beat_t answer;
  logic [63:0] record;
  assign asked = read_q;
  assign record = live && asked.offset[11:3] == 9'(registers_pkg::UarPageDbRec / 8)
                      ? record_mem[row_q] : '0;
  always_comb begin
    answer               = '0;
    answer.trace_id      = asked.trace_id;
    answer.function_id   = asked.function_id;
    answer.requester     = asked.requester;
    answer.tag           = asked.tag;
    answer.length        = asked.length;
    answer.lower_address = asked.offset[6:0];
    answer.data          = record << {asked.offset[2:0], 3'b0};
  end

  logic pipe_busy;
  credit_pipe #(
      .Width (streams_pkg::MmioAnswerBeatWidth),
      .Stages(Latency - 2)
  ) u_pipe (
      .clk_i,
      .rst_ni,
      .valid_i(taken_q),
      .data_i (answer),
      .valid_o(answer_push_o),
      .data_o (answer_o),
      .busy_o (pipe_busy)
  );

  assign busy_o = taken_q || pipe_busy;

endmodule
