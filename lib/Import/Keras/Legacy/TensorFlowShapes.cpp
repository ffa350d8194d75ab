// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's functions of shapes: what a shape is, other shapes, parts that are joined, split and
// repeated. The batch stays first.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/GraphImporter.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

constexpr int64_t kSamples = mlir::ShapedType::kDynamic;

mlir::Type integerType(T &b, llvm::StringRef parameter) {
  return b.getString(parameter, "int32") == "int64" ? b.builder.getI64Type()
                                                    : b.builder.getI32Type();
}

Extent extentOf(int64_t extent) {
  return mlir::ShapedType::isDynamic(extent) ? Extent{1, 0} : Extent{0, extent};
}

Value shape(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  SymbolicIntegers result;
  for (int64_t extent : b.shapeOf(x))
    result.elements.push_back(extentOf(extent));
  if (std::optional<int64_t> times = b.importer.forward.batchPlaces.getTimesBatch(x)) {
    result.elements.erase(result.elements.begin());
    result.elements.front() = {*times, 0};
  }
  if (result.elements.empty())
    return b.error("of a scalar is not supported");
  result.sample = x;
  return b.makeIntegers(result, integerType(b, "out_type"));
}

Value size(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  std::optional<Extent> total = Extent{0, 1};
  for (int64_t extent : b.shapeOf(x))
    total = total ? multiplyExtents(*total, extentOf(extent)) : std::nullopt;
  if (!total)
    return b.error("the tensor is too large");
  SymbolicIntegers result{/*isScalar=*/true, {*total}, x};
  return b.makeIntegers(result, integerType(b, "out_type"));
}

Value rank(T &b) {
  Value x = b.getTensor("input");
  return x ? b.makeInteger(b.builder.getI32Type(), b.rankOf(x)) : Value();
}

/// Integers keep their meaning under another shape of one dimension.
Value reshapeExtents(T &b) {
  std::optional<SymbolicIntegers> known = b.findSymbolic("tensor"), to = b.findSymbolic("shape");
  if (!known || !to || to->elements.size() > 1 || b.find("tensor")->kind != Argument::Kind::Tensor)
    return {};
  known->isScalar = to->elements.empty();
  if (known->isScalar && known->elements.size() != 1)
    return {};
  if (!known->isScalar && to->elements.front().constant != -1 &&
      !(to->elements.front() == Extent{0, int64_t(known->elements.size())}))
    return {};
  return b.makeIntegers(*known, elementTypeOf(b.getTensor("tensor")));
}

/// To a multiple of the batch, by its name or as what -1 stands for; null for other shapes.
Value reshapeToTimesBatch(T &b, Value x) {
  std::optional<SymbolicIntegers> target = b.findSymbolic("shape");
  if (!target || target->elements.size() < 2 || b.rankOf(x) < 1 || !tensorTypeOf(x).isDynamicDim(0))
    return {};
  int64_t total = 1, inner = 1;
  for (int64_t extent : b.shapeOf(x).drop_front())
    total *= extent;
  for (const Extent &extent : llvm::drop_begin(target->elements))
    if (!extent.isConstant() || extent.constant < 1 ||
        llvm::MulOverflow(inner, extent.constant, inner))
      return {};
  const Extent first = target->elements.front();
  const int64_t times = total / inner;
  const bool isNamed = first.batches == times && first.constant == 0;
  if (times < 2 || total % inner != 0 || !(isNamed || first == Extent{0, -1}))
    return {};
  llvm::SmallVector<int64_t> shape = {kSamples, times};
  for (const Extent &extent : llvm::drop_begin(target->elements))
    shape.push_back(extent.constant);
  // A value of its own, as the graph's other tensor of this shape has another meaning.
  Value y = b.make<ReshapeOp>(mlir::RankedTensorType::get(shape, elementTypeOf(x)), x);
  b.importer.forward.batchPlaces.setTimesBatch(y, times);
  return y;
}

Value reshape(T &b) {
  if (Value extents = reshapeExtents(b))
    return extents;
  Value x = b.getTensor("tensor");
  if (Value merged = x ? reshapeToTimesBatch(b, x) : Value())
    return merged;
  // Another value, which stands for no multiple of the batch.
  if (x && b.importer.forward.batchPlaces.getTimesBatch(x))
    x = b.make<ReshapeOp>(x.getType(), x);
  std::optional<llvm::SmallVector<int64_t>> shape = x ? b.getShape("shape") : std::nullopt;
  if (!shape)
    return {};
  const bool hasBatch = b.rankOf(x) > 0 && tensorTypeOf(x).isDynamicDim(0);
  if (hasBatch && !shape->empty() && mlir::ShapedType::isDynamic(shape->front())) {
    // The batch by name: one other extent may be -1.
    shape->front() = -1;
    return b.call("Reshape", {{"x", x}, {"newshape", llvm::ArrayRef<int64_t>(*shape)}});
  }
  if (llvm::is_contained(*shape, kSamples))
    return b.error("the shape names the batch, which the tensor does not have");
  if (hasBatch && !shape->empty() && shape->front() >= 0) {
    // The batch may be what -1 stands for only where it comes first.
    return b.error("the shape begins with " + llvm::Twine(shape->front()) +
                   ", and the batch must stay the first dimension: (-1, ...)");
  }
  if (llvm::count(*shape, -1) > 1)
    return b.error("the shape has more than one -1");
  return b.call("Reshape", {{"x", x}, {"newshape", llvm::ArrayRef<int64_t>(*shape)}});
}

Value transpose(T &b) {
  Value x = b.getTensor("a");
  if (!x)
    return {};
  std::optional<llvm::SmallVector<int64_t>> axes = b.getIntegers("perm");
  b.getFlag("conjugate", false);
  return axes ? b.call("Transpose", {{"x", x}, {"axes", llvm::ArrayRef<int64_t>(*axes)}})
              : b.call("Transpose", {{"x", x}});
}

Value expandDims(T &b) {
  if (std::optional<SymbolicIntegers> known = b.findSymbolic("input");
      known && known->isScalar && b.find("input")->kind == Argument::Kind::Tensor) {
    known->isScalar = false;
    return b.makeIntegers(*known, elementTypeOf(b.getTensor("input")));
  }
  Value x = b.getTensor("input");
  std::optional<int64_t> axis = x ? b.getInteger("axis") : std::nullopt;
  if (!axis && b.function.names.starts_with("keras."))
    axis = -1;
  if (!axis || b.hasFailed())
    return x && !b.hasFailed() ? b.error("argument 'axis' is missing") : Value();
  return b.call("ExpandDims", {{"x", x}, {"axis", *axis}});
}

Value squeeze(T &b) {
  if (std::optional<SymbolicIntegers> known = b.findSymbolic("input");
      known && known->elements.size() == 1 && b.find("input")->kind == Argument::Kind::Tensor) {
    known->isScalar = true;
    return b.makeIntegers(*known, elementTypeOf(b.getTensor("input")));
  }
  Value x = b.getTensor("input");
  if (!x)
    return {};
  std::optional<llvm::SmallVector<int64_t>> axes = b.getIntegers("axis");
  return axes && !axes->empty()
             ? b.call("Squeeze", {{"x", x}, {"axis", llvm::ArrayRef<int64_t>(*axes)}})
             : b.call("Squeeze", {{"x", x}});
}

// ---- Join and split -----------------------------------------------------------------------------

/// Known integers, one after the other; nothing where a part is none.
std::optional<SymbolicIntegers> joinExtents(T &b, llvm::StringRef parameter, bool scalars) {
  const Argument *list = b.find(parameter);
  if (!list || list->kind != Argument::Kind::List)
    return std::nullopt;
  SymbolicIntegers result;
  for (const Argument &item : list->items) {
    std::optional<SymbolicIntegers> part = b.toSymbolic(item); // [] is a vector without elements
    if (!part || part->isScalar != scalars)
      return std::nullopt;
    llvm::append_range(result.elements, part->elements);
    result.sample = result.sample ? result.sample : part->sample;
  }
  return result.elements.empty() ? std::nullopt : std::optional(result);
}

mlir::Type elementOfList(T &b, llvm::StringRef parameter) {
  for (const Argument &item : b.find(parameter)->items)
    if (item.kind == Argument::Kind::Tensor)
      return elementTypeOf(b.toTensor(item, {}));
  return b.builder.getI32Type();
}

Value concat(T &b) {
  if (std::optional<SymbolicIntegers> joined = joinExtents(b, "values", /*scalars=*/false))
    return b.makeIntegers(*joined, elementOfList(b, "values"));
  llvm::SmallVector<Value> values = b.getTensors("values");
  std::optional<int64_t> axis = values.empty() ? std::nullopt : b.getInteger("axis");
  if (!axis && b.function.names.starts_with("keras."))
    axis = -1;
  if (!axis)
    return values.empty() || b.hasFailed() ? Value() : b.error("argument 'axis' is missing");
  if (values.empty())
    return {};
  return b.call("Concatenate", {{"xs", llvm::ArrayRef<Value>(values)}, {"axis", *axis}});
}

Value stack(T &b) {
  if (std::optional<SymbolicIntegers> joined = joinExtents(b, "values", /*scalars=*/true))
    return b.makeIntegers(*joined, elementOfList(b, "values"));
  llvm::SmallVector<Value> values = b.getTensors("values");
  if (values.empty())
    return {};
  return b.call("Stack",
                {{"xs", llvm::ArrayRef<Value>(values)}, {"axis", b.getInteger("axis", 0)}});
}

Value unstack(T &b) {
  if (std::optional<SymbolicIntegers> known = b.findSymbolic("value"); known && !known->isScalar) {
    llvm::SmallVector<Value> values;
    const mlir::Type element = elementTypeOf(b.getTensor("value"));
    for (const Extent &extent : known->elements)
      values.push_back(b.makeIntegers({/*isScalar=*/true, {extent}, known->sample}, element));
    b.furtherResults.append(values.begin() + 1, values.end());
    return values.front();
  }
  Value x = b.getTensor("value");
  if (!x)
    return {};
  Value first = b.call("Unstack", {{"x", x}, {"axis", b.getInteger("axis", 0)}});
  llvm::append_range(b.furtherResults, b.laterResults);
  return first;
}

/// Into so many equal parts, or into parts of these extents, of which one may be -1.
Value split(T &b) {
  Value x = b.getTensor("value");
  std::optional<SymbolicIntegers> sizes = x ? b.findSymbolic("num_or_size_splits") : std::nullopt;
  if (!sizes || !sizes->isConstant())
    return x ? b.error("'num_or_size_splits' must be known integers") : Value();
  int64_t axis = b.getInteger("axis", 0);
  axis = axis < 0 ? axis + b.rankOf(x) : axis;
  if (axis < 0 || axis >= b.rankOf(x) || tensorTypeOf(x).isDynamicDim(axis))
    return b.error("along the batch, or outside of the tensor");
  llvm::SmallVector<int64_t> parts = *sizes->getConstants();
  Value first;
  if (sizes->isScalar) {
    first = b.call("Split", {{"x", x}, {"indices_or_sections", parts.front()}, {"axis", axis}});
    llvm::append_range(b.furtherResults, b.laterResults);
    return first;
  }
  const int64_t extent = b.shapeOf(x)[axis];
  int64_t named = 0;
  for (int64_t part : parts)
    named += std::max<int64_t>(part, 0);
  int64_t place = 0;
  for (int64_t part : parts) {
    part = part == -1 ? extent - named : part;
    if (part < 0 || part > extent - place)
      return b.error("'num_or_size_splits' does not add up to the " + llvm::Twine(extent) +
                     " elements");
    Value slice = b.make<SliceOp>(x, axis, place, part);
    place += part;
    if (!first)
      first = slice;
    else
      b.furtherResults.push_back(slice);
  }
  return place == extent ? first : b.error("'num_or_size_splits' does not add up");
}

// ---- Repeat -------------------------------------------------------------------------------------

Value tile(T &b) {
  Value x = b.getTensor("input");
  std::optional<llvm::SmallVector<int64_t>> repeats = x ? b.getIntegers("multiples") : std::nullopt;
  return repeats ? b.call("Tile", {{"x", x}, {"repeats", llvm::ArrayRef<int64_t>(*repeats)}})
                 : Value();
}

Value repeat(T &b) {
  Value x = b.getTensor("input");
  std::optional<llvm::SmallVector<int64_t>> repeats = x ? b.getIntegers("repeats") : std::nullopt;
  std::optional<int64_t> axis = repeats ? b.getInteger("axis") : std::nullopt;
  if (!axis)
    return repeats && !b.hasFailed() ? b.error("without an axis flattens the batch; name one")
                                     : Value();
  return b.call("Repeat",
                {{"x", x}, {"repeats", llvm::ArrayRef<int64_t>(*repeats)}, {"axis", *axis}});
}

/// A vector for each sample, `n` times: (batch, n, elements).
Value repeatVector(T &b) {
  Value x = b.getTensor("x");
  const int64_t count = b.getInteger("n", 0);
  if (!x || b.rankOf(x) != 2)
    return x ? b.error("takes a vector for each sample") : Value();
  Value row = b.makeReshape(x, {b.shapeOf(x)[0], 1, b.shapeOf(x)[1]});
  return b.call("Tile", {{"x", row}, {"repeats", llvm::json::Array{1, count, 1}}});
}

Value flattenBatch(T &b) {
  Value x = b.getTensor("x");
  if (!x || b.rankOf(x) < 1)
    return x ? b.error("takes a batch") : Value();
  int64_t count = 1;
  for (int64_t extent : b.shapeOf(x).drop_front())
    count *= extent;
  return b.makeReshape(x, {b.shapeOf(x).front(), count});
}

Value broadcastTo(T &b) {
  Value x = b.getTensor("input");
  std::optional<llvm::SmallVector<int64_t>> shape = x ? b.getShape("shape") : std::nullopt;
  if (!shape)
    return {};
  const bool namesBatch = !shape->empty() && mlir::ShapedType::isDynamic(shape->front());
  const bool hasBatch = b.rankOf(x) > 0 && tensorTypeOf(x).isDynamicDim(0);
  if (!namesBatch || (hasBatch && b.rankOf(x) == int64_t(shape->size()))) {
    if (namesBatch)
      shape->front() = -1;
    return b.call("BroadcastTo", {{"x", x}, {"shape", llvm::ArrayRef<int64_t>(*shape)}});
  }
  if (hasBatch || b.rankOf(x) > int64_t(shape->size()))
    return b.error("would put dimensions before the batch");
  // To the batch: as a sum with zeros of that shape would.
  llvm::SmallVector<int64_t> inner(b.shapeOf(x));
  for (auto [from, to] : llvm::zip(llvm::reverse(inner), llvm::reverse(*shape)))
    if (from != 1 && from != to)
      return b.error("to a shape that the tensor does not repeat to");
  Value zeros =
      b.makeFilled(b.makeScalar(b.builder.getI1Type(), 0), *shape, b.findSymbolic("shape")->sample);
  return zeros ? b.make<BroadcastLikeOp>(x, zeros) : Value();
}

// ---- Tensors of one number ----------------------------------------------------------------------

Value filled(T &b, llvm::StringRef parameter, Value number) {
  std::optional<llvm::SmallVector<int64_t>> shape = number ? b.getShape(parameter) : std::nullopt;
  return shape ? b.makeFilled(number, *shape, b.findSymbolic(parameter)->sample) : Value();
}

Value fill(T &b) {
  std::optional<SymbolicIntegers> dims = b.findSymbolic("dims"), whole = b.findSymbolic("value");
  if (dims && whole && whole->isScalar && dims->isConstant() && dims->elements.size() == 1 &&
      dims->elements.front().constant > 0 && dims->elements.front().constant <= 64) {
    whole->isScalar = false; // a vector, such as of repeats
    whole->elements.assign(size_t(dims->elements.front().constant),
                           Extent(whole->elements.front()));
    return b.makeIntegers(*whole, b.builder.getI32Type());
  }
  Value number = b.getTensor("value");
  if (number && b.rankOf(number) != 0)
    return b.error("'value' must be one number");
  return filled(b, "dims", number);
}

template <int number> Value zerosOrOnes(T &b) {
  Value one = b.makeConstant(double(number));
  return filled(b, "shape", b.cast(one, b.getString("dtype", "float32")));
}

/// Known bounds; floating ones may come from a cast of known integers.
Value range(T &b) {
  const bool startsAtZero = !b.find("limit");
  auto read = [&](llvm::StringRef parameter, double otherwise) -> std::optional<double> {
    const Argument *argument = b.find(parameter);
    if (!argument)
      return otherwise;
    if (std::optional<SymbolicIntegers> known = b.toSymbolic(*argument))
      if (known->elements.size() == 1 && known->isConstant())
        return double(known->elements.front().constant);
    if (argument->kind == Argument::Kind::Constant)
      return argument->constant.getAsNumber();
    Value value = b.toTensor(*argument, {});
    while (value && value.getDefiningOp<CastLikeOp>())
      value = value.getDefiningOp<CastLikeOp>().getInput();
    std::optional<SymbolicIntegers> known =
        value ? b.importer.forward.symbolicIntegers.lookup(value) : std::nullopt;
    if (known && known->elements.size() == 1 && known->isConstant())
      return double(known->elements.front().constant);
    return std::nullopt;
  };
  std::optional<double> start = read("start", 0.0), limit = read("limit", 0.0),
                        delta = read("delta", 1.0);
  if (startsAtZero)
    std::swap(start, limit);
  if (!start || !limit || !delta || *delta == 0.0)
    return b.error("needs bounds that are known when the model is compiled");
  const double count = std::ceil((*limit - *start) / *delta);
  if (!(count >= 1.0 && count <= double(1 << 24)))
    return b.error("has no elements, or too many");
  bool floats = false;
  for (llvm::StringRef parameter : {"start", "limit", "delta"})
    if (const Argument *argument = b.find(parameter))
      if (Value value = b.toTensor(*argument, {}))
        floats |= mlir::isa<mlir::FloatType>(elementTypeOf(value));
  const std::string dtype = b.getString("dtype", floats ? "float32" : "int32");
  llvm::SmallVector<double> numbers;
  llvm::SmallVector<int64_t> integers;
  for (int64_t i = 0; i < int64_t(count); ++i) {
    numbers.push_back(*start + double(i) * *delta);
    integers.push_back(int64_t(numbers.back()));
  }
  if (floats)
    return b.cast(b.makeConstant({int64_t(count)}, numbers), dtype);
  return b.cast(b.makeIndices({int64_t(count)}, integers), dtype);
}

Value eye(T &b) {
  std::optional<int64_t> rows = b.getInteger("num_rows");
  const int64_t columns = b.getInteger("num_columns", rows.value_or(0));
  if (!rows || b.hasFailed())
    return b.error("needs a known number of rows");
  if (b.find("batch_shape"))
    return b.error("'batch_shape' is not supported");
  if (*rows < 1 || columns < 1 || *rows > 16384 || columns > 16384)
    return b.error("has no elements, or too many");
  llvm::SmallVector<double> numbers(size_t(*rows * columns), 0.0);
  for (int64_t i = 0; i < std::min(*rows, columns); ++i)
    numbers[size_t(i * columns + i)] = 1.0;
  return b.cast(b.makeConstant({*rows, columns}, numbers), b.getString("dtype", "float32"));
}

/// 1 in the places before each length.
Value sequenceMask(T &b) {
  Value lengths = b.getTensor("lengths");
  std::optional<int64_t> most = lengths ? b.getInteger("maxlen") : std::nullopt;
  if (!most || mlir::isa<mlir::FloatType>(elementTypeOf(lengths)))
    return lengths && !b.hasFailed() ? b.error("needs integers and a known 'maxlen'") : Value();
  if (*most < 1 || *most > (1 << 20))
    return b.error("'maxlen' is out of range");
  llvm::SmallVector<int64_t> shape(b.shapeOf(lengths));
  shape.push_back(1);
  Value places = b.makeIndices({*most}, llvm::to_vector(llvm::seq<int64_t>(0, *most)));
  if (elementTypeOf(lengths) != elementTypeOf(places))
    places = b.make<CastOp>(mlir::RankedTensorType::get({*most}, elementTypeOf(lengths)), places);
  Value mask = b.makeCompare(ComparePredicate::LT, places, b.makeReshape(lengths, shape));
  return b.cast(mask, b.getString("dtype", "bool"));
}

constexpr TensorFlowFunction kTensorFlowShapes[] = {
    {"shape|keras.backend.shape", "input|x out_type", shape},
    {"size", "input out_type", size},
    {"rank", "input", rank},
    {"reshape", "tensor shape", reshape},
    {"transpose", "a perm conjugate", transpose},
    {"expand_dims", "input axis|dim", expandDims},
    {"squeeze", "input axis|squeeze_dims", squeeze},
    {"concat", "values axis", concat},
    {"stack", "values axis", stack},
    {"unstack", "value num axis", unstack},
    {"split", "value num_or_size_splits axis|split_dim num", split},
    {"tile", "input multiples", tile},
    {"repeat", "input repeats axis", repeat},
    {"broadcast_to", "input shape", broadcastTo},
    {"fill", "dims value layout", fill},
    {"zeros", "shape dtype layout", zerosOrOnes<0>},
    {"ones", "shape dtype layout", zerosOrOnes<1>},
    {"range", "start limit delta dtype", range},
    {"eye|linalg.eye", "num_rows num_columns batch_shape dtype", eye},
    {"keras.backend.reshape", "tensor|x shape", reshape},
    {"keras.backend.permute_dimensions", "a|x perm|pattern", transpose},
    {"keras.backend.expand_dims", "input|x axis", expandDims},
    {"keras.backend.squeeze", "input|x axis", squeeze},
    {"keras.backend.concatenate", "values|tensors axis", concat},
    {"keras.backend.stack", "values|x axis", stack},
    {"keras.backend.tile", "input|x multiples|n", tile},
    {"keras.backend.repeat_elements", "input|x repeats|rep axis", repeat},
    {"keras.backend.repeat", "x n", repeatVector},
    {"keras.backend.batch_flatten", "x", flattenBatch},
    {"sequence_mask", "lengths maxlen dtype", sequenceMask},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowShapes() { return kTensorFlowShapes; }

} // namespace mpc::keras
