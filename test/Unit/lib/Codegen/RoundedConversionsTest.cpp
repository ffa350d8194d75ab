// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings and the conversions behind them: which become one, and that they give the same
// integers.
#include "lib/Codegen/CPU/RoundedConversions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mpc;

namespace {
class RoundedConversions : public testing::Test {
protected:
  llvm::LLVMContext context;
  llvm::IRBuilder<> builder{context};

  /// The value in the place of a conversion of its rounded argument to integers of `width` bits.
  llvm::Value *lower(llvm::Type *from, unsigned width, bool isUnsigned) {
    llvm::Type *to = from->getWithNewType(builder.getIntNTy(width));
    auto *function = llvm::Function::Create(llvm::FunctionType::get(to, {from}, false),
                                            llvm::Function::ExternalLinkage, "f", module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    llvm::Value *rounded =
        builder.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, function->getArg(0));
    auto *end = builder.CreateRet(isUnsigned ? builder.CreateFPToUI(rounded, to)
                                             : builder.CreateFPToSI(rounded, to));
    lowerRoundedConversions(*function);
    EXPECT_FALSE(llvm::verifyFunction(*function, &llvm::errs()));
    return end->getReturnValue();
  }
  static bool isOneInstruction(llvm::Value *value) {
    if (auto *narrow = llvm::dyn_cast<llvm::TruncInst>(value))
      value = narrow->getOperand(0);
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
    return call && call->getIntrinsicID() == llvm::Intrinsic::lrint &&
           call->getType()->getScalarType()->isIntegerTy(32) &&
           llvm::isa<llvm::Argument>(call->getArgOperand(0));
  }

private:
  llvm::Module module{"test", context};
};
} // namespace

TEST_F(RoundedConversions, OfFloatToNarrowIntegersAreOne) {
  llvm::Type *number = builder.getFloatTy();
  for (llvm::Type *type : {number, llvm::cast<llvm::Type>(llvm::FixedVectorType::get(number, 8))}) {
    for (unsigned width : {8u, 16u, 32u})
      EXPECT_TRUE(isOneInstruction(lower(type, width, false))) << width;
    for (unsigned width : {8u, 16u})
      EXPECT_TRUE(isOneInstruction(lower(type, width, true))) << width;
  }
}

TEST_F(RoundedConversions, OfOthersStay) {
  EXPECT_TRUE(llvm::isa<llvm::FPToSIInst>(lower(builder.getFloatTy(), 64, false)));
  EXPECT_TRUE(llvm::isa<llvm::FPToUIInst>(lower(builder.getFloatTy(), 32, true)));
  EXPECT_TRUE(llvm::isa<llvm::FPToSIInst>(lower(builder.getDoubleTy(), 8, false)));
}
