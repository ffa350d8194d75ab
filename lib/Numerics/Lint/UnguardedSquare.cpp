// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of squares in float16 of what nothing bounds.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// Whether `op` is x^2, or x to a constant power of 2 and more.
static bool isSquare(Operation *op) {
  if (auto product = dyn_cast<MultiplyOp>(op))
    return product.getLhs() == product.getRhs();
  auto power = dyn_cast<PowerOp>(op);
  std::optional<double> exponent = power ? findSplat(power.getRhs()) : std::nullopt;
  return exponent && *exponent >= 2;
}

static bool isBounded(Value value) {
  Operation *op = skipMovement(value).getDefiningOp();
  return isWithinOne(op) || isa_and_nonnull<ConstantOp, MinimumOp, MaximumOp>(op);
}

/// Under a minimum or a tanh, infinity is as good as any large number: gelu has x^3 there.
static bool isSaturated(Value value, unsigned depth = 4) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isa<TanhOp, MinimumOp>(user) || (depth && isa<AddOp, MultiplyOp, CastOp>(user) &&
                                            isSaturated(user->getResult(0), depth - 1));
  });
}

template <typename OpT>
static void checkEachUnguardedSquare(const LintSubject &subject, LintReport &report) {
  for (OpT op : subject.all<OpT>()) {
    if (!elementTypeOf(op.getResult()).isF16() || !isSquare(op) || isBounded(op.getLhs()) ||
        isSaturated(op.getResult()))
      continue;
    report.tell(op.getLoc(), "a square in f16 of a number that nothing keeps below 255");
  }
}

static void checkUnguardedSquare(const LintSubject &subject, LintReport &report) {
  checkEachUnguardedSquare<MultiplyOp>(subject, report);
  checkEachUnguardedSquare<PowerOp>(subject, report);
}

const LintRule mpc::kUnguardedSquareRule = {
    "unguarded-square",
    "a square or higher power in float16 of a value that no clip or bounded function keeps small",
    "256 squared is infinite in float16, and squares below 6e-8 are 0",
    "clip or scale its argument, or give the layer the policy float32 or mixed_bfloat16",
    /*isAlwaysTold=*/false,
    checkUnguardedSquare,
};
