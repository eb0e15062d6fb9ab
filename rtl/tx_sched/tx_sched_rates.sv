// The rates of QPs: a bucket of tokens for each context of dcqcn, which fills with time and from
// which every packet takes some. The model's qp_rates; tokens are those of tx_sched_tokens.
//
// A bucket is brought up to date when somebody looks at it, and who waits for one knows when it
// opens: so nothing moves in between, and the clock may stand still until then.
//
// In a cycle, each seeing what the one before did: a rate comes, or is no more; one QP comes back
// that has stood aside; a QP is looked at that would be granted, and stands aside if its bucket is
// empty, or is charged.
`include "assertions.svh"

module tx_sched_rates #(
    localparam int unsigned QpnWidth    = params_pkg::NicLogMaxQp,
    localparam int unsigned Queues      = 2 ** QpnWidth,
    localparam int unsigned Slots       = stages_pkg::DcqcnContexts,
    localparam int unsigned SlotWidth   = $clog2(Slots),
    localparam int unsigned TimeWidth   = 64,
    localparam int unsigned RefillWidth = 48,
    localparam int unsigned LevelWidth  = 50
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [TimeWidth-1:0] cycle_i,    // cycles of the core clock since power-on - timer
    input logic [         13:0] largest_i,  // bytes of the largest packet - settings
    input logic [         16:0] period_i,   // of the core clock, in ps - settings

    input logic                     set_i,   // a rate comes - top
    input streams_pkg::limit_beat_t item_i,  // which - rate_control

    input  logic                wait_i,      // others come back before those that wait here - top
    output logic                first_o,     // but before them one that loses its rate - top
    output logic                back_o,      // a QP comes back - top
    output logic [QpnWidth-1:0] back_qpn_o,  // which - top

    input  logic [QpnWidth-1:0]      qpn_i,    // would be granted - top
    output logic                     closed_o, // its bucket is empty - top
    input  logic                     aside_i,  // so it stands aside - top
    input  logic                     packet_i, // it is granted a packet - top
    input  logic [15:0]              bytes_i,  // ... of so many bytes on the wire - cost
    output logic                     charge_o, // it has a rate: it is charged - top
    output streams_pkg::charge_beat_t charged_o, // ... and that is told - rate_control

    output logic [TimeWidth-1:0] wake_at_o  // a QP comes back then; all ones: none waits - timer
);

  // Those that wait are looked at in groups.
  localparam int unsigned Group = 32;

  // Tokens that a bucket is short of being full; at `room` it is empty, and twice that is the most
  // that a QP can owe.
  logic [LevelWidth-1:0] room, most;
  tx_sched_tokens #(
      .Width(LevelWidth)
  ) i_room (
      .bytes_i (16'(largest_i)),
      .tokens_o(room)
  );
  assign most = room << 1;

  logic [SlotWidth-1:0] slot_mem[Queues];
  logic [QpnWidth-1:0] owner_mem[Slots];
  logic [LevelWidth-1:0] short_mem[Slots];  // in the cycle of the stamp
  logic [TimeWidth-1:0] stamp_mem[Slots];
  logic [RefillWidth-1:0] refill_mem[Slots];  // tokens a cycle
  logic [TimeWidth-1:0] opens_mem[Slots];
  logic [Queues-1:0] rated_q;
  logic [Slots-1:0] used_q, waits_q;

  // A rate comes, or is no more
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] set_qpn;
  logic [SlotWidth-1:0] set_slot;
  logic limits;
  logic [48:0] product;
  logic [RefillWidth-1:0] refill;
  logic [LevelWidth-1:0] set_level, set_short;
  logic [TimeWidth-1:0] set_opens;
  assign set_qpn = item_i.qpn[QpnWidth-1:0];
  assign set_slot = item_i.slot[SlotWidth-1:0];
  assign limits = item_i.rate != '0;
  // More than twice the largest packet makes no difference.
  assign product = 49'(item_i.rate) * 49'(period_i);
  assign refill = product[48] ? '1 : product[47:0];
  tx_sched_level #(
      .TimeWidth(TimeWidth),
      .RefillWidth(RefillWidth),
      .LevelWidth(LevelWidth)
  ) i_set_level (
      .short_i (short_mem[set_slot]),
      .stamp_i (stamp_mem[set_slot]),
      .refill_i(refill_mem[set_slot]),
      .cycle_i,
      .short_o (set_level)
  );
  // A bucket begins full.
  assign set_short = used_q[set_slot] ? set_level : '0;
  tx_sched_opening #(
      .TimeWidth(TimeWidth),
      .RefillWidth(RefillWidth),
      .LevelWidth(LevelWidth)
  ) i_set_opens (
      .short_i (set_short),
      .room_i  (room),
      .refill_i(refill),
      .cycle_i,
      .opens_o (set_opens)
  );

  // Who comes back: the one that loses its rate, else of those whose bucket is open the lowest
  // ------------------------------------------------------------------------------------------

  logic opened;
  logic [SlotWidth-1:0] open_slot, back_slot;
  assign first_o = set_i && !limits && waits_q[set_slot];
  always_comb begin
    opened    = 1'b0;
    open_slot = '0;
    for (int unsigned g = 0; g < Slots; g += Group) begin
      if (!opened && waits_q[g+:Group] != '0) begin
        for (int unsigned i = 0; i < Group; i++) begin
          if (!opened && waits_q[g+i] && opens_mem[g+i] <= cycle_i) begin
            opened    = 1'b1;
            open_slot = SlotWidth'(g + i);
          end
        end
      end
    end
  end
  assign back_slot = first_o ? set_slot : open_slot;
  assign back_o = first_o || (opened && !wait_i);
  assign back_qpn_o = owner_mem[back_slot];

  always_comb begin
    wake_at_o = '1;
    for (int unsigned g = 0; g < Slots; g += Group) begin
      if (waits_q[g+:Group] != '0) begin
        for (int unsigned i = 0; i < Group; i++) begin
          if (waits_q[g+i] && opens_mem[g+i] < wake_at_o) begin
            wake_at_o = opens_mem[g+i];
          end
        end
      end
    end
  end

  // The QP that would be granted
  // ------------------------------------------------------------------------------------------

  logic rated, sets, waits;
  logic [SlotWidth-1:0] slot;
  logic [LevelWidth-1:0] level, now_short, taken, owed;
  logic [RefillWidth-1:0] now_refill;
  logic [TimeWidth-1:0] opens;
  assign rated = set_i && set_qpn == qpn_i ? limits : rated_q[qpn_i];
  assign slot = set_i && set_qpn == qpn_i ? set_slot : slot_mem[qpn_i];
  assign sets = set_i && set_slot == slot;
  tx_sched_level #(
      .TimeWidth(TimeWidth),
      .RefillWidth(RefillWidth),
      .LevelWidth(LevelWidth)
  ) i_level (
      .short_i (short_mem[slot]),
      .stamp_i (stamp_mem[slot]),
      .refill_i(refill_mem[slot]),
      .cycle_i,
      .short_o (level)
  );
  assign now_short = sets ? set_short : level;
  assign now_refill = sets ? refill : refill_mem[slot];
  assign closed_o = rated && now_short >= room;
  assign charge_o = packet_i && rated;
  assign charged_o.slot = 16'(slot);
  assign charged_o.qpn = 24'(qpn_i);
  assign charged_o.bytes = bytes_i;

  tx_sched_tokens #(
      .Width(LevelWidth)
  ) i_taken (
      .bytes_i,
      .tokens_o(taken)
  );
  always_comb begin
    owed = now_short;
    if (charge_o) begin
      owed = now_short + taken > most ? most : now_short + taken;
    end
  end
  tx_sched_opening #(
      .TimeWidth(TimeWidth),
      .RefillWidth(RefillWidth),
      .LevelWidth(LevelWidth)
  ) i_opens (
      .short_i (owed),
      .room_i  (room),
      .refill_i(now_refill),
      .cycle_i,
      .opens_o (opens)
  );
  // One that others have put back into its round is charged while it waits.
  assign waits = aside_i || (charge_o && waits_q[slot]);

  always_ff @(posedge clk_i) begin
    if (set_i) begin
      slot_mem[set_qpn]    <= set_slot;
      owner_mem[set_slot]  <= set_qpn;
      short_mem[set_slot]  <= set_short;
      stamp_mem[set_slot]  <= cycle_i;
      refill_mem[set_slot] <= refill;
      opens_mem[set_slot]  <= set_opens;
    end
    if (charge_o || aside_i) begin
      short_mem[slot] <= owed;
      stamp_mem[slot] <= cycle_i;
    end
    if (waits) begin
      opens_mem[slot] <= opens;
    end
    if (!rst_ni) begin
      rated_q <= '0;
      used_q  <= '0;
      waits_q <= '0;
    end else begin
      if (set_i) begin
        rated_q[set_qpn] <= limits;
        used_q[set_slot] <= limits;
      end
      if (back_o) begin
        waits_q[back_slot] <= 1'b0;
      end
      if (aside_i) begin
        waits_q[slot] <= 1'b1;
      end
    end
  end

  `CARILLON_ASSERT(!aside_i || closed_o)
  logic [QpnWidth-1:0] owner;
  assign owner = owner_mem[set_slot];
  `CARILLON_ASSERT(!set_i || !used_q[set_slot] || owner == set_qpn)

endmodule
