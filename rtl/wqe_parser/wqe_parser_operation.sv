// What the opcode of a send WQE alone says. Combinational.
module wqe_parser_operation (
    input  logic [7:0] opcode_i,       // of the control segment - receive
    output logic       on_rc_o,        // RC QPs serve it - receive
    output logic       on_uc_o,        // UC QPs serve it - receive
    output logic       on_ud_o,        // UD QPs serve it - receive
    output logic       has_data_o,     // data segments may follow - receive
    output logic       has_remote_o,   // a remote address segment comes before them - receive
    output logic       is_atomic_o,    // and an atomic segment - receive
    output logic       writes_o,       // a response is written to its data segments - receive
    output logic       invalidates_o,  // it names a key to invalidate - receive
    output logic [2:0] data_unit_o     // where the data begin on a connected QP - receive
);

  always_comb begin
    on_rc_o       = 1'b0;
    on_uc_o       = 1'b0;
    on_ud_o       = 1'b0;
    has_data_o    = 1'b1;
    has_remote_o  = 1'b0;
    is_atomic_o   = 1'b0;
    writes_o      = 1'b0;
    invalidates_o = 1'b0;
    unique case (opcode_i)
      wqe_pkg::WqeOpcodeNop: begin
        {on_rc_o, on_uc_o, on_ud_o} = 3'b111;
        has_data_o = 1'b0;
      end
      wqe_pkg::WqeOpcodeSend, wqe_pkg::WqeOpcodeSendImmediate: begin
        {on_rc_o, on_uc_o, on_ud_o} = 3'b111;
      end
      wqe_pkg::WqeOpcodeSendInvalidate: begin
        on_rc_o = 1'b1;
      end
      wqe_pkg::WqeOpcodeRdmaWrite, wqe_pkg::WqeOpcodeRdmaWriteImmediate: begin
        {on_rc_o, on_uc_o} = 2'b11;
        has_remote_o = 1'b1;
      end
      wqe_pkg::WqeOpcodeRdmaRead: begin
        on_rc_o      = 1'b1;
        has_remote_o = 1'b1;
        writes_o     = 1'b1;
      end
      wqe_pkg::WqeOpcodeAtomicCompareSwap, wqe_pkg::WqeOpcodeAtomicFetchAdd: begin
        on_rc_o      = 1'b1;
        has_remote_o = 1'b1;
        is_atomic_o  = 1'b1;
        writes_o     = 1'b1;
      end
      wqe_pkg::WqeOpcodeLocalInvalidate: begin
        on_rc_o       = 1'b1;
        has_data_o    = 1'b0;
        invalidates_o = 1'b1;
      end
      default: ;
    endcase
  end

  assign data_unit_o = 3'd1 + 3'(has_remote_o) + 3'(is_atomic_o);

endmodule
