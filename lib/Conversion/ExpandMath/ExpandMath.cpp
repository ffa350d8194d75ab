// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: transcendental functions of float32 become arithmetic, so that LLVM vectorises the
// loops around them.
#include "lib/Conversion/ExpandMath/Functions.h"
#include "mpc/Conversion/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mpc {
#define GEN_PASS_DEF_EXPANDMATH
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

using Expansion = Float32 (*)(Float32);

static Expansion expansionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Expansion>(op)
      .Case<math::ExpOp>([](auto) { return expandExp; })
      .Case<math::ExpM1Op>([](auto) { return expandExpM1; })
      .Case<math::TanhOp>([](auto) { return expandTanh; })
      .Case<math::ErfOp>([](auto) { return expandErf; })
      .Case<math::LogOp>([](auto) { return expandLog; })
      .Case<math::Log1pOp>([](auto) { return expandLog1p; })
      .Default([](auto) { return nullptr; });
}

namespace {
struct ExpandMathPass : mpc::impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      Expansion expansion = expansionOf(op);
      if (!expansion)
        return;
      Type type = op->getResult(0).getType();
      if (!type.isF32() && !type.isF16() && !type.isBF16())
        return;
      OpBuilder builder(op);
      Site site{builder, op->getLoc()};
      Value argument = op->getOperand(0);
      if (!type.isF32())
        argument = arith::ExtFOp::create(builder, site.loc, builder.getF32Type(), argument);
      Value result = expansion(Float32(site, argument)).value;
      if (!type.isF32())
        result = arith::TruncFOp::create(builder, site.loc, type, result);
      op->replaceAllUsesWith(ValueRange{result});
      op->erase();
    });
  }
};
} // namespace
