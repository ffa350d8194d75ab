// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's functions of places: subscripts, slices, gathers, one_hot, borders, orders reversed.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

bool isInteger(Value x) {
  const mlir::Type type = elementTypeOf(x);
  return !mlir::isa<mlir::FloatType>(type) && !type.isInteger(1);
}

// ---- Subscripts ---------------------------------------------------------------------------------

/// A bound of a slice: an integer, or a known one in the graph; the batch as the end of all
/// samples, which is null. Nothing after an error.
std::optional<llvm::json::Value> readBound(T &b, const Argument &argument) {
  if (argument.kind == Argument::Kind::Constant &&
      argument.constant.kind() == llvm::json::Value::Null)
    return llvm::json::Value(nullptr);
  std::optional<SymbolicIntegers> known = b.toSymbolic(argument);
  if (known && known->isScalar && known->isConstant())
    return llvm::json::Value(known->elements.front().constant);
  if (known && known->isScalar && known->elements.front().isBatch())
    return llvm::json::Value(nullptr);
  b.error("a slice has a bound that is not known when the model is compiled");
  return std::nullopt;
}

/// A subscript as keras.ops records one; nothing after an error.
std::optional<llvm::json::Value> toSubscript(T &b, const Argument &argument) {
  if (argument.kind == Argument::Kind::Dict) {
    llvm::json::Object bounds{{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}};
    for (const auto &[key, item] : llvm::zip_equal(argument.keys, argument.items)) {
      std::optional<llvm::json::Value> bound = readBound(b, item);
      if (!bound)
        return std::nullopt;
      bounds[key] = std::move(*bound);
    }
    return llvm::json::Object{{"class_name", "__slice__"}, {"config", std::move(bounds)}};
  }
  if (argument.kind != Argument::Kind::Constant) {
    if (std::optional<SymbolicIntegers> known = b.toSymbolic(argument);
        known && known->isScalar && known->isConstant())
      return llvm::json::Value(known->elements.front().constant);
    b.error("with a subscript that is neither a known integer nor a slice is not supported; use "
            "tf.gather");
    return std::nullopt;
  }
  return argument.constant;
}

/// Elements of known integers; nothing for other subscripts.
std::optional<SymbolicIntegers> pickExtents(const SymbolicIntegers &known,
                                            const llvm::json::Value &subscript) {
  const int64_t count = int64_t(known.elements.size());
  SymbolicIntegers result;
  result.sample = known.sample;
  if (std::optional<int64_t> place = subscript.getAsInteger()) {
    const int64_t at = *place < 0 ? *place + count : *place;
    if (at < 0 || at >= count)
      return std::nullopt;
    result.isScalar = true;
    result.elements.push_back(known.elements[at]);
    return result;
  }
  const llvm::json::Object *object = subscript.getAsObject();
  const llvm::json::Object *slice = object ? object->getObject("config") : nullptr;
  if (!slice || slice->getInteger("step").value_or(1) != 1)
    return std::nullopt;
  auto clamp = [&](std::optional<int64_t> bound, int64_t otherwise) {
    const int64_t at = bound.value_or(otherwise);
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const int64_t start = clamp(slice->getInteger("start"), 0),
                stop = clamp(slice->getInteger("stop"), count);
  for (int64_t at = start; at < stop; ++at)
    result.elements.push_back(known.elements[at]);
  return result;
}

Value getItem(T &b) {
  const Argument *spec = b.find("slice_spec");
  Value x = b.getTensor("tensor");
  if (!x || !spec)
    return x ? b.error("argument 'slice_spec' is missing") : Value();
  llvm::ArrayRef<Argument> items =
      spec->kind == Argument::Kind::List ? llvm::ArrayRef(spec->items) : llvm::ArrayRef(*spec);
  llvm::json::Array key;
  for (const Argument &item : items) {
    std::optional<llvm::json::Value> subscript = toSubscript(b, item);
    if (!subscript)
      return {};
    key.push_back(std::move(*subscript));
  }
  if (key.size() == 1)
    if (std::optional<SymbolicIntegers> known = b.findSymbolic("tensor"); known && !known->isScalar)
      if (std::optional<SymbolicIntegers> picked = pickExtents(*known, key.front()))
        return b.makeIntegers(*picked, elementTypeOf(x));
  return b.call("GetItem", {{"x", x}, {"key", llvm::json::Value(std::move(key))}});
}

Value slice(T &b) {
  Value x = b.getTensor("input_");
  std::optional<llvm::SmallVector<int64_t>> begin = x ? b.getIntegers("begin") : std::nullopt;
  std::optional<SymbolicIntegers> size = begin ? b.findSymbolic("size") : std::nullopt;
  if (!size)
    return begin && !b.hasFailed() ? b.error("'size' must be known integers") : Value();
  if (std::optional<SymbolicIntegers> known = b.findSymbolic("input_");
      known && !known->isScalar && begin->size() == 1 && size->isConstant()) {
    const int64_t first = begin->front(), count = size->elements.front().constant;
    const int64_t stop = count == -1 ? int64_t(known->elements.size()) : first + count;
    const llvm::json::Value bounds = llvm::json::Object{
        {"class_name", "__slice__"},
        {"config", llvm::json::Object{{"start", first}, {"stop", stop}, {"step", 1}}}};
    if (first >= 0 && stop >= first)
      if (std::optional<SymbolicIntegers> picked = pickExtents(*known, bounds))
        return b.makeIntegers(*picked, elementTypeOf(x));
  }
  llvm::SmallVector<int64_t> sizes;
  for (const Extent &extent : size->elements)
    sizes.push_back(extent.isBatch() ? -1 : extent.constant);
  return b.call("Slice", {{"inputs", x},
                          {"start_indices", llvm::ArrayRef<int64_t>(*begin)},
                          {"shape", llvm::ArrayRef<int64_t>(sizes)}});
}

/// Subscripts as numbers and masks of bits (tensorflow/python/ops/array_ops.py, strided_slice).
Value stridedSlice(T &b) {
  Value x = b.getTensor("input_");
  if (!x)
    return {};
  std::optional<SymbolicIntegers> begin = b.findSymbolic("begin"), end = b.findSymbolic("end"),
                                  strides = b.findSymbolic("strides");
  if (!begin || !end || (!strides && b.find("strides")))
    return b.error("needs bounds that are known when the model is compiled");
  const size_t count = begin->elements.size();
  if (end->elements.size() != count || (strides && strides->elements.size() != count) || count > 63)
    return b.error("has other numbers of bounds");
  auto has = [&](llvm::StringRef mask, size_t bit) {
    return (uint64_t(b.getInteger(mask, 0)) >> bit) & 1;
  };
  llvm::json::Array key;
  for (size_t i = 0; i < count; ++i) {
    if (has("ellipsis_mask", i)) {
      key.push_back(llvm::json::Object{{"class_name", "__ellipsis__"}});
    } else if (has("new_axis_mask", i)) {
      key.push_back(nullptr);
    } else if (has("shrink_axis_mask", i)) {
      if (!begin->elements[i].isConstant())
        return b.error("at a place that depends on the batch");
      key.push_back(begin->elements[i].constant);
    } else {
      const bool fromStart = has("begin_mask", i), toEnd = has("end_mask", i);
      const bool wholeBatch = end->elements[i].isBatch() && i == 0;
      if ((!fromStart && !begin->elements[i].isConstant()) ||
          (!toEnd && !wholeBatch && !end->elements[i].isConstant()))
        return b.error("has a bound that depends on the batch");
      const bool isFirst = fromStart || (wholeBatch && begin->elements[i].constant == 0);
      const int64_t step = strides ? strides->elements[i].constant : 1;
      llvm::json::Object bounds;
      bounds["start"] =
          isFirst ? llvm::json::Value(nullptr) : llvm::json::Value(begin->elements[i].constant);
      bounds["stop"] = toEnd || wholeBatch ? llvm::json::Value(nullptr)
                                           : llvm::json::Value(end->elements[i].constant);
      bounds["step"] = step;
      key.push_back(llvm::json::Object{{"class_name", "__slice__"}, {"config", std::move(bounds)}});
    }
  }
  if (key.size() == 1)
    if (std::optional<SymbolicIntegers> known = b.findSymbolic("input_"); known && !known->isScalar)
      if (std::optional<SymbolicIntegers> picked = pickExtents(*known, key.front()))
        return b.makeIntegers(*picked, elementTypeOf(x));
  return b.hasFailed() ? Value()
                       : b.call("GetItem", {{"x", x}, {"key", llvm::json::Value(std::move(key))}});
}

// ---- Gathers ------------------------------------------------------------------------------------

/// Elements along an axis. TensorFlow on a CPU ends with an error where an index is negative or
/// outside, and so no file relies on what becomes of one.
Value gather(T &b) {
  Value x = b.getTensor("params"), indices = x ? b.getTensor("indices") : Value();
  if (!indices)
    return {};
  if (!isInteger(indices))
    return b.error("needs integer indices");
  const int64_t rank = b.rankOf(x);
  int64_t batchDims = b.getInteger("batch_dims", 0);
  batchDims = batchDims < 0 ? batchDims + b.rankOf(indices) : batchDims;
  int64_t axis = b.getInteger("axis", batchDims);
  axis = axis < 0 ? axis + rank : axis;
  // tf.compat.v1 writes the default, 0, beside dimensions that are shared.
  axis = std::max(axis, batchDims);
  if (b.hasFailed())
    return {};
  if (std::optional<SymbolicIntegers> known = b.findSymbolic("params"),
      places = b.findSymbolic("indices");
      known && places && places->isConstant() && !known->isScalar && batchDims == 0) {
    SymbolicIntegers result{places->isScalar, {}, known->sample};
    for (const Extent &place : places->elements)
      if (place.constant >= 0 && place.constant < int64_t(known->elements.size()))
        result.elements.push_back(known->elements[place.constant]);
    if (result.elements.size() == places->elements.size())
      return b.makeIntegers(result, elementTypeOf(x));
  }
  if (batchDims == 0)
    return b.call("Take", {{"x", x}, {"indices", indices}, {"axis", axis}});
  if (batchDims < 0 || batchDims > b.rankOf(indices) || axis >= rank ||
      b.shapeOf(x).take_front(batchDims) != b.shapeOf(indices).take_front(batchDims))
    return b.error("'batch_dims' is outside of the tensors, or these differ there");
  return b.make<GatherOp>(x, indices, axis, batchDims);
}

/// Rows of indices along the last dimension, each naming a place in the dimensions behind the
/// shared ones: one index into those dimensions as one.
Value gatherNd(T &b) {
  Value x = b.getTensor("params"), indices = x ? b.getTensor("indices") : Value();
  if (!indices)
    return {};
  const int64_t batchDims = b.getInteger("batch_dims", 0);
  if (!isInteger(indices) || b.rankOf(indices) < 1 || b.hasFailed())
    return b.error("needs integer indices of one dimension or more");
  const int64_t rank = b.rankOf(x), depth = b.shapeOf(indices).back();
  if (batchDims < 0 || batchDims >= b.rankOf(indices) || depth < 1 || batchDims + depth > rank ||
      b.shapeOf(x).take_front(batchDims) != b.shapeOf(indices).take_front(batchDims))
    return b.error("'batch_dims' or the indices are outside of the tensor");
  if (batchDims == 0 && tensorTypeOf(x).getNumDynamicDims())
    return b.error("that picks samples of the batch is not supported; use batch_dims=1");
  // The places in row-major order.
  const mlir::Type type = elementTypeOf(indices);
  Value places;
  llvm::SmallVector<int64_t> flatIndices(b.shapeOf(indices).drop_back());
  for (int64_t d = 0; d < depth; ++d) {
    Value column =
        b.makeReshape(b.make<SliceOp>(indices, b.rankOf(indices) - 1, d, int64_t(1)), flatIndices);
    const int64_t extent = b.shapeOf(x)[batchDims + d];
    places = places ? b.make<AddOp>(b.make<MultiplyOp>(places, b.makeInteger(type, extent)), column)
                    : column;
  }
  llvm::SmallVector<int64_t> shape(b.shapeOf(x).take_front(batchDims));
  int64_t count = 1;
  for (int64_t extent : b.shapeOf(x).slice(batchDims, depth))
    count *= extent;
  shape.push_back(count);
  llvm::append_range(shape, b.shapeOf(x).drop_front(batchDims + depth));
  return b.make<GatherOp>(b.makeReshape(x, shape), places, batchDims, batchDims);
}

Value embeddingLookup(T &b) {
  Value table = b.getTensor("params"), ids = table ? b.getTensor("ids") : Value();
  if (!ids)
    return {};
  if (b.find("max_norm"))
    return b.error("'max_norm' is not supported");
  return b.call("Take", {{"x", table}, {"indices", ids}, {"axis", 0}});
}

/// on_value at the index, off_value elsewhere, in their dtype or the one named.
Value oneHot(T &b) {
  Value indices = b.getTensor("indices");
  std::optional<int64_t> depth = indices ? b.getInteger("depth") : std::nullopt;
  if (!depth)
    return indices && !b.hasFailed() ? b.error("argument 'depth' is missing") : Value();
  if (!isInteger(indices))
    return b.error("needs integer indices");
  Value on = b.find("on_value") ? b.getTensor("on_value") : Value(),
        off = b.find("off_value") ? b.getTensor("off_value", on) : Value();
  if (b.hasFailed())
    return {};
  Value given = on ? on : off;
  std::string dtype = b.getString("dtype", "");
  Value hot =
      b.call("OneHot", {{"x", indices},
                        {"num_classes", *depth},
                        {"axis", b.getInteger("axis", -1)},
                        {"dtype", given || dtype.empty() ? std::string("float32") : dtype}});
  if (!given || !hot)
    return hot;
  const mlir::Type type = elementTypeOf(given);
  on = on ? on : b.makeScalar(type, 1);
  off = off ? off : b.makeZero(type);
  Value y = b.makeSelect(b.makeBool(hot), on, off);
  return dtype.empty() ? y : b.cast(y, dtype);
}

// ---- Orders and borders -------------------------------------------------------------------------

Value reverse(T &b) {
  Value x = b.getTensor("tensor");
  std::optional<llvm::SmallVector<int64_t>> axes = x ? b.getIntegers("axis") : std::nullopt;
  return axes ? b.call("Flip", {{"x", x}, {"axis", llvm::ArrayRef<int64_t>(*axes)}}) : Value();
}

Value roll(T &b) {
  Value x = b.getTensor("input");
  std::optional<llvm::SmallVector<int64_t>> shift = x ? b.getIntegers("shift") : std::nullopt,
                                            axis = shift ? b.getIntegers("axis") : std::nullopt;
  return axis ? b.call("Roll", {{"x", x},
                                {"shift", llvm::ArrayRef<int64_t>(*shift)},
                                {"axis", llvm::ArrayRef<int64_t>(*axis)}})
              : Value();
}

Value pad(T &b) {
  Value x = b.getTensor("tensor");
  const Argument *paddings = b.find("paddings");
  if (!x || !paddings || paddings->kind != Argument::Kind::List)
    return x ? b.error("'paddings' must be two known integers for each dimension") : Value();
  llvm::json::Array widths;
  for (const Argument &pair : paddings->items) {
    std::optional<SymbolicIntegers> known = b.toSymbolic(pair);
    std::optional<llvm::SmallVector<int64_t>> both = known ? known->getConstants() : std::nullopt;
    if (!both || both->size() != 2)
      return b.error("'paddings' must be two known integers for each dimension");
    widths.push_back(llvm::json::Array(*both));
  }
  const std::string mode = llvm::StringRef(b.getString("mode", "CONSTANT")).lower();
  if (mode != "constant" && mode != "reflect" && mode != "symmetric")
    return b.error("'mode' is '" + mode + "'; expected constant, reflect or symmetric");
  const double value = b.getNumber("constant_values", 0.0);
  return b.hasFailed() ? Value()
                       : b.call("Pad", {{"x", x},
                                        {"pad_width", llvm::json::Value(std::move(widths))},
                                        {"mode", mode},
                                        {"constant_values", value}});
}

Value dependsOnData(T &b) {
  return b.error("gives a number of elements that depends on the data, which a compiled model "
                 "cannot have; keep all elements and weight them, with tf.where or a product");
}

constexpr TensorFlowFunction kTensorFlowIndexing[] = {
    {"__operators__.getitem|getitem", "tensor slice_spec var", getItem},
    {"slice", "input_ begin size", slice},
    {"strided_slice",
     "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask "
     "var",
     stridedSlice},
    {"gather", "params indices validate_indices axis batch_dims", gather},
    {"gather_nd", "params indices batch_dims bad_indices_policy", gatherNd},
    {"nn.embedding_lookup", "params ids partition_strategy validate_indices max_norm",
     embeddingLookup},
    {"one_hot", "indices depth on_value off_value axis dtype", oneHot},
    {"keras.backend.one_hot", "indices depth|num_classes", oneHot},
    {"reverse|reverse_v2", "tensor axis", reverse},
    {"keras.backend.reverse", "tensor|x axis|axes", reverse},
    {"roll", "input shift axis", roll},
    {"pad", "tensor paddings mode constant_values", pad},
    {"boolean_mask|unique|dynamic_partition|math.unique", "tensor mask axis", dependsOnData},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowIndexing() { return kTensorFlowIndexing; }

} // namespace mpc::keras
