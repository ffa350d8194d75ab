// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Roundings are told by their integer arithmetic (floatToBfloat in SmallFloats.cpp) on the bits x
// of a float32, x + 0x7fff + (x >> 16 & 1), whose last 16 bits nobody reads. Behind them NaNs are
// made quiet, as the instruction does.
#include "lib/Codegen/CPU/BFloatRoundings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

/// Whether arithmetic makes the number, which then is not subnormal.
static bool isComputed(const llvm::Value *number) {
  auto *op = dyn_cast<Instruction>(number);
  if (!op)
    return false;
  switch (op->getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    return true;
  default:
    break;
  }
  auto *call = dyn_cast<IntrinsicInst>(op);
  return call && is_contained({Intrinsic::fma, Intrinsic::fmuladd, Intrinsic::sqrt},
                              call->getIntrinsicID());
}

/// Finds the terms of sums of sums, three of which count.
static void collectTerms(llvm::Value *value, SmallVectorImpl<llvm::Value *> &terms) {
  llvm::Value *first, *second;
  if (terms.size() <= 3 && match(value, m_Add(m_Value(first), m_Value(second)))) {
    collectTerms(first, terms);
    collectTerms(second, terms);
    return;
  }
  terms.push_back(value);
}

/// The float32 number that the sum rounds; null where it does something else.
static llvm::Value *findRounded(Instruction &sum) {
  if (sum.getOpcode() != Instruction::Add || sum.getType()->getScalarSizeInBits() != 32)
    return nullptr;
  SmallVector<llvm::Value *, 4> terms;
  collectTerms(&sum, terms);
  if (terms.size() != 3)
    return nullptr;
  for (llvm::Value *bits : terms) {
    llvm::Value *number;
    if (!match(bits, m_BitCast(m_Value(number))) ||
        !number->getType()->getScalarType()->isFloatTy() || !isComputed(number))
      continue;
    const auto isLast = [&](llvm::Value *term) {
      return match(term, m_And(m_LShr(m_Specific(bits), m_SpecificInt(16)), m_One()));
    };
    const auto isHalf = [](llvm::Value *term) { return match(term, m_SpecificInt(0x7fff)); };
    if (any_of(terms, isLast) && any_of(terms, isHalf))
      return number;
  }
  return nullptr;
}

/// Whether only the first 16 bits are read.
static bool isTailUnused(const llvm::Value *bits) {
  return all_of(bits->users(), [&](const User *user) {
    const APInt *number;
    if (match(user, m_LShr(m_Specific(bits), m_APInt(number))))
      return number->uge(16);
    if (match(user, m_And(m_Specific(bits), m_APInt(number))))
      return number->countr_zero() >= 16;
    return isa<SelectInst>(user) && isTailUnused(user);
  });
}

/// Whether the choice gives a quiet NaN where `number` is one, and else `sum`.
static bool makesNaNsQuiet(const SelectInst &select, const llvm::Value *sum,
                           const llvm::Value *number) {
  auto *test = dyn_cast<FCmpInst>(select.getCondition());
  if (!test || test->getOperand(0) != number)
    return false;
  const bool isNaN = test->getPredicate() == FCmpInst::FCMP_UNO;
  if (!isNaN && test->getPredicate() != FCmpInst::FCMP_ORD)
    return false;
  const llvm::Value *quiet = isNaN ? select.getTrueValue() : select.getFalseValue();
  const llvm::Value *other = isNaN ? select.getFalseValue() : select.getTrueValue();
  return other == sum &&
         match(quiet, m_c_Or(m_BitCast(m_Specific(number)), m_SpecificInt(0x400000))) &&
         (test->getOperand(1) == number || match(test->getOperand(1), m_AnyZeroFP()));
}

static SmallVector<std::pair<Instruction *, llvm::Value *>> findRoundings(Function &function) {
  SmallVector<std::pair<Instruction *, llvm::Value *>> found;
  for (Instruction &instruction : instructions(function))
    if (llvm::Value *number = findRounded(instruction);
        number && number->getType()->isVectorTy() && isTailUnused(&instruction))
      found.push_back({&instruction, number});
  return found;
}

bool mpc::hasBFloatRoundings(Function &function) { return !findRoundings(function).empty(); }

void mpc::lowerBFloatRoundings(Function &function) {
  for (auto [sum, number] : findRoundings(function)) {
    IRBuilder<> builder(sum);
    llvm::Type *type = number->getType();
    llvm::Value *narrow =
        builder.CreateFPTrunc(number, type->getWithNewType(builder.getBFloatTy()));
    llvm::Value *half = builder.CreateBitCast(narrow, type->getWithNewType(builder.getInt16Ty()));
    llvm::Value *bits = builder.CreateShl(builder.CreateZExt(half, sum->getType()), 16);
    for (User *user : make_early_inc_range(sum->users()))
      if (auto *select = dyn_cast<SelectInst>(user); select && makesNaNsQuiet(*select, sum, number))
        select->replaceAllUsesWith(bits);
    sum->replaceAllUsesWith(bits);
  }
}
