// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer conversions follow F. Giesen's float_to_half_fast3_rtne and half_to_float. They use no
// denormal float32, so that the flush-to-zero mode of a call does not change them; F16C's
// instructions heed that mode for no float16 either.
#include "lib/Codegen/CPU/HalfConversions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace mpc;

namespace {
/// Shorthands for arithmetic on the bits of a float32.
struct Bits {
  llvm::IRBuilder<> &b;
  llvm::Value *number(uint64_t bits) { return b.getInt32(uint32_t(bits)); }
  llvm::Value *toFloat(llvm::Value *bits) { return b.CreateBitCast(bits, b.getFloatTy()); }
  llvm::Value *toBits(llvm::Value *value) { return b.CreateBitCast(value, b.getInt32Ty()); }
  llvm::Value *select(llvm::Value *condition, llvm::Value *x, llvm::Value *y) {
    return b.CreateSelect(condition, x, y);
  }
};
} // namespace

/// An exponent of float32 where its bits have it.
static constexpr uint64_t exponent(uint64_t biased) { return biased << 23; }

static llvm::Value *widen(llvm::IRBuilder<> &b, llvm::Value *half) {
  Bits k{b};
  llvm::Value *h = b.CreateZExt(half, b.getInt32Ty());
  llvm::Value *magnitude = b.CreateShl(b.CreateAnd(h, k.number(0x7fff)), 13);
  llvm::Value *power = b.CreateAnd(magnitude, k.number(0x0f800000));
  llvm::Value *normal = b.CreateAdd(magnitude, k.number(exponent(127 - 15)));
  llvm::Value *special = b.CreateAdd(normal, k.number(exponent(128 - 16))); // Inf and NaN
  llvm::Value *denormal = k.toBits(b.CreateFSub(
      k.toFloat(b.CreateAdd(normal, k.number(exponent(1)))), k.toFloat(k.number(exponent(113)))));
  llvm::Value *isSpecial = b.CreateICmpEQ(power, k.number(0x0f800000));
  llvm::Value *isDenormal = b.CreateICmpEQ(power, k.number(0));
  llvm::Value *bits = k.select(isSpecial, special, k.select(isDenormal, denormal, normal));
  return k.toFloat(b.CreateOr(bits, b.CreateShl(b.CreateAnd(h, k.number(0x8000)), 16)));
}

static llvm::Value *narrow(llvm::IRBuilder<> &b, llvm::Value *value) {
  Bits k{b};
  llvm::Value *x = k.toBits(value);
  llvm::Value *sign = b.CreateAnd(x, k.number(0x80000000u));
  llvm::Value *magnitude = b.CreateXor(x, sign);
  llvm::Value *isNaN = b.CreateICmpUGT(magnitude, k.number(0x7f800000));
  llvm::Value *large = k.select(isNaN, k.number(0x7e00), k.number(0x7c00));
  // 0.5: its last bit has the weight of float16's smallest number.
  llvm::Value *magic = k.number(exponent(126));
  llvm::Value *denormal =
      b.CreateSub(k.toBits(b.CreateFAdd(k.toFloat(magnitude), k.toFloat(magic))), magic);
  llvm::Value *odd = b.CreateAnd(b.CreateLShr(magnitude, 13), k.number(1));
  llvm::Value *rebiased = b.CreateAdd(magnitude, k.number(exponent(uint64_t(15) - 127) + 0xfff));
  llvm::Value *normal = b.CreateLShr(b.CreateAdd(rebiased, odd), 13);
  llvm::Value *isLarge = b.CreateICmpUGE(magnitude, k.number(exponent(143)));
  llvm::Value *isDenormal = b.CreateICmpULT(magnitude, k.number(exponent(113)));
  llvm::Value *bits = b.CreateOr(k.select(isLarge, large, k.select(isDenormal, denormal, normal)),
                                 b.CreateLShr(sign, 16));
  return b.CreateTrunc(bits, b.getInt16Ty());
}

/// A call of the intrinsic, which passes may move to where it was not needed.
static llvm::Value *callIntrinsic(llvm::IRBuilder<> &b, llvm::Intrinsic::ID id,
                                  llvm::Value *operand) {
  llvm::CallInst *call = b.CreateIntrinsic(id, {b.getFloatTy()}, {operand});
  call->getCalledFunction()->addFnAttr(llvm::Attribute::Speculatable);
  return call;
}

static void replace(llvm::Instruction &instruction, llvm::Value *value) {
  instruction.replaceAllUsesWith(value);
  instruction.eraseFromParent();
}

void mpc::hideHalfConversions(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(instructions(function))) {
      llvm::IRBuilder<> b(&instruction);
      if (auto *widened = llvm::dyn_cast<llvm::FPExtInst>(&instruction);
          widened && widened->getSrcTy()->isHalfTy() && widened->getDestTy()->isFloatTy()) {
        llvm::Value *bits = b.CreateBitCast(widened->getOperand(0), b.getInt16Ty());
        replace(*widened, callIntrinsic(b, llvm::Intrinsic::convert_from_fp16, bits));
      } else if (auto *narrowed = llvm::dyn_cast<llvm::FPTruncInst>(&instruction);
                 narrowed && narrowed->getDestTy()->isHalfTy() &&
                 narrowed->getSrcTy()->isFloatTy()) {
        llvm::Value *bits =
            callIntrinsic(b, llvm::Intrinsic::convert_to_fp16, narrowed->getOperand(0));
        replace(*narrowed, b.CreateBitCast(bits, b.getHalfTy()));
      }
    }
}

void mpc::lowerHalfConversions(llvm::Function &function, bool hasF16C) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(instructions(function))) {
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call)
      continue;
    llvm::IRBuilder<> b(call);
    llvm::Value *operand = call->getArgOperand(0);
    if (call->getIntrinsicID() == llvm::Intrinsic::convert_from_fp16)
      replace(*call, hasF16C
                         ? b.CreateFPExt(b.CreateBitCast(operand, b.getHalfTy()), b.getFloatTy())
                         : widen(b, operand));
    else if (call->getIntrinsicID() == llvm::Intrinsic::convert_to_fp16)
      replace(*call, hasF16C
                         ? b.CreateBitCast(b.CreateFPTrunc(operand, b.getHalfTy()), b.getInt16Ty())
                         : narrow(b, operand));
  }
}
