// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// float16, bfloat16 and float8 as storage types. Conversions between float16 and float32 stay ops,
// of which code generation makes what each level has.
//
// Other ones are integer arithmetic that uses no denormal float32, so that the flush-to-zero mode
// of a call does not change them. From float64 a rounding to odd comes first: two roundings to
// nearest would not be one.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Analysis/ScalarOps.h"

using namespace mlir;
using namespace mpc;

static bool isSmall(Type type) { return type.isF16() || type.isBF16() || isFloat8(type); }

namespace {
/// Shorthands for integer code.
struct Bits {
  OpBuilder &b;
  Location loc;
  Value constant(Type type, uint64_t value) {
    return arith::ConstantOp::create(
        b, loc, b.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), value, false, true)));
  }
  Value i32(uint64_t value) { return constant(b.getI32Type(), value); }
  Value f32(Value bits) { return arith::BitcastOp::create(b, loc, b.getF32Type(), bits); }
  Value ofFloat(Value value) { return arith::BitcastOp::create(b, loc, b.getI32Type(), value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value band(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value bor(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value shl(Value x, unsigned n) { return arith::ShLIOp::create(b, loc, x, i32(n)); }
  Value shr(Value x, unsigned n) { return arith::ShRUIOp::create(b, loc, x, i32(n)); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value extend(Value x) { return arith::ExtUIOp::create(b, loc, b.getI32Type(), x); }
};
} // namespace

static Value bfloatToFloat(Bits k, Value value) {
  return k.f32(k.shl(k.extend(arith::BitcastOp::create(k.b, k.loc, k.b.getI16Type(), value)), 16));
}

namespace {
/// Remembers whether something holds of a value, so that it is found out once.
class Findings {
public:
  bool find(Value value, llvm::function_ref<bool(Value)> compute) {
    if (auto known = values.find(value); known != values.end())
      return known->second;
    return values[value] = compute(value);
  }

private:
  llvm::DenseMap<Value, bool> values;
};

/// Which float32 values are never a NaN with a one among its last 16 bits. What arithmetic makes of
/// NaNs is the quiet one of the CPU, or an operand's that is made quiet (LLVM's language reference,
/// "Behavior of Floating-Point NaN values"), so that those that come from bfloat16 stay such.
class NarrowNaNs {
public:
  bool areAllOf(Value value) {
    return findings.find(value, [this](Value it) { return compute(it); });
  }

private:
  bool compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.getType().isF32())
      return false;
    APFloat number(0.0f);
    if (matchPattern(value, m_ConstantFloat(&number)))
      return !number.isNaN() || number.bitcastToAPInt().countr_zero() >= 16;
    if (auto cast = dyn_cast<arith::BitcastOp>(op))
      return hasZeroTail(cast.getIn()) || isSigned(cast.getIn());
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
      return true;
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return areAllOf(select.getTrueValue()) &&
             (select->hasAttr(mpcrt::MpcrtDialect::kElseNumberAttr) ||
              areAllOf(select.getFalseValue()));
    return scalarPropertiesOf(op).keepsNaNs &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return areAllOf(operand); });
  }
  /// Bits that were moved up, or masked.
  static bool hasZeroTail(Value bits) {
    APInt number(32, 0);
    if (auto shift = bits.getDefiningOp<arith::ShLIOp>())
      return matchPattern(shift.getRhs(), m_ConstantInt(&number)) && number.uge(16);
    if (auto mask = bits.getDefiningOp<arith::AndIOp>())
      return matchPattern(mask.getRhs(), m_ConstantInt(&number)) && number.countr_zero() >= 16;
    return false;
  }

  /// Such a value's bits and another one's sign.
  bool isSigned(Value bits) {
    auto both = bits.getDefiningOp<arith::OrIOp>();
    auto magnitude = both ? both.getLhs().getDefiningOp<arith::BitcastOp>() : nullptr;
    auto sign = both ? both.getRhs().getDefiningOp<arith::AndIOp>() : nullptr;
    APInt mask(32, 0);
    return magnitude && sign && matchPattern(sign.getRhs(), m_ConstantInt(&mask)) &&
           mask.isSignMask() && areAllOf(magnitude.getIn());
  }

  Findings findings;
};
} // namespace

namespace {
/// Which float32 numbers `small` has, so that rounding to it changes none of them: those that were
/// widened, constants, and what extremes, signs and choices make of these. Their NaNs stay as well.
class ExactNumbers {
public:
  explicit ExactNumbers(Type small) : small(cast<FloatType>(small)) {}
  bool has(Value value) {
    return findings.find(value, [this](Value it) { return compute(it); });
  }

private:
  bool compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !value.getType().isF32())
      return false;
    APFloat number(0.0f);
    if (matchPattern(value, m_ConstantFloat(&number))) {
      bool losesInfo = true;
      number.convert(small.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      return !losesInfo && !number.isNaN();
    }
    if (auto widened = dyn_cast<arith::ExtFOp>(op))
      return widened.getIn().getType() == small;
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return has(select.getTrueValue()) && has(select.getFalseValue());
    return scalarPropertiesOf(op).choosesNumbers &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return has(operand); });
  }

  FloatType small;
  Findings findings;
};
} // namespace

/// Takes the widening away behind roundings that change nothing. Those to bfloat16 are found: their
/// numbers are only moved.
static DenseSet<Operation *> removeExactRoundings(ModuleOp module) {
  MLIRContext *context = module.getContext();
  ExactNumbers ofBFloat16(BFloat16Type::get(context)), ofFloat16(Float16Type::get(context));
  SmallVector<arith::TruncFOp> exact;
  module.walk([&](arith::TruncFOp round) {
    const Type small = round.getType();
    if ((small.isBF16() && ofBFloat16.has(round.getIn())) ||
        (small.isF16() && ofFloat16.has(round.getIn())))
      exact.push_back(round);
  });
  DenseSet<Operation *> moves;
  for (arith::TruncFOp round : exact) {
    for (Operation *user : llvm::make_early_inc_range(round->getUsers()))
      if (auto widened = dyn_cast<arith::ExtFOp>(user); widened && widened.getType().isF32()) {
        widened.replaceAllUsesWith(round.getIn());
        widened.erase();
      }
    if (round.getType().isBF16())
      moves.insert(round);
  }
  return moves;
}

static Value upperHalf(Bits k, Value bits) {
  Value narrow = arith::TruncIOp::create(k.b, k.loc, k.b.getI16Type(), k.shr(bits, 16));
  return arith::BitcastOp::create(k.b, k.loc, k.b.getBF16Type(), narrow);
}

static Value floatToBfloat(Bits k, Value value, NarrowNaNs &narrowNaNs) {
  Value x = k.ofFloat(value);
  Value bits = k.add(k.add(x, k.i32(0x7fff)), k.band(k.shr(x, 16), k.i32(1)));
  // Adding may carry a NaN's last bits to where it is none any more.
  if (!narrowNaNs.areAllOf(value)) {
    Value quiet = k.bor(x, k.i32(0x400000)); // the payload's head, quiet
    Value isNaN = arith::CmpFOp::create(k.b, k.loc, arith::CmpFPredicate::UNO, value, value);
    bits = k.select(isNaN, quiet, bits);
  }
  // The shift comes last: where the result is widened again, both shifts become one mask.
  return upperHalf(k, bits);
}

/// Converts like the one to float16, with the format's own numbers of bits. Only products read it
/// again.
static Value floatToFloat8(Bits k, Value value, FloatType type) {
  using P = arith::CmpIPredicate;
  const bool hasInfinity = isa<Float8E5M2Type>(type);
  const APFloat least = APFloat::getSmallestNormalized(type.getFloatSemantics());
  const uint64_t smallest = 127 + ilogb(least); // as float32 has it
  const unsigned lost = 24 - type.getFPMantissaWidth();
  Value x = k.ofFloat(value);
  Value sign = k.band(k.shr(x, 24), k.i32(0x80));
  Value magnitude = k.band(x, k.i32(0x7fffffff));
  Value magic =
      k.i32((smallest + lost) << 23); // its last bit has the weight of the smallest number
  Value denormal =
      k.sub(k.ofFloat(arith::AddFOp::create(k.b, k.loc, k.f32(magnitude), k.f32(magic))), magic);
  Value odd = k.band(k.shr(magnitude, lost), k.i32(1));
  Value rebased = k.sub(magnitude, k.i32(((smallest - 1) << 23) - (1u << (lost - 1)) + 1));
  Value normal = k.shr(k.add(rebased, odd), lost);
  Value isDenormal = k.compare(P::ult, magnitude, k.i32(smallest << 23));
  Value bits = k.select(isDenormal, denormal, normal);
  if (hasInfinity) { // from 61440 on, the midpoint above the largest number
    bits = k.select(k.compare(P::uge, magnitude, k.i32(0x47700000)), k.i32(0x7c), bits);
    bits = k.select(k.compare(P::ugt, magnitude, k.i32(0x7f800000)), k.i32(0x7e), bits);
  } else { // above 464, the midpoint behind the largest number
    bits = k.select(k.compare(P::ugt, magnitude, k.i32(0x43e80000)), k.i32(0x7f), bits);
  }
  Value narrow = arith::TruncIOp::create(k.b, k.loc, k.b.getI8Type(), k.bor(bits, sign));
  return arith::BitcastOp::create(k.b, k.loc, type, narrow);
}

/// float64 to float32, truncated, with the last bit set when inexact.
static Value roundToOdd(Bits k, Value value) {
  Value nearest = arith::TruncFOp::create(k.b, k.loc, k.b.getF32Type(), value);
  Value back = arith::ExtFOp::create(k.b, k.loc, k.b.getF64Type(), nearest);
  Value inexact = arith::CmpFOp::create(k.b, k.loc, arith::CmpFPredicate::ONE, back, value);
  Value away = arith::CmpFOp::create(k.b, k.loc, arith::CmpFPredicate::OGT,
                                     math::AbsFOp::create(k.b, k.loc, back),
                                     math::AbsFOp::create(k.b, k.loc, value));
  return k.f32(k.bor(k.sub(k.ofFloat(nearest), k.extend(away)), k.extend(inexact)));
}

static Value widen(OpBuilder &builder, Location loc, Value small, Type wide) {
  Bits k{builder, loc};
  Value value = small.getType().isF16()
                    ? Value(arith::ExtFOp::create(builder, loc, builder.getF32Type(), small))
                    : bfloatToFloat(k, small);
  return wide.isF64() ? Value(arith::ExtFOp::create(builder, loc, wide, value)) : value;
}

static Value narrow(OpBuilder &builder, Location loc, Value wide, Type small,
                    NarrowNaNs &narrowNaNs) {
  Bits k{builder, loc};
  if (wide.getType().isF64())
    wide = roundToOdd(k, wide);
  if (isFloat8(small))
    return floatToFloat8(k, wide, cast<FloatType>(small));
  return small.isF16() ? Value(arith::TruncFOp::create(builder, loc, small, wide))
                       : floatToBfloat(k, wide, narrowNaNs);
}

/// One of two numbers, as bits: LLVM takes short vectors of bfloat through float32 on some x86-64,
/// by functions that nothing links.
static Value selectBits(OpBuilder &builder, arith::SelectOp op) {
  const Type type = op.getType();
  const Type bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
  auto bitsOf = [&](Value value) {
    return arith::BitcastOp::create(builder, op.getLoc(), bits, value);
  };
  Value chosen = arith::SelectOp::create(builder, op.getLoc(), op.getCondition(),
                                         bitsOf(op.getTrueValue()), bitsOf(op.getFalseValue()));
  return arith::BitcastOp::create(builder, op.getLoc(), type, chosen);
}

LogicalResult mpc::expandSmallFloats(ModuleOp module) {
  const DenseSet<Operation *> moves = removeExactRoundings(module);
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      return;
    // These move bits; they do not compute.
    if (isa<arith::ConstantOp, arith::BitcastOp>(op))
      return;
    if (llvm::any_of(op->getOperandTypes(), isSmall) || llvm::any_of(op->getResultTypes(), isSmall))
      ops.push_back(op);
  });
  NarrowNaNs narrowNaNs;
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      if (!select.getType().isBF16())
        continue;
      select.replaceAllUsesWith(selectBits(builder, select));
      op->erase();
      continue;
    }
    if (isa<arith::ExtFOp>(op)) {
      op->getResult(0).replaceAllUsesWith(
          widen(builder, loc, op->getOperand(0), op->getResult(0).getType()));
      op->erase();
      continue;
    }
    if (isa<arith::TruncFOp>(op)) {
      Value source = op->getOperand(0);
      if (moves.contains(op)) {
        Bits k{builder, loc};
        op->getResult(0).replaceAllUsesWith(upperHalf(k, k.ofFloat(source)));
        op->erase();
        continue;
      }
      if (isSmall(source.getType())) // to float8
        source = widen(builder, loc, source, builder.getF32Type());
      op->getResult(0).replaceAllUsesWith(
          narrow(builder, loc, source, op->getResult(0).getType(), narrowNaNs));
      op->erase();
      continue;
    }
    // Integers of 32 bits and more are exact in float64, not in float32.
    bool wideInteger = isa<arith::SIToFPOp, arith::UIToFPOp>(op) &&
                       op->getOperand(0).getType().getIntOrFloatBitWidth() >= 32;
    Type wide = wideInteger ? Type(builder.getF64Type()) : Type(builder.getF32Type());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isSmall(operand.getType()) ? widen(builder, loc, operand, wide) : operand);
    SmallVector<Type> results;
    for (Type type : op->getResultTypes())
      results.push_back(isSmall(type) ? wide : type);
    OperationState state(loc, op->getName(), operands, results, op->getAttrs());
    Operation *computed = builder.create(state);
    for (auto [before, after] : llvm::zip_equal(op->getResults(), computed->getResults()))
      before.replaceAllUsesWith(isSmall(before.getType())
                                    ? narrow(builder, loc, after, before.getType(), narrowNaNs)
                                    : Value(after));
    op->erase();
  }
  module.walk([](arith::SelectOp op) { op->removeAttr(mpcrt::MpcrtDialect::kElseNumberAttr); });
  return success();
}
