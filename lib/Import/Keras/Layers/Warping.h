// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Images that are moved, turned, stretched, slanted and projected, each by numbers of its own or
// all alike.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_WARPING_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_WARPING_H

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {

/// Column x and row y of the result lie at column `a0 x + a1 y + a2` and row `b0 x + b1 y + b2` of
/// the image, both divided by `c0 x + c1 y + 1`. float32, [batch, 1, 1], or [1, 1, 1] or scalars
/// for all samples; null is 0.
struct ProjectiveMatrix {
  mlir::Value a0, a1, a2, b0, b1, b2, c0 = {}, c1 = {};
};

/// How images are read between pixels and outside.
struct WarpSampling {
  bool nearest = false; ///< the nearest place; else bilinear
  std::string fillMode = "reflect";
  double fill = 0.0; ///< outside, with the fill mode "constant"
};

/// The config's "interpolation", "fill_mode" and "fill_value"; nothing after an error.
std::optional<WarpSampling> getWarpSampling(LayerBuilder &b);

/// Images [batch, height, width, channels] of the same size, computed in float32 and rounded once
/// (keras/src/backend/tensorflow/image.py, affine_transform: tensorflow/core/kernels/image/
/// image_ops.h, ProjectiveGenerator, which this follows).
mlir::Value warpImages(ValueBuilder &b, mlir::Value images, const ProjectiveMatrix &matrix,
                       const WarpSampling &sampling);

} // namespace mpc::keras

#endif
