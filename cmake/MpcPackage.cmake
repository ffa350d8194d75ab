# `cpack` in the build folder writes four Debian packages, one for each install component.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mpc)
set(CPACK_PACKAGE_VENDOR mpc)
set(CPACK_PACKAGE_CONTACT "The mpc authors <authors@mpc.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# mpc_package(COMPONENT PACKAGE SECTION SUMMARY MORE): MORE is the text below the summary.
set(CPACK_COMPONENTS_ALL runtime dev run tools)
function(mpc_package component package section summary more)
  string(TOUPPER ${component} COMPONENT)
  foreach(setting "DEBIAN_${COMPONENT}_PACKAGE_NAME;${package}" "DEBIAN_${COMPONENT}_PACKAGE_SECTION;${section}"
                  "COMPONENT_${COMPONENT}_DESCRIPTION;${summary}\n${more}")
    list(GET setting 0 name)
    list(GET setting 1 value)
    set(CPACK_${name} "${value}" PARENT_SCOPE)
  endforeach()
  # cmake/package/finish.cmake names its files by it.
  set(CPACK_MPC_PACKAGE_${component} ${package} PARENT_SCOPE)
endfunction()
mpc_package(runtime libmpcrt1 libs "runtime of models compiled with mpcc"
    "Compiled models predict and train with this library. It needs neither Python\nnor a framework nor LLVM.")
mpc_package(dev libmpcrt-dev libdevel "headers and CMake package for programs with compiled models"
    "C and C++ programs that load models compiled with mpcc are built with these\nheaders, the CMake package mpc or pkg-config's mpc-runtime.")
mpc_package(run mpc-run science "predicts with compiled models, trains and serves them"
    "The command mpc-run runs models compiled with mpcc on data in files: it\npredicts, evaluates, trains, serves and measures. It does not need LLVM.")
mpc_package(tools mpc-tools devel "mixed-precision compiler of Keras models"
    "mpcc turns Keras models whose layers carry dtype policies into small native\nlibraries that predict and train. mpc-convert converts weights, mpc-opt and\nthe other tools show what the compiler does.")
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_RUN_DEPENDS runtime)
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime run)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Which packages hold the libraries that ours link is asked of dpkg; and ours tells it of libmpcrt.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/package/shlibs CONTENT "libmpcrt 1 libmpcrt1 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/shlibs ${CMAKE_SOURCE_DIR}/cmake/package/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
# libmpcrt opens oneDNN itself.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libdnnl2)
# mpcc links libraries with lld.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS lld-22)
set(CPACK_MPC_ARCHITECTURE "${CMAKE_LIBRARY_ARCHITECTURE}")
set(CPACK_MPC_SOURCE "${CMAKE_SOURCE_DIR}")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package/finish.cmake)
include(CPack)
