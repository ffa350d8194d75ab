// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans become loops that stay loops: carried values and stacks are loop-carried tensors, a step
// reads and writes slices of them. Every carried value ends in a copy into the tensor that carried
// it, so that bufferization finds one buffer for all steps; mpc-pass-destinations removes the copy
// where the value can be computed there.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

/// Offsets and sizes of one step of a tensor with the steps as dimension 1.
static std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
stepBox(OpBuilder &builder, RankedTensorType type, Value step, OpFoldResult leading) {
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)), sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    sizes.push_back(type.isDynamicDim(d) ? leading : builder.getIndexAttr(type.getDimSize(d)));
  offsets[1] = step;
  sizes[1] = builder.getIndexAttr(1);
  return {offsets, sizes};
}

namespace {
struct LowerScan : OpConversionPattern<ScanOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ScanOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const TypeConverter &types = *getTypeConverter();
    const size_t carried = op.getInits().size();
    // The batch, which every dynamic extent is.
    OpFoldResult batch;
    for (Value operand : adaptor.getOperands())
      if (auto type = tensorTypeOf(operand); !batch && type.getRank() > 0 && type.isDynamicDim(0))
        batch = extentOf(rewriter, loc, operand, 0);
    SmallVector<Value> starts(adaptor.getInits());
    for (Value stacked : op.getStacked()) {
      auto type = cast<RankedTensorType>(types.convertType(stacked.getType()));
      if (!type.hasStaticShape() && !batch)
        return rewriter.notifyMatchFailure(op, "stacks a batch that no operand has");
      SmallVector<OpFoldResult> extents;
      for (int64_t d = 0; d < type.getRank(); ++d)
        extents.push_back(type.isDynamicDim(d) ? batch : rewriter.getIndexAttr(type.getDimSize(d)));
      starts.push_back(tensor::EmptyOp::create(rewriter, loc, extents, type.getElementType()));
    }
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(rewriter, loc, value);
    };
    Value zero = constant(0), one = constant(1), end = constant(op.getSteps());
    auto loop = scf::ForOp::create(rewriter, loc, zero, end, one, starts);
    Block *body = loop.getBody();
    if (!body->empty()) // a loop that carries nothing comes with its terminator
      rewriter.eraseOp(body->getTerminator());
    rewriter.setInsertionPointToStart(body);
    Value step = loop.getInductionVar();
    if (op.getReverse())
      step = arith::SubIOp::create(rewriter, loc, constant(op.getSteps() - 1), step);
    ValueRange iterates = loop.getRegionIterArgs();
    SmallVector<Value> arguments(iterates.take_front(carried));
    for (Value whole : adaptor.getScanned()) {
      auto type = tensorTypeOf(whole);
      auto [offsets, sizes] = stepBox(rewriter, type, step, batch);
      SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
      arguments.push_back(tensor::ExtractSliceOp::create(rewriter, loc, ScanOp::sliceType(type),
                                                         whole, offsets, sizes, strides));
    }
    llvm::append_range(arguments, adaptor.getCaptures());
    // A stacked carried value is stored before the step writes over it.
    SmallVector<Value> stacks(iterates.drop_front(carried));
    SmallVector<Value> yielded(op.getYield().getValues());
    auto store = [&](Value output, Value &stack) {
      auto type = tensorTypeOf(stack);
      auto [offsets, sizes] = stepBox(rewriter, type, step, batch);
      SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
      stack = tensor::InsertSliceOp::create(rewriter, loc, output, stack, offsets, sizes, strides);
    };
    llvm::SmallBitVector early(stacks.size());
    for (size_t i = 0; i < stacks.size(); ++i)
      if (auto argument = dyn_cast<BlockArgument>(yielded[carried + i]);
          argument && argument.getOwner() == &op.getBody().front()) {
        store(arguments[argument.getArgNumber()], stacks[i]);
        early.set(i);
      }
    YieldOp yield = op.getYield();
    rewriter.mergeBlocks(&op.getBody().front(), body, arguments);
    rewriter.setInsertionPoint(yield);
    yielded.assign(yield.getValues().begin(), yield.getValues().end());
    for (size_t i = 0; i < stacks.size(); ++i)
      if (!early[i])
        store(yielded[carried + i], stacks[i]);
    SmallVector<Value> next = carryOver(rewriter, loc, ArrayRef(yielded).take_front(carried),
                                        iterates.take_front(carried));
    llvm::append_range(next, stacks);
    scf::YieldOp::create(rewriter, loc, next);
    rewriter.eraseOp(yield);
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }

  /// Copies of the next carried values into the tensors that carried the last ones. A value that
  /// was carried under another number is copied aside first.
  static SmallVector<Value> carryOver(OpBuilder &builder, Location loc, ArrayRef<Value> next,
                                      ValueRange iterates) {
    SmallVector<Value> sources(next), results;
    for (auto [source, own] : llvm::zip_equal(sources, iterates))
      if (source != own && llvm::is_contained(iterates, source))
        source = linalg::CopyOp::create(builder, loc, source,
                                        emptyFrom(builder, loc, tensorTypeOf(source), source))
                     .getResult(0);
    for (auto [source, own] : llvm::zip_equal(sources, iterates))
      results.push_back(
          source == own ? own : linalg::CopyOp::create(builder, loc, source, own).getResult(0));
    return results;
  }
};

/// Element i of the axis is element extent - 1 - i.
struct LowerReverse : OpConversionPattern<ReverseOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReverseOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value input = adaptor.getInput();
    auto type = tensorTypeOf(input);
    const int64_t rank = type.getRank(), axis = op.getAxis();
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < rank; ++d)
      exprs.push_back(d == axis ? type.getDimSize(axis) - 1 - rewriter.getAffineDimExpr(d)
                                : rewriter.getAffineDimExpr(d));
    Value empty = emptyFrom(rewriter, op.getLoc(), type, input);
    SmallVector<AffineMap> maps{AffineMap::get(rank, 0, exprs, getContext()),
                                rewriter.getMultiDimIdentityMap(rank)};
    rewriter.replaceOp(op, buildReduction(rewriter, op.getLoc(), input, empty, maps, {},
                                          [](OpBuilder &, Location, ValueRange inputs, ValueRange) {
                                            return SmallVector<Value>{inputs[0]};
                                          }));
    return success();
  }
};
} // namespace

void mpc::populateScanPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerReverse, LowerScan>(converter, patterns.getContext());
}
