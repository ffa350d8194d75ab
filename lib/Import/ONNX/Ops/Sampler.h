// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of images between those that there are, at places that a model computes.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_SAMPLER_H
#define MPC_LIB_IMPORT_ONNX_OPS_SAMPLER_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// Images [batch, spatial…, channels], read at places [batch, count], a tensor for each dimension
/// in elements, in float32.
class Sampler {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  enum class Border { Zeros, Nearest, Reflected };

  Sampler(NodeBuilder &b, mlir::Value image, Border border, bool alignsCorners);

  size_t rank() const { return extents.size(); }
  /// -1 to 1 over the image as elements: its corners are the middles of elements, or their edges.
  mlir::Value fromUnit(mlir::Value x, size_t d) const;
  /// A place outside moved inside, as the border says.
  mlir::Value bring(mlir::Value x, size_t d) const;
  /// [batch, count, channels]: the elements at whole places.
  mlir::Value at(const Values &places) const;
  /// The sum of elements at all combinations of taps, each with the product of its weights; of
  /// `largest` the largest of these products in place of the sum.
  mlir::Value combine(llvm::ArrayRef<Values> places, llvm::ArrayRef<Values> weights,
                      bool largest = false) const;

private:
  /// For all channels.
  mlir::Value column(mlir::Value x) const;

  NodeBuilder &b;
  const Border border;
  const bool alignsCorners;
  const llvm::SmallVector<int64_t> extents;
  mlir::Value table; ///< [batch, elements, channels]
};

/// Places and weights of the two elements around `x`, each of which counts by how near it is.
std::pair<Sampler::Values, Sampler::Values> linearTaps(NodeBuilder &b, mlir::Value x);
/// Four taps are weighted by Keys's cubic convolution with a = -0.75.
std::pair<Sampler::Values, Sampler::Values> cubicTaps(NodeBuilder &b, mlir::Value x);

} // namespace mpc::onnx

#endif
