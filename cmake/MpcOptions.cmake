# Compiler flags that every target of mpc shares.

set(MPC_SANITIZE "" CACHE STRING "Comma-separated sanitizers for every target, e.g. address,undefined")

find_program(MPC_CCACHE ccache)
if(MPC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers reach the cache only with these sloppiness settings. With the other two, files
  # that the cache has not seen are not preprocessed a second time, and the large precompiled header
  # is hashed once, not once per file.
  set(MPC_CCACHE_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_DEPEND=1 CCACHE_INODECACHE=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MPC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${MPC_CCACHE_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MPC_CCACHE_LAUNCHER})
endif()

add_compile_definitions(NDEBUG)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition -fvisibility=hidden
                    $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
# Hardening as Debian builds its packages (dpkg-buildflags, hardening=+all), and control-flow protection;
# test/Hardening reads what came of it from the binaries. Sanitizers check more, and their runtimes
# take the place of the functions that _FORTIFY_SOURCE chooses.
add_compile_options(-fstack-protector-strong -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-fcf-protection=full)
endif()
if(NOT MPC_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
include(CheckPIESupported)
check_pie_supported()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Template instantiations done once in the precompiled header, and a header
  # whose time stamp does not defeat ccache.
  set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
  add_compile_options("SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fno-pch-timestamp>")
  find_program(MPC_LLD NAMES ld.lld-22 ld.lld)
  if(MPC_LLD)
    add_link_options(--ld-path=${MPC_LLD})
  endif()
endif()

# Files of one library in groups: the MLIR headers instantiate much, and a group does it once. Half of
# the processor time of a first build. Tools that read compile_commands.json switch it off.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile the files of a library in groups")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

option(MPC_FUZZ "Build the libFuzzer targets of test/Fuzz (clang only); set MPC_SANITIZE, too" OFF)
if(MPC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(MPC_SANITIZE)
  # Functions that dlsym finds have types of our own making: another company's structs are opaque.
  # What object-size finds the address sanitizer finds, too, and it takes a third of the build.
  add_compile_options(-fsanitize=${MPC_SANITIZE} -fno-sanitize=function,object-size
                      -fno-omit-frame-pointer -gline-tables-only)
  # The tests of a debug build take several times as long without.
  add_compile_options($<$<CONFIG:Debug>:-O1>)
  add_link_options(-fsanitize=${MPC_SANITIZE})
endif()
