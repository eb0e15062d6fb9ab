// Which function's BAR an address hits. The PF's come first; the BARs of the VFs follow each
// other, so a VF's number is that of the window. A function that is being reset is not hit.

module pcie_rx_bars (
    input logic [63:0]                            address_i,   // of a request - router
    input streams_pkg::function_windows_t         windows_i,   // where they are - pcie_endpoint
    input logic [stages_pkg::PcieRxFunctions-1:0] resetting_i, // by function - pcie_endpoint

    output logic        hit_o,       // a BAR is there - router
    output logic [15:0] function_o,  // whose, 0 if none - router
    output logic [2:0]  bar_o,       // which - router
    output logic [31:0] offset_o     // in it - router
);

  localparam int unsigned FunctionWidth = $clog2(stages_pkg::PcieRxFunctions);

  logic pf_0_there, pf_2_there, pf_4_there, vf_0_there, vf_2_there;
  logic [63:0] pf_0_index, pf_2_index, pf_4_index, vf_0_index, vf_2_index;
  logic [31:0] pf_0_offset, pf_2_offset, pf_4_offset, vf_0_offset, vf_2_offset;
  pcie_rx_window u_pf_0 (
      .address_i,
      .base_i  (windows_i.pf_base_0),
      .log_i   (windows_i.pf_log_0),
      .there_o (pf_0_there),
      .index_o (pf_0_index),
      .offset_o(pf_0_offset)
  );
  pcie_rx_window u_pf_2 (
      .address_i,
      .base_i  (windows_i.pf_base_2),
      .log_i   (windows_i.pf_log_2),
      .there_o (pf_2_there),
      .index_o (pf_2_index),
      .offset_o(pf_2_offset)
  );
  pcie_rx_window u_pf_4 (
      .address_i,
      .base_i  (windows_i.pf_base_4),
      .log_i   (windows_i.pf_log_4),
      .there_o (pf_4_there),
      .index_o (pf_4_index),
      .offset_o(pf_4_offset)
  );
  pcie_rx_window u_vf_0 (
      .address_i,
      .base_i  (windows_i.vf_base_0),
      .log_i   (windows_i.vf_log_0),
      .there_o (vf_0_there),
      .index_o (vf_0_index),
      .offset_o(vf_0_offset)
  );
  pcie_rx_window u_vf_2 (
      .address_i,
      .base_i  (windows_i.vf_base_2),
      .log_i   (windows_i.vf_log_2),
      .there_o (vf_2_there),
      .index_o (vf_2_index),
      .offset_o(vf_2_offset)
  );

  logic [FunctionWidth-1:0] vf_0_function, vf_2_function;
  logic pf, vf, vf_0_hit, vf_2_hit;
  assign pf = windows_i.pf_enable && !resetting_i[0];
  assign vf = windows_i.vf_enable;
  assign vf_0_function = FunctionWidth'(vf_0_index) + 1'b1;
  assign vf_2_function = FunctionWidth'(vf_2_index) + 1'b1;
  assign vf_0_hit = vf && vf_0_there && vf_0_index < 64'(windows_i.vfs) &&
                    !resetting_i[vf_0_function];
  assign vf_2_hit = vf && vf_2_there && vf_2_index < 64'(windows_i.vfs) &&
                    !resetting_i[vf_2_function];

  // The first one counts.
  always_comb begin
    hit_o      = 1'b1;
    function_o = '0;
    bar_o      = 3'd0;
    offset_o   = pf_0_offset;
    if (pf && pf_0_there && pf_0_index == '0) begin
      bar_o = 3'd0;
    end else if (pf && pf_2_there && pf_2_index == '0) begin
      bar_o    = 3'd2;
      offset_o = pf_2_offset;
    end else if (pf && pf_4_there && pf_4_index == '0) begin
      bar_o    = 3'd4;
      offset_o = pf_4_offset;
    end else if (vf_0_hit) begin
      function_o = 16'(vf_0_function);
      offset_o   = vf_0_offset;
    end else if (vf_2_hit) begin
      function_o = 16'(vf_2_function);
      bar_o      = 3'd2;
      offset_o   = vf_2_offset;
    end else begin
      hit_o = 1'b0;
    end
  end

endmodule
