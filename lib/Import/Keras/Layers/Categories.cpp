// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing: CategoryEncoding and Discretization, which make categories of
// numbers and vectors of categories.
#include "lib/Import/Keras/Layers/Categories.h"

namespace mpc::keras {

using mlir::Value;

Value encodeCategories(LayerBuilder &b, Value indices, llvm::StringRef mode, int64_t categories) {
  if (categories < 1 || categories > kMostCategories)
    return b.error("a number of " + llvm::Twine(categories) + " categories is out of range");
  if (b.getFlag("sparse", false))
    return b.error("sparse tensors are not supported");
  if (b.rankOf(indices) < 2)
    return b.error(b.layer.className + " of a tensor without features counts across samples; "
                                       "expected an input of 2 dimensions or more");
  llvm::SmallVector<int64_t> shape(b.shapeOf(indices));
  constexpr int64_t axis = 1; // also of inputs with more: keras/src/utils/numerical_utils.py
  if (mode == "one_hot" && shape.back() == 1) {
    shape.pop_back();
    indices = b.makeReshape(indices, shape);
  }
  shape.push_back(categories);
  Value hot = b.make<OneHotOp>(mlir::RankedTensorType::get(shape, b.builder.getF32Type()), indices);
  if (mode == "one_hot")
    return hot;
  if (mode != "multi_hot" && mode != "count" && mode != "binary")
    return b.error("'output_mode' of " + b.layer.className + " is '" + mode +
                   "', which is not supported");
  return b.makeReduce(mode == "count" ? ReduceKind::Sum : ReduceKind::Max, hot, {axis},
                      /*keepDims=*/false);
}

namespace {

Value importCategoryEncoding(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::KeepsTypes;
  Value x = b.getInput();
  if (!x)
    return {};
  if (!b.getArgument(1, "count_weights").empty())
    return b.error("'count_weights' of CategoryEncoding are not supported");
  const mlir::Type type = elementTypeOf(x);
  if (mlir::isa<mlir::FloatType>(type) || type.isInteger(1))
    x = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), b.builder.getI64Type()), x);
  return encodeCategories(b, x, b.getString("output_mode", "multi_hot"),
                          b.getInteger("num_tokens", 0));
}

/// How many boundaries an element has reached. Keras compares in float32 or wider.
Value importDiscretization(LayerBuilder &b) {
  Value x = b.getInput();
  const llvm::json::Value *written = b.layer.config.get("bin_boundaries");
  const llvm::json::Object *object = written ? written->getAsObject() : nullptr;
  if (object && object->getObject("config"))
    written = object->getObject("config")->get("value");
  const llvm::json::Array *array = written ? written->getAsArray() : nullptr;
  llvm::SmallVector<double> boundaries;
  for (size_t i = 0; array && i < array->size(); ++i)
    if (std::optional<double> number = (*array)[i].getAsNumber())
      boundaries.push_back(double(float(*number)));
  if (!x || !array || array->empty() || boundaries.size() != array->size() ||
      int64_t(array->size()) > kMostCategories)
    return x ? b.error(
                   "'bin_boundaries' of Discretization must be a list of numbers; Keras 2 leaves "
                   "those of an adapted layer out of the file, and does not load them either: "
                   "make the layer anew with bin_boundaries=layer.bin_boundaries before the "
                   "model is saved")
             : x;
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.push_back(1);
  Value wide = mlir::isa<mlir::FloatType>(elementTypeOf(x))
                   ? b.makeCastLike(x, x, /*wide=*/true)
                   : b.makeCastTo(x, b.builder.getF32Type());
  Value reached = b.makeCompare(ComparePredicate::GE, b.makeReshape(wide, shape),
                                b.makeConstant({int64_t(boundaries.size())}, boundaries));
  const mlir::Type i32 = b.builder.getI32Type();
  Value counted = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(reached), i32), reached);
  Value bins = b.makeReduce(ReduceKind::Sum, counted, {b.rankOf(counted) - 1}, /*keepDims=*/false);
  const std::string mode = b.getString("output_mode", "int");
  return mode == "int" ? bins : encodeCategories(b, bins, mode, int64_t(boundaries.size()) + 1);
}

constexpr LayerEntry kCategoryLayers[] = {
    {"CategoryEncoding", importCategoryEncoding},
    {"Discretization", importDiscretization},
    {"IntegerLookup", importIntegerLookup},
};

} // namespace

llvm::ArrayRef<LayerEntry> categoryLayers() { return kCategoryLayers; }

} // namespace mpc::keras
