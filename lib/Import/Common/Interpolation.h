// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpolations of keras.ops.image.resize as tables for mpc.resample.
#ifndef MPC_LIB_IMPORT_COMMON_INTERPOLATION_H
#define MPC_LIB_IMPORT_COMMON_INTERPOLATION_H

#include "dialects/mpc/IR/Window.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpc {

/// How `places` places along `axis` come from `extent` elements; nothing for a name that
/// tf.image.resize does not have. Weights are TensorFlow's, computed in float32 as its kernels do.
std::optional<ResampleTable> interpolate(llvm::StringRef interpolation, bool antialias,
                                         int64_t axis, int64_t extent, int64_t places);

/// The places of TensorFlow 1, whose elements have no centres: nearest or bilinear
/// (tensorflow/core/util/image_resizer_state.h).
ResampleTable interpolateAsVersion1(bool isNearest, bool alignsCorners, int64_t axis,
                                    int64_t extent, int64_t places);

/// Each of `extent` elements `times` times.
ResampleTable repeatElements(int64_t axis, int64_t extent, int64_t times);

} // namespace mpc

#endif
