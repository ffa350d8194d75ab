// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tf.image.resize, and how TensorFlow 1 places the elements.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Common/Interpolation.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

struct Placement {
  bool alignsCorners = false, halfPixels = true;
};

/// The size within the one that is asked for which keeps the ratio of height and width.
void keepRatio(llvm::ArrayRef<int64_t> shape, llvm::SmallVectorImpl<int64_t> &size) {
  const float rows = float(size[0]) / float(shape[1]), columns = float(size[1]) / float(shape[2]);
  const float scale = std::min(rows, columns);
  for (size_t d : {0, 1})
    size[d] = std::max<int64_t>(1, std::lrint(double(scale * float(shape[d + 1]))));
}

Value resample(T &b, llvm::StringRef method, bool antialias, Placement placement) {
  Value x = b.getTensor("images");
  std::optional<llvm::SmallVector<int64_t>> size = x ? b.getIntegers("size") : std::nullopt;
  if (!size)
    return x && !b.hasFailed() ? b.error("argument 'size' is missing") : Value();
  if (b.rankOf(x) != 4 || size->size() != 2 ||
      llvm::any_of(*size, [](int64_t n) { return n < 1 || n > (1 << 20); }))
    return b.error("takes a batch of images of 4 dimensions and a size of two positive integers");
  if (b.getFlag("preserve_aspect_ratio", false))
    keepRatio(b.shapeOf(x), *size);
  const bool isNearest = method == "nearest";
  if (!isNearest && !mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    x = b.cast(x, "float32");
  if (!isNearest) // float32 comes out of every other method
    x = b.cast(x, "float32");
  llvm::SmallVector<ResampleTable> tables;
  for (int64_t axis : {1, 2}) {
    const int64_t extent = b.shapeOf(x)[axis], places = (*size)[size_t(axis - 1)];
    if (extent == places)
      continue;
    if (placement.halfPixels) {
      std::optional<ResampleTable> table = interpolate(method, antialias, axis, extent, places);
      if (!table)
        return b.error("'method' '" + method +
                       "' is not supported; expected bilinear, nearest, "
                       "bicubic, area, lanczos3, lanczos5, gaussian or mitchellcubic");
      tables.push_back(*table);
    } else {
      if (!isNearest && method != "bilinear")
        return b.error("with the places of TensorFlow 1 is supported with bilinear and nearest");
      tables.push_back(
          interpolateAsVersion1(isNearest, placement.alignsCorners, axis, extent, places));
    }
  }
  return tables.empty() ? x : b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables));
}

Value resize(T &b) {
  const std::string method = llvm::StringRef(b.getString("method", "bilinear")).lower();
  const bool antialias = b.getFlag("antialias", false);
  return b.hasFailed() ? Value() : resample(b, method, antialias, {});
}

/// `method` is one of the four numbers of tf.compat.v1.image.ResizeMethod, or a name.
Value resizeOfVersion1(T &b) {
  std::string method = "bilinear";
  if (const Argument *given = b.find("method")) {
    constexpr llvm::StringLiteral kMethods[] = {"bilinear", "nearest", "bicubic", "area"};
    const std::optional<int64_t> number =
        given->kind == Argument::Kind::Constant ? given->constant.getAsInteger() : std::nullopt;
    if (number && *number >= 0 && *number < 4)
      method = kMethods[*number].str();
    else
      method = llvm::StringRef(b.getString("method", "bilinear")).lower();
  }
  const bool alignsCorners = b.getFlag("align_corners", false);
  // An area is the same one in both versions.
  const bool halfPixels = method == "area" && !alignsCorners;
  return b.hasFailed() ? Value() : resample(b, method, false, {alignsCorners, halfPixels});
}

enum class Method { Bilinear, Nearest, Bicubic, Area };

template <Method method> Value resizeByMethod(T &b) {
  constexpr llvm::StringLiteral kNames[] = {"bilinear", "nearest", "bicubic", "area"};
  const bool alignsCorners = b.getFlag("align_corners", false),
             halfPixels = b.getFlag("half_pixel_centers", false);
  if (alignsCorners && (halfPixels || method == Method::Area))
    return b.error("with 'align_corners' is not supported here");
  return b.hasFailed() ? Value()
                       : resample(b, kNames[int(method)], false,
                                  {alignsCorners, halfPixels || method == Method::Area});
}

constexpr TensorFlowFunction kTensorFlowSizes[] = {
    {"image.resize", "images size method preserve_aspect_ratio antialias", resize},
    {"compat.v1.image.resize|compat.v1.image.resize_images|image.resize_images",
     "images size method align_corners preserve_aspect_ratio", resizeOfVersion1},
    {"image.resize_bilinear|ResizeBilinear", "images size align_corners half_pixel_centers",
     resizeByMethod<Method::Bilinear>},
    {"image.resize_nearest_neighbor|ResizeNearestNeighbor",
     "images size align_corners half_pixel_centers", resizeByMethod<Method::Nearest>},
    {"image.resize_bicubic", "images size align_corners half_pixel_centers",
     resizeByMethod<Method::Bicubic>},
    {"image.resize_area", "images size align_corners", resizeByMethod<Method::Area>},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowSizes() { return kTensorFlowSizes; }

} // namespace mpc::keras
