// QPs that take turns: places that are looked at at once, with what is to know of each for the
// choice, and who is before whom. Who finds no place waits outside, in order. The model's
// turn_lists.
//
// In a cycle: up to four QPs leave or join in turn; one is chosen, leaves or goes to the back,
// while others leave that cannot go on; one more joins; the one that waits longest outside comes
// in.
`include "assertions.svh"

module tx_sched_turns #(
    parameter  int unsigned ClassWidth    = 1,
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues        = 2 ** QpnWidth,
    localparam int unsigned Places        = stages_pkg::TxSchedPlaces,
    localparam int unsigned CountWidth    = $clog2(Places + 1)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    output logic [Functions-1:0] before_o,  // who has a QP in a place, at first - functions

    input  logic [     4*QpnWidth-1:0] qpn_i,       // of the four steps: which QP - top
    input  logic [4*FunctionWidth-1:0] function_i,  // whose it is - top
    input  logic [                3:0] erase_i,     // it leaves - top
    input  logic [                3:0] push_i,      // then it joins - top
    output logic [                3:0] active_o,    // it was in line - top
    output logic [                3:0] inside_o,    // it has come into a place - functions
    input  logic [                3:0] update_i,    // what is to know of it is new - top
    input  logic [   4*ClassWidth-1:0] class_i,     // what - top

    output logic [              Places-1:0] valid_o,  // places that are taken - pick
    output logic [     QpnWidth*Places-1:0] qpn_o,    // by which QP - pick
    output logic [FunctionWidth*Places-1:0] owner_o,  // of which function - pick
    output logic [   ClassWidth*Places-1:0] class_o,  // what is to know of it - pick
    output logic [       Places*Places-1:0] older_o,  // who is before whom - pick
    output logic [ Functions-1:0] waiting_o,  // functions with somebody in a place - functions

    input  logic [    Places-1:0] erased_i,      // these leave - pick
    input  logic [    Places-1:0] back_i,        // this one goes to the back - pick
    input  logic [    Places-1:0] chosen_i,      // of this one something new is to know - pick
    input  logic [ClassWidth-1:0] chosen_class_i, // what - top
    output logic [ Functions-1:0] after_o,       // functions with somebody left - functions

    input  logic                     late_push_i,      // one more joins - top
    input  logic [     QpnWidth-1:0] late_qpn_i,       // which - top
    input  logic [FunctionWidth-1:0] late_function_i,  // whose it is - top
    input  logic [   ClassWidth-1:0] late_class_i,     // what is to know of it - top
    output logic                     late_inside_o,    // it has come into a place - functions

    output logic                     admit_o,           // one comes in from outside - functions
    output logic [     QpnWidth-1:0] admit_qpn_o,       // which - top
    output logic [FunctionWidth-1:0] admit_function_o,  // whose it is - functions
    input  logic [   ClassWidth-1:0] admit_class_i,     // what is to know of it - top

    output logic busy_o  // somebody is in line - top
);

  logic [Places-1:0] valid_q;
  logic [QpnWidth*Places-1:0] qpn_q;
  logic [FunctionWidth*Places-1:0] owner_q;
  logic [ClassWidth*Places-1:0] class_q;
  logic [Places*Places-1:0] older_q;
  logic [Queues-1:0] outside_q, queued_q;
  logic [CountWidth-1:0] taken_q;
  logic [QpnWidth:0] count_q;
  logic [QpnWidth-1:0] head_q;
  logic [QpnWidth-1:0] outside_mem[Queues];
  logic [FunctionWidth-1:0] owner_mem[Queues];

  // Functions that have somebody in a place.
  function automatic logic [Functions-1:0] owners_of(input logic [Places-1:0] valid,
                                                    input logic [FunctionWidth*Places-1:0] owner);
    owners_of = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      owners_of = owners_of |
          (valid[i] ? Functions'(1) << owner[i*FunctionWidth+:FunctionWidth] : '0);
    end
  endfunction
  assign before_o = owners_of(valid_q, owner_q);

  // The four steps
  // ------------------------------------------------------------------------------------------

  for (genvar s = 0; s < 5; s++) begin : gen_state
    logic [Places-1:0] valid;
    logic [QpnWidth*Places-1:0] qpn;
    logic [FunctionWidth*Places-1:0] owner;
    logic [3*Places-1:0] stamp;
    logic [CountWidth-1:0] taken;
    logic waits;
  end
  assign gen_state[0].valid = valid_q;
  assign gen_state[0].qpn = qpn_q;
  assign gen_state[0].owner = owner_q;
  assign gen_state[0].stamp = '0;
  assign gen_state[0].taken = taken_q;
  assign gen_state[0].waits = count_q != '0;

  // Of each step's QP, and of the one that joins late: whether it waits outside and has an entry
  // there, before and afterwards.
  logic [3:0] queues;
  for (genvar s = 0; s < 5; s++) begin : gen_outside
    logic [QpnWidth-1:0] qpn;
    logic outside_done, queued_done;
    assign qpn = s == 4 ? late_qpn_i : qpn_i[(s%4)*QpnWidth+:QpnWidth];
    for (genvar k = 0; k <= s; k++) begin : gen_seen
      logic outside, queued;
    end
    assign gen_seen[0].outside = outside_q[qpn];
    assign gen_seen[0].queued = queued_q[qpn];
    for (genvar k = 0; k < s; k++) begin : gen_see
      logic same;
      assign same = gen_outside[k].qpn == qpn;
      assign gen_seen[k+1].outside = same ? gen_outside[k].outside_done : gen_seen[k].outside;
      assign gen_seen[k+1].queued = same ? gen_outside[k].queued_done : gen_seen[k].queued;
    end
    logic outside_now, queued_now;
    assign outside_now = gen_seen[s].outside;
    assign queued_now = gen_seen[s].queued;
  end

  for (genvar s = 0; s < 4; s++) begin : gen_step
    logic was_active, came_inside, is_queued;
    tx_sched_turns_step #(
        .Step(s + 1),
        .FunctionWidth(FunctionWidth)
    ) i_step (
        .qpn_i(qpn_i[s*QpnWidth+:QpnWidth]),
        .function_i(function_i[s*FunctionWidth+:FunctionWidth]),
        .erase_i(erase_i[s]),
        .push_i(push_i[s]),
        .active_o(was_active),
        .inside_o(came_inside),
        .queue_o(is_queued),
        .valid_i(gen_state[s].valid),
        .qpn_in_i(gen_state[s].qpn),
        .owner_i(gen_state[s].owner),
        .stamp_i(gen_state[s].stamp),
        .outside_i(gen_outside[s].outside_now),
        .queued_i(gen_outside[s].queued_now),
        .taken_i(gen_state[s].taken),
        .waits_i(gen_state[s].waits),
        .valid_o(gen_state[s+1].valid),
        .qpn_o(gen_state[s+1].qpn),
        .owner_o(gen_state[s+1].owner),
        .stamp_o(gen_state[s+1].stamp),
        .outside_o(gen_outside[s].outside_done),
        .queued_o(gen_outside[s].queued_done),
        .taken_o(gen_state[s+1].taken),
        .waits_o(gen_state[s+1].waits)
    );
    assign active_o[s] = was_active;
    assign inside_o[s] = came_inside;
    assign queues[s] = is_queued;
  end

  assign valid_o = gen_state[4].valid;
  assign qpn_o = gen_state[4].qpn;
  assign owner_o = gen_state[4].owner;
  assign waiting_o = owners_of(valid_o, owner_o);

  tx_sched_order #(
      .Steps(4)
  ) i_older (
      .stamp_i(gen_state[4].stamp),
      .older_i(older_q),
      .older_o
  );

  always_comb begin
    class_o = class_q;
    for (int unsigned i = 0; i < Places; i++) begin
      for (int unsigned s = 0; s < 4; s++) begin
        if (update_i[s] && qpn_o[i*QpnWidth+:QpnWidth] == qpn_i[s*QpnWidth+:QpnWidth]) begin
          class_o[i*ClassWidth+:ClassWidth] = class_i[s*ClassWidth+:ClassWidth];
        end
      end
    end
  end

  // The choice
  // ------------------------------------------------------------------------------------------

  logic [Places-1:0] valid_kept;
  logic [CountWidth-1:0] taken_kept;
  assign valid_kept = valid_o & ~erased_i;
  assign after_o = owners_of(valid_kept, owner_o);
  logic [CountWidth-1:0] leavers;
  always_comb begin
    leavers = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      leavers = leavers + CountWidth'(valid_o[i] && erased_i[i]);
    end
  end
  assign taken_kept = gen_state[4].taken - leavers;

  logic [Places-1:0] valid_late;
  logic [QpnWidth*Places-1:0] qpn_late;
  logic [FunctionWidth*Places-1:0] owner_late;
  logic [3*Places-1:0] stamp_late, stamp_chosen;
  logic [Places*Places-1:0] older_late;
  logic [CountWidth-1:0] taken_late;
  logic waits_late, late_queue, unused_active;
  tx_sched_turns_step #(
      .Step(2),
      .FunctionWidth(FunctionWidth)
  ) i_late (
      .qpn_i(late_qpn_i),
      .function_i(late_function_i),
      .erase_i(1'b0),
      .push_i(late_push_i),
      .active_o(unused_active),
      .inside_o(late_inside_o),
      .queue_o(late_queue),
      .valid_i(valid_kept),
      .qpn_in_i(qpn_o),
      .owner_i(owner_o),
      .stamp_i(stamp_chosen),
      .outside_i(gen_outside[4].outside_now),
      .queued_i(gen_outside[4].queued_now),
      .taken_i(taken_kept),
      .waits_i(gen_state[4].waits),
      .valid_o(valid_late),
      .qpn_o(qpn_late),
      .owner_o(owner_late),
      .stamp_o(stamp_late),
      .outside_o(gen_outside[4].outside_done),
      .queued_o(gen_outside[4].queued_done),
      .taken_o(taken_late),
      .waits_o(waits_late)
  );
  always_comb begin
    for (int unsigned i = 0; i < Places; i++) begin
      stamp_chosen[i*3+:3] = back_i[i] ? 3'd1 : 3'd0;
    end
  end
  tx_sched_order #(
      .Steps(2)
  ) i_older_late (
      .stamp_i(stamp_late),
      .older_i(older_o),
      .older_o(older_late)
  );

  // Who waits longest outside, be it since this cycle
  // ------------------------------------------------------------------------------------------

  logic pops;
  logic [QpnWidth-1:0] fresh_qpn;
  logic [FunctionWidth-1:0] fresh_function;
  logic [Places-1:0] slot;
  always_comb begin
    fresh_qpn      = late_qpn_i;
    fresh_function = late_function_i;
    for (int unsigned s = 4; s > 0; s--) begin
      if (queues[s-1]) begin
        fresh_qpn      = qpn_i[(s-1)*QpnWidth+:QpnWidth];
        fresh_function = function_i[(s-1)*FunctionWidth+:FunctionWidth];
      end
    end
  end
  // The function is that of the last time.
  always_comb begin
    admit_qpn_o      = count_q != '0 ? outside_mem[head_q] : fresh_qpn;
    admit_function_o = count_q != '0 ? owner_mem[admit_qpn_o] : fresh_function;
    for (int unsigned s = 0; s < 4; s++) begin
      if (push_i[s] && qpn_i[s*QpnWidth+:QpnWidth] == admit_qpn_o) begin
        admit_function_o = function_i[s*FunctionWidth+:FunctionWidth];
      end
    end
    if (late_push_i && late_qpn_i == admit_qpn_o) begin
      admit_function_o = late_function_i;
    end
  end
  for (genvar s = 0; s < 6; s++) begin : gen_left
    logic outside;
  end
  assign gen_left[0].outside = outside_q[admit_qpn_o];
  for (genvar s = 0; s < 5; s++) begin : gen_leave
    assign gen_left[s+1].outside = gen_outside[s].qpn == admit_qpn_o ?
        gen_outside[s].outside_done : gen_left[s].outside;
  end
  assign pops = waits_late && taken_late != CountWidth'(Places);
  assign admit_o = pops && gen_left[5].outside;
  assign slot = admit_o ? ~valid_late & (valid_late + Places'(1)) : '0;

  logic [2:0] grown;
  logic [QpnWidth-1:0] tail;
  always_comb begin
    grown = 3'(late_queue);
    for (int unsigned s = 0; s < 4; s++) begin
      grown = grown + 3'(queues[s]);
    end
  end
  assign tail = head_q + count_q[QpnWidth-1:0];

  always_ff @(posedge clk_i) begin
    logic [QpnWidth-1:0] at;
    at = tail;
    for (int unsigned s = 0; s < 4; s++) begin
      if (queues[s]) begin
        outside_mem[at] <= qpn_i[s*QpnWidth+:QpnWidth];
        at = at + 1'b1;
      end
      if (push_i[s]) begin
        owner_mem[qpn_i[s*QpnWidth+:QpnWidth]] <= function_i[s*FunctionWidth+:FunctionWidth];
      end
    end
    if (late_queue) begin
      outside_mem[at] <= late_qpn_i;
    end
    if (late_push_i) begin
      owner_mem[late_qpn_i] <= late_function_i;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Places; i++) begin
      older_q[i*Places+:Places] <= slot[i] ? ~(Places'(1) << i)
                                           : older_late[i*Places+:Places] & ~slot;
      qpn_q[i*QpnWidth+:QpnWidth] <= slot[i] ? admit_qpn_o : qpn_late[i*QpnWidth+:QpnWidth];
      owner_q[i*FunctionWidth+:FunctionWidth] <= slot[i] ? admit_function_o :
          owner_late[i*FunctionWidth+:FunctionWidth];
      class_q[i*ClassWidth+:ClassWidth] <= slot[i] ? admit_class_i :
          valid_late[i] && !valid_kept[i] ? late_class_i :
          chosen_i[i] ? chosen_class_i : class_o[i*ClassWidth+:ClassWidth];
    end
  end

  // Who waits outside: of one QP's steps the last counts.
  logic [4:0] steps, outside_done, queued_done;
  assign steps = {late_push_i, erase_i | push_i};
  for (genvar s = 0; s < 5; s++) begin : gen_done
    assign outside_done[s] = gen_outside[s].outside_done;
    assign queued_done[s] = gen_outside[s].queued_done;
  end
  logic [5*QpnWidth-1:0] step_qpn;
  logic [Queues-1:0] outside_next, queued_next;
  assign step_qpn = {late_qpn_i, qpn_i};
  always_comb begin
    logic [Queues-1:0] one;
    outside_next = outside_q;
    queued_next  = queued_q;
    for (int unsigned s = 0; s < 5; s++) begin
      one = steps[s] ? Queues'(1) << step_qpn[s*QpnWidth+:QpnWidth] : '0;
      outside_next = (outside_next & ~one) | (outside_done[s] ? one : '0);
      queued_next  = queued_next | (queued_done[s] ? one : '0);
    end
    one = pops ? Queues'(1) << admit_qpn_o : '0;
    outside_next = outside_next & ~one;
    queued_next  = queued_next & ~one;
  end

  assign busy_o = valid_q != '0 || count_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q   <= '0;
      outside_q <= '0;
      queued_q  <= '0;
      taken_q   <= '0;
      count_q   <= '0;
      head_q    <= '0;
    end else begin
      valid_q <= valid_late | slot;
      outside_q <= outside_next;
      queued_q  <= queued_next;
      head_q    <= head_q + QpnWidth'(pops);
      taken_q <= taken_late + CountWidth'(admit_o);
      count_q <= count_q + (QpnWidth + 1)'(grown) - (QpnWidth + 1)'(pops);
    end
  end

  `CARILLON_ASSERT(count_q <= (QpnWidth + 1)'(Queues))
  `CARILLON_ASSERT((back_i & ~valid_o) == '0)

endmodule
