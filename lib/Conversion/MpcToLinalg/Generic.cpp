// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How lowered ops build linalg.generic.
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

/// Whether the op is lowered behind those that read it and computes element by element.
static bool isElementwise(Operation *op) {
  return isa_and_nonnull<CastOp, ElementwiseOpInterface>(op);
}

/// The operand, and its dimension, that gives an elementwise op's result the dynamic `dimension`.
static std::pair<Value, int64_t> operandWithExtent(Operation *op, int64_t dimension) {
  const int64_t rank = tensorTypeOf(op->getResult(0)).getRank();
  for (Value operand : op->getOperands()) {
    RankedTensorType type = tensorTypeOf(operand);
    const int64_t aligned = dimension - (rank - type.getRank());
    if (aligned >= 0 && type.isDynamicDim(aligned))
      return {operand, aligned};
  }
  llvm_unreachable("verifiers tie a dynamic extent to an operand");
}

OpFoldResult mpc::extentOf(OpBuilder &builder, Location loc, Value value, int64_t dimension) {
  while (cast<RankedTensorType>(value.getType()).isDynamicDim(dimension)) {
    Operation *op = value.getDefiningOp();
    if (auto styled = dyn_cast_or_null<DestinationStyleOpInterface>(op)) {
      value = styled.getTiedOpOperand(cast<OpResult>(value))->get();
    } else if (isElementwise(op)) {
      std::tie(value, dimension) = operandWithExtent(op, dimension);
    } else if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op);
               collapse && collapse.getReassociationIndices()[dimension].size() == 1) {
      dimension = collapse.getReassociationIndices()[dimension].front();
      value = collapse.getSrc();
    } else if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
      return expand.getMixedOutputShape()[dimension];
    } else if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op)) {
      return empty.getMixedSizes()[dimension];
    } else if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op);
               slice && slice.getType().getRank() == slice.getSourceType().getRank()) {
      return slice.getMixedSizes()[dimension];
    } else if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op)) {
      value = insert.getDest();
    } else if (auto argument = dyn_cast<BlockArgument>(value);
               argument && isa<scf::ForOp>(argument.getOwner()->getParentOp())) {
      // Carried tensors keep their shape.
      auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
      value = loop.getTiedLoopInit(argument)->get();
    } else if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
      value = loop.getTiedLoopInit(cast<OpResult>(value))->get();
    } else {
      return tensor::DimOp::create(builder, loc, value, dimension).getResult();
    }
  }
  return builder.getIndexAttr(cast<RankedTensorType>(value.getType()).getDimSize(dimension));
}

SmallVector<OpFoldResult> mpc::extentsFrom(OpBuilder &builder, Location loc, RankedTensorType type,
                                           ValueRange sources) {
  SmallVector<OpFoldResult> extents;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d)) {
      extents.push_back(builder.getIndexAttr(type.getDimSize(d)));
      continue;
    }
    OpFoldResult extent;
    for (Value source : sources) {
      auto sourceType = cast<RankedTensorType>(source.getType());
      int64_t aligned = d - (type.getRank() - sourceType.getRank());
      if (!extent && aligned >= 0 && sourceType.isDynamicDim(aligned))
        extent = extentOf(builder, loc, source, aligned);
    }
    assert(extent && "verifiers tie a dynamic extent to an operand");
    extents.push_back(extent);
  }
  return extents;
}

Value mpc::emptyFrom(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange sources) {
  return tensor::EmptyOp::create(builder, loc, extentsFrom(builder, loc, type, sources),
                                 type.getElementType());
}

Value mpc::filledFrom(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange sources,
                      Value scalar) {
  Value empty = emptyFrom(builder, loc, type, sources);
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

AffineMap mpc::broadcastMap(MLIRContext *context, ArrayRef<int64_t> operand, size_t rank) {
  SmallVector<AffineExpr> exprs;
  for (size_t d = 0; d < operand.size(); ++d)
    exprs.push_back(operand[d] == 1 ? getAffineConstantExpr(0, context)
                                    : getAffineDimExpr(rank - operand.size() + d, context));
  return AffineMap::get(rank, 0, exprs, context);
}

AffineMap mpc::dropMap(MLIRContext *context, int64_t rank, ArrayRef<int64_t> reduced) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(reduced, d))
      exprs.push_back(getAffineDimExpr(d, context));
  return AffineMap::get(rank, 0, exprs, context);
}

Attribute mpc::splatOf(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  if (auto elements = dyn_cast<DenseElementsAttr>(constant))
    return elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
  return isa<FloatAttr, IntegerAttr>(constant) ? constant : Attribute();
}

static SmallVector<Value> buildGeneric(OpBuilder &builder, Location loc, ValueRange inputs,
                                       ValueRange destinations, ArrayRef<AffineMap> maps,
                                       ArrayRef<utils::IteratorType> iterators, ScalarBody body) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> operandMaps;
  SmallVector<Attribute> constants;
  for (auto [input, map] : llvm::zip(inputs, maps)) {
    constants.push_back(splatOf(input));
    if (constants.back())
      continue;
    operands.push_back(input);
    operandMaps.push_back(map);
  }
  llvm::append_range(operandMaps, maps.drop_front(inputs.size()));
  auto generic = linalg::GenericOp::create(
      builder, loc, destinations.getTypes(), operands, destinations, operandMaps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        SmallVector<Value> scalars;
        for (Attribute constant : constants) {
          if (constant) {
            scalars.push_back(scalarOf(nested, nestedLoc, constant));
          } else {
            scalars.push_back(arguments.front());
            arguments = arguments.drop_front();
          }
        }
        linalg::YieldOp::create(nested, nestedLoc, body(nested, nestedLoc, scalars, arguments));
      });
  return SmallVector<Value>(generic.getResults());
}

SmallVector<Value> mpc::buildElementwise(OpBuilder &builder, Location loc, ValueRange inputs,
                                         ValueRange destinations, ScalarBody body) {
  int64_t rank = cast<RankedTensorType>(destinations.front().getType()).getRank();
  auto shapeOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getShape() : ArrayRef<int64_t>();
  };
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(broadcastMap(builder.getContext(), shapeOf(input), rank));
  maps.append(destinations.size(), builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  return buildGeneric(builder, loc, inputs, destinations, maps, iterators, body);
}

SmallVector<Value> mpc::buildReduction(OpBuilder &builder, Location loc, ValueRange inputs,
                                       ValueRange destinations, ArrayRef<AffineMap> maps,
                                       ArrayRef<int64_t> reduced, ScalarBody body) {
  int64_t rank = maps.front().getNumDims();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  for (int64_t d : reduced)
    iterators[d] = utils::IteratorType::reduction;
  // A constant input of a reduction gives the loops their extents: it stays an operand.
  auto generic = linalg::GenericOp::create(
      builder, loc, destinations.getTypes(), inputs, destinations, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
        linalg::YieldOp::create(nested, nestedLoc,
                                body(nested, nestedLoc, arguments.take_front(inputs.size()),
                                     arguments.drop_front(inputs.size())));
      });
  return SmallVector<Value>(generic.getResults());
}
