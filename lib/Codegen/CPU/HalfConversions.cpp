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
enum class Conversion { Widening, Narrowing };

/// Arithmetic on the bits of a float32, or of each element of a vector.
class Bits {
public:
  Bits(llvm::IRBuilder<> &b, llvm::Value *shaped) : b(b), shape(shaped->getType()) {}
  llvm::Value *widen(llvm::Value *half);
  llvm::Value *narrow(llvm::Value *value);

private:
  llvm::Value *number(uint64_t bits) {
    return llvm::ConstantInt::get(shape->getWithNewType(b.getInt32Ty()), uint32_t(bits));
  }
  llvm::Value *toFloat(llvm::Value *bits) {
    return b.CreateBitCast(bits, shape->getWithNewType(b.getFloatTy()));
  }
  llvm::Value *toBits(llvm::Value *value) {
    return b.CreateBitCast(value, shape->getWithNewType(b.getInt32Ty()));
  }
  llvm::Value *shiftLeft(llvm::Value *x, unsigned n) { return b.CreateShl(x, number(n)); }
  llvm::Value *shiftRight(llvm::Value *x, unsigned n) { return b.CreateLShr(x, number(n)); }

  llvm::IRBuilder<> &b;
  llvm::Type *shape;
};
} // namespace

/// An exponent of float32 where its bits have it.
static constexpr uint64_t exponent(uint64_t biased) { return biased << 23; }

llvm::Value *Bits::widen(llvm::Value *half) {
  llvm::Value *h = b.CreateZExt(half, shape->getWithNewType(b.getInt32Ty()));
  llvm::Value *magnitude = shiftLeft(b.CreateAnd(h, number(0x7fff)), 13);
  llvm::Value *power = b.CreateAnd(magnitude, number(0x0f800000));
  llvm::Value *normal = b.CreateAdd(magnitude, number(exponent(127 - 15)));
  llvm::Value *special = b.CreateAdd(normal, number(exponent(128 - 16))); // Inf and NaN
  llvm::Value *denormal = toBits(b.CreateFSub(toFloat(b.CreateAdd(normal, number(exponent(1)))),
                                              toFloat(number(exponent(113)))));
  llvm::Value *isSpecial = b.CreateICmpEQ(power, number(0x0f800000));
  llvm::Value *isDenormal = b.CreateICmpEQ(power, number(0));
  llvm::Value *bits =
      b.CreateSelect(isSpecial, special, b.CreateSelect(isDenormal, denormal, normal));
  return toFloat(b.CreateOr(bits, shiftLeft(b.CreateAnd(h, number(0x8000)), 16)));
}

llvm::Value *Bits::narrow(llvm::Value *value) {
  llvm::Value *x = toBits(value);
  llvm::Value *sign = b.CreateAnd(x, number(0x80000000u));
  llvm::Value *magnitude = b.CreateXor(x, sign);
  llvm::Value *isNaN = b.CreateICmpUGT(magnitude, number(0x7f800000));
  llvm::Value *large = b.CreateSelect(isNaN, number(0x7e00), number(0x7c00));
  // 0.5: its last bit has the weight of float16's smallest number.
  llvm::Value *magic = number(exponent(126));
  llvm::Value *denormal =
      b.CreateSub(toBits(b.CreateFAdd(toFloat(magnitude), toFloat(magic))), magic);
  llvm::Value *odd = b.CreateAnd(shiftRight(magnitude, 13), number(1));
  llvm::Value *rebiased = b.CreateAdd(magnitude, number(exponent(uint64_t(15) - 127) + 0xfff));
  llvm::Value *normal = shiftRight(b.CreateAdd(rebiased, odd), 13);
  llvm::Value *isLarge = b.CreateICmpUGE(magnitude, number(exponent(143)));
  llvm::Value *isDenormal = b.CreateICmpULT(magnitude, number(exponent(113)));
  llvm::Value *bits =
      b.CreateOr(b.CreateSelect(isLarge, large, b.CreateSelect(isDenormal, denormal, normal)),
                 shiftRight(sign, 16));
  return b.CreateTrunc(bits, shape->getWithNewType(b.getInt16Ty()));
}

/// No symbol of C has a dot. What follows is the number of elements.
static constexpr llvm::StringLiteral kVectorNames[] = {"half.widening.", "half.narrowing."};

/// A call that passes may move to where it was not needed: of an intrinsic, or of a function for
/// vectors, which the intrinsics do not take.
static llvm::Value *hide(llvm::IRBuilder<> &b, Conversion conversion, llvm::Value *operand) {
  llvm::CallInst *call;
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(operand->getType());
  const bool widens = conversion == Conversion::Widening;
  if (vector) {
    llvm::Type *result = vector->getWithNewType(widens ? b.getFloatTy() : b.getInt16Ty());
    const std::string name =
        (kVectorNames[size_t(conversion)] + llvm::Twine(vector->getNumElements())).str();
    call = b.CreateCall(b.GetInsertBlock()->getModule()->getOrInsertFunction(name, result, vector),
                        operand);
    call->getCalledFunction()->setDoesNotAccessMemory();
    call->getCalledFunction()->setDoesNotThrow();
    call->getCalledFunction()->setWillReturn();
  } else {
    call = b.CreateIntrinsic(widens ? llvm::Intrinsic::convert_from_fp16
                                    : llvm::Intrinsic::convert_to_fp16,
                             {b.getFloatTy()}, {operand});
  }
  call->getCalledFunction()->addFnAttr(llvm::Attribute::Speculatable);
  return call;
}

/// The conversion that the call hides, if it does.
static std::optional<Conversion> hiddenBy(const llvm::CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (!callee)
    return std::nullopt;
  if (callee->getIntrinsicID() == llvm::Intrinsic::convert_from_fp16)
    return Conversion::Widening;
  if (callee->getIntrinsicID() == llvm::Intrinsic::convert_to_fp16)
    return Conversion::Narrowing;
  for (Conversion conversion : {Conversion::Widening, Conversion::Narrowing})
    if (callee->getName().starts_with(kVectorNames[size_t(conversion)]))
      return conversion;
  return std::nullopt;
}

static void replace(llvm::Instruction &instruction, llvm::Value *value) {
  instruction.replaceAllUsesWith(value);
  instruction.eraseFromParent();
}

void mpc::hideHalfConversions(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(instructions(function))) {
      auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction);
      if (!cast)
        continue;
      llvm::Type *from = cast->getSrcTy(), *to = cast->getDestTy();
      llvm::IRBuilder<> b(cast);
      llvm::Type *bits = from->getWithNewType(b.getInt16Ty());
      if (llvm::isa<llvm::FPExtInst>(cast) && from->getScalarType()->isHalfTy() &&
          to->getScalarType()->isFloatTy())
        replace(*cast, hide(b, Conversion::Widening, b.CreateBitCast(cast->getOperand(0), bits)));
      else if (llvm::isa<llvm::FPTruncInst>(cast) && to->getScalarType()->isHalfTy() &&
               from->getScalarType()->isFloatTy())
        replace(*cast, b.CreateBitCast(hide(b, Conversion::Narrowing, cast->getOperand(0)), to));
    }
}

/// The code of a conversion between float32 and the bits of float16.
static llvm::Value *lower(llvm::IRBuilder<> &b, Conversion conversion, llvm::Value *operand,
                          bool hasF16C) {
  const bool widens = conversion == Conversion::Widening;
  if (!hasF16C)
    return widens ? Bits(b, operand).widen(operand) : Bits(b, operand).narrow(operand);
  llvm::Type *half = operand->getType()->getWithNewType(b.getHalfTy());
  llvm::Type *result = operand->getType()->getWithNewType(widens ? b.getFloatTy() : b.getInt16Ty());
  return widens ? b.CreateFPExt(b.CreateBitCast(operand, half), result)
                : b.CreateBitCast(b.CreateFPTrunc(operand, half), result);
}

void mpc::lowerHalfConversions(llvm::Function &function, bool hasF16C) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(instructions(function)))
    if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      if (std::optional<Conversion> conversion = hiddenBy(*call)) {
        llvm::IRBuilder<> b(call);
        replace(*call, lower(b, *conversion, call->getArgOperand(0), hasF16C));
      }
}
