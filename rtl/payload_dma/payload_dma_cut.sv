// Which data segments of a message hold bytes [begin, begin + length): those that overlap it. The
// first of them is entered behind `skip` bytes.

module payload_dma_cut (
    input  logic [3839:0] segments_i,       // data segments, the first on top - packets
    input  logic [4:0]    sge_count_i,  // how many - packets
    input  logic [31:0]   begin_i,      // the packet's first byte in the message - packets
    input  logic [12:0]   length_i,     // its bytes - packets
    output logic [29:0]   mask_o,       // segments with bytes of it - slots
    output logic [30:0]   skip_o,       // bytes of the first of them that come before - slots
    output logic [4:0]    count_o       // how many - credits
);

  localparam int unsigned MaxSge = stages_pkg::WqeParserMaxSge;

  logic [36:0] first, behind, from, upto;
  wqe_pkg::data_seg_t segment;
  assign first = {5'b0, begin_i};
  assign behind = first + 37'(length_i);

  always_comb begin
    from    = '0;
    upto    = '0;
    segment = '0;
    mask_o  = '0;
    skip_o  = '0;
    count_o = '0;
    for (int unsigned i = 0; i < MaxSge; i++) begin
      segment = segments_i[3839-128*i-:128];
      upto = from + (5'(i) < sge_count_i ? 37'(segment.byte_count) : 37'd0);
      if (from < behind && upto > first && upto != from) begin
        mask_o[i] = 1'b1;
        count_o   = count_o + 5'd1;
        if (count_o == 5'd1 && from < first) begin
          skip_o = 31'(first - from);
        end
      end
      from = upto;
    end
  end

endmodule
