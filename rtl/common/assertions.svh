// Assertions that every twin makes about its streams. Nothing of it is synthesised.
//
// They are immediate ones at the edge: concurrent ones have every operand copied at every edge,
// and a beat may have thousands of bits.

// Once offered, a beat stays as it is until it is taken.
`define CARILLON_ASSERT_STREAM(name)                                                   \
  `ifndef YOSYS                                                                        \
  logic name``_waited;                                                                 \
  logic [$bits(name``_o)-1:0] name``_was;                                              \
  always @(posedge clk_i) begin                                                        \
    if (rst_ni && name``_waited) begin                                                 \
      assert (name``_valid_o && name``_o == name``_was);                               \
    end                                                                                \
    name``_waited <= rst_ni && name``_valid_o && !name``_ready_i;                      \
    if (name``_valid_o && !name``_ready_i) begin                                       \
      name``_was <= name``_o;                                                          \
    end                                                                                \
  end                                                                                  \
  `endif

// A condition that holds at every edge outside reset.
`define CARILLON_ASSERT(condition)                                                     \
  `ifndef YOSYS                                                                        \
  always @(posedge clk_i) begin                                                        \
    if (rst_ni) begin                                                                  \
      assert (condition);                                                              \
    end                                                                                \
  end                                                                                  \
  `endif
