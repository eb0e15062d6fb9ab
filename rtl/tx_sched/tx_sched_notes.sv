// Notes that wait: each behind those of its QP before it, until the data of its packets has been
// read. The links are here, first and last of a QP in its row.
//
// In a cycle: the notes of up to two QPs are forgotten; a packet fails, and a held note may be
// about it; a note is held; one leaves; one more is held.
`include "assertions.svh"

module tx_sched_notes #(
    localparam int unsigned Notes     = stages_pkg::TxSchedNotes,
    localparam int unsigned SlotWidth = $clog2(Notes),
    localparam int unsigned QpnWidth  = params_pkg::NicLogMaxQp,
    localparam int unsigned NoteWidth = streams_pkg::SentBeatWidth - 3840
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic [           1:0] forget_i,      // a QP's notes are forgotten - top
    input logic [2*QpnWidth-1:0] forget_qpn_i,  // whose - top

    input  logic [QpnWidth-1:0] left_qpn_i,   // a packet fails: of whom - top
    input  logic [        23:0] left_psn_i,   // which - top
    output logic                covered_o,    // a held note is about it - left
    input  logic                marks_i,      // that gets a syndrome - left
    input  logic [         7:0] syndrome_i,   // this one - left

    input  logic                 hold_i,       // a note is held - left
    output logic [SlotWidth-1:0] slot_o,       // where - left
    input  logic [NoteWidth-1:0] note_i,       // what it says - cut
    input  logic [         15:0] after_i,      // until so many packets have left - left
    input  logic                 behind_i,     // behind another one - left
    input  logic [SlotWidth-1:0] last_i,       // which - left

    input  logic [SlotWidth-1:0] first_i,      // the one that might leave - top
    output logic [NoteWidth-1:0] first_o,      // what it says - sent
    output logic [SlotWidth-1:0] second_o,     // the one behind it - top
    output logic [         15:0] second_after_o, // until when that waits - top
    input  logic                 leave_i,      // the first leaves - top
    output logic [SlotWidth:0]   held_o,       // notes that are held by now - top

    input  logic                 late_hold_i,   // one more is held - grant
    output logic [SlotWidth-1:0] late_slot_o,   // where - grant
    input  logic [NoteWidth-1:0] late_note_i,   // what it says - cut
    input  logic [         15:0] late_after_i,  // until so many packets have left - grant
    input  logic                 late_behind_i, // behind another one - grant
    input  logic [SlotWidth-1:0] late_last_i    // which - grant
);

  // What is compared of each: QP, PSN, first PSN, whether it is about packets at all, and up to
  // which.
  logic [Notes-1:0] valid_q, kept, taken, silent_q, failed_q, read_q, covers;
  logic [QpnWidth*Notes-1:0] qpn_q;
  logic [24*Notes-1:0] psn_q, first_psn_q;
  logic [NoteWidth-1:0] note_mem[Notes];
  logic [SlotWidth-1:0] next_mem[Notes];
  logic [15:0] after_mem[Notes];
  logic [8*Notes-1:0] syndrome_q;

  streams_pkg::sent_beat_t note, late_note, first, out;
  assign note = {note_i, 3840'b0};
  assign late_note = {late_note_i, 3840'b0};

  always_comb begin
    kept   = valid_q;
    covers = '0;
    for (int unsigned i = 0; i < Notes; i++) begin
      for (int unsigned k = 0; k < 2; k++) begin
        if (forget_i[k] && qpn_q[i*QpnWidth+:QpnWidth] == forget_qpn_i[k*QpnWidth+:QpnWidth]) begin
          kept[i] = 1'b0;
        end
      end
    end
  end
  always_comb begin
    logic [23:0] into, behind;
    for (int unsigned i = 0; i < Notes; i++) begin
      into      = left_psn_i - first_psn_q[i*24+:24];
      behind    = psn_q[i*24+:24] - first_psn_q[i*24+:24];
      covers[i] = kept[i] && qpn_q[i*QpnWidth+:QpnWidth] == left_qpn_i && !silent_q[i] &&
          (into < behind || (into == behind && (!failed_q[i] || read_q[i])));
    end
  end
  assign covered_o = covers != '0;

  // The first free places; what leaves in this cycle is free in the next one.
  logic [Notes-1:0] slot, late_slot;
  assign slot = ~kept & (kept + Notes'(1));
  assign taken = hold_i ? kept | slot : kept;
  assign late_slot = ~taken & (taken + Notes'(1));
  always_comb begin
    slot_o      = '0;
    late_slot_o = '0;
    for (int unsigned i = 0; i < Notes; i++) begin
      if (slot[i]) begin
        slot_o = SlotWidth'(i);
      end
      if (late_slot[i]) begin
        late_slot_o = SlotWidth'(i);
      end
    end
  end

  always_comb begin
    held_o = '0;
    for (int unsigned i = 0; i < Notes; i++) begin
      held_o = held_o + (SlotWidth + 1)'(taken[i]);
    end
    held_o = held_o - (SlotWidth + 1)'(leave_i);
  end

  assign first = {note_mem[first_i], 3840'b0};
  always_comb begin
    out = first;
    if (failed_q[first_i] || (marks_i && covers[first_i])) begin
      out.syndrome = failed_q[first_i] ? syndrome_q[first_i*8+:8] : syndrome_i;
      if (read_q[first_i] || !failed_q[first_i]) begin
        out.vendor_syndrome = wqe_pkg::VendorSyndromePayloadRead;
      end
    end
  end
  assign first_o = out[streams_pkg::SentBeatWidth-1:3840];
  logic joined;
  assign joined = hold_i && behind_i && last_i == first_i;
  assign second_o = joined ? slot_o : next_mem[first_i];
  assign second_after_o = joined ? after_i : after_mem[second_o];

  always_ff @(posedge clk_i) begin
    if (hold_i) begin
      note_mem[slot_o]  <= note_i;
      after_mem[slot_o] <= after_i;
      if (behind_i) begin
        next_mem[last_i] <= slot_o;
      end
    end
    if (late_hold_i) begin
      note_mem[late_slot_o]  <= late_note_i;
      after_mem[late_slot_o] <= late_after_i;
      if (late_behind_i) begin
        next_mem[late_last_i] <= late_slot_o;
      end
    end
    for (int unsigned i = 0; i < Notes; i++) begin
      if (marks_i && covers[i] && !failed_q[i]) begin
        failed_q[i]         <= 1'b1;
        read_q[i]           <= 1'b1;
        syndrome_q[i*8+:8]  <= syndrome_i;
      end
      if (hold_i && slot[i]) begin
        qpn_q[i*QpnWidth+:QpnWidth] <= left_qpn_i;
        psn_q[i*24+:24]             <= note.psn;
        first_psn_q[i*24+:24]       <= note.first_psn;
        silent_q[i]                 <= note.no_packet;
        failed_q[i]                 <= note.syndrome != '0;
        read_q[i]                   <= note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead;
        syndrome_q[i*8+:8]          <= note.syndrome;
      end
      if (late_hold_i && late_slot[i]) begin
        qpn_q[i*QpnWidth+:QpnWidth] <= late_note.qpn[QpnWidth-1:0];
        psn_q[i*24+:24]             <= late_note.psn;
        first_psn_q[i*24+:24]       <= late_note.first_psn;
        silent_q[i]                 <= late_note.no_packet;
        failed_q[i]                 <= late_note.syndrome != '0;
        read_q[i]           <= late_note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead;
        syndrome_q[i*8+:8]          <= late_note.syndrome;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q <= (taken | (late_hold_i ? late_slot : '0)) & ~(leave_i ? Notes'(1) << first_i : '0);
    end
  end

  `CARILLON_ASSERT(!leave_i || valid_q[first_i])
  `CARILLON_ASSERT(!(hold_i || late_hold_i) || valid_q != '1)

endmodule
