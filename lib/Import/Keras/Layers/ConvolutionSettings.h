// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The window of a layer with a convolution, as its config has it.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_CONVOLUTIONSETTINGS_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_CONVOLUTIONSETTINGS_H

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {

struct ConvolutionSettings {
  DataFormat format = DataFormat::ChannelsLast;
  llvm::SmallVector<int64_t> kernel, strides, dilations;
  std::string padding;
  llvm::SmallVector<int64_t> low, high; ///< of the convolution, once extents are known

  /// Reads a layer with `spatial` spatial dimensions; nothing after an error.
  static std::optional<ConvolutionSettings> read(LayerBuilder &b, int64_t spatial,
                                                 bool stridesAndDilations);

  ConvolutionWindow window(int64_t groups) const { return {strides, low, high, dilations, groups}; }
  int64_t reach(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  /// The padding for a channels-last input of these spatial extents; false after an error.
  bool setPadding(LayerBuilder &b, llvm::ArrayRef<int64_t> extents, bool allowsCausal);
  bool setPadding(LayerBuilder &b, mlir::Value x, bool allowsCausal) {
    return setPadding(b, b.shapeOf(x).drop_front().drop_back(), allowsCausal);
  }
  /// Extents of the result of such an input.
  llvm::SmallVector<int64_t> getResultExtents(llvm::ArrayRef<int64_t> extents) const;
};

} // namespace mpc::keras

#endif
