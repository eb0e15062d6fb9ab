// libsystemc wants an sc_main; a fuzzer's main is libFuzzer's.
#include <systemc>

int sc_main(int /*argc*/, char* /*argv*/[]) {
  return 0;
}
