// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each op means what it means on the CPU, bit by bit where a result is exact: integers wrap,
// maximum and minimum propagate NaN, a small float is rounded after every op.
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

static bool isSmall(Type type) { return type.isF16() || type.isBF16(); }

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
  if (auto integer = dyn_cast<IntegerType>(type))
    return integerType(integer.getWidth(), /*isUnsigned=*/false);
  return "";
}

std::string mpc::cudaStorageType(Type element) {
  return element.isInteger(1) ? "unsigned char" : cudaType(element);
}

static std::string floatLiteral(const APFloat &value, Type type) {
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  if (isSmall(type))
    return cudaType(type) + "{0x" + llvm::utohexstr(bits, /*LowerCase=*/true, 4) + "}";
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
  return isSmall(type) ? "narrow_" + cudaType(type) + "(" + text + ")" : text;
}

static std::string asUnsigned(const std::string &name, Type type) {
  return "(" + integerType(widthOf(type), true) + ")" + name;
}

/// Wraps instead of overflowing.
static std::string wrapping(StringRef symbol, Type type, ArrayRef<std::string> x) {
  if (type.isIndex())
    return x[0] + " " + symbol.str() + " " + x[1];
  return "(" + cudaType(type) + ")(" + asUnsigned(x[0], type) + " " + symbol.str() + " " +
         asUnsigned(x[1], type) + ")";
}

/// The symbol between two operands, or empty.
static StringRef symbolOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return "*"; })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>([](auto) { return "/"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "%"; })
      .Case<arith::AndIOp>([](auto) { return "&"; })
      .Case<arith::OrIOp>([](auto) { return "|"; })
      .Case<arith::XOrIOp>([](auto) { return "^"; })
      .Case<arith::ShLIOp>([](auto) { return "<<"; })
      .Case<arith::ShRUIOp, arith::ShRSIOp>([](auto) { return ">>"; })
      .Default([](Operation *) { return ""; });
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
  using P = arith::CmpIPredicate;
  StringRef symbol;
  bool isUnsigned = false;
  switch (op.getPredicate()) {
  case P::eq:
    symbol = "==";
    break;
  case P::ne:
    symbol = "!=";
    break;
  case P::ult:
    isUnsigned = true;
    [[fallthrough]];
  case P::slt:
    symbol = "<";
    break;
  case P::ule:
    isUnsigned = true;
    [[fallthrough]];
  case P::sle:
    symbol = "<=";
    break;
  case P::ugt:
    isUnsigned = true;
    [[fallthrough]];
  case P::sgt:
    symbol = ">";
    break;
  case P::uge:
    isUnsigned = true;
    [[fallthrough]];
  case P::sge:
    symbol = ">=";
    break;
  }
  Type type = op.getLhs().getType();
  auto side = [&](unsigned i) { return isUnsigned ? asUnsigned(x[i], type) : x[i]; };
  return side(0) + " " + symbol.str() + " " + side(1);
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
        if (isSmall(to))
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
  auto choose = [&](StringRef symbol, bool isUnsigned) {
    auto side = [&](unsigned i) { return isUnsigned ? asUnsigned(x[i], type) : x[i]; };
    return side(0) + " " + symbol.str() + " " + side(1) + " ? " + x[0] + " : " + x[1];
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::MaxSIOp>([&](auto) { return choose(">", false); })
      .Case<arith::MinSIOp>([&](auto) { return choose("<", false); })
      .Case<arith::MaxUIOp>([&](auto) { return choose(">", true); })
      .Case<arith::MinUIOp>([&](auto) { return choose("<", true); })
      .Case<math::AbsIOp>([&](auto) { return x[0] + " < 0 ? -" + x[0] + " : " + x[0]; })
      .Case<arith::CeilDivUIOp>([&](auto) {
        return "(" + cudaType(type) + ")((" + asUnsigned(x[0], type) + " + " +
               asUnsigned(x[1], type) + " - 1) / " + asUnsigned(x[1], type) + ")";
      })
      .Default([](Operation *) { return std::string(); });
}

static std::string binary(Operation *op, StringRef symbol, ArrayRef<std::string> x) {
  Type type = op->getResult(0).getType();
  if (isa<FloatType>(type))
    return rounded(widened(x[0], type) + " " + symbol.str() + " " + widened(x[1], type), type);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp>(op))
    return wrapping(symbol, type, x);
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::ShRUIOp>(op)) {
    std::string text = asUnsigned(x[0], type) + " " + symbol.str() + " " + asUnsigned(x[1], type);
    return "(" + cudaType(type) + ")(" + text + ")";
  }
  return "(" + cudaType(type) + ")(" + x[0] + " " + symbol.str() + " " + x[1] + ")";
}

std::string mpc::cudaExpression(Operation *op, ArrayRef<std::string> x) {
  if (op->getNumResults() != 1 || cudaType(op->getResult(0).getType()).empty())
    return "";
  Type type = op->getResult(0).getType();
  if (StringRef symbol = symbolOf(op); !symbol.empty())
    return binary(op, symbol, x);
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
