// Which function sends next: rounds of quanta in bytes of the wire, an urgency of its own each, and
// rates. The model's sched_functions, cycle by cycle.
//
// In a cycle, each seeing what the one before did: the virtual ports change; functions get
// something to send, for five reasons in turn; those that have lost what they had leave; those come
// back whose rate lets them; rounds begin; one function sends, out of turn or in its turn;
// functions get something to send, for three more reasons.
`include "assertions.svh"

module tx_sched_functions #(
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned ShareWidth    = streams_pkg::VportShareWidth,
    localparam int unsigned BalanceWidth  = 32,
    localparam int unsigned RefillWidth   = 48
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

  // The virtual ports
  // ------------------------------------------------------------------------------------------

  logic [ShareWidth*Functions-1:0] shares_q;
  logic [RefillWidth*Functions-1:0] refill;
  logic [BalanceWidth*Functions-1:0] quantum;
  logic [Functions*Functions-1:0] mates, higher;
  logic [Functions-1:0] enabled, limited;
  logic [8*Functions-1:0] urgency;
  logic changed, rearranged;
  assign changed = shares_i != shares_q;

  streams_pkg::vport_share_t port_now, port_before;
  always_comb begin
    rearranged = 1'b0;
    for (int unsigned i = 0; i < Functions; i++) begin
      port_now = shares_i[i*ShareWidth+:ShareWidth];
      port_before = shares_q[i*ShareWidth+:ShareWidth];
      rearranged = rearranged || port_now.urgency != port_before.urgency;
      enabled[i] = port_now.enabled;
      limited[i] = port_now.refill != '0;
      urgency[i*8+:8] = port_now.urgency;
      refill[i*RefillWidth+:RefillWidth] = port_now.refill;
      quantum[i*BalanceWidth+:BalanceWidth] =
          BalanceWidth'(port_now.weight) * BalanceWidth'(largest_i);
    end
  end
  always_comb begin
    logic [Functions-1:0] alike, above;
    for (int unsigned i = 0; i < Functions; i++) begin
      for (int unsigned j = 0; j < Functions; j++) begin
        alike[j] = urgency[i*8+:8] == urgency[j*8+:8];
        above[j] = urgency[j*8+:8] > urgency[i*8+:8];
      end
      mates[i*Functions+:Functions]  = alike;
      higher[i*Functions+:Functions] = above;
    end
  end
  // One enabled at most.
  assign alone_o = (enabled & (enabled - Functions'(1))) == '0;
  assign charged_o = limited | {Functions{!alone_o}};

  logic [Functions-1:0] listed_q, due_q, throttled_q, had_q;
  logic [BalanceWidth*Functions-1:0] balance_q;
  logic [Functions*Functions-1:0] older_q;

  logic [Functions-1:0] listed_cfg, had_cfg, throttled_cfg, again;
  logic [BalanceWidth*Functions-1:0] balance_cfg;
  always_comb begin
    logic signed [BalanceWidth-1:0] balance, most;
    again         = changed ? throttled_q | (rearranged ? listed_q : '0) : '0;
    listed_cfg    = listed_q & ~again;
    throttled_cfg = changed ? '0 : throttled_q;
    had_cfg       = changed && rearranged ? '0 : had_q;
    balance_cfg   = balance_q;
    for (int unsigned i = 0; i < Functions; i++) begin
      balance = $signed(balance_q[i*BalanceWidth+:BalanceWidth]);
      most    = rearranged ? '0 : $signed(quantum[i*BalanceWidth+:BalanceWidth]);
      if (changed && balance > most) begin
        balance_cfg[i*BalanceWidth+:BalanceWidth] = most;
      end
    end
  end

  // Who gets something to send
  // ------------------------------------------------------------------------------------------

  // Stage 0 is the change of the virtual ports, 1 to 5 are one function each, 6 lets those in whose
  // rate lets them.
  localparam int unsigned Stages = 7;
  logic [Functions-1:0] open, open_after, opened;
  for (genvar s = 0; s <= Stages; s++) begin : gen_stage
    logic [Functions-1:0] listed, due, throttled, had;
    logic [BalanceWidth*Functions-1:0] balance;
    logic [Functions*Functions-1:0] older;
  end

  assign gen_stage[0].listed = listed_cfg;
  assign gen_stage[0].due = due_q;
  assign gen_stage[0].throttled = throttled_cfg;
  assign gen_stage[0].had = had_cfg;
  assign gen_stage[0].balance = balance_cfg;
  assign gen_stage[0].older = older_q;
  assign opened = gen_stage[6].throttled & open;

  for (genvar s = 0; s < Stages; s++) begin : gen_enter
    logic [Functions-1:0] enters, listed_in, throttled_in;
    if (s == 0) begin : gen_change
      assign enters = again & before_i;
      assign listed_in = gen_stage[0].listed;
      assign throttled_in = gen_stage[0].throttled;
    end else if (s == 6) begin : gen_opened
      assign enters = opened & waiting_i;
      assign listed_in = gen_stage[s].listed & waiting_i;
      assign throttled_in = gen_stage[s].throttled & ~opened;
    end else begin : gen_one
      assign enters = enter_i[s-1] ?
          Functions'(1) << entering_i[(s-1)*FunctionWidth+:FunctionWidth] : '0;
      assign listed_in = gen_stage[s].listed;
      assign throttled_in = gen_stage[s].throttled;
    end
    tx_sched_enter #(
        .Functions(Functions)
    ) i_enter (
        .enter_i(enters),
        .open_i(open),
        .quantum_i(quantum),
        .listed_i(listed_in),
        .due_i(gen_stage[s].due),
        .throttled_i(throttled_in),
        .had_i(gen_stage[s].had),
        .balance_i(gen_stage[s].balance),
        .older_i(gen_stage[s].older),
        .listed_o(gen_stage[s+1].listed),
        .due_o(gen_stage[s+1].due),
        .throttled_o(gen_stage[s+1].throttled),
        .had_o(gen_stage[s+1].had),
        .balance_o(gen_stage[s+1].balance),
        .older_o(gen_stage[s+1].older)
    );
  end

  // The turn
  // ------------------------------------------------------------------------------------------

  logic [Functions-1:0] listed_turn, due_turn, had_turn, throttled_turn;
  logic [BalanceWidth*Functions-1:0] balance_turn;
  logic [Functions*Functions-1:0] older_turn;
  assign listed_turn = gen_stage[Stages].listed;
  assign throttled_turn = gen_stage[Stages].throttled;
  assign balance_turn = gen_stage[Stages].balance;
  assign older_turn = gen_stage[Stages].older;

  tx_sched_rounds #(
      .Functions(Functions)
  ) i_rounds (
      .mates_i(mates),
      .listed_i(listed_turn),
      .due_i(gen_stage[Stages].due),
      .had_i(gen_stage[Stages].had),
      .due_o(due_turn),
      .had_o(had_turn)
  );

  logic [Functions-1:0] wins, able;
  assign able = listed_turn & can_i;
  always_comb begin
    logic [Functions-1:0] ahead;
    wins      = '0;
    visited_o = listed_turn & ~can_i;
    sender_o  = '0;
    for (int unsigned i = 0; i < Functions; i++) begin
      ahead = listed_turn &
          (higher[i*Functions+:Functions] |
           (mates[i*Functions+:Functions] &
            (due_turn[i] ? due_turn & older_turn[i*Functions+:Functions]
                         : due_turn | older_turn[i*Functions+:Functions])));
      if (able[i] && (ahead & able) == '0) begin
        wins[i]   = 1'b1;
        sender_o  = FunctionWidth'(i);
        visited_o = ahead;
      end
    end
    if (out_of_turn_i) begin
      visited_o = '0;
    end
  end
  assign any_o = able != '0 && !out_of_turn_i;

  logic filling;
  tx_sched_buckets #(
      .Functions(Functions)
  ) i_buckets (
      .clk_i,
      .rst_ni,
      .largest_i,
      .refill_i(refill),
      .open_o(open),
      .charge_i(any_o || out_of_turn_i),
      .charge_function_i(out_of_turn_i ? answerer_i : sender_o),
      .charge_bytes_i(bytes_i),
      .open_after_o(open_after),
      .busy_o(filling)
  );

  // Who has sent goes to the end of a line, or waits for his rate; whoever has nothing leaves.
  logic [Functions-1:0] listed_sent, due_sent, had_sent, throttled_sent, stops;
  logic [BalanceWidth*Functions-1:0] balance_sent;
  logic [Functions*Functions-1:0] older_sent;
  always_comb begin
    logic signed [BalanceWidth-1:0] left, share;
    due_sent     = due_turn;
    had_sent     = had_turn;
    balance_sent = balance_turn;
    older_sent   = older_turn;
    stops        = '0;
    for (int unsigned i = 0; i < Functions; i++) begin
      left  = $signed(balance_turn[i*BalanceWidth+:BalanceWidth]);
      share = $signed(quantum[i*BalanceWidth+:BalanceWidth]);
      if (any_o && wins[i]) begin
        if (!had_turn[i]) begin
          left = left > 0 ? share : left + share;
        end
        if (!due_turn[i]) begin
          left = left > 0 ? share : left + share;
        end
        left        = left - $signed({{(BalanceWidth - 16) {1'b0}}, bytes_i});
        had_sent[i] = 1'b1;
        due_sent[i] = left > 0;
        stops[i]    = !open_after[i];
        balance_sent[i*BalanceWidth+:BalanceWidth] = left;
        older_sent[i*Functions+:Functions] = listed_turn & ~wins;
      end else if (any_o) begin
        older_sent[i*Functions+:Functions] = older_turn[i*Functions+:Functions] & ~wins;
      end
      if (out_of_turn_i && limited[i] && answerer_i == FunctionWidth'(i)) begin
        stops[i] = listed_turn[i] && !open_after[i];
      end
    end
  end
  assign throttled_sent = throttled_turn | stops;
  assign listed_sent = listed_turn & ~stops & ~((visited_o | (any_o ? wins : '0)) & ~after_i);

  // Who comes late
  // ------------------------------------------------------------------------------------------

  // An answer's QP lines up again; QPs find a place.
  for (genvar s = 0; s < 4; s++) begin : gen_late
    logic [Functions-1:0] listed, due, throttled, had;
    logic [BalanceWidth*Functions-1:0] balance;
    logic [Functions*Functions-1:0] older;
  end
  assign gen_late[0].listed = listed_sent;
  assign gen_late[0].due = due_sent;
  assign gen_late[0].throttled = throttled_sent;
  assign gen_late[0].had = had_sent;
  assign gen_late[0].balance = balance_sent;
  assign gen_late[0].older = older_sent;
  for (genvar s = 0; s < 3; s++) begin : gen_enter_late
    tx_sched_enter #(
        .Functions(Functions)
    ) i_enter (
        .enter_i(late_i[s] ?
                 Functions'(1) << late_function_i[s*FunctionWidth+:FunctionWidth] : '0),
        .open_i(open_after),
        .quantum_i(quantum),
        .listed_i(gen_late[s].listed),
        .due_i(gen_late[s].due),
        .throttled_i(gen_late[s].throttled),
        .had_i(gen_late[s].had),
        .balance_i(gen_late[s].balance),
        .older_i(gen_late[s].older),
        .listed_o(gen_late[s+1].listed),
        .due_o(gen_late[s+1].due),
        .throttled_o(gen_late[s+1].throttled),
        .had_o(gen_late[s+1].had),
        .balance_o(gen_late[s+1].balance),
        .older_o(gen_late[s+1].older)
    );
  end

  assign busy_o = changed || filling || throttled_q != '0;

  always_ff @(posedge clk_i) begin
    older_q <= gen_late[3].older;
    if (!rst_ni) begin
      shares_q    <= shares_i;
      listed_q    <= '0;
      due_q       <= '0;
      throttled_q <= '0;
      had_q       <= '0;
      balance_q   <= '0;
    end else begin
      shares_q    <= shares_i;
      listed_q    <= gen_late[3].listed;
      due_q       <= gen_late[3].due;
      throttled_q <= gen_late[3].throttled;
      had_q       <= gen_late[3].had;
      balance_q   <= gen_late[3].balance;
    end
  end

  `CARILLON_ASSERT((listed_q & throttled_q) == '0)

endmodule
