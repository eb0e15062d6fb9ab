// Numbers in the order in which they came, several a cycle: one that comes to an empty queue is at
// the front in the same cycle. There is room for all numbers there are.

module qpc_ram_order #(
    parameter  int unsigned Depth  = 32,
    parameter  int unsigned Pushes = 2,
    localparam int unsigned Width  = Depth > 1 ? $clog2(Depth) : 1
) (
    input  logic                    clk_i,    // core clock
    input  logic                    rst_ni,   // synchronous reset, active low
    input  logic [      Pushes-1:0] push_i,   // a number comes, the lowest bit first - misses
    input  logic [Pushes*Width-1:0] value_i,  // the number - misses
    output logic                    valid_o,  // there is one - misses
    output logic [       Width-1:0] front_o,  // the oldest, those of this cycle included - misses
    input  logic                    pop_i     // it goes - misses
);

  localparam int unsigned CountWidth = $clog2(Depth + 1);
  localparam logic [Width-1:0] Last = Width'(Depth - 1);

  logic [Width-1:0] order_mem[Depth];
  logic [Width-1:0] read_q, write_q;
  logic [CountWidth-1:0] count_q, count;

  // Where each push goes, and where the next one will.
  logic [Pushes*Width-1:0] places;
  logic [Width-1:0] place;

  always_comb begin
    count   = count_q;
    front_o = order_mem[read_q];
    place   = write_q;
    for (int unsigned i = 0; i < Pushes; i++) begin
      places[Width*i+:Width] = place;
      if (push_i[i]) begin
        place = place == Last ? '0 : place + 1'b1;
        if (count == '0) begin
          front_o = value_i[Width*i+:Width];
        end
        count = count + 1'b1;
      end
    end
  end
  assign valid_o = count != '0;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Pushes; i++) begin
      if (push_i[i]) begin
        order_mem[places[Width*i+:Width]] <= value_i[Width*i+:Width];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q  <= '0;
      write_q <= '0;
      count_q <= '0;
    end else begin
      write_q <= place;
      count_q <= count - CountWidth'(pop_i);
      if (pop_i) begin
        read_q <= read_q == Last ? '0 : read_q + 1'b1;
      end
    end
  end

endmodule
