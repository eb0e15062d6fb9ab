# Everything that Carillon takes from outside; scripts/setup.sh installs it.

find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET systemc)
pkg_check_modules(CLI11 REQUIRED IMPORTED_TARGET CLI11)
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)

if(CARILLON_RTL)
  find_package(verilator HINTS /usr/share/verilator "$ENV{VERILATOR_ROOT}" QUIET)
  if(NOT verilator_FOUND)
    message(FATAL_ERROR "Verilator is missing: run scripts/setup.sh, or configure with "
                        "-DCARILLON_RTL=OFF to build the model alone.")
  endif()
endif()

if(CARILLON_TESTS)
  find_package(GTest REQUIRED)
endif()
if(CARILLON_BENCH)
  find_package(benchmark REQUIRED)
endif()

# The distribution's interpreter has the distribution's modules; another one may come first on PATH.
find_program(CARILLON_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(CARILLON_PYTHON NAMES python3 REQUIRED)
