// Where a TLP goes and with which fields, or that it is dropped, from its first beat.

module pcie_rx_router (
    input streams_pkg::tlp_beat_t                 tlp_i,       // its first beat - the link
    input streams_pkg::function_windows_t         windows_i,   // BARs - pcie_endpoint
    input logic [stages_pkg::PcieRxFunctions-1:0] resetting_i, // by function - pcie_endpoint

    output logic write_o,       // leaves as a write - top
    output logic read_o,        // leaves as a read - top
    output logic uar_o,         // of UAR pages, not of registers - top
    output logic completion_o,  // leaves as a completion - top
    output logic refusal_o,     // leaves as a refusal - top
    output logic config_o,      // leaves as a configuration request - top
    output logic reported_o,    // goes to the function's status registers - top
    output logic poisoned_o,    // its data are not to be used - top

    output logic [15:0] function_o,       // whose BAR it hit, 0 if nobody's - top
    output logic [2:0]  bar_o,            // which - top
    output logic [31:0] offset_o,         // where in it - top
    output logic [1:0]  lead_o,           // bytes of a write's payload before the first - top
    output logic [12:0] length_o,         // bytes of what leaves - top
    output logic [15:0] requester_o,      // who asks - top
    output logic [9:0]  tag_o,            // number of the request - top
    output logic [6:0]  lower_address_o,  // low bits of the first byte's address - top
    output logic [2:0]  status_o,         // of a completion - top
    output logic [12:0] byte_count_o,     // bytes still to come with it - top
    output logic [15:0] destination_o,    // of a configuration request - top
    output logic [11:0] register_o,       // its dword's offset - top
    output logic        type_0_o,         // it is for the bus of the link - top
    output logic        config_write_o,   // it writes - top
    output logic [3:0]  enables_o         // its bytes that count - top
);

  // Without a range of a memory request, a refusal counts a dword.
  localparam logic [12:0] DwordBytes = 13'd4;
  localparam logic [12:0] QwordBytes = 13'd8;

  logic write, read, completion, config_request, message, other, has_data;
  logic [10:0] dwords;
  logic [3:0] last_be;
  logic [63:0] address;
  logic [6:0] completion_lower_address;
  pcie_rx_decode u_decode (
      .header_i       (tlp_i.header),
      .header_bytes_i (tlp_i.header_bytes),
      .payload_bytes_i(tlp_i.payload_bytes),
      .write_o        (write),
      .read_o         (read),
      .completion_o   (completion),
      .config_o       (config_request),
      .message_o      (message),
      .other_o        (other),
      .has_data_o     (has_data),
      .poisoned_o,
      .dwords_o       (dwords),
      .first_be_o     (enables_o),
      .last_be_o      (last_be),
      .address_o      (address),
      .requester_o,
      .tag_o,
      .destination_o,
      .register_o,
      .type_0_o,
      .status_o,
      .byte_count_o,
      .lower_address_o(completion_lower_address)
  );

  logic [12:0] bytes;
  logic holes;
  pcie_rx_extent u_extent (
      .dwords_i  (dwords),
      .first_be_i(enables_o),
      .last_be_i (last_be),
      .lead_o,
      .bytes_o   (bytes),
      .holes_o   (holes)
  );

  // A request of no bytes is at its first dword.
  logic [63:0] first_byte;
  logic hit;
  logic [15:0] hit_function;
  assign first_byte = bytes == '0 ? address : {address[63:2], lead_o};
  pcie_rx_bars u_bars (
      .address_i  (first_byte),
      .windows_i,
      .resetting_i,
      .hit_o      (hit),
      .function_o (hit_function),
      .bar_o,
      .offset_o
  );

  logic served;
  assign served = hit && !poisoned_o;
  assign write_o = write && served && !holes;
  assign read_o = read && served && (bytes == DwordBytes || bytes == QwordBytes);
  assign uar_o = bar_o == 3'd2;
  assign completion_o = completion;
  assign config_o = config_request && !poisoned_o;
  assign config_write_o = has_data;
  assign refusal_o = (read && !read_o) || (config_request && !config_o) || other;
  assign reported_o = refusal_o || (write && !write_o) || message;

  assign function_o = (write || read) && hit ? hit_function : '0;
  always_comb begin
    length_o = bytes;
    if (completion) begin
      length_o = tlp_i.payload_bytes;
    end else if (refusal_o && !read) begin
      length_o = DwordBytes;
    end else if (refusal_o && bytes == '0) begin
      length_o = 13'd1;
    end
  end
  always_comb begin
    lower_address_o = '0;
    if (completion) begin
      lower_address_o = completion_lower_address;
    end else if (read) begin
      lower_address_o = first_byte[6:0];
    end
  end

endmodule
