// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.image: images of other colours, or seen from elsewhere.
#include "lib/Import/Keras/Layers/Colours.h"
#include "lib/Import/Keras/Layers/Warping.h"
#include "lib/Import/Keras/Operations/Images.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

// ---- Colours ------------------------------------------------------------------------------------

template <bool fromHue> Value convertColours(B &b) {
  std::optional<Images> images = Images::readFloats(b);
  if (!images)
    return {};
  if (images->extent(3) != 3)
    return b.error("'" + b.layer.className + "' takes images of 3 channels, not " +
                   llvm::Twine(images->extent(3)));
  Value wide = b.makeCastLike(images->x, images->x, /*wide=*/true), y;
  if (fromHue) {
    y = toImages(b, splitColours(b, wide));
  } else {
    const Colours colours = toHueSaturationValue(b, wide);
    y = b.make<ConcatenateOp>(mlir::ValueRange(colours), int64_t(3));
  }
  return images->restore(b, b.makeCastLike(y, images->x));
}

// ---- Projections --------------------------------------------------------------------------------

/// Numbers of an array that the file holds; nothing of a tensor of the graph.
std::optional<llvm::SmallVector<double>> constantOf(Value value) {
  if (auto cast = value.getDefiningOp<CastLikeOp>())
    value = cast.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())
                           : mlir::DenseElementsAttr();
  if (!elements)
    return std::nullopt;
  llvm::SmallVector<double> numbers;
  if (mlir::isa<mlir::FloatType>(elements.getElementType())) {
    for (const llvm::APFloat &number : elements.getValues<llvm::APFloat>())
      numbers.push_back(number.convertToDouble());
  } else {
    for (const llvm::APInt &number : elements.getValues<llvm::APInt>())
      numbers.push_back(double(number.getSExtValue()));
  }
  return numbers;
}

/// Floating images that are no float64, channels last, and how they are read; nothing after an
/// error.
std::optional<std::pair<Images, WarpSampling>> readWarp(B &b) {
  std::optional<Images> images = b.refuseFloat64(0, "images", "coordinates are in float32")
                                     ? std::nullopt
                                     : Images::readFloats(b);
  WarpSampling sampling;
  const std::string interpolation = b.getString(kKeywordOnly, "interpolation", "bilinear");
  sampling.nearest = interpolation == "nearest";
  sampling.fillMode = b.getString(kKeywordOnly, "fill_mode", "constant");
  sampling.fill = b.getNumber(kKeywordOnly, "fill_value").value_or(0.0);
  if (!images || b.hasFailed())
    return std::nullopt;
  if (!sampling.nearest && interpolation != "bilinear")
    b.error("'interpolation' of '" + b.layer.className + "' is '" + interpolation +
            "'; expected nearest or bilinear");
  else if (!llvm::is_contained({"reflect", "wrap", "constant", "nearest"}, sampling.fillMode))
    b.error("'fill_mode' of '" + b.layer.className + "' is '" + sampling.fillMode +
            "'; expected reflect, wrap, constant or nearest");
  else
    return std::pair(*images, sampling);
  return std::nullopt;
}

/// The same eight numbers for each sample; what is 0 needs no arithmetic.
ProjectiveMatrix makeMatrix(B &b, llvm::ArrayRef<double> numbers) {
  auto at = [&](size_t place) {
    return numbers[place] == 0 ? Value() : b.makeConstant(numbers[place]);
  };
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
}

Value transformAffinely(B &b) {
  auto warp = readWarp(b);
  Operand transform = warp ? b.getOperand(1, "transform") : Operand();
  if (!transform)
    return {};
  const auto &[images, sampling] = *warp;
  llvm::ArrayRef<int64_t> shape = b.shapeOf(transform.value);
  const bool isOne = shape == llvm::ArrayRef<int64_t>{8} || shape == llvm::ArrayRef<int64_t>{1, 8};
  if (!isOne && (shape.size() != 2 || shape[0] != images.extent(0) || shape[1] != 8))
    return b.error("'transform' of 'AffineTransform' must be 8 numbers, or 8 for each sample");
  ProjectiveMatrix matrix;
  std::optional<llvm::SmallVector<double>> constant = constantOf(transform.value);
  if (isOne && constant) {
    matrix = makeMatrix(b, *constant);
  } else {
    Value numbers = transform.isFloat()
                        ? b.makeCastTo(transform.value, b.builder.getF32Type())
                        : b.makeCastTo(b.makeCastToFloat(transform.value), b.builder.getF32Type());
    Value *members[] = {&matrix.a0, &matrix.a1, &matrix.a2, &matrix.b0,
                        &matrix.b1, &matrix.b2, &matrix.c0, &matrix.c1};
    const int64_t axis = b.rankOf(numbers) - 1;
    for (int64_t place = 0; place < 8; ++place)
      *members[place] =
          b.makeReshape(b.make<SliceOp>(numbers, axis, place, int64_t(1)),
                        {isOne ? int64_t(1) : images.extent(0), int64_t(1), int64_t(1)});
  }
  return images.restore(b, warpImages(b, images.x, matrix, sampling));
}

/// The projection that takes four end points to start points, by elimination with pivots; nothing
/// where there is none.
std::optional<std::array<double, 8>> findProjection(llvm::ArrayRef<double> start,
                                                    llvm::ArrayRef<double> end) {
  double rows[8][9];
  for (int point = 0; point < 4; ++point) {
    const double x = end[2 * point], y = end[2 * point + 1];
    for (int d = 0; d < 2; ++d) {
      double *row = rows[2 * point + d];
      const double target = start[2 * point + d];
      std::fill(row, row + 9, 0.0);
      row[3 * d] = x, row[3 * d + 1] = y, row[3 * d + 2] = 1;
      row[6] = -target * x, row[7] = -target * y, row[8] = target;
    }
  }
  for (int k = 0; k < 8; ++k) {
    int pivot = k;
    for (int row = k + 1; row < 8; ++row)
      if (std::abs(rows[row][k]) > std::abs(rows[pivot][k]))
        pivot = row;
    std::swap(rows[k], rows[pivot]);
    if (!(std::abs(rows[k][k]) > 0))
      return std::nullopt;
    for (int row = 0; row < 8; ++row)
      for (int column = 8; row != k && column >= k; --column)
        rows[row][column] -= rows[row][k] / rows[k][k] * rows[k][column];
  }
  std::array<double, 8> solution;
  for (int row = 0; row < 8; ++row) {
    solution[row] = rows[row][8] / rows[row][row];
    if (!std::isfinite(solution[row]))
      return std::nullopt;
  }
  return solution;
}

Value transformPerspective(B &b) {
  auto warp = readWarp(b);
  Operand start = warp ? b.getOperand(1, "start_points") : Operand(),
          end = warp ? b.getOperand(2, "end_points") : Operand();
  if (!start || !end)
    return {};
  std::optional<llvm::SmallVector<double>> from = constantOf(start.value),
                                           to = constantOf(end.value);
  if (!from || !to || from->size() != 8 || to->size() != 8)
    return b.error("'PerspectiveTransform' takes 'start_points' and 'end_points' that are arrays "
                   "of 4 points, of shape (4, 2) or (1, 4, 2), for all samples");
  std::optional<std::array<double, 8>> projection = findProjection(*from, *to);
  if (!projection)
    return b.error("'PerspectiveTransform' has points that no projection takes to each other");
  const auto &[images, sampling] = *warp;
  return images.restore(b, warpImages(b, images.x, makeMatrix(b, *projection), sampling));
}

// ---- Scale and translation ----------------------------------------------------------------------

using KernelFn = float (*)(float);

float triangle(float x) { return std::max(0.0f, 1 - std::abs(x)); }
float keysCubic(float x) {
  return x >= 2   ? 0
         : x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2
                  : ((1.5f * x - 2.5f) * x) * x + 1;
}
template <int radius> float lanczos(float x) {
  if (x > radius)
    return 0;
  const float angle = float(M_PI) * x;
  return x > 1e-3f ? radius * std::sin(angle) * std::sin(angle / radius) / (angle * angle) : 1;
}

KernelFn findKernel(llvm::StringRef method) {
  return llvm::StringSwitch<KernelFn>(method)
      .Cases({"linear", "bilinear", "trilinear"}, triangle)
      .Cases({"cubic", "bicubic", "tricubic"}, keysCubic)
      .Case("lanczos3", lanczos<3>)
      .Case("lanczos5", lanczos<5>)
      .Default(nullptr);
}

/// Weights of `extent` elements at `places` places (keras/src/backend/tensorflow/image.py,
/// _compute_weight_mat), which are float32 there, too.
ResampleTable weigh(int64_t axis, int64_t extent, int64_t places, float scale, float translation,
                    KernelFn kernel, bool antialias) {
  const float inverse = 1 / scale, width = antialias ? std::max(inverse, 1.0f) : 1.0f;
  llvm::SmallVector<llvm::SmallVector<std::pair<int64_t, float>>> taps(places);
  size_t most = 1;
  for (int64_t place = 0; place < places; ++place) {
    const float centre = (float(place) + 0.5f) * inverse - translation * inverse - 0.5f;
    if (!(centre >= -0.5f && centre <= float(extent) - 0.5f))
      continue;
    float sum = 0;
    for (int64_t from = 0; from < extent; ++from)
      if (const float weight = kernel(std::abs(centre - float(from)) / width); weight != 0) {
        taps[place].push_back({from, weight});
        sum += weight;
      }
    if (!(std::abs(sum) > 1000 * std::numeric_limits<float>::epsilon()))
      taps[place].clear();
    for (auto &[from, weight] : taps[place])
      weight /= sum;
    most = std::max(most, taps[place].size());
  }
  ResampleTable table;
  table.axis = axis;
  table.taps = int64_t(most);
  for (const auto &list : taps)
    for (size_t tap = 0; tap < most; ++tap) {
      table.indices.push_back(tap < list.size() ? list[tap].first : -1);
      table.weights.push_back(tap < list.size() ? list[tap].second : 0.0);
    }
  return table;
}

Value scaleAndTranslate(B &b) {
  Operand images = b.getOperand(0, "images");
  std::optional<llvm::SmallVector<int64_t>> shape = b.getIntegers(1, "output_shape"),
                                            dims = b.getIntegers(kKeywordOnly, "spatial_dims");
  Operand scale = images ? b.getOperand(2, "scale") : Operand(),
          translation = images ? b.getOperand(3, "translation") : Operand();
  const std::string method = b.getString(kKeywordOnly, "method", "");
  const bool antialias = b.getFlag(kKeywordOnly, "antialias", true);
  if (b.hasFailed())
    return {};
  if (!images.isFloat())
    return b.error("'ScaleAndTranslate' of integers is not supported; cast them first");
  const KernelFn kernel = findKernel(method);
  if (!kernel)
    return b.error("'method' of 'ScaleAndTranslate' is '" + method +
                   "'; expected linear, cubic, lanczos3 or lanczos5");
  std::optional<llvm::SmallVector<double>> factors = constantOf(scale.value),
                                           distances = constantOf(translation.value);
  const int64_t rank = b.rankOf(images.value);
  if (!shape || !dims || int64_t(shape->size()) != rank || !factors || !distances ||
      factors->size() != dims->size() || distances->size() != dims->size())
    return b.error("'ScaleAndTranslate' needs an 'output_shape' of all dimensions, 'spatial_dims', "
                   "and arrays 'scale' and 'translation' with a number for each of them");
  llvm::SmallVector<std::optional<ResampleTable>> tables(rank);
  for (const auto &[index, written] : llvm::enumerate(*dims)) {
    std::optional<int64_t> axis = b.getAxis(written, rank);
    if (!axis)
      return {};
    const int64_t extent = b.shapeOf(images.value)[*axis], places = (*shape)[*axis];
    const double factor = (*factors)[index], distance = (*distances)[index];
    constexpr int64_t kMostEntries = int64_t(1) << 24;
    if (tables[*axis] || extent < 1 || places < 1 || places > kMostEntries / extent ||
        !(factor > 0 && std::isfinite(factor)) || !std::isfinite(distance))
      return b.error("'ScaleAndTranslate' of dimension " + llvm::Twine(written) + " from " +
                     llvm::Twine(extent) + " to " + llvm::Twine(places) +
                     " elements; expected other dimensions, positive extents and a finite, "
                     "positive scale");
    tables[*axis] = weigh(*axis, extent, places, float(factor), float(distance), kernel, antialias);
  }
  llvm::SmallVector<ResampleTable> given;
  for (const std::optional<ResampleTable> &table : tables)
    if (table)
      given.push_back(*table);
  return given.empty() ? images.value
                       : b.make<ResampleOp>(images.value, llvm::ArrayRef<ResampleTable>(given));
}

constexpr OperationEntry kImageTransforms[] = {
    {"AffineTransform", transformAffinely},         {"HSVToRGB", convertColours<true>},
    {"PerspectiveTransform", transformPerspective}, {"RGBToHSV", convertColours<false>},
    {"ScaleAndTranslate", scaleAndTranslate},
};

} // namespace

llvm::ArrayRef<OperationEntry> imageTransforms() { return kImageTransforms; }

} // namespace mpc::keras
