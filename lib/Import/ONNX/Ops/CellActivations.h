// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The activations of recurrent cells, by the names and numbers of a node's attributes.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_CELLACTIVATIONS_H
#define MPC_LIB_IMPORT_ONNX_OPS_CELLACTIVATIONS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

class CellActivations {
public:
  /// Reads the attributes `activations`, `activation_alpha`, `activation_beta` and `clip`;
  /// `defaults` are those of one direction. Nothing after an error.
  static std::optional<CellActivations>
  read(NodeBuilder &b, llvm::ArrayRef<llvm::StringRef> defaults, int64_t directions);

  /// Activation `i` of a direction, of its clipped input.
  mlir::Value apply(NodeBuilder &b, int64_t direction, unsigned i, mlir::Value x) const;

private:
  struct Activation {
    mlir::Value (*apply)(NodeBuilder &, mlir::Value, double alpha, double beta);
    double alpha, beta;
  };
  llvm::SmallVector<Activation> all; ///< of one direction behind those of the other
  unsigned count = 0;                ///< of one direction
  std::optional<double> clip;
};

} // namespace mpc::onnx

#endif
