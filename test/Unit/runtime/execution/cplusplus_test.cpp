// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc/model.hpp over the hand-written model.
#include "mpc/model.hpp"
#include "test/Unit/runtime/execution/fake_model.h"

#include <cstdlib>
#include <unistd.h>

namespace {

class Cplusplus : public ::testing::Test {
protected:
  void SetUp() override {
    auto model = mpc::Model::load(FAKE_MODEL_FOLDER);
    ASSERT_TRUE(model) << model.error().message;
    auto created = model->createContext();
    ASSERT_TRUE(created) << created.error().message;
    // The context keeps its model alive.
    context = std::make_unique<mpc::Context>(std::move(*created));
  }
  std::unique_ptr<mpc::Context> context;
};

TEST_F(Cplusplus, PredictsInTheCallersMemory) {
  ASSERT_TRUE(context->setVariable<float>("dense/kernel", {1, -1, 2, -2, 3, -3}));
  const std::vector<float> x = {1, 1, 1, 0, 0, 1};
  std::vector<float> y(4);
  auto status = context->run("predict", {mpc::view(x, {2, 3})}, {mpc::view(y, {2, 2})});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(y, (std::vector<float>{6.5f, 0, 3.5f, 0}));
}

TEST_F(Cplusplus, SaysWhatIsWrong) {
  std::vector<float> x(4), y(4);
  auto status = context->run("predict", {mpc::view(x, {2, 2})}, {mpc::view(y, {2, 2})});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().status, MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(status.error().message.find("x"), std::string::npos);
  EXPECT_EQ(context->run("fly", {}, {}).error().status, MPC_RT_NOT_FOUND);
  EXPECT_EQ(context->getVariable<float>("dense/wing").error().status, MPC_RT_NOT_FOUND);
  EXPECT_EQ(context->getVariable<double>("dense/bias").error().status, MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(context->metric("speed").error().status, MPC_RT_NOT_FOUND);
  EXPECT_FALSE(context->setLossScale(2)); // the model scales no loss
  EXPECT_EQ(mpc::Model::load("/nowhere.so").error().status, MPC_RT_NOT_FOUND);
  std::vector<int64_t> deep(MPC_RT_MAX_RANK + 1, 1);
  float one = 1;
  EXPECT_FALSE(context->run("predict", {mpc::view(&one, deep)}, {mpc::view(y, {2, 2})}));
}

TEST_F(Cplusplus, KeepsVariablesAndMetrics) {
  auto before = context->getVariable<float>("dense/kernel");
  ASSERT_TRUE(before);
  ASSERT_TRUE(context->run("train_step", {}, {}));
  auto after = context->getVariable<float>("dense/kernel");
  ASSERT_TRUE(after);
  for (size_t i = 0; i < after->size(); ++i)
    EXPECT_EQ((*after)[i], (*before)[i] + 1);
  std::vector<int32_t> ids = {1, 2, 3, 4};
  float loss = 0;
  ASSERT_TRUE(context->run("evaluate", {mpc::view(ids, {1, 4})}, {mpc::scalar(loss)}));
  EXPECT_EQ(loss, 10);
  EXPECT_EQ(*context->metric("loss"), 10);
  ASSERT_TRUE(context->resetMetrics());
  EXPECT_EQ(*context->metric("loss"), 0);
}

TEST_F(Cplusplus, CountsWhatItLoads) {
  char path[] = "/tmp/mpcrt-state-XXXXXX";
  ASSERT_EQ(close(mkstemp(path)), 0);
  ASSERT_TRUE(context->save(path));
  EXPECT_TRUE(context->load(path));
  auto loaded = context->loadWeights(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->optimizer_variables, 3u);
  EXPECT_EQ(loaded->variables, 8u);
  EXPECT_EQ(loaded->optimizer_missing + loaded->optimizer_ignored, 0u);
  ASSERT_EQ(unlink(path), 0);
  EXPECT_EQ(context->loadWeights(path).error().status, MPC_RT_NOT_FOUND);
}

TEST(CplusplusModel, DescribesItself) {
  auto model = mpc::Model::fromExecutable(mpc_rt_executable_query(MPC_RT_ABI_VERSION));
  ASSERT_TRUE(model);
  auto entries = model->entries();
  EXPECT_EQ(entries[0].name, "predict");
  EXPECT_EQ(entries[0].inputs[0].name, "x");
  EXPECT_EQ(entries[0].inputs[0].shape, (std::vector<int64_t>{-1, 3}));
  for (const mpc::VariableInfo &variable : model->variables())
    EXPECT_NE(variable.role, MPC_RT_ROLE_SHADOW);
  auto context = model->createContext({1, "gpu", 0});
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().status, MPC_RT_NOT_FOUND); // no device of that name
}

} // namespace
