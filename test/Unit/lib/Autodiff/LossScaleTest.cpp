// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loss scaling in @train_step, and mpc.loss_scale_update against the traces recorded from Keras.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpc/Conversion/Passes.h"
#include "runtime/rules/loss_scale.h"
#include "test/Unit/Fixtures.h"
#include "test/Unit/lib/Autodiff/TrainingLoop.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cfloat>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

namespace {

std::string scaled(double initial, int growth, const std::string &more = "") {
  return "mpc.optimizer \"o\" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) "
         "{learning_rate = 0.5 : f64" +
         more + "}\nmpc.loss_scale initial(" + std::to_string(initial) + ")" +
         (growth ? " {growth_steps = " + std::to_string(growth) + " : i64}" : "");
}

const std::string kScale = "optimizer/loss_scale_optimizer/dynamic_scale";
const std::string kCounter = "optimizer/loss_scale_optimizer/step_counter";

TEST(LossScale, AFiniteStepEqualsTheUnscaledOne) {
  TrainingLoop loop(scaled(32768, 2000), {1, 2, 3, 4});
  ASSERT_TRUE(loop.valid() && loop.step({1, 6, 7, 2}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{0.5, -1, -0.5, 3}));
  EXPECT_EQ(loop.output("finite"), 1);
  EXPECT_EQ(loop.variable(kCounter)[0], 1);
  EXPECT_EQ(loop.output("loss"), 1 + 12 + 21 + 8); // unscaled
}

TEST(LossScale, ANonFiniteStepChangesNothingButTheScale) {
  TrainingLoop loop(scaled(32768, 2000, ", ema_momentum = 0.9 : f64, weight_decay = 0.1 : f64"),
                    {1, 2});
  ASSERT_TRUE(loop.valid());
  for (double bad : {double(INFINITY), double(-INFINITY), double(NAN),
                     3e38}) { // the last one overflows when scaled
    ASSERT_TRUE(loop.step({1, bad}));
    EXPECT_EQ(loop.output("finite"), 0);
    EXPECT_EQ(loop.variable("w"), (std::vector<double>{1, 2}));
    EXPECT_EQ(loop.variable("optimizer/o/w_average"), (std::vector<double>{0, 0}));
    EXPECT_EQ(loop.variable("optimizer/o/iteration")[0], 0);
  }
  EXPECT_EQ(loop.variable(kScale)[0], 2048);
}

TEST(LossScale, GrowsAndShrinks) {
  TrainingLoop up(scaled(2, 2), {1}), down(scaled(400, 2000), {1});
  ASSERT_TRUE(up.valid() && down.valid());
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(up.step({1}));
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(down.step({INFINITY}));
  EXPECT_EQ(up.variable(kScale)[0], 32);
  EXPECT_EQ(down.variable(kScale)[0], 25);
}

TEST(LossScale, ClippingSeesUnscaledGradients) {
  TrainingLoop loop(scaled(32768, 2000, ", clipvalue = 4.0 : f64"), {0, 0});
  ASSERT_TRUE(loop.valid() && loop.step({2, 100}));
  EXPECT_EQ(loop.variable("w"), (std::vector<double>{-1, -2}));
}

TEST(LossScale, AnAccumulatedNonFiniteMicroStepIsDropped) {
  TrainingLoop loop(scaled(8, 2000, ", accumulation_steps = 2 : i64"), {0});
  ASSERT_TRUE(loop.valid() && loop.step({2}) && loop.step({NAN}));
  EXPECT_EQ(loop.variable("optimizer/o/w_gradient_accumulator")[0], 2);
  ASSERT_TRUE(loop.step({4}));
  EXPECT_EQ(loop.variable("w")[0], -0.5 * 3);
}

TEST(LossScale, AFixedScaleIsNotTested) {
  TrainingLoop loop(scaled(1024, 0), {0});
  ASSERT_TRUE(loop.valid() && loop.step({3}));
  EXPECT_EQ(loop.variable("w")[0], -1.5);
  ASSERT_TRUE(loop.step({INFINITY}));
  EXPECT_EQ(loop.variable("w")[0], -INFINITY);
  EXPECT_EQ(loop.optimizerVariables().size(), 2u);
}

double gradientValue(const llvm::json::Value &json) {
  if (auto number = json.getAsNumber())
    return *number;
  llvm::StringRef text = json.getAsString().value_or("nan");
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}

float fromBits(llvm::StringRef hex) {
  uint32_t bits = 0;
  EXPECT_FALSE(hex.drop_front(2).getAsInteger(16, bits));
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Every sequence that Keras ran, replayed through the op.
TEST(LossScale, TracesEqualKeras) {
  auto file = llvm::MemoryBuffer::getFile(fixturePath("policies/loss_scale.json"));
  ASSERT_TRUE(bool(file)) << fixturePath("policies/loss_scale.json");
  auto json = llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(json));
  MLIRContext context;
  context.loadDialect<MpcDialect, func::FuncDialect>();
  auto f32 = RankedTensorType::get({}, Float32Type::get(&context));
  auto i64 = RankedTensorType::get({}, IntegerType::get(&context, 64));
  auto i1 = RankedTensorType::get({}, IntegerType::get(&context, 1));
  size_t rows = 0;
  for (const llvm::json::Value &element : *json->getAsObject()->getArray("sequences")) {
    const llvm::json::Object &sequence = *element.getAsObject();
    SCOPED_TRACE(sequence.getString("id")->str());
    std::string growth = std::to_string(*sequence.getInteger("dynamic_growth_steps"));
    auto module = parseSourceString<ModuleOp>(
        "func.func @update(%s: tensor<f32>, %c: tensor<i64>, %f: tensor<i1>) -> (tensor<f32>, "
        "tensor<i64>) {\n"
        "  %s1, %c1 = mpc.loss_scale_update %s, %c if %f {growth_steps = " +
            growth +
            " : i64}\n"
            "  return %s1, %c1 : tensor<f32>, tensor<i64>\n}",
        &context);
    ASSERT_TRUE(bool(module));
    auto update = module->lookupSymbol<func::FuncOp>("update");
    const llvm::json::Object &start = *sequence.getObject("initial_state");
    ReferenceTensor scale = referenceTensor(f32, {fromBits(*start.getString("dynamic_scale"))});
    ReferenceTensor counter = referenceTensor(i64, {double(*start.getInteger("step_counter"))});
    const llvm::json::Array &trace = *sequence.getArray("trace");
    size_t next = 0;
    int64_t step = 0;
    for (const llvm::json::Value &run : *sequence.getArray("gradients"))
      for (int64_t i = 0, count = *(*run.getAsArray())[1].getAsInteger(); i < count; ++i) {
        bool finite = std::isfinite(gradientValue((*run.getAsArray())[0]));
        llvm::SmallVector<ReferenceTensor> results;
        ASSERT_TRUE(succeeded(
            interpret(update, {scale, counter, referenceTensor(i1, {double(finite)})}, results)));
        scale = results[0];
        counter = results[1];
        ++step;
        if (next >= trace.size() || *(*trace[next].getAsArray())[0].getAsInteger() != step)
          continue;
        const llvm::json::Array &row = *trace[next++].getAsArray();
        ASSERT_EQ(float(scale.floats[0]), fromBits(*row[1].getAsString())) << "step " << step;
        ASSERT_EQ(counter.integers[0], *row[3].getAsInteger()) << "step " << step;
        ++rows;
      }
    EXPECT_EQ(next, trace.size());
  }
  EXPECT_GT(rows, 100u);
}

/// Computes the ops of a compiled step on constants, by folding them.
struct FoldedStep {
  explicit FoldedStep(MLIRContext &context) : builder(&context) {}

  Attribute run(Block &body, ArrayRef<Attribute> inputs, SmallVectorImpl<Attribute> &results) {
    llvm::DenseMap<Value, Attribute> values;
    for (auto [argument, value] : llvm::zip(body.getArguments(), inputs))
      values[argument] = value;
    for (Operation &op : body.without_terminator()) {
      SmallVector<Attribute> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      SmallVector<OpFoldResult> folded;
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        folded.push_back(constant.getValue());
      else if (failed(op.fold(operands, folded)) || folded.size() != 1)
        return builder.getStringAttr(op.getName().getStringRef());
      if (auto attribute = dyn_cast<Attribute>(folded[0]))
        values[op.getResult(0)] = attribute;
      else
        values[op.getResult(0)] = values.lookup(cast<Value>(folded[0]));
    }
    for (Value yielded : body.getTerminator()->getOperands())
      results.push_back(values.lookup(yielded));
    return {};
  }

  Builder builder;
};

/// The runtime's state machine, the op's reference value and the code of a compiled step: the same
/// bits for any state and any rule.
TEST(LossScale, ReferenceCompiledStepAndRuntimeAgree) {
  MLIRContext context;
  context.loadDialect<MpcDialect, func::FuncDialect, arith::ArithDialect, linalg::LinalgDialect,
                      math::MathDialect, tensor::TensorDialect>();
  Builder b(&context);
  auto f32 = RankedTensorType::get({}, b.getF32Type());
  auto i64 = RankedTensorType::get({}, b.getI64Type());
  auto i1 = RankedTensorType::get({}, b.getI1Type());
  std::mt19937 random(20261128);
  const float scales[] = {1,           1024,   32768,     8192,      3e38f,      FLT_MIN,
                          FLT_MIN * 3, 1e-40f, 0.0f,      -4.0f,     INFINITY,   NAN,
                          FLT_MAX,     512,    0x1p-126f, 0x1p-125f, 0x1.8p-126f};
  const int64_t growths[] = {1, 2, 3, 2000, 0, INT64_MIN, INT64_MAX};
  const std::pair<float, float> bounds[] = {
      {0, INFINITY}, {512, 2048}, {1, 1}, {0, 65536}, {1024, INFINITY}};
  auto pick = [&](auto &list) { return list[random() % std::size(list)]; };
  constexpr int kRules = 100, kStates = 100;
  for (int r = 0; r < kRules; ++r) {
    rules::LossScaleRule rule;
    rule.growthSteps = pick(growths);
    std::tie(rule.minimum, rule.maximum) = pick(bounds);
    std::string attributes = "{growth_steps = " + std::to_string(rule.growthSteps) + " : i64";
    if (rule.minimum > 0)
      attributes += ", minimum = " + std::to_string(rule.minimum) + " : f64";
    if (std::isfinite(rule.maximum))
      attributes += ", maximum = " + std::to_string(rule.maximum) + " : f64";
    const std::string text =
        "func.func @update(%s: tensor<f32>, %c: tensor<i64>, %f: tensor<i1>) -> (tensor<f32>, "
        "tensor<i64>) attributes {mpc.entry} {\n"
        "  %s1, %c1 = mpc.loss_scale_update %s, %c if %f " +
        attributes + "}\n  return %s1, %c1 : tensor<f32>, tensor<i64>\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    auto lowered = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module && lowered);
    PassManager passes(&context);
    passes.addPass(createConvertMpcToLinalg());
    ASSERT_TRUE(succeeded(passes.run(*lowered)));
    linalg::GenericOp step;
    lowered->walk([&](linalg::GenericOp op) { step = op; });
    ASSERT_TRUE(bool(step));
    auto update = module->lookupSymbol<func::FuncOp>("update");
    for (int s = 0; s < kStates; ++s) {
      float scale = pick(scales);
      int64_t counter = random() % 2 ? int64_t(random() % 4) : rule.growthSteps - (random() % 3);
      bool finite = random() % 3 != 0;
      rules::HostArithmetic numbers;
      auto want = rules::advanceLossScale(numbers, scale, counter, finite, rule);

      llvm::SmallVector<ReferenceTensor> results;
      ReferenceTensor count = referenceTensor(i64, {0});
      count.integers[0] = counter;
      ASSERT_TRUE(succeeded(interpret(
          update,
          {referenceTensor(f32, {double(scale)}), count, referenceTensor(i1, {double(finite)})},
          results)));
      SmallVector<Attribute> folded;
      Attribute unfolded = FoldedStep(context).run(
          *step.getBody(),
          {b.getF32FloatAttr(scale), b.getI64IntegerAttr(counter), b.getBoolAttr(finite)}, folded);
      ASSERT_FALSE(unfolded) << "not folded";
      ASSERT_EQ(folded.size(), 2u);
      SCOPED_TRACE(attributes + " scale " + std::to_string(scale) + " counter " +
                   std::to_string(counter) + (finite ? " finite" : " not finite"));
      auto bits = [](float value) {
        return std::isnan(value) ? 0x7fc00000u : llvm::bit_cast<uint32_t>(value);
      };
      EXPECT_EQ(bits(float(results[0].floats[0])), bits(want.scale));
      EXPECT_EQ(results[1].integers[0], want.counter);
      EXPECT_EQ(bits(float(cast<FloatAttr>(folded[0]).getValueAsDouble())), bits(want.scale));
      EXPECT_EQ(cast<IntegerAttr>(folded[1]).getInt(), want.counter);
    }
  }
}

} // namespace
