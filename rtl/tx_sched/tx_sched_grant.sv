// The first work request of a queue gets a packet, ends without one, or fails. Combinational.
module tx_sched_grant #(
    localparam int unsigned RowWidth   = streams_pkg::SchedRowWidth,
    localparam int unsigned HeadWidth  = streams_pkg::WorkBeatWidth - 512,
    localparam int unsigned ClassWidth = streams_pkg::SchedClassWidth,
    localparam int unsigned SlotWidth  = 11
) (
    input logic [  RowWidth-1:0] row_i,           // the queue - queues
    input logic [ HeadWidth-1:0] head_i,          // its first work request - works
    input logic [SlotWidth-1:0]  behind_i,        // the one behind it - works
    input logic [ClassWidth-1:0] class_i,         // what it needs - head
    input logic [           7:0] syndrome_i,      // with which it fails - head
    input logic [          15:0] mtu_i,           // bytes of payload a packet - head
    input logic [           3:0] log_mtu_i,       // its logarithm - head
    input logic [          15:0] bytes_i,         // payload of its packet - head
    input logic [          23:0] psns_i,          // PSNs of its packet - head
    input logic                  message_i,       // SEND, WRITE - head
    input logic                  answered_i,      // READ, atomic - head
    input logic [          13:0] port_mtu_i,      // quantum of a turn - settings
    input logic [          15:0] ack_interval_i,  // packets between AckReq - settings
    input logic                  sent_room_i,     // a credit for a note - top
    input logic [           8:0] slot_i,          // where a note would be held - notes

    output logic [RowWidth-1:0] row_o,          // the queue afterwards - queues
    output logic                packet_o,       // it gets a packet - cut
    output logic                fetched_o,      // ... for payload_dma - top
    output logic                last_o,         // ... its last - cut
    output logic                ack_request_o,  // ... that asks for an acknowledge - cut
    output logic                ends_o,         // it is done with - works
    output logic                fails_o,        // it fails or is flushed - cut
    output logic                flushed_o,      // it is flushed - cut
    output logic                invalidates_o,  // it ends a key - top
    output logic [        23:0] first_psn_o,    // of the work request - cut
    output logic                sends_o,        // a note leaves at once - sent
    output logic                holds_o,        // a note is held - notes
    output logic                behind_o,       // ... behind another one - notes
    output logic [        15:0] after_o,        // ... until so many packets have left - notes
    output logic                lines_up_o      // the first note may go from now on - top
);

  streams_pkg::sched_row_t row, next;
  streams_pkg::work_beat_t work;
  streams_pkg::sched_class_t choice;
  assign row = row_i;
  assign row_o = next;
  assign work = {head_i, 512'b0};
  assign choice = class_i;

  assign fails_o = choice.fails;
  assign flushed_o = row.error || row.failed || syndrome_i == wqe_pkg::CqeSyndromeWrFlushed;
  assign packet_o = !fails_o && !choice.silent;
  assign fetched_o = packet_o && choice.fetched;
  assign invalidates_o = !fails_o && choice.invalidates;
  assign last_o = !message_i || row.offset + 32'(bytes_i) == work.length;
  assign ends_o = !packet_o || last_o;

  logic [31:0] skipped;
  assign skipped = row.offset >> log_mtu_i;
  assign first_psn_o = row.begun ? row.first_psn : row.psn - skipped[23:0];

  logic [15:0] since;
  assign since = row.since_ack_request + 16'(!last_o);
  assign ack_request_o = packet_o && !row.unreliable && (last_o || since >= ack_interval_i);

  // Deficit round robin: a turn begins with a quantum on top of what is left of the last one.
  logic [16:0] charged, deficit, quantum;
  assign charged = bytes_i == '0 ? 17'd1 : 17'(bytes_i);
  assign quantum = 17'(mtu_i) > 17'(port_mtu_i) ? 17'(mtu_i) : 17'(port_mtu_i);
  assign deficit = (17'(row.deficit) < charged ? 17'(row.deficit) + quantum : 17'(row.deficit)) -
      charged;

  // What is told when: of a reliable queue a packet at once; the rest when the data before it has
  // been read, and behind what waits already.
  logic notes, waits;
  logic [15:0] missing, first_missing, to_payload, behind_index, begun_ahead;
  assign to_payload = row.to_payload + 16'(fetched_o);
  assign after_o = row.unreliable ? to_payload : row.left_payload;
  assign missing = row.left_payload - after_o;
  assign notes = ends_o && (row.unreliable || !packet_o);
  assign waits = row.notes != '0 || missing[15] || !sent_room_i;
  assign sends_o = (packet_o && !row.unreliable) || (notes && !waits);
  assign holds_o = notes && waits;
  assign behind_o = row.notes != '0;
  assign first_missing = row.left_payload - (behind_o ? row.note_after : after_o);
  assign lines_up_o = holds_o && !row.noting && !first_missing[15];

  assign behind_index = work.wqe_index + 16'(work.wqebbs);
  assign begun_ahead = behind_index - row.begun_to;

  always_comb begin
    next            = row;
    next.begun      = 1'b1;
    next.first_psn  = first_psn_o;
    next.to_payload = to_payload;
    if (!row.begun && !begun_ahead[15] && begun_ahead != '0) begin
      next.begun_to = behind_index;
    end
    if (invalidates_o) begin
      next.invalidates = 1'b1;
    end
    if (fails_o) begin
      next.failed  = row.failed || !flushed_o;
      next.deficit = '0;
    end
    if (packet_o) begin
      next.psn     = row.psn + psns_i;
      next.offset  = row.offset + 32'(bytes_i);
      next.deficit = deficit[15:0];
      next.reads   = row.reads + 16'(answered_i);
      if (!row.unreliable) begin
        next.since_ack_request = ack_request_o ? '0 : since;
      end
    end
    if (ends_o) begin
      next.works  = row.works - 11'd1;
      next.head   = behind_i;
      next.begun  = 1'b0;
      next.offset = '0;
      if (row.flushing != '0) begin
        next.flushing = row.flushing - 11'd1;
      end
      if (row.works == 11'd1) begin
        next.deficit = '0;
      end
    end
    if (holds_o) begin
      next.notes     = row.notes + 10'd1;
      next.note_tail = slot_i;
      if (!behind_o) begin
        next.note_head  = slot_i;
        next.note_after = after_o;
      end
    end
    if (lines_up_o) begin
      next.noting = 1'b1;
    end
  end


endmodule
