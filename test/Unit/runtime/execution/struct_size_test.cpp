// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries whose structs have less or more than this runtime's, and what no runtime takes.
#include "test/Unit/runtime/execution/fake_model.h"

#include <string>

namespace {

// Loads the library of a variant of fake_model.c and predicts with it.
struct Prediction {
  explicit Prediction(const char *variant) {
    const std::string path = std::string(VARIANTS_FOLDER) + "/" + variant + ".mpc";
    mpc_rt_model_t *model = nullptr;
    EXPECT_EQ(mpc_rt_model_load(path.c_str(), &model), MPC_RT_OK) << mpc_rt_last_error();
    mpc_rt_context_options_t options;
    mpc_rt_context_options_init(&options);
    options.threads = 1;
    mpc_rt_context_t *context = nullptr;
    EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_OK) << mpc_rt_last_error();
    const float input[] = {1, 2, 3};
    const void *const inputs[] = {input};
    void *const outputs[] = {out};
    status = mpc_rt_context_run(context, fake::predict, inputs, outputs, 1);
    message = status ? mpc_rt_last_error() : "";
    mpc_rt_context_release(context);
    mpc_rt_model_release(model);
  }
  float out[2] = {-1, -1};
  mpc_rt_status_t status;
  std::string message;
};

TEST(StructSize, OfSmallerAndLargerStructsTheNumbersAreTheSame) {
  const Prediction own("fake"), smaller("smaller"), larger("larger");
  for (const Prediction *each : {&own, &smaller, &larger}) {
    EXPECT_EQ(each->status, MPC_RT_OK) << each->message;
    EXPECT_EQ(each->out[0], own.out[0]);
    EXPECT_EQ(each->out[1], own.out[1]);
  }
  EXPECT_TRUE(own.out[0] != -1 && own.out[1] != -1);
}

TEST(StructSize, AFieldThatThisRuntimeDoesNotKnowIsRefused) {
  const Prediction newer("newer");
  EXPECT_EQ(newer.status, MPC_RT_FAILED_PRECONDITION);
  EXPECT_NE(newer.message.find("dense: a call with fields that are newer than this runtime"),
            std::string::npos)
      << newer.message;
}

TEST(StructSize, MoreServicesThanThisRuntimeHasAreRefused) {
  mpc_rt_executable_t copy = *mpc_rt_executable_query(MPC_RT_ABI_VERSION);
  const auto refuses = [&] {
    mpc_rt_model_t *model = nullptr;
    EXPECT_EQ(mpc_rt_model_from_executable(&copy, &model), MPC_RT_FAILED_PRECONDITION);
    EXPECT_NE(std::string(mpc_rt_last_error()).find("update libmpcrt"), std::string::npos)
        << mpc_rt_last_error();
  };
  copy.services_size += 8;
  refuses();
  copy.services_size -= 8;
  copy.call_size += 8;
  refuses();
}

// AArch64 is coming, and other levels.
TEST(StructSize, KernelsOfUnknownInstructionSetsAreLeftAside) {
  mpc_rt_executable_t copy = *mpc_rt_executable_query(MPC_RT_ABI_VERSION);
  mpc_rt_kernel_table_t tables[3] = {
      {0x100, 0, copy.kernel_tables[0].kernels}, copy.kernel_tables[0], copy.kernel_tables[1]};
  copy.kernel_tables = tables;
  copy.kernel_table_count = 3;
  for (uint32_t count : {3u, 1u}) {
    copy.kernel_table_count = count;
    mpc_rt_model_t *model = nullptr;
    ASSERT_EQ(mpc_rt_model_from_executable(&copy, &model), MPC_RT_OK) << mpc_rt_last_error();
    mpc_rt_context_t *context = nullptr;
    const auto status = mpc_rt_context_create(model, nullptr, &context);
    EXPECT_EQ(status, count == 3 ? MPC_RT_OK : MPC_RT_FAILED_PRECONDITION) << mpc_rt_last_error();
    mpc_rt_context_release(context);
    mpc_rt_model_release(model);
  }
  tables[1].kernels = nullptr;
  mpc_rt_model_t *model = nullptr;
  copy.kernel_table_count = 3;
  EXPECT_EQ(mpc_rt_model_from_executable(&copy, &model), MPC_RT_DATA_LOSS);
}

} // namespace
