// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.round_float8 against APFloat: all codes of both formats, all midpoints between neighbours,
// and the numbers just beside them, in float32 and float64.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

struct Rounding {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Block *block = nullptr;
  BlockArgument argument;
  Value result;
  RoundFloat8Op op;

  Rounding(bool isE5M2, bool isDouble) {
    context.loadDialect<MpcDialect, arith::ArithDialect, math::MathDialect>();
    OpBuilder b(&context);
    Location loc = b.getUnknownLoc();
    module = ModuleOp::create(b, loc);
    block = module->getBody();
    b.setInsertionPointToEnd(block);
    Type type = isDouble ? Type(b.getF64Type()) : Type(b.getF32Type());
    Type format = isE5M2 ? Type(Float8E5M2Type::get(&context)) : Float8E4M3FNType::get(&context);
    argument = block->addArgument(type, loc);
    auto tensor = ConstantOp::create(b, loc, RankedTensorType::get({}, type), 0.0);
    op = RoundFloat8Op::create(b, loc, tensor.getType(), tensor, TypeAttr::get(format));
    result = op.buildScalar(b, argument);
  }

  FloatType format() { return cast<FloatType>(op.getFormat()); }

  /// The emitted scalar code, folded op by op.
  APFloat run(const APFloat &value) {
    llvm::DenseMap<Value, Attribute> known;
    known[argument] = FloatAttr::get(argument.getType(), value);
    for (Operation &inner : *block) {
      if (isa<ConstantOp, RoundFloat8Op>(inner))
        continue;
      SmallVector<Attribute> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(known.lookup(operand));
      SmallVector<OpFoldResult> folded;
      if (failed(inner.fold(operands, folded)) || folded.empty()) {
        ADD_FAILURE() << "cannot fold " << inner.getName().getStringRef().str();
        return value;
      }
      known[inner.getResult(0)] = isa<Attribute>(folded[0]) ? cast<Attribute>(folded[0])
                                                            : known.lookup(cast<Value>(folded[0]));
    }
    return cast<FloatAttr>(known.lookup(result)).getValue();
  }

  APFloat expect(const APFloat &value) {
    APFloat rounded = value;
    bool losesInfo = false;
    rounded.convert(format().getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    rounded.convert(value.getSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return rounded;
  }

  /// Returns 1 when it was compared.
  int check(const APFloat &value) {
    APFloat got = run(value), expected = expect(value);
    const double reference = op.evaluateScalar({value.convertToDouble()});
    if (expected.isNaN()) {
      EXPECT_TRUE(got.isNaN()) << value.convertToDouble();
      EXPECT_TRUE(std::isnan(reference)) << value.convertToDouble();
      return 1;
    }
    EXPECT_TRUE(got.bitwiseIsEqual(expected))
        << value.convertToDouble() << " gives " << got.convertToDouble() << ", expected "
        << expected.convertToDouble();
    EXPECT_EQ(reference, expected.convertToDouble()) << value.convertToDouble();
    return 1;
  }
};

class Float8 : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(Float8, RoundsAsAPFloatDoes) {
  Rounding rounding(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const llvm::fltSemantics &narrow = rounding.format().getFloatSemantics();
  const llvm::fltSemantics &wide = cast<FloatType>(rounding.argument.getType()).getFloatSemantics();
  std::vector<double> codes;
  int compared = 0;
  for (unsigned code = 0; code < 256; ++code) {
    APFloat value(narrow, llvm::APInt(8, code));
    bool losesInfo = false;
    value.convert(wide, APFloat::rmNearestTiesToEven, &losesInfo);
    compared += rounding.check(value);
    if (value.isFinite() && !value.isNegative())
      codes.push_back(value.convertToDouble());
  }
  // One step beyond the largest number, where overflow begins.
  codes.push_back(2 * codes.back() - codes[codes.size() - 2]);
  codes.push_back(1e30);
  for (size_t i = 0; i + 1 < codes.size(); ++i)
    for (double sign : {1.0, -1.0}) {
      APFloat middle(sign * (codes[i] + codes[i + 1]) / 2);
      bool losesInfo = false;
      middle.convert(wide, APFloat::rmNearestTiesToEven, &losesInfo);
      compared += rounding.check(middle);
      for (bool down : {false, true}) {
        APFloat beside = middle;
        beside.next(down);
        compared += rounding.check(beside);
      }
    }
  compared += rounding.check(APFloat::getSmallest(wide));
  compared += rounding.check(APFloat::getLargest(wide));
  EXPECT_GT(compared, 256 + 6 * 120);
}

INSTANTIATE_TEST_SUITE_P(Formats, Float8, testing::Combine(testing::Bool(), testing::Bool()));

} // namespace
