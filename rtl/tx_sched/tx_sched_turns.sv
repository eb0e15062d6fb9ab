// QPs that take turns: places that are looked at at once, with what is to know of each for the
// choice, and a stamp each, in the order in which they joined. Who finds no place waits outside.
// The model's turn_lists.
//
// In a cycle: up to four QPs leave or join in turn; one is chosen, leaves or goes to the back,
// while others leave that cannot go on; one more joins; one comes back and waits outside; the one
// that waits longest outside comes in.
//
// Stamps count the cycles in which somebody joined since the line was empty, so they do not wrap.
`include "assertions.svh"

module tx_sched_turns #(
    parameter  int unsigned Flags         = 1,
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues        = 2 ** QpnWidth,
    localparam int unsigned Places        = stages_pkg::TxSchedPlaces,
    localparam int unsigned PlaceWidth    = $clog2(Places),
    localparam int unsigned CountWidth    = $clog2(Places + 1),
    localparam int unsigned SlotWidth     = 11,
    localparam int unsigned Steps         = 4
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    output logic [Functions-1:0] before_o,  // who has a QP in a place, at first - functions

    input  logic [     Steps*QpnWidth-1:0] qpn_i,       // of the steps: which QP - top
    input  logic [Steps*FunctionWidth-1:0] function_i,  // whose it is - top
    input  logic [              Steps-1:0] erase_i,     // it leaves - top
    input  logic [              Steps-1:0] push_i,      // then it joins - top
    output logic [              Steps-1:0] active_o,    // it was in line - top
    output logic [              Steps-1:0] inside_o,    // it has come into a place - functions
    input  logic [              Steps-1:0] update_i,    // what is to know of it is new - top
    input  logic [        Steps*Flags-1:0] flags_i,     // for the choice - top
    input  logic [    Steps*SlotWidth-1:0] head_i,      // slot of its first work request - top
    input  logic [    Steps*SlotWidth-1:0] works_i,     // its work requests that take slots - top
    output logic [          Functions-1:0] waiting_o,   // who has a QP in a place - functions

    input  logic                 arriving_i,       // a work request is not complete - works
    input  logic [ QpnWidth-1:0] arriving_qpn_i,   // of which QP - works
    input  logic [SlotWidth-1:0] arriving_slot_i,  // in which slot - works
    output logic                 stalls_o,         // it is the first of a QP in a place - pick
    output logic [PlaceWidth-1:0] stalled_o,       // in which - pick

    output logic [      Places-1:0] valid_o,   // places that are taken - pick
    output logic [Flags*Places-1:0] flags_o,   // of each flag the places - pick
    input  logic [      Places-1:0] grants_i,  // these can send - pick
    output logic [   Functions-1:0] can_o,     // somebody of the function can - functions

    input  logic                     choose_i,         // it is the turn of ... - functions
    input  logic [FunctionWidth-1:0] sender_i,         // ... this function - functions
    output logic                     chosen_o,         // one of it can send - top
    output logic [     QpnWidth-1:0] chosen_qpn_o,     // the first - top
    input  logic                     stays_i,          // it stays in line - top
    input  logic                     back_i,           // ... as the last - top
    input  logic [        Flags-1:0] chosen_flags_i,   // what is to know of it then - top
    input  logic [    SlotWidth-1:0] chosen_head_i,    // - top
    input  logic [    SlotWidth-1:0] chosen_works_i,   // - top
    input  logic [       Places-1:0] parks_i,          // these leave when it is their turn - pick
    input  logic [    Functions-1:0] visited_i,        // whose turn it was in vain - functions
    output logic [             17:0] parked_works_o,   // works of those that leave - top
    output logic [    Functions-1:0] after_o,          // who has a QP left in a place - functions

    input  logic                     late_push_i,      // one more joins - top
    input  logic [     QpnWidth-1:0] late_qpn_i,       // which - top
    input  logic [FunctionWidth-1:0] late_function_i,  // whose it is - top
    input  logic [        Flags-1:0] late_flags_i,     // what is to know of it - top
    output logic                     late_inside_o,    // it has come into a place - functions

    input  logic                     return_push_i,      // one comes back, outside - top
    input  logic [     QpnWidth-1:0] return_qpn_i,       // which - pauses
    input  logic [FunctionWidth-1:0] return_function_i,  // whose it is - top
    output logic                     return_joins_o,     // it was not there - top

    output logic                     admit_o,           // one comes in from outside - functions
    output logic [     QpnWidth-1:0] admit_qpn_o,       // which - top
    output logic [FunctionWidth-1:0] admit_function_o,  // whose it is - functions
    input  logic [        Flags-1:0] admit_flags_i,     // what is to know of it - top
    input  logic [    SlotWidth-1:0] admit_head_i,      // - top
    input  logic [    SlotWidth-1:0] admit_works_i,     // - top

    output logic busy_o  // somebody is in line - top
);

  // Places are filled from below, and looked at in groups.
  localparam int unsigned Group = 32;
  localparam int unsigned StampWidth = 64;
  localparam int unsigned OrderWidth = StampWidth - 3;
  localparam logic [2:0] Back = 3'd5;
  localparam logic [2:0] Late = 3'd6;
  localparam logic [2:0] Admitted = 3'd7;

  logic [Places-1:0] valid_q;
  logic [QpnWidth-1:0] qpn_q[Places];
  logic [FunctionWidth-1:0] owner_q[Places];
  logic [StampWidth-1:0] stamp_q[Places];
  logic [SlotWidth-1:0] head_q[Places];
  logic [SlotWidth-1:0] works_q[Places];
  logic [Flags*Places-1:0] flags_q;
  logic [CountWidth-1:0] taken_q;
  logic [Functions-1:0] some_q;  // who has a place
  logic [OrderWidth-1:0] order_q, order;
  // The place that a QP had last.
  logic [PlaceWidth-1:0] place_mem[Queues];

  assign before_o = some_q;
  assign order = busy_o ? order_q : '0;

  function automatic logic [PlaceWidth-1:0] first_free(input logic [Places-1:0] taken_places);
    first_free = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      if (!taken_places[Places-1-i]) begin
        first_free = PlaceWidth'(Places - 1 - i);
      end
    end
  endfunction

  function automatic logic [Places-1:0] at_place(input logic [PlaceWidth-1:0] where);
    at_place = Places'(1) << where;
  endfunction

  function automatic logic [Functions-1:0] of_function(input logic [FunctionWidth-1:0] who);
    of_function = Functions'(1) << who;
  endfunction

  function automatic logic [Places-1:0] marked(
      input logic [Places-1:0] marks, input logic [PlaceWidth-1:0] where, input logic mark);
    marked = mark ? marks | at_place(where) : marks & ~at_place(where);
  endfunction

  // The steps. Those that join in this cycle are behind all others, in the order of the steps; what
  // is to know of them is in their steps, not in the places yet.
  // ------------------------------------------------------------------------------------------

  logic [Steps-1:0] outside_before, queued_before;
  logic late_outside_before, late_queued_before, return_outside_before, return_queued_before;
  logic [Steps-1:0] outside_done, queued_done, queues, changes;
  logic late_outside, late_queued, late_queues, return_outside, return_queued, return_queues;
  logic outside_waits, outside_busy;

  logic [Places-1:0] valid, settled;  // of those, that did not join in this cycle
  logic [Flags*Places-1:0] flags;
  logic [CountWidth-1:0] taken;
  logic [Functions-1:0] some;
  logic waits;
  logic [Steps-1:0] here;   // the QP of each step has a place, after it
  logic [Steps-1:0] fresh;  // it came into it in this step, and is there after all of them
  logic [Steps*PlaceWidth-1:0] place;

  always_comb begin
    logic [QpnWidth-1:0] number;
    logic [PlaceWidth-1:0] at;
    logic placed, outside, queued, lost;
    valid        = valid_q;
    settled      = valid_q;
    flags        = flags_q;
    taken        = taken_q;
    waits        = outside_waits;
    lost         = 1'b0;
    active_o     = '0;
    inside_o     = '0;
    queues       = '0;
    outside_done = '0;
    queued_done  = '0;
    here         = '0;
    fresh        = '0;
    place        = '0;
    for (int unsigned s = 0; s < Steps; s++) begin
      number  = qpn_i[s*QpnWidth+:QpnWidth];
      at      = place_mem[number];
      placed  = valid_q[at] && qpn_q[at] == number;
      outside = outside_before[s];
      queued  = queued_before[s];
      for (int unsigned k = 0; k < Steps; k++) begin
        if (k < s && qpn_i[k*QpnWidth+:QpnWidth] == number) begin
          at      = place[k*PlaceWidth+:PlaceWidth];
          placed  = here[k];
          outside = outside_done[k];
          queued  = queued_done[k];
        end
      end
      active_o[s] = placed || outside;
      if (erase_i[s]) begin
        if (placed) begin
          valid   = valid & ~at_place(at);
          settled = settled & ~at_place(at);
          taken   = taken - 1'b1;
          lost    = 1'b1;
          for (int unsigned k = 0; k < Steps; k++) begin
            if (k < s && place[k*PlaceWidth+:PlaceWidth] == at) begin
              fresh[k] = 1'b0;
            end
          end
        end
        placed  = 1'b0;
        outside = 1'b0;
      end
      if (push_i[s] && !placed && !outside) begin
        if (taken != CountWidth'(Places) && !waits) begin
          at          = first_free(valid);
          valid       = valid | at_place(at);
          taken       = taken + 1'b1;
          placed      = 1'b1;
          inside_o[s] = 1'b1;
          fresh[s]    = 1'b1;
        end else begin
          queues[s] = !queued;
          outside   = 1'b1;
          queued    = 1'b1;
          waits     = 1'b1;
        end
      end
      if (update_i[s] && placed) begin
        for (int unsigned b = 0; b < Flags; b++) begin
          flags[b*Places+:Places] =
              marked(flags[b*Places+:Places], at, flags_i[s*Flags+b]);
        end
      end
      here[s] = placed;
      place[s*PlaceWidth+:PlaceWidth] = at;
      outside_done[s] = outside;
      queued_done[s]  = queued;
    end
    some = some_q;
    if (lost) begin
      some = '0;
      for (int unsigned g = 0; g < Places; g += Group) begin
        if (settled[g+:Group] != '0) begin
          for (int unsigned i = 0; i < Group; i++) begin
            if (settled[g+i]) begin
              some = some | of_function(owner_q[g+i]);
            end
          end
        end
      end
    end
    for (int unsigned s = 0; s < Steps; s++) begin
      if (fresh[s]) begin
        some = some | of_function(function_i[s*FunctionWidth+:FunctionWidth]);
      end
    end
  end
  assign changes = erase_i | push_i;
  assign valid_o = valid;
  assign flags_o = flags;
  assign waiting_o = some;

  // Where the QP stands whose work request is not complete.
  always_comb begin
    logic placed;
    logic [SlotWidth-1:0] first;
    stalled_o = place_mem[arriving_qpn_i];
    placed    = valid_q[stalled_o] && qpn_q[stalled_o] == arriving_qpn_i;
    first     = head_q[stalled_o];
    for (int unsigned s = 0; s < Steps; s++) begin
      if (qpn_i[s*QpnWidth+:QpnWidth] == arriving_qpn_i) begin
        stalled_o = place[s*PlaceWidth+:PlaceWidth];
        placed    = here[s];
        if (update_i[s]) begin
          first = head_i[s*SlotWidth+:SlotWidth];
        end
      end
    end
    stalls_o = arriving_i && placed && first == arriving_slot_i;
  end

  // The choice
  // ------------------------------------------------------------------------------------------

  logic [Places-1:0] settled_grants;
  logic [Steps-1:0] fresh_grants;
  assign settled_grants = grants_i & settled;
  always_comb begin
    for (int unsigned s = 0; s < Steps; s++) begin
      fresh_grants[s] = fresh[s] && grants_i[place[s*PlaceWidth+:PlaceWidth]];
    end
  end
  always_comb begin
    can_o = '0;
    for (int unsigned g = 0; g < Places; g += Group) begin
      if (settled_grants[g+:Group] != '0) begin
        for (int unsigned i = 0; i < Group; i++) begin
          if (settled_grants[g+i]) begin
            can_o = can_o | of_function(owner_q[g+i]);
          end
        end
      end
    end
    for (int unsigned s = 0; s < Steps; s++) begin
      if (fresh_grants[s]) begin
        can_o = can_o | of_function(function_i[s*FunctionWidth+:FunctionWidth]);
      end
    end
  end

  logic [PlaceWidth-1:0] chosen;
  logic [StampWidth-1:0] chosen_stamp;
  logic chosen_settled;
  logic [Steps-1:0] before_chosen;  // steps that joined before the chosen one, if it is fresh
  always_comb begin
    chosen_settled = 1'b0;
    chosen_stamp   = '0;
    chosen         = '0;
    for (int unsigned g = 0; g < Places; g += Group) begin
      if (choose_i && settled_grants[g+:Group] != '0) begin
        for (int unsigned i = 0; i < Group; i++) begin
          if (settled_grants[g+i] && owner_q[g+i] == sender_i &&
              (!chosen_settled || stamp_q[g+i] < chosen_stamp)) begin
            chosen_settled = 1'b1;
            chosen         = PlaceWidth'(g + i);
            chosen_stamp   = stamp_q[g+i];
          end
        end
      end
    end
    chosen_o      = chosen_settled;
    chosen_qpn_o  = qpn_q[chosen];
    before_chosen = '0;
    for (int unsigned s = 0; s < Steps; s++) begin
      if (choose_i && !chosen_o && fresh_grants[s] &&
          function_i[s*FunctionWidth+:FunctionWidth] == sender_i) begin
        chosen_o      = 1'b1;
        chosen        = place[s*PlaceWidth+:PlaceWidth];
        chosen_qpn_o  = qpn_i[s*QpnWidth+:QpnWidth];
        before_chosen = (Steps'(1) << s) - 1'b1;
      end
    end
  end

  // Who leaves, the one that comes late, and the one that waits longest outside.
  logic [Places-1:0] valid_next;
  logic [Flags*Places-1:0] flags_next;
  logic [CountWidth-1:0] taken_next;
  logic [Functions-1:0] some_next;
  logic [PlaceWidth-1:0] late_place, admit_place;
  logic leaves, pops, waits_late;
  assign leaves = chosen_o && !stays_i;
  logic [Places-1:0] valid_left;
  logic [CountWidth-1:0] taken_left;
  always_comb begin
    logic [PlaceWidth-1:0] at;
    logic [FunctionWidth-1:0] whose;
    logic [SlotWidth-1:0] held;
    at             = '0;
    whose          = '0;
    held           = '0;
    valid_left     = valid;
    taken_left     = taken;
    parked_works_o = '0;
    if (parks_i != '0) begin
      for (int unsigned i = 0; i < Places; i++) begin
        if (parks_i[i] && settled[i] &&
            (visited_i[owner_q[i]] || (chosen_o && owner_q[i] == sender_i &&
                                       (!chosen_settled || stamp_q[i] < chosen_stamp)))) begin
          held = works_q[i];
          for (int unsigned s = 0; s < Steps; s++) begin
            if (update_i[s] && here[s] && place[s*PlaceWidth+:PlaceWidth] == PlaceWidth'(i)) begin
              held = works_i[s*SlotWidth+:SlotWidth];
            end
          end
          valid_left[i]  = 1'b0;
          taken_left     = taken_left - 1'b1;
          parked_works_o = parked_works_o + 18'(held);
        end
      end
      for (int unsigned s = 0; s < Steps; s++) begin
        at    = place[s*PlaceWidth+:PlaceWidth];
        whose = function_i[s*FunctionWidth+:FunctionWidth];
        if (fresh[s] && parks_i[at] &&
            (visited_i[whose] || (whose == sender_i && before_chosen[s]))) begin
          held = works_q[at];
          for (int unsigned k = 0; k < Steps; k++) begin
            if (update_i[k] && here[k] && place[k*PlaceWidth+:PlaceWidth] == at) begin
              held = works_i[k*SlotWidth+:SlotWidth];
            end
          end
          valid_left     = valid_left & ~at_place(at);
          taken_left     = taken_left - 1'b1;
          parked_works_o = parked_works_o + 18'(held);
        end
      end
    end
    if (leaves) begin
      valid_left = valid_left & ~at_place(chosen);
      taken_left = taken_left - 1'b1;
    end
    some_next = some;
    if (leaves || parks_i != '0) begin
      some_next = '0;
      for (int unsigned g = 0; g < Places; g += Group) begin
        if ((settled[g+:Group] & valid_left[g+:Group]) != '0) begin
          for (int unsigned i = 0; i < Group; i++) begin
            if (settled[g+i] && valid_left[g+i]) begin
              some_next = some_next | of_function(owner_q[g+i]);
            end
          end
        end
      end
      for (int unsigned s = 0; s < Steps; s++) begin
        if (fresh[s] && valid_left[place[s*PlaceWidth+:PlaceWidth]]) begin
          some_next = some_next | of_function(function_i[s*FunctionWidth+:FunctionWidth]);
        end
      end
    end
  end
  assign after_o = some_next;

  always_comb begin
    logic [PlaceWidth-1:0] at;
    logic placed, outside, queued, returned;
    valid_next = valid_left;
    taken_next = taken_left;
    at             = place_mem[return_qpn_i];
    returned       = valid_q[at] && qpn_q[at] == return_qpn_i;
    return_outside = return_outside_before;
    return_queued  = return_queued_before;
    for (int unsigned s = 0; s < Steps; s++) begin
      if (qpn_i[s*QpnWidth+:QpnWidth] == return_qpn_i) begin
        at             = place[s*PlaceWidth+:PlaceWidth];
        returned       = here[s];
        return_outside = outside_done[s];
        return_queued  = queued_done[s];
      end
    end
    returned = returned && valid_next[at];

    at      = place_mem[late_qpn_i];
    placed  = valid_q[at] && qpn_q[at] == late_qpn_i;
    outside = late_outside_before;
    queued  = late_queued_before;
    for (int unsigned s = 0; s < Steps; s++) begin
      if (qpn_i[s*QpnWidth+:QpnWidth] == late_qpn_i) begin
        at      = place[s*PlaceWidth+:PlaceWidth];
        placed  = here[s];
        outside = outside_done[s];
        queued  = queued_done[s];
      end
    end
    placed        = placed && valid_next[at];
    late_inside_o = 1'b0;
    late_queues   = 1'b0;
    waits_late    = waits;
    late_place    = '0;
    if (late_push_i && !placed && !outside) begin
      if (taken_next != CountWidth'(Places) && !waits) begin
        late_place    = first_free(valid_next);
        valid_next    = valid_next | at_place(late_place);
        taken_next    = taken_next + 1'b1;
        late_inside_o = 1'b1;
      end else begin
        late_queues = !queued;
        outside     = 1'b1;
        queued      = 1'b1;
        waits_late  = 1'b1;
      end
    end
    late_outside = outside;
    late_queued  = queued;

    if (late_push_i && late_qpn_i == return_qpn_i) begin
      returned       = returned || late_inside_o;
      return_outside = outside;
      return_queued  = queued;
    end
    return_joins_o = return_push_i && !returned && !return_outside;
    return_queues  = return_joins_o && !return_queued;
    if (return_joins_o) begin
      return_outside = 1'b1;
      return_queued  = 1'b1;
      waits_late     = 1'b1;
    end

    pops        = waits_late && taken_next != CountWidth'(Places);
    admit_place = '0;
    if (pops) begin
      admit_place = first_free(valid_next);
    end
  end

  tx_sched_outside #(
      .Early(Steps),
      .Late(2),
      .FunctionWidth(FunctionWidth)
  ) i_outside (
      .clk_i,
      .rst_ni,
      .early_qpn_i(qpn_i),
      .early_outside_o(outside_before),
      .early_queued_o(queued_before),
      .late_qpn_i({return_qpn_i, late_qpn_i}),
      .late_outside_o({return_outside_before, late_outside_before}),
      .late_queued_o({return_queued_before, late_queued_before}),
      .change_i({return_push_i, late_push_i, changes}),
      .outside_i({return_outside, late_outside, outside_done}),
      .queued_i({return_queued, late_queued, queued_done}),
      .queue_i({return_queues, late_queues, queues}),
      .push_i({return_joins_o, late_push_i, push_i}),
      .function_i({return_function_i, late_function_i, function_i}),
      .waits_o(outside_waits),
      .pop_i(pops),
      .admit_o,
      .qpn_o(admit_qpn_o),
      .function_o(admit_function_o),
      .busy_o(outside_busy)
  );

  // What is left
  // ------------------------------------------------------------------------------------------

  always_comb begin
    flags_next = flags;
    for (int unsigned b = 0; b < Flags; b++) begin
      if (chosen_o) begin
        flags_next[b*Places+:Places] =
            marked(flags_next[b*Places+:Places], chosen, chosen_flags_i[b]);
      end
      if (late_inside_o) begin
        flags_next[b*Places+:Places] =
            marked(flags_next[b*Places+:Places], late_place, late_flags_i[b]);
      end
      if (admit_o) begin
        flags_next[b*Places+:Places] =
            marked(flags_next[b*Places+:Places], admit_place, admit_flags_i[b]);
      end
    end
  end

  assign busy_o = taken_q != '0 || outside_busy;
  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < Steps; s++) begin
      if (inside_o[s]) begin
        place_mem[qpn_i[s*QpnWidth+:QpnWidth]] <= place[s*PlaceWidth+:PlaceWidth];
        qpn_q[place[s*PlaceWidth+:PlaceWidth]] <= qpn_i[s*QpnWidth+:QpnWidth];
        owner_q[place[s*PlaceWidth+:PlaceWidth]] <= function_i[s*FunctionWidth+:FunctionWidth];
        stamp_q[place[s*PlaceWidth+:PlaceWidth]] <= {order, 3'(s)};
      end
      if (update_i[s] && here[s]) begin
        head_q[place[s*PlaceWidth+:PlaceWidth]]  <= head_i[s*SlotWidth+:SlotWidth];
        works_q[place[s*PlaceWidth+:PlaceWidth]] <= works_i[s*SlotWidth+:SlotWidth];
      end
    end
    if (chosen_o) begin
      head_q[chosen]  <= chosen_head_i;
      works_q[chosen] <= chosen_works_i;
      if (back_i) begin
        stamp_q[chosen] <= {order, Back};
      end
    end
    if (late_inside_o) begin
      place_mem[late_qpn_i] <= late_place;
      qpn_q[late_place]     <= late_qpn_i;
      owner_q[late_place]   <= late_function_i;
      stamp_q[late_place]   <= {order, Late};
    end
    if (admit_o) begin
      place_mem[admit_qpn_o] <= admit_place;
      qpn_q[admit_place]     <= admit_qpn_o;
      owner_q[admit_place]   <= admit_function_o;
      stamp_q[admit_place]   <= {order, Admitted};
      head_q[admit_place]    <= admit_head_i;
      works_q[admit_place]   <= admit_works_i;
    end
  end

  logic [Functions-1:0] some_all;
  always_comb begin
    some_all = some_next;
    if (late_inside_o) begin
      some_all = some_all | of_function(late_function_i);
    end
    if (admit_o) begin
      some_all = some_all | of_function(admit_function_o);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      flags_q <= '0;
      taken_q <= '0;
      some_q  <= '0;
      order_q <= '0;
    end else begin
      valid_q <= valid_next | (admit_o ? Places'(1) << admit_place : '0);
      flags_q <= flags_next;
      taken_q <= taken_next + CountWidth'(admit_o);
      some_q  <= some_all;
      if (busy_o || inside_o != '0 || late_inside_o || admit_o) begin
        order_q <= order + 1'b1;
      end
    end
  end

  `CARILLON_ASSERT(!chosen_o || valid[chosen])

endmodule
