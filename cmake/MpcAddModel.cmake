# mpc_add_model(TARGET app MODEL digits.keras [STATIC] [NAME n] [POLICY p] [OPTIONS ...])
#
# Compiles the model when the project is built and links the target with lib<n>.so; the target's
# sources include "<n>.h". NAME: default the file's stem as a C identifier. POLICY: a Keras policy
# name or a JSON file. OPTIONS: further options of mpcc, for example --loss-scale=fixed:1024. Files
# are relative to the source folder, and what they hold is compiled again when it changes.
# A second call with the same arguments but for TARGET links that target, too, as does
# target_link_libraries(other PRIVATE <n>::<n>) anywhere.
# STATIC: model, weights and runtime become a part of the program, which then runs alone.
# The library stands in <n>.mpc of the binary folder, where programs of the build tree find it. With
# a program that is installed belong $<TARGET_FILE:<n>::<n>> and, from the same folder to the same
# folder, <n>.safetensors; with OPTIONS --weights=embedded the former alone.

# Makes the values that are files absolute paths in each option `--key=value,…` of the list, and
# appends them to the list `files`.
function(mpc_find_option_files options files)
  set(given "${${options}}")
  set(found "${${files}}")
  set(result)
  foreach(option IN LISTS given)
    if(option MATCHES "^(--[a-z-]+=)(.*[./].*)$")
      set(key "${CMAKE_MATCH_1}")
      string(REPLACE "," ";" values "${CMAKE_MATCH_2}")
      set(absolute)
      foreach(value IN LISTS values)
        get_filename_component(path "${value}" ABSOLUTE)
        if(EXISTS "${path}" AND NOT IS_DIRECTORY "${path}")
          set(value "${path}")
          list(APPEND found "${path}")
        endif()
        list(APPEND absolute "${value}")
      endforeach()
      list(JOIN absolute "," absolute)
      set(option "${key}${absolute}")
    endif()
    list(APPEND result "${option}")
  endforeach()
  set(${options} "${result}" PARENT_SCOPE)
  set(${files} "${found}" PARENT_SCOPE)
endfunction()

function(mpc_add_model)
  cmake_parse_arguments(ARG "STATIC" "TARGET;MODEL;NAME;POLICY" "OPTIONS" ${ARGN})
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
    string(REGEX REPLACE "[^A-Za-z0-9_]" "_" ARG_NAME "${stem}") # as mpcc does
    if(ARG_NAME MATCHES "^([0-9]|mpc_rt)")
      set(ARG_NAME "m${ARG_NAME}")
    endif()
  endif()
  set(name ${ARG_NAME})
  set(inputs "${model}")
  if(ARG_POLICY)
    list(PREPEND ARG_OPTIONS "--policy=${ARG_POLICY}")
  endif()
  set(kind SHARED)
  set(suffix so)
  set(runtime mpc::runtime)
  if(ARG_STATIC)
    list(APPEND ARG_OPTIONS --link=static)
    set(kind STATIC)
    set(suffix a)
    set(runtime mpc::runtime_static)
  endif()
  mpc_find_option_files(ARG_OPTIONS inputs)
  string(REGEX REPLACE "[.]mlir(bc)?$" ".safetensors" weights "${model}")
  if(NOT weights STREQUAL model AND EXISTS "${weights}")
    list(APPEND inputs "${weights}")
  endif()
  if(TARGET ${name}::${name})
    get_target_property(made ${name}::${name} MPC_MADE_OF)
    if(NOT "${made}" STREQUAL "${model};${ARG_OPTIONS}")
      message(FATAL_ERROR "mpc_add_model: ${name} is the name of another model, or of this one with "
                          "other options; add NAME")
    endif()
    target_link_libraries(${ARG_TARGET} PRIVATE ${name}::${name})
    return()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.mpc")
  set(library "${folder}/lib${name}.${suffix}")
  set(options "--name=${name}" -o "${folder}" -q ${ARG_OPTIONS})
  add_custom_command(
    OUTPUT "${library}" "${folder}/${name}.h" "${folder}/${name}.json"
    COMMAND mpc::compiler "${model}" ${options}
    DEPENDS ${inputs} "$<TARGET_FILE:mpc::compiler>"
    COMMENT "Compiling model ${name}"
    VERBATIM)
  add_custom_target(${name}_model DEPENDS "${library}" "${folder}/${name}.h")
  file(MAKE_DIRECTORY "${folder}") # an include folder must exist when CMake runs
  add_library(${name}::${name} ${kind} IMPORTED GLOBAL)
  add_dependencies(${name}::${name} ${name}_model)
  set_target_properties(${name}::${name} PROPERTIES
    MPC_MADE_OF "${model};${ARG_OPTIONS}"
    IMPORTED_LOCATION "${library}"
    INTERFACE_INCLUDE_DIRECTORIES "${folder}"
    INTERFACE_LINK_LIBRARIES ${runtime})
  if(NOT ARG_STATIC)
    set_target_properties(${name}::${name} PROPERTIES IMPORTED_SONAME "lib${name}.so")
  endif()
  target_link_libraries(${ARG_TARGET} PRIVATE ${name}::${name})
endfunction()
