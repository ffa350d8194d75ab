# CPack runs this between installing the components and packing them: what Debian wants otherwise than
# `cmake --install` leaves it, which is a folder that may be moved.
file(GLOB components LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
find_program(gzip gzip REQUIRED)
# The time of the changelog: that of the file, if no SOURCE_DATE_EPOCH says otherwise.
file(TIMESTAMP ${CPACK_MPC_SOURCE}/CHANGELOG.md date "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(folder ${components})
  get_filename_component(component ${folder} NAME)
  set(package ${CPACK_MPC_PACKAGE_${component}})
  if(NOT package)
    message(FATAL_ERROR "${component}: no package has this component; see cmake/MpcPackage.cmake")
  endif()
  set(usr ${folder}/usr)

  # Libraries and what finds them stand in the folder of the architecture.
  if(CPACK_MPC_ARCHITECTURE AND IS_DIRECTORY ${usr}/lib AND NOT IS_DIRECTORY ${usr}/lib/${CPACK_MPC_ARCHITECTURE})
    file(RENAME ${usr}/lib ${usr}/moved)
    file(MAKE_DIRECTORY ${usr}/lib)
    file(RENAME ${usr}/moved ${usr}/lib/${CPACK_MPC_ARCHITECTURE})
    file(GLOB texts ${usr}/lib/${CPACK_MPC_ARCHITECTURE}/cmake/mpc/*.cmake ${usr}/lib/${CPACK_MPC_ARCHITECTURE}/pkgconfig/*.pc)
    foreach(text ${texts})
      file(READ ${text} content)
      string(REPLACE "}/lib/lib" "}/lib/${CPACK_MPC_ARCHITECTURE}/lib" content "${content}")
      string(REPLACE "\${prefix}/lib" "\${prefix}/lib/${CPACK_MPC_ARCHITECTURE}" content "${content}")
      # The prefix is one folder further up.
      string(REPLACE "\${CMAKE_CURRENT_LIST_DIR}/../../../" "\${CMAKE_CURRENT_LIST_DIR}/../../../../" content "${content}")
      string(REPLACE "\${pcfiledir}/../.." "\${pcfiledir}/../../.." content "${content}")
      string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)"
                     "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}\" PATH)" content "${content}")
      file(WRITE ${text} "${content}")
    endforeach()
  endif()

  # The loader knows the folders of packages, but for that of MLIR.
  file(GLOB programs ${usr}/bin/*)
  foreach(program ${programs})
    execute_process(COMMAND readelf -d ${program} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
    if(dynamic MATCHES "NEEDED.*\\[libMLIR[^\n]*" AND dynamic MATCHES "R(UN)?PATH[^\n]*\\[([^\n]*:)?([^:\n]*/llvm-[^:\n]*)\\]")
      set(mlir ${CMAKE_MATCH_3})
      string(REGEX MATCH "R(UN)?PATH[^\n]*\\[([^\n]*)\\]" ignored "${dynamic}")
      file(RPATH_CHANGE FILE ${program} OLD_RPATH "${CMAKE_MATCH_2}" NEW_RPATH "${mlir}")
    else()
      file(RPATH_REMOVE FILE ${program})
    endif()
  endforeach()
  if(mlir)
    file(WRITE ${usr}/share/lintian/overrides/${package}
         "# Debian installs libMLIR there and nowhere else.\n${package}: custom-library-search-path RUNPATH ${mlir} *\n")
    unset(mlir)
  endif()

  set(doc ${usr}/share/doc/${package})
  file(MAKE_DIRECTORY ${doc})
  file(COPY_FILE ${CPACK_MPC_SOURCE}/cmake/package/copyright ${doc}/copyright)
  file(WRITE ${doc}/changelog.Debian
       "mpc (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * Release ${CPACK_PACKAGE_VERSION}.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  execute_process(COMMAND ${gzip} -9nf ${doc}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
endforeach()
