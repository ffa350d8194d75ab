// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts and numbers that stand for each other: a key is found by comparing it with all keys.
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/TextParts.h"
#include "lib/Import/ONNX/Ops/TextPieces.h"

#include <cmath>
#include <set>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

/// Keys or values as the node says them.
struct Labels {
  Literal elements; ///< [count], or code points [count, width]
  int64_t count = 0;
  bool isText() const { return elements.type == DataType::String; }
};

Literal makeLiteral(B &b, DataType type, mlir::Type element, llvm::ArrayRef<int64_t> shape) {
  Literal literal;
  literal.type = type;
  literal.tensor.elementType = element;
  literal.tensor.shape.assign(shape.begin(), shape.end());
  literal.tensor.allocate();
  return literal;
}

std::optional<Labels> fromTexts(B &b, llvm::ArrayRef<std::string> texts) {
  int64_t width = 1;
  auto points = decodeTexts(texts, width);
  if (!points || width > kMostTextWidth || int64_t(points->size()) > kMostTextConstants) {
    b.error("has text that is no UTF-8, has U+0000, or is too long");
    return std::nullopt;
  }
  Labels labels;
  labels.count = int64_t(texts.size());
  labels.elements = makeLiteral(b, DataType::String, b.builder.getI32Type(), {labels.count, width});
  llvm::copy(*points, labels.elements.tensor.integers.begin());
  return labels;
}

Labels fromIntegers(B &b, llvm::ArrayRef<int64_t> numbers) {
  return {Literal::fromIntegers(b.builder, {int64_t(numbers.size())}, numbers),
          int64_t(numbers.size())};
}

Labels fromFloats(B &b, llvm::ArrayRef<double> numbers) {
  Labels labels{makeLiteral(b, DataType::Float, b.builder.getF32Type(), {int64_t(numbers.size())}),
                int64_t(numbers.size())};
  llvm::copy(numbers, labels.elements.tensor.floats.begin());
  return labels;
}

std::optional<Labels> fromTensor(B &b, const Tensor &tensor) {
  if (tensor.type == DataType::String)
    return fromTexts(b, tensor.strings);
  std::optional<Literal> literal = Literal::decode(b.builder, tensor);
  if (!literal) {
    b.error("a tensor of type " + spell(tensor.type) + " is not supported");
    return std::nullopt;
  }
  Labels labels{std::move(*literal), 0};
  labels.count = labels.elements.tensor.size();
  labels.elements.tensor.shape = {labels.count};
  return labels;
}

/// The attributes that begin with "keys_" or "values_"; nothing after an error.
std::optional<Labels> readLabels(B &b, const std::string &stem) {
  std::optional<Labels> labels;
  if (b.attributes.has(stem + "_strings"))
    labels = fromTexts(b, b.attributes.getTexts(stem + "_strings"));
  else if (b.attributes.has(stem + "_int64s"))
    labels = fromIntegers(b, b.attributes.getIntegers(stem + "_int64s"));
  else if (b.attributes.has(stem + "_floats"))
    labels = fromFloats(b, b.attributes.getNumbers(stem + "_floats"));
  else if (const Tensor *tensor = b.attributes.getTensor(stem + "_tensor"))
    labels = fromTensor(b, *tensor);
  else
    b.error("has no '" + stem + "_…'");
  if (labels && !labels->isText() && labels->elements.type == DataType::Double) {
    b.error("labels of float64 are not supported; expected float32, integers or text");
    return std::nullopt;
  }
  return labels;
}

/// The value for a key that there is not, in the values' type; nothing after an error.
std::optional<Labels> readDefault(B &b, const Labels &values) {
  for (llvm::StringRef name : {"default_string", "default_int64", "default_float"})
    b.attributes.ignore(name);
  const Tensor *tensor = b.attributes.getTensor("default_tensor");
  if (tensor) {
    std::optional<Labels> given = fromTensor(b, *tensor);
    if (given && (given->count != 1 || given->elements.type != values.elements.type)) {
      b.error("'default_tensor' must be one element of the values' type");
      return std::nullopt;
    }
    return given;
  }
  if (values.isText())
    return fromTexts(b, {b.attributes.getText("default_string", "_Unused").str()});
  if (values.elements.type == DataType::Float)
    return fromFloats(b, {b.attributes.getNumber("default_float", -0.0)});
  Labels number = fromIntegers(b, {b.attributes.getInteger("default_int64", -1)});
  number.elements.type = values.elements.type;
  number.elements.tensor.elementType = values.elements.tensor.elementType;
  return number;
}

/// No key twice: which of its values it has would not be clear.
bool checkKeys(B &b, const Labels &keys) {
  const ReferenceTensor &tensor = keys.elements.tensor;
  std::set<std::vector<int64_t>> integers;
  std::set<std::pair<bool, double>> floats;
  const auto width = size_t(keys.count > 0 ? tensor.size() / keys.count : 1);
  bool areUnique = true;
  for (size_t i = 0; i < size_t(keys.count); ++i)
    if (keys.elements.isInteger()) {
      const auto *first = tensor.integers.begin() + i * width;
      areUnique &= integers.emplace(first, first + width).second;
    } else {
      const double key = tensor.floats[i];
      areUnique &= floats.emplace(std::isnan(key), std::isnan(key) ? 0 : key).second;
    }
  if (!areUnique)
    b.error("has a key twice");
  return areUnique;
}

/// Whether each of `x` [texts…] is each key: [texts…, keys].
Value compareKeys(B &b, Value x, const Labels &keys) {
  if (keys.isText()) {
    Value own = b.makeIndices(keys.elements.tensor.shape, keys.elements.tensor.integers);
    return compareTexts(b, insertAxis(b, x, b.rankOf(x) - 1), own);
  }
  Value single = insertAxis(b, x, b.rankOf(x)), own = b.makeLiteral(keys.elements);
  Value isSame = b.makeCompare(ComparePredicate::EQ, single, own);
  if (keys.elements.isInteger())
    return isSame;
  // A key that is NaN stands for every NaN.
  Value areNaN = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::NE, single, single),
                                      b.makeCompare(ComparePredicate::NE, own, own));
  return b.makeOr(isSame, areNaN);
}

/// The values with the one of no key behind them.
Value appendDefault(B &b, const Labels &values, const Labels &none) {
  Value all = b.makeLiteral(values.elements), last = b.makeLiteral(none.elements);
  if (values.isText()) {
    const int64_t width = std::max(textWidthOf(all), textWidthOf(last));
    all = padTexts(b, all, width);
    last = padTexts(b, last, width);
  }
  return b.make<ConcatenateOp>(mlir::ValueRange{all, last}, int64_t(0));
}

void mapLabels(B &b, const Labels &keys, const Labels &values, const Labels &none) {
  Value x = b.get(0);
  if (!x || !checkKeys(b, keys))
    return;
  // A narrower key would be others' key, too.
  const mlir::Type element = elementTypeOf(x);
  const bool widens = keys.elements.type == DataType::Int64 && b.getType(0) != DataType::String &&
                      element.isSignlessInteger() && !element.isInteger(1);
  if ((b.getType(0) != keys.elements.type && !widens) || keys.count < 1 ||
      values.count != keys.count || keys.elements.tensor.size() > kMostTextConstants)
    return (void)b.error("takes keys of the input's type, at least one, and a value for each");
  if (widens)
    x = castTo(b, x, b.builder.getI64Type());
  if (!values.isText() && isFloating(values.elements.type))
    b.setComputeType(values.elements.type);
  Value isKey = compareKeys(b, x, keys);
  Value number = b.makeReduce(
      ReduceKind::Min, b.makeSelect(isKey, makePlaces(b, keys.count), makeNumber(b, keys.count)),
      {b.rankOf(isKey) - 1}, /*keepDims=*/false);
  b.setResult(0, b.make<GatherOp>(appendDefault(b, values, none), number, int64_t(0)),
              values.elements.type);
}

} // namespace

void encodeLabels(B &b) {
  if (b.opset >= 2) {
    std::optional<Labels> keys = readLabels(b, "keys"), values, none;
    if (keys)
      values = readLabels(b, "values");
    if (values)
      none = readDefault(b, *values);
    if (none)
      mapLabels(b, *keys, *values, *none);
    return;
  }
  // The first version: classes and their numbers.
  std::optional<Labels> texts = fromTexts(b, b.attributes.getTexts("classes_strings"));
  if (!texts)
    return;
  Labels numbers = fromIntegers(b, llvm::to_vector(llvm::seq<int64_t>(0, texts->count)));
  const bool isText = b.getType(0) == DataType::String;
  if (std::optional<Labels> none = readDefault(b, isText ? numbers : *texts))
    mapLabels(b, isText ? *texts : numbers, isText ? numbers : *texts, *none);
}

void mapCategories(B &b) {
  std::optional<Labels> texts = fromTexts(b, b.attributes.getTexts("cats_strings"));
  if (!texts)
    return;
  Labels numbers = fromIntegers(b, b.attributes.getIntegers("cats_int64s"));
  const bool isText = b.getType(0) == DataType::String;
  if (std::optional<Labels> none = readDefault(b, isText ? numbers : *texts))
    mapLabels(b, isText ? *texts : numbers, isText ? numbers : *texts, *none);
}

} // namespace mpc::onnx
