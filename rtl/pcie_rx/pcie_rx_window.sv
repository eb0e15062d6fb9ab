// Where an address lies in a row of windows of a power of two of bytes each.

module pcie_rx_window (
    input logic [63:0] address_i,  // of a request - BARs
    input logic [63:0] base_i,     // of the first window - BARs
    input logic [5:0]  log_i,      // log2 of a window's bytes, 0: there is none - BARs

    output logic        there_o,  // at the first window or behind - BARs
    output logic [63:0] index_o,  // in which one, from 0 - BARs
    output logic [31:0] offset_o  // where in it - BARs
);

  logic [63:0] away;
  assign away = address_i - base_i;
  assign there_o = log_i != '0 && address_i >= base_i;
  assign index_o = away >> log_i;
  assign offset_o = 32'(away) & ~(~32'b0 << log_i);

endmodule
