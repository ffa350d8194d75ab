# Unpacks what Keras computed (test/Conformance/cases.tar.xz) into MPC_FIXTURES, when the archive is
# another one than what lies there. At configure time, so that any test can be run after any build.
set(MPC_FIXTURES ${CMAKE_BINARY_DIR}/fixtures)
set(archive ${CMAKE_SOURCE_DIR}/test/Conformance/cases.tar.xz)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
file(SHA256 ${archive} digest)
set(unpacked)
if(EXISTS ${MPC_FIXTURES}/sha256)
  file(READ ${MPC_FIXTURES}/sha256 unpacked)
endif()
if(NOT unpacked STREQUAL digest)
  # The name is given last: a folder of that name is whole.
  file(REMOVE_RECURSE ${MPC_FIXTURES} ${MPC_FIXTURES}.new)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${MPC_FIXTURES}.new)
  file(WRITE ${MPC_FIXTURES}.new/sha256 ${digest})
  file(RENAME ${MPC_FIXTURES}.new ${MPC_FIXTURES})
endif()
