// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Codegen/CPU/ConstantDivisions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

/// The number, of every element, by which float32 is divided; nothing where it is not known, has no
/// normal reciprocal, or one that is exact, by which LLVM multiplies itself.
static std::optional<double> findDivisor(const llvm::BinaryOperator &division) {
  if (!division.getType()->getScalarType()->isFloatTy())
    return std::nullopt;
  auto *constant = llvm::dyn_cast<llvm::Constant>(division.getOperand(1));
  if (constant && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  auto *number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (!number || !number->getValueAPF().isNormal() ||
      number->getValueAPF().getExactInverse(nullptr))
    return std::nullopt;
  return number->getValueAPF().convertToFloat();
}

void mpc::lowerConstantDivisions(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto *division = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (!division || division->getOpcode() != llvm::Instruction::FDiv)
      continue;
    const std::optional<double> divisor = findDivisor(*division);
    if (!divisor)
      continue;
    llvm::IRBuilder<> builder(division);
    llvm::Type *wide = division->getType()->getWithNewType(builder.getDoubleTy());
    llvm::Value *product = builder.CreateFMul(builder.CreateFPExt(division->getOperand(0), wide),
                                              llvm::ConstantFP::get(wide, 1.0 / *divisor));
    division->replaceAllUsesWith(builder.CreateFPTrunc(product, division->getType()));
    division->eraseFromParent();
  }
}
