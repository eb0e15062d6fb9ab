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

  localparam int unsigned UrgencyWidth = 8;
  localparam int unsigned Urgencies = 2 ** UrgencyWidth;
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

  logic [ShareWidth*Functions-1:0] shares_q;
  logic signed [BalanceWidth-1:0] quantum[Functions];
  logic signed [BalanceWidth-1:0] quantum_q[Functions];
  logic [UrgencyWidth-1:0] urgency[Functions];
  logic [UrgencyWidth-1:0] urgency_q[Functions];
  logic [Functions-1:0] enabled, limited, enabled_q, limited_q;
  logic changed, rearranged;
  assign changed = !rst_ni || shares_i != shares_q;

  streams_pkg::vport_share_t port;
  always_comb begin
    rearranged = 1'b0;
    enabled    = enabled_q;
    limited    = limited_q;
    port       = '0;
    for (int unsigned i = 0; i < Functions; i++) begin
      quantum[i] = quantum_q[i];
      urgency[i] = urgency_q[i];
    end
    if (changed) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        port       = shares_i[i*ShareWidth+:ShareWidth];
        rearranged = rearranged || port.urgency != urgency_q[i];
        enabled[i] = port.enabled;
        limited[i] = port.refill != '0;
        urgency[i] = port.urgency;
        quantum[i] = BalanceWidth'(port.weight) * BalanceWidth'(largest_i);
      end
    end
  end
  // One enabled at most.
  assign alone_o = (enabled & (enabled - Functions'(1))) == '0;
  assign charged_o = limited | {Functions{!alone_o}};

  logic [Functions-1:0] listed_q, due_q, throttled_q, had_q;
  logic signed [BalanceWidth-1:0] balance_q[Functions];
  logic [StampWidth-1:0] stamp_q[Functions];
  logic [OrderWidth-1:0] order_q, order;
  assign order = listed_q != '0 ? order_q : '0;

  // What is left of its quantum of a function that joins: it gets that of the round once, and
  // nothing is saved up.
  function automatic logic signed [BalanceWidth-1:0] topped_up(
      input logic had, input logic signed [BalanceWidth-1:0] balance,
      input logic signed [BalanceWidth-1:0] share);
    topped_up = had ? balance : balance > 0 ? share : balance + share;
  endfunction

  // Who gets something to send, and the rounds
  // ------------------------------------------------------------------------------------------

  logic [Functions-1:0] open, open_after;
  logic [Functions-1:0] listed, due, throttled, had;
  logic signed [BalanceWidth-1:0] balance[Functions];
  logic [StampWidth-1:0] stamp[Functions];

  always_comb begin
    logic [Functions-1:0] again, opened;
    logic [Urgencies-1:0] has_due, has_spent;
    logic [FunctionWidth-1:0] who;
    again     = '0;
    has_due   = '0;
    has_spent = '0;
    listed    = listed_q;
    due       = due_q;
    throttled = throttled_q;
    had       = had_q;
    for (int unsigned i = 0; i < Functions; i++) begin
      balance[i] = balance_q[i];
      stamp[i]   = stamp_q[i];
    end
    if (changed) begin
      again     = throttled_q | (rearranged ? listed_q : '0);
      listed    = listed_q & ~again;
      throttled = '0;
      had       = rearranged ? '0 : had_q;
      for (int unsigned i = 0; i < Functions; i++) begin
        if (rearranged ? balance[i] > 0 : balance[i] > quantum[i]) begin
          balance[i] = rearranged ? '0 : quantum[i];
        end
        if (again[i] && before_i[i]) begin
          if (open[i]) begin
            balance[i] = topped_up(had[i], balance[i], quantum[i]);
            listed[i]  = 1'b1;
            had[i]     = 1'b1;
            due[i]     = balance[i] > 0;
            stamp[i]   = {order, TurnWidth'(i)};
          end else begin
            throttled[i] = 1'b1;
          end
        end
      end
    end
    for (int unsigned s = 0; s < 5; s++) begin
      who = entering_i[s*FunctionWidth+:FunctionWidth];
      if (enter_i[s] && !listed[who] && !throttled[who]) begin
        if (open[who]) begin
          balance[who] = topped_up(had[who], balance[who], quantum[who]);
          listed[who]  = 1'b1;
          had[who]     = 1'b1;
          due[who]     = balance[who] > 0;
          stamp[who]   = {order, Single + TurnWidth'(s)};
        end else begin
          throttled[who] = 1'b1;
        end
      end
    end
    // Those leave that have lost what they had; those come back whose rate lets them.
    listed    = listed & waiting_i;
    opened    = throttled & open;
    throttled = throttled & ~opened;
    opened    = opened & waiting_i;
    if (opened != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (opened[i]) begin
          balance[i] = topped_up(had[i], balance[i], quantum[i]);
          stamp[i]   = {order, Opened + TurnWidth'(i)};
          due[i]     = balance[i] > 0;
        end
      end
      listed = listed | opened;
      had    = had | opened;
    end
    // A round of each urgency begins of which nobody has anything left.
    if ((listed & ~due) != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (listed[i]) begin
          if (due[i]) begin
            has_due[urgency[i]] = 1'b1;
          end else begin
            has_spent[urgency[i]] = 1'b1;
          end
        end
      end
      for (int unsigned i = 0; i < Functions; i++) begin
        if (has_spent[urgency[i]] && !has_due[urgency[i]]) begin
          due[i] = due[i] || listed[i];
          had[i] = 1'b0;
        end
      end
    end
  end

  // The turn
  // ------------------------------------------------------------------------------------------

  logic [Functions-1:0] able;
  logic [UrgencyWidth-1:0] first_urgency;
  logic [StampWidth-1:0] first_stamp;
  logic first_due, found;
  assign able = listed & can_i;
  // Who can send and is before all others that can.
  always_comb begin
    found         = 1'b0;
    sender_o      = '0;
    first_urgency = '0;
    first_due     = 1'b0;
    first_stamp   = '0;
    if (able != '0) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (able[i] &&
            (!found || urgency[i] > first_urgency ||
             (urgency[i] == first_urgency &&
              (due[i] != first_due ? due[i] : stamp[i] < first_stamp)))) begin
          found         = 1'b1;
          sender_o      = FunctionWidth'(i);
          first_urgency = urgency[i];
          first_due     = due[i];
          first_stamp   = stamp[i];
        end
      end
    end
  end
  assign any_o = found && !out_of_turn_i;
  always_comb begin
    visited_o = out_of_turn_i ? '0 : listed & ~can_i;
    if (visited_o != '0 && found) begin
      for (int unsigned i = 0; i < Functions; i++) begin
        if (urgency[i] < first_urgency ||
            (urgency[i] == first_urgency &&
             (due[i] != first_due ? first_due : stamp[i] > first_stamp))) begin
          visited_o[i] = 1'b0;
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
      .changed_i(changed),
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
  logic [Functions-1:0] listed_next, due_next, throttled_next, had_next;
  logic signed [BalanceWidth-1:0] balance_next[Functions];
  logic [StampWidth-1:0] stamp_next[Functions];
  always_comb begin
    logic signed [BalanceWidth-1:0] left;
    logic [FunctionWidth-1:0] who;
    listed_next    = listed;
    due_next       = due;
    throttled_next = throttled;
    had_next       = had;
    for (int unsigned i = 0; i < Functions; i++) begin
      balance_next[i] = balance[i];
      stamp_next[i]   = stamp[i];
    end
    left = topped_up(had[sender_o], balance[sender_o], quantum[sender_o]);
    // Whoever has nothing left begins a round of its own.
    left = topped_up(due[sender_o], left, quantum[sender_o]);
    left = left - $signed({{(BalanceWidth - 16) {1'b0}}, bytes_i});
    listed_next = listed & ~(visited_o & ~after_i);
    if (any_o) begin
      had_next[sender_o]       = 1'b1;
      due_next[sender_o]       = left > 0;
      balance_next[sender_o]   = left;
      stamp_next[sender_o]     = {order, Sent};
      listed_next[sender_o]    = open_after[sender_o] && after_i[sender_o];
      throttled_next[sender_o] = !open_after[sender_o];
    end
    if (out_of_turn_i && limited[answerer_i] && listed[answerer_i] &&
        !open_after[answerer_i]) begin
      listed_next[answerer_i]    = 1'b0;
      throttled_next[answerer_i] = 1'b1;
    end
    for (int unsigned s = 0; s < 3; s++) begin
      who = late_function_i[s*FunctionWidth+:FunctionWidth];
      if (late_i[s] && !listed_next[who] && !throttled_next[who]) begin
        if (open_after[who]) begin
          balance_next[who] = topped_up(had_next[who], balance_next[who], quantum[who]);
          listed_next[who]  = 1'b1;
          had_next[who]     = 1'b1;
          due_next[who]     = balance_next[who] > 0;
          stamp_next[who]   = {order, Sent + TurnWidth'(s + 1)};
        end else begin
          throttled_next[who] = 1'b1;
        end
      end
    end
  end

  assign busy_o = changed || filling || throttled_q != '0;

  for (genvar i = 0; i < Functions; i++) begin : gen_function
    always_ff @(posedge clk_i) begin
      stamp_q[i]   <= stamp_next[i];
      urgency_q[i] <= urgency[i];
      quantum_q[i] <= quantum[i];
      balance_q[i] <= rst_ni ? balance_next[i] : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (changed) begin
      shares_q  <= shares_i;
      enabled_q <= enabled;
      limited_q <= limited;
    end
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
