// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations in front of models: counts of n-grams, scales of sound, columns of tables.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/TextPieces.h"

#include <cmath>
#include <set>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Elements of a constant, or of a tensor of truth values for a sample.
constexpr int64_t kMostElements = int64_t(1) << 24;

// ---- N-grams ------------------------------------------------------------------------------------

/// The n-grams of one length: `tokens` are n by n, `outputs` where each counts.
struct Grams {
  int64_t length;
  llvm::ArrayRef<int64_t> tokens, outputs;
};

/// Those of the wanted lengths; nothing after an error. `pool`, `starts`, `indexes` are attributes.
std::optional<llvm::SmallVector<Grams>> readGrams(B &b, llvm::ArrayRef<int64_t> pool,
                                                  llvm::ArrayRef<int64_t> starts,
                                                  llvm::ArrayRef<int64_t> indexes) {
  const int64_t least = b.attributes.getInteger("min_gram_length", 0),
                most = b.attributes.getInteger("max_gram_length", 0);
  llvm::SmallVector<Grams> all;
  std::set<llvm::SmallVector<int64_t>> known;
  size_t place = 0;
  bool fits = least >= 1 && most >= least && !starts.empty();
  for (size_t i = 0; fits && i < starts.size(); ++i) {
    const int64_t length = int64_t(i) + 1, first = starts[i],
                  end = i + 1 < starts.size() ? starts[i + 1] : int64_t(pool.size());
    fits = first >= 0 && first <= end && end <= int64_t(pool.size()) && (end - first) % length == 0;
    const size_t count = fits ? size_t((end - first) / length) : 0;
    fits = fits && count <= indexes.size() - place;
    if (!fits)
      break;
    const auto tokens = pool.slice(size_t(first), size_t(end - first));
    if (count > 0 && length >= least && length <= most)
      all.push_back({length, tokens, indexes.slice(place, count)});
    for (size_t gram = 0; fits && gram < count; ++gram)
      fits = known.emplace(tokens.slice(gram * size_t(length), size_t(length))).second;
    place += count;
  }
  if (fits && !all.empty())
    return all;
  b.error("needs n-grams of integers in 'pool_int64s', which differ, each with a place in "
          "'ngram_indexes'");
  return std::nullopt;
}

/// How often each of the n-grams stands in the rows [batch, length], with up to `skips` tokens
/// between two of its own: [batch, count]. Null where no row is long enough.
Value countGrams(B &b, Value rows, const Grams &grams, int64_t skips) {
  const int64_t length = b.shapeOf(rows)[1], count = int64_t(grams.outputs.size());
  const mlir::Type i64 = b.builder.getI64Type();
  Value total;
  for (int64_t distance = 1; distance <= (grams.length == 1 ? 1 : skips + 1); ++distance) {
    const int64_t places = length - (grams.length - 1) * distance;
    if (places < 1)
      break;
    Value isThere;
    for (int64_t i = 0; i < grams.length; ++i) {
      Extents tokens;
      for (int64_t gram = 0; gram < count; ++gram)
        tokens.push_back(grams.tokens[size_t(gram * grams.length + i)]);
      Value own = castTo(b, b.make<SliceOp>(rows, int64_t(1), i * distance, places), i64);
      Value same =
          b.makeCompare(ComparePredicate::EQ, b.makeReshape(own, {b.shapeOf(rows)[0], places, 1}),
                        b.makeLiteral(Literal::fromIntegers(b.builder, {1, 1, count}, tokens)));
      isThere = isThere ? b.make<LogicalAndOp>(isThere, same) : same;
    }
    Value sum = b.makeReduce(ReduceKind::Sum,
                             b.makeSelect(isThere, b.makeConstant(1.0), b.makeConstant(0.0)), {1},
                             /*keepDims=*/false);
    total = total ? b.make<AddOp>(total, sum) : sum;
  }
  return total;
}

void tfIdfVectorizer(B &b) {
  Value x = b.get(0);
  const llvm::StringRef mode = b.attributes.getText("mode");
  const auto pool = b.attributes.getIntegers("pool_int64s"),
             starts = b.attributes.getIntegers("ngram_counts"),
             indexes = b.attributes.getIntegers("ngram_indexes");
  const auto weights = b.attributes.getNumbers("weights");
  const int64_t skips = b.attributes.getInteger("max_skip_count", 0);
  if (!x)
    return;
  int64_t outputs = 0;
  for (int64_t index : indexes)
    outputs = std::max(outputs, index < 0 ? kMostElements : index + 1);
  const bool isRow = b.rankOf(x) == 1;
  if (b.isFloat(x) || b.rankOf(x) < 1 || b.rankOf(x) > 2 || skips < 0 || skips > kMostElements ||
      mlir::ShapedType::isDynamic(b.shapeOf(x).back()) || outputs < 1 ||
      b.shapeOf(x).back() > kMostElements / std::max<int64_t>(int64_t(pool.size()), 1) ||
      outputs >= kMostElements || (mode != "TF" && mode != "IDF" && mode != "TFIDF") ||
      (!weights.empty() && int64_t(weights.size()) < outputs))
    return (void)b.error(
        "takes rows of integers, a mode of TF, IDF or TFIDF, and a weight for each "
        "result or none");
  auto grams = readGrams(b, pool, starts, indexes);
  if (!grams)
    return;
  b.setComputeType(DataType::Float);
  Value rows = isRow ? b.makeReshape(x, {1, b.shapeOf(x)[0]}) : x;
  llvm::SmallVector<Value> columns;
  Extents placeOf(size_t(outputs), -1);
  int64_t place = 0;
  for (const Grams &own : *grams) {
    Value counts = countGrams(b, rows, own, skips);
    for (int64_t output : own.outputs) {
      int64_t &known = placeOf[size_t(output)];
      if (known >= 0)
        return (void)b.error("two n-grams count at one place, which is not supported");
      known = counts ? place++ : -1;
    }
    if (counts)
      columns.push_back(counts);
  }
  // A column of zeros for results that no n-gram counts at.
  Value zero = b.makeReduce(ReduceKind::Max,
                            b.makeSelect(b.makeCompare(ComparePredicate::EQ, rows, rows),
                                         b.makeConstant(0.0), b.makeConstant(0.0)),
                            {1}, /*keepDims=*/true);
  columns.push_back(zero);
  for (int64_t &known : placeOf)
    known = known < 0 ? place : known;
  Value table =
      columns.size() == 1 ? zero : b.make<ConcatenateOp>(mlir::ValueRange(columns), int64_t(1));
  Value y = b.make<GatherOp>(table, b.makeIndices({outputs}, placeOf), int64_t(1), int64_t(0));
  Value factors = weights.empty()
                      ? b.makeConstant(1.0)
                      : b.makeConstant({1, outputs}, llvm::ArrayRef(weights).take_front(outputs));
  if (mode == "IDF")
    y = b.makeSelect(ComparePredicate::GT, y, b.makeConstant(0.0), factors, b.makeConstant(0.0));
  else if (mode == "TFIDF")
    y = b.make<MultiplyOp>(y, factors);
  b.setResult(0, isRow ? b.makeReshape(y, {outputs}) : y, DataType::Float);
}

// ---- Sound --------------------------------------------------------------------------------------

/// Triangles over the bins of a spectrum, which are equally wide on the mel scale.
void melWeightMatrix(B &b) {
  double given[5] = {};
  for (unsigned i = 0; i < 5; ++i) {
    auto numbers = b.getNumbers(i, "each input");
    if (!numbers || numbers->size() != 1)
      return (void)(numbers && b.error("input " + llvm::Twine(i) + " is not one number"));
    given[i] = numbers->front();
  }
  const double bands = given[0], length = given[1], rate = given[2], low = given[3],
               high = given[4];
  const auto isCount = [](double number) { return number >= 1 && number <= 1 << 20; };
  if (!isCount(bands) || !isCount(length) || !(rate >= 1) || !(low >= 0) || !(high >= low) ||
      !std::isfinite(rate) || !std::isfinite(high) || (length / 2 + 1) * bands > kMostElements)
    return (void)b.error("needs numbers of bands and samples, a rate, and a lower and a higher "
                         "frequency");
  const auto count = int64_t(bands), bins = int64_t(length) / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  const double step = (mel(high) - mel(low)) / double(count + 2);
  const auto edge = [&](int64_t i) {
    const double hertz = 700 * std::expm1((double(i) * step + mel(low)) / 2595 * std::log(10.0));
    return int64_t(std::floor(std::min((length + 1) * hertz / rate, double(bins))));
  };
  llvm::SmallVector<double> weights(size_t(bins * count), 0.0);
  for (int64_t band = 0; band < count; ++band) {
    const int64_t left = edge(band), middle = edge(band + 1), right = edge(band + 2);
    if (middle >= bins || right > bins)
      return (void)b.error("the highest frequency is beyond the spectrum");
    const auto set = [&](int64_t bin, double weight) {
      weights[size_t(bin * count + band)] = weight;
    };
    if (middle == left)
      set(middle, 1);
    for (int64_t bin = left; middle > left && bin <= middle; ++bin)
      set(bin, double(bin - left) / double(middle - left));
    for (int64_t bin = middle; bin < right; ++bin)
      set(bin, double(right - bin) / double(right - middle));
  }
  const auto type = static_cast<DataType>(b.attributes.getInteger("output_datatype", 1));
  b.setComputeType(isFloating(type) ? type : DataType::Float);
  Value matrix = b.makeConstant({bins, count}, weights);
  if (Value y = convert(b, matrix, DataType::Float, type, /*saturate=*/true))
    b.setResult(0, y, type);
}

// ---- Tables (ai.onnx.ml) ------------------------------------------------------------------------

void binarizer(B &b) {
  Value x = b.get(0);
  const double threshold = b.attributes.getNumber("threshold", 0.0);
  if (!x || !b.isFloat(x))
    return (void)(x && b.error("of integers is not supported"));
  b.setResult(0,
              b.makeSelect(ComparePredicate::GT, x, b.makeConstant(threshold), b.makeConstant(1.0),
                           b.makeConstant(0.0)),
              b.getType(0));
}

/// Columns of the last axis.
void arrayFeatureExtractor(B &b) {
  Value x = b.get(0), places = b.get(1);
  if (!x || !places)
    return;
  if (b.rankOf(x) < 1 || b.isFloat(places) || mlir::ShapedType::isDynamic(b.shapeOf(x).back()) ||
      !tensorTypeOf(places).hasStaticShape())
    return (void)b.error("takes a tensor and integers that name columns of its last axis");
  if (b.rankOf(x) == 1)
    x = b.makeReshape(x, {1, b.shapeOf(x)[0]});
  places = b.makeReshape(places, {tensorTypeOf(places).getNumElements()});
  b.setResult(0, b.make<GatherOp>(x, places, b.rankOf(x) - 1), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"ArrayFeatureExtractor", 1, arrayFeatureExtractor, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"Binarizer", 1, binarizer, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"CategoryMapper", 1, mapCategories, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"LabelEncoder", 1, encodeLabels, nullptr, OpenBatch::first, "ai.onnx.ml"},
    {"MelWeightMatrix", 17, melWeightMatrix},
    {"TfIdfVectorizer", 9, tfIdfVectorizer},
};

} // namespace

llvm::ArrayRef<OpEntry> getFeatureOps() { return kTable; }

} // namespace mpc::onnx
