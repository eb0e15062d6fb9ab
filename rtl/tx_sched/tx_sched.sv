// tx_sched: which QP sends its next packet. Cycle by cycle the same as model/tx_sched;
// docs/stages/tx_sched.md has the rules and the timing.
//
// In a cycle, each seeing what the one before did: a command, a control, a packet that has left
// payload_dma, a work request, a response, a mark, a held note, the choice, and the packet. The
// steps of send queues are in tx_sched_steps, those of responses in tx_sched_responses; here they
// meet.
`include "assertions.svh"

module tx_sched #(
    localparam int unsigned Functions  = stages_pkg::TxSchedFunctions,
    localparam int unsigned ShareWidth = streams_pkg::VportShareWidth
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [ShareWidth*Functions-1:0] vports_i,        // the virtual ports - pcie_endpoint
    input logic [7:0] paused_i,   // priorities that get no grants - rx_mac
    input logic [7:0] crowded_i,  // likewise - tx_mac
    input logic [ 31:0] port_mtu_i,  // largest payload, a power of two - settings
    input logic [ 31:0] largest_i,  // bytes of the largest packet - settings
    input logic [ 31:0] send_window_i,  // packets without acknowledge - settings
    input logic [                    31:0] ack_interval_i,  // packets between AckReq - settings
    input logic [31:0] clock_period_i,  // of the core clock, in ps - settings
    input logic [63:0] cycle_i,  // cycles of the core clock since power-on - timer

    input  logic                    work_valid_i,  // a beat of a work request - wqe_parser
    output logic                    work_ready_o,  // it is taken - wqe_parser
    input  streams_pkg::work_beat_t work_i,        // the beat - wqe_parser

    input  logic                        acknowledges_valid_i,  // a response - responder
    output logic                        acknowledges_ready_o,  // it is taken - responder
    input  streams_pkg::response_beat_t acknowledges_i,        // which - responder

    input  logic                       left_valid_i,  // a packet has left payload_dma - payload_dma
    output logic                       left_ready_o,  // it is taken - payload_dma
    input  streams_pkg::payload_note_t left_i,        // which - payload_dma

    input  logic                        commands_valid_i,  // a QP changes its state - pcie_endpoint
    output logic                        commands_ready_o,  // it is taken - pcie_endpoint
    input  streams_pkg::sched_command_t commands_i,        // how - pcie_endpoint

    input  logic                       controls_valid_i,  // a send queue is governed - requester
    output logic                       controls_ready_o,  // it is taken - requester
    input  streams_pkg::control_beat_t controls_i,        // how - requester

    output logic                       payload_valid_o,  // a packet - payload_dma
    input  logic                       payload_ready_i,  // it is taken - payload_dma
    output streams_pkg::packet_grant_t payload_o,        // which - payload_dma
    output logic                       payload_push_o,   // it enters the stream - monitor

    output logic                      direct_valid_o,  // a packet - packet_builder
    input  logic                      direct_ready_i,  // it is taken - packet_builder
    output streams_pkg::direct_beat_t direct_o,        // which - packet_builder
    output logic                      direct_push_o,   // it enters the stream - monitor

    output logic                    sent_valid_o,  // a note - requester
    input  logic                    sent_ready_i,  // it is taken - requester
    output streams_pkg::sent_beat_t sent_o,        // what it says - requester
    output logic                    sent_push_o,   // it enters the stream - monitor

    output logic                       refetches_valid_o,  // a queue goes back - wqe_fetch
    input  logic                       refetches_ready_i,  // it is taken - wqe_fetch
    output streams_pkg::refetch_beat_t refetches_o,        // where to - wqe_fetch
    output logic                       refetches_push_o,   // it enters the stream - monitor

    output logic                            invalidations_valid_o,  // a key ends - qpc_ram
    input  logic                            invalidations_ready_i,  // it is taken - qpc_ram
    output streams_pkg::ram_strike_t invalidations_o,        // which - qpc_ram
    output logic invalidations_push_o,  // it enters the stream - monitor

    output logic                            failures_valid_o,  // READ data failed - responder
    input  logic                            failures_ready_i,  // it is taken - responder
    output streams_pkg::read_failure_beat_t failures_o,        // which - responder
    output logic                            failures_push_o,   // it enters the stream - monitor

    output logic                        answered_valid_o,  // an answer has left - responder
    input  logic                        answered_ready_i,  // it is taken - responder
    output streams_pkg::answered_beat_t answered_o,        // whose - responder
    output logic                        answered_push_o,   // it enters the stream - monitor

    input  logic                     limits_valid_i,  // a rate or CNP - rate_control
    output logic                     limits_ready_o,  // it is taken - rate_control
    input  streams_pkg::limit_beat_t limits_i,        // which - rate_control

    output logic                      charges_valid_o,  // a packet has counted - rate_control
    input  logic                      charges_ready_i,  // it is taken - rate_control
    output streams_pkg::charge_beat_t charges_o,        // which - rate_control
    output logic                      charges_push_o,   // it enters the stream - monitor

    output logic busy_o,  // 0: an edge without a transfer changes no flop - clock gate
    output logic [63:0] wake_at_o  // ... before this cycle - clock gate
);

  localparam int unsigned QpnWidth = params_pkg::NicLogMaxQp;
  localparam int unsigned FunctionWidth = $clog2(Functions);
  localparam int unsigned Places = stages_pkg::TxSchedPlaces;
  localparam int unsigned ClassWidth = streams_pkg::SchedClassWidth;
  localparam int unsigned RowWidth = streams_pkg::SchedRowWidth;
  localparam int unsigned HeadWidth = streams_pkg::WorkBeatWidth - 512;
  localparam int unsigned NoteWidth = streams_pkg::SentBeatWidth - 3840;
  localparam int unsigned SlotWidth = 11;
  localparam int unsigned Depth = stages_pkg::TxSchedDepth;
  localparam int unsigned Latency = stages_pkg::TxSchedLatency;
  localparam int unsigned ShortDepth = 8;
  localparam int unsigned ControlDepth = 16;
  localparam int unsigned CreditWidth = $clog2(Depth + 1);
  localparam int unsigned ShortWidth = $clog2(ShortDepth + 1);
  localparam int unsigned ControlWidth = $clog2(ControlDepth + 1);

  // Room at the outputs, as it was before the cycle.
  logic [CreditWidth-1:0] payload_credits, direct_credits, sent_credits;
  logic [ControlWidth-1:0] refetch_credits;
  logic [ShortWidth-1:0] invalidation_credits, failure_credits, answered_credits;

  // What comes in
  // ------------------------------------------------------------------------------------------

  logic [10:0] works_q;
  logic [17:0] held_q;
  logic alone, alone_q, arriving_q, slots_full, responses_full, work_first, work_taken;
  logic left_request, left_response;
  // Functions that share the wire do not share slots: who may not send would keep out the others.
  assign slots_full = works_q == 11'(stages_pkg::TxSchedWorks) ||
      (alone_q && held_q >= 18'(stages_pkg::TxSchedWorkSlots));
  assign work_ready_o = arriving_q || !slots_full;
  assign work_first = work_valid_i && !arriving_q;
  assign work_taken = work_first && !slots_full;
  assign acknowledges_ready_o = !responses_full;
  assign left_ready_o = 1'b1;
  assign commands_ready_o = 1'b1;
  assign controls_ready_o = refetch_credits != '0;
  assign left_request = left_valid_i && !left_i.response;
  assign left_response = left_valid_i && left_i.response;

  logic [QpnWidth-1:0] command_qpn, left_qpn, answer_qpn;
  assign command_qpn = commands_i.qpn[QpnWidth-1:0];
  assign left_qpn = left_i.qpn[QpnWidth-1:0];

  // The send queues
  // ------------------------------------------------------------------------------------------

  logic command_resets, control_takes, restarts, request_grant, packet, fetched, fails, flushed;
  logic invalidates, last, ack_request, message, answered, grant_silent, left_in_head;
  logic [3:0] turn_erase, turn_push, turn_active, turn_inside, turn_update;
  logic [4*SlotWidth-1:0] turn_head, turn_works;
  logic [SlotWidth-1:0] next_head, next_works, admit_head, admit_works;
  logic [4*QpnWidth-1:0] turn_qpn;
  logic [4*FunctionWidth-1:0] turn_function;
  logic [4*ClassWidth-1:0] turn_class;
  logic [QpnWidth-1:0] request_qpn, request_admit_qpn;
  logic [ClassWidth-1:0] request_class, admit_class;
  logic request_stays, request_ends_turn, drops_response, arriving, note_room, answer_reads;
  logic [SlotWidth-1:0] arriving_slot;
  logic [QpnWidth-1:0] arriving_qpn;
  logic [17:0] parked_works;
  logic [RowWidth-1:0] grant_row, lost_row, answer_row;
  logic [HeadWidth-1:0] grant_head, lost_head;
  logic [8191:0] grant_body;
  logic [7:0] grant_syndrome;
  logic [3:0] grant_log_mtu;
  logic [15:0] grant_bytes;
  logic [23:0] grant_first_psn;
  logic [2:0] notes_push;
  logic grant_push;
  logic [NoteWidth-1:0] held_note, lost_note;
  logic [7:0] lost_syndrome;
  streams_pkg::sent_beat_t mark, grant_note;
  logic steps_busy;
  // Pauses: who stands aside, and who comes back.
  logic request_chosen, request_stops, read_chosen, read_stops, line_paused, line_stops;
  logic request_closed, read_closed, back, back_first, cnp, cnp_sends;
  logic [QpnWidth-1:0] back_qpn, paused_qpn;
  logic go_request, go_response, go_works, go_joins, go_read, go_control, pauses_busy;
  logic [QpnWidth-1:0] go_qpn;
  logic [FunctionWidth-1:0] go_function;
  logic [15:0] line_function, go_read_function;
  logic [2:0] line_pcp;
  assign control_takes = controls_valid_i && controls_ready_o;

  tx_sched_steps i_steps (
      .clk_i,
      .rst_ni,
      .port_mtu_i(port_mtu_i[13:0]),
      .window_i(send_window_i[23:0]),
      .ack_interval_i(ack_interval_i[15:0]),
      .command_i(commands_valid_i),
      .command_item_i(commands_i),
      .command_resets_o(command_resets),
      .control_i(control_takes),
      .control_item_i(controls_i),
      .refetches_o(restarts),
      .left_i(left_request),
      .left_item_i(left_i),
      .lost_row_o(lost_row),
      .lost_head_o(lost_head),
      .lost_in_head_o(left_in_head),
      .lost_note_i(lost_note),
      .lost_syndrome_i(lost_syndrome),
      .beat_i(work_valid_i),
      .work_i(work_taken),
      .work_item_i(work_i),
      .arriving_o(arriving),
      .arriving_slot_o(arriving_slot),
      .arriving_qpn_o(arriving_qpn),
      .take_qpn_i(acknowledges_i.qpn[QpnWidth-1:0]),
      .drops_response_o(drops_response),
      .sent_credits_i(sent_credits),
      .notes_push_o(notes_push),
      .grant_push_o(grant_push),
      .mark_o(mark),
      .held_note_o(held_note),
      .note_room_o(note_room),
      .turn_qpn_o(turn_qpn),
      .turn_function_o(turn_function),
      .turn_erase_o(turn_erase),
      .turn_push_o(turn_push),
      .turn_active_i(turn_active),
      .turn_update_o(turn_update),
      .turn_class_o(turn_class),
      .turn_head_o(turn_head),
      .turn_works_o(turn_works),
      .parked_works_i(parked_works),
      .works_o(works_q),
      .held_o(held_q),
      .grant_i(request_grant),
      .stop_i(request_stops || request_closed),
      .grant_qpn_i(request_qpn),
      .grant_row_o(grant_row),
      .grant_head_o(grant_head),
      .grant_body_o(grant_body),
      .grant_syndrome_o(grant_syndrome),
      .grant_log_mtu_o(grant_log_mtu),
      .grant_bytes_o(grant_bytes),
      .grant_first_psn_o(grant_first_psn),
      .grant_note_i(grant_note[streams_pkg::SentBeatWidth-1:3840]),
      .packet_o(packet),
      .fetched_o(fetched),
      .fails_o(fails),
      .flushed_o(flushed),
      .silent_o(grant_silent),
      .invalidates_o(invalidates),
      .last_o(last),
      .ack_request_o(ack_request),
      .message_o(message),
      .answered_o(answered),
      .stays_o(request_stays),
      .turn_ends_o(request_ends_turn),
      .class_o(request_class),
      .head_o(next_head),
      .slots_o(next_works),
      .answer_qpn_i(answer_qpn),
      .answer_row_o(answer_row),
      .line_qpn_i(line_qpn),
      .line_pcp_o(line_pcp),
      .go_qpn_i(go_qpn),
      .go_works_o(go_works),
      .go_function_o(go_function),
      .go_joins_i(go_joins),
      .admit_qpn_i(request_admit_qpn),
      .admit_class_o(admit_class),
      .admit_head_o(admit_head),
      .admit_works_o(admit_works),
      .busy_o(steps_busy)
  );

  // Responses
  // ------------------------------------------------------------------------------------------

  logic take_response, read_grant, line_used, answers, answer_last, answer_fetched;
  logic answer_room, failure_room, responses_busy, line_valid;
  logic left_erase, left_read, left_control, take_read, take_control, again_read, again_control;
  logic [1:0] left_class, take_class, again_class, read_admit_class;
  logic [15:0] left_function, again_function;
  logic [QpnWidth-1:0] line_qpn, read_qpn, response_qpn, read_admit_qpn;
  logic [23:0] answer_packet;
  streams_pkg::response_beat_t answer;
  streams_pkg::read_failure_beat_t failure;
  streams_pkg::answered_beat_t has_answered;
  assign take_response = acknowledges_valid_i && acknowledges_ready_o && !drops_response;
  assign answer_reads = read_grant && answer_fetched;

  tx_sched_responses i_responses (
      .clk_i,
      .rst_ni,
      .reset_i(command_resets),
      .reset_qpn_i(command_qpn),
      .left_i(left_response),
      .left_item_i(left_i),
      .left_erase_o(left_erase),
      .left_read_o(left_read),
      .left_class_o(left_class),
      .left_function_o(left_function),
      .left_control_o(left_control),
      .full_o(responses_full),
      .take_i(take_response),
      .item_i(acknowledges_i),
      .take_read_o(take_read),
      .take_class_o(take_class),
      .take_control_o(take_control),
      .line_i(line_valid && !cnp),
      .line_qpn_i(line_qpn),
      .direct_room_i(direct_credits != '0),
      .line_function_o(line_function),
      .line_paused_i(line_paused),
      .line_stops_o(line_stops),
      .used_o(line_used),
      .answers_o(answers),
      .read_i(read_grant),
      .read_stops_i(read_stops),
      .read_closed_i(read_closed),
      .read_qpn_i(read_qpn),
      .granted_qpn_o(response_qpn),
      .granted_o(answer),
      .packet_o(answer_packet),
      .last_o(answer_last),
      .fetched_o(answer_fetched),
      .again_read_o(again_read),
      .again_function_o(again_function),
      .again_class_o(again_class),
      .again_control_o(again_control),
      .go_i(go_response || back),
      .go_stopped_i(!back),
      .go_qpn_i(go_qpn),
      .go_read_o(go_read),
      .go_function_o(go_read_function),
      .go_control_o(go_control),
      .admit_qpn_i(read_admit_qpn),
      .admit_class_o(read_admit_class),
      .answer_room_o(answer_room),
      .failure_room_o(failure_room),
      .failures_room_i(failure_credits != '0),
      .failures_push_o,
      .failures_o(failure),
      .answered_room_i(answered_credits != '0),
      .answered_push_o,
      .answered_o(has_answered),
      .busy_o(responses_busy)
  );

  tx_sched_line #(
      .Before(2),
      .After(2)
  ) i_controls (
      .clk_i,
      .rst_ni,
      .before_i({take_control, left_control}),
      .before_qpn_i({acknowledges_i.qpn[QpnWidth-1:0], left_qpn}),
      .valid_o(line_valid),
      .qpn_o(line_qpn),
      .pop_i(line_used),
      .after_i({go_control, again_control}),
      .after_qpn_i({go_qpn, response_qpn})
  );

  // The choice
  // ------------------------------------------------------------------------------------------

  localparam int unsigned PlaceWidth = $clog2(Places);
  logic [Functions-1:0] request_before, read_before, request_waiting, read_waiting;
  logic [Functions-1:0] request_after, read_after, request_can, read_can, visited, charged;
  logic [Places-1:0] request_valid, request_grants, request_parks, read_valid, read_grants;
  logic [ClassWidth*Places-1:0] request_flags;
  logic [2*Places-1:0] read_flags;
  logic [3:0] unused_read_active, read_inside;
  logic stalls, request_admit, read_admit, read_late_inside, unused_late, request_busy, read_busy;
  logic [PlaceWidth-1:0] stalled;
  logic [FunctionWidth-1:0] request_admit_function, read_admit_function, sender;
  logic any, functions_busy;
  logic [15:0] cost, bytes;

  tx_sched_turns #(
      .Flags(ClassWidth)
  ) i_requests (
      .clk_i,
      .rst_ni,
      .before_o(request_before),
      .qpn_i(turn_qpn),
      .function_i(turn_function),
      .erase_i(turn_erase),
      .push_i(turn_push),
      .active_o(turn_active),
      .inside_o(turn_inside),
      .update_i(turn_update),
      .flags_i(turn_class),
      .head_i(turn_head),
      .works_i(turn_works),
      .waiting_o(request_waiting),
      .arriving_i(arriving),
      .arriving_qpn_i(arriving_qpn),
      .arriving_slot_i(arriving_slot),
      .stalls_o(stalls),
      .stalled_o(stalled),
      .valid_o(request_valid),
      .flags_o(request_flags),
      .grants_i(request_grants),
      .can_o(request_can),
      .choose_i(any && !read_chosen),
      .sender_i(sender),
      .chosen_o(request_chosen),
      .chosen_qpn_o(request_qpn),
      .stays_i(request_stays && !request_stops && !request_closed),
      .back_i(request_ends_turn),
      .chosen_flags_i(request_class),
      .chosen_head_i(next_head),
      .chosen_works_i(next_works),
      .parks_i(request_parks),
      .visited_i(visited),
      .parked_works_o(parked_works),
      .after_o(request_after),
      .late_push_i(1'b0),
      .late_qpn_i('0),
      .late_function_i('0),
      .late_flags_i('0),
      .late_inside_o(unused_late),
      .return_push_i((go_request || back) && go_works),
      .return_qpn_i(go_qpn),
      .return_function_i(go_function),
      .return_joins_o(go_joins),
      .admit_o(request_admit),
      .admit_qpn_o(request_admit_qpn),
      .admit_function_o(request_admit_function),
      .admit_flags_i(admit_class),
      .admit_head_i(admit_head),
      .admit_works_i(admit_works),
      .busy_o(request_busy)
  );

  logic unused_stalls, unused_joins;
  logic [PlaceWidth-1:0] unused_stalled;
  logic [17:0] unused_works;
  tx_sched_turns #(
      .Flags(2)
  ) i_reads (
      .clk_i,
      .rst_ni,
      .before_o(read_before),
      .qpn_i({acknowledges_i.qpn[QpnWidth-1:0], left_qpn, left_qpn, command_qpn}),
      .function_i({
        acknowledges_i.function_id[FunctionWidth-1:0], left_function[FunctionWidth-1:0],
        {2 * FunctionWidth{1'b0}}
      }),
      .erase_i({1'b0, left_erase, 1'b0, command_resets}),
      .push_i({take_read, left_read, 2'b00}),
      .active_o(unused_read_active),
      .inside_o(read_inside),
      .update_i({take_read, left_read, 2'b00}),
      .flags_i({take_class, left_class, 4'b0}),
      .head_i('0),
      .works_i('0),
      .waiting_o(read_waiting),
      .arriving_i(1'b0),
      .arriving_qpn_i('0),
      .arriving_slot_i('0),
      .stalls_o(unused_stalls),
      .stalled_o(unused_stalled),
      .valid_o(read_valid),
      .flags_o(read_flags),
      .grants_i(read_grants),
      .can_o(read_can),
      .choose_i(any),
      .sender_i(sender),
      .chosen_o(read_chosen),
      .chosen_qpn_o(read_qpn),
      .stays_i(1'b0),
      .back_i(1'b0),
      .chosen_flags_i('0),
      .chosen_head_i('0),
      .chosen_works_i('0),
      .parks_i('0),
      .visited_i('0),
      .parked_works_o(unused_works),
      .after_o(read_after),
      .late_push_i(again_read),
      .late_qpn_i(response_qpn),
      .late_function_i(again_function[FunctionWidth-1:0]),
      .late_flags_i(again_class),
      .late_inside_o(read_late_inside),
      .return_push_i(go_read),
      .return_qpn_i(go_qpn),
      .return_function_i(go_read_function[FunctionWidth-1:0]),
      .return_joins_o(unused_joins),
      .admit_o(read_admit),
      .admit_qpn_o(read_admit_qpn),
      .admit_function_o(read_admit_function),
      .admit_flags_i(read_admit_class),
      .admit_head_i('0),
      .admit_works_i('0),
      .busy_o(read_busy)
  );

  tx_sched_pick i_pick (
      .payload_room_i(payload_credits != '0),
      .direct_room_i(direct_credits != '0),
      .sent_room_i(sent_credits > CreditWidth'(notes_push[0]) + CreditWidth'(notes_push[1]) +
                   CreditWidth'(notes_push[2])),
      .invalidation_room_i(invalidation_credits != '0),
      .note_room_i(note_room),
      .answer_room_i(answer_room),
      .failure_room_i(failure_room),
      .valid_i(request_valid),
      .flags_i(request_flags),
      .stalls_i(stalls),
      .stalled_i(stalled),
      .grants_o(request_grants),
      .parks_o(request_parks),
      .read_valid_i(read_valid),
      .read_flags_i(read_flags),
      .read_grants_o(read_grants)
  );

  tx_sched_functions i_functions (
      .clk_i,
      .rst_ni,
      .shares_i(vports_i),
      .largest_i(largest_i[13:0]),
      .alone_o(alone),
      .before_i(request_before | read_before),
      .enter_i({
        read_inside[3], turn_inside[3], turn_inside[2] || read_inside[2], turn_inside[1],
        turn_inside[0]
      }),
      .entering_i({
        acknowledges_i.function_id[FunctionWidth-1:0],
        turn_function[3*FunctionWidth+:FunctionWidth],
        left_i.response ? left_function[FunctionWidth-1:0]
                        : turn_function[2*FunctionWidth+:FunctionWidth],
        turn_function[0+:2*FunctionWidth]
      }),
      .waiting_i(request_waiting | read_waiting),
      .can_i(request_can | read_can),
      .visited_o(visited),
      .any_o(any),
      .sender_o(sender),
      .out_of_turn_i(line_used || cnp),
      .answerer_i(cnp ? cnp_item.function_id[FunctionWidth-1:0]
                      : answer.function_id[FunctionWidth-1:0]),
      .bytes_i(bytes),
      .charged_o(charged),
      .after_i(request_after | read_after),
      .late_i({read_admit, request_admit, read_late_inside}),
      .late_function_i({
        read_admit_function, request_admit_function, again_function[FunctionWidth-1:0]
      }),
      .busy_o(functions_busy)
  );

  // Pauses
  // ------------------------------------------------------------------------------------------

  // Who stands aside: by the priority of the port's tag, if it has one, else by that of the path.
  logic [7:0] halted;
  logic [2:0] request_pcp, read_pcp, answer_pcp;
  streams_pkg::sched_row_t request_path, answer_path;
  streams_pkg::vport_share_t line_share, sender_share;
  assign request_path = grant_row;
  assign answer_path = answer_row;
  assign halted = paused_i | crowded_i;
  assign line_share = vports_i[line_function*ShareWidth+:ShareWidth];
  assign sender_share = vports_i[sender*ShareWidth+:ShareWidth];
  assign answer_pcp = line_share.has_vlan ? line_share.pcp : line_pcp;
  assign request_pcp = sender_share.has_vlan ? sender_share.pcp : request_path.pcp;
  assign read_pcp = sender_share.has_vlan ? sender_share.pcp : answer_path.pcp;
  assign line_paused = halted[answer_pcp];
  assign request_stops = request_chosen && packet && halted[request_pcp];
  assign request_closed = request_chosen && packet && !request_stops && rate_closed;
  assign request_grant = request_chosen && !request_stops && !request_closed;
  assign read_stops = read_chosen && halted[read_pcp];
  assign read_closed = read_chosen && !read_stops && rate_closed;
  assign read_grant = read_chosen && !read_stops && !read_closed;
  tx_sched_pauses i_pauses (
      .clk_i,
      .rst_ni,
      .wait_i(back_first),
      .halted_i(halted),
      .request_i(request_stops),
      .request_qpn_i(request_qpn),
      .request_pcp_i(request_pcp),
      .response_i(line_stops || read_stops),
      .response_qpn_i(answer_qpn),
      .response_pcp_i(line_stops ? answer_pcp : read_pcp),
      .go_request_o(go_request),
      .go_response_o(go_response),
      .go_qpn_o(paused_qpn),
      .busy_o(pauses_busy)
  );
  assign go_qpn = back ? back_qpn : paused_qpn;

  // Rates of QPs, CNPs
  // ------------------------------------------------------------------------------------------

  logic cnps_full, cnps_busy, limit_taken, rate_closed;
  logic [$clog2(stages_pkg::RateControlNoteDepth+1)-1:0] charge_credits;
  streams_pkg::limit_beat_t cnp_item;
  streams_pkg::charge_beat_t charge;
  assign answer_qpn = cnp ? cnp_item.qpn[QpnWidth-1:0] : response_qpn;
  assign limits_ready_o = !cnps_full;
  assign limit_taken = limits_valid_i && !cnps_full;

  tx_sched_cnps i_cnps (
      .clk_i,
      .rst_ni,
      .full_o(cnps_full),
      .push_i(limit_taken && limits_i.kind == streams_pkg::LimitCodeCnp),
      .item_i(limits_i),
      .halted_i(halted),
      .room_i(direct_credits != '0),
      .grant_o(cnp),
      .first_o(cnp_item),
      .busy_o(cnps_busy)
  );

  tx_sched_rates i_rates (
      .clk_i,
      .rst_ni,
      .cycle_i,
      .largest_i(largest_i[13:0]),
      .period_i(clock_period_i[16:0]),
      .set_i(limit_taken && limits_i.kind == streams_pkg::LimitCodeRate),
      .item_i(limits_i),
      .wait_i(pauses_busy),
      .first_o(back_first),
      .back_o(back),
      .back_qpn_o(back_qpn),
      .qpn_i(read_chosen ? read_qpn : request_qpn),
      .closed_o(rate_closed),
      .aside_i(read_closed || request_closed),
      .packet_i(read_grant || (request_grant && packet)),
      .bytes_i(cost),
      .charge_o(charges_push_o),
      .charged_o(charge),
      .wake_at_o
  );

  // The packet
  // ------------------------------------------------------------------------------------------

  logic [63:0] order_q;
  logic response, sends, to_payload, to_direct;
  logic [15:0] function_id;
  streams_pkg::packet_grant_t cut_payload;
  streams_pkg::direct_beat_t cut_direct;
  streams_pkg::vport_share_t share;
  assign response = cnp || answers || read_grant;
  assign cnp_sends = cnp && !answer_path.reset;
  assign sends = cnp_sends || answers || read_grant || (request_grant && packet);
  assign to_payload = answer_reads || (request_grant && fetched);
  assign to_direct = sends && !to_payload;
  assign function_id = response && !cnp ? answer.function_id : cut_payload.function_id;
  assign share = vports_i[function_id*ShareWidth+:ShareWidth];
  assign bytes = sends && charged[function_id[FunctionWidth-1:0]] ? cost : '0;

  tx_sched_cut i_cut (
      .order_i(order_q),
      .response_i(response),
      .cnp_i(cnp),
      .cnp_item_i(cnp_item),
      .request_i(request_grant),
      .row_i(grant_row),
      .head_i(grant_head),
      .body_i(grant_body),
      .inline_i(request_grant && to_direct),
      .log_mtu_i(grant_log_mtu),
      .bytes_i(grant_bytes),
      .message_i(message),
      .answered_i(answered),
      .syndrome_i(grant_syndrome),
      .fails_i(fails),
      .flushed_i(flushed),
      .silent_i(grant_silent),
      .last_i(last),
      .ack_request_i(ack_request),
      .first_psn_i(grant_first_psn),
      .answer_i(answer),
      .packet_i(answer_packet),
      .answer_last_i(answer_last),
      .lives_i(answer_path.lives),
      .lost_row_i(lost_row),
      .lost_head_i(lost_head),
      .port_mtu_i(port_mtu_i[13:0]),
      .lost_in_head_i(left_in_head),
      .lost_i(left_i),
      .payload_o(cut_payload),
      .direct_o(cut_direct),
      .sent_o(grant_note),
      .lost_o(lost_note),
      .lost_syndrome_o(lost_syndrome)
  );

  tx_sched_cost i_cost (
      .cnp_i(cnp),
      .response_i(response),
      .kind_i(cut_payload.kind),
      .opcode_i(cut_payload.wqe_opcode),
      .service_i(cut_payload.service),
      .first_i(cut_payload.first_packet),
      .last_i(cut_payload.last_packet),
      .payload_i(16'(cut_payload.payload)),
      .ipv6_i(response ? answer_path.ipv6 : request_path.ipv6),
      .tagged_i((response ? answer_path.has_vlan : request_path.has_vlan) || share.has_vlan),
      .bytes_o(cost)
  );

  // The outputs
  // ------------------------------------------------------------------------------------------

  logic payload_busy, direct_busy, sent_busy;
  streams_pkg::refetch_beat_t again;
  streams_pkg::ram_strike_t ended_key;
  assign again.qpn = controls_i.qpn;
  assign again.epoch = controls_i.epoch;
  assign again.wqe_index = controls_i.wqe_index;
  assign ended_key.index = cut_payload.imm[31:8];
  assign refetches_push_o = restarts;
  assign invalidations_push_o = request_grant && invalidates;

  tx_sched_output #(
      .Width(streams_pkg::PacketGrantWidth),
      .Depth(Depth),
      .Latency(Latency)
  ) i_payload (
      .clk_i, .rst_ni,
      .credits_o(payload_credits), .push_i(to_payload), .item_i(cut_payload),
      .valid_o(payload_valid_o), .ready_i(payload_ready_i), .data_o(payload_o),
      .push_o(payload_push_o), .busy_o(payload_busy)
  );
  tx_sched_output #(
      .Width(streams_pkg::DirectBeatWidth),
      .Depth(Depth),
      .Latency(Latency)
  ) i_direct (
      .clk_i, .rst_ni,
      .credits_o(direct_credits), .push_i(to_direct), .item_i(cut_direct),
      .valid_o(direct_valid_o), .ready_i(direct_ready_i), .data_o(direct_o),
      .push_o(direct_push_o), .busy_o(direct_busy)
  );
  tx_sched_sent i_sent (
      .clk_i, .rst_ni,
      .credits_o(sent_credits), .push_i({grant_push, notes_push}),
      .lost_i(lost_note), .mark_i(mark), .held_i(held_note), .granted_i(grant_note),
      .valid_o(sent_valid_o), .ready_i(sent_ready_i), .data_o(sent_o),
      .push_o(sent_push_o), .busy_o(sent_busy)
  );
  tx_sched_short #(
      .Width(streams_pkg::RefetchBeatWidth),
      .Depth(ControlDepth)
  ) i_refetches (
      .clk_i, .rst_ni,
      .credits_o(refetch_credits), .push_i(refetches_push_o), .item_i(again),
      .valid_o(refetches_valid_o), .ready_i(refetches_ready_i), .data_o(refetches_o)
  );
  tx_sched_short #(
      .Width(streams_pkg::RamStrikeWidth),
      .Depth(ShortDepth)
  ) i_invalidations (
      .clk_i, .rst_ni,
      .credits_o(invalidation_credits), .push_i(invalidations_push_o), .item_i(ended_key),
      .valid_o(invalidations_valid_o), .ready_i(invalidations_ready_i), .data_o(invalidations_o)
  );
  tx_sched_short #(
      .Width(streams_pkg::ReadFailureBeatWidth),
      .Depth(ShortDepth)
  ) i_failures (
      .clk_i, .rst_ni,
      .credits_o(failure_credits), .push_i(failures_push_o), .item_i(failure),
      .valid_o(failures_valid_o), .ready_i(failures_ready_i), .data_o(failures_o)
  );
  tx_sched_short #(
      .Width(streams_pkg::ChargeBeatWidth),
      .Depth(stages_pkg::RateControlNoteDepth)
  ) i_charges (
      .clk_i, .rst_ni,
      .credits_o(charge_credits), .push_i(charges_push_o), .item_i(charge),
      .valid_o(charges_valid_o), .ready_i(charges_ready_i), .data_o(charges_o)
  );
  tx_sched_short #(
      .Width(streams_pkg::AnsweredBeatWidth),
      .Depth(ShortDepth)
  ) i_answered (
      .clk_i, .rst_ni,
      .credits_o(answered_credits), .push_i(answered_push_o), .item_i(has_answered),
      .valid_o(answered_valid_o), .ready_i(answered_ready_i), .data_o(answered_o)
  );

  assign busy_o = steps_busy || responses_busy || line_valid || request_busy || read_busy ||
      functions_busy || pauses_busy || cnps_busy || payload_busy || direct_busy ||
      sent_busy || arriving_q || slots_full;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      order_q    <= '0;
      alone_q    <= 1'b1;
      arriving_q <= 1'b0;
    end else begin
      order_q    <= order_q + 64'(sends);
      alone_q    <= alone;
      arriving_q <= arriving;
    end
  end

  `CARILLON_ASSERT_STREAM(payload)
  `CARILLON_ASSERT_STREAM(direct)
  `CARILLON_ASSERT_STREAM(sent)
  `CARILLON_ASSERT(!(request_grant && response))
  `CARILLON_ASSERT(!charges_push_o || charge_credits != '0)

endmodule
