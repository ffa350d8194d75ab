// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of layers over spatial dimensions: the data format, numbers per dimension,
// padding.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_SPATIAL_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_SPATIAL_H

#include "lib/Import/Keras/LayerBuilder.h"

namespace mpc::keras {

enum class DataFormat { ChannelsLast, ChannelsFirst };

/// Nothing after an error.
std::optional<DataFormat> parseDataFormat(ValueBuilder &b, llvm::StringRef name);
/// The config's "data_format"; channels last when absent. Nothing after an error.
std::optional<DataFormat> getDataFormat(LayerBuilder &b);

/// The dimension of the tensor that is spatial dimension `d`.
inline int64_t spatialAxis(DataFormat format, int64_t d) {
  return d + (format == DataFormat::ChannelsLast ? 1 : 2);
}

/// How a layer treats integers that it is given.
enum class Integers {
  Refused, ///< Keras cannot compute it either
  Cast,    ///< to the compute dtype
  Kept,
};

/// The only input, with `spatial` spatial dimensions; null after an error.
mlir::Value getImages(LayerBuilder &b, int64_t spatial, Integers integers = Integers::Refused);

mlir::Value toChannelsLast(ValueBuilder &b, DataFormat format, mlir::Value value);
mlir::Value fromChannelsLast(ValueBuilder &b, DataFormat format, mlir::Value value);

/// A pool of floating images, channels last, with "valid" or "same" padding; null after an error.
mlir::Value makePool(ValueBuilder &b, ReduceKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> window, llvm::ArrayRef<int64_t> strides,
                     llvm::StringRef padding);

/// The config entry `key` as one number for each of `count` dimensions: an integer for all or a
/// list. Numbers below `least` are errors, after which nothing is returned.
std::optional<llvm::SmallVector<int64_t>> getNumbers(LayerBuilder &b, llvm::StringRef key,
                                                     int64_t count, int64_t otherwise,
                                                     int64_t least = 1);

/// Zeros before and after one dimension so that a window that reaches over `reach` elements is
/// at ceil(extent / stride) places (TensorFlow's SAME: the odd one comes after).
std::pair<int64_t, int64_t> samePadding(int64_t extent, int64_t reach, int64_t stride);

/// A kernel along one dimension.
struct KernelAxis {
  int64_t extent = 1, stride = 1, dilation = 1;
};

/// The output of a transposed convolution for `extent` elements: so many that the convolution with
/// this padding takes back to them.
struct TransposedExtent {
  int64_t extent = 0, low = 0, high = 0;
};

/// keras/src/backend/common/backend_utils.py, compute_conv_transpose_output_shape; `padding` is
/// valid or same. Nothing after an error.
std::optional<TransposedExtent> transposeExtent(ValueBuilder &b, int64_t extent, KernelAxis kernel,
                                                llvm::StringRef padding,
                                                std::optional<int64_t> outputPadding);

/// Numbers in files beyond this are errors: windows of this size have no use, and sums stay exact.
inline constexpr int64_t kMostSpatial = int64_t(1) << 30;

} // namespace mpc::keras

#endif
