// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of a resized axis come from, as ONNX's Resize says it.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_RESIZETABLES_H
#define MPC_LIB_IMPORT_ONNX_OPS_RESIZETABLES_H

#include "dialects/mpc/IR/Window.h"

#include "llvm/ADT/StringRef.h"

namespace mpc::onnx {

struct Resizing {
  enum class Mode { Nearest, Linear, Cubic } mode = Mode::Nearest;
  enum class Rounding { PreferFloor, PreferCeil, Floor, Ceil } rounding = Rounding::PreferFloor;
  enum class Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    CropAndResize
  } coordinates = Coordinates::HalfPixel;
  double cubic = -0.75;
  bool antialias = false, excludesOutside = false;
};

/// One axis: `scale` of its `extent` elements makes `places`.
struct ResizedAxis {
  int64_t axis = 0, extent = 0, places = 0;
  double scale = 1.0;
  double begin = 0.0, end = 1.0; ///< the region of interest
};

/// Whether the coordinate of a place of the result lies outside of the input, which only those of
/// CropAndResize do: such a place has the value that stands for what is not there.
bool isOutside(const Resizing &resizing, const ResizedAxis &axis, int64_t place);

/// Weights of the neighbours of each place; places outside of the input have none.
ResampleTable tabulate(const Resizing &resizing, const ResizedAxis &axis);

} // namespace mpc::onnx

#endif
