// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each op means what it means on the CPU, bit by bit where a result is exact: integers wrap,
// maximum and minimum propagate NaN, a small float is rounded after every op.
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "dialects/mpc/IR/Float8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

static bool isSmall(Type type) { return type.isF16() || type.isBF16(); }

/// Types whose numbers are structs of bits in the text.
static bool isBits(Type type) { return isSmall(type) || isFloat8(type); }

static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

static std::string integerType(unsigned width, bool isUnsigned) {
  switch (width) {
  case 1:
    return "bool";
  case 8:
    return isUnsigned ? "unsigned char" : "signed char";
  case 16:
    return isUnsigned ? "unsigned short" : "short";
  case 32:
    return isUnsigned ? "unsigned" : "int";
  case 64:
    return isUnsigned ? "unsigned long long" : "long long";
  default:
    return "";
  }
}

std::string mpc::cudaType(Type type) {
  if (type.isIndex())
    return "index";
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isFloat8(type))
    return isa<Float8E4M3FNType>(type) ? "f8e4m3" : "f8e5m2";
  if (auto integer = dyn_cast<IntegerType>(type))
    return integerType(integer.getWidth(), /*isUnsigned=*/false);
  return "";
}

std::string mpc::cudaStorageType(Type element) {
  return element.isInteger(1) ? "unsigned char" : cudaType(element);
}

static std::string floatLiteral(const APFloat &value, Type type) {
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  if (isBits(type))
    return cudaType(type) + "{0x" +
           llvm::utohexstr(bits, /*LowerCase=*/true, type.getIntOrFloatBitWidth() / 4) + "}";
  bool isDouble = type.isF64();
  if (!value.isFinite())
    return isDouble ? "f64_of_bits(0x" + llvm::utohexstr(bits, true) + "ull)"
                    : "f32_of_bits(0x" + llvm::utohexstr(bits, true) + "u)";
  SmallString<40> text;
  value.toString(text, isDouble ? 17 : 9, /*FormatMaxPadding=*/3);
  if (text.find_first_of(".eE") == StringRef::npos)
    text += ".0";
  return (text + (isDouble ? "" : "f")).str();
}

std::string mpc::cudaLiteral(Attribute value) {
  // A sign before a sign would be a decrement.
  auto inParentheses = [](std::string text) { return text[0] == '-' ? "(" + text + ")" : text; };
  if (auto number = dyn_cast<FloatAttr>(value))
    return inParentheses(floatLiteral(number.getValue(), number.getType()));
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number)
    return "";
  if (number.getType().isInteger(1))
    return number.getValue().isZero() ? "false" : "true";
  int64_t n = number.getValue().getSExtValue();
  if (widthOf(number.getType()) == 64) {
    // The least number has no literal.
    return n == std::numeric_limits<int64_t>::min() ? "(-9223372036854775807ll - 1)"
                                                    : inParentheses(std::to_string(n) + "ll");
  }
  if (widthOf(number.getType()) == 32)
    return n == std::numeric_limits<int32_t>::min() ? "(-2147483647 - 1)"
                                                    : inParentheses(std::to_string(n));
  return "(" + cudaType(number.getType()) + ")" + inParentheses(std::to_string(n));
}

/// A small float as float32.
static std::string widened(const std::string &name, Type type) {
  return isSmall(type) ? "widen(" + name + ")" : name;
}

/// `text`, of float32 or float64, as `type`.
static std::string rounded(const std::string &text, Type type) {
  return isBits(type) ? "narrow_" + cudaType(type) + "(" + text + ")" : text;
}

static std::string asUnsigned(const std::string &name, Type type) {
  return "(" + integerType(widthOf(type), true) + ")" + name;
}

namespace {
/// How integers meet a symbol of C++: as they are, as unsigned ones, or as unsigned ones because
/// overflow wraps.
enum class Integers { Signed, Unsigned, Wrapping };

/// An operator between two operands.
struct Infix {
  StringRef symbol;
  Integers integers = Integers::Signed;
};
} // namespace

/// The operator that C++ writes between the operands of an arithmetic op; its symbol is empty where
/// there is none.
static Infix infixOf(Operation *op) {
  auto infix = [](StringRef symbol, Integers integers = Integers::Signed) {
    return [=](auto) { return Infix{symbol, integers}; };
  };
  return llvm::TypeSwitch<Operation *, Infix>(op)
      .Case<arith::AddFOp>(infix("+"))
      .Case<arith::SubFOp>(infix("-"))
      .Case<arith::MulFOp>(infix("*"))
      .Case<arith::DivFOp, arith::DivSIOp>(infix("/"))
      .Case<arith::RemSIOp>(infix("%"))
      .Case<arith::AndIOp>(infix("&"))
      .Case<arith::OrIOp>(infix("|"))
      .Case<arith::XOrIOp>(infix("^"))
      .Case<arith::ShRSIOp>(infix(">>"))
      .Case<arith::DivUIOp>(infix("/", Integers::Unsigned))
      .Case<arith::RemUIOp>(infix("%", Integers::Unsigned))
      .Case<arith::ShRUIOp>(infix(">>", Integers::Unsigned))
      .Case<arith::AddIOp>(infix("+", Integers::Wrapping))
      .Case<arith::SubIOp>(infix("-", Integers::Wrapping))
      .Case<arith::MulIOp>(infix("*", Integers::Wrapping))
      .Case<arith::ShLIOp>(infix("<<", Integers::Wrapping))
      .Default([](Operation *) { return Infix{}; });
}

/// The same of a comparison.
static Infix infixOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return {"=="};
  case P::ne:
    return {"!="};
  case P::slt:
    return {"<"};
  case P::sle:
    return {"<="};
  case P::sgt:
    return {">"};
  case P::sge:
    return {">="};
  case P::ult:
    return {"<", Integers::Unsigned};
  case P::ule:
    return {"<=", Integers::Unsigned};
  case P::ugt:
    return {">", Integers::Unsigned};
  case P::uge:
    return {">=", Integers::Unsigned};
  }
  llvm_unreachable("unknown predicate");
}

/// Two operands of this type with the symbol between them.
static std::string join(Infix infix, Type type, ArrayRef<std::string> x) {
  auto side = [&](unsigned i) {
    return infix.integers == Integers::Signed ? x[i] : asUnsigned(x[i], type);
  };
  return side(0) + " " + infix.symbol.str() + " " + side(1);
}

/// The CUDA function of a math op on floats, without the suffix of float32.
static StringRef functionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::ExpOp>([](auto) { return "exp"; })
      .Case<math::Exp2Op>([](auto) { return "exp2"; })
      .Case<math::ExpM1Op>([](auto) { return "expm1"; })
      .Case<math::LogOp>([](auto) { return "log"; })
      .Case<math::Log2Op>([](auto) { return "log2"; })
      .Case<math::Log10Op>([](auto) { return "log10"; })
      .Case<math::Log1pOp>([](auto) { return "log1p"; })
      .Case<math::TanhOp>([](auto) { return "tanh"; })
      .Case<math::SinhOp>([](auto) { return "sinh"; })
      .Case<math::CoshOp>([](auto) { return "cosh"; })
      .Case<math::AsinhOp>([](auto) { return "asinh"; })
      .Case<math::AcoshOp>([](auto) { return "acosh"; })
      .Case<math::AtanhOp>([](auto) { return "atanh"; })
      .Case<math::SinOp>([](auto) { return "sin"; })
      .Case<math::CosOp>([](auto) { return "cos"; })
      .Case<math::TanOp>([](auto) { return "tan"; })
      .Case<math::AsinOp>([](auto) { return "asin"; })
      .Case<math::AcosOp>([](auto) { return "acos"; })
      .Case<math::AtanOp>([](auto) { return "atan"; })
      .Case<math::Atan2Op>([](auto) { return "atan2"; })
      .Case<math::ErfOp>([](auto) { return "erf"; })
      .Case<math::ErfcOp>([](auto) { return "erfc"; })
      .Case<math::SqrtOp>([](auto) { return "sqrt"; })
      .Case<math::CbrtOp>([](auto) { return "cbrt"; })
      .Case<math::PowFOp>([](auto) { return "pow"; })
      .Case<math::AbsFOp>([](auto) { return "fabs"; })
      .Case<math::FloorOp>([](auto) { return "floor"; })
      .Case<math::CeilOp>([](auto) { return "ceil"; })
      .Case<math::TruncOp>([](auto) { return "trunc"; })
      .Case<math::RoundOp>([](auto) { return "round"; })
      .Case<math::RoundEvenOp>([](auto) { return "rint"; })
      .Case<math::CopySignOp>([](auto) { return "copysign"; })
      .Case<math::FmaOp>([](auto) { return "fma"; })
      .Case<arith::RemFOp>([](auto) { return "fmod"; })
      .Default([](Operation *) { return ""; });
}

/// The function of Prelude.h that does the op, or empty.
static StringRef preludeFunctionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::MaximumFOp>([](auto) { return "maximum"; })
      .Case<arith::MinimumFOp>([](auto) { return "minimum"; })
      .Case<arith::MaxNumFOp>([](auto) { return "maximum_number"; })
      .Case<arith::MinNumFOp>([](auto) { return "minimum_number"; })
      .Case<math::RsqrtOp>([](auto) { return "reciprocal_sqrt"; })
      .Case<math::IsNaNOp>([](auto) { return "is_nan"; })
      .Case<math::IsInfOp>([](auto) { return "is_infinite"; })
      .Case<math::IsFiniteOp>([](auto) { return "is_finite"; })
      .Default([](Operation *) { return ""; });
}

static std::string compareIntegers(arith::CmpIOp op, ArrayRef<std::string> x) {
  return join(infixOf(op.getPredicate()), op.getLhs().getType(), x);
}

static std::string compareFloats(arith::CmpFOp op, ArrayRef<std::string> names) {
  using P = arith::CmpFPredicate;
  Type type = op.getLhs().getType();
  std::string a = widened(names[0], type), b = widened(names[1], type);
  // C++ compares ordered, but for !=; the opposite of the opposite is unordered.
  switch (op.getPredicate()) {
  case P::AlwaysFalse:
    return "false";
  case P::AlwaysTrue:
    return "true";
  case P::OEQ:
    return a + " == " + b;
  case P::OGT:
    return a + " > " + b;
  case P::OGE:
    return a + " >= " + b;
  case P::OLT:
    return a + " < " + b;
  case P::OLE:
    return a + " <= " + b;
  case P::ONE:
    return a + " < " + b + " || " + a + " > " + b;
  case P::ORD:
    return a + " == " + a + " && " + b + " == " + b;
  case P::UEQ:
    return "!(" + a + " < " + b + " || " + a + " > " + b + ")";
  case P::UGT:
    return "!(" + a + " <= " + b + ")";
  case P::UGE:
    return "!(" + a + " < " + b + ")";
  case P::ULT:
    return "!(" + a + " >= " + b + ")";
  case P::ULE:
    return "!(" + a + " > " + b + ")";
  case P::UNE:
    return a + " != " + b;
  case P::UNO:
    return a + " != " + a + " || " + b + " != " + b;
  }
  return "";
}

/// Between floats, between integers, and from one to the other.
static std::string convert(Operation *op, const std::string &x) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) -> std::string {
        std::string wide = widened(x, from);
        if (isBits(to))
          return rounded(wide, to); // narrow_* are overloaded: float64 rounds once
        return "(" + cudaType(to) + ")" + wide;
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto) -> std::string {
        bool isUnsigned = isa<arith::UIToFPOp>(op);
        // i1 is -1 as a signed number.
        std::string source = isUnsigned          ? asUnsigned(x, from)
                             : from.isInteger(1) ? "-(int)" + x
                                                 : x;
        // Exact in float64 up to 53 bits, as on the CPU.
        std::string wide = isSmall(to) && widthOf(from) >= 32 ? "double" : "float";
        return isSmall(to) ? rounded("(" + wide + ")(" + source + ")", to)
                           : "(" + cudaType(to) + ")(" + source + ")";
      })
      .Case<arith::FPToSIOp>([&](auto) { return "(" + cudaType(to) + ")" + widened(x, from); })
      .Case<arith::FPToUIOp>([&](auto) {
        return "(" + cudaType(to) + ")(" + integerType(widthOf(to), true) + ")" + widened(x, from);
      })
      .Case<arith::ExtSIOp, arith::IndexCastOp>([&](auto) {
        return from.isInteger(1) ? "(" + cudaType(to) + ")-(int)" + x
                                 : "(" + cudaType(to) + ")" + x;
      })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp>(
          [&](auto) { return "(" + cudaType(to) + ")" + asUnsigned(x, from); })
      .Case<arith::TruncIOp>([&](auto) {
        return to.isInteger(1) ? "(" + x + " & 1) != 0" : "(" + cudaType(to) + ")" + x;
      })
      .Case<arith::BitcastOp>([&](auto) -> std::string {
        if (isSmall(to))
          return cudaType(to) + "{(unsigned short)" + x + "}";
        if (isSmall(from))
          return "(short)" + x + ".bits";
        return "bits_as<" + cudaType(to) + ">(" + x + ")";
      })
      .Default([](Operation *) { return std::string(); });
}

/// Ops on integers that have no symbol.
static std::string integerFunction(Operation *op, ArrayRef<std::string> x) {
  Type type = op->getResult(0).getType();
  auto choose = [&](Infix infix) { return join(infix, type, x) + " ? " + x[0] + " : " + x[1]; };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::MaxSIOp>([&](auto) { return choose({">"}); })
      .Case<arith::MinSIOp>([&](auto) { return choose({"<"}); })
      .Case<arith::MaxUIOp>([&](auto) { return choose({">", Integers::Unsigned}); })
      .Case<arith::MinUIOp>([&](auto) { return choose({"<", Integers::Unsigned}); })
      .Case<math::AbsIOp>([&](auto) { return x[0] + " < 0 ? -" + x[0] + " : " + x[0]; })
      .Case<arith::CeilDivUIOp>([&](auto) {
        return "(" + cudaType(type) + ")((" + asUnsigned(x[0], type) + " + " +
               asUnsigned(x[1], type) + " - 1) / " + asUnsigned(x[1], type) + ")";
      })
      .Default([](Operation *) { return std::string(); });
}

static std::string binary(Operation *op, Infix infix, ArrayRef<std::string> x) {
  Type type = op->getResult(0).getType();
  if (isa<FloatType>(type))
    return rounded(widened(x[0], type) + " " + infix.symbol.str() + " " + widened(x[1], type),
                   type);
  // An index is never so large that it overflows.
  if (type.isIndex() && infix.integers == Integers::Wrapping)
    return join({infix.symbol}, type, x);
  return "(" + cudaType(type) + ")(" + join(infix, type, x) + ")";
}

std::string mpc::cudaExpression(Operation *op, ArrayRef<std::string> x) {
  if (op->getNumResults() != 1 || cudaType(op->getResult(0).getType()).empty())
    return "";
  Type type = op->getResult(0).getType();
  if (Infix infix = infixOf(op); !infix.symbol.empty())
    return binary(op, infix, x);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare, x);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare, x);
  if (isa<arith::SelectOp>(op))
    return x[0] + " ? " + x[1] + " : " + x[2];
  if (isa<arith::NegFOp>(op))
    return rounded("-" + widened(x[0], type), type);
  if (std::string text = convert(op, x.empty() ? "" : x[0]); !text.empty())
    return text;
  StringRef function = functionOf(op), own = preludeFunctionOf(op);
  if (function.empty() && own.empty())
    return integerFunction(op, x);
  Type computed = op->getOperand(0).getType();
  std::string name = own.empty() ? function.str() + (computed.isF64() ? "" : "f") : own.str();
  std::string arguments;
  for (auto [operand, text] : llvm::zip_equal(op->getOperandTypes(), x))
    arguments += (arguments.empty() ? "" : ", ") + widened(text, operand);
  return rounded(name + "(" + arguments + ")", type);
}
