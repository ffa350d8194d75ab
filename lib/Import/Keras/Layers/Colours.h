// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Red, green and blue as hue, saturation and value, and back.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERS_COLOURS_H
#define MPC_LIB_IMPORT_KERAS_LAYERS_COLOURS_H

#include "lib/Import/Common/ValueBuilder.h"

#include <array>

namespace mpc::keras {

/// Three channels, each [batch, height, width, 1].
using Colours = std::array<mlir::Value, 3>;

/// The channels of images [batch, height, width, 3] in float32 or wider.
Colours splitColours(ValueBuilder &b, mlir::Value images);
/// tensorflow/core/kernels/image/colorspace_op.h, RGBToHSV. Denominators that are not read are 1,
/// so that derivatives stay finite.
Colours toHueSaturationValue(ValueBuilder &b, mlir::Value images);
/// The way back, HSVToRGB, to images.
mlir::Value toImages(ValueBuilder &b, const Colours &colours);

} // namespace mpc::keras

#endif
