// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dimensions whose extent a count of values says: the tensor has its largest extent, and what lies
// behind the count means nothing. Ops that treat the dimension's places apart from each other hand
// it on; no other one may see it.
#ifndef MPC_LIB_IMPORT_ONNX_BOUNDFLOW_H
#define MPC_LIB_IMPORT_ONNX_BOUNDFLOW_H

#include "dialects/mpc/IR/Mpc.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpc::onnx {

struct BoundedDimension {
  int64_t axis;
  mlir::Value count; ///< an i64 without dimensions, of @forward or of the body that makes it

  bool operator==(const BoundedDimension &other) const {
    return axis == other.axis && count == other.count;
  }
};

/// Goes through the ops of a node's body.
class BoundFlow {
public:
  void add(mlir::Value tensor, BoundedDimension dimension) {
    dimensions.try_emplace(tensor, dimension);
  }
  /// Null, or the op that puts places of a bounded dimension together.
  mlir::Operation *run(mlir::Block &block);
  std::optional<BoundedDimension> find(mlir::Value tensor) const;

private:
  /// Gives that of the op's results; nothing where it has no rule, or its rule refuses.
  std::optional<BoundedDimension> follow(mlir::Operation *op) const;
  std::optional<BoundedDimension> followElementwise(mlir::ValueRange operands,
                                                    mlir::Value result) const;
  std::optional<BoundedDimension> followReshape(ReshapeOp op) const;
  std::optional<BoundedDimension> followConcatenation(ConcatenateOp op) const;
  std::optional<BoundedDimension> followGather(GatherOp op) const;
  std::optional<BoundedDimension> followContraction(ContractOp op) const;
  std::optional<BoundedDimension> followReduction(mlir::Value input, llvm::ArrayRef<int64_t> axes,
                                                  bool keepDims) const;
  /// The dimension where it is not `axis`, along which the op computes.
  std::optional<BoundedDimension> keepBeside(mlir::Value input, int64_t axis) const;

  llvm::DenseMap<mlir::Value, BoundedDimension> dimensions;
};

} // namespace mpc::onnx

#endif
