// What a line means for the range of addresses that waits for it: the key's line, which is checked
// and says where the range is, or else the translation line that the key's page list has for it.
//
// A range is at most 4 KiB and a page at least that, so there are at most two pages, in one line or
// in two that follow each other.
`include "assertions.svh"

module payload_dma_translate (
    input logic                  clk_i,        // core clock
    input logic                  rst_ni,       // synchronous reset, active low
    input logic                  line_take_i,  // a line is taken - qpc_ram
    input streams_pkg::ctx_rsp_t line_i,       // the line - qpc_ram

    // The range that it is for.
    input logic        walking_i,      // the key is known: it is a translation line - lookups
    input logic [15:0] function_id_i,  // on whose behalf - lookups
    input logic [7:0]  variant_i,      // of the key - lookups
    input logic [63:0] address_i,      // virtual; walking: in the page of `entry` - lookups
    input logic [12:0] length_i,       // bytes without an IOVA - lookups
    input logic [2:0]  entry_i,        // walking: the next entry in the line - lookups
    input logic [5:0]  log_page_i,     // walking: log2 of the page's bytes - lookups
    input logic [63:0] part_address_i, // walking: what the line before gave - lookups
    input logic [12:0] part_length_i,  // its bytes, 0 for none - lookups

    output logic        fault_o,         // no access - lookups
    output logic        ended_o,         // its pieces are known; else one more line - lookups
    output logic        two_o,           // there are two - reads
    output logic [63:0] first_address_o, // of the first piece; what the next line continues - reads
    output logic [12:0] first_length_o,  // its bytes - reads
    output logic [63:0] second_address_o, // of the second piece - reads
    output logic [12:0] second_length_o, // its bytes - reads

    output logic [31:0] entry_o,     // of the page list that comes next - lookups
    output logic [63:0] in_page_o,   // where the range goes on in its page - lookups
    output logic [5:0]  log_page_o,  // log2 of the page's bytes - lookups
    output logic [12:0] length_o     // bytes without an IOVA - lookups
);

  // The key.
  contexts_pkg::mkey_line_t key;
  logic covered, usable;
  logic [63:0] key_page, into;
  assign key = line_i.data;
  assign covered = key.length64 ||
                   (address_i >= key.start_addr && 64'(length_i) <= key.len &&
                    address_i - key.start_addr <= key.len - 64'(length_i));
  assign usable = line_i.valid && key.valid && key.variant == variant_i &&
                  key.function_id == function_id_i && covered;
  assign key_page = (64'd1 << key.log_page_size) - 64'd1;
  assign into = address_i - (key.start_addr & ~key_page);

  // The pages.
  logic [63:0] in_page, here, next, here_address, next_address;
  logic [64:0] room;
  logic [12:0] here_length, next_length;
  logic crosses, joins_part, joins_next;
  assign in_page = (64'd1 << log_page_i) - 64'd1;
  always_comb begin
    here = '0;
    next = '0;
    for (int unsigned i = 0; i < 8; i++) begin
      if (entry_i == 3'(i)) begin
        here = line_i.data[511-64*i-:64];
      end
      if (i != 0 && entry_i == 3'(i - 1)) begin
        next = line_i.data[511-64*i-:64];
      end
    end
  end
  assign room = {1'b0, in_page} + 65'd1 - {1'b0, address_i};
  assign crosses = room < 65'(length_i);
  assign here_address = (here & ~in_page) + address_i;
  assign here_length = crosses ? room[12:0] : length_i;
  assign next_address = next & ~in_page;
  assign next_length = length_i - here_length;
  // Pages that follow each other in IOVA space make one piece.
  assign joins_part = part_length_i != '0 &&
                      part_address_i + 64'(part_length_i) == here_address;
  assign joins_next = here_address + 64'(here_length) == next_address;

  always_comb begin
    fault_o          = 1'b0;
    ended_o          = 1'b1;
    two_o            = 1'b0;
    first_address_o  = key.phys_base + (address_i - key.start_addr);
    first_length_o   = length_i;
    second_address_o = next_address;
    second_length_o  = next_length;
    entry_o          = key.mtt_base + 32'(into >> key.log_page_size);
    in_page_o        = into & key_page;
    log_page_o       = key.log_page_size;
    length_o         = length_i;
    if (!walking_i) begin
      fault_o = !usable;
      ended_o = key.contiguous || fault_o;
      if (!ended_o) begin
        first_length_o = '0;
      end
    end else begin
      fault_o         = !line_i.valid || (here & 64'(contexts_pkg::MttReadEnable)) == '0;
      first_address_o = here_address;
      first_length_o  = here_length;
      entry_o         = {5'b0, line_i.index, entry_i} + 32'd1;
      in_page_o       = '0;
      log_page_o      = log_page_i;
      length_o        = next_length;
      if (part_length_i != '0) begin
        first_address_o  = part_address_i;
        first_length_o   = joins_part ? part_length_i + here_length : part_length_i;
        two_o            = !joins_part;
        second_address_o = here_address;
        second_length_o  = here_length;
      end else if (crosses && entry_i == 3'd7) begin
        ended_o = 1'b0;
      end else if (crosses) begin
        fault_o = fault_o || (next & 64'(contexts_pkg::MttReadEnable)) == '0;
        two_o   = !joins_next;
        if (joins_next) begin
          first_length_o = length_i;
        end
      end
      ended_o = ended_o || fault_o;
    end
  end

  `CARILLON_ASSERT(!line_take_i || walking_i || ended_o || key.log_page_size >= 6'd12)
  `CARILLON_ASSERT(!line_take_i || !walking_i || !crosses || part_length_i == '0)

endmodule
