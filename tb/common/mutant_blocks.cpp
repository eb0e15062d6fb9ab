#include "tb/common/mutant_blocks.h"

#include "cosim/rtl_block.h"

namespace carillon {

/// Generated (cmake/twin_blocks.cmake).
void add_mutant_blocks(rtl_registry& registry);

void register_mutants() {
  add_mutant_blocks(rtl_registry::instance());
}

}  // namespace carillon
