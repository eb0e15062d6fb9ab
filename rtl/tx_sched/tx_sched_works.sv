// Work requests with their bodies, in lists of QPs: the links are here, heads and tails in the
// rows.
//
// In a cycle up to two whole lists come free, then the first of a third; one work request is held,
// behind the last of its list; then the first of another list comes free. What comes free is used
// again in that order, and there are more slots than may be held, so that nothing that came free in
// a cycle is used in it. A body arrives 64 bytes a cycle behind its first.
`include "assertions.svh"

module tx_sched_works #(
    localparam int unsigned Slots     = stages_pkg::TxSchedWorks + 8,
    localparam int unsigned SlotWidth = 11,
    localparam int unsigned BodyBeats = 16,
    localparam int unsigned QpnWidth  = params_pkg::NicLogMaxQp,
    localparam int unsigned HeadWidth = streams_pkg::WorkBeatWidth - 512
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input  logic                    valid_i,  // a beat comes - wqe_parser
    input  streams_pkg::work_beat_t beat_i,   // what it is - wqe_parser
    input  logic                    taken_i,  // its first beat is taken - top
    input  logic                    held_i,   // ... and held - queues
    input  logic                    behind_i,     // behind another one - queues
    input  logic [   SlotWidth-1:0] last_i,       // which - queues
    output logic [   SlotWidth-1:0] slot_o,       // where it goes - queues
    output logic                    arriving_o,   // its body is not complete - turns
    output logic [   SlotWidth-1:0] arriving_slot_o,  // which - turns
    output logic [    QpnWidth-1:0] arriving_qpn_o,   // of which QP - turns

    input  logic [            2:0] free_i,        // lists, or the first of one, come free - queues
    input  logic [3*SlotWidth-1:0] free_head_i,   // the first of each - queues
    input  logic [3*SlotWidth-1:0] free_tail_i,   // the last of each - queues
    input  logic                   free_late_i,   // one more comes free - queues
    input  logic [  SlotWidth-1:0] free_slot_i,   // which - queues

    input  logic [8*SlotWidth-1:0] read_slot_i,  // of eight slots - queues
    output logic [8*HeadWidth-1:0] read_o,       // the fields, newly held ones included - queues
    output logic [8*SlotWidth-1:0] behind_o,     // what is behind it - queues
    input  logic                   body_i,       // one more slot is looked at - top
    input  logic [  SlotWidth-1:0] body_slot_i,  // which - queues
    output logic [512*BodyBeats-1:0] body_o      // the body, first byte at the top - cut
);

  logic [HeadWidth-1:0] head_mem[Slots];
  logic [SlotWidth-1:0] next_mem[Slots];
  logic [SlotWidth-1:0] unused_q, first_q, last_q;  // slots never used; those that came free
  logic arriving_q;
  logic [SlotWidth-1:0] slot_q;
  logic [QpnWidth-1:0] qpn_q;
  logic [3:0] beat_q;

  logic [HeadWidth-1:0] fields;
  assign fields = {
    beat_i.trace_id, beat_i.function_id, beat_i.qpn, beat_i.wqe_index, beat_i.wqebbs, beat_i.opcode,
    beat_i.fm_ce_se, beat_i.syndrome, beat_i.epoch, beat_i.drop, beat_i.is_inline, beat_i.service,
    beat_i.mtu_code, beat_i.sge_count, beat_i.imm, beat_i.length, beat_i.remote_address,
    beat_i.rkey,
    beat_i.swap_add, beat_i.compare, beat_i.paged, beat_i.send_cqn, beat_i.first, beat_i.last
  };

  logic fresh;
  assign fresh = unused_q != SlotWidth'(Slots);
  assign slot_o = fresh ? unused_q : first_q;
  assign arriving_o = arriving_q ? !(valid_i && beat_i.last) : taken_i && !beat_i.last;
  assign arriving_slot_o = arriving_q ? slot_q : slot_o;
  assign arriving_qpn_o = arriving_q ? qpn_q : beat_i.qpn[QpnWidth-1:0];

  // The body: a bank for each beat.
  logic writes;
  logic [SlotWidth-1:0] write_slot;
  logic [3:0] write_beat;
  assign writes = valid_i && (arriving_q || taken_i);
  assign write_slot = arriving_slot_o;
  assign write_beat = arriving_q ? beat_q : '0;
  for (genvar b = 0; b < BodyBeats; b++) begin : gen_bank
    logic [511:0] body_mem[Slots];
    logic now;
    assign now = writes && write_beat == 4'(b);
    always_comb begin
      body_o[512*(BodyBeats-1-b)+:512] = '0;
      if (body_i) begin
        body_o[512*(BodyBeats-1-b)+:512] =
            now && write_slot == body_slot_i ? beat_i.data : body_mem[body_slot_i];
      end
    end
    always_ff @(posedge clk_i) begin
      if (now) begin
        body_mem[write_slot] <= beat_i.data;
      end
    end
  end

  for (genvar r = 0; r < 8; r++) begin : gen_read
    logic [SlotWidth-1:0] at;
    assign at = read_slot_i[r*SlotWidth+:SlotWidth];
    // Only the last four see what is held in this cycle.
    assign read_o[r*HeadWidth+:HeadWidth] =
        r >= 4 && held_i && at == slot_o ? fields : head_mem[at];
    assign behind_o[r*SlotWidth+:SlotWidth] =
        r >= 4 && held_i && behind_i && at == last_i ? slot_o : next_mem[at];
  end

  logic [SlotWidth-1:0] last_free;
  always_comb begin
    last_free = last_q;
    for (int unsigned i = 0; i < 3; i++) begin
      if (free_i[i]) begin
        last_free = free_tail_i[i*SlotWidth+:SlotWidth];
      end
    end
    if (free_late_i) begin
      last_free = free_slot_i;
    end
  end

  // Whether anything came free before, else the first of it begins the list.
  logic any_q;
  always_ff @(posedge clk_i) begin
    logic [SlotWidth-1:0] end_of;
    logic any;
    end_of = last_q;
    any    = any_q;
    for (int unsigned i = 0; i < 3; i++) begin
      if (free_i[i]) begin
        if (any) begin
          next_mem[end_of] <= free_head_i[i*SlotWidth+:SlotWidth];
        end
        end_of = free_tail_i[i*SlotWidth+:SlotWidth];
        any    = 1'b1;
      end
    end
    if (free_late_i && any) begin
      next_mem[end_of] <= free_slot_i;
    end
    if (held_i) begin
      head_mem[slot_o] <= fields;
      if (behind_i) begin
        next_mem[last_i] <= slot_o;
      end
    end
  end

  logic [SlotWidth-1:0] first_free;
  always_comb begin
    first_free = free_slot_i;
    for (int unsigned i = 3; i > 0; i--) begin
      if (free_i[i-1]) begin
        first_free = free_head_i[(i-1)*SlotWidth+:SlotWidth];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      unused_q   <= '0;
      first_q    <= '0;
      last_q     <= '0;
      any_q      <= 1'b0;
      arriving_q <= 1'b0;
      slot_q     <= '0;
      qpn_q      <= '0;
      beat_q     <= '0;
    end else begin
      last_q <= last_free;
      any_q  <= any_q || free_i != '0 || free_late_i;
      if (!any_q) begin
        first_q <= first_free;
      end
      if (held_i) begin
        if (fresh) begin
          unused_q <= unused_q + 1'b1;
        end else begin
          first_q <= next_mem[first_q];
        end
      end
      arriving_q <= arriving_o;
      slot_q     <= arriving_slot_o;
      qpn_q      <= arriving_qpn_o;
      if (writes) begin
        beat_q <= write_beat + 1'b1;
      end
    end
  end

  `CARILLON_ASSERT(!held_i || taken_i)
  `CARILLON_ASSERT(!taken_i || !arriving_q)

endmodule
