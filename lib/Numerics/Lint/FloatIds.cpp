// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ids of a table that were rounded on their way.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// Integers from 0 to here are exact in the type.
static int64_t exactUpTo(FloatType type) {
  return int64_t(1) << llvm::APFloat::semanticsPrecision(type.getFloatSemantics());
}

/// The floating value that integers come from; null where they were integers all along.
static Value findFloatSource(Value indices) {
  auto isFromFloat = [](Operation *op) {
    auto cast = dyn_cast<CastOp>(op);
    return cast && isa<FloatType>(elementTypeOf(cast.getInput()));
  };
  auto cast = skipMovement(indices, isFromFloat).getDefiningOp<CastOp>();
  return cast ? cast.getInput() : Value();
}

static void checkFloatIds(const LintSubject &subject, LintReport &report) {
  for (GatherOp gather : subject.all<GatherOp>()) {
    Value source = findFloatSource(gather.getIndices());
    if (!source)
      continue;
    auto type = cast<FloatType>(elementTypeOf(source));
    const int64_t rows = tensorTypeOf(gather.getTable()).getDimSize(gather.getAxis());
    if (!ShapedType::isDynamic(rows) && rows > exactUpTo(type))
      report.tell(gather.getLoc(), "the ids of a table of " + llvm::Twine(rows) + " rows come as " +
                                       nameOf(type) + ", which is exact up to " +
                                       llvm::Twine(exactUpTo(type)));
  }
}

const LintRule mpc::kFloatIdsRule = {
    "float-ids",
    "ids of an embedding that pass through floats with too few digits for its rows",
    "ids above 2048 (float16), 256 (bfloat16) or 2^24 (float32) become other ids",
    "feed integers (an Input of dtype int32)",
    /*isAlwaysTold=*/false,
    checkFloatIds,
};
