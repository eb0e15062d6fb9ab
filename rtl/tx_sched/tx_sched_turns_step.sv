// One QP leaves the line or joins it behind the others: in a place, or outside of them if none is
// free or somebody waits there. Combinational.
module tx_sched_turns_step #(
    parameter  int unsigned Step          = 1,
    parameter  int unsigned FunctionWidth = 7,
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned Places        = stages_pkg::TxSchedPlaces,
    localparam int unsigned CountWidth    = $clog2(Places + 1)
) (
    input  logic [     QpnWidth-1:0] qpn_i,       // which QP - top
    input  logic [FunctionWidth-1:0] function_i,  // whose it is, if it joins - top
    input  logic                     erase_i,     // it leaves, if it is there - top
    input  logic                     push_i,      // then it joins, unless it is there - top
    output logic                     active_o,    // it was in line - top
    output logic                     inside_o,    // it has come into a place - functions
    output logic                     queue_o,     // it is queued outside - turns

    input logic [              Places-1:0] valid_i,     // places that are taken - turns
    input logic [     QpnWidth*Places-1:0] qpn_in_i,    // by which QP - turns
    input logic [FunctionWidth*Places-1:0] owner_i,     // of which function - turns
    input logic [            3*Places-1:0] stamp_i,     // the step in which each was taken - turns
    input logic                            outside_i,   // the QP waits outside - turns
    input logic                            queued_i,    // it has an entry there - turns
    input logic [          CountWidth-1:0] taken_i,     // places taken - turns
    input logic                            waits_i,     // there are entries outside - turns

    output logic [              Places-1:0] valid_o,    // the same afterwards - turns
    output logic [     QpnWidth*Places-1:0] qpn_o,      // - turns
    output logic [FunctionWidth*Places-1:0] owner_o,    // - turns
    output logic [            3*Places-1:0] stamp_o,    // - turns
    output logic                            outside_o,  // - turns
    output logic                            queued_o,   // - turns
    output logic [          CountWidth-1:0] taken_o,    // - turns
    output logic                            waits_o     // - turns
);

  logic [Places-1:0] match, kept, slot;
  always_comb begin
    for (int unsigned i = 0; i < Places; i++) begin
      match[i] = valid_i[i] && qpn_in_i[i*QpnWidth+:QpnWidth] == qpn_i;
    end
  end
  logic joins;
  logic [CountWidth-1:0] kept_count;
  assign active_o = match != '0 || outside_i;
  assign kept = erase_i ? valid_i & ~match : valid_i;
  assign kept_count = taken_i - CountWidth'(erase_i && match != '0);
  assign joins = push_i && (erase_i || !active_o);
  assign inside_o = joins && kept_count != CountWidth'(Places) && !waits_i;
  assign queue_o = joins && !inside_o && !queued_i;
  // The first free place.
  assign slot = inside_o ? ~kept & (kept + Places'(1)) : '0;

  assign valid_o = kept | slot;
  assign taken_o = kept_count + CountWidth'(inside_o);
  assign waits_o = waits_i || queue_o;
  assign outside_o = (outside_i && !erase_i) || (joins && !inside_o);
  assign queued_o = queued_i || (joins && !inside_o);
  always_comb begin
    qpn_o   = qpn_in_i;
    owner_o = owner_i;
    stamp_o = stamp_i;
    for (int unsigned i = 0; i < Places; i++) begin
      if (slot[i]) begin
        qpn_o[i*QpnWidth+:QpnWidth]             = qpn_i;
        owner_o[i*FunctionWidth+:FunctionWidth] = function_i;
        stamp_o[i*3+:3]                         = 3'(Step);
      end
    end
  end

endmodule
