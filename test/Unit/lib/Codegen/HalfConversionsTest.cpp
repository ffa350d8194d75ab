// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of float16 without F16C, against LLVM's own numbers: constants fold while they are
// lowered.
#include "lib/Codegen/CPU/HalfConversions.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include <gtest/gtest.h>

using namespace mpc;
using llvm::APFloat;
using llvm::APInt;

namespace {
class HalfConversions : public testing::Test {
protected:
  llvm::LLVMContext context;

  /// The result of a function that converts `constant` to `type`, when it is lowered.
  APInt convert(llvm::Constant *constant, llvm::Type *type) {
    llvm::Module module("test", context);
    auto *function = llvm::Function::Create(llvm::FunctionType::get(type, false),
                                            llvm::Function::ExternalLinkage, "f", module);
    auto *block = llvm::BasicBlock::Create(context, "", function);
    const bool widens = type->isFloatTy();
    auto *conversion = llvm::CastInst::Create(
        widens ? llvm::Instruction::FPExt : llvm::Instruction::FPTrunc, constant, type, "", block);
    auto *end = llvm::ReturnInst::Create(context, conversion, block);
    hideHalfConversions(module);
    lowerHalfConversions(*function, /*hasF16C=*/false);
    llvm::Value *result = end->getReturnValue();
    if (auto *cast = llvm::dyn_cast<llvm::BitCastInst>(result))
      result = cast->getOperand(0);
    if (auto *bits = llvm::dyn_cast<llvm::ConstantInt>(result))
      return bits->getValue();
    return llvm::cast<llvm::ConstantFP>(result)->getValueAPF().bitcastToAPInt();
  }
  APInt widen(uint16_t bits) {
    return convert(llvm::ConstantFP::get(context, APFloat(APFloat::IEEEhalf(), APInt(16, bits))),
                   llvm::Type::getFloatTy(context));
  }
  APInt narrow(uint32_t bits) {
    return convert(llvm::ConstantFP::get(context, APFloat(APFloat::IEEEsingle(), APInt(32, bits))),
                   llvm::Type::getHalfTy(context));
  }
  static APFloat converted(APFloat number, const llvm::fltSemantics &to) {
    bool losesInfo;
    number.convert(to, APFloat::rmNearestTiesToEven, &losesInfo);
    return number;
  }
};
} // namespace

TEST_F(HalfConversions, WidenEveryNumber) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const APFloat half(APFloat::IEEEhalf(), APInt(16, bits));
    const APInt wide = widen(uint16_t(bits));
    if (half.isNaN())
      EXPECT_TRUE(APFloat(APFloat::IEEEsingle(), wide).isNaN()) << bits;
    else
      EXPECT_EQ(wide, converted(half, APFloat::IEEEsingle()).bitcastToAPInt()) << bits;
  }
}

TEST_F(HalfConversions, NarrowAroundEveryNumberAndMiddle) {
  auto compare = [&](uint32_t bits) {
    const APFloat wide(APFloat::IEEEsingle(), APInt(32, bits));
    const APInt half = narrow(bits);
    if (wide.isNaN())
      EXPECT_TRUE(APFloat(APFloat::IEEEhalf(), half).isNaN()) << bits;
    else
      EXPECT_EQ(half, converted(wide, APFloat::IEEEhalf()).bitcastToAPInt()) << bits;
  };
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    const APFloat half(APFloat::IEEEhalf(), APInt(16, bits));
    const uint32_t at =
        uint32_t(converted(half, APFloat::IEEEsingle()).bitcastToAPInt().getZExtValue());
    // Half of the distance to the next normal number.
    for (uint32_t middle : {at, at + 0x1000})
      for (int step : {-1, 0, 1})
        compare(middle + uint32_t(step));
  }
  for (uint32_t bits : {0u, 1u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0x7f800000u, 0x7f800001u,
                        0x7fffffffu, 0xff800000u, 0xffc00000u, 0x477fefffu, 0x477ff000u,
                        0x33000000u, 0x33000001u, 0x387fc000u, 0x387fe000u})
    for (uint32_t sign : {0u, 0x80000000u})
      compare(bits ^ sign);
}

TEST_F(HalfConversions, StayInstructionsWithF16C) {
  llvm::Module module("test", context);
  llvm::Type *half = llvm::Type::getHalfTy(context), *wide = llvm::Type::getFloatTy(context);
  auto *function = llvm::Function::Create(llvm::FunctionType::get(half, {half}, false),
                                          llvm::Function::ExternalLinkage, "f", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  builder.CreateRet(builder.CreateFPTrunc(builder.CreateFPExt(function->getArg(0), wide), half));
  hideHalfConversions(module);
  EXPECT_TRUE(module.getFunction("llvm.convert.to.fp16.f32"));
  lowerHalfConversions(*function, /*hasF16C=*/true);
  unsigned conversions = 0;
  for (llvm::Instruction &instruction : function->getEntryBlock())
    conversions += llvm::isa<llvm::FPExtInst, llvm::FPTruncInst>(instruction);
  EXPECT_EQ(conversions, 2u);
}

TEST_F(HalfConversions, OfVectorsAreThoseOfTheirElements) {
  llvm::Module module("test", context);
  llvm::Type *half = llvm::FixedVectorType::get(llvm::Type::getHalfTy(context), 4);
  llvm::Type *wide = half->getWithNewType(llvm::Type::getFloatTy(context));
  auto *function = llvm::Function::Create(llvm::FunctionType::get(half, {half}, false),
                                          llvm::Function::ExternalLinkage, "f", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  builder.CreateRet(builder.CreateFPTrunc(builder.CreateFPExt(function->getArg(0), wide), half));
  hideHalfConversions(module);
  lowerHalfConversions(*function, /*hasF16C=*/false);
  for (llvm::Instruction &instruction : function->getEntryBlock()) {
    EXPECT_FALSE((llvm::isa<llvm::FPExtInst, llvm::FPTruncInst, llvm::CallInst>(instruction)));
    if (!llvm::isa<llvm::ReturnInst>(instruction))
      EXPECT_TRUE(instruction.getType()->isVectorTy());
  }
}
