// The next piece of a packet: the bytes that it has in the first of the segments that are left.

module payload_dma_pick (
    input  logic [3839:0] segments_i,     // data segments - slot
    input  logic [29:0]   mask_i,     // those that are left - slot
    input  logic [30:0]   skip_i,     // bytes of the next one that come before - slot
    input  logic [12:0]   left_i,     // bytes of the packet that are left - slot
    output logic [63:0]   address_o,  // of the piece - reads
    output logic [12:0]   length_o,   // its bytes - reads
    output logic [31:0]   key_o,      // its key - lookups
    output logic [29:0]   mask_o,     // segments that are left behind it - slot
    output logic [12:0]   left_o,     // bytes that are left behind it - slot
    output logic          last_o      // it is the last one - slot
);

  localparam int unsigned MaxSge = stages_pkg::WqeParserMaxSge;

  wqe_pkg::data_seg_t segment;
  logic [30:0] room;

  always_comb begin
    segment = '0;
    for (int unsigned i = 0; i < MaxSge; i++) begin
      if (mask_i[MaxSge-1-i]) begin
        segment = segments_i[3839-128*(MaxSge-1-i)-:128];
      end
    end
  end

  assign room = segment.byte_count - skip_i;
  assign address_o = segment.address + 64'(skip_i);
  assign length_o = room < 31'(left_i) ? room[12:0] : left_i;
  assign key_o = segment.lkey;
  assign mask_o = mask_i & (mask_i - 30'd1);
  assign left_o = left_i - length_o;
  assign last_o = mask_o == '0;

endmodule
