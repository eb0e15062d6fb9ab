// Responses, in a list for each QP: acknowledges and atomic results go in the order in which they
// may, READ data packet by packet. The model's sched_responses and responses.cpp.
//
// In a cycle, each seeing what the one before did: a QP is reset; a packet has left payload_dma; a
// response comes; a packet is granted. Each may put its QP in line.
`include "assertions.svh"

module tx_sched_responses #(
    localparam int unsigned QpnWidth  = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues    = 2 ** QpnWidth,
    localparam int unsigned Responses = stages_pkg::TxSchedResponses,
    localparam int unsigned Slots     = Responses + 8,
    localparam int unsigned SlotWidth = 12,
    localparam int unsigned Saved     = stages_pkg::TxSchedSaved,
    localparam int unsigned Failures  = stages_pkg::TxSchedFailures,
    localparam int unsigned RowWidth  = streams_pkg::SchedAnswersWidth,
    localparam int unsigned ItemWidth = streams_pkg::ResponseBeatWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                reset_i,        // a QP is reset - top
    input  logic [QpnWidth-1:0] reset_qpn_i,    // which - top

    input  logic                       left_i,       // a packet of a READ has left - top
    input  streams_pkg::payload_note_t left_item_i,  // which - payload_dma
    output logic                       left_erase_o, // its QP leaves the line of READs - turns
    output logic                       left_read_o,  // ... and joins it again - turns
    output logic [1:0]                 left_class_o, // what is to know of it there - turns
    output logic [15:0]                left_function_o, // whose it is - turns
    output logic                       left_control_o, // it joins the line of acknowledges - line

    output logic                        full_o,      // there is no room - top
    input  logic                        take_i,      // a response comes and is held - top
    input  streams_pkg::response_beat_t item_i,      // what it is - responder
    output logic                        take_read_o, // its QP joins the line of READs - turns
    output logic [1:0]                  take_class_o, // what is to know of it there - turns
    output logic                        take_control_o, // it joins the line of acknowledges - line

    input logic line_i,  // somebody is in line for an acknowledge - line
    input  logic [QpnWidth-1:0]         line_qpn_i,   // who - line
    input  logic                        direct_room_i, // a credit for packet_builder - top
    output logic [15:0]                 line_function_o,  // ... of which function - top
    input  logic                        line_paused_i,    // its priority is paused - top
    output logic                        line_stops_o,     // so it stands aside - top
    output logic used_o,  // the cycle is used: nobody has a turn - functions
    output logic                        answers_o,    // ... by a packet - cut
    input  logic                        read_i,       // READ data is granted - top
    input  logic                        read_stops_i,  // ... or would be, but for a pause - top
    input  logic                        read_closed_i, // ... or but for its rate - top
    input  logic [QpnWidth-1:0]         read_qpn_i,   // of which QP - turns
    output logic [QpnWidth-1:0]         granted_qpn_o, // the QP of the packet - cut
    output streams_pkg::response_beat_t granted_o,    // the response - cut
    output logic [23:0]                 packet_o,     // its packet's number - cut
    output logic                        last_o,       // ... which is the last - cut
    output logic                        fetched_o,    // ... for payload_dma - cut
    output logic                        again_read_o,    // the QP joins the line of READs - turns
    output logic [15:0]                 again_function_o, // whose it is - turns
    output logic [1:0]                  again_class_o,   // what is to know of it there - turns
    output logic                        again_control_o, // it joins the line of acknowledges - line

    input  logic                        go_i,           // a QP comes back - top
    input  logic                        go_stopped_i,   // its pause has ended - top
    input  logic [QpnWidth-1:0]         go_qpn_i,       // of which QP - pauses
    output logic                        go_read_o,      // it joins the line of READs - turns
    output logic [15:0]                 go_function_o,  // whose it is - turns
    output logic                        go_control_o,   // it joins that of acknowledges - line

    input  logic [QpnWidth-1:0]         admit_qpn_i,   // who comes into the line of READs - turns
    output logic [1:0]                  admit_class_o, // what is to know of him there - turns

    output logic answer_room_o,   // room to tell that a saved READ has left - pick
    output logic failure_room_o,  // room to tell that data could not be read - pick

    input  logic                            failures_room_i,  // a credit - top
    output logic                            failures_push_o,  // it is told that ... - top
    output streams_pkg::read_failure_beat_t failures_o,  // ... data could not be read - responder
    input  logic                            answered_room_i,  // a credit - top
    output logic                            answered_push_o,  // it is told that ... - top
    output streams_pkg::answered_beat_t     answered_o,       // ... an answer has left - responder

    output logic busy_o  // something is to be told - top
);

  logic [RowWidth-1:0] row_mem[Queues];
  logic [Queues-1:0] known_q;
  logic [ItemWidth-1:0] item_mem[Slots];
  logic [SlotWidth-1:0] next_mem[Slots];

  // A reset: what waits is forgotten, what is on its way goes on.
  // ------------------------------------------------------------------------------------------

  streams_pkg::sched_answers_t reset_row, reset_next;
  assign reset_row = known_q[reset_qpn_i] ? row_mem[reset_qpn_i] : '0;
  always_comb begin
    reset_next          = reset_row;
    reset_next.count    = '0;
    reset_next.granted  = '0;
    reset_next.in_reads = 1'b0;
    reset_next.stale    = reset_row.in_payload;
  end

  // A packet has left
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] left_qpn;
  streams_pkg::sched_answers_t left_row, left_gone, left_next;
  streams_pkg::response_beat_t left_first, left_second, left_front;
  logic left_stale, left_failed, left_drops;
  logic [23:0] left_into;
  logic [7:0] left_number;
  assign left_qpn = left_item_i.qpn[QpnWidth-1:0];
  assign left_row = reset_i && reset_qpn_i == left_qpn ? reset_next
                                                      : known_q[left_qpn] ? row_mem[left_qpn] : '0;
  assign left_first = item_mem[left_row.head];
  assign left_second = item_mem[next_mem[left_row.head]];
  assign left_stale = left_row.stale != '0;
  assign left_failed = left_i && left_item_i.status != streams_pkg::ReadResultOk && !left_stale;
  assign left_into = left_item_i.psn - left_first.psn;
  // Nothing more of that READ is sent.
  assign left_drops = left_failed && left_row.count != '0 && left_row.granted != '0 &&
      left_first.kind == streams_pkg::AnswerKindRead && left_into < left_row.granted;
  assign left_erase_o = left_drops && left_row.in_reads;
  always_comb begin
    left_gone            = left_row;
    left_gone.in_payload = left_row.in_payload - 9'd1;
    left_gone.stale      = left_row.stale - 9'(left_stale);
    if (left_drops) begin
      left_gone.count    = left_row.count - 12'd1;
      left_gone.head     = next_mem[left_row.head];
      left_gone.granted  = '0;
      left_gone.in_reads = 1'b0;
    end
  end
  assign left_number = left_row.given - 8'(left_gone.in_payload);
  assign left_front = left_drops ? left_second : left_first;
  assign left_function_o = left_front.function_id;
  logic left_reads, left_controls;
  assign left_read_o = left_i && left_reads;
  assign left_control_o = left_i && left_controls;
  tx_sched_answer_step i_left (
      .row_i(left_gone),
      .first_i(left_front),
      .row_o(left_next),
      .controls_o(left_controls),
      .reads_o(left_reads),
      .class_o(left_class_o)
  );

  // Saved READs whose last packet is in payload_dma.
  logic [Saved-1:0] end_valid_q, end_kept, end_now, end_next;
  logic [QpnWidth-1:0] end_qpn_q[Saved];
  logic [7:0] end_number_q[Saved];
  logic [7:0] end_generation_q[Saved];
  logic [$clog2(Saved):0] ends_q, ends_reset;  // how many
  logic left_ends;
  logic [7:0] left_generation;
  always_comb begin
    left_ends       = 1'b0;
    left_generation = '0;
    end_kept        = end_valid_q;
    end_now         = end_valid_q;
    ends_reset      = '0;
    if ((reset_i || left_i) && end_valid_q != '0) begin
      for (int unsigned i = 0; i < Saved; i++) begin
        if (reset_i && end_valid_q[i] && end_qpn_q[i] == reset_qpn_i) begin
          end_kept[i] = 1'b0;
          ends_reset  = ends_reset + 1'b1;
        end
        if (left_i && end_kept[i] && end_qpn_q[i] == left_qpn &&
            end_number_q[i] == left_number) begin
          left_ends       = 1'b1;
          left_generation = end_generation_q[i];
        end
        end_now[i] = end_kept[i] && !(left_i && end_qpn_q[i] == left_qpn &&
                                      end_number_q[i] == left_number);
      end
    end
  end

  // A response comes
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] take_qpn;
  streams_pkg::sched_answers_t take_row, take_held, take_next;
  streams_pkg::response_beat_t take_last, take_front;
  logic joins, appends, take_reads, take_controls;
  logic [SlotWidth-1:0] slot;
  assign take_qpn = item_i.qpn[QpnWidth-1:0];
  assign take_row = left_i && left_qpn == take_qpn ? left_next :
                    reset_i && reset_qpn_i == take_qpn ? reset_next :
                    known_q[take_qpn] ? row_mem[take_qpn] : '0;
  assign take_last = item_mem[take_row.tail];

  // A positive acknowledge takes the place of the one that it would queue behind.
  assign joins = take_row.count != '0 &&
      item_i.kind == streams_pkg::AnswerKindAcknowledge && item_i.syndrome[7:5] == '0 &&
      take_last.kind == streams_pkg::AnswerKindAcknowledge && take_last.syndrome[7:5] == '0;
  assign appends = take_i && !joins;
  always_comb begin
    take_held = take_row;
    if (!joins) begin
      take_held.count = take_row.count + 12'd1;
      take_held.tail  = slot;
      if (take_row.count == '0) begin
        take_held.head    = slot;
        take_held.granted = '0;
      end
    end
  end
  logic take_alone;  // it is the first of its QP
  assign take_alone = joins ? take_row.count == 12'd1 : take_row.count == '0;
  assign take_front = take_alone ? item_i : item_mem[take_held.head];
  assign take_read_o = appends && take_reads;
  assign take_control_o = appends && take_controls;
  logic [RowWidth-1:0] take_lined;
  tx_sched_answer_step i_take (
      .row_i(take_held),
      .first_i(take_front),
      .row_o(take_lined),
      .controls_o(take_controls),
      .reads_o(take_reads),
      .class_o(take_class_o)
  );
  assign take_next = joins ? take_held : take_lined;

  // A packet is granted
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] grant_qpn;
  streams_pkg::sched_answers_t line_row, read_row, grant_row, grant_gone, grant_next;
  streams_pkg::response_beat_t line_first, read_first, grant_first, grant_second, grant_front;
  logic [SlotWidth-1:0] grant_behind;
  logic stale_line, grants, controls_first, direct_saved, ends;
  logic [31:0] packets;
  assign line_row = take_i && take_qpn == line_qpn_i ? take_next :
                    left_i && left_qpn == line_qpn_i ? left_next :
                    reset_i && reset_qpn_i == line_qpn_i ? reset_next :
                    known_q[line_qpn_i] ? row_mem[line_qpn_i] : '0;
  assign read_row = take_i && take_qpn == read_qpn_i ? take_next :
                    left_i && left_qpn == read_qpn_i ? left_next :
                    reset_i && reset_qpn_i == read_qpn_i ? reset_next :
                    known_q[read_qpn_i] ? row_mem[read_qpn_i] : '0;
  assign grant_qpn = used_o ? line_qpn_i : read_qpn_i;
  assign granted_qpn_o = grant_qpn;
  assign grant_row = used_o ? line_row : read_row;

  function automatic logic [ItemWidth-1:0] item_of(input logic [SlotWidth-1:0] at,
                                                  input logic take, input logic [SlotWidth-1:0] to,
                                                  input logic [ItemWidth-1:0] taken,
                                                  input logic [ItemWidth-1:0] held);
    item_of = take && at == to ? taken : held;
  endfunction
  logic [SlotWidth-1:0] taken_slot;
  assign taken_slot = joins ? take_row.tail : slot;
  assign grant_behind = appends && take_row.count != '0 && take_row.tail == grant_row.head
      ? slot : next_mem[grant_row.head];
  assign line_first = item_of(line_row.head, take_i, taken_slot, item_i, item_mem[line_row.head]);
  assign read_first = item_of(read_row.head, take_i, taken_slot, item_i, item_mem[read_row.head]);
  assign grant_first = used_o ? line_first : read_first;
  assign grant_second = item_of(grant_behind, take_i, taken_slot, item_i, item_mem[grant_behind]);

  // The first in line may have stood there in a former life.
  assign controls_first = line_row.count != '0 && line_row.in_payload == '0 &&
      line_first.kind != streams_pkg::AnswerKindRead;
  assign stale_line = line_i && !controls_first;
  assign line_function_o = line_first.function_id;
  assign line_stops_o = line_i && controls_first && line_paused_i;
  assign answers_o = line_i && controls_first && !line_paused_i && direct_room_i &&
      (!line_first.saved || answer_room_o);
  assign used_o = stale_line || line_stops_o || answers_o;
  assign grants = answers_o || read_i;
  assign granted_o = grant_first;
  assign packet_o = grant_row.granted;
  assign packets = grant_first.kind != streams_pkg::AnswerKindRead || grant_first.length == '0
      ? 32'd1 : ((grant_first.length - 32'd1) >> (4'd7 + 4'(grant_first.mtu_code))) + 32'd1;
  assign last_o = 32'(grant_row.granted) + 32'd1 == packets;
  assign fetched_o = read_i && grant_first.length != '0;
  assign ends = fetched_o && grant_first.saved && last_o;
  assign direct_saved = grants && !fetched_o && grant_first.saved;

  always_comb begin
    grant_gone = grant_row;
    if (read_i || read_stops_i || read_closed_i) begin
      grant_gone.in_reads = 1'b0;
    end else begin
      grant_gone.in_controls = 1'b0;
    end
    if (line_stops_o || read_stops_i) begin
      grant_gone.stopped = 1'b1;
    end
    if (grants) begin
      grant_gone.granted = last_o ? '0 : grant_row.granted + 24'd1;
      if (last_o) begin
        grant_gone.count = grant_row.count - 12'd1;
        grant_gone.head  = grant_behind;
      end
      if (fetched_o) begin
        grant_gone.in_payload = grant_row.in_payload + 9'd1;
        grant_gone.given      = grant_row.given + 8'd1;
      end
    end
  end
  assign grant_front = grants && last_o ? grant_second : grant_first;
  assign again_function_o = grant_front.function_id;
  logic again_reads, again_controls, moves;
  assign moves = used_o || read_i || read_stops_i;
  assign again_read_o = moves && again_reads;
  assign again_control_o = moves && again_controls;
  tx_sched_answer_step i_again (
      .row_i(grant_gone),
      .first_i(grant_front),
      .row_o(grant_next),
      .controls_o(again_controls),
      .reads_o(again_reads),
      .class_o(again_class_o)
  );

  // Who waits for its rate stands in no line.
  streams_pkg::sched_answers_t grant_done;
  logic changes;
  assign changes = moves || read_closed_i;
  assign grant_done = read_closed_i ? grant_gone : grant_next;

  // A QP comes back: its pause has ended, or it may go on with its rate
  // ------------------------------------------------------------------------------------------

  streams_pkg::sched_answers_t go_row, go_freed, go_next;
  streams_pkg::response_beat_t go_first;
  logic go_reads, go_controls;
  logic [1:0] unused_class;
  assign go_row = changes && grant_qpn == go_qpn_i ? grant_done :
                  take_i && take_qpn == go_qpn_i ? take_next :
                  left_i && left_qpn == go_qpn_i ? left_next :
                  reset_i && reset_qpn_i == go_qpn_i ? reset_next :
                  known_q[go_qpn_i] ? row_mem[go_qpn_i] : '0;
  assign go_first = item_of(go_row.head, take_i, taken_slot, item_i, item_mem[go_row.head]);
  assign go_function_o = go_first.function_id;
  assign go_read_o = go_i && go_reads;
  assign go_control_o = go_i && go_controls;
  always_comb begin
    go_freed         = go_row;
    go_freed.stopped = go_row.stopped && !go_stopped_i;
  end
  tx_sched_answer_step i_go (
      .row_i(go_freed),
      .first_i(go_first),
      .row_o(go_next),
      .controls_o(go_controls),
      .reads_o(go_reads),
      .class_o(unused_class)
  );

  // Who finds a place in the line of READs
  streams_pkg::sched_answers_t admit_row;
  streams_pkg::response_beat_t admit_first;
  logic unused_controls, unused_reads;
  logic [RowWidth-1:0] unused_row;
  assign admit_row = changes && grant_qpn == admit_qpn_i ? grant_done :
                     take_i && take_qpn == admit_qpn_i ? take_next :
                     left_i && left_qpn == admit_qpn_i ? left_next :
                     reset_i && reset_qpn_i == admit_qpn_i ? reset_next :
                     known_q[admit_qpn_i] ? row_mem[admit_qpn_i] : '0;
  assign admit_first = item_of(admit_row.head, take_i, taken_slot, item_i,
                               item_mem[admit_row.head]);
  tx_sched_answer_step i_admit (
      .row_i(admit_row),
      .first_i(admit_first),
      .row_o(unused_row),
      .controls_o(unused_controls),
      .reads_o(unused_reads),
      .class_o(admit_class_o)
  );

  // Slots
  // ------------------------------------------------------------------------------------------

  // As in tx_sched_works: what comes free is used again in that order, and not in the same cycle.
  logic [SlotWidth-1:0] unused_q, first_q, last_q;
  logic [SlotWidth-1:0] held_q;
  logic any_q, reset_frees, grant_frees;
  assign reset_frees = reset_i && reset_row.count != '0;
  assign grant_frees = grants && last_o;
  assign slot = unused_q != SlotWidth'(Slots) ? unused_q : first_q;
  assign full_o = held_q == SlotWidth'(Responses);

  always_ff @(posedge clk_i) begin
    logic [SlotWidth-1:0] end_of;
    logic any;
    end_of = last_q;
    any    = any_q;
    if (reset_frees) begin
      if (any) begin
        next_mem[end_of] <= reset_row.head;
      end
      end_of = reset_row.tail;
      any    = 1'b1;
    end
    if (left_drops) begin
      if (any) begin
        next_mem[end_of] <= left_row.head;
      end
      end_of = left_row.head;
      any    = 1'b1;
    end
    if (grant_frees && any) begin
      next_mem[end_of] <= grant_row.head;
    end
    if (take_i) begin
      item_mem[taken_slot] <= item_i;
      if (appends && take_row.count != '0) begin
        next_mem[take_row.tail] <= slot;
      end
    end
    if (reset_i) begin
      row_mem[reset_qpn_i] <= reset_next;
    end
    if (left_i) begin
      row_mem[left_qpn] <= left_next;
    end
    if (take_i) begin
      row_mem[take_qpn] <= take_next;
    end
    if (changes) begin
      row_mem[grant_qpn] <= grant_done;
    end
    if (go_i) begin
      row_mem[go_qpn_i] <= go_next;
    end
  end

  // What is to be told
  // ------------------------------------------------------------------------------------------

  logic answered_any, failures_any;
  logic [$clog2(Saved):0] answered_count, ends_count;
  logic [$clog2(Failures):0] failures_count;
  logic [15:0] inside_q, inside_now, may_fail;
  assign answered_push_o = answered_any && answered_room_i;
  assign failures_push_o = failures_any && failures_room_i;
  tx_sched_reports #(
      .Width(streams_pkg::AnsweredBeatWidth),
      .Depth(Saved)
  ) i_answered (
      .clk_i,
      .rst_ni,
      .push_i({direct_saved, left_ends}),
      .data_i({24'(grant_qpn), grant_first.generation, 24'(left_qpn), left_generation}),
      .valid_o(answered_any),
      .data_o(answered_o),
      .pop_i(answered_push_o),
      .count_o(answered_count)
  );
  tx_sched_reports #(
      .Width(streams_pkg::ReadFailureBeatWidth),
      .Depth(Failures)
  ) i_failures (
      .clk_i,
      .rst_ni,
      .push_i({1'b0, left_failed}),
      .data_i({{streams_pkg::ReadFailureBeatWidth{1'b0}}, 24'(left_qpn), left_item_i.psn}),
      .valid_o(failures_any),
      .data_o(failures_o),
      .pop_i(failures_push_o),
      .count_o(failures_count)
  );

  assign ends_count = ends_q - ends_reset;
  // What leaves payload_dma in this cycle is told of from now on: the sum is the same.
  assign answer_room_o = 9'(ends_count) + 9'(answered_count) < 9'(Saved);
  assign inside_now = inside_q - 16'(left_i);
  assign may_fail = inside_now > 16'(stages_pkg::PayloadDmaLeftDepth)
      ? 16'(stages_pkg::PayloadDmaLeftDepth) : inside_now;
  assign failure_room_o = may_fail + 16'(failures_count) + 16'(left_failed) -
      16'(failures_push_o) < 16'(Failures);

  logic [$clog2(Saved)-1:0] end_slot;
  always_comb begin
    end_slot = '0;
    end_next = end_now;
    if (ends) begin
      for (int unsigned i = Saved; i > 0; i--) begin
        if (!end_now[i-1]) begin
          end_slot = ($clog2(Saved))'(i - 1);
        end
      end
      end_next[end_slot] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    logic [Queues-1:0] known;
    known = known_q;
    if (reset_i) begin
      known = known | (Queues'(1) << reset_qpn_i);
    end
    if (left_i) begin
      known = known | (Queues'(1) << left_qpn);
    end
    if (take_i) begin
      known = known | (Queues'(1) << take_qpn);
    end
    if (changes) begin
      known = known | (Queues'(1) << grant_qpn);
    end
    if (!rst_ni) begin
      known_q <= '0;
    end else if (reset_i || left_i || take_i || changes) begin
      known_q <= known;
    end
  end

  assign busy_o = answered_count != '0 || failures_count != '0 || held_q != '0;
  always_ff @(posedge clk_i) begin
    if (ends) begin
      end_qpn_q[end_slot]        <= grant_qpn;
      end_number_q[end_slot]     <= grant_gone.given;
      end_generation_q[end_slot] <= grant_first.generation;
    end
    if (!rst_ni) begin
      end_valid_q <= '0;
      ends_q      <= '0;
      unused_q    <= '0;
      first_q     <= '0;
      last_q      <= '0;
      any_q       <= 1'b0;
      held_q      <= '0;
      inside_q    <= '0;
    end else begin
      end_valid_q <= end_next;
      ends_q      <= ends_count - ($clog2(Saved) + 1)'(left_ends) + ($clog2(Saved) + 1)'(ends);
      any_q       <= any_q || reset_frees || left_drops || grant_frees;
      if (!any_q) begin
        first_q <= reset_frees ? reset_row.head : left_drops ? left_row.head : grant_row.head;
      end
      if (grant_frees) begin
        last_q <= grant_row.head;
      end else if (left_drops) begin
        last_q <= left_row.head;
      end else if (reset_frees) begin
        last_q <= reset_row.tail;
      end
      if (appends) begin
        if (unused_q != SlotWidth'(Slots)) begin
          unused_q <= unused_q + 1'b1;
        end else begin
          first_q <= next_mem[first_q];
        end
      end
      held_q <= held_q - (reset_i ? reset_row.count : '0) - SlotWidth'(left_drops) +
          SlotWidth'(appends) - SlotWidth'(grant_frees);
      inside_q <= inside_now + 16'(fetched_o);
    end
  end

  `CARILLON_ASSERT(!(used_o && (read_i || read_closed_i)))
  `CARILLON_ASSERT(!left_i || left_row.in_payload != '0)

endmodule
