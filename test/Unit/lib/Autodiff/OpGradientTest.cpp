// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of every differentiable op against central differences in double.
#include "test/Unit/lib/Autodiff/OpGradientCases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mpc/Autodiff/ReverseMode.h"
#include "mpc/Interpreter/Interpreter.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

template <typename Op> Case unary(std::string name, Domain domain = Domain::AwayFromZero) {
  return {std::move(name),
          {"BMN"},
          [](OpBuilder &b, Location l, ValueRange v) -> Value { return Op::create(b, l, v[0]); },
          domain};
}

template <typename Op>
Case binary(std::string name, std::string lhs, std::string rhs,
            Domain domain = Domain::AwayFromZero) {
  return {
      std::move(name),
      {std::move(lhs), std::move(rhs)},
      [](OpBuilder &b, Location l, ValueRange v) -> Value { return Op::create(b, l, v[0], v[1]); },
      domain};
}

Case contract(std::string name, std::string lhs, std::string rhs, Dims lhsBatch, Dims rhsBatch,
              Dims lhsSum, Dims rhsSum) {
  return {std::move(name),
          {std::move(lhs), std::move(rhs)},
          [=](OpBuilder &b, Location l, ValueRange v) -> Value {
            return ContractOp::create(b, l, v[0], v[1], lhsBatch, rhsBatch, lhsSum, rhsSum);
          }};
}

Case reduce(std::string name, std::string shape, ReduceKind kind, Dims axes, bool keep = false) {
  return {
      std::move(name), {std::move(shape)}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
        return ReduceOp::create(b, l, kind, v[0], axes, keep);
      }};
}

Case attention(std::string name) {
  auto build = [](OpBuilder &b, Location l, ValueRange v) -> Value {
    auto scale = b.getF64FloatAttr(0.5);
    return AttentionOp::create(b, l, v[0], v[1], v[2], /*mask=*/Value(),
                               /*state=*/Value(), scale, b.getUnitAttr(), FloatAttr(), FloatAttr(),
                               IntegerAttr())
        .getResult();
  };
  return {std::move(name), {"B42K", "B22K", "B223"}, build};
}

/// The second target has no source that counts.
Case maskedAttention(std::string name, std::optional<double> hiddenScore = {}) {
  auto build = [hiddenScore](OpBuilder &b, Location l, ValueRange v) -> Value {
    auto score = hiddenScore ? b.getF64FloatAttr(*hiddenScore) : FloatAttr();
    auto type = RankedTensorType::get({1, 1, 4, 3}, b.getI1Type());
    const bool counts[] = {true, false, true, false, false, false,
                           true, true,  true, false, true,  false};
    Value mask = ConstantOp::create(b, l, DenseElementsAttr::get(type, ArrayRef(counts)));
    return AttentionOp::create(b, l, v[0], v[1], v[2], mask, /*state=*/Value(),
                               b.getF64FloatAttr(0.5), UnitAttr(), score, FloatAttr(),
                               IntegerAttr())
        .getResult();
  };
  return {std::move(name), {"B42K", "B32K", "B323"}, build};
}

Value state(OpBuilder &b, Location l) {
  return ConstantOp::create(b, l,
                            DenseElementsAttr::get(RankedTensorType::get({2}, b.getI64Type()),
                                                   ArrayRef<int64_t>{0x123456789abcdef, 7}));
}

Case droppedAttention(std::string name, bool causal) {
  auto build = [causal](OpBuilder &b, Location l, ValueRange v) -> Value {
    return AttentionOp::create(b, l, v[0], v[1], v[2], /*mask=*/Value(), state(b, l),
                               b.getF64FloatAttr(0.5), causal ? b.getUnitAttr() : UnitAttr(),
                               FloatAttr(), b.getF64FloatAttr(0.3), b.getI64IntegerAttr(2))
        .getResult();
  };
  return {std::move(name), {"B42K", "B32K", "B323"}, build};
}

Value dense(OpBuilder &b, Location l, Value x, Value w, Value bias) {
  Value y = ContractOp::create(b, l, x, w, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0});
  return AddOp::create(b, l, y, bias);
}

/// A recurrence of 3 steps over h0 (BN), x (B3N), u (N of 2N), bias (2N): two gates, one of which
/// reads the last state, and a stacked output beside the final state.
Value recurrence(OpBuilder &b, Location l, ValueRange v, bool reverse) {
  const int64_t n = tensorTypeOf(v[0]).getDimSize(1);
  auto block = std::make_unique<Block>();
  Value h = block->addArgument(v[0].getType(), l);
  Value x = block->addArgument(ScanOp::sliceType(tensorTypeOf(v[1])), l);
  Value u = block->addArgument(v[2].getType(), l), bias = block->addArgument(v[3].getType(), l);
  OpBuilder in(b.getContext());
  in.setInsertionPointToEnd(block.get());
  Value z = ContractOp::create(in, l, h, u, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0});
  z = AddOp::create(in, l, z, bias);
  Value first = SliceOp::create(in, l, z, 1, 0, n), second = SliceOp::create(in, l, z, 1, n, n);
  Value gate = SigmoidOp::create(in, l, AddOp::create(in, l, first, x));
  Value fresh = TanhOp::create(in, l, second);
  Value kept = MultiplyOp::create(in, l, gate, h);
  // The capture once more, where no contraction or bias reads it.
  Value scale = SliceOp::create(in, l, bias, 0, 0, n);
  Value next = AddOp::create(in, l, kept, MultiplyOp::create(in, l, fresh, scale));
  Value positive =
      CompareOp::create(in, l, ComparePredicate::GT, x, scalarConstant(in, l, in.getF64Type(), 0));
  next = SelectOp::create(in, l, positive, next, h); // a mask
  Value output = MultiplyOp::create(in, l, next, x);
  YieldOp::create(in, l, ValueRange{next, output});
  auto scan = ScanOp::create(b, l, TypeRange{v[0].getType(), v[1].getType()}, v[0], v[1],
                             ValueRange{v[2], v[3]}, 3, reverse);
  scan.getBody().push_back(block.release());
  Value last = ReshapeOp::create(
      b, l, RankedTensorType::get({ShapedType::kDynamic, 1, n}, b.getF64Type()), scan.getResult(0));
  return AddOp::create(b, l, scan.getResult(1), last);
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      unary<NegateOp>("negate"),
      unary<AbsOp>("abs"),
      unary<SignOp>("sign"),
      unary<FloorOp>("floor"),
      unary<ExpOp>("exp"),
      unary<Expm1Op>("expm1"),
      unary<LogOp>("log", Domain::Positive),
      unary<Log1pOp>("log1p", Domain::Positive),
      unary<SqrtOp>("sqrt", Domain::Positive),
      unary<RsqrtOp>("rsqrt", Domain::Positive),
      unary<CosOp>("cos"),
      unary<SinOp>("sin"),
      unary<TanhOp>("tanh"),
      unary<SigmoidOp>("sigmoid"),
      unary<SoftplusOp>("softplus"),
      unary<ErfOp>("erf"),
      unary<ErfcOp>("erfc"),
      unary<ReluOp>("relu"),
      unary<GeluOp>("gelu"),
      binary<GeluGradientOp>("gelu_gradient", "BMN", "BMN"),
      binary<AddOp>("add", "BMN", "N"),
      binary<AddOp>("add_scalar", "", "BMN"),
      binary<SubtractOp>("subtract", "M1", "BMN"),
      binary<MultiplyOp>("multiply", "BMN", "B1N"),
      binary<DivideOp>("divide", "BMN", "MN"),
      binary<DivideNoNanOp>("divide_no_nan", "BM1", "N"),
      binary<MaximumOp>("maximum", "BMN", "N"),
      binary<MinimumOp>("minimum", "M1", "BMN"),
      binary<PowerOp>("power", "BMN", "N", Domain::Positive),
      binary<RemainderOp>("remainder", "BMN", "N", Domain::Positive),
      binary<Arctan2Op>("arctan2", "BMN", "N"),
      contract("contract_dense", "BK", "KN", {}, {}, {1}, {0}),
      contract("contract_transposed", "KM", "NK", {}, {}, {0}, {1}),
      contract("contract_dense_3d", "BMK", "KN", {}, {}, {2}, {0}),
      contract("contract_batch", "BMK", "BKN", {0}, {0}, {2}, {1}),
      contract("contract_scores", "BM2K", "BN2K", {0, 2}, {0, 2}, {3}, {3}),
      attention("attention"),
      maskedAttention("masked_attention"),
      maskedAttention("attention_with_hidden_score", /*hiddenScore=*/0.25),
      droppedAttention("dropped_attention", /*causal=*/false),
      droppedAttention("dropped_causal_attention", /*causal=*/true),
      contract("contract_late_batch", "MKN", "K3N", {2}, {2}, {1}, {0}),
      contract("contract_two", "BMKN", "NKM", {}, {}, {3, 1}, {0, 2}),
      contract("contract_outer", "M", "KN", {}, {}, {}, {}),
      contract("contract_all", "MK", "KM", {}, {}, {0, 1}, {1, 0}),
      reduce("sum", "BMN", ReduceKind::Sum, {0, 2}),
      reduce("sum_keep", "BMN", ReduceKind::Sum, {1}, true),
      reduce("mean_batch", "BMN", ReduceKind::Mean, {0, 1}),
      reduce("mean_all", "BMN", ReduceKind::Mean, {0, 1, 2}),
      reduce("mean_static", "BMN", ReduceKind::Mean, {2}),
      reduce("mean_line", "B", ReduceKind::Mean, {0}),
      reduce("max", "BMN", ReduceKind::Max, {1}),
      reduce("max_batch", "BMN", ReduceKind::Max, {0, 2}),
      reduce("min_keep", "BMN", ReduceKind::Min, {2}, true),
  };
  auto add = [&](std::string name, std::vector<std::string> shapes,
                 std::function<Value(OpBuilder &, Location, ValueRange)> build) {
    all.push_back({std::move(name), std::move(shapes), std::move(build)});
  };
  add("softmax", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return SoftmaxOp::create(b, l, v[0], 2);
  });
  add("softmax_middle", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return SoftmaxOp::create(b, l, v[0], 1);
  });
  add("log_softmax", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return LogSoftmaxOp::create(b, l, v[0], 2);
  });
  add("softmax_cross_entropy", {"BMN", "BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value target =
        SoftmaxOp::create(b, l, v[1], 2); // sums to 1; the op gives targets no derivative
    Value blocked = CastOp::create(b, l, tensorTypeOf(target).clone(b.getI32Type()), target);
    blocked = CastOp::create(b, l, target.getType(), blocked); // zeros: a constant to derivatives
    Value first = OneHotOp::create(
        b, l, tensorTypeOf(target),
        ArgMaxOp::create(
            b, l,
            RankedTensorType::get(tensorTypeOf(target).getShape().drop_back(), b.getI32Type()),
            v[1], 2));
    return SoftmaxCrossEntropyOp::create(b, l, v[0], AddOp::create(b, l, first, blocked));
  });
  add("select", {"BMN", "N", "M1"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value zero = scalarConstant(b, l, b.getF64Type(), 0);
    return SelectOp::create(b, l, CompareOp::create(b, l, ComparePredicate::GT, v[0], zero), v[1],
                            v[2]);
  });
  add("cast", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return CastOp::create(b, l, v[0].getType(), CastOp::create(b, l, v[0].getType(), v[0]));
  });
  add("broadcast_like", {"M1", "BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return BroadcastLikeOp::create(b, l, v[0], v[1]);
  });
  add("reshape", {"B23"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return ReshapeOp::create(b, l, RankedTensorType::get({ShapedType::kDynamic, 6}, b.getF64Type()),
                             v[0]);
  });
  add("transpose", {"BMNK"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return TransposeOp::create(b, l, v[0], ArrayRef<int64_t>{0, 3, 1, 2});
  });
  add("concatenate", {"BMN", "B2N", "BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return ConcatenateOp::create(b, l, v, 1);
  });
  add("slice", {"B7N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return SliceOp::create(b, l, v[0], 1, 2, 3);
  });
  add("pad", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return PadOp::create(b, l, v[0], 2, 1, 2, llvm::APFloat(3.0));
  });
  add("dropout", {"B9N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return DropoutOp::create(b, l, v[0].getType(), v[0], state(b, l), b.getF64FloatAttr(0.3),
                             b.getI64IntegerAttr(3), DenseI64ArrayAttr());
  });
  add("dropout_noise_shape", {"B9N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return DropoutOp::create(b, l, v[0].getType(), v[0], state(b, l), b.getF64FloatAttr(0.5),
                             b.getI64IntegerAttr(0),
                             b.getDenseI64ArrayAttr({-1, 1, tensorTypeOf(v[0]).getDimSize(2)}));
  });
  auto places = [](OpBuilder &b, Location l, ArrayRef<int64_t> shape, ArrayRef<int32_t> values) {
    return ConstantOp::create(
        b, l, DenseElementsAttr::get(RankedTensorType::get(shape, b.getI32Type()), values));
  };
  add("gather_rows", {"4N"}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
    return GatherOp::create(b, l, v[0], places(b, l, {2, 3}, {0, 3, 3, -1, 1, 0}), 0, 0);
  });
  add("gather_middle", {"B5N"}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
    return GatherOp::create(b, l, v[0], places(b, l, {4}, {4, 0, 4, 2}), 1, 0);
  });
  add("gather_shared", {"253"}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
    return GatherOp::create(b, l, v[0], places(b, l, {2, 3}, {4, 0, 4, 2, -5, 1}), 1, 1);
  });
  add("scatter_add", {"23N", "4N"}, [=](OpBuilder &b, Location l, ValueRange v) -> Value {
    return ScatterAddOp::create(b, l, places(b, l, {2, 3}, {0, 3, 3, -1, 1, 0}), v[0], v[1], 0, 0);
  });
  add("moments_batch", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    auto both = MomentsOp::create(b, l, v[0], ArrayRef<int64_t>{0, 1}, false);
    return AddOp::create(b, l, both.getMean(), both.getVariance());
  });
  add("moments_row", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    auto both = MomentsOp::create(b, l, v[0], ArrayRef<int64_t>{2}, true);
    return MultiplyOp::create(b, l, SubtractOp::create(b, l, v[0], both.getMean()),
                              both.getVariance());
  });
  add("moments_mean_only", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return MomentsOp::create(b, l, v[0], ArrayRef<int64_t>{1}, false).getMean();
  });
  add("normal_noise", {"B9N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value noise = NormalNoiseOp::create(b, l, v[0], state(b, l), b.getF64FloatAttr(1.0),
                                        b.getF64FloatAttr(0.5), b.getI64IntegerAttr(3));
    return MultiplyOp::create(b, l, v[0], noise);
  });
  add("uniform_noise", {"B9N"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value noise = UniformNoiseOp::create(b, l, v[0], state(b, l), b.getF64FloatAttr(-1.0),
                                         b.getF64FloatAttr(0.5), b.getI64IntegerAttr(3));
    return MultiplyOp::create(b, l, v[0], noise);
  });
  add("in_training", {"BMN", "BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    return InTrainingOp::create(b, l, v[0], v[1]);
  });
  add("several_uses", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value square = MultiplyOp::create(b, l, v[0], v[0]);
    return AddOp::create(b, l, MultiplyOp::create(b, l, square, TanhOp::create(b, l, v[0])), v[0]);
  });
  for (bool reverse : {false, true})
    all.push_back({reverse ? "scan_reverse" : "scan",
                   {"B2", "B32", "24", "4"},
                   [reverse](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return recurrence(b, l, v, reverse);
                   }});
  add("reverse", {"BMN"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value r = ReverseOp::create(b, l, v[0], 2);
    return MultiplyOp::create(b, l, r, TanhOp::create(b, l, v[0]));
  });
  add("mlp", {"BK", "KM", "M", "M3", "3"}, [](OpBuilder &b, Location l, ValueRange v) -> Value {
    Value hidden = TanhOp::create(b, l, dense(b, l, v[0], v[1], v[2]));
    Value mean = ReduceOp::create(b, l, ReduceKind::Mean, hidden, ArrayRef<int64_t>{0}, true);
    hidden = SubtractOp::create(b, l, hidden, mean);
    return LogSoftmaxOp::create(b, l, dense(b, l, hidden, v[3], v[4]), 1);
  });
  llvm::append_range(all, windowCases());
  return all;
}

class OpGradient : public testing::TestWithParam<Case> {
protected:
  OpGradient() {
    context.loadDialect<MpcDialect, func::FuncDialect>();
    context.allowUnregisteredDialects(false);
  }
  MLIRContext context;
};

/// f(operands) = sum(weights * op(operands)), then its gradients.
TEST_P(OpGradient, EqualsCentralDifferences) {
  const Case &c = GetParam();
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::map<char, int64_t> extents;
    for (char letter : std::string("BMNK"))
      extents[letter] = 2 + random() % 3;
    OpBuilder b(&context);
    Location l = b.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(l);
    SmallVector<Type> types;
    std::vector<ReferenceTensor> operands;
    std::uniform_real_distribution<double> magnitude(0.1, 2.0);
    for (const std::string &shape : c.shapes) {
      SmallVector<int64_t> declared, actual;
      for (char letter : shape) {
        actual.push_back(extents.count(letter) ? extents[letter] : letter - '0');
        declared.push_back(letter == 'B' ? ShapedType::kDynamic : actual.back());
      }
      types.push_back(RankedTensorType::get(declared, b.getF64Type()));
      ReferenceTensor tensor;
      startReference(tensor, b.getF64Type(), actual);
      for (double &x : tensor.floats)
        x = (c.domain == Domain::Positive || random() % 2 ? 1 : -1) * magnitude(random);
      operands.push_back(tensor);
    }
    auto function = func::FuncOp::create(l, "f", b.getFunctionType(types, {}));
    module->push_back(function);
    b.setInsertionPointToEnd(function.addEntryBlock());
    ValueRange arguments = function.getArguments();
    Value y = c.build(b, l, arguments);
    // y^2 + y: a cotangent that differs from element to element.
    Value varying = AddOp::create(b, l, MultiplyOp::create(b, l, y, y), y);
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(y).getRank()));
    Value total = axes.empty()
                      ? varying
                      : Value(ReduceOp::create(b, l, ReduceKind::Sum, varying, axes, false));
    Value one = scalarConstant(b, l, b.getF64Type(), 1);
    SmallVector<Value> gradients, independents(arguments.begin(), arguments.end());
    ASSERT_TRUE(succeeded(buildGradients(b, total, one, independents, gradients)));
    SmallVector<Value> results{total};
    for (auto [gradient, argument] : llvm::zip_equal(gradients, arguments))
      results.push_back(gradient ? gradient
                                 : Value(BroadcastLikeOp::create(
                                       b, l, scalarConstant(b, l, b.getF64Type(), 0), argument)));
    func::ReturnOp::create(b, l, results);
    function.setFunctionType(b.getFunctionType(types, ValueRange(results).getTypes()));
    ASSERT_TRUE(succeeded(verify(*module)));

    SmallVector<ReferenceTensor> values;
    ASSERT_TRUE(succeeded(interpret(function, operands, values)));
    for (size_t i = 0; i < operands.size(); ++i) {
      ASSERT_EQ(values[i + 1].shape, operands[i].shape);
      for (int64_t k = 0; k < operands[i].size(); ++k) {
        const double step = 1e-5, x = operands[i].floats[k];
        double sides[2];
        for (int side : {0, 1}) {
          operands[i].floats[k] = side ? x + step : x - step;
          SmallVector<ReferenceTensor> moved;
          ASSERT_TRUE(succeeded(interpret(function, operands, moved)));
          sides[side] = moved[0].floats[0];
        }
        operands[i].floats[k] = x;
        double expected = (sides[1] - sides[0]) / (2 * step), got = values[i + 1].floats[k];
        // The difference quotient itself has an error of about 1e-16 * |f| / step.
        EXPECT_NEAR(got, expected,
                    1e-6 * std::fabs(expected) + 1e-9 * (1 + std::fabs(values[0].floats[0])))
            << "operand " << i << ", element " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OpGradient, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

/// Nothing flows through it, whatever the value does.
TEST(StopGradient, HasNone) {
  MLIRContext context;
  context.loadDialect<MpcDialect, func::FuncDialect>();
  OpBuilder b(&context);
  Location l = b.getUnknownLoc();
  auto type = RankedTensorType::get({}, b.getF32Type());
  OwningOpRef<ModuleOp> module = ModuleOp::create(l);
  auto function = func::FuncOp::create(l, "f", b.getFunctionType(type, type));
  module->push_back(function);
  b.setInsertionPointToEnd(function.addEntryBlock());
  Value x = function.getArgument(0);
  Value y = MultiplyOp::create(b, l, x, StopGradientOp::create(b, l, x));
  SmallVector<Value> gradients;
  ASSERT_TRUE(
      succeeded(buildGradients(b, y, scalarConstant(b, l, b.getF32Type(), 1), {x}, gradients)));
  func::ReturnOp::create(b, l, gradients);
  SmallVector<ReferenceTensor> results;
  ASSERT_TRUE(succeeded(interpret(function, {referenceTensor(type, {3})}, results)));
  EXPECT_EQ(results[0].floats[0], 3.0);
}

/// Ties share the cotangent equally.
TEST(ReduceGradient, TiesShareEqually) {
  MLIRContext context;
  context.loadDialect<MpcDialect, func::FuncDialect>();
  OpBuilder b(&context);
  Location l = b.getUnknownLoc();
  auto type = RankedTensorType::get({4}, b.getF32Type());
  OwningOpRef<ModuleOp> module = ModuleOp::create(l);
  auto function = func::FuncOp::create(l, "f", b.getFunctionType(type, type));
  module->push_back(function);
  b.setInsertionPointToEnd(function.addEntryBlock());
  Value x = function.getArgument(0);
  Value top = ReduceOp::create(b, l, ReduceKind::Max, x, ArrayRef<int64_t>{0}, false);
  SmallVector<Value> gradients;
  ASSERT_TRUE(
      succeeded(buildGradients(b, top, scalarConstant(b, l, b.getF32Type(), 1), {x}, gradients)));
  func::ReturnOp::create(b, l, gradients);
  SmallVector<ReferenceTensor> results;
  ASSERT_TRUE(succeeded(interpret(function, {referenceTensor(type, {3, 1, 3, 2})}, results)));
  EXPECT_EQ(std::vector<double>(results[0].floats.begin(), results[0].floats.end()),
            (std::vector<double>{0.5, 0, 0.5, 0}));
}

} // namespace
