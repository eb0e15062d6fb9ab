// The send queues: one step after the other changes a row, and each sees what those before it did.
// The order is that of tx_sched_rules::settle.
`include "assertions.svh"

module tx_sched_steps #(
    localparam int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned RowWidth      = streams_pkg::SchedRowWidth,
    localparam int unsigned ClassWidth    = streams_pkg::SchedClassWidth,
    localparam int unsigned HeadWidth     = streams_pkg::WorkBeatWidth - 512,
    localparam int unsigned NoteWidth     = streams_pkg::SentBeatWidth - 3840,
    localparam int unsigned SlotWidth     = 11,
    localparam int unsigned CreditWidth   = $clog2(stages_pkg::TxSchedDepth + 1)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [13:0] port_mtu_i,      // largest payload - settings
    input logic [23:0] window_i,        // packets without acknowledge - settings
    input logic [15:0] ack_interval_i,  // packets between AckReq - settings

    input  logic                        command_i,         // a command - top
    input  streams_pkg::sched_command_t command_item_i,    // which - top
    output logic                        command_resets_o,  // it resets its QP - responses
    input  logic                        control_i,         // a control - top
    input  streams_pkg::control_beat_t  control_item_i,    // which - top
    output logic                        refetches_o,       // the queue goes back - top
    input  logic                        left_i,            // a packet has left payload_dma - top
    input  streams_pkg::payload_note_t  left_item_i,       // which - top
    output logic [RowWidth-1:0]         lost_row_o,        // its queue before - cut
    output logic [HeadWidth-1:0]        lost_head_o,       // the first work request of that - cut
    output logic                        lost_in_head_o,    // which it belongs to - cut
    input  logic [NoteWidth-1:0]        lost_note_i,       // the note if it could not be read - cut
    input  logic [7:0]                  lost_syndrome_i,   // the syndrome then - cut
    input  logic                        beat_i,            // a beat of a work request - top
    input  logic                        work_i,            // the first of it, and it is taken - top
    input  streams_pkg::work_beat_t     work_item_i,       // which - top
    output logic                        arriving_o,        // its body is not complete - turns
    output logic [SlotWidth-1:0]        arriving_slot_o,   // where it is held - turns
    output logic [QpnWidth-1:0]         arriving_qpn_o,    // of which QP - turns
    input  logic [QpnWidth-1:0]         take_qpn_i,        // QP of a response - top
    output logic                        drops_response_o,  // it is in reset - top

    input  logic [CreditWidth-1:0]  sent_credits_i,  // room for notes - sent
    output logic [2:0]              notes_push_o,    // notes leave: lost, mark, held - sent
    output logic                    grant_push_o,    // ... and of what is granted - sent
    output streams_pkg::sent_beat_t mark_o,          // the mark - sent
    output logic [NoteWidth-1:0]    held_note_o,     // the held one - sent
    output logic                    note_room_o,     // there is room to hold more - pick

    output logic [     4*QpnWidth-1:0] turn_qpn_o,       // steps of the line: which QP - turns
    output logic [4*FunctionWidth-1:0] turn_function_o,  // whose - turns
    output logic [                3:0] turn_erase_o,     // it leaves - turns
    output logic [                3:0] turn_push_o,      // it joins - turns
    input  logic [                3:0] turn_active_i,    // it was in line - turns
    output logic [                3:0] turn_update_o,    // what is to know of it is new - turns
    output logic [   4*ClassWidth-1:0] turn_class_o,     // what - turns
    output logic [    4*SlotWidth-1:0] turn_head_o,      // slot of the first work request - turns
    output logic [    4*SlotWidth-1:0] turn_works_o,     // work requests that take slots - turns
    input logic [ 17:0] parked_works_i,  // works of those that have left the line - pick
    output logic [               10:0] works_o,          // work requests held - top
    output logic [               17:0] held_o,           // of those, how many take slots - top

    input  logic                  grant_i,            // a request is granted - top
    input  logic                  stop_i,             // ... or would be, but for a pause - top
    input  logic [  QpnWidth-1:0] grant_qpn_i,        // of which QP - turns
    output logic [  RowWidth-1:0] grant_row_o,        // its queue before - cut
    output logic [ HeadWidth-1:0] grant_head_o,       // the work request - cut
    output logic [        8191:0] grant_body_o,       // its body - cut
    output logic [           7:0] grant_syndrome_o,   // with which it fails - cut
    output logic [           3:0] grant_log_mtu_o,    // logarithm of its MTU - cut
    output logic [          15:0] grant_bytes_o,      // payload of its packet - cut
    output logic [          23:0] grant_first_psn_o,  // of the work request - cut
    input  logic [ NoteWidth-1:0] grant_note_i,       // what the requester is told - cut
    output logic                  packet_o,           // it gets a packet - top
    output logic                  fetched_o,          // ... for payload_dma - top
    output logic                  fails_o,            // it fails or is flushed - cut
    output logic                  flushed_o,          // it is flushed - cut
    output logic                  silent_o,           // it sends nothing - cut
    output logic                  invalidates_o,      // it ends a key - top
    output logic                  last_o,             // its last packet - cut
    output logic                  ack_request_o,      // asks for an acknowledge - cut
    output logic                  message_o,          // SEND, WRITE - cut
    output logic                  answered_o,         // READ, atomic - cut
    output logic                  stays_o,            // the queue has more - turns
    output logic                  turn_ends_o,        // ... when its turn comes again - turns
    output logic [ClassWidth-1:0] class_o,            // what is to know of it then - turns
    output logic [ SlotWidth-1:0] head_o,             // - turns
    output logic [ SlotWidth-1:0] slots_o,            // - turns

    input  logic [  QpnWidth-1:0] answer_qpn_i,   // QP of a granted response - responses
    output logic [  RowWidth-1:0] answer_row_o,   // its send queue - cut
    input  logic [  QpnWidth-1:0] line_qpn_i,     // the first in line for an acknowledge - line
    output logic [           2:0] line_pcp_o,     // priority of its path - top
    input  logic [  QpnWidth-1:0] go_qpn_i,       // whose pause has ended - pauses
    output logic                  go_works_o,     // it has work requests - top
    output logic [FunctionWidth-1:0] go_function_o,  // whose it is - turns
    input  logic                  go_joins_i,     // it comes back into its line - turns
    input  logic [  QpnWidth-1:0] admit_qpn_i,    // who finds a place - turns
    output logic [ClassWidth-1:0] admit_class_o,  // what is to know of him - turns
    output logic [ SlotWidth-1:0] admit_head_o,   // - turns
    output logic [ SlotWidth-1:0] admit_works_o,  // - turns

    output logic busy_o  // notes or marks wait - top
);

  // Rows
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] command_qpn, control_qpn, left_qpn, hold_qpn, mark_qpn, note_qpn;
  assign command_qpn = command_item_i.qpn[QpnWidth-1:0];
  assign control_qpn = control_item_i.qpn[QpnWidth-1:0];
  assign left_qpn = left_item_i.qpn[QpnWidth-1:0];
  assign hold_qpn = work_item_i.qpn[QpnWidth-1:0];
  assign turn_qpn_o = {hold_qpn, left_qpn, control_qpn, command_qpn};

  streams_pkg::sched_row_t command_row, control_row, left_row, hold_row, mark_row, note_row;
  streams_pkg::sched_row_t grant_row, admit_row, take_row, line_row, go_row;
  assign line_pcp_o = line_row.pcp;
  assign go_works_o = go_row.works != '0;
  assign go_function_o = go_row.function_id[FunctionWidth-1:0];
  streams_pkg::sched_row_t command_done, control_done, left_done, hold_done, grant_done;
  streams_pkg::sched_row_t command_next, control_next, left_next;
  streams_pkg::sched_row_t mark_next, note_next, grant_next;

  // A queue that has drained gets in line for its mark.
  function automatic logic drained(input logic wanted, input logic [9:0] notes,
                                   input logic [10:0] works, input logic begun);
    drained = wanted && notes == '0 && !(works != '0 && begun);
  endfunction

  // Work requests that take slots.
  function automatic logic [17:0] slots_of(input logic draining, input logic [10:0] works,
                                           input logic active);
    slots_of = active && !draining ? 18'(works) : '0;
  endfunction

  tx_sched_rows i_rows (
      .clk_i,
      .rst_ni,
      .command_qpn_i(command_qpn),
      .command_row_o(command_row),
      .control_qpn_i(control_qpn),
      .control_row_o(control_row),
      .left_qpn_i(left_qpn),
      .left_row_o(left_row),
      .hold_qpn_i(hold_qpn),
      .hold_row_o(hold_row),
      .mark_qpn_i(mark_qpn),
      .mark_row_o(mark_row),
      .note_qpn_i(note_qpn),
      .note_row_o(note_row),
      .grant_qpn_i,
      .grant_row_o(grant_row),
      .admit_qpn_i,
      .admit_row_o(admit_row),
      .answer_qpn_i,
      .answer_row_o,
      .take_qpn_i,
      .take_row_o(take_row),
      .line_qpn_i,
      .line_row_o(line_row),
      .go_qpn_i,
      .go_row_o(go_row),
      .command_i,
      .command_next_i(command_next),
      .control_i,
      .control_next_i(control_next),
      .left_i,
      .left_next_i(left_next),
      .hold_i(work_i),
      .hold_next_i(hold_done),
      .mark_i(mark_pops),
      .mark_next_i(mark_next),
      .note_i(note_writes),
      .note_next_i(note_next),
      .grant_i,
      .grant_next_i(grant_next)
  );
  assign drops_response_o = take_row.reset;
  assign grant_row_o = grant_row;
  assign lost_row_o = left_row;

  // The steps
  // ------------------------------------------------------------------------------------------

  logic [8*HeadWidth-1:0] heads;
  logic [8*SlotWidth-1:0] behind;
  logic command_resets, command_enters, control_drops, control_refetches, control_enters;
  logic left_marks, left_in_head, left_sends, left_holds, left_behind, left_lines_up, left_enters;
  logic left_adds, hold_holds, hold_behind, hold_enters, covered;
  logic [SlotWidth-1:0] slot;
  logic [8:0] note_slot, late_slot;

  tx_sched_command i_command (
      .command_i(command_item_i), .row_i(command_row), .row_o(command_done),
      .resets_o(command_resets), .enters_o(command_enters)
  );
  assign command_resets_o = command_i && command_resets;

  tx_sched_control i_control (
      .control_i(control_item_i), .row_i(control_row), .row_o(control_done),
      .drops_o(control_drops), .refetches_o(control_refetches), .enters_o(control_enters)
  );
  assign refetches_o = control_i && control_refetches;

  tx_sched_left i_left (
      .left_i(left_item_i), .row_i(left_row), .behind_i(behind[2*SlotWidth+:SlotWidth]),
      .covered_i(covered), .sent_room_i(sent_credits_i != '0), .slot_i(note_slot),
      .row_o(left_done), .marks_o(left_marks), .in_head_o(left_in_head), .adds_o(left_adds),
      .sends_o(left_sends), .holds_o(left_holds), .behind_o(left_behind),
      .lines_up_o(left_lines_up), .enters_o(left_enters)
  );
  assign lost_in_head_o = left_in_head;
  assign lost_head_o = heads[2*HeadWidth+:HeadWidth];

  tx_sched_hold i_hold (
      .work_i(work_item_i), .port_mtu_i, .row_i(hold_row), .slot_i(slot), .row_o(hold_done),
      .holds_o(hold_holds), .behind_o(hold_behind),
      .enters_o(hold_enters)
  );

  // Marks: those that have drained before, or in one of these steps.
  logic command_marks, control_marks, left_drains, note_drains, grant_drains;
  assign command_marks = command_i && !command_done.marking &&
      drained(command_done.mark_wanted, command_done.notes, command_done.works, command_done.begun);
  assign control_marks = control_i && !control_done.marking &&
      drained(control_done.mark_wanted, control_done.notes, control_done.works, control_done.begun);
  assign left_drains = left_i && !left_done.marking &&
      drained(left_done.mark_wanted, left_done.notes, left_done.works, left_done.begun);
  always_comb begin
    command_next = command_done;
    control_next = control_done;
    left_next    = left_done;
    command_next.marking = command_done.marking || command_marks;
    control_next.marking = control_done.marking || control_marks;
    left_next.marking    = left_done.marking || left_drains;
  end

  logic mark_valid, mark_due, mark_sends, mark_pops, lost_sends, note_writes;
  assign lost_sends = left_i && left_sends;
  logic [CreditWidth-1:0] mark_room, note_room;
  assign mark_room = sent_credits_i - CreditWidth'(lost_sends);
  assign mark_due = drained(mark_row.mark_wanted, mark_row.notes, mark_row.works, mark_row.begun);
  assign mark_sends = mark_valid && mark_due && mark_room != '0;
  assign mark_pops = mark_valid && (!mark_due || mark_room != '0);
  always_comb begin
    mark_next             = mark_row;
    mark_next.marking     = 1'b0;
    mark_next.mark_wanted = mark_row.mark_wanted && !mark_sends;
    mark_o                = '0;
    mark_o.qpn            = 24'(mark_qpn);
    mark_o.epoch          = mark_row.epoch;
    mark_o.drain_mark     = 1'b1;
    mark_o.wqe_index      = mark_row.begun_to;
  end
  tx_sched_line #(
      .Before(3),
      .After(2)
  ) i_marks (
      .clk_i,
      .rst_ni,
      .before_i({left_drains, control_marks, command_marks}),
      .before_qpn_i({left_qpn, control_qpn, command_qpn}),
      .valid_o(mark_valid),
      .qpn_o(mark_qpn),
      .pop_i(mark_pops),
      .after_i({grant_drains, note_drains}),
      .after_qpn_i({grant_qpn_i, note_qpn})
  );

  // Held notes
  logic note_valid, note_ready, note_sends, note_more, note_pops, grant_lines_up;
  logic [8:0] second;
  logic [15:0] second_after, first_missing, second_missing;
  assign note_room = mark_room - CreditWidth'(mark_sends);
  assign first_missing = note_row.left_payload - note_row.note_after;
  assign second_missing = note_row.left_payload - second_after;
  assign note_ready = note_row.notes != '0 && !first_missing[15];
  assign note_sends = note_valid && note_ready && note_room != '0;
  assign note_more = note_row.notes > 10'd1 && !second_missing[15];
  assign note_writes = note_sends || note_pops;
  assign note_pops = note_valid && (note_sends ? !note_more : !note_ready);
  always_comb begin
    note_next = note_row;
    if (note_sends) begin
      note_next.notes      = note_row.notes - 10'd1;
      note_next.note_head  = second;
      note_next.note_after = second_after;
    end
    if (note_pops) begin
      note_next.noting = 1'b0;
    end
    if (note_drains) begin
      note_next.marking = 1'b1;
    end
  end
  assign note_drains = note_sends && note_row.notes == 10'd1 && !note_row.marking &&
      note_row.mark_wanted && !(note_row.works != '0 && note_row.begun);
  tx_sched_line #(
      .Before(1),
      .After(1)
  ) i_noting (
      .clk_i,
      .rst_ni,
      .before_i(left_i && left_lines_up),
      .before_qpn_i(left_qpn),
      .valid_o(note_valid),
      .qpn_o(note_qpn),
      .pop_i(note_pops),
      .after_i(grant_i && grant_lines_up),
      .after_qpn_i(grant_qpn_i)
  );

  // The grant
  logic grant_ends, grant_sends, grant_holds, grant_behind;
  logic [15:0] grant_after, grant_mtu;
  logic [23:0] grant_psns;
  logic [ClassWidth-1:0] grant_class;
  streams_pkg::sched_class_t grant_choice;
  assign grant_choice = grant_class;
  assign silent_o = grant_choice.silent;
  assign grant_head_o = heads[5*HeadWidth+:HeadWidth];
  tx_sched_head i_grant_head (
      .row_i(grant_row), .head_i(grant_head_o), .port_mtu_i, .window_i, .class_o(grant_class),
      .syndrome_o(grant_syndrome_o), .mtu_o(grant_mtu), .log_mtu_o(grant_log_mtu_o),
      .bytes_o(grant_bytes_o), .psns_o(grant_psns), .message_o, .answered_o
  );
  tx_sched_grant i_grant (
      .row_i(grant_row), .head_i(grant_head_o), .behind_i(behind[5*SlotWidth+:SlotWidth]),
      .class_i(grant_class), .syndrome_i(grant_syndrome_o), .mtu_i(grant_mtu),
      .log_mtu_i(grant_log_mtu_o), .bytes_i(grant_bytes_o), .psns_i(grant_psns),
      .message_i(message_o), .answered_i(answered_o), .port_mtu_i, .ack_interval_i,
      .sent_room_i(note_room > CreditWidth'(note_sends)), .slot_i(late_slot),
      .row_o(grant_done), .packet_o, .fetched_o, .last_o, .ack_request_o, .ends_o(grant_ends),
      .fails_o, .flushed_o, .invalidates_o, .first_psn_o(grant_first_psn_o),
      .sends_o(grant_sends), .holds_o(grant_holds), .behind_o(grant_behind),
      .after_o(grant_after), .lines_up_o(grant_lines_up)
  );
  assign grant_drains = grant_i && !grant_done.marking &&
      drained(grant_done.mark_wanted, grant_done.notes, grant_done.works, grant_done.begun);
  always_comb begin
    grant_next         = grant_done;
    grant_next.marking = grant_done.marking || grant_drains;
  end

  // The next packet of the queue: its turn ends if what is left does not cover it.
  logic [15:0] next_bytes, next_charge, unused_next_mtu;
  logic [3:0] unused_next_log;
  logic [7:0] unused_next_syndrome;
  logic [23:0] unused_next_psns;
  logic unused_next_message, unused_next_answered;
  tx_sched_head i_next_head (
      .row_i(grant_next), .head_i(heads[6*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(class_o), .syndrome_o(unused_next_syndrome), .mtu_o(unused_next_mtu),
      .log_mtu_o(unused_next_log), .bytes_o(next_bytes), .psns_o(unused_next_psns),
      .message_o(unused_next_message), .answered_o(unused_next_answered)
  );
  assign next_charge = next_bytes == '0 ? 16'd1 : next_bytes;
  assign stays_o = grant_next.works != '0;
  assign turn_ends_o = grant_next.deficit < next_charge;

  assign notes_push_o = {note_sends, mark_sends, lost_sends};
  assign grant_push_o = grant_i && grant_sends;

  // What is to know of those that have changed
  // ------------------------------------------------------------------------------------------

  logic [ClassWidth-1:0] command_class, control_class, left_class, hold_class;
  tx_sched_class i_command_class (
      .row_i(command_next), .head_i(heads[0*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(command_class)
  );
  tx_sched_class i_control_class (
      .row_i(control_next), .head_i(heads[1*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(control_class)
  );
  tx_sched_class i_left_class (
      .row_i(left_next), .head_i(heads[3*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(left_class)
  );
  tx_sched_class i_hold_class (
      .row_i(hold_done), .head_i(heads[4*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(hold_class)
  );
  tx_sched_class i_admit_class (
      .row_i(admit_row), .head_i(heads[7*HeadWidth+:HeadWidth]), .port_mtu_i, .window_i,
      .class_o(admit_class_o)
  );
  assign turn_class_o = {hold_class, left_class, control_class, command_class};
  assign turn_head_o = {hold_done.head, left_next.head, control_next.head, command_next.head};
  assign turn_works_o = {
    hold_done.draining ? 11'd0 : hold_done.works, left_next.draining ? 11'd0 : left_next.works,
    control_next.draining ? 11'd0 : control_next.works,
    command_next.draining ? 11'd0 : command_next.works
  };
  assign head_o = grant_next.head;
  assign slots_o = grant_next.draining ? '0 : grant_next.works;
  assign admit_head_o = admit_row.head;
  assign admit_works_o = admit_row.draining ? '0 : admit_row.works;
  assign turn_update_o = {work_i, left_i, control_i, command_i};
  assign turn_function_o = {
    hold_done.function_id[FunctionWidth-1:0], left_next.function_id[FunctionWidth-1:0],
    control_next.function_id[FunctionWidth-1:0], command_next.function_id[FunctionWidth-1:0]
  };
  assign turn_erase_o = {
    1'b0, left_i && left_in_head && left_next.works == '0, control_i && control_drops,
    command_resets_o
  };
  assign turn_push_o = {
    work_i && hold_enters, left_i && left_enters && left_next.works != '0,
    control_i && control_enters && control_next.works != '0,
    command_i && command_enters && command_next.works != '0
  };

  // Work requests
  // ------------------------------------------------------------------------------------------

  tx_sched_works i_works (
      .clk_i,
      .rst_ni,
      .valid_i(beat_i),
      .beat_i(work_item_i),
      .taken_i(work_i),
      .held_i(work_i && hold_holds),
      .behind_i(hold_behind),
      .last_i(hold_row.tail),
      .slot_o(slot),
      .arriving_o,
      .arriving_slot_o,
      .arriving_qpn_o,
      .free_i({
        left_i && left_in_head, control_i && control_drops && control_row.works != '0,
        command_resets_o && command_row.works != '0
      }),
      .free_head_i({left_row.head, control_row.head, command_row.head}),
      .free_tail_i({left_row.head, control_row.tail, command_row.tail}),
      .free_late_i(grant_i && grant_ends),
      .free_slot_i(grant_row.head),
      .read_slot_i({
        admit_row.head, grant_next.head, grant_row.head, hold_done.head, left_next.head,
        left_row.head, control_next.head, command_next.head
      }),
      .read_o(heads),
      .behind_o(behind),
      .body_i(grant_i),
      .body_slot_i(grant_row.head),
      .body_o(grant_body_o)
  );

  logic [10:0] works_q;
  logic [17:0] held_q;
  assign works_o = works_q;
  assign held_o = held_q;

  logic [17:0] held_delta;
  always_comb begin
    held_delta = '0 - parked_works_i;
    if (command_i) begin
      held_delta = held_delta - slots_of(command_row.draining, command_row.works,
                                       turn_active_i[0]) +
          slots_of(command_next.draining, command_next.works,
                   (turn_active_i[0] && !turn_erase_o[0]) || turn_push_o[0]);
    end
    if (control_i) begin
      held_delta = held_delta - slots_of(control_row.draining, control_row.works,
                                       turn_active_i[1]) +
          slots_of(control_next.draining, control_next.works,
                   (turn_active_i[1] && !turn_erase_o[1]) || turn_push_o[1]);
    end
    if (left_i) begin
      held_delta = held_delta - slots_of(left_row.draining, left_row.works, turn_active_i[2]) +
          slots_of(left_next.draining, left_next.works,
                   (turn_active_i[2] && !turn_erase_o[2]) || turn_push_o[2]);
    end
    if (work_i) begin
      held_delta = held_delta - slots_of(hold_row.draining, hold_row.works, turn_active_i[3]) +
          slots_of(hold_done.draining, hold_done.works, turn_active_i[3] || turn_push_o[3]);
    end
    if (grant_i) begin
      held_delta = held_delta - slots_of(grant_row.draining, grant_row.works, 1'b1) +
          slots_of(grant_next.draining, grant_next.works, 1'b1);
    end
    if (stop_i) begin
      held_delta = held_delta - slots_of(grant_row.draining, grant_row.works, 1'b1);
    end
    if (go_joins_i) begin
      held_delta = held_delta + slots_of(go_row.draining, go_row.works, 1'b1);
    end
  end

  // Notes
  // ------------------------------------------------------------------------------------------

  logic [9:0] notes_held;
  logic [15:0] inside_q, inside_now, may_fail;
  assign inside_now = inside_q - 16'(left_i);
  assign may_fail = inside_now > 16'(stages_pkg::PayloadDmaLeftDepth)
      ? 16'(stages_pkg::PayloadDmaLeftDepth) : inside_now;
  assign note_room_o = 16'(notes_held) + may_fail + 16'd2 <= 16'(stages_pkg::TxSchedNotes);
  tx_sched_notes i_notes (
      .clk_i,
      .rst_ni,
      .forget_i({control_i && control_drops, command_resets_o}),
      .forget_qpn_i({control_qpn, command_qpn}),
      .left_qpn_i(left_qpn),
      .check_i(left_i && left_item_i.status != streams_pkg::ReadResultOk),
      .left_psn_i(left_item_i.psn),
      .covered_o(covered),
      .marks_i(left_i && left_marks),
      .syndrome_i(lost_syndrome_i),
      .hold_i(left_i && left_holds),
      .slot_o(note_slot),
      .note_i(lost_note_i),
      .after_i(left_row.unreliable ? left_row.to_payload : left_next.left_payload),
      .behind_i(left_behind),
      .last_i(left_row.note_tail),
      .first_i(note_row.note_head),
      .first_o(held_note_o),
      .second_o(second),
      .second_after_o(second_after),
      .leave_i(note_sends),
      .held_o(notes_held),
      .late_hold_i(grant_i && grant_holds),
      .late_slot_o(late_slot),
      .late_note_i(grant_note_i),
      .late_after_i(grant_after),
      .late_behind_i(grant_behind),
      .late_last_i(grant_row.note_tail)
  );

  assign busy_o = arriving_o || mark_valid || note_valid || notes_held != '0;

  logic unused_adds;
  assign unused_adds = left_adds;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      works_q  <= '0;
      held_q   <= '0;
      inside_q <= '0;
    end else begin
      works_q <= works_q - (command_resets_o ? command_row.works : '0) -
          (control_i && control_drops ? control_row.works : '0) - 11'(left_i && left_in_head) +
          11'(work_i && hold_holds) - 11'(grant_i && grant_ends);
      held_q <= held_q + held_delta;
      inside_q <= inside_now + 16'(grant_i && fetched_o);
    end
  end

  `CARILLON_ASSERT(!grant_i || grant_row.works != '0)
  `CARILLON_ASSERT(!left_i || inside_q != '0)

endmodule
