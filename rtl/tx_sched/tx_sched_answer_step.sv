// A QP with responses gets in line if its first may be granted: what passes payload_dma by waits
// for the QP's packets inside it. Combinational.
module tx_sched_answer_step #(
    localparam int unsigned RowWidth = streams_pkg::SchedAnswersWidth
) (
    input  logic [RowWidth-1:0]         row_i,       // the responses - responses
    input  streams_pkg::response_beat_t first_i,     // the first of them - responses
    output logic [RowWidth-1:0]         row_o,       // the responses afterwards - responses
    output logic controls_o,  // it joins the line of acknowledges - responses
    output logic                        reads_o,     // it joins the line of READs - responses
    output logic [1:0]                  class_o      // of its next packet: fetched, told of - turns
);

  streams_pkg::sched_answers_t row, next;
  assign row = row_i;
  assign row_o = next;

  logic is_read, fetched, waits, may;
  logic [31:0] packets;
  assign is_read = first_i.kind == streams_pkg::AnswerKindRead;
  assign fetched = is_read && first_i.length != '0;
  assign waits = row.count != '0 && !row.in_controls && !row.in_reads &&
      !row.stopped;
  assign may = waits && (row.in_payload == '0 || fetched);
  assign controls_o = may && !is_read;
  assign reads_o = may && is_read;
  assign packets = first_i.length == '0 ? 32'd1
      : ((first_i.length - 32'd1) >> (4'd7 + 4'(first_i.mtu_code))) + 32'd1;
  assign class_o = {fetched, first_i.saved && 32'(row.granted) + 32'd1 == packets};

  always_comb begin
    next             = row;
    next.in_controls = row.in_controls || controls_o;
    next.in_reads    = row.in_reads || reads_o;
  end

endmodule
