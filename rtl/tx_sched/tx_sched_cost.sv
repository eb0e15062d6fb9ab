// What a packet takes on the wire: frame, FCS, preamble and gap. The model's wire_bytes.
// Combinational.
module tx_sched_cost (
    input  logic        cnp_i,       // a CNP - top
    input  logic        response_i,  // it answers - cut
    input  logic [1:0]  kind_i,      // what it is - cut
    input  logic [7:0]  opcode_i,    // operation of a request - cut
    input  logic [2:0]  service_i,   // transport service of a request - cut
    input  logic        first_i,     // first packet of its message - cut
    input  logic        last_i,      // last packet of its message - cut
    input  logic [15:0] payload_i,   // bytes - cut
    input  logic        ipv6_i,      // of the QP's path - queues
    input  logic        tagged_i,    // it has a VLAN tag - top
    output logic [15:0] bytes_o      // all of it - functions
);

  // Of Ethernet, VLAN tag, IPv4, IPv6, UDP, BTH and its extensions.
  localparam logic [15:0] Eth = 16'(wire_pkg::EthBytes);
  localparam logic [15:0] Tag = 16'(wire_pkg::VlanTagBytes);
  localparam logic [15:0] Ipv4 = 16'(wire_pkg::Ipv4Bytes);
  localparam logic [15:0] Ipv6 = 16'(wire_pkg::Ipv6Bytes);
  localparam logic [15:0] Udp = 16'(wire_pkg::UdpBytes);
  localparam logic [15:0] Bth = 16'(wire_pkg::BthBytes);
  localparam logic [15:0] Reth = 16'(wire_pkg::RethBytes);
  localparam logic [15:0] AtomicEth = 16'(wire_pkg::AtomicethBytes);
  localparam logic [15:0] Aeth = 16'(wire_pkg::AethBytes);
  localparam logic [15:0] AtomicAckEth = 16'(wire_pkg::AtomicackethBytes);
  localparam logic [15:0] Deth = 16'(wire_pkg::DethBytes);
  localparam logic [15:0] Word = 16'(wire_pkg::ImmdtBytes);  // immediate or key

  logic send, immediate;
  logic [15:0] extensions, padded, frame;
  assign send = opcode_i == wqe_pkg::WqeOpcodeSend || opcode_i == wqe_pkg::WqeOpcodeSendImmediate ||
                opcode_i == wqe_pkg::WqeOpcodeSendInvalidate;
  assign immediate = opcode_i == wqe_pkg::WqeOpcodeSendImmediate ||
                     opcode_i == wqe_pkg::WqeOpcodeSendInvalidate ||
                     opcode_i == wqe_pkg::WqeOpcodeRdmaWriteImmediate;
  always_comb begin
    if (cnp_i) begin
      extensions = '0;
    end else if (response_i) begin
      case (kind_i)
        streams_pkg::PacketKindAtomicAcknowledge: extensions = Aeth + AtomicAckEth;
        streams_pkg::PacketKindReadResponse: extensions = first_i || last_i ? Aeth : '0;
        default: extensions = Aeth;
      endcase
    end else if (service_i == contexts_pkg::QpServiceUd) begin
      extensions = Deth + (opcode_i == wqe_pkg::WqeOpcodeSendImmediate ? Word : '0);
    end else if (opcode_i == wqe_pkg::WqeOpcodeRdmaRead) begin
      extensions = Reth;
    end else if (opcode_i == wqe_pkg::WqeOpcodeAtomicCompareSwap ||
                 opcode_i == wqe_pkg::WqeOpcodeAtomicFetchAdd) begin
      extensions = AtomicEth;
    end else begin
      extensions = (!send && first_i ? Reth : '0) + (immediate && last_i ? Word : '0);
    end
  end

  assign padded = (payload_i + 16'd3) & ~16'd3;
  assign frame = Eth + (tagged_i ? Tag : '0) + (ipv6_i ? Ipv6 : Ipv4) + Udp + Bth + extensions +
                 padded + 16'(wire_pkg::IcrcBytes);
  assign bytes_o = (frame < 16'(wire_pkg::MinFrameBytes) ? 16'(wire_pkg::MinFrameBytes) : frame) +
                   16'(wire_pkg::FcsBytes) + 16'(wire_pkg::PreambleBytes) +
                   16'(wire_pkg::InterPacketGapBytes);

endmodule
