// A packet of a request has left payload_dma, or its data could not be read: then its WQE completes
// with an error, and nothing more of the QP is sent. Combinational.
module tx_sched_left #(
    localparam int unsigned RowWidth  = streams_pkg::SchedRowWidth,
    localparam int unsigned SlotWidth = 11
) (
    input  streams_pkg::payload_note_t left_i,      // the packet - payload_dma
    input  logic [RowWidth-1:0]        row_i,       // its queue - queues
    input  logic [SlotWidth-1:0]       behind_i,    // the work request behind the first - works
    input  logic                       covered_i,   // a held note is about the packet - notes
    input  logic                       sent_room_i, // a credit for a note - top
    input  logic [8:0]                 slot_i,      // where a note would be held - notes
    output logic [RowWidth-1:0]        row_o,       // the queue afterwards - queues
    output logic                       marks_o,     // the held note gets the syndrome - notes
    output logic in_head_o,  // it is the first work request's, which ends - top
    output logic                       adds_o,      // there is a note - cut
    output logic                       sends_o,     // ... which leaves at once - sent
    output logic                       holds_o,     // ... which is held - notes
    output logic                       behind_o,    // ... behind another one - notes
    output logic                       lines_up_o,  // the first note may go from now on - top
    output logic                       enters_o     // the queue may have become able to send - top
);

  streams_pkg::sched_row_t row, next;
  assign row = row_i;
  assign row_o = next;

  logic fails, covered, ahead_of_head;
  logic [15:0] left, stale, after;
  logic [23:0] into;
  assign left = row.left_payload + 16'd1;
  assign stale = row.stale_in_payload - row.left_payload;
  assign fails = left_i.status != streams_pkg::ReadResultOk && (stale[15] || stale == '0);
  assign into = left_i.psn - row.first_psn;
  assign ahead_of_head = into[23];
  // Of UC and UD the requester has not heard of the WQE yet.
  assign covered = covered_i && row.unreliable;
  assign marks_o = fails && covered;
  assign in_head_o = fails && !covered && row.works != '0 && row.begun && !ahead_of_head;
  assign adds_o = fails && !covered && (in_head_o || !row.unreliable);
  assign enters_o = marks_o || adds_o;

  // It may go when what was given to payload_dma before has left it.
  logic passed;
  logic [15:0] missing;
  assign after = row.unreliable ? row.to_payload : left;
  assign missing = left - after;
  assign passed = !missing[15];
  assign sends_o = adds_o && row.notes == '0 && passed && sent_room_i;
  assign holds_o = adds_o && !sends_o;
  assign behind_o = row.notes != '0;

  always_comb begin
    next              = row;
    next.left_payload = left;
    if (fails) begin
      next.failed = 1'b1;
    end
    if (in_head_o) begin
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
        next.note_after = after;
      end
    end
    if (lines_up_o) begin
      next.noting = 1'b1;
    end
  end

  logic [15:0] first_missing;
  assign first_missing = left - (holds_o && !behind_o ? after : row.note_after);
  assign lines_up_o = !row.noting && (row.notes != '0 || holds_o) && !first_missing[15];

endmodule
