// Which QPs in line can be granted a packet, and which have to leave the line when it is their
// turn. Combinational.
module tx_sched_pick #(
    localparam int unsigned Places     = stages_pkg::TxSchedPlaces,
    localparam int unsigned PlaceWidth = $clog2(Places),
    localparam int unsigned Flags      = streams_pkg::SchedClassWidth
) (
    input logic payload_room_i,      // a credit for payload_dma - top
    input logic direct_room_i,       // a credit for packet_builder - top
    input logic sent_room_i,         // a credit for a note - top
    input logic invalidation_room_i, // a credit for an invalidation - top
    input logic note_room_i,         // room for held notes - notes
    input logic answer_room_i,       // room to tell that a saved READ has left - responses
    input logic failure_room_i,      // room to tell that READ data could not be read - responses

    input  logic [      Places-1:0] valid_i,    // requests: places that are taken - turns
    input  logic [Flags*Places-1:0] flags_i,    // of each flag the places - turns
    input  logic                    stalls_i,   // a work request is not complete - turns
    input  logic [  PlaceWidth-1:0] stalled_i,  // where - turns
    output logic [      Places-1:0] grants_o,   // these can go on - turns
    output logic [      Places-1:0] parks_o,    // these are held - turns

    input  logic [  Places-1:0] read_valid_i,   // READs: places that are taken - turns
    input  logic [2*Places-1:0] read_flags_i,   // fetched, told of - turns
    output logic [  Places-1:0] read_grants_o   // these can go on - turns
);

  // A flag of all places.
  logic [Places-1:0] fails, held, silent, invalidates, fetched, overtakes, reliable;
  assign {fails, held, silent, invalidates, fetched, overtakes, reliable} = flags_i;

  function automatic logic [Places-1:0] all(input logic condition);
    all = {Places{condition}};
  endfunction

  logic [Places-1:0] complete, sends, ends;
  assign complete = note_room_i ? valid_i & ~(stalls_i ? Places'(1) << stalled_i : '0) : '0;
  assign ends = all(sent_room_i) & (~invalidates | all(invalidation_room_i));
  assign sends = (all(sent_room_i) | ~reliable) &
      ((fetched & all(payload_room_i)) | (~fetched & ~overtakes & all(direct_room_i)));
  assign grants_o = complete & (fails | (~held & ((silent & ends) | (~silent & sends))));
  assign parks_o = complete & ~fails & held;

  logic [Places-1:0] told, read_fetched;
  assign {read_fetched, told} = read_flags_i;
  assign read_grants_o = !failure_room_i ? '0 :
      read_valid_i & (~told | all(answer_room_i)) &
      ((read_fetched & all(payload_room_i)) | (~read_fetched & all(direct_room_i)));

endmodule
