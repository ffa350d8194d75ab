// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating weights to integers with the numbers of Keras's `model.quantize`.
#ifndef MPC_LIB_IMPORT_KERAS_QUANTIZATION_KERNELQUANTIZER_H
#define MPC_LIB_IMPORT_KERAS_QUANTIZATION_KERNELQUANTIZER_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpc::keras {

/// Quantizes one floating weight (keras/src/quantizers/quantizers.py, abs_max_quantize and
/// abs_max_quantize_grouped_with_zero_point).
struct KernelQuantizer {
  struct Result {
    StoredTensor values; ///< int8; int4 two per byte along the last dimension or the first
    StoredTensor scale;
    std::optional<StoredTensor> zero, groups; ///< of blocks
  };

  std::vector<int64_t> fileShape; ///< of the floating weight
  /// The same elements, as they are quantized: int4 kernels are matrices.
  llvm::SmallVector<int64_t> shape;
  /// One scale for all places along these; or, with blocks, the one axis that they divide.
  llvm::SmallVector<int64_t> reducedAxes;
  /// The other axes in the order of the scale's dimensions, and the scale's stored shape.
  llvm::SmallVector<int64_t> scaleAxes, scaleShape;
  bool isInt4 = false;
  int64_t blockSize = 0;                 ///< int4; 0: no blocks
  bool packsRows = false;                ///< int4: two per byte along the first dimension
  bool hasFloatZero = false;             ///< zero points are stored in `dtype`
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32; ///< of the variable that Keras quantizes

  /// `weight` has fileShape and a floating dtype.
  Result quantize(const StoredTensor &weight) const;
  /// The numbers that quantized tensors stand for.
  std::vector<double> dequantize(const StoredTensor &values, const StoredTensor &scale,
                                 const StoredTensor *zero) const;

private:
  std::vector<uint32_t> findScales() const;
};

/// Elements of a floating tensor.
std::vector<double> readFloats(const StoredTensor &tensor);

} // namespace mpc::keras

#endif
