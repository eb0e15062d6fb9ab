// Which function sends next: rounds of quanta in bytes of the wire, an urgency of its own each, and
// rates. The model's sched_functions, cycle by cycle.
//
// In a cycle, each seeing what the one before did: the virtual ports change; functions get
// something to send, for five reasons in turn; those that have lost what they had leave; those come
// back whose rate lets them; rounds begin; one function sends, out of turn or in its turn;
// functions get something to send, for three more reasons.
//
// Functions in line have stamps in the order in which they joined. A stamp is the number of the
// cycle, of those in which somebody was in line since nobody was, and some bits for the order
// within it; 55 bits of cycles do not wrap.
`include "assertions.svh"

module tx_sched_functions #(
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned ShareWidth    = streams_pkg::VportShareWidth,
    localparam int unsigned BalanceWidth  = 32
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic [ShareWidth*Functions-1:0] shares_i,   // the virtual ports - pcie_endpoint
    input  logic [                    13:0] largest_i,  // bytes of the largest packet - settings
    output logic                            alone_o,    // nobody shares the wire - top

    input logic [    Functions-1:0] before_i,     // who has something to send, at first - turns
    input logic [              4:0] enter_i,      // a function gets something, in this order - top
    input logic [5*FunctionWidth-1:0] entering_i, // which - top
    input logic [    Functions-1:0] waiting_i,    // who has something to send by now - turns

    input  logic [    Functions-1:0] can_i,       // who can send - turns
    output logic [    Functions-1:0] visited_o,   // whose turn it was in vain - turns
    output logic                     any_o,       // somebody sends in his turn - turns
    output logic [FunctionWidth-1:0] sender_o,    // who - turns
    input logic out_of_turn_i,  // an acknowledge is sent: nobody has a turn - top
    input  logic [FunctionWidth-1:0] answerer_i,  // ... by whom - top
    input  logic [             15:0] bytes_i,     // bytes on the wire of what is sent, or 0 - cost
    output logic [    Functions-1:0] charged_o,   // of whom they matter - top
    input  logic [    Functions-1:0] after_i,     // who has still something to send - turns

    input logic [                2:0] late_i,      // a function gets something, in this order - top
    input logic [3*FunctionWidth-1:0] late_function_i, // which - top

    output logic busy_o  // rates fill up, or somebody waits for his - top
);

  localparam int unsigned StampWidth = 64;
  localparam int unsigned TurnWidth = $clog2(2 * Functions + 9);
  localparam int unsigned OrderWidth = StampWidth - TurnWidth;
  // Within a cycle: by number when the ports change, five singly, by number when rates let them in,
  // the one that has sent, three singly.
  localparam logic [TurnWidth-1:0] Single = TurnWidth'(Functions);
  localparam logic [TurnWidth-1:0] Opened = Single + TurnWidth'(5);
  localparam logic [TurnWidth-1:0] Sent = Opened + TurnWidth'(Functions);

  // The virtual ports
  // ------------------------------------------------------------------------------------------

  // Those of the cycle before; what follows from them is stored too.
  logic [ShareWidth*Functions-1:0] shares_q;
  logic [Functions-1:0] enabled, limited, enabled_q, limited_q;
  logic changed, rearranged;
  assign changed = !rst_ni || shares_i != shares_q;

  streams_pkg::vport_share_t port, old_port;
  always_comb begin
    rearranged = 1'b0;
    enabled    = enabled_q;
    limited    = limited_q;
    port       = '0;
    old_port   = '0;
    if (changed) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        port       = shares_i[i*ShareWidth+:ShareWidth];
        old_port   = shares_q[i*ShareWidth+:ShareWidth];
        rearranged = rearranged || port.urgency != old_port.urgency;
        enabled[i] = port.enabled;
        limited[i] = port.refill != '0;
      end
    end
  end
  // One enabled at most.
  assign alone_o = (enabled & (enabled - Functions'(1))) == '0;
  assign charged_o = limited | {Functions{!alone_o}};

  logic [Functions-1:0] listed_q, due_q, throttled_q, had_q;
  (* mem2reg *) logic signed [BalanceWidth-1:0] balance_q[Functions];
  (* mem2reg *) logic [StampWidth-1:0] stamp_q[Functions];
  logic [OrderWidth-1:0] order_q, order;
  assign order = listed_q != '0 ? order_q : '0;

  // What is left of its quantum of a function that joins: it gets that of the round once, and
  // nothing is saved up.
  function automatic logic signed [BalanceWidth-1:0] topped_up(
      input logic had, input logic signed [BalanceWidth-1:0] balance,
      input logic signed [BalanceWidth-1:0] share);
    topped_up = had ? balance : balance > 0 ? share : balance + share;
  endfunction

  // A quantum of so many largest packets.
  function automatic logic signed [BalanceWidth-1:0] quantum_of(input logic [15:0] weight,
                                                                input logic [13:0] largest);
    quantum_of = BalanceWidth'(weight) * BalanceWidth'(largest);
  endfunction

  // What was left at first: other ports take what goes beyond, other urgencies all.
  function automatic logic signed [BalanceWidth-1:0] cut_back(
      input logic change, input logic rearrange, input logic signed [BalanceWidth-1:0] balance,
      input logic signed [BalanceWidth-1:0] share);
    cut_back = balance;
    if (change && (rearrange ? balance > 0 : balance > share)) begin
      cut_back = rearrange ? '0 : share;
    end
  endfunction

  // What is left before the turn.
  function automatic logic signed [BalanceWidth-1:0] left_before(
      input logic joins, input logic had, input logic change, input logic rearrange,
      input logic signed [BalanceWidth-1:0] balance, input logic signed [BalanceWidth-1:0] share);
    left_before = topped_up(!joins || had, cut_back(change, rearrange, balance, share), share);
  endfunction

  // Who gets something to send, and the rounds
  // ------------------------------------------------------------------------------------------

  // A function joins once at most in these steps: by number when the ports change, singly, or by
  // number when its rate lets it.
  logic [Functions-1:0] open, open_after;
  logic [Functions-1:0] listed, throttled, had_before, numbered, opened, joined;
  always_comb begin
    logic [Functions-1:0] again, one;
    logic [FunctionWidth-1:0] who;
    again      = '0;
    one        = '0;
    who        = '0;
    numbered   = '0;
    listed   = listed_q;
    throttled  = throttled_q;
    had_before = had_q;
    if (changed) begin
      again      = throttled_q | (rearranged ? listed_q : '0);
      numbered   = again & before_i & open;
      listed   = (listed_q & ~again) | numbered;
      throttled  = again & before_i & ~open;
      had_before = rearranged ? '0 : had_q;
    end
    joined = numbered;
    for (int unsigned s = 0; s < 5; s++) begin
      if (enter_i[s]) begin
        who = entering_i[s*FunctionWidth+:FunctionWidth];
        if (!listed[who] && !throttled[who]) begin
          one = Functions'(1) << who;
          if (open[who]) begin
            listed = listed | one;
            joined   = joined | one;
          end else begin
            throttled = throttled | one;
          end
        end
      end
    end
    // Those leave that have lost what they had; those come back whose rate lets them.
    opened    = throttled & open;
    throttled = throttled & ~opened;
    opened    = opened & waiting_i;
    listed  = (listed & waiting_i) | opened;
    joined    = joined | opened;
  end

  // What they have then.
  logic [Functions-1:0] has_joined;  // of those that join: something is left
  streams_pkg::vport_share_t joining;
  always_comb begin
    logic signed [BalanceWidth-1:0] share;
    has_joined = '0;
    joining    = '0;
    share      = '0;
    if (joined != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (joined[i]) begin
          joining       = shares_i[i*ShareWidth+:ShareWidth];
          share         = quantum_of(joining.weight, largest_i);
          has_joined[i] = left_before(1'b1, had_before[i], changed, rearranged, balance_q[i],
                                      share) > 0;
        end
      end
    end
  end

  // A round of each urgency begins of which nobody has anything left.
  streams_pkg::vport_share_t spent_port, other_port;
  logic [Functions-1:0] due, had, due_first, begins;
  assign due_first = (due_q & ~joined) | has_joined;
  always_comb begin
    logic [Functions-1:0] same;
    begins     = '0;
    same       = '0;
    spent_port = '0;
    other_port = '0;
    if ((listed & ~due_first) != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (listed[i] && !due_first[i]) begin
          spent_port = shares_i[i*ShareWidth+:ShareWidth];
          for (int unsigned j = 0; j < Functions; j++) begin
            other_port = shares_i[j*ShareWidth+:ShareWidth];
            same[j]    = other_port.urgency == spent_port.urgency;
          end
          if ((same & listed & due_first) == '0) begin
            begins = begins | same;
          end
        end
      end
    end
  end
  assign due = due_first | (begins & listed);
  assign had = (had_before | joined) & ~begins;

  // The turn
  // ------------------------------------------------------------------------------------------

  // The places of those that have joined in this cycle, behind all that were there.
  logic [TurnWidth-1:0] place[Functions];
  always_comb begin
    for (int unsigned i = 0; i < Functions; i++) begin
      place[i] = '0;
    end
    if (joined != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (joined[i]) begin
          for (int unsigned s = 5; s > 0; s--) begin
            if (enter_i[s-1] &&
                entering_i[(s-1)*FunctionWidth+:FunctionWidth] == FunctionWidth'(i)) begin
              place[i] = Single + TurnWidth'(s - 1);
            end
          end
          if (opened[i]) begin
            place[i] = Opened + TurnWidth'(i);
          end
          if (numbered[i]) begin
            place[i] = TurnWidth'(i);
          end
        end
      end
    end
  end

  logic [Functions-1:0] able;
  streams_pkg::vport_share_t able_port, first_port, visited_port;
  logic [StampWidth-1:0] first_stamp;
  logic first_due, found;
  assign able = listed & can_i;
  // Who can send and is before all others that can.
  always_comb begin
    logic [StampWidth-1:0] stamp;
    found       = 1'b0;
    sender_o    = '0;
    first_port  = '0;
    first_due   = 1'b0;
    first_stamp = '0;
    able_port   = '0;
    stamp       = '0;
    if (able != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (able[i]) begin
          able_port = shares_i[i*ShareWidth+:ShareWidth];
          stamp     = joined[i] ? {order, place[i]} : stamp_q[i];
          if (!found || able_port.urgency > first_port.urgency ||
              (able_port.urgency == first_port.urgency &&
               (due[i] != first_due ? due[i] : stamp < first_stamp))) begin
            found       = 1'b1;
            sender_o    = FunctionWidth'(i);
            first_port  = able_port;
            first_due   = due[i];
            first_stamp = stamp;
          end
        end
      end
    end
  end
  assign any_o = found && !out_of_turn_i;
  // Those that cannot, and are before it.
  always_comb begin
    logic [StampWidth-1:0] stamp;
    visited_o    = out_of_turn_i ? '0 : listed & ~can_i;
    visited_port = '0;
    stamp        = '0;
    if (visited_o != '0 && found) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (visited_o[i]) begin
          visited_port = shares_i[i*ShareWidth+:ShareWidth];
          stamp        = joined[i] ? {order, place[i]} : stamp_q[i];
          if (visited_port.urgency < first_port.urgency ||
              (visited_port.urgency == first_port.urgency &&
               (due[i] != first_due ? first_due : stamp > first_stamp))) begin
            visited_o[i] = 1'b0;
          end
        end
      end
    end
  end

  logic filling;
  tx_sched_buckets #(
      .Functions(Functions)
  ) i_buckets (
      .clk_i,
      .rst_ni,
      .largest_i,
      .shares_i,
      .limited_i(limited),
      .open_o(open),
      .charge_i(any_o || out_of_turn_i),
      .charge_function_i(out_of_turn_i ? answerer_i : sender_o),
      .charge_bytes_i(bytes_i),
      .open_after_o(open_after),
      .busy_o(filling)
  );

  // Who has sent goes to the end of a line, or waits for his rate; whoever has nothing leaves. Then
  // those that come late.
  logic [Functions-1:0] listed_next, due_next, throttled_next, had_next, sends;
  logic signed [BalanceWidth-1:0] left;
  streams_pkg::vport_share_t sender_port;
  always_comb begin
    logic signed [BalanceWidth-1:0] share;
    sends       = '0;
    left        = '0;
    share       = '0;
    sender_port = '0;
    if (any_o) begin
      sends       = Functions'(1) << sender_o;
      sender_port = shares_i[sender_o*ShareWidth+:ShareWidth];
      share       = quantum_of(sender_port.weight, largest_i);
      left        = left_before(joined[sender_o], had_before[sender_o], changed, rearranged,
                                balance_q[sender_o], share);
      left        = topped_up(had[sender_o], left, share);
      // Whoever has nothing left begins a round of its own.
      left        = topped_up(due[sender_o], left, share);
      left        = left - $signed({{(BalanceWidth - 16) {1'b0}}, bytes_i});
    end
  end

  logic [2:0] late_joins;
  logic signed [BalanceWidth-1:0] late_balance[3];
  streams_pkg::vport_share_t late_port;
  always_comb begin
    logic signed [BalanceWidth-1:0] share;
    logic [FunctionWidth-1:0] who;
    logic [Functions-1:0] one;
    share          = '0;
    who            = '0;
    one            = '0;
    late_port      = '0;
    late_joins     = '0;
    due_next       = due & ~sends;
    throttled_next = throttled;
    had_next       = had | sends;
    listed_next    = listed & ~(visited_o & ~after_i);
    if (any_o) begin
      if (left > 0) begin
        due_next = due_next | sends;
      end
      if (!open_after[sender_o]) begin
        throttled_next = throttled | sends;
        listed_next    = listed_next & ~sends;
      end else begin
        throttled_next = throttled & ~sends;
        listed_next    = after_i[sender_o] ? listed_next | sends : listed_next & ~sends;
      end
    end
    if (out_of_turn_i && limited[answerer_i] && listed[answerer_i] &&
        !open_after[answerer_i]) begin
      one            = Functions'(1) << answerer_i;
      listed_next    = listed_next & ~one;
      throttled_next = throttled_next | one;
    end
    for (int unsigned s = 0; s < 3; s++) begin
      late_balance[s] = '0;
      if (late_i[s]) begin
        who = late_function_i[s*FunctionWidth+:FunctionWidth];
        if (!listed_next[who] && !throttled_next[who]) begin
          one = Functions'(1) << who;
          if (open_after[who]) begin
            late_port = shares_i[who*ShareWidth+:ShareWidth];
            share     = quantum_of(late_port.weight, largest_i);
            late_balance[s] = sends[who] ? left : left_before(
                joined[who], had_before[who], changed, rearranged, balance_q[who], share);
            late_balance[s] = topped_up(had_next[who], late_balance[s], share);
            late_joins[s]   = 1'b1;
            listed_next     = listed_next | one;
            had_next        = had_next | one;
            due_next        = late_balance[s] > 0 ? due_next | one : due_next & ~one;
          end else begin
            throttled_next = throttled_next | one;
          end
        end
      end
    end
  end

  // What is stored anew: of those that join or send, of all when the ports change.
  logic [Functions-1:0] writes, stamps;
  logic signed [BalanceWidth-1:0] balance_next[Functions];
  logic [StampWidth-1:0] stamp_next[Functions];
  streams_pkg::vport_share_t written_port;
  always_comb begin
    logic signed [BalanceWidth-1:0] share;
    share        = '0;
    written_port = '0;
    stamps       = joined | sends;
    for (int unsigned s = 0; s < 3; s++) begin
      if (late_joins[s]) begin
        stamps = stamps | (Functions'(1) << late_function_i[s*FunctionWidth+:FunctionWidth]);
      end
    end
    writes = changed ? '1 : stamps;
    for (int unsigned i = 0; i < Functions; i++) begin
      balance_next[i] = '0;
      stamp_next[i]   = '0;
    end
    if (writes != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (writes[i]) begin
          if (sends[i]) begin
            balance_next[i] = left;
            stamp_next[i]   = {order, Sent};
          end else begin
            written_port    = shares_i[i*ShareWidth+:ShareWidth];
            share           = quantum_of(written_port.weight, largest_i);
            balance_next[i] = left_before(joined[i], had_before[i], changed, rearranged,
                                          balance_q[i], share);
            stamp_next[i]   = {order, place[i]};
          end
          for (int unsigned s = 0; s < 3; s++) begin
            if (late_joins[s] &&
                late_function_i[s*FunctionWidth+:FunctionWidth] == FunctionWidth'(i)) begin
              balance_next[i] = late_balance[s];
              stamp_next[i]   = {order, Sent + TurnWidth'(s + 1)};
            end
          end
        end
      end
    end
  end

  assign busy_o = changed || filling || throttled_q != '0;

  for (genvar i = 0; i < Functions; i++) begin : gen_function
    always_ff @(posedge clk_i) begin
      if (writes[i]) begin
        balance_q[i] <= rst_ni ? balance_next[i] : '0;
      end
      if (stamps[i]) begin
        stamp_q[i] <= stamp_next[i];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    shares_q  <= shares_i;
    enabled_q <= enabled;
    limited_q <= limited;
    if (!rst_ni) begin
      listed_q    <= '0;
      due_q       <= '0;
      throttled_q <= '0;
      had_q       <= '0;
      order_q     <= '0;
    end else begin
      listed_q    <= listed_next;
      due_q       <= due_next;
      throttled_q <= throttled_next;
      had_q       <= had_next;
      if (listed_q != '0 || listed_next != '0) begin
        order_q <= order + 1'b1;
      end
    end
  end

  `CARILLON_ASSERT((listed_q & throttled_q) == '0)

endmodule
