// The lines of bytes that TLPs keep for what they lead to: every beat of a completion, the dword of
// a configuration request, and of a write its first 64 bytes, which begin up to three bytes into
// the payload and so may need the second beat.

module pcie_rx_bytes (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic         take_i,    // a beat is taken - top
    input logic         first_i,   // it is the first of its TLP - top
    input logic         last_i,    // it is the last - top
    input logic [511:0] data_i,    // its bytes - top
    input logic         all_i,     // first beat: every beat is kept - top
    input logic         write_i,   // first beat: a write's bytes are kept - top
    input logic [1:0]   lead_i,    // first beat: bytes before the first - top
    input logic [12:0]  length_i,  // first beat: bytes of the write - top

    output logic         line_o,       // a line is complete - delay line
    output logic [511:0] line_data_o,  // its bytes - delay line
    output logic         inside_o      // beats of the TLP are to come - top
);

  logic inside_q, all_q, second_q;
  logic [1:0] lead_q;
  logic [6:0] length_q;
  logic [511:0] first_q;

  logic [6:0] length;  // no more than a line
  assign length = length_i > 13'd64 ? 7'd64 : length_i[6:0];
  assign inside_o = inside_q;

  // Bytes of a write.
  logic [1:0] lead;
  logic [6:0] left;
  logic [535:0] both;
  logic [511:0] moved, kept;
  assign both = first_i ? {data_i, 24'b0} : {first_q, data_i[511-:24]};
  assign lead = first_i ? lead_i : lead_q;
  assign left = first_i ? length : length_q;
  assign moved = 512'(both >> (7'd24 - {2'b0, lead, 3'b0}));
  always_comb begin
    kept = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (7'(i) < left) begin
        kept[511-8*i-:8] = moved[511-8*i-:8];
      end
    end
  end

  always_comb begin
    line_o      = 1'b0;
    line_data_o = data_i;
    if (take_i && first_i) begin
      line_o = all_i || (write_i && last_i);
      if (write_i) begin
        line_data_o = kept;
      end
    end else if (take_i) begin
      line_o = all_q || second_q;
      if (second_q) begin
        line_data_o = kept;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i && first_i && write_i && !last_i) begin
      first_q  <= data_i;
      lead_q   <= lead_i;
      length_q <= length;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      all_q    <= 1'b0;
      second_q <= 1'b0;
    end else if (take_i) begin
      inside_q <= !last_i;
      second_q <= first_i && write_i;
      if (first_i) begin
        all_q <= all_i;
      end
    end
  end

endmodule
