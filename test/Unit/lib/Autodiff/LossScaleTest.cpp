// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loss scaling in @train_step, and mpc.loss_scale_update against the traces recorded from Keras.
#include "Shared.h"
#include "lib/Autodiff/TrainingLoop.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <gtest/gtest.h>

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
  auto file = llvm::MemoryBuffer::getFile(sharedPath("fixtures/policies/loss_scale.json"));
  ASSERT_TRUE(bool(file)) << sharedPath("fixtures/policies/loss_scale.json");
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

} // namespace
