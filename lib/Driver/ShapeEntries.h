// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several shapes of the inputs in one library: each is imported and brought as far as its entry by
// itself, then the entries join the module of the first shape, over the same variables.
#ifndef MPC_LIB_DRIVER_SHAPEENTRIES_H
#define MPC_LIB_DRIVER_SHAPEENTRIES_H

#include "mpc/Driver/Compile.h"
#include "llvm/Support/JSON.h"

namespace mpc {

class Compilation;

class ShapeEntries {
public:
  /// `first`: the compilation for the first shape.
  explicit ShapeEntries(Compilation &first) : first(first) {}

  /// Refuses what a library of several shapes cannot be asked for.
  ExitCode check();
  /// Whether nothing trains, whatever the file's compile config says.
  bool onlyPredicts(const llvm::json::Object &fileConfig);
  /// Gives the module an entry for each further shape.
  ExitCode add();

private:
  ExitCode add(size_t number, const InputShapes &shapes);

  Compilation &first;
};

} // namespace mpc

#endif // MPC_LIB_DRIVER_SHAPEENTRIES_H
