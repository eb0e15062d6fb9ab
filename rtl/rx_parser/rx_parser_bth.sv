// ST_BTH: the base transport header and the extension headers that its opcode calls for.
// Combinational.
module rx_parser_bth (
    input  logic [95:0]  bth_i,            // the BTH - ST_UDP
    input  logic [223:0] extension_i,      // what follows it, the longest extension - ST_UDP
    input  logic [12:0]  bytes_i,          // from the BTH through the ICRC - ST_UDP
    output logic [4:0]   refusal_o,        // what the header is refused for - lookup
    output logic         request_o,        // the responder takes it, not the requester - lookup
    output logic [4:0]   extension_bytes_o, // of the extension headers - front end
    output logic [15:0]  pkey_o,           // partition key - verdict
    output streams_pkg::rx_packet_beat_t packet_o  // the packet, as far as these headers tell -
                                                   // verdict
);

  localparam int unsigned Icrc = {24'b0, wire_pkg::IcrcBytes};

  wire_pkg::bth_t header;
  wire_pkg::deth_t datagram;
  wire_pkg::reth_t remote;
  wire_pkg::atomiceth_t atomic;
  wire_pkg::aeth_t acknowledge;
  assign header = bth_i;
  assign datagram = extension_i[223 -: 8*wire_pkg::DethBytes];
  assign remote = extension_i[223 -: 8*wire_pkg::RethBytes];
  assign atomic = extension_i;
  assign acknowledge = extension_i[223 -: 8*wire_pkg::AethBytes];

  logic has_deth, has_reth, has_aeth, has_atomic, has_result, has_word;
  always_comb begin
    has_deth   = wire_pkg::OpcodeHasDeth[header.opcode];
    has_reth   = wire_pkg::OpcodeHasReth[header.opcode];
    has_aeth   = wire_pkg::OpcodeHasAeth[header.opcode];
    has_atomic = wire_pkg::OpcodeHasAtomiceth[header.opcode];
    has_result = wire_pkg::OpcodeHasAtomicacketh[header.opcode];
    has_word   = wire_pkg::OpcodeHasImmdt[header.opcode] || wire_pkg::OpcodeHasIeth[header.opcode];
  end

  // Immediate data or the key to invalidate come behind the other header, if there is one.
  logic [31:0] word;
  always_comb begin
    if (has_deth) begin
      word = extension_i[223-8*wire_pkg::DethBytes -: 32];
    end else if (has_reth) begin
      word = extension_i[223-8*wire_pkg::RethBytes -: 32];
    end else begin
      word = extension_i[223 -: 32];
    end
  end

  logic [4:0] extension;
  always_comb begin
    extension = '0;
    if (has_deth) begin
      extension = extension + 5'(wire_pkg::DethBytes);
    end
    if (has_reth) begin
      extension = extension + 5'(wire_pkg::RethBytes);
    end
    if (has_aeth) begin
      extension = extension + 5'(wire_pkg::AethBytes);
    end
    if (has_atomic) begin
      extension = extension + 5'(wire_pkg::AtomicethBytes);
    end
    if (has_result) begin
      extension = extension + 5'(wire_pkg::AtomicackethBytes);
    end
    if (has_word) begin
      extension = extension + 5'(wire_pkg::ImmdtBytes);
    end
  end

  logic [12:0] behind, data;  // the BTH; the extension headers, without the ICRC
  assign behind = bytes_i - 13'(wire_pkg::BthBytes);
  assign data = behind - 13'(extension) - 13'(Icrc);

  always_comb begin
    refusal_o = streams_pkg::RxRefusalNothing;
    if (bytes_i < 13'(wire_pkg::BthBytes + Icrc)) begin
      refusal_o = streams_pkg::RxRefusalBthTruncated;
    end else if (header.version != '0) begin
      refusal_o = streams_pkg::RxRefusalBthVersion;
    end else if (!wire_pkg::OpcodeValid[header.opcode]) begin
      refusal_o = streams_pkg::RxRefusalBthOpcode;
    end else if (behind < 13'(extension) + 13'(Icrc) || behind[1:0] != '0 ||
                 (data != '0 && !wire_pkg::OpcodeHasPayload[header.opcode])) begin
      refusal_o = streams_pkg::RxRefusalBthLength;
    end else if (data < 13'(header.pad_count)) begin
      refusal_o = streams_pkg::RxRefusalBthPad;
    end
  end

  assign request_o = !wire_pkg::OpcodeIsResponse[header.opcode];
  assign extension_bytes_o = extension;
  assign pkey_o = header.pkey;

  always_comb begin
    packet_o             = '0;
    packet_o.qpn         = header.dest_qpn;
    packet_o.opcode      = header.opcode;
    packet_o.solicited   = header.se;
    packet_o.ack_request = header.ack_req;
    packet_o.psn         = header.psn;
    packet_o.payload     = data - 13'(header.pad_count);
    if (has_reth || has_atomic) begin
      packet_o.remote_address = remote.va;
      packet_o.rkey           = remote.rkey;
    end
    if (has_reth) begin
      packet_o.dma_length = remote.dma_length;
    end
    if (has_atomic) begin
      packet_o.swap_add = atomic.swap_add;
      packet_o.compare  = atomic.compare;
    end
    if (has_word) begin
      packet_o.imm = word;
    end
    if (has_result) begin
      packet_o.atomic_result =
          extension_i[223-8*wire_pkg::AethBytes -: 8*wire_pkg::AtomicackethBytes];
    end
    if (has_deth) begin
      packet_o.source_qpn = datagram.src_qpn;
      packet_o.qkey       = datagram.qkey;
    end
    if (has_aeth) begin
      packet_o.syndrome = {acknowledge.kind, acknowledge.value};
      packet_o.msn      = acknowledge.msn;
    end
  end

`ifndef YOSYS
  // RETH and AtomicETH begin alike, and no opcode has several headers before immediate data.
  if ((wire_pkg::OpcodeHasDeth & wire_pkg::OpcodeHasReth) != '0 ||
      ((wire_pkg::OpcodeHasAeth | wire_pkg::OpcodeHasAtomiceth) &
       (wire_pkg::OpcodeHasImmdt | wire_pkg::OpcodeHasIeth)) != '0) begin : gen_opcode_check
    $fatal(0, "%m: an opcode with headers in an order that is not known here");
  end
`endif

endmodule
