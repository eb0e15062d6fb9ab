// Assertions that every twin makes about its streams. Nothing of it is synthesised.

// Once offered, a beat stays as it is until it is taken.
`define CARILLON_ASSERT_STREAM(name)                                                   \
  `ifndef YOSYS                                                                        \
  assert property (@(posedge clk_i) disable iff (!rst_ni)                              \
                   (name``_valid_o && !name``_ready_i) |=>                             \
                   (name``_valid_o && $stable(name``_o)));                             \
  `endif

// A condition that holds at every edge outside reset.
`define CARILLON_ASSERT(condition)                                                     \
  `ifndef YOSYS                                                                        \
  assert property (@(posedge clk_i) disable iff (!rst_ni) (condition));                \
  `endif
