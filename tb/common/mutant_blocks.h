// The broken variants of the twins, for the tests of those who must find them.
#pragma once

namespace carillon {

/// Adds them to rtl_registry, each under the name of its patch in tb/mutants:
/// <stage>__<variant>.patch.
void register_mutants();

}  // namespace carillon
