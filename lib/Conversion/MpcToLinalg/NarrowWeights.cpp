// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions whose right operand is a variable of integers, cast: the library reads the integers
// themselves, a quarter or an eighth of the bytes, and converts them in registers.
#include "NarrowWeights.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc;

static bool isVariable(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr) &&
         elementTypeOf(value).isInteger(8);
}

void mpc::markNarrowWeights(func::FuncOp function) {
  function.walk([](ContractOp op) {
    auto widened = op.getRhs().getDefiningOp<CastOp>();
    Type element = elementTypeOf(op.getLhs());
    if (!widened || !isa<Float32Type, BFloat16Type, Float16Type>(element) ||
        elementTypeOf(op.getResult()) != element)
      return;
    // Only as the right operand of one product of matrices.
    auto type = tensorTypeOf(op.getRhs());
    if (!op.getLhsBatch().empty() || op.getLhsFree().empty() || !type.hasStaticShape())
      return;
    Value source = widened.getInput();
    auto unpack = source.getDefiningOp<UnpackInt4Op>();
    // The library tells packed rows by their extent, which is half the columns.
    if (unpack && (type.getRank() != 2 || type.getDimSize(1) < 2 ||
                   op.getRhsContracting() != ArrayRef<int64_t>{0}))
      return;
    if (unpack)
      source = unpack.getPacked();
    if (isVariable(source))
      op->setAttr(kNarrowWeightsAttr,
                  IntegerAttr::get(IntegerType::get(op.getContext(), 64),
                                   llvm::cast<BlockArgument>(source).getArgNumber()));
  });
}
