# carillon_test(<file>): one GoogleTest program; label and timeout follow from the file's name.
add_library(carillon_test_main OBJECT common/main.cpp)
target_link_libraries(
  carillon_test_main
  PUBLIC carillon_options GTest::gtest GTest::gmock
  PRIVATE carillon_sanitizer_options)
carillon_pch(carillon_test_main common/main.cpp)

function(carillon_test file)
  cmake_path(GET file STEM stem)
  set(label unit)
  set(timeout 60)
  if(stem MATCHES "_slow_test$")
    set(label slow)
    set(timeout 600)
  elseif(stem MATCHES "_lockstep(_test)?$")
    set(label lockstep)
  endif()
  if(CARILLON_SANITIZE)
    math(EXPR timeout "${timeout} * 5")
  endif()

  add_executable(${stem} "${file}")
  target_link_libraries(${stem} PRIVATE carillon_test_main carillon_bench_helpers)
  if(TARGET carillon)
    target_compile_definitions(${stem} PRIVATE CARILLON_BINARY="$<TARGET_FILE:carillon>")
    add_dependencies(${stem} carillon)
  endif()
  carillon_pch(${stem} "${file}")
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tb")
  gtest_discover_tests(
    ${stem}
    TEST_PREFIX "${stem}/"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT ${timeout})
endfunction()

foreach(file IN LISTS tests)
  carillon_test("${file}")
endforeach()

# carillon_command_test(<name> LABEL <label> COMMAND <command>...): anything else that must hold.
function(carillon_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "COMMAND")
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 60)
  # What takes long begins first, so that it does not run alone in the end.
  if(arg_LABEL STREQUAL "slow")
    set_tests_properties(${name} PROPERTIES TIMEOUT 2400 COST 1000)
  elseif(arg_LABEL STREQUAL "synth")
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 COST 100)
  endif()
  if(TARGET carillon)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "CARILLON_BINARY=$<TARGET_FILE:carillon>")
  endif()
endfunction()

file(GLOB python_tests CONFIGURE_DEPENDS py/test_*.py)
foreach(file IN LISTS python_tests)
  cmake_path(GET file STEM stem)
  set(label unit)
  if(stem MATCHES "_slow$")
    set(label slow)
  endif()
  carillon_command_test(py/${stem} LABEL ${label} COMMAND ${CARILLON_PYTHON} -m unittest
                        "tb/py/${stem}.py")
endforeach()

foreach(check IN ITEMS "spec/fresh;gen_spec.py;--check" "spec/conformance;gen_conformance.py;--check" "tree/twins;check_twins.py"
                       "tree/area;area.py;--check"
                       "spec/testplan;check_testplan.py")
  list(POP_FRONT check name script)
  if(EXISTS "${PROJECT_SOURCE_DIR}/scripts/${script}")
    carillon_command_test(${name} LABEL unit COMMAND ${CARILLON_PYTHON} "scripts/${script}" ${check})
  endif()
endforeach()

if(CARILLON_RTL)
  find_program(CARILLON_YOSYS yosys)
  mark_as_advanced(CARILLON_YOSYS)
  file(GLOB_RECURSE rtl_modules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/rtl/*.sv")
  list(FILTER rtl_modules EXCLUDE REGEX "/rtl/gen/|_pkg\\.sv$")
  foreach(file IN LISTS rtl_modules)
    cmake_path(GET file STEM stem)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    carillon_command_test(rtl/lint/${stem} LABEL unit COMMAND scripts/lint.sh --rtl ${file})
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(CARILLON_YOSYS AND NOT folder IN_LIST carillon_unfinished_twins)
      carillon_command_test(rtl/synth/${stem} LABEL synth COMMAND scripts/lint.sh --synth ${file})
    endif()
  endforeach()
endif()
