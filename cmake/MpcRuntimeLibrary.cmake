# Helpers for runtime/, which never sees LLVM or MLIR.

# libgomp by its soname: the same OpenMP runtime that Debian's oneDNN uses, also
# when clang compiles us (its own -fopenmp would add a second thread pool).
find_library(MPC_GOMP NAMES libgomp.so.1 REQUIRED)
