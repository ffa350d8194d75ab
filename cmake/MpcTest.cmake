# How tests are registered with ctest. Every suite goes through test/run-suite.py, which checks
# that it ran as many tests as test/counts.json says.

# Debian's interpreter: python3-numpy installs for it, not for another one earlier in PATH.
find_program(MPC_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
set(MPC_RUN_SUITE ${MPC_PYTHON} ${CMAKE_SOURCE_DIR}/test/run-suite.py
    --fixtures ${MPC_FIXTURES} --counts ${CMAKE_BINARY_DIR}/Testing/Counts)

# Seconds for a unit test's program; sanitized ones take several times as long.
set(MPC_UNIT_TIMEOUT 600)
if(MPC_SANITIZE)
  set(MPC_UNIT_TIMEOUT 1800)
endif()

# mpc_add_unit_test(NAME sources... [LINK libraries...]): a GoogleTest program, ctest name
# Unit/NAME. It sees include/ and MPC_SOURCE_DIR; test/Unit/Fixtures.h finds the fixtures.
function(mpc_add_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/bin)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE MPC_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME Unit/${name}
           COMMAND ${MPC_RUN_SUITE} --kind gtest --name Unit/${name} -- $<TARGET_FILE:${name}>)
  set_tests_properties(Unit/${name} PROPERTIES LABELS quick TIMEOUT ${MPC_UNIT_TIMEOUT})
endfunction()

# mpc_add_script_test(NAME [SHARD n] [PROCESSORS n] COMMAND...): a script that ends with the line
# `ran N tests`. With SHARD (0..7) it is a long test of that shard, else a quick one.
function(mpc_add_script_test name)
  cmake_parse_arguments(ARG "" "SHARD;PROCESSORS" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${MPC_RUN_SUITE} --kind script --name ${name} -- ${ARG_COMMAND})
  if(DEFINED ARG_SHARD)
    set_tests_properties(${name} PROPERTIES LABELS "long;shard-${ARG_SHARD}" TIMEOUT 2400)
  else()
    set_tests_properties(${name} PROPERTIES LABELS quick TIMEOUT 1500)
  endif()
  if(ARG_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_PROCESSORS})
  endif()
endfunction()
