# Protobuf's small library, which reads messages of known types. Targets link mpc_protobuf.
find_path(MPC_PROTOBUF_INCLUDE google/protobuf/message_lite.h REQUIRED)
find_library(MPC_LIBPROTOBUF protobuf-lite REQUIRED)
add_library(mpc_protobuf INTERFACE)
target_include_directories(mpc_protobuf SYSTEM INTERFACE ${MPC_PROTOBUF_INCLUDE})
# The tools of MpcPortable.cmake hold it.
target_link_libraries(mpc_protobuf INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MPC_PORTABLE>>>:${MPC_LIBPROTOBUF}>)
