// The ICRC of frames, a beat a cycle: mask and align the beat that came in the cycle before, add it
// to the CRC, compare. What is refused for other reasons gives some result that nobody uses.
//
// The CRC is taken through the ICRC itself, so that it need not be found at a beat's border: behind
// the right one the register has the same value for all packets. It is what the ICRC's leading ones
// make of it: the last four bytes leave a register full of ones to be shifted out, as those do.
module rx_parser_icrc (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic         beat_valid_i,  // a beat came in the cycle before - front end
    input logic [511:0] beat_i,        // the beat - front end
    input logic         first_i,       // it is its frame's first - front end
    input logic         last_i,        // ... last - front end

    // Of the frame, with its first beat.
    input logic        has_tag_i,  // it has a VLAN tag - ST_IP
    input logic        ipv6_i,    // it is IPv6 - ST_IP
    input logic [12:0] bytes_i,   // from the IP header through the ICRC - ST_IP
    input logic        known_i,   // the ICRC is known to be right - ST_IP

    output logic done_o,  // three cycles after a frame's last beat - verdict
    output logic good_o,  // its ICRC is right - verdict
    output logic busy_o   // beats are under way - top
);

  localparam int unsigned Untagged = 64 - wire_pkg::EthBytes;
  localparam int unsigned Tagged = Untagged - wire_pkg::VlanTagBytes;

  localparam logic [31:0] Residue = wire_pkg::IcrcSeed;

  // -----------------------------------------------------------------------------------------------
  // mask and align

  logic second_q, has_tag_q, ipv6_q, known_q;
  logic [12:0] left_q;  // bytes that the next beats have

  logic has_tag, ipv6, known;
  logic [12:0] left;
  logic [6:0] room, count;
  logic [511:0] header_mask, mask, aligned;
  always_comb begin
    has_tag = first_i ? has_tag_i : has_tag_q;
    ipv6   = first_i ? ipv6_i : ipv6_q;
    known  = first_i ? known_i : known_q;
    left   = first_i ? bytes_i : left_q;
    room   = 7'd64;
    if (first_i) begin
      room = has_tag ? 7'(Tagged) : 7'(Untagged);
    end
    count = left < 13'(room) ? left[6:0] : room;
  end

  // Bits that count as ones, from the IP header on: those in the first beat, and the rest.
  always_comb begin
    header_mask = ipv6 ?
        {wire_pkg::Ipv6IcrcMask, wire_pkg::UdpIcrcMask, wire_pkg::BthIcrcMask, 32'b0} :
        {wire_pkg::Ipv4IcrcMask, wire_pkg::UdpIcrcMask, wire_pkg::BthIcrcMask, 192'b0};
    mask    = '0;
    aligned = beat_i;
    if (first_i) begin
      mask    = header_mask;
      aligned = has_tag ? beat_i << (512 - 8 * Tagged) : beat_i << (512 - 8 * Untagged);
    end else if (second_q) begin
      mask = has_tag ? header_mask << (8 * Tagged) : header_mask << (8 * Untagged);
    end
  end

  // -----------------------------------------------------------------------------------------------
  // add

  logic add_valid_q, add_first_q, add_last_q, add_known_q;
  logic [511:0] add_q;
  logic [6:0] add_bytes_q;
  logic [31:0] crc_q, crc;

  crc32 #(
      .Bytes(64)
  ) u_crc (
      .crc_i   (add_first_q ? wire_pkg::IcrcSeed : crc_q),
      .data_i  (add_q),
      .length_i(add_bytes_q),
      .crc_o   (crc)
  );

  always_ff @(posedge clk_i) begin
    if (beat_valid_i) begin
      second_q    <= first_i;
      has_tag_q    <= has_tag;
      ipv6_q      <= ipv6;
      known_q     <= known;
      left_q      <= left - 13'(count);
      add_q       <= aligned | mask;
      add_bytes_q <= count;
      add_first_q <= first_i;
      add_last_q  <= last_i;
      add_known_q <= known;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // compare

  logic done_q, done_known_q;

  always_ff @(posedge clk_i) begin
    if (add_valid_q) begin
      crc_q        <= crc;
      done_known_q <= add_known_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      add_valid_q <= 1'b0;
      done_q      <= 1'b0;
    end else begin
      add_valid_q <= beat_valid_i;
      done_q      <= add_valid_q && add_last_q;
    end
  end

  assign done_o = done_q;
  assign good_o = done_known_q || crc_q == Residue;
  assign busy_o = beat_valid_i || add_valid_q || done_q;

endmodule
