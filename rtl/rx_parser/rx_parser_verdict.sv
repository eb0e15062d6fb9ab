// ST_CTX_LOOKUP, the way back: what a packet is to its QP, and where it goes. ST_DMA_WRITE: to be
// written, or an answer; ST_NAK: to the responder with another verdict, which decides about the
// answer; ST_DROP. Combinational.
module rx_parser_verdict (
    input  logic [7:0]  opcode_i,       // of the packet's BTH - packets
    input  logic [23:0] psn_i,          // its number - packets
    input  logic [15:0] pkey_i,         // its partition key - packets
    input  logic [15:0] port_i,         // function whose port it came to - packets
    input  logic        icrc_good_i,    // its ICRC is right - ICRC
    input  logic        exists_i,       // the QP number exists - lines
    input  contexts_pkg::qpc_common_t    common_i,     // the QP's common line - lines
    input  contexts_pkg::qpc_responder_t responder_i,  // its responder line, of a request - lines
    output logic [2:0]  verdict_o,      // what it is - top
    output logic [4:0]  refusal_o,      // why it is dropped - top
    output logic [2:0]  state_o         // where it goes - top
);

  logic serves;
  always_comb begin
    unique case (opcode_i[7:5])
      wire_pkg::TransportServiceRc:  serves = common_i.service == contexts_pkg::QpServiceRc;
      wire_pkg::TransportServiceUc:  serves = common_i.service == contexts_pkg::QpServiceUc;
      wire_pkg::TransportServiceUd:  serves = common_i.service == contexts_pkg::QpServiceUd;
      default: serves = 1'b1;  // a CNP: no other service has opcodes
    endcase
  end

  logic sends, receives;
  always_comb begin
    sends = common_i.state == contexts_pkg::QpStateRts ||
            common_i.state == contexts_pkg::QpStateSqd ||
            common_i.state == contexts_pkg::QpStateSqDraining;
    receives = (sends || common_i.state == contexts_pkg::QpStateRtr ||
                common_i.state == contexts_pkg::QpStateSqer) && !responder_i.error;
  end

  // Half of the PSN space lies ahead of the expected one.
  logic [23:0] ahead;
  assign ahead = psn_i - responder_i.next_rcv_psn;

  always_comb begin
    if (!exists_i || !common_i.valid) begin
      verdict_o = streams_pkg::RxVerdictCodeNoQp;
    end else if (!serves) begin
      verdict_o = streams_pkg::RxVerdictCodeBadState;
    end else if (wire_pkg::OpcodeIsResponse[opcode_i]) begin
      verdict_o = sends ? streams_pkg::RxVerdictCodeResponse : streams_pkg::RxVerdictCodeBadState;
    end else if (!receives) begin
      verdict_o = streams_pkg::RxVerdictCodeBadState;
    end else if (common_i.service != contexts_pkg::QpServiceRc || ahead == '0) begin
      verdict_o = streams_pkg::RxVerdictCodeAccept;
    end else begin
      verdict_o = ahead[23] ? streams_pkg::RxVerdictCodeDuplicate : streams_pkg::RxVerdictCodeGap;
    end
  end

  // Of two keys of one partition, one at least is a full member's.
  logic same_partition;
  assign same_partition = pkey_i[14:0] == common_i.pkey[14:0] && (pkey_i[15] || common_i.pkey[15]);

  always_comb begin
    refusal_o = streams_pkg::RxRefusalNothing;
    if (!icrc_good_i) begin
      refusal_o = streams_pkg::RxRefusalIcrc;
    end else if (verdict_o != streams_pkg::RxVerdictCodeNoQp &&
                 common_i.function_id != port_i) begin
      refusal_o = streams_pkg::RxRefusalOwner;
    end else if (verdict_o != streams_pkg::RxVerdictCodeNoQp &&
                 verdict_o != streams_pkg::RxVerdictCodeBadState && !same_partition) begin
      refusal_o = streams_pkg::RxRefusalPkey;
    end
  end

  always_comb begin
    state_o = streams_pkg::RxStateStNak;
    if (refusal_o != streams_pkg::RxRefusalNothing) begin
      state_o = streams_pkg::RxStateStDrop;
    end else if (verdict_o == streams_pkg::RxVerdictCodeAccept ||
                 verdict_o == streams_pkg::RxVerdictCodeResponse) begin
      state_o = streams_pkg::RxStateStDmaWrite;
    end
  end

endmodule
