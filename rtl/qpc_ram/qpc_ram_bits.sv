// A bit for each of Count things, all clear after reset. Only groups of bits have a flop, which
// says that the group was ever written; the bits themselves lie in a memory that no reset reaches.

module qpc_ram_bits #(
    parameter  int unsigned Count   = 64,
    parameter  int unsigned Updates = 1,
    parameter  int unsigned Reads   = 1,
    localparam int unsigned Width   = Count > 1 ? $clog2(Count) : 1
) (
    input  logic                     clk_i,     // core clock
    input  logic                     rst_ni,    // synchronous reset, active low
    input  logic                     clear_i,   // all become 0, before the updates - owner
    input  logic [      Updates-1:0] update_i,  // bits are written, one after the other - owner
    input  logic [Updates*Width-1:0] index_i,   // which - owner
    input  logic [      Updates-1:0] value_i,   // to what - owner
    input  logic [  Reads*Width-1:0] read_i,    // bits that are looked at - owner
    output logic [        Reads-1:0] bit_o      // what they are before the updates - owner
);

  localparam int unsigned PlaceWidth = 5;
  localparam int unsigned Size = 1 << PlaceWidth;
  localparam int unsigned Groups = (Count + Size - 1) / Size;
  localparam int unsigned GroupWidth = Groups > 1 ? $clog2(Groups) : 1;
  localparam int unsigned FullWidth = GroupWidth + PlaceWidth;

  logic [Size-1:0] bits_mem[Groups];
  logic [Groups-1:0] known_q, known;
  assign known = clear_i ? '0 : known_q;

  // What each update makes of its group, with those before it.
  logic [Updates*GroupWidth-1:0] groups;
  logic [Updates*Size-1:0] stored, masks, words;

  for (genvar k = 0; k < Updates; k++) begin : gen_update
    logic [FullWidth-1:0] full;
    assign full = FullWidth'(index_i[Width*k+:Width]);
    assign groups[GroupWidth*k+:GroupWidth] = full[FullWidth-1:PlaceWidth];
    assign stored[Size*k+:Size] = known[full[FullWidth-1:PlaceWidth]] ?
        bits_mem[full[FullWidth-1:PlaceWidth]] : '0;
    assign masks[Size*k+:Size] = Size'(1) << full[PlaceWidth-1:0];
  end

  always_comb begin
    words = stored;
    for (int unsigned k = 0; k < Updates; k++) begin
      for (int unsigned j = 0; j < k; j++) begin
        if (update_i[j] && groups[GroupWidth*j+:GroupWidth] == groups[GroupWidth*k+:GroupWidth])
        begin
          words[Size*k+:Size] = words[Size*j+:Size];
        end
      end
      words[Size*k+:Size] = value_i[k] ? words[Size*k+:Size] | masks[Size*k+:Size] :
          words[Size*k+:Size] & ~masks[Size*k+:Size];
    end
  end

  always_ff @(posedge clk_i) begin
    // Of the same group the last has them all.
    for (int unsigned k = 0; k < Updates; k++) begin
      if (update_i[k]) begin
        bits_mem[groups[GroupWidth*k+:GroupWidth]] <= words[Size*k+:Size];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      known_q <= '0;
    end else begin
      if (clear_i) begin
        known_q <= '0;
      end
      for (int unsigned k = 0; k < Updates; k++) begin
        if (update_i[k]) begin
          known_q[groups[GroupWidth*k+:GroupWidth]] <= 1'b1;
        end
      end
    end
  end

  for (genvar r = 0; r < Reads; r++) begin : gen_read
    logic [FullWidth-1:0] full;
    logic [Size-1:0] group;
    assign full = FullWidth'(read_i[Width*r+:Width]);
    assign group = bits_mem[full[FullWidth-1:PlaceWidth]];
    assign bit_o[r] = known[full[FullWidth-1:PlaceWidth]] && group[full[PlaceWidth-1:0]];
  end

endmodule
