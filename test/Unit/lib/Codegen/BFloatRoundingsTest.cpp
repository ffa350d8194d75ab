// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which roundings to bfloat16 become the CPU's instruction: those of numbers that arithmetic made,
// in vectors, whose bits nobody reads in full.
#include "lib/Codegen/CPU/BFloatRoundings.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mpc;
using namespace llvm;

namespace {
class BFloatRoundings : public testing::Test {
protected:
  LLVMContext context;
  IRBuilder<> builder{context};
  Type *vector = FixedVectorType::get(builder.getFloatTy(), 16);

  /// A function of two numbers, whose result is what `compute` makes of them. Whether its roundings
  /// were found and are conversions now.
  bool becomesConversion(Type *type, function_ref<Value *(Value *, Value *)> compute) {
    Module module("test", context);
    Type *bits = type->getWithNewType(builder.getInt32Ty());
    auto *function = Function::Create(FunctionType::get(bits, {type, type}, false),
                                      Function::ExternalLinkage, "f", module);
    builder.SetInsertPoint(BasicBlock::Create(context, "", function));
    builder.CreateRet(compute(function->getArg(0), function->getArg(1)));
    const bool found = hasBFloatRoundings(*function);
    lowerBFloatRoundings(*function);
    EXPECT_FALSE(verifyFunction(*function, &errs()));
    bool converts = false;
    for (Instruction &instruction : function->getEntryBlock())
      converts |= isa<FPTruncInst>(instruction);
    EXPECT_EQ(found, converts);
    return converts;
  }
  Value *bitsOf(Value *number) {
    return builder.CreateBitCast(number, number->getType()->getWithNewType(builder.getInt32Ty()));
  }
  Value *round(Value *number, uint64_t half = 0x7fff, uint64_t shift = 16) {
    Value *bits = bitsOf(number);
    Value *last = builder.CreateAnd(builder.CreateLShr(bits, shift), 1);
    return builder.CreateAdd(builder.CreateAdd(bits, ConstantInt::get(bits->getType(), half)),
                             last);
  }
  Value *quietOr(Value *number, Value *rounded) {
    return builder.CreateSelect(builder.CreateFCmpUNO(number, number),
                                builder.CreateOr(bitsOf(number), 0x400000), rounded);
  }
};
} // namespace

TEST_F(BFloatRoundings, OfComputedVectorsAreConversions) {
  using Compute = Value *(*)(IRBuilder<> &, Value *, Value *);
  for (Compute compute :
       {Compute([](IRBuilder<> &b, Value *x, Value *y) { return b.CreateFAdd(x, y); }),
        Compute([](IRBuilder<> &b, Value *x, Value *y) { return b.CreateFSub(x, y); }),
        Compute([](IRBuilder<> &b, Value *x, Value *y) { return b.CreateFMul(x, y); }),
        Compute([](IRBuilder<> &b, Value *x, Value *y) { return b.CreateFDiv(x, y); })})
    EXPECT_TRUE(becomesConversion(vector, [&](Value *x, Value *y) {
      return builder.CreateLShr(round(compute(builder, x, y)), 16);
    }));
  EXPECT_TRUE(becomesConversion(vector, [&](Value *x, Value *y) {
    Value *sum = builder.CreateFAdd(x, y);
    return builder.CreateAnd(quietOr(sum, round(sum)), 0xffff0000);
  })) << "with NaNs made quiet";
}

TEST_F(BFloatRoundings, OfOthersStay) {
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *) {
    return builder.CreateLShr(round(x), 16);
  })) << "may be subnormal";
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *) {
    return builder.CreateLShr(round(builder.CreateFNeg(x)), 16);
  })) << "may be subnormal";
  EXPECT_FALSE(becomesConversion(builder.getFloatTy(), [&](Value *x, Value *y) {
    return builder.CreateLShr(round(builder.CreateFAdd(x, y)), 16);
  })) << "not a vector";
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *y) {
    return round(builder.CreateFAdd(x, y));
  })) << "all bits are read";
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *y) {
    return builder.CreateLShr(round(builder.CreateFAdd(x, y)), 15);
  })) << "more bits are read";
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *y) {
    return builder.CreateLShr(round(builder.CreateFAdd(x, y), 0x8000), 16);
  })) << "another half";
  EXPECT_FALSE(becomesConversion(vector, [&](Value *x, Value *y) {
    return builder.CreateLShr(round(builder.CreateFAdd(x, y), 0x7fff, 17), 16);
  })) << "another last bit";
}
