# carillon_pch(<target> <file>...): the shared precompiled header for all files but those that
# include Verilated headers, which change their meaning when SystemC was seen before.
function(carillon_pch target)
  carillon_use_pch(${target})
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    file(STRINGS "${file}" verilated REGEX "^#include [\"<](V[a-z0-9_]+|verilated[a-z_]*)\\.h")
    if(verilated)
      set_source_files_properties("${file}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# carillon_layer(<name> SOURCES <file>... LINK <target>...)
#
# One layer of the model as a static library `carillon_<name>`. A layer without a source yet is an
# INTERFACE library, so those that link to it need not know.
function(carillon_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  set(target carillon_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PUBLIC carillon_options ${arg_LINK})
    carillon_pch(${target} ${arg_SOURCES})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE carillon_options ${arg_LINK})
  endif()
endfunction()
