// Which QP sends next: of each function whether somebody can, and of the one whose turn it is who.
// READ data goes before requests; of READs only the first in line counts. Of requests the first
// that can; those before it that are held leave the line. Combinational.
module tx_sched_pick #(
    parameter  int unsigned Functions     = stages_pkg::TxSchedFunctions,
    localparam int unsigned FunctionWidth = $clog2(Functions),
    localparam int unsigned QpnWidth      = params_pkg::NicLogMaxQp,
    localparam int unsigned Places        = stages_pkg::TxSchedPlaces,
    localparam int unsigned ClassWidth    = streams_pkg::SchedClassWidth,
    localparam int unsigned ReadWidth     = 2,
    localparam int unsigned SlotWidth     = 11
) (
    input logic payload_room_i,      // a credit for payload_dma - top
    input logic direct_room_i,       // a credit for packet_builder - top
    input logic sent_room_i,         // a credit for a note - top
    input logic invalidation_room_i, // a credit for an invalidation - top
    input logic note_room_i,         // room for held notes - notes
    input logic answer_room_i,       // room to tell that a saved READ has left - responses
    input logic failure_room_i,      // room to tell that READ data could not be read - responses
    input logic                 arriving_i,      // a work request is not complete - works
    input logic [SlotWidth-1:0] arriving_slot_i, // which - works

    input logic [              Places-1:0] valid_i,  // requests: places that are taken - turns
    input logic [     QpnWidth*Places-1:0] qpn_i,    // - turns
    input logic [FunctionWidth*Places-1:0] owner_i,  // - turns
    input logic [   ClassWidth*Places-1:0] class_i,  // - turns
    input logic [       Places*Places-1:0] older_i,  // - turns

    input logic [              Places-1:0] read_valid_i,  // READs: likewise - turns
    input logic [     QpnWidth*Places-1:0] read_qpn_i,    // - turns
    input logic [FunctionWidth*Places-1:0] read_owner_i,  // - turns
    input logic [    ReadWidth*Places-1:0] read_class_i,  // fetched, told of - turns
    input logic [       Places*Places-1:0] read_older_i,  // - turns

    output logic [Functions-1:0] can_o,  // somebody of the function can send - functions

    input  logic [    Functions-1:0] visited_i,  // whose turn it was in vain - functions
    input  logic                     any_i,      // somebody has the turn - functions
    input  logic [FunctionWidth-1:0] sender_i,   // who - functions

    output logic                request_o,       // a request is granted - top
    output logic [  Places-1:0] request_place_o, // in which place - turns
    output logic [QpnWidth-1:0] request_qpn_o,   // of which QP - queues
    output logic                read_o,          // READ data is granted - top
    output logic [  Places-1:0] read_place_o,    // in which place - turns
    output logic [QpnWidth-1:0] read_qpn_o,      // of which QP - responses
    output logic [  Places-1:0] parked_o,        // these leave the line - turns
    output logic [        17:0] parked_works_o   // their work requests, but for SQD - top
);

  // Requests
  logic [Places-1:0] grants, parks;
  streams_pkg::sched_class_t row;
  always_comb begin
    logic is_in, told;
    for (int unsigned i = 0; i < Places; i++) begin
      row   = class_i[i*ClassWidth+:ClassWidth];
      is_in = valid_i[i] && note_room_i && !(arriving_i && row.head == arriving_slot_i);
      told  = sent_room_i || !row.reliable;
      parks[i] = is_in && !row.fails && row.held;
      if (row.fails) begin
        grants[i] = is_in;
      end else if (row.silent) begin
        grants[i] = is_in && !row.held && sent_room_i &&
            (!row.invalidates || invalidation_room_i);
      end else begin
        grants[i] = is_in && !row.held && told &&
            (row.fetched ? payload_room_i : direct_room_i && !row.overtakes);
      end
    end
  end

  // READs: who is the first of his function
  logic [FunctionWidth*Places-1:0] owner_bits;  // bit b of all owners, one behind the other
  always_comb begin
    for (int unsigned b = 0; b < FunctionWidth; b++) begin
      for (int unsigned i = 0; i < Places; i++) begin
        owner_bits[b*Places+i] = read_owner_i[i*FunctionWidth+b];
      end
    end
  end
  logic [Places-1:0] read_grants;
  always_comb begin
    logic [Places-1:0] others;  // of other functions
    for (int unsigned i = 0; i < Places; i++) begin
      others = '0;
      for (int unsigned b = 0; b < FunctionWidth; b++) begin
        others = others |
            (owner_bits[b*Places+:Places] ^ {Places{read_owner_i[i*FunctionWidth+b]}});
      end
      read_grants[i] = read_valid_i[i] &&
          (read_valid_i & read_older_i[i*Places+:Places] & ~others) == '0 && failure_room_i &&
          (read_class_i[i*ReadWidth+1] ? payload_room_i : direct_room_i) &&
          (!read_class_i[i*ReadWidth] || answer_room_i);
    end
  end

  always_comb begin
    can_o = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      can_o = can_o |
          (grants[i] ? Functions'(1) << owner_i[i*FunctionWidth+:FunctionWidth] : '0) |
          (read_grants[i] ? Functions'(1) << read_owner_i[i*FunctionWidth+:FunctionWidth] : '0);
    end
  end

  // Of the function whose turn it is
  logic [Places-1:0] own;
  always_comb begin
    for (int unsigned i = 0; i < Places; i++) begin
      own[i] = valid_i[i] && owner_i[i*FunctionWidth+:FunctionWidth] == sender_i;
      read_place_o[i] = any_i && read_grants[i] &&
          read_owner_i[i*FunctionWidth+:FunctionWidth] == sender_i;
    end
  end
  assign read_o = read_place_o != '0;

  logic [Places-1:0] able, passed;  // who can; who was before the chosen one
  assign able = any_i && !read_o ? own & grants : '0;
  always_comb begin
    read_qpn_o    = '0;
    request_qpn_o = '0;
    passed        = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      request_place_o[i] = able[i] && (older_i[i*Places+:Places] & able) == '0;
      read_qpn_o = read_qpn_o | (read_place_o[i] ? read_qpn_i[i*QpnWidth+:QpnWidth] : '0);
      request_qpn_o = request_qpn_o | (request_place_o[i] ? qpn_i[i*QpnWidth+:QpnWidth] : '0);
      passed = passed | (request_place_o[i] ? older_i[i*Places+:Places] & own : '0);
    end
  end
  assign request_o = request_place_o != '0;

  streams_pkg::sched_class_t parked_row;
  always_comb begin
    parked_works_o = '0;
    for (int unsigned i = 0; i < Places; i++) begin
      parked_row = class_i[i*ClassWidth+:ClassWidth];
      parked_o[i] = parks[i] &&
          (passed[i] || visited_i[owner_i[i*FunctionWidth+:FunctionWidth]]);
      if (parked_o[i] && !parked_row.draining) begin
        parked_works_o = parked_works_o + 18'(parked_row.works);
      end
    end
  end

endmodule
