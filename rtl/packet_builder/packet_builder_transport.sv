// What a packet alone says of its transport headers: the BTH opcode, by its kind, service and place
// in the message, and the extension headers that the opcode calls for. Combinational.
module packet_builder_transport (
    input  streams_pkg::payload_beat_t packet_i,           // the packet - lines
    output logic [7:0]                 opcode_o,           // BTH opcode - lines
    output logic [223:0]               extension_o,        // headers behind it, zero beyond - lines
    output logic [4:0]                 extension_bytes_o,  // their bytes - lines
    output logic                       datagram_o,         // a request of UD - lines
    output logic                       cnp_o               // a CNP - lines
);

  // UC request opcodes are those of RC in the next group of 32.
  localparam logic [7:0] UcStep = wire_pkg::BthOpcodeUcSendFirst - wire_pkg::BthOpcodeRcSendFirst;

  logic is_request;
  assign is_request = packet_i.kind == streams_pkg::PacketKindRequest;
  assign datagram_o = is_request && packet_i.service == contexts_pkg::QpServiceUd;
  assign cnp_o = packet_i.kind == streams_pkg::PacketKindAcknowledge &&
                 packet_i.wqe_opcode == wire_pkg::BthOpcodeCnp;

  // -----------------------------------------------------------------------------------------------
  // opcode

  logic [1:0] place;
  logic [7:0] send, write, connected, request, response;
  assign place = {packet_i.first_packet, packet_i.last_packet};

  always_comb begin
    unique case (packet_i.wqe_opcode)
      wqe_pkg::WqeOpcodeSendImmediate:
        send = place[1] ? wire_pkg::BthOpcodeRcSendOnlyImmediate :
                          wire_pkg::BthOpcodeRcSendLastImmediate;
      wqe_pkg::WqeOpcodeSendInvalidate:
        send = place[1] ? wire_pkg::BthOpcodeRcSendOnlyInvalidate :
                          wire_pkg::BthOpcodeRcSendLastInvalidate;
      default:
        send = place[1] ? wire_pkg::BthOpcodeRcSendOnly : wire_pkg::BthOpcodeRcSendLast;
    endcase
    write = place[1] ? wire_pkg::BthOpcodeRcWriteOnly : wire_pkg::BthOpcodeRcWriteLast;
    if (packet_i.wqe_opcode == wqe_pkg::WqeOpcodeRdmaWriteImmediate) begin
      write = place[1] ? wire_pkg::BthOpcodeRcWriteOnlyImmediate :
                         wire_pkg::BthOpcodeRcWriteLastImmediate;
    end
    if (!place[0]) begin
      send  = place[1] ? wire_pkg::BthOpcodeRcSendFirst : wire_pkg::BthOpcodeRcSendMiddle;
      write = place[1] ? wire_pkg::BthOpcodeRcWriteFirst : wire_pkg::BthOpcodeRcWriteMiddle;
    end
  end

  always_comb begin
    unique case (packet_i.wqe_opcode)
      wqe_pkg::WqeOpcodeSend, wqe_pkg::WqeOpcodeSendImmediate, wqe_pkg::WqeOpcodeSendInvalidate:
        connected = send;
      wqe_pkg::WqeOpcodeRdmaRead: connected = wire_pkg::BthOpcodeRcReadRequest;
      wqe_pkg::WqeOpcodeAtomicCompareSwap: connected = wire_pkg::BthOpcodeRcCompareSwap;
      wqe_pkg::WqeOpcodeAtomicFetchAdd: connected = wire_pkg::BthOpcodeRcFetchAdd;
      default: connected = write;
    endcase
    unique case (packet_i.service)
      contexts_pkg::QpServiceUc: request = connected + UcStep;
      contexts_pkg::QpServiceUd:
        request = packet_i.wqe_opcode == wqe_pkg::WqeOpcodeSendImmediate ?
                  wire_pkg::BthOpcodeUdSendOnlyImmediate : wire_pkg::BthOpcodeUdSendOnly;
      default: request = connected;
    endcase
    unique case (place)
      2'b10: response = wire_pkg::BthOpcodeRcReadResponseFirst;
      2'b00: response = wire_pkg::BthOpcodeRcReadResponseMiddle;
      2'b01: response = wire_pkg::BthOpcodeRcReadResponseLast;
      default: response = wire_pkg::BthOpcodeRcReadResponseOnly;
    endcase
    unique case (packet_i.kind)
      streams_pkg::PacketKindRequest: opcode_o = request;
      streams_pkg::PacketKindAcknowledge:
        opcode_o = cnp_o ? wire_pkg::BthOpcodeCnp : wire_pkg::BthOpcodeRcAcknowledge;
      streams_pkg::PacketKindAtomicAcknowledge: opcode_o = wire_pkg::BthOpcodeRcAtomicAcknowledge;
      default: opcode_o = response;
    endcase
  end

  // -----------------------------------------------------------------------------------------------
  // extension headers

  wqe_pkg::datagram_seg_t to;
  assign to = packet_i.address_vector;

  wire_pkg::deth_t deth;
  wire_pkg::reth_t reth;
  wire_pkg::aeth_t aeth;
  wire_pkg::atomiceth_t atomic;
  wire_pkg::atomicacketh_t result;
  always_comb begin
    deth            = '0;
    deth.qkey       = to.qkey;
    deth.src_qpn    = packet_i.qpn;
    reth.va         = packet_i.remote_address;
    reth.rkey       = packet_i.rkey;
    reth.dma_length = packet_i.dma_length;
    aeth            = {packet_i.syndrome, packet_i.msn};
    atomic.va       = packet_i.remote_address;
    atomic.rkey     = packet_i.rkey;
    atomic.swap_add = packet_i.swap_add;
    atomic.compare  = packet_i.compare;
    result.original = packet_i.swap_add;
  end

  // A key to invalidate comes in the immediate's place.
  logic has_imm, has_result;
  logic [31:0] imm;
  assign has_imm = wire_pkg::OpcodeHasImmdt[opcode_o] || wire_pkg::OpcodeHasIeth[opcode_o];
  assign imm = has_imm ? packet_i.imm : '0;
  assign has_result = wire_pkg::OpcodeHasAtomicacketh[opcode_o];

  always_comb begin
    extension_o       = {imm, 192'b0};
    extension_bytes_o = has_imm ? 5'(wire_pkg::ImmdtBytes) : '0;
    if (wire_pkg::OpcodeHasDeth[opcode_o]) begin
      extension_o       = {deth, imm, 128'b0};
      extension_bytes_o = extension_bytes_o + 5'(wire_pkg::DethBytes);
    end
    if (wire_pkg::OpcodeHasReth[opcode_o]) begin
      extension_o       = {reth, imm, 64'b0};
      extension_bytes_o = extension_bytes_o + 5'(wire_pkg::RethBytes);
    end
    if (wire_pkg::OpcodeHasAeth[opcode_o]) begin
      extension_o       = {aeth, has_result ? result : 64'b0, 128'b0};
      extension_bytes_o = 5'(wire_pkg::AethBytes) +
                          (has_result ? 5'(wire_pkg::AtomicackethBytes) : '0);
    end
    if (wire_pkg::OpcodeHasAtomiceth[opcode_o]) begin
      extension_o       = atomic;
      extension_bytes_o = 5'(wire_pkg::AtomicethBytes);
    end
  end

endmodule
