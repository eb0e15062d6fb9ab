// The registers of misses: each from when its line is asked for, or written, until it is put into
// the cache. In a cycle the answer comes first, then the write, then a line is put into the cache,
// then lines are asked for.

module qpc_ram_misses #(
    parameter  int unsigned Registers = 32,
    parameter  int unsigned Finds     = 24,
    localparam int unsigned Width     = Registers > 1 ? $clog2(Registers) : 1,
    localparam int unsigned IdWidth   = 32
) (
    input  logic                     clk_i,           // core clock
    input  logic                     rst_ni,          // synchronous reset, active low
    input  logic [              8:0] registers_i,     // how many there are - level
    input  logic                     outdate_i,       // what is read is outdated - memory
    input  logic                     answer_i,        // an answer - memory
    input  streams_pkg::icm_answer_t answer_data_i,   // its answer - memory
    output logic                     fail_o,          // no line comes - readers
    output logic [      IdWidth-1:0] fail_id_o,       // which - readers
    input  logic [    2*IdWidth-1:0] write_find_i,    // of each writer: its line - qpc_ram
    output logic [              1:0] write_found_o,   // it has a register - qpc_ram
    output logic                     write_room_o,    // there is one for it - qpc_ram
    input  logic                     write_i,         // a line goes into its register - qpc_ram
    input  logic [      IdWidth-1:0] write_id_i,      // which - qpc_ram
    input  logic [            511:0] write_data_i,    // the line - qpc_ram
    output logic                     ready_o,         // a line is to be put in - qpc_ram
    output logic [      IdWidth-1:0] ready_id_o,      // which - tags
    output logic                     ready_again_o,   // it is read again - qpc_ram
    output logic                     ready_dirty_o,   // memory has an older one - tags
    output logic [            511:0] ready_data_o,    // the line - lines
    input  logic                     ready_pop_i,     // so it goes - qpc_ram
    input  logic [Finds*IdWidth-1:0] find_i,          // lines that are wanted - readers
    output logic [        Finds-1:0] found_o,         // they have a register - qpc_ram
    output logic [              1:0] free_o,          // registers, 3 for more - qpc_ram
    input  logic [              1:0] fetch_i,         // lines are asked for in turn - qpc_ram
    input  logic [    2*IdWidth-1:0] fetch_id_i,      // which - qpc_ram
    output logic                     wanted_o,        // a line is to be read - memory
    output logic [        Width-1:0] wanted_number_o, // register - memory
    output logic [      IdWidth-1:0] wanted_id_o,     // which - memory
    input  logic                     wanted_pop_i,    // its read leaves - memory
    output logic                     busy_o           // a register is taken - qpc_ram
);

  typedef enum logic [1:0] {Idle, Wanted, Reading, Ready} state_e;

  logic [2*Registers-1:0] state_q, state_answered, state_written, state_put, state_d;
  logic [Registers*IdWidth-1:0] id_q, id_written, id_d;
  logic [Registers-1:0] written_q, written_d, written_put, outdated_q, outdated, outdated_d;
  logic [511:0] data_mem[Registers];

  // The cycle's answer
  logic [Width-1:0] number;
  logic again, failed, came;
  assign number = answer_data_i.cookie[Width-1:0];
  for (genvar r = 0; r < Registers; r++) begin : gen_outdate
    assign outdated[r] = outdate_i ? !written_q[r] && state_q[2*r+1] : outdated_q[r];
  end
  assign again = answer_i && outdated[number] && !written_q[number];
  assign failed = answer_i && !again && !written_q[number] &&
      answer_data_i.status != streams_pkg::ReadResultOk;
  assign came = answer_i && !again && !failed;
  assign fail_o = failed;
  assign fail_id_o = id_q[IdWidth*number+:IdWidth];
  always_comb begin
    state_answered = state_q;
    if (answer_i) begin
      state_answered[2*number+:2] = again ? Wanted : failed ? Idle : Ready;
    end
  end

  // Its write: into the line's register, else into the idle one with the lowest number.
  logic [2*Registers-1:0] write_same;
  logic [Registers-1:0] idle_answered;
  logic [Width-1:0] write_number, write_idle;
  logic write_old;
  for (genvar r = 0; r < Registers; r++) begin : gen_write_find
    assign idle_answered[r] = r < registers_i && state_answered[2*r+:2] == Idle;
    assign write_same[r] = state_answered[2*r+:2] != Idle &&
        id_q[IdWidth*r+:IdWidth] == write_find_i[0+:IdWidth];
    assign write_same[Registers+r] = state_answered[2*r+:2] != Idle &&
        id_q[IdWidth*r+:IdWidth] == write_find_i[IdWidth+:IdWidth];
  end
  assign write_found_o = {write_same[Registers+:Registers] != '0, write_same[0+:Registers] != '0};
  assign write_room_o = idle_answered != '0;
  always_comb begin
    write_old    = 1'b0;
    write_number = '0;
    write_idle   = '0;
    for (int unsigned r = Registers; r != 0; r--) begin
      if (idle_answered[r-1]) begin
        write_idle = Width'(r - 1);
      end
      if (state_answered[2*(r-1)+:2] != Idle && id_q[IdWidth*(r-1)+:IdWidth] == write_id_i) begin
        write_old    = 1'b1;
        write_number = Width'(r - 1);
      end
    end
    if (!write_old) begin
      write_number = write_idle;
    end
    state_written = state_answered;
    id_written    = id_q;
    written_d     = written_q;
    outdated_d    = outdated;
    if (again) begin
      outdated_d[number] = 1'b0;
    end
    if (write_i) begin
      written_d[write_number] = 1'b1;
      if (!write_old) begin
        state_written[2*write_number+:2]          = Ready;
        id_written[IdWidth*write_number+:IdWidth] = write_id_i;
        outdated_d[write_number]                  = 1'b0;
      end
    end
  end

  // A line that goes into the cache
  logic [Width-1:0] ready_number;
  logic [511:0] stored;
  qpc_ram_order #(
      .Depth(Registers),
      .Pushes(2)
  ) u_ready (
      .clk_i,
      .rst_ni,
      .push_i({write_i && !write_old, came}),
      .value_i({write_number, number}),
      .valid_o(ready_o),
      .front_o(ready_number),
      .pop_i(ready_pop_i)
  );
  assign stored = data_mem[ready_number];
  assign ready_id_o = id_written[IdWidth*ready_number+:IdWidth];
  assign ready_dirty_o = written_d[ready_number];
  assign ready_again_o = outdated_d[ready_number] && !ready_dirty_o;
  assign ready_data_o = write_i && write_number == ready_number ? write_data_i :
      came && !written_q[number] && number == ready_number ? answer_data_i.data : stored;
  always_comb begin
    state_put   = state_written;
    if (ready_pop_i) begin
      state_put[2*ready_number+:2] = ready_again_o ? Wanted : Idle;
    end
  end

  // Lines that are asked for
  logic [Registers-1:0] idle_put;
  for (genvar r = 0; r < Registers; r++) begin : gen_idle
    assign idle_put[r] = r < registers_i && state_put[2*r+:2] == Idle;
  end
  for (genvar f = 0; f < Finds; f++) begin : gen_find
    logic [Registers-1:0] same;
    for (genvar r = 0; r < Registers; r++) begin : gen_same
      assign same[r] = state_put[2*r+:2] != Idle &&
          id_written[IdWidth*r+:IdWidth] == find_i[IdWidth*f+:IdWidth];
    end
    assign found_o[f] = same != '0;
  end
  logic [Width-1:0] first, second;
  always_comb begin
    first  = '0;
    second = '0;
    free_o = '0;
    for (int unsigned r = 0; r < Registers; r++) begin
      if (idle_put[r]) begin
        if (free_o == 2'd0) begin
          first = Width'(r);
        end
        if (free_o == 2'd1) begin
          second = Width'(r);
        end
        if (free_o != 2'd3) begin
          free_o = free_o + 2'd1;
        end
      end
    end
  end

  qpc_ram_order #(
      .Depth(Registers),
      .Pushes(4)
  ) u_wanted (
      .clk_i,
      .rst_ni,
      .push_i({fetch_i, ready_pop_i && ready_again_o, again}),
      .value_i({second, first, ready_number, number}),
      .valid_o(wanted_o),
      .front_o(wanted_number_o),
      .pop_i(wanted_pop_i)
  );

  logic [Registers-1:0] outdated_next;
  always_comb begin
    state_d       = state_put;
    id_d          = id_written;
    written_put   = written_d;
    outdated_next = outdated_d;
    if (ready_pop_i && ready_again_o) begin
      outdated_next[ready_number] = 1'b0;
    end
    if (fetch_i[0]) begin
      state_d[2*first+:2]          = Wanted;
      id_d[IdWidth*first+:IdWidth] = fetch_id_i[0+:IdWidth];
      written_put[first]           = 1'b0;
      outdated_next[first]         = 1'b0;
    end
    if (fetch_i[1]) begin
      state_d[2*second+:2]          = Wanted;
      id_d[IdWidth*second+:IdWidth] = fetch_id_i[IdWidth+:IdWidth];
      written_put[second]           = 1'b0;
      outdated_next[second]         = 1'b0;
    end
  end
  assign wanted_id_o = id_d[IdWidth*wanted_number_o+:IdWidth];

  always_ff @(posedge clk_i) begin
    if (came && !written_q[number]) begin
      data_mem[number] <= answer_data_i.data;
    end
    // A line that is written in the cycle in which it comes is the newer one.
    if (write_i) begin
      data_mem[write_number] <= write_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= '0;
      id_q       <= '0;
      written_q  <= '0;
      outdated_q <= '0;
    end else begin
      state_q    <= state_d;
      id_q       <= id_d;
      written_q  <= written_put;
      outdated_q <= outdated_next;
      if (wanted_pop_i) begin
        state_q[2*wanted_number_o+:2] <= Reading;
      end
    end
  end

  assign busy_o = state_q != '0;

endmodule
