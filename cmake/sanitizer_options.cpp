// Read by the sanitizers' runtime before main; linked into programs of sanitized builds only.

extern "C" const char* __asan_default_options() {
  // SystemC switches stacks under its thread processes, which the use-after-return check mistakes
  // for misuse; its kernel keeps the object hierarchy until the process ends, which is no leak.
  return "detect_stack_use_after_return=0:detect_leaks=0";
}

extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
