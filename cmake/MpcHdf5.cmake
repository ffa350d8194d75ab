# The C library of HDF5, as Debian installs it: its serial build stands in folders of its own.
# Sets MPC_HDF5_INCLUDE and MPC_LIBHDF5.
find_path(MPC_HDF5_INCLUDE hdf5.h PATHS /usr/include/hdf5/serial REQUIRED)
find_library(MPC_LIBHDF5 hdf5 PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial REQUIRED)
