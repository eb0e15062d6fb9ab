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
      slot_o      = slot_o | (slot[i] ? SlotWidth'(i) : '0);
      late_slot_o = late_slot_o | (late_slot[i] ? SlotWidth'(i) : '0);
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
  end

  // Who is new, and who fails because of the packet that has left.
  logic [Notes-1:0] fresh, late, marked;
  assign fresh = hold_i ? slot : '0;
  assign late = late_hold_i ? late_slot : '0;
  assign marked = marks_i ? covers & ~failed_q & ~fresh & ~late : '0;
  always_ff @(posedge clk_i) begin
    silent_q <= (silent_q & ~(fresh | late)) | (note.no_packet ? fresh : '0) |
        (late_note.no_packet ? late : '0);
    failed_q <= (failed_q & ~(fresh | late)) | (note.syndrome != '0 ? fresh : '0) |
        (late_note.syndrome != '0 ? late : '0) | marked;
    read_q <= (read_q & ~(fresh | late)) |
        (note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead ? fresh : '0) |
        (late_note.vendor_syndrome == wqe_pkg::VendorSyndromePayloadRead ? late : '0) | marked;
    for (int unsigned i = 0; i < Notes; i++) begin
      qpn_q[i*QpnWidth+:QpnWidth] <= late[i] ? late_note.qpn[QpnWidth-1:0] :
          fresh[i] ? left_qpn_i : qpn_q[i*QpnWidth+:QpnWidth];
      psn_q[i*24+:24] <= late[i] ? late_note.psn : fresh[i] ? note.psn : psn_q[i*24+:24];
      first_psn_q[i*24+:24] <= late[i] ? late_note.first_psn :
          fresh[i] ? note.first_psn : first_psn_q[i*24+:24];
      syndrome_q[i*8+:8] <= late[i] ? late_note.syndrome : fresh[i] ? note.syndrome :
          marked[i] ? syndrome_i : syndrome_q[i*8+:8];
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
