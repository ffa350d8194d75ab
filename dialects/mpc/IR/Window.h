// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows over spatial dimensions: which elements of the input belong to an element of the result.
#ifndef MPC_DIALECTS_MPC_IR_WINDOW_H
#define MPC_DIALECTS_MPC_IR_WINDOW_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc {

/// How a filter moves over the spatial dimensions of a convolution; one number for each.
struct ConvolutionWindow {
  llvm::ArrayRef<int64_t> strides, paddingLow, paddingHigh, dilations;
  int64_t groups = 1;
};

/// Elements of a convolution's result along a dimension of `extent` elements; none or fewer when
/// the kernel does not fit.
int64_t convolvedExtent(int64_t extent, int64_t kernel, int64_t stride, int64_t low, int64_t high,
                        int64_t dilation);

/// The windows of a pool along one spatial dimension. Strided, or adaptive when `window` is 0.
struct PoolAxis {
  int64_t extent = 0, outputs = 0; ///< of the input, of the result
  int64_t window = 0, stride = 0, low = 0;

  bool isAdaptive() const { return window == 0; }
  /// Elements [begin, end) of the input belong to `output`.
  int64_t begin(int64_t output) const;
  int64_t end(int64_t output) const;
  /// Most elements that a window has.
  int64_t mostElements() const;
  /// Most windows that an element is in.
  int64_t mostWindows() const;
  /// Whether each window lies inside the input as a whole.
  bool isInside() const;
};

/// The axes of a pool between `input` and `result`, both channels last.
llvm::SmallVector<PoolAxis> poolAxes(mlir::RankedTensorType input, mlir::RankedTensorType result,
                                     llvm::ArrayRef<int64_t> window,
                                     llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> low);

/// Outputs along one axis: `indices` has `taps` entries for each, -1 for none, and `weights` as
/// many or none.
struct ResampleTable {
  int64_t axis = 0, taps = 1;
  llvm::SmallVector<int64_t> indices;
  llvm::SmallVector<double> weights;

  int64_t outputs() const { return int64_t(indices.size()) / taps; }
  double weight(size_t entry) const { return weights.empty() ? 1.0 : weights[entry]; }
  /// The adjoint, towards an axis of `extent` elements.
  ResampleTable transposed(int64_t extent) const;
};

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_WINDOW_H
