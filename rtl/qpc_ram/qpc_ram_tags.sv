// Which lines of host memory are on the chip, and where: a set-associative cache, least recently
// used, written back. In a cycle all it holds may be forgotten first; then a line may be put in or
// become dirty; then lines are used. Every look has a port of its own to the tags.

module qpc_ram_tags #(
    parameter  int unsigned LogSets   = 12,
    parameter  int unsigned Ways      = 8,
    parameter  int unsigned Looks     = 24,
    parameter  int unsigned Keeps     = 12,
    localparam int unsigned WayWidth  = Ways > 1 ? $clog2(Ways) : 1,
    localparam int unsigned LineWidth = LogSets + WayWidth,
    localparam int unsigned IdWidth   = 32
) (
    input  logic                       clk_i,          // core clock
    input  logic                       rst_ni,         // synchronous reset, active low
    input  logic [                4:0] log_sets_i,     // log2 of the sets that there are - level
    input  logic [                6:0] ways_i,         // ways that there are - level
    input  logic                       clear_i,        // all is forgotten, first - qpc_ram
    input  logic [      2*IdWidth-1:0] early_id_i,     // of each writer: its line - qpc_ram
    output logic [                1:0] early_hit_o,    // it is here - qpc_ram
    output logic [    2*LineWidth-1:0] early_line_o,   // where - qpc_ram
    input  logic [        IdWidth-1:0] image_id_i,     // a line that is looked at - qpc_ram
    output logic                       image_hit_o,    // it is here - qpc_ram
    output logic [      LineWidth-1:0] image_line_o,   // where - qpc_ram
    output logic                       image_dirty_o,  // memory has an older one - qpc_ram
    input  logic [        IdWidth-1:0] put_id_i,       // a line that is to be put in - misses
    input  logic [          Keeps-1:0] keep_i,         // lines that stay - readers
    input  logic [  Keeps*IdWidth-1:0] keep_id_i,      // which - readers
    output logic                       place_o,        // there is a place for it - qpc_ram
    output logic [      LineWidth-1:0] place_line_o,   // which - qpc_ram
    output logic                       place_valid_o,  // there is a line in it - qpc_ram
    output logic                       place_dirty_o,  // memory has an older one - qpc_ram
    output logic [        IdWidth-1:0] place_id_o,     // which line - memory
    input  logic                       put_i,          // the line is put there - qpc_ram
    input  logic                       put_dirty_i,    // memory has an older one - misses
    input  logic                       dirty_i,        // a line that is here is written - qpc_ram
    input  logic [      LineWidth-1:0] dirty_line_i,   // where - qpc_ram
    input  logic [  Looks*IdWidth-1:0] look_id_i,      // lines that are wanted - readers
    output logic [          Looks-1:0] look_hit_o,     // they are here by now - qpc_ram
    output logic [Looks*LineWidth-1:0] look_line_o,    // where - qpc_ram
    input  logic [                2:0] use_i,          // lines are used in turn - qpc_ram
    input  logic [    3*LineWidth-1:0] use_line_i      // which - qpc_ram
);

  localparam int unsigned Sets = 1 << LogSets;
  // The ports to the tags: looks, writers, the image, the place.
  localparam int unsigned Image = Looks + 2;
  localparam int unsigned Place = Looks + 3;
  localparam int unsigned Ports = Looks + 4;
  localparam int unsigned Kinds = 9;

  logic [Ways*IdWidth-1:0] tags_mem[Sets];
  logic [Ways-1:0] valid_mem[Sets];
  logic [Ways-1:0] dirty_mem[Sets];
  logic [Ways*Ways-1:0] used_mem[Sets];  // bit i * Ways + j: i was used later than j

  // Kinds are spread over the sets, so that the lines of objects with like numbers do not meet.
  logic [LogSets-1:0] mask, step;
  logic [16*LogSets-1:0] spread;
  assign mask = LogSets'((32'd1 << log_sets_i) - 32'd1);
  assign step = LogSets'((32'd1 << log_sets_i) >> ($clog2(Kinds) - 1)) | LogSets'(1);
  for (genvar k = 0; k < 16; k++) begin : gen_spread
    assign spread[LogSets*k+:LogSets] = LogSets'(k * step);
  end

  logic [Ports*IdWidth-1:0] ids;
  assign ids = {put_id_i, image_id_i, early_id_i, look_id_i};

  logic [Ports*LogSets-1:0] sets;
  logic [Ports-1:0] filled;
  logic [Ports*Ways-1:0] valid;
  logic [Ports*Ways*IdWidth-1:0] rows;
  logic [Ports-1:0] hits;
  logic [Ports*LineWidth-1:0] lines;
  logic [Ways-1:0] there;
  for (genvar w = 0; w < Ways; w++) begin : gen_there
    assign there[w] = w < ways_i;
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    logic [LogSets-1:0] set;
    logic [Ways*IdWidth-1:0] row;
    logic [Ways-1:0] match, valid_row;
    logic [WayWidth-1:0] way;
    assign set = (ids[IdWidth*p+:LogSets] + spread[LogSets*ids[IdWidth*p+24+:4]+:LogSets]) & mask;
    assign row = tags_mem[set];
    assign valid_row = valid_mem[set];
    assign valid[Ways*p+:Ways] = filled[p] ? valid_row : '0;
    for (genvar w = 0; w < Ways; w++) begin : gen_match
      assign match[w] = filled[p] && valid_row[w] && there[w] &&
          row[IdWidth*w+:IdWidth] == ids[IdWidth*p+:IdWidth];
    end
    always_comb begin
      way = '0;
      for (int unsigned w = 0; w < Ways; w++) begin
        if (match[w]) begin
          way = WayWidth'(w);
        end
      end
    end
    assign sets[LogSets*p+:LogSets] = set;
    assign rows[Ways*IdWidth*p+:Ways*IdWidth] = row;
    assign hits[p] = match != '0;
    assign lines[LineWidth*p+:LineWidth] = {set, way};
  end

  assign early_hit_o = hits[Looks+:2];
  assign early_line_o = lines[LineWidth*Looks+:2*LineWidth];
  assign image_hit_o = hits[Image];
  assign image_line_o = lines[LineWidth*Image+:LineWidth];
  logic [Ways-1:0] image_dirty;
  assign image_dirty = dirty_mem[sets[LogSets*Image+:LogSets]];
  assign image_dirty_o = image_hit_o && image_dirty[image_line_o[WayWidth-1:0]];

  // A place: a free way, else the one least recently used of those that need not stay.
  logic [LogSets-1:0] place_set;
  logic [Ways*IdWidth-1:0] place_row;
  logic [Ways-1:0] place_there, place_kept, place_oldest, place_dirty;
  logic [Ways*Ways-1:0] place_used;
  logic [WayWidth-1:0] place_way;
  assign place_set = sets[LogSets*Place+:LogSets];
  assign place_row = rows[Ways*IdWidth*Place+:Ways*IdWidth];
  assign place_there = valid[Ways*Place+:Ways];
  assign place_used = used_mem[place_set];
  assign place_dirty = dirty_mem[place_set];
  for (genvar w = 0; w < Ways; w++) begin : gen_place
    logic [Keeps-1:0] same;
    for (genvar k = 0; k < Keeps; k++) begin : gen_keep
      assign same[k] = keep_i[k] && keep_id_i[IdWidth*k+:IdWidth] == place_row[IdWidth*w+:IdWidth];
    end
    assign place_kept[w] = same != '0 || !there[w];
    logic [Ways-1:0] later;
    for (genvar v = 0; v < Ways; v++) begin : gen_other
      assign later[v] = v != w && !place_kept[v] && place_used[Ways*w+v];
    end
    assign place_oldest[w] = !place_kept[w] && later == '0;
  end
  always_comb begin
    place_o       = 1'b0;
    place_valid_o = 1'b1;
    place_way     = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (place_oldest[w]) begin
        place_o   = 1'b1;
        place_way = WayWidth'(w);
      end
    end
    for (int unsigned w = Ways; w != 0; w--) begin
      if (there[w-1] && !place_there[w-1]) begin
        place_o       = 1'b1;
        place_valid_o = 1'b0;
        place_way     = WayWidth'(w - 1);
      end
    end
  end
  assign place_line_o = {place_set, place_way};
  assign place_dirty_o = place_dirty[place_way];
  assign place_id_o = place_row[IdWidth*place_way+:IdWidth];

  // What was put in is there for this cycle's looks, what made room is not.
  for (genvar l = 0; l < Looks; l++) begin : gen_look
    logic put_here, gone;
    assign put_here = put_i && look_id_i[IdWidth*l+:IdWidth] == put_id_i;
    assign gone = put_i && lines[LineWidth*l+:LineWidth] == place_line_o;
    assign look_hit_o[l] = put_here || (hits[l] && !gone);
    assign look_line_o[LineWidth*l+:LineWidth] =
        put_here ? place_line_o : lines[LineWidth*l+:LineWidth];
  end

  // Which ways of a set have a line counts only if the set was put into since all was forgotten.
  qpc_ram_bits #(
      .Count(Sets),
      .Updates(1),
      .Reads(Ports)
  ) u_filled (
      .clk_i,
      .rst_ni,
      .clear_i,
      .update_i(put_i),
      .index_i(place_set),
      .value_i(1'b1),
      .read_i(sets),
      .bit_o(filled)
  );

  logic [Ways*IdWidth-1:0] put_row;
  logic [Ways-1:0] put_valid, put_dirty, set_dirty;
  logic [LogSets-1:0] dirty_set;
  assign dirty_set = dirty_line_i[LineWidth-1:WayWidth];
  always_comb begin
    put_row = place_row;
    put_row[IdWidth*place_way+:IdWidth] = put_id_i;
    put_valid = place_there;
    put_valid[place_way] = 1'b1;
    put_dirty = place_dirty;
    put_dirty[place_way] = put_dirty_i;
    set_dirty = dirty_mem[dirty_set];
    set_dirty[dirty_line_i[WayWidth-1:0]] = 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (put_i) begin
      tags_mem[place_set] <= put_row;
      valid_mem[place_set] <= put_valid;
    end
    if (put_i) begin
      dirty_mem[place_set] <= put_dirty;
    end else if (dirty_i) begin
      dirty_mem[dirty_set] <= set_dirty;
    end
  end

  // Each use sees those before it of the same set.
  logic [3*Ways*Ways-1:0] stored, orders;
  for (genvar u = 0; u < 3; u++) begin : gen_use
    assign stored[Ways*Ways*u+:Ways*Ways] =
        used_mem[use_line_i[LineWidth*u+WayWidth+:LogSets]];
  end
  always_comb begin
    orders = stored;
    for (int unsigned u = 0; u < 3; u++) begin
      for (int unsigned v = 0; v < u; v++) begin
        if (use_i[v] && use_line_i[LineWidth*v+WayWidth+:LogSets] ==
            use_line_i[LineWidth*u+WayWidth+:LogSets]) begin
          orders[Ways*Ways*u+:Ways*Ways] = orders[Ways*Ways*v+:Ways*Ways];
        end
      end
      for (int unsigned w = 0; w < Ways; w++) begin
        if (WayWidth'(w) == use_line_i[LineWidth*u+:WayWidth]) begin
          for (int unsigned v = 0; v < Ways; v++) begin
            orders[Ways*Ways*u+Ways*w+v] = 1'b1;
            if (v != w) begin
              orders[Ways*Ways*u+Ways*v+w] = 1'b0;
            end
          end
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < 3; u++) begin
      if (use_i[u]) begin
        used_mem[use_line_i[LineWidth*u+WayWidth+:LogSets]] <= orders[Ways*Ways*u+:Ways*Ways];
      end
    end
  end

endmodule
