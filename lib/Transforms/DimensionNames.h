// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names that users know the dimensions of a layer's products by: units, channels, vocabulary.
#ifndef MPC_LIB_TRANSFORMS_DIMENSIONNAMES_H
#define MPC_LIB_TRANSFORMS_DIMENSIONNAMES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace mpc {

class DimensionNames {
public:
  /// Reads the variables of the module's layers.
  explicit DimensionNames(mlir::ModuleOp module);

  /// "units of 'dense'" for an extent that a variable of the op's layer has; of several such
  /// dimensions the name of each. "'dense'" where no variable has it, and "" without a layer.
  std::string describe(mlir::Location loc, int64_t extent) const;

private:
  std::map<std::string, std::map<int64_t, std::string>> names; ///< by layer, by extent
};

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_DIMENSIONNAMES_H
