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

    input  logic [QpnWidth-1:0] left_qpn_i,   // a packet may fail: of whom - top
    input  logic [        23:0] left_psn_i,   // which - top
    input  logic                check_i,      // it does - top
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
  logic [Notes-1:0] valid_q, kept, taken, taken_late, silent_q, failed_q, read_q, covers;
  logic [QpnWidth-1:0] qpn_q[Notes];
  logic [23:0] psn_q[Notes];
  logic [23:0] first_psn_q[Notes];
  logic [7:0] syndrome_q[Notes];
  logic [NoteWidth-1:0] note_mem[Notes];
  logic [SlotWidth-1:0] next_mem[Notes];
  logic [15:0] after_mem[Notes];
  logic [SlotWidth:0] held_q, forgotten;
  logic [SlotWidth-1:0] covering;

  streams_pkg::sent_beat_t note, late_note, first, out;
  assign note = {note_i, 3840'b0};
  assign late_note = {late_note_i, 3840'b0};

  always_comb begin
    kept      = valid_q;
    forgotten = '0;
    if (forget_i != '0 && valid_q != '0) begin
      for (int unsigned i = 0; i < Notes; i++) begin
        if (valid_q[i] && ((forget_i[0] && qpn_q[i] == forget_qpn_i[0+:QpnWidth]) ||
                           (forget_i[1] && qpn_q[i] == forget_qpn_i[QpnWidth+:QpnWidth]))) begin
          kept[i]   = 1'b0;
          forgotten = forgotten + 1'b1;
        end
      end
    end
  end
  always_comb begin
    logic [23:0] into, behind;
    into   = '0;
    behind = '0;
    covers = '0;
    covering = '0;
    if (check_i) begin
      for (int unsigned i = 0; i < Notes; i++) begin
        into      = left_psn_i - first_psn_q[i];
        behind    = psn_q[i] - first_psn_q[i];
        covers[i] = kept[i] && qpn_q[i] == left_qpn_i && !silent_q[i] &&
            (into < behind || (into == behind && (!failed_q[i] || read_q[i])));
        if (covers[i]) begin
          covering = SlotWidth'(i);
        end
      end
    end
  end
  // No two notes of a QP are about the same packet.
  assign covered_o = covers != '0;

  // The first free places; what leaves in this cycle is free in the next one.
  localparam int unsigned Group = 32;
  function automatic logic [SlotWidth-1:0] first_free(input logic [Notes-1:0] used);
    logic [Group-1:0] group;
    logic [SlotWidth-1:0] base;
    group = '1;
    base  = '0;
    for (int unsigned g = Notes / Group; g > 0; g--) begin
      if (used[(g-1)*Group+:Group] != '1) begin
        group = used[(g-1)*Group+:Group];
        base  = SlotWidth'((g - 1) * Group);
      end
    end
    first_free = base;
    for (int unsigned i = Group; i > 0; i--) begin
      if (!group[i-1]) begin
        first_free = base + SlotWidth'(i - 1);
      end
    end
  endfunction
  assign slot_o = first_free(kept);
  always_comb begin
    taken = kept;
    if (hold_i) begin
      taken[slot_o] = 1'b1;
    end
  end
  assign late_slot_o = first_free(taken);
  assign held_o = held_q - forgotten + (SlotWidth + 1)'(hold_i) - (SlotWidth + 1)'(leave_i);

  assign first = {note_mem[first_i], 3840'b0};
  always_comb begin
    out = first;
    if (failed_q[first_i] || (marks_i && covers[first_i])) begin
      out.syndrome = failed_q[first_i] ? syndrome_q[first_i] : syndrome_i;
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
  end

  // Who fails because of the packet that has left, and who is new.
  logic [Notes-1:0] silent, failed, read;
  always_comb begin
    silent = silent_q;
    failed = failed_q;
    read   = read_q;
    if (marks_i) begin
      failed = failed | covers;
      read   = read | (covers & ~failed_q);
    end
    if (hold_i) begin
      silent[slot_o] = note.no_packet;
      failed[slot_o] = note.syndrome != '0;
      read[slot_o]   = note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead;
    end
    if (late_hold_i) begin
      silent[late_slot_o] = late_note.no_packet;
      failed[late_slot_o] = late_note.syndrome != '0;
      read[late_slot_o]   = late_note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead;
    end
  end
  always_comb begin
    taken_late = taken;
    if (late_hold_i) begin
      taken_late[late_slot_o] = 1'b1;
    end
    if (leave_i) begin
      taken_late[first_i] = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    silent_q <= silent;
    failed_q <= failed;
    read_q   <= read;
    if (marks_i && !failed_q[covering]) begin
      syndrome_q[covering] <= syndrome_i;
    end
    if (hold_i) begin
      qpn_q[slot_o]       <= left_qpn_i;
      psn_q[slot_o]       <= note.psn;
      first_psn_q[slot_o] <= note.first_psn;
      syndrome_q[slot_o]  <= note.syndrome;
    end
    if (late_hold_i) begin
      qpn_q[late_slot_o]       <= late_note.qpn[QpnWidth-1:0];
      psn_q[late_slot_o]       <= late_note.psn;
      first_psn_q[late_slot_o] <= late_note.first_psn;
      syndrome_q[late_slot_o]  <= late_note.syndrome;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
      held_q  <= '0;
    end else begin
      valid_q <= taken_late;
      held_q  <= held_o + (SlotWidth + 1)'(late_hold_i);
    end
  end

  `CARILLON_ASSERT(!leave_i || valid_q[first_i])
  `CARILLON_ASSERT(!(hold_i || late_hold_i) || valid_q != '1)

endmodule
