// The rates of QPs: a bucket of tokens for each context of dcqcn, of which every cycle adds some
// and every packet takes some. The model's qp_rates; tokens are those of tx_sched_tokens.
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
    localparam int unsigned RefillWidth = 48,
    localparam int unsigned LevelWidth  = 50
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [13:0] largest_i,  // bytes of the largest packet - settings
    input logic [16:0] period_i,   // of the core clock, in ps - settings

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

    output logic busy_o  // a bucket fills up, or a QP waits - top
);

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
  logic [Queues-1:0] rated_q;
  logic [Slots-1:0] used_q, waits_q, open_q, filling_q;

  // A rate comes, or is no more
  // ------------------------------------------------------------------------------------------

  logic [QpnWidth-1:0] set_qpn;
  logic [SlotWidth-1:0] set_slot;
  logic limits, fresh;
  logic [48:0] product;
  logic [RefillWidth-1:0] refill;
  assign set_qpn = item_i.qpn[QpnWidth-1:0];
  assign set_slot = item_i.slot[SlotWidth-1:0];
  assign limits = item_i.rate != '0;
  // A bucket begins full, and is left full.
  assign fresh = set_i && (!limits || !used_q[set_slot]);
  // More than twice the largest packet makes no difference.
  assign product = 49'(item_i.rate) * 49'(period_i);
  assign refill = product[48] ? '1 : product[47:0];

  // Who comes back: the one that loses its rate, else of those whose bucket is open the lowest
  // ------------------------------------------------------------------------------------------

  logic [Slots-1:0] opened;
  logic [SlotWidth-1:0] back_slot;
  assign opened = waits_q & open_q;
  assign first_o = set_i && !limits && waits_q[set_slot];
  always_comb begin
    back_slot = set_slot;
    if (!first_o && opened != '0) begin
      for (int unsigned i = Slots; i > 0; i--) begin
        if (opened[i-1]) begin
          back_slot = SlotWidth'(i - 1);
        end
      end
    end
  end
  assign back_o = first_o || (opened != '0 && !wait_i);
  assign back_qpn_o = owner_mem[back_slot];

  // The QP that would be granted
  // ------------------------------------------------------------------------------------------

  logic rated, same;
  logic [SlotWidth-1:0] slot;
  assign same = set_i && set_qpn == qpn_i;
  assign rated = same ? limits : rated_q[qpn_i];
  assign slot = same ? set_slot : slot_mem[qpn_i];
  assign closed_o = rated && !open_q[slot] && !(fresh && slot == set_slot);
  assign charge_o = packet_i && rated;
  assign charged_o.slot = 16'(slot);
  assign charged_o.qpn = 24'(qpn_i);
  assign charged_o.bytes = bytes_i;

  // The buckets
  // ------------------------------------------------------------------------------------------

  logic [Slots-1:0] moves;
  logic [LevelWidth-1:0] taken;
  assign moves = filling_q | (set_i ? Slots'(1) << set_slot : '0) |
      (charge_o ? Slots'(1) << slot : '0);
  tx_sched_tokens #(
      .Width(LevelWidth)
  ) i_taken (
      .bytes_i,
      .tokens_o(taken)
  );
  for (genvar i = 0; i < Slots; i++) begin : gen_bucket
    logic [LevelWidth-1:0] short_q, owed;
    logic [RefillWidth-1:0] refill_q, gain;
    logic sets, charges;
    assign sets = set_i && set_slot == SlotWidth'(i);
    assign charges = charge_o && slot == SlotWidth'(i);
    always_comb begin
      owed = filling_q[i] && !(fresh && sets) ? short_q : '0;
      if (charges) begin
        owed = owed + taken > most ? most : owed + taken;
      end
      gain = sets ? refill : refill_q;
      owed = owed > LevelWidth'(gain) ? owed - LevelWidth'(gain) : '0;
    end
    always_ff @(posedge clk_i) begin
      if (moves[i]) begin
        short_q <= owed;
      end
      if (sets) begin
        refill_q <= refill;
      end
      if (!rst_ni) begin
        filling_q[i] <= 1'b0;
        open_q[i]    <= 1'b1;
      end else if (moves[i]) begin
        filling_q[i] <= owed != '0;
        open_q[i]    <= owed < room;
      end
    end
  end

  assign busy_o = filling_q != '0 || waits_q != '0;
  always_ff @(posedge clk_i) begin
    if (set_i) begin
      slot_mem[set_qpn]   <= set_slot;
      owner_mem[set_slot] <= set_qpn;
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
