# `cpack` in the build folder writes three Debian packages, one for each install component.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mpc)
set(CPACK_PACKAGE_VENDOR mpc)
set(CPACK_PACKAGE_CONTACT "The mpc authors <authors@mpc.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

set(CPACK_COMPONENTS_ALL runtime dev tools)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Runtime of models compiled with mpcc")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers and CMake package for programs with compiled models")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Compiler and tools: mpcc, mpc-run, mpc-convert")
set(CPACK_COMPONENT_DEV_DEPENDS runtime)
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libmpcrt1)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmpcrt-dev)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mpc-tools)
# Which packages hold the libraries that ours link is asked of dpkg.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
# libmpcrt opens oneDNN itself.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libdnnl2)
# mpcc links libraries with lld.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS lld-22)
include(CPack)
