// Frames as beats: headers and payload put together, the ICRC taken on the way and put behind them.
// A frame that is pushed in cycle t leaves its first beat in t + Wait + 2, or behind the last beat
// of the frame before; from there one beat a cycle.
//
//   join   the next 64 bytes of headers and payload, and what of them the ICRC covers;
//   sum    the CRC register takes them in;
//   close  the beat in which the packet ends gets the ICRC.
`include "assertions.svh"

module packet_builder_frames #(
    parameter  int unsigned Slots = 64,
    parameter  int unsigned Wait = 22,
    localparam int unsigned SlotWidth = $clog2(Slots)
) (
    input logic clk_i,  // core clock
    input logic rst_ni, // synchronous reset, active low

    input logic                     push_i,          // a frame is described - lines
    input streams_pkg::frame_beat_t about_i,         // what all its beats say - lines
    input logic [847:0]             header_i,        // its headers - lines
    input logic [6:0]               header_bytes_i,  // their bytes - lines
    input logic                     has_tag_i,        // with a VLAN tag - lines
    input logic                     ipv6_i,          // IPv6, not IPv4 - lines
    input logic [12:0]              icrc_at_i,       // where its ICRC stands - lines
    input logic [6:0]               beats_i,         // its beats - lines
    input logic [6:0]               lines_i,         // of its payload - lines
    input logic [SlotWidth-1:0]     row_i,           // where these are - lines

    output logic [SlotWidth-1:0] read_row_o,   // which line is wanted - store
    output logic [3:0]           read_bank_o,  // which line is wanted - store
    input  logic [511:0]         read_i,       // the line - store

    output logic                     valid_o,  // a beat leaves - outputs
    output streams_pkg::frame_beat_t beat_o    // the beat - outputs
);

  localparam int unsigned AboutWidth = streams_pkg::FrameBeatWidth - 514;

  typedef struct packed {
    logic [AboutWidth-1:0] about;
    logic [847:0]          header;
    logic [6:0]            header_bytes;
    logic                  has_tag;
    logic                  ipv6;
    logic [12:0]           icrc_at;
    logic [6:0]            beats;
    logic [6:0]            lines;
    logic [SlotWidth-1:0]  row;
  } frame_t;

  // What the later steps know of a beat.
  typedef struct packed {
    logic [AboutWidth-1:0] about;
    logic                  first;
    logic                  last;
    logic [511:0]          bytes;
    logic                  ends;     // the ICRC begins in this beat
    logic                  spilled;  // its last two bytes are in this beat
    logic [5:0]            at;       // where it begins
  } beat_t;

  // -----------------------------------------------------------------------------------------------
  // frames, in order, each due Wait cycles after its push

  logic [SlotWidth-1:0] write_q, read_q;
  logic [Wait-1:0] coming_q;
  logic [SlotWidth:0] due_q;  // frames that are due, the one in progress included
  logic run, done;
  frame_t pushed, frame;
  logic [$bits(pushed)-1:0] frame_mem[Slots];

  always_comb begin
    pushed.about        = about_i[streams_pkg::FrameBeatWidth-1 -: AboutWidth];
    pushed.header       = header_i;
    pushed.header_bytes = header_bytes_i;
    pushed.has_tag       = has_tag_i;
    pushed.ipv6         = ipv6_i;
    pushed.icrc_at      = icrc_at_i;
    pushed.beats        = beats_i;
    pushed.lines        = lines_i;
    pushed.row          = row_i;
  end

  assign frame = frame_mem[read_q];
  assign run = due_q != '0 || coming_q[Wait-1];

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      frame_mem[write_q] <= pushed;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= '0;
      read_q   <= '0;
      coming_q <= '0;
      due_q    <= '0;
    end else begin
      coming_q <= {coming_q[Wait-2:0], push_i};
      due_q    <= due_q + (SlotWidth + 1)'(coming_q[Wait-1]) - (SlotWidth + 1)'(done);
      if (push_i) begin
        write_q <= write_q + 1'b1;
      end
      if (done) begin
        read_q <= read_q + 1'b1;
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // join

  // What changes on the way counts as ones, as the formats say.
  localparam logic [383:0] TailMask = {wire_pkg::UdpIcrcMask, wire_pkg::BthIcrcMask, 224'b0};
  localparam logic [703:0] Ipv4Mask = {wire_pkg::Ipv4IcrcMask, TailMask, 160'b0};
  localparam logic [703:0] Ipv6Mask = {wire_pkg::Ipv6IcrcMask, TailMask};
  localparam int unsigned Plain = 8 * wire_pkg::EthBytes;
  localparam int unsigned Tagged = 8 * (wire_pkg::EthBytes + wire_pkg::VlanTagBytes);

  // The register that the CRC begins with, in front of the IP header, as bytes that are added to
  // it.
  localparam logic [31:0] Seed = {
    wire_pkg::IcrcSeed[7:0],
    wire_pkg::IcrcSeed[15:8],
    wire_pkg::IcrcSeed[23:16],
    wire_pkg::IcrcSeed[31:24]
  };

  logic [6:0] beat_q, line;
  logic [511:0] carried_q, carried, now, window;
  logic [1023:0] header, mask;
  logic [703:0] packet_mask;
  logic first;
  assign first = beat_q == '0;
  assign done = run && beat_q == frame.beats - 7'd1;

  // The payload begins in the first or second beat, behind the headers.
  assign line = beat_q - 7'(frame.header_bytes[6]);
  assign read_row_o = frame.row + SlotWidth'(line[6:4]);
  assign read_bank_o = line[3:0];
  assign now = (beat_q >= 7'(frame.header_bytes[6]) && line < frame.lines) ? read_i : '0;
  assign carried = first ? '0 : carried_q;
  assign window = 512'({carried, now} >> {frame.header_bytes[5:0], 3'b000});

  assign header = {frame.header, 176'b0};
  assign packet_mask = frame.ipv6 ? Ipv6Mask : Ipv4Mask;
  assign mask = frame.has_tag ? {(Tagged)'(0), packet_mask, 176'b0} :
                               {(Plain)'(0), packet_mask, 208'b0};

  beat_t joined;
  logic [511:0] counted;
  logic [6:0] covered;
  always_comb begin
    joined.about = frame.about;
    joined.first = first;
    joined.last  = done;
    joined.bytes = window;
    counted      = '0;
    if (first) begin
      joined.bytes = window | header[1023:512];
      counted      = mask[1023:512];
    end else if (beat_q == 7'd1) begin
      joined.bytes = window | header[511:0];
      counted      = mask[511:0];
    end
    counted = counted | joined.bytes;
    if (first) begin
      counted = frame.has_tag ? {(Tagged)'(0), counted[511-Tagged:0]} :
                               {(Plain)'(0), counted[511-Plain:0]};
      counted = counted ^ (frame.has_tag ? {(Tagged)'(0), Seed, (480 - Tagged)'(0)} :
                                          {(Plain)'(0), Seed, (480 - Plain)'(0)});
    end
    covered        = frame.icrc_at[12:6] > beat_q ? 7'd64 :
                     frame.icrc_at[12:6] == beat_q ? 7'(frame.icrc_at[5:0]) : 7'd0;
    // All but the Ethernet header is whole dwords, so the ICRC lies across two beats only so.
    joined.ends    = frame.icrc_at[12:6] == beat_q;
    joined.spilled = frame.icrc_at[12:6] + 7'd1 == beat_q && frame.icrc_at[5:0] == 6'd62;
    joined.at      = frame.icrc_at[5:0];
  end

  // -----------------------------------------------------------------------------------------------
  // sum

  logic joined_valid_q, summed_valid_q;
  beat_t joined_q, summed_q;
  logic [511:0] counted_q;
  logic [6:0] covered_q;
  logic [31:0] crc_q, crc_before, crc;
  assign crc_before = joined_q.first ? '0 : crc_q;

  crc32 #(
      .Bytes(64)
  ) u_crc (
      .crc_i   (crc_before),
      .data_i  (counted_q),
      .length_i(covered_q),
      .crc_o   (crc)
  );

  always_ff @(posedge clk_i) begin
    if (run) begin
      carried_q  <= now;
      joined_q  <= joined;
      counted_q <= counted;
      covered_q <= covered;
    end
    if (joined_valid_q) begin
      summed_q <= joined_q;
      crc_q    <= crc;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q         <= '0;
      joined_valid_q <= 1'b0;
      summed_valid_q <= 1'b0;
    end else begin
      joined_valid_q <= run;
      summed_valid_q <= joined_valid_q;
      if (run) begin
        beat_q <= done ? '0 : beat_q + 7'd1;
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // close

  // Sent inverted, least significant byte first.
  logic [31:0] icrc;
  logic [511:0] bytes;
  assign icrc = ~{crc_q[7:0], crc_q[15:8], crc_q[23:16], crc_q[31:24]};
  always_comb begin
    bytes = summed_q.bytes;
    if (summed_q.ends) begin
      bytes = bytes | ({icrc, 480'b0} >> {summed_q.at, 3'b000});
    end
    if (summed_q.spilled) begin
      bytes = bytes | {icrc[15:0], 496'b0};
    end
  end

  assign valid_o = summed_valid_q;
  assign beat_o = {summed_q.about, summed_q.first, summed_q.last, bytes};

  `CARILLON_ASSERT(!push_i || write_q != read_q || (due_q == '0 && coming_q == '0))
  `CARILLON_ASSERT(!run || frame.icrc_at[1:0] == 2'd2)

endmodule
