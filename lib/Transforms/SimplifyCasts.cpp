// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-simplify-casts: removes casts that change no value, and only those. A narrowing that is
// widened again rounds, as in Keras, and stays.
#include "mlir/IR/Remarks.h"
#include "mpc/Transforms/Passes.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SIMPLIFYCASTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

/// Whether every value of `from`, also infinities, NaN and denormals, is one of `to`.
static bool isExact(Type from, Type to) {
  if (from == to)
    return true;
  auto toFloat = dyn_cast<FloatType>(to);
  if (auto fromFloat = dyn_cast<FloatType>(from)) {
    return toFloat && llvm::APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                                       toFloat.getFloatSemantics());
  }
  auto integer = cast<IntegerType>(from);
  // The significand holds the magnitude; every format here has the range for what fits in it.
  unsigned magnitude =
      integer.getWidth() - (integer.isUnsigned() || integer.getWidth() == 1 ? 0 : 1);
  if (toFloat)
    return magnitude <= toFloat.getFPMantissaWidth();
  auto toInteger = cast<IntegerType>(to);
  if (toInteger.getWidth() == 1)
    return false;
  return toInteger.getWidth() > integer.getWidth() &&
         (integer.isUnsigned() || integer.getWidth() == 1 || !toInteger.isUnsigned());
}

/// The value that the cast gives without the exact cast in front of it; null when both are needed.
static Value skipExactCast(CastOp cast) {
  if (cast.getInput().getType() == cast.getType())
    return cast.getInput();
  auto inner = cast.getInput().getDefiningOp<CastOp>();
  if (!inner || !isExact(elementTypeOf(inner.getInput()), elementTypeOf(inner.getResult())))
    return nullptr;
  if (inner.getInput().getType() == cast.getType())
    return inner.getInput();
  OpBuilder builder(cast);
  return CastOp::create(builder, cast.getLoc(), cast.getType(), inner.getInput());
}

namespace {
class SimplifyCastsPass : public mpc::impl::SimplifyCastsBase<SimplifyCastsPass> {
public:
  void runOnModule() override {
    getOperation().walk([&](Block *block) {
      while (simplify(*block))
        ;
      for (auto cast : block->getOps<CastOp>())
        remarkRounding(cast);
    });
  }

private:
  static bool simplify(Block &block) {
    bool changed = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto cast = dyn_cast<CastOp>(&op);
      if (!cast)
        continue;
      Value replacement = skipExactCast(cast);
      if (!replacement)
        continue;
      cast.getResult().replaceAllUsesWith(replacement);
      cast.erase();
      changed = true;
    }
    // Bottom up, so that a chain goes in one sweep.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<CastOp>(op) && op.use_empty()) {
        op.erase();
        changed = true;
      }
    return changed;
  }

  static void remarkRounding(CastOp cast) {
    auto inner = cast.getInput().getDefiningOp<CastOp>();
    if (!inner)
      return;
    std::string types;
    llvm::raw_string_ostream(types)
        << elementTypeOf(inner.getInput()) << " to " << elementTypeOf(inner.getResult()) << " to "
        << elementTypeOf(cast.getResult()) << " kept: the first cast rounds, as in Keras";
    remark::missed(cast.getLoc(), remark::RemarkOpts::name("kept-narrowing").category("mpc-casts"))
        << types;
  }
};
} // namespace
