# mpc_add_model(TARGET app MODEL m.keras [NAME n] [POLICY p] [OPTIONS ...])
#
# Compiles the model when the project is built and links the target with lib<n>.so; the target's
# sources include "<n>.h". NAME: default the file's stem as a C identifier. POLICY: a Keras policy
# name or a JSON file. OPTIONS: further options of mpcc, for example --loss-scale=fixed:1024.
# The library stands in <n>.mpc of the binary folder, where programs of the build tree find it; what
# is installed must be installed with it: $<TARGET_FILE:<n>::<n>>.
function(mpc_add_model)
  cmake_parse_arguments(ARG "" "TARGET;MODEL;NAME;POLICY" "OPTIONS" ${ARGN})
  foreach(needed TARGET MODEL)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "mpc_add_model: ${needed} is missing")
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mpc_add_model: unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET mpc::compiler)
    message(FATAL_ERROR "mpc_add_model: mpcc was not found; install mpc's component `tools`, or set "
                        "MPC_COMPILER to it")
  endif()
  get_filename_component(model "${ARG_MODEL}" ABSOLUTE)
  if(NOT EXISTS "${model}")
    message(FATAL_ERROR "mpc_add_model: ${model} does not exist")
  endif()
  if(NOT ARG_NAME)
    get_filename_component(stem "${model}" NAME_WLE)
    string(MAKE_C_IDENTIFIER "${stem}" ARG_NAME)
  endif()
  set(name ${ARG_NAME})
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.mpc")
  set(options "--name=${name}" -o "${folder}" -q ${ARG_OPTIONS})
  set(inputs "${model}")
  if(ARG_POLICY)
    get_filename_component(policy "${ARG_POLICY}" ABSOLUTE)
    if(EXISTS "${policy}") # a file; names are passed on as they are
      list(APPEND inputs "${policy}")
      set(ARG_POLICY "${policy}")
    endif()
    list(APPEND options "--policy=${ARG_POLICY}")
  endif()
  add_custom_command(
    OUTPUT "${folder}/lib${name}.so" "${folder}/${name}.h" "${folder}/${name}.json"
    COMMAND mpc::compiler "${model}" ${options}
    DEPENDS ${inputs} "$<TARGET_FILE:mpc::compiler>"
    COMMENT "Compiling model ${name}"
    VERBATIM)
  add_custom_target(${name}_model DEPENDS "${folder}/lib${name}.so" "${folder}/${name}.h")
  file(MAKE_DIRECTORY "${folder}") # an include folder must exist when CMake runs
  add_library(${name}::${name} SHARED IMPORTED)
  set_target_properties(${name}::${name} PROPERTIES
    IMPORTED_LOCATION "${folder}/lib${name}.so"
    IMPORTED_SONAME "lib${name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${folder}"
    INTERFACE_LINK_LIBRARIES mpc::runtime)
  target_link_libraries(${ARG_TARGET} PRIVATE ${name}::${name})
  add_dependencies(${ARG_TARGET} ${name}_model)
endfunction()
