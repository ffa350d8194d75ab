// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Codegen/CPU/RoundedConversions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

/// The number that is rounded and then converted; null for conversions that go another way: x86 has
/// instructions for 32 bits with a sign, through which narrower types go as well.
static llvm::Value *findRounded(const Instruction &conversion) {
  const llvm::Type *to = conversion.getType()->getScalarType();
  const bool isTaken = (isa<FPToSIInst>(conversion) && to->getIntegerBitWidth() <= 32) ||
                       (isa<FPToUIInst>(conversion) && to->getIntegerBitWidth() <= 16);
  auto *rounding = isTaken ? dyn_cast<IntrinsicInst>(conversion.getOperand(0)) : nullptr;
  if (!rounding || rounding->getIntrinsicID() != Intrinsic::roundeven ||
      !rounding->getType()->getScalarType()->isFloatTy())
    return nullptr;
  return rounding->getArgOperand(0);
}

void mpc::lowerRoundedConversions(Function &function) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    llvm::Value *rounded = findRounded(instruction);
    if (!rounded)
      continue;
    // A call of a model starts with the rounding mode to the nearest, ties to the even one.
    IRBuilder<> builder(&instruction);
    llvm::Type *wide = instruction.getType()->getWithNewType(builder.getInt32Ty());
    llvm::Value *whole =
        builder.CreateIntrinsic(Intrinsic::lrint, {wide, rounded->getType()}, {rounded});
    instruction.replaceAllUsesWith(builder.CreateTrunc(whole, instruction.getType()));
    auto *rounding = cast<Instruction>(instruction.getOperand(0));
    instruction.eraseFromParent();
    if (rounding->use_empty())
      rounding->eraseFromParent();
  }
}
