# LLVM and MLIR 22. A program has their shared libraries or their archives, never both: that would give
# two copies of every type id.

find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

# AddMLIR writes generated documents below these; unset, they land in "/".
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# TableGen reads the directory's include path.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/include)

# The archives of both, with one processor; cmake/absent.c answers for the others.
foreach(folder ${LLVM_LIBRARY_DIRS})
  file(GLOB found ${folder}/libMLIR*.a ${folder}/libLLVM*.a)
  list(APPEND mpc_llvm_archives ${found})
endforeach()
list(FILTER mpc_llvm_archives EXCLUDE REGEX "CAPI|BOLT|gtest|Test")
set(others ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM others X86)
list(JOIN others "|" pattern)
list(FILTER mpc_llvm_archives EXCLUDE REGEX "/libLLVM(${pattern})")
list(TRANSFORM others REPLACE "(.+)" "PROCESSOR(\\1)")
list(JOIN others "\n" lines)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/processors/processors.def CONTENT "\${lines}\n")
add_library(mpc_absent STATIC EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/absent.c)
target_include_directories(mpc_absent PRIVATE ${CMAKE_BINARY_DIR}/processors)
set_target_properties(mpc_absent PROPERTIES POSITION_INDEPENDENT_CODE ON)

# mpcc links the archives: the shared libraries look up 58,000 symbols whenever it starts, a third of what a
# small model takes that the cache knows. Programs that load plugins need the shared libraries.
if(MPC_SANITIZE OR MPC_FUZZ)
  option(MPC_STATIC_COMPILER "mpcc holds what it uses of LLVM and MLIR" OFF)
else()
  option(MPC_STATIC_COMPILER "mpcc holds what it uses of LLVM and MLIR" ON)
endif()

# Users of LLVM's and MLIR's code link this: their shared libraries, the archives (MPC_STATIC), or for the tools of
# MpcPortable.cmake (MPC_PORTABLE) the one library that holds what they use of both.
add_library(mpc_llvm INTERFACE)
set(portable "$<BOOL:$<TARGET_PROPERTY:MPC_PORTABLE>>")
set(static "$<AND:$<BOOL:$<TARGET_PROPERTY:MPC_STATIC>>,$<NOT:${portable}>>")
set(dynamic "$<NOT:$<OR:${portable},${static}>>")
target_link_libraries(mpc_llvm INTERFACE
    "$<${dynamic}:MLIR>" "$<${dynamic}:LLVM>" "$<${portable}:mpctools>" "$<${static}:${mpc_llvm_archives};mpc_absent;z;zstd>")
target_link_options(mpc_llvm INTERFACE "$<${static}:LINKER:--gc-sections>")

# One precompiled header serves every target that sees MLIR (REUSE_FROM).
add_library(MpcPrecompiled STATIC ${CMAKE_SOURCE_DIR}/cmake/precompiled.cpp)
target_include_directories(MpcPrecompiled SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(MpcPrecompiled PUBLIC
    ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/include)
target_compile_options(MpcPrecompiled PUBLIC -fno-exceptions)
add_dependencies(MpcPrecompiled MpcIncGen MpcrtIncGen)
target_precompile_headers(MpcPrecompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)

# mpc_add_library(NAME sources... [DEPENDS targets...] [LINK libraries...])
# A static library of the compiler.
function(mpc_add_library name)
  cmake_parse_arguments(ARG "NO_PRECOMPILED" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_include_directories(${name} PUBLIC
      ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/include)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} mpc_llvm)
  # Every library may include generated dialect and pass headers.
  add_dependencies(${name} MpcIncGen MpcrtIncGen MpcPassIncGen ${ARG_DEPENDS})
  if(NOT ARG_NO_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM MpcPrecompiled)
  endif()
endfunction()

# mpc_add_tool(NAME sources... [LINK libraries...]): a thin main.
function(mpc_add_tool name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_include_directories(${name} PRIVATE
      ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/include)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} mpcuntrusted mpc_llvm)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # Installed tools find LLVM's libraries where the build found them.
  set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  mpc_use_one_rpath(${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT tools OPTIONAL)
endfunction()
