// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras_hub/src/layers/modeling/rotary_embedding.py and alibi_bias.py: positions as rotations of
// pairs of features, and as a slope on attention scores.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/Hub/Positions.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

// ---- RotaryEmbedding ----------------------------------------------------------------------------

struct Rotation {
  double wavelength, factor, fast, slow, original;
  std::string kind;
  bool truncates;
  int64_t sequenceAxis, featureAxis;
  std::optional<double> denominator;

  static std::optional<Rotation> read(B &b) {
    Rotation result;
    result.wavelength = b.getNumber("max_wavelength", 10000.0);
    result.factor = b.getNumber("scaling_factor", 1.0);
    result.fast = b.getNumber("beta_fast", 32.0);
    result.slow = b.getNumber("beta_slow", 1.0);
    result.original = b.getNumber("original_max_position_embeddings", 4096.0);
    result.kind = b.getString("rope_type", "linear");
    result.truncates = b.getFlag("truncate", true);
    result.sequenceAxis = b.getInteger("sequence_axis", 1);
    result.featureAxis = b.getInteger("feature_axis", -1);
    result.denominator = b.getOptionalNumber("denominator_dim");
    for (double number : {result.wavelength, result.factor, result.fast, result.slow,
                          result.original, result.denominator.value_or(1.0)})
      if (!(number > 0.0) || !std::isfinite(number))
        b.error("the numbers in the config of RotaryEmbedding must be positive");
    if (b.hasFailed())
      return std::nullopt;
    return result;
  }

  /// _get_inverse_freq, each step in float32 as there: angles of far positions show the last bits.
  llvm::SmallVector<double> frequencies(int64_t width) const {
    llvm::SmallVector<double> result;
    for (int64_t i = 0; i < width / 2; ++i) {
      if (kind == "yarn") {
        result.push_back(blended(i, width));
        continue;
      }
      const float share = float(2 * i) / float(denominator.value_or(double(width)));
      float frequency = std::pow(float(wavelength), -share);
      if (kind == "linear")
        frequency /= float(factor);
      else if (kind == "dynamic")
        frequency /= std::pow(float(factor), float(width) / float(std::max<int64_t>(1, width - 2)));
      result.push_back(frequency);
    }
    return result;
  }

  /// _get_yarn_inverse_freq: interpolated frequencies, and own ones where rotations are many.
  float blended(int64_t i, int64_t width) const {
    const float base = float(wavelength), size = float(width);
    auto dimensionOf = [&](double rotations) {
      const float turns = float(rotations) * 2.0f * float(M_PI);
      return size * std::log(float(original) / turns) / (2.0f * std::log(base));
    };
    float low = dimensionOf(fast), high = dimensionOf(slow);
    if (truncates) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0f);
    high = std::min(high, float(width - 1));
    const float range = std::max(high - low, 0.001f);
    const float ramp = std::clamp((float(i) - low) / range, 0.0f, 1.0f);
    const float spread = std::pow(base, float(2 * i) / size), own = 1.0f - ramp;
    return 1.0f / (float(factor) * spread) * (1.0f - own) + 1.0f / spread * own;
  }
};

/// Permutations that make the sequence the second axis and the features the last, and back.
struct AxisOrder {
  llvm::SmallVector<int64_t> there, back;

  AxisOrder(int64_t rank, int64_t sequence, int64_t features) : back(rank) {
    for (int64_t axis = 0; axis < rank; ++axis)
      if (axis != sequence && axis != features)
        there.push_back(axis);
    there.insert(there.begin() + 1, sequence);
    there.push_back(features);
    for (const auto &[place, axis] : llvm::enumerate(there))
      back[axis] = int64_t(place);
  }
  Value apply(B &b, Value x, llvm::ArrayRef<int64_t> order) const {
    return llvm::is_sorted(order) ? x : b.make<TransposeOp>(x, order);
  }
};

/// The angles [batch or 1, places, 1..., width / 2] in float32, of `x` with its axes in order.
Value makeAngles(B &b, Value x, llvm::ArrayRef<double> frequencies) {
  const int64_t places = b.shapeOf(x)[1];
  llvm::SmallVector<int64_t> along(b.rankOf(x), 1), across(b.rankOf(x), 1);
  along[1] = places;
  across.back() = int64_t(frequencies.size());
  const mlir::Type f32 = b.builder.getF32Type();
  Value positions = readPositions(b, places);
  if (b.hasFailed())
    return {};
  if (positions) {
    along[0] = b.shapeOf(positions)[0];
    positions = b.makeReshape(mlir::isa<mlir::FloatType>(elementTypeOf(positions))
                                  ? b.makeCastTo(positions, f32)
                                  : b.makeCastTo(b.makeCastToFloat(positions), f32),
                              along);
  } else {
    const llvm::json::Value *literal = b.getLiteral(1, "start_index");
    std::optional<double> start = literal ? literal->getAsNumber() : 0.0;
    if (!start || !b.getArgument(1, "start_index").empty())
      return b.error(
          "'start_index' of RotaryEmbedding must be a constant; pass 'positions' instead");
    llvm::SmallVector<double> numbers;
    for (int64_t place = 0; place < places; ++place)
      numbers.push_back(float(place) + float(*start));
    positions = b.makeCastTo(b.makeConstant(along, numbers), f32);
  }
  return b.make<MultiplyOp>(positions, b.makeCastTo(b.makeConstant(across, frequencies), f32));
}

Value importRotaryEmbedding(B &b) {
  llvm::ArrayRef<Value> given = b.getArgument(0, "inputs");
  std::optional<Rotation> rotation = Rotation::read(b);
  if (given.size() != 1 || !mlir::isa<mlir::FloatType>(elementTypeOf(given.front())) ||
      b.rankOf(given.front()) < 3)
    return b.error("RotaryEmbedding takes one floating tensor of at least 3 dimensions");
  if (!rotation)
    return {};
  Value x = given.front();
  std::optional<int64_t> sequence = resolveAxis(b, rotation->sequenceAxis, x),
                         features = resolveAxis(b, rotation->featureAxis, x);
  if (!sequence || !features)
    return {};
  const int64_t width = b.shapeOf(x)[*features];
  if (std::max(width, b.shapeOf(x)[*sequence]) > int64_t(1) << 24)
    return b.error("RotaryEmbedding of more than 2^24 places or features is not supported");
  if (*sequence == *features || width % 2 != 0)
    return b.error("RotaryEmbedding needs two different axes and an even number of features");
  const AxisOrder order(b.rankOf(x), *sequence, *features);
  x = order.apply(b, x, order.there);
  Value angles = makeAngles(b, x, rotation->frequencies(width));
  if (!angles)
    return {};
  Value cosine = b.makeCastLike(b.make<CosOp>(angles), x),
        sine = b.makeCastLike(b.make<SinOp>(angles), x);
  if (rotation->kind == "yarn") {
    auto strong = [&](double value) { return b.makeCastLike(b.makeConstant(value), x); };
    Value temperature = b.make<AddOp>(
        b.make<MultiplyOp>(strong(0.1), b.make<LogOp>(strong(rotation->factor))), strong(1.0));
    cosine = b.make<MultiplyOp>(cosine, temperature);
    sine = b.make<MultiplyOp>(sine, temperature);
  }
  const int64_t last = b.rankOf(x) - 1, half = width / 2;
  Value first = b.make<SliceOp>(x, last, int64_t(0), half),
        second = b.make<SliceOp>(x, last, half, half);
  // x cos + (-second, first) sin, half by half: the angles of both are the same.
  auto turn = [&](Value own, Value other) {
    return b.make<AddOp>(b.make<MultiplyOp>(own, cosine), b.make<MultiplyOp>(other, sine));
  };
  Value turned = b.make<ConcatenateOp>(
      mlir::ValueRange{turn(first, b.make<NegateOp>(second)), turn(second, first)}, last);
  return order.apply(b, turned, order.back);
}

// ---- AlibiBias ----------------------------------------------------------------------------------

/// A geometric sequence for a power of two; else that of the one below and every second slope of
/// the one above.
llvm::SmallVector<double> findSlopes(int64_t heads, double maximum) {
  int64_t power = 1;
  while (power * 2 <= heads)
    power *= 2;
  const double ratio = std::exp2(-maximum / double(power));
  llvm::SmallVector<double> slopes;
  for (int64_t i = 0; i < power; ++i)
    slopes.push_back(std::pow(ratio, double(i + 1)));
  const double finer = std::exp2(-maximum / double(2 * power));
  for (int64_t i = 0; i < heads - power; ++i)
    slopes.push_back(std::pow(finer, double(2 * i + 1)));
  return slopes;
}

Value importAlibiBias(B &b) {
  Value scores = b.getFloatInput();
  const double maximum = b.getNumber("alibi_bias_max", 8.0);
  if (scores &&
      (b.rankOf(scores) != 4 || b.shapeOf(scores)[1] > 1 << 16 || b.shapeOf(scores)[3] > 1 << 24))
    b.error("AlibiBias takes scores of the shape [batch, heads, targets, sources]");
  if (!(maximum > 0.0) || !std::isfinite(maximum))
    b.error("'alibi_bias_max' of AlibiBias must be positive");
  if (!scores || b.hasFailed())
    return {};
  const int64_t heads = b.shapeOf(scores)[1], sources = b.shapeOf(scores)[3];
  llvm::SmallVector<double> distances;
  for (int64_t place = 0; place < sources; ++place)
    distances.push_back(double(place + 1 - sources));
  auto strong = [&](llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
    return b.makeCastLike(b.makeConstant(shape, values), scores);
  };
  Value bias = b.make<MultiplyOp>(strong({1, heads, 1, 1}, findSlopes(heads, maximum)),
                                  strong({1, 1, 1, sources}, distances));
  return b.make<AddOp>(scores, bias);
}

constexpr LayerEntry kHubRotaryLayers[] = {
    {"AlibiBias", importAlibiBias},
    {"RotaryEmbedding", importRotaryEmbedding},
};

} // namespace

llvm::ArrayRef<LayerEntry> hubRotaryLayers() { return kHubRotaryLayers; }

} // namespace mpc::keras
