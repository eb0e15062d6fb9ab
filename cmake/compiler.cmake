# Compiler settings shared by every target, and the one precompiled header.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_COLOR_DIAGNOSTICS ON)

find_program(CARILLON_CCACHE ccache)
mark_as_advanced(CARILLON_CCACHE)
if(CARILLON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache serves files that use a precompiled header only when told that this is all right.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros
      ${CARILLON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CARILLON_CCACHE})
endif()

if(CARILLON_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

if(CARILLON_SANITIZE)
  # For the whole directory: Verilated code and model share headers and must agree on instrumentation.
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

if(CARILLON_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# What every hand-written source sees.
add_library(carillon_options INTERFACE)
target_include_directories(carillon_options INTERFACE "${PROJECT_SOURCE_DIR}"
                                                      "${PROJECT_SOURCE_DIR}/model")
target_compile_definitions(
  carillon_options
  INTERFACE
    # libsystemc is commonly built as C++17 and refuses at link time to meet another standard; this
    # is SystemC's own switch to say that the library's standard is the one that counts.
    SC_CPLUSPLUS=201703L
    # The TLM convenience sockets spawn processes.
    SC_INCLUDE_DYNAMIC_PROCESSES)
target_compile_options(
  carillon_options
  INTERFACE -Wall -Wextra -Wshadow
            # Designated initialisers leave the rest at its default on purpose.
            -Wno-missing-field-initializers $<$<BOOL:${CARILLON_WERROR}>:-Werror>)
target_link_libraries(carillon_options INTERFACE PkgConfig::SYSTEMC fmt::fmt ZLIB::ZLIB
                                                  PkgConfig::LIBDEFLATE)

# One precompiled header for all: SystemC alone costs more to parse than most of our files.
set(CARILLON_PCH_SOURCE "${PROJECT_BINARY_DIR}/carillon_pch.cpp")
if(NOT EXISTS "${CARILLON_PCH_SOURCE}")
  file(WRITE "${CARILLON_PCH_SOURCE}" "// Carries the precompiled header.\n")
endif()
add_library(carillon_precompiled OBJECT "${CARILLON_PCH_SOURCE}")
target_link_libraries(carillon_precompiled PRIVATE carillon_options)
target_precompile_headers(
  carillon_precompiled PRIVATE
  <systemc> <tlm> <tlm_utils/simple_initiator_socket.h> <tlm_utils/simple_target_socket.h>
  <fmt/format.h>
  <algorithm> <array> <bit> <compare> <cstddef> <cstdint> <cstring> <deque> <functional> <map>
  <memory> <optional> <span> <stdexcept> <string> <string_view> <tuple> <type_traits> <utility>
  <variant> <vector>)

function(carillon_use_pch target)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM carillon_precompiled)
    # Without it ccache cannot see through the precompiled header.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    endif()
  endif()
endfunction()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  target_compile_options(carillon_precompiled PRIVATE -fpch-preprocess)
endif()

# Sanitizer settings live in the program, so they hold however it is started.
add_library(carillon_sanitizer_options INTERFACE)
if(CARILLON_SANITIZE)
  target_sources(carillon_sanitizer_options
                 INTERFACE "${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.cpp")
endif()
