// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The finite test of gradients. The largest bit pattern without its sign tells: infinities and NaN
// have the largest exponent, so one unsigned maximum per gradient and one comparison at the end
// suffice, and both vectorise. A contraction finds it while what it writes is in cache.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mpc/Analysis/FusionRemark.h"
#include "mpc/Analysis/Reshapes.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mpc;

/// The contraction whose result the value is, as it is or in another shape.
static mpcrt::ContractOp producerOf(Value value) {
  value = skipReshapes(value);
  auto contract = value.getDefiningOp<mpcrt::ContractOp>();
  return contract && value == contract.getResult(0) ? contract : mpcrt::ContractOp();
}

/// Why the contraction cannot test for `test`; empty when it can.
static std::string findObstacle(mpcrt::ContractOp contract, AllFiniteOp test) {
  if (!contract)
    return "the gradient is not what a contraction writes";
  if (contract->getBlock() != test->getBlock())
    return "the contraction runs in a loop";
  auto obstacle = contract.findObstacle(mpcrt::ContractPart::Largest);
  return obstacle ? "the contraction " + describe(*obstacle).str() : "";
}

/// The bit pattern of an infinity of the value's type.
static llvm::APInt infinityOf(Value value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  return llvm::APFloat::getInf(element.getFloatSemantics()).bitcastToAPInt();
}

namespace {
struct LowerAllFinite : OpConversionPattern<AllFiniteOp> {
  LowerAllFinite(const TypeConverter &converter, MLIRContext *context, bool byProducts)
      : OpConversionPattern(converter, context), byProducts(byProducts) {}

  LogicalResult matchAndRewrite(AllFiniteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<llvm::APInt> infinities =
        llvm::map_to_vector(adaptor.getInputs(), [](Value value) { return infinityOf(value); });
    SmallVector<Value> largest;
    // Contractions stay the same ops until all gradients have been asked about.
    SmallVector<mpcrt::ContractOp> contracts;
    llvm::SmallPtrSet<Operation *, 8> taken;
    for (Value gradient : adaptor.getInputs()) {
      contracts.push_back(byProducts ? takeContract(op, gradient, taken) : mpcrt::ContractOp());
      largest.push_back(contracts.back() ? Value() : findLargest(rewriter, loc, gradient));
    }
    for (auto [contract, value] : llvm::zip_equal(contracts, largest))
      if (contract)
        value = testIn(rewriter, contract, loc);
    Value empty = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(), rewriter.getI1Type());
    rewriter.replaceOp(
        op,
        buildElementwise(rewriter, loc, largest, empty,
                         [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                           Value finite = scalarOf(b, l, b.getI1Type(), 1);
                           for (auto [pattern, infinity] : llvm::zip_equal(scalars, infinities)) {
                             Value limit = arith::ConstantOp::create(
                                 b, l, b.getIntegerAttr(pattern.getType(), infinity));
                             Value below = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult,
                                                                 pattern, limit);
                             finite = arith::AndIOp::create(b, l, finite, below);
                           }
                           return SmallVector<Value>{finite};
                         }));
    return success();
  }

private:
  /// The contraction that tests the gradient; null, with a remark, where none can or one of `taken`
  /// does.
  static mpcrt::ContractOp takeContract(AllFiniteOp op, Value gradient,
                                        llvm::SmallPtrSetImpl<Operation *> &taken) {
    mpcrt::ContractOp contract = producerOf(gradient);
    std::string obstacle = findObstacle(contract, op);
    if (obstacle.empty() && !taken.insert(contract).second)
      obstacle = "the contraction tests its result already";
    if (!obstacle.empty()) {
      remark::missed(op.getLoc(), fusionRemark("finite-test")) << remark::reason("{0}", obstacle);
      return {};
    }
    remark::passed(contract.getLoc(), fusionRemark("finite-test"))
        << "tested while the contraction's result is in cache";
    return contract;
  }

  static Value findLargest(OpBuilder &builder, Location loc, Value gradient) {
    auto type = tensorTypeOf(gradient);
    Type bits = builder.getIntegerType(type.getElementTypeBitWidth());
    Value start = filledFrom(builder, loc, RankedTensorType::get({}, bits), {},
                             scalarOf(builder, loc, bits, 0));
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    SmallVector<AffineMap> maps{builder.getMultiDimIdentityMap(type.getRank()),
                                AffineMap::get(type.getRank(), 0, builder.getContext())};
    auto magnitude = llvm::APInt::getSignedMaxValue(type.getElementTypeBitWidth());
    return buildReduction(
        builder, loc, gradient, start, maps, all,
        [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange top) {
          Value pattern = arith::BitcastOp::create(b, l, bits, scalars[0]);
          Value mask = arith::ConstantOp::create(b, l, b.getIntegerAttr(bits, magnitude));
          Value unsignedPattern = arith::AndIOp::create(b, l, pattern, mask);
          return SmallVector<Value>{arith::MaxUIOp::create(b, l, top[0], unsignedPattern)};
        })[0];
  }

  static Value testIn(ConversionPatternRewriter &rewriter, mpcrt::ContractOp contract,
                      Location loc) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(contract);
    const unsigned width =
        getElementTypeOrSelf(contract.getOut().getType()).getIntOrFloatBitWidth();
    mpcrt::ContractOp::Extras extras = contract.getExtras();
    extras.largest =
        tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(), rewriter.getIntegerType(width));
    mpcrt::ContractOp testing = contract.cloneWith(rewriter, extras);
    rewriter.replaceOp(contract, testing.getResult(0));
    return testing.getLargestResult();
  }

  bool byProducts;
};
} // namespace

void mpc::populateFiniteTestPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                     bool byProducts) {
  patterns.add<LowerAllFinite>(converter, patterns.getContext(), byProducts);
}
