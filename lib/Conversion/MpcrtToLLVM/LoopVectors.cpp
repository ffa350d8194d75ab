// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcrtToLLVM/LoopVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

using namespace mlir;
using namespace mpc;

Type mpc::vectorOf(Type element, int64_t lanes) {
  return lanes == 1 ? element : VectorType::get(lanes, element);
}

Value mpc::lanesOf(OpBuilder &builder, Location loc, Value vector, int64_t first, int64_t count) {
  if (count == 1)
    return LLVM::ExtractElementOp::create(
        builder, loc, vector,
        LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(first)));
  SmallVector<int32_t> mask(count);
  std::iota(mask.begin(), mask.end(), int32_t(first));
  return LLVM::ShuffleVectorOp::create(builder, loc, vector, vector, mask);
}

/// `value` in each lane.
static Value repeat(OpBuilder &builder, Location loc, Value value, int64_t lanes) {
  if (lanes == 1)
    return value;
  auto type = cast<VectorType>(vectorOf(value.getType(), lanes));
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, constant));
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  vector = LLVM::InsertElementOp::create(
      builder, loc, vector, value,
      LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0)));
  return LLVM::ShuffleVectorOp::create(builder, loc, vector, vector, SmallVector<int32_t>(lanes));
}

LoopVectors::LoopVectors(scf::ForOp loop, const SmallPtrSetImpl<Operation *> &omitted)
    : loop(loop) {
  kinds[loop.getInductionVar()] = Kind::Index;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (omitted.contains(&op))
      continue;
    auto kind = classify(op);
    if (!kind) {
      possible = false;
      return;
    }
    for (Value result : op.getResults())
      kinds[result] = *kind;
    ops.push_back({&op, *kind});
    vectorOps += *kind == Kind::Other;
  }
}

LoopVectors::Kind LoopVectors::kindOf(Value value) const {
  auto known = kinds.find(value);
  return known == kinds.end() ? Kind::Same : known->second;
}

std::optional<LoopVectors::Kind> LoopVectors::classify(Operation &op) const {
  auto is = [&](Kind kind) { return [this, kind](Value value) { return kindOf(value) == kind; }; };
  if (op.getNumRegions() != 0)
    return std::nullopt;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    if (load.getResult().getType().isInteger(1))
      return std::nullopt;
    if (llvm::all_of(load.getIndices(), is(Kind::Same)))
      return Kind::Same;
    SmallVector<int64_t> strides;
    int64_t offset;
    bool inOrder = llvm::all_of(load.getIndices().drop_back(), is(Kind::Same)) &&
                   kindOf(load.getIndices().back()) == Kind::Index &&
                   succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
                   strides.back() == 1;
    return inOrder ? std::optional(Kind::Other) : std::nullopt;
  }
  if (!isMemoryEffectFree(&op))
    return std::nullopt;
  if (llvm::all_of(op.getOperands(), is(Kind::Same)))
    return Kind::Same;
  if (isa<arith::AddIOp>(op) && op.getResult(0).getType().isIndex() &&
      llvm::count_if(op.getOperands(), is(Kind::Index)) == 1 &&
      llvm::count_if(op.getOperands(), is(Kind::Same)) == 1)
    return Kind::Index;
  auto isNumber = [](Type type) { return isa<IntegerType, FloatType>(type); };
  if (llvm::any_of(op.getOperands(), is(Kind::Index)) ||
      !llvm::all_of(op.getOperandTypes(), isNumber) || !llvm::all_of(op.getResultTypes(), isNumber))
    return std::nullopt;
  if (!OpTrait::hasElementwiseMappableTraits(&op) && !isa<LLVM::FMulAddOp>(op))
    return std::nullopt;
  return Kind::Other;
}

SmallVector<Value> LoopVectors::emit(OpBuilder &builder, Value iteration, int64_t lanes,
                                     ValueRange terms) {
  IRMapping same, vectors;
  same.map(loop.getInductionVar(), iteration);
  auto vectorFor = [&](Value value, Location loc) {
    if (!vectors.contains(value))
      vectors.map(value, repeat(builder, loc, same.lookupOrDefault(value), lanes));
    return vectors.lookup(value);
  };
  for (auto [op, kind] : ops) {
    if (kind != Kind::Other) {
      builder.clone(*op, same);
      continue;
    }
    if (auto load = dyn_cast<memref::LoadOp>(op); load && lanes > 1) {
      SmallVector<Value> indices = llvm::map_to_vector(
          load.getIndices(), [&](Value index) { return same.lookupOrDefault(index); });
      auto type = cast<VectorType>(vectorOf(load.getType(), lanes));
      vectors.map(load.getResult(),
                  vector::LoadOp::create(builder, load.getLoc(), type, load.getMemRef(), indices));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<memref::LoadOp>(op) ? same.lookupOrDefault(operand)
                                                 : vectorFor(operand, op->getLoc()));
    Operation *wide = op->clone();
    wide->setOperands(operands);
    for (OpResult result : wide->getResults())
      result.setType(vectorOf(result.getType(), lanes));
    builder.insert(wide);
    vectors.map(op->getResults(), wide->getResults());
  }
  return llvm::map_to_vector(terms, [&](Value term) { return vectorFor(term, loop.getLoc()); });
}
