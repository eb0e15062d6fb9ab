// Takes a TLP's header apart: its kind, whether it is well-formed as far as its own words and the
// framing go, and the fields of every kind. The rules are those of model/common/tlp_codec.cpp.

module pcie_rx_decode (
    input logic [127:0] header_i,         // as on the link - the link
    input logic [4:0]   header_bytes_i,   // of the header, by the framing - the link
    input logic [12:0]  payload_bytes_i,  // of the payload, by the framing - the link

    output logic        write_o,         // a memory write - router
    output logic        read_o,          // a memory read - router
    output logic        completion_o,    // a completion - router
    output logic        config_o,        // a configuration request - router
    output logic        message_o,       // a message - router
    output logic        other_o,         // well-formed, but nothing that is served - router
    output logic        has_data_o,      // data follow - router
    output logic        poisoned_o,      // the data are not to be used - router
    output logic [10:0] dwords_o,        // of data that it carries or asks for - router
    output logic [3:0]  first_be_o,      // enables of the first dword - router
    output logic [3:0]  last_be_o,       // enables of the last one - router
    output logic [63:0] address_o,       // of the first dword - router
    output logic [15:0] requester_o,     // who asks, or asked - router
    output logic [9:0]  tag_o,           // number of the request - router
    output logic [15:0] destination_o,   // of a configuration request - router
    output logic [11:0] register_o,      // its dword's offset - router
    output logic        type_0_o,        // it is for the bus of the link - router
    output logic [2:0]  status_o,        // of a completion - router
    output logic [12:0] byte_count_o,    // bytes still to come - router
    output logic [6:0]  lower_address_o  // low bits of the first byte's address - router
);

  tlp_pkg::tlp_dw0_t   dw0;
  tlp_pkg::tlp_mem32_t mem32;
  tlp_pkg::tlp_mem64_t mem64;
  tlp_pkg::tlp_cpl_t   cpl;
  tlp_pkg::tlp_cfg_t   cfg;
  assign dw0   = header_i[127-:32];
  assign mem32 = header_i[127-:96];
  assign mem64 = header_i;
  assign cpl   = header_i[127-:96];
  assign cfg   = header_i[127-:96];

  // ------------------------------------------------------------------------------------------
  // framing

  logic framed, four_dw;
  assign four_dw = dw0.fmt[0];
  assign has_data_o = dw0.fmt[1];
  assign poisoned_o = dw0.ep;
  assign dwords_o = {dw0.length == '0, dw0.length};
  always_comb begin
    framed = dw0.fmt <= tlp_pkg::TlpFmtDw4Data;
    if (header_bytes_i != (four_dw ? 5'(tlp_pkg::TlpMem64Bytes) : 5'(tlp_pkg::TlpMem32Bytes)))
    begin
      framed = 1'b0;
    end
    if (payload_bytes_i != (has_data_o ? {dwords_o, 2'b00} : '0)) begin
      framed = 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------
  // memory requests

  // Enables may have holes in requests of one dword, and of two that form an aligned quadword;
  // others go from some byte of the first dword to some byte of the last.
  logic enables_fit, page_fits;
  logic [12:0] page_end;
  assign first_be_o = mem32.first_be;
  assign last_be_o = mem32.last_be;
  assign address_o = four_dw ? {mem64.address_63_32, mem64.address_31_2, 2'b00}
                               : {32'b0, mem32.address_31_2, 2'b00};
  always_comb begin
    if (dwords_o == 11'd1) begin
      enables_fit = last_be_o == '0;
    end else if (first_be_o == '0 || last_be_o == '0) begin
      enables_fit = 1'b0;
    end else if (dwords_o == 11'd2 && !address_o[2]) begin
      enables_fit = 1'b1;
    end else begin
      enables_fit = (first_be_o == 4'b1111 || first_be_o == 4'b1110 || first_be_o == 4'b1100 ||
                     first_be_o == 4'b1000) &&
                    (last_be_o == 4'b1111 || last_be_o == 4'b0111 || last_be_o == 4'b0011 ||
                     last_be_o == 4'b0001);
    end
  end
  assign page_end = 13'(address_o[11:0]) + {dwords_o, 2'b00};
  assign page_fits = page_end <= 13'(tlp_pkg::PageBoundaryBytes);

  // ------------------------------------------------------------------------------------------
  // kinds

  logic memory;
  always_comb begin
    memory       = 1'b0;
    completion_o = 1'b0;
    config_o     = 1'b0;
    message_o    = 1'b0;
    other_o      = 1'b0;
    if (framed) begin
      case (dw0.kind)
        tlp_pkg::TlpTypeMemory: memory = enables_fit && page_fits;
        tlp_pkg::TlpTypeCompletion, tlp_pkg::TlpTypeCompletionLocked: completion_o = !four_dw;
        tlp_pkg::TlpTypeConfig0, tlp_pkg::TlpTypeConfig1:
        config_o = !four_dw && dwords_o == 11'd1 && cfg.last_be == '0;
        tlp_pkg::TlpTypeMessageToRoot, tlp_pkg::TlpTypeMessageByAddress,
        tlp_pkg::TlpTypeMessageById, tlp_pkg::TlpTypeMessageBroadcast,
        tlp_pkg::TlpTypeMessageLocal, tlp_pkg::TlpTypeMessageGathered:
        message_o = four_dw;
        tlp_pkg::TlpTypeMemoryLocked, tlp_pkg::TlpTypeIo, tlp_pkg::TlpTypeFetchAdd,
        tlp_pkg::TlpTypeSwap, tlp_pkg::TlpTypeCompareSwap:
        other_o = 1'b1;
        default: ;
      endcase
    end
  end
  assign write_o = memory && has_data_o;
  assign read_o = memory && !has_data_o;

  assign requester_o = completion_o ? cpl.requester : mem32.requester;
  assign tag_o = {dw0.t9, dw0.t8, completion_o ? cpl.tag : mem32.tag};
  assign destination_o = cfg.destination;
  assign register_o = {cfg.register_11_2, 2'b00};
  assign type_0_o = dw0.kind == tlp_pkg::TlpTypeConfig0;
  assign status_o = cpl.status;
  assign byte_count_o = {cpl.byte_count == '0, cpl.byte_count};
  assign lower_address_o = cpl.lower_address;

endmodule
