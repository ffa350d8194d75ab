// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcToLinalg/PoolBuilder.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

SmallVector<int64_t> PoolWindow::extents(int64_t (PoolAxis::*count)() const) const {
  SmallVector<int64_t> result;
  for (const PoolAxis &axis : axes)
    result.push_back((axis.*count)());
  return result;
}

SmallVector<PoolWindow> mpc::separate(const PoolWindow &window) {
  SmallVector<PoolWindow> parts;
  for (size_t i = window.axes.size(); i-- > 0;)
    parts.push_back({{window.dimensions[i]}, {window.axes[i]}});
  return parts;
}

int64_t mpc::cappedProduct(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result = std::min<int64_t>(result * extent, int64_t(1) << 32);
  return result;
}

void mpc::forEachIndex(ArrayRef<int64_t> extents,
                       llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(extents.size(), 0);
  while (true) {
    visit(index);
    size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

// ---- Bodies -------------------------------------------------------------------------------------

Value PoolReader::loopIndex(int64_t dimension) {
  return linalg::IndexOp::create(builder, loc, dimension).getResult();
}

Value PoolReader::read(Value tensor, ArrayRef<int64_t> dimensions, ArrayRef<GuardedIndex> guarded) {
  SmallVector<Value> indices;
  for (int64_t d = 0; d < rank; ++d)
    indices.push_back(loopIndex(d));
  for (auto [dimension, each] : llvm::zip_equal(dimensions, guarded))
    indices[dimension] = each.index;
  return tensor::ExtractOp::create(builder, loc, tensor, indices);
}

Value PoolReader::counts(ArrayRef<GuardedIndex> guarded) {
  Value all;
  for (const GuardedIndex &each : guarded)
    all = math.both(all, each.counts);
  return all;
}

Value PoolReader::select(Value condition, Value value, Value otherwise) {
  return condition ? Value(arith::SelectOp::create(builder, loc, condition, value, otherwise))
                   : value;
}

Value PoolReader::number(Type type, double value) { return scalarOf(builder, loc, type, value); }

Value PoolReader::count(const PoolWindow &window, ArrayRef<Value> outputs, Type type) {
  Value product;
  for (auto [axis, output] : llvm::zip_equal(window.axes, outputs)) {
    Value count = countElements(math, axis, output);
    product = product ? Value(arith::MulIOp::create(builder, loc, product, count)) : count;
  }
  Type i64 = builder.getI64Type();
  return arith::SIToFPOp::create(builder, loc, type,
                                 arith::IndexCastOp::create(builder, loc, i64, product));
}

// ---- Ops ----------------------------------------------------------------------------------------

RankedTensorType PoolBuilder::resized(Value value, const PoolWindow &window, bool toOutputs,
                                      Type element) {
  SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
  for (auto [dimension, axis] : llvm::zip_equal(window.dimensions, window.axes))
    shape[dimension] = toOutputs ? axis.outputs : axis.extent;
  return RankedTensorType::get(shape, element);
}

SmallVector<Value> PoolBuilder::build(ArrayRef<RankedTensorType> types, Value source, Body body) {
  SmallVector<Value> destinations;
  SmallVector<AffineMap> maps;
  for (RankedTensorType type : types) {
    destinations.push_back(emptyFrom(builder, loc, type, source));
    maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  }
  return buildReduction(builder, loc, {}, destinations, maps, {},
                        [&](OpBuilder &b, Location l, ValueRange, ValueRange) {
                          PoolReader reader{b, l, types.front().getRank()};
                          return body(reader);
                        });
}

SmallVector<Value> PoolBuilder::buildLoop(
    ArrayRef<RankedTensorType> types, Value source, int64_t count, ArrayRef<Value> starts,
    llvm::function_ref<SmallVector<Value>(PoolReader &, Value, ValueRange)> body) {
  int64_t rank = types.front().getRank();
  MLIRContext *context = builder.getContext();
  // The loop's extent comes from an operand that is not read.
  Value extent = tensor::EmptyOp::create(builder, loc, {count}, builder.getF32Type());
  SmallVector<AffineMap> maps{AffineMap::get(rank + 1, 0, builder.getAffineDimExpr(rank), context)};
  SmallVector<Value> destinations;
  for (auto [type, start] : llvm::zip_equal(types, starts)) {
    destinations.push_back(filledFrom(builder, loc, type, source, start));
    maps.push_back(dropMap(context, rank + 1, rank));
  }
  return buildReduction(builder, loc, extent, destinations, maps, {rank},
                        [&](OpBuilder &b, Location l, ValueRange, ValueRange partial) {
                          PoolReader reader{b, l, rank};
                          return body(reader, reader.loopIndex(rank), partial);
                        });
}

Value PoolBuilder::finish(Value value, const PoolWindow *dividedBy, Type element) {
  auto type = tensorTypeOf(value);
  if (!dividedBy && type.getElementType() == element)
    return value;
  Value empty = emptyFrom(builder, loc, type.clone(element), value);
  return buildElementwise(
      builder, loc, value, empty, [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
        Value result = scalars[0];
        PoolReader r{b, l, type.getRank()};
        if (dividedBy) {
          SmallVector<Value> at;
          for (int64_t dimension : dividedBy->dimensions)
            at.push_back(r.loopIndex(dimension));
          result = arith::DivFOp::create(b, l, result, r.count(*dividedBy, at, result.getType()));
        }
        return SmallVector<Value>{roundTo(b, l, result, element)};
      })[0];
}
