# The C library of HDF5, as Debian installs it: its serial build stands in folders of its own.
# Sets MPC_HDF5_INCLUDE; targets link mpc_hdf5.
find_path(MPC_HDF5_INCLUDE hdf5.h PATHS /usr/include/hdf5/serial REQUIRED)
find_library(MPC_LIBHDF5 hdf5 PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial REQUIRED)
add_library(mpc_hdf5 INTERFACE)
# The tools of MpcPortable.cmake hold it.
target_link_libraries(mpc_hdf5 INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MPC_PORTABLE>>>:${MPC_LIBHDF5}>)
