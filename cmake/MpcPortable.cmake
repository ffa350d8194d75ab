# The target `portable`: mpcc, mpc-convert, mpc-opt and mpc-run for machines that have neither LLVM nor
# a linker nor a compiler, for scripts/wheel. It links objects of the ordinary build once more, in
# <build>/portable: bin/ holds the tools, lib/ libmpcrt and libmpctools, which is what the tools use of
# MLIR, LLVM, lld and libstdc++; lib/mpc/ has lld and stubs of libc and libm to link models with.
find_library(MPC_LLD_ELF lldELF PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
find_library(MPC_LLD_COMMON lldCommon PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
if(NOT MPC_LLD_ELF OR NOT MPC_LLD OR MPC_SANITIZE OR MPC_FUZZ OR NOT TARGET mpcc)
  return()
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(portable ${CMAKE_BINARY_DIR}/portable)
set(scripts ${CMAKE_SOURCE_DIR}/cmake/portable)
set(portable_tools mpcc mpc-convert mpc-opt)

# The shared libraries whose symbols the tools find in libmpctools instead, and what it is made of.
get_target_property(libmlir MLIR LOCATION)
get_target_property(libllvm LLVM LOCATION)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.so.6
                OUTPUT_VARIABLE libstdcpp OUTPUT_STRIP_TRAILING_WHITESPACE)
set(archives ${mpc_llvm_archives})
foreach(name hdf5 sz aec z zstd protobuf-lite)
  find_library(MPC_ARCHIVE_${name} lib${name}.a REQUIRED PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial)
endforeach()
list(APPEND archives ${MPC_LLD_COMMON} ${MPC_LLD_ELF} ${MPC_ARCHIVE_z} ${MPC_ARCHIVE_zstd})
# HDF5's is not made for shared libraries.
add_library(mpc_no_s3 STATIC EXCLUDE_FROM_ALL ${scripts}/no-s3.c)
target_link_libraries(mpc_hdf5 INTERFACE
    $<$<BOOL:$<TARGET_PROPERTY:MPC_PORTABLE>>:${MPC_ARCHIVE_hdf5};${MPC_ARCHIVE_sz};${MPC_ARCHIVE_aec};mpc_no_s3>)

target_link_libraries(mpc_protobuf INTERFACE $<$<BOOL:$<TARGET_PROPERTY:MPC_PORTABLE>>:${MPC_ARCHIVE_protobuf-lite}>)

add_library(mpc_lld OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/tools/ld.lld/ld.lld.cpp)
target_include_directories(mpc_lld SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_options(mpc_lld PRIVATE -fno-exceptions)

# The linked mpcc may hold the archives; this one says what it needs of the shared libraries.
add_executable(shared-mpcc EXCLUDE_FROM_ALL $<TARGET_OBJECTS:mpcc>)
get_target_property(libraries mpcc LINK_LIBRARIES)
target_link_libraries(shared-mpcc PRIVATE ${libraries})
set_target_properties(shared-mpcc PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${portable}/needed)

add_custom_command(OUTPUT ${portable}/exports.map ${portable}/needed.rsp
    COMMAND ${Python3_EXECUTABLE} ${scripts}/needed-symbols.py --out ${portable}
            --libraries ${libmlir} ${libllvm} ${libstdcpp} ${MPC_LLD_COMMON} ${MPC_LLD_ELF}
            --users $<TARGET_FILE:shared-mpcc> $<TARGET_FILE:mpc-convert> $<TARGET_FILE:mpc-opt> $<TARGET_OBJECTS:mpc_lld>
                    ${MPC_ARCHIVE_protobuf-lite}
    DEPENDS shared-mpcc mpc-convert mpc-opt mpc_lld ${scripts}/needed-symbols.py
    COMMAND_EXPAND_LISTS VERBATIM)
add_library(mpctools SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:mpc_absent> ${portable}/exports.map)
set_target_properties(mpctools PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${portable}/lib LINKER_LANGUAGE CXX
    SKIP_BUILD_RPATH ON INSTALL_RPATH "" LINK_DEPENDS ${portable}/exports.map)
# No other library of the process may take the place of an exported function, but the tools' own operator
# new and their copies of inline variables have to: not -Bsymbolic.
target_link_options(mpctools PRIVATE -static-libstdc++ -Wl,--build-id=sha1 -Wl,--gc-sections -Wl,--no-undefined
    -Wl,--undefined-version -Wl,--version-script=${portable}/exports.map @${portable}/needed.rsp)
target_link_libraries(mpctools PRIVATE ${archives} ${CMAKE_DL_LIBS})

# mpc_add_portable(TOOL TARGET FOLDER LINK...): a tool of the target's objects.
function(mpc_add_portable tool objects folder)
  add_executable(portable-${tool} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects}>)
  set_target_properties(portable-${tool} PROPERTIES OUTPUT_NAME ${tool} MPC_PORTABLE ON LINKER_LANGUAGE CXX
      RUNTIME_OUTPUT_DIRECTORY ${portable}/${folder})
  target_link_libraries(portable-${tool} PRIVATE ${ARGN})
  target_link_options(portable-${tool} PRIVATE -Wl,--gc-sections -Wl,--build-id=sha1)
  mpc_use_one_rpath(portable-${tool})
endfunction()
foreach(tool ${portable_tools})
  get_target_property(libraries ${tool} LINK_LIBRARIES)
  mpc_add_portable(${tool} ${tool} bin ${libraries})
  target_link_options(portable-${tool} PRIVATE -nostdlib++)
endforeach()
mpc_add_portable(ld.lld mpc_lld lib/mpc mpctools)
target_link_options(portable-ld.lld PRIVATE -nostdlib++)
set_target_properties(portable-ld.lld PROPERTIES INSTALL_RPATH "$ORIGIN/..")

# libmpcrt finds oneDNN beside itself. It holds its own libstdc++, whose interface is C, as mpc-run does.
mpcrt_add_library(mpcrt_portable SHARED mpcrt_tiles)
set_target_properties(mpcrt_portable PROPERTIES EXCLUDE_FROM_ALL ON LIBRARY_OUTPUT_DIRECTORY ${portable}/lib
    VERSION 1 INSTALL_RPATH "$ORIGIN")
mpc_use_one_rpath(mpcrt_portable)
target_link_options(mpcrt_portable PRIVATE -static-libstdc++ -Wl,--exclude-libs,ALL)
get_target_property(libraries mpc-run LINK_LIBRARIES)
mpc_add_portable(mpc-run mpc-run bin ${libraries})
target_link_options(portable-mpc-run PRIVATE -static-libstdc++)

# Models are linked with stubs of glibc, by the versions that a glibc of 2.34 has: such a library loads
# there, too, wherever it was compiled.
foreach(name libc.so.6 libm.so.6)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
                  OUTPUT_VARIABLE original OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(stub ${portable}/lib/mpc/${name})
  add_custom_command(OUTPUT ${stub}
      COMMAND ${Python3_EXECUTABLE} ${scripts}/link-stub.py ${original} --compiler ${CMAKE_C_COMPILER}
              --linker ${MPC_LLD} --newest 2.34 -o ${stub}
      DEPENDS ${scripts}/link-stub.py ${original} VERBATIM)
  list(APPEND stubs ${stub})
endforeach()
add_custom_target(portable DEPENDS ${stubs} portable-mpcc portable-mpc-convert portable-mpc-opt
    portable-mpc-run portable-ld.lld mpcrt_portable)
