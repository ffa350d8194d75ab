// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Images of another size, as the layer Resizing and keras.ops.image.resize make them.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_RESAMPLING_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_RESAMPLING_H

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {

struct ResizedImages {
  llvm::SmallVector<int64_t> axes, size;
  std::string interpolation = "bilinear";
  bool antialias = false;
  bool crops = false, pads = false; ///< to the aspect ratio of `size`, before
  double fill = 0.0;                ///< of what pads
};

/// Null after an error.
mlir::Value resizeImages(ValueBuilder &b, mlir::Value x, const ResizedImages &images);

} // namespace mpc::keras

#endif
