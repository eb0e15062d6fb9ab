# Google Benchmark programs: built with everything, run by hand.
foreach(file IN LISTS benches)
  cmake_path(GET file STEM stem)
  add_executable(${stem} "${file}")
  target_link_libraries(${stem} PRIVATE ${bench_libraries} benchmark::benchmark
                                        carillon_sanitizer_options)
  carillon_pch(${stem} "${file}")
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                           "${PROJECT_BINARY_DIR}/tb/bench")
endforeach()
