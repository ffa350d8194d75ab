// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts: layout of the variables, initial values, access, shadows, devices.
#include "test/Unit/runtime/execution/fake_model.h"

#include "mpc-rt/collectives.h"
#include "runtime/execution/context.h"
#include "runtime/rules/isa_versions.h"

#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

namespace {

uintptr_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

TEST(Context, LaysVariablesOutInFamilies) {
  fake::Context context;
  size_t bytes = 0;
  for (uint32_t i = 0; i <= fake::seen; ++i)
    EXPECT_EQ(address(context.variable<void>(i)) % 64, 0u) << i;
  auto at = [&](uint32_t i) { return address(context.variable<void>(i)); };
  EXPECT_EQ(at(fake::bias), at(fake::kernel) + 64);
  // The slots have the parameters' offsets, although the iteration stands between them in the
  // table.
  EXPECT_EQ(at(fake::biasMomentum) - at(fake::kernelMomentum), at(fake::bias) - at(fake::kernel));
  EXPECT_GT(at(fake::iteration), at(fake::biasMomentum));
  EXPECT_EQ(address(mpc_rt_context_role_block(context.handle, MPC_RT_ROLE_TRAINABLE, &bytes)),
            at(fake::kernel));
  EXPECT_EQ(bytes, 128u);
  EXPECT_EQ(mpc_rt_context_role_block(context.handle, MPC_RT_ROLE_NON_TRAINABLE, &bytes), nullptr);
  EXPECT_EQ(mpc_rt_context_variable(context.handle, 1000, &bytes), nullptr);
}

TEST(Context, InitializesFromTheTable) {
  fake::Context context(2, nullptr, 42);
  auto *kernel = context.variable<float>(fake::kernel);
  bool differs = false;
  for (int i = 0; i < 6; ++i) {
    EXPECT_GE(kernel[i], -1.0f);
    EXPECT_LT(kernel[i], 1.0f);
    differs |= kernel[i] != kernel[0];
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(context.variable<float>(fake::bias)[1], 0.5f);
  EXPECT_EQ(*context.variable<int64_t>(fake::iteration), 7);
  EXPECT_EQ(context.variable<int64_t>(fake::random)[0], 42);
  EXPECT_EQ(context.variable<int64_t>(fake::random)[1], 0);

  fake::Context other(1, nullptr, 42), another(1, nullptr, 43);
  EXPECT_EQ(std::memcmp(kernel, other.variable<float>(fake::kernel), 24), 0);
  EXPECT_NE(std::memcmp(kernel, another.variable<float>(fake::kernel), 24), 0);
  ASSERT_EQ(mpc_rt_context_initialize(another.handle, 42), MPC_RT_OK);
  EXPECT_EQ(std::memcmp(kernel, another.variable<float>(fake::kernel), 24), 0);
}

TEST(Context, KeepsShadowsUpToDate) {
  fake::Context context;
  // 1 + 2^-8 is a tie of bfloat16 and goes to even, 1 + 3 * 2^-8 up.
  float values[6] = {1.00390625f, 1.01171875f, -2.0f, 0.0f, INFINITY, NAN};
  ASSERT_EQ(mpc_rt_context_set_variable(context.handle, fake::kernel, MPC_RT_FLOAT32, values,
                                        sizeof(values)),
            MPC_RT_OK);
  auto *shadow = context.variable<uint16_t>(fake::shadow);
  EXPECT_EQ(shadow[0], 0x3f80);
  EXPECT_EQ(shadow[1], 0x3f82);
  EXPECT_EQ(shadow[2], 0xc000);
  EXPECT_EQ(shadow[3], 0);
  EXPECT_EQ(shadow[4], 0x7f80);
  EXPECT_EQ(shadow[5], 0x7fc0);
  context.variable<float>(fake::kernel)[0] = 4.0f;
  EXPECT_EQ(shadow[0], 0x3f80);
  ASSERT_EQ(mpc_rt_context_variables_changed(context.handle), MPC_RT_OK);
  EXPECT_EQ(shadow[0], 0x4080);
}

TEST(Context, ChecksAccess) {
  fake::Context context;
  float values[6] = {};
  auto set = [&](uint32_t variable, mpc_rt_dtype_t dtype, const void *data, size_t bytes) {
    return mpc_rt_context_set_variable(context.handle, variable, dtype, data, bytes);
  };
  EXPECT_EQ(set(fake::kernel, MPC_RT_FLOAT16, values, 24), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "dense/kernel"), nullptr);
  EXPECT_EQ(set(fake::kernel, MPC_RT_FLOAT32, values, 20), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(set(fake::kernel, MPC_RT_FLOAT32, nullptr, 24), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(set(100, MPC_RT_FLOAT32, values, 24), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(set(fake::shadow, MPC_RT_BFLOAT16, values, 12), MPC_RT_INVALID_ARGUMENT);
  float back[6] = {1};
  EXPECT_EQ(set(fake::kernel, MPC_RT_FLOAT32, values, 24), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_context_get_variable(context.handle, fake::kernel, MPC_RT_FLOAT32, back, 24),
            MPC_RT_OK);
  EXPECT_EQ(back[0], 0.0f);
}

TEST(Context, RefusesDevicesAndIsasItDoesNotHave) {
  mpc_rt_model_t *model = nullptr;
  ASSERT_EQ(mpc_rt_model_from_executable(mpc_rt_executable_query(MPC_RT_ABI_VERSION), &model),
            MPC_RT_OK);
  mpc_rt_context_options_t options;
  mpc_rt_context_options_init(&options);
  mpc_rt_context_t *context = nullptr;
  options.device = "cuda:0";
  EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_UNAVAILABLE);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "--device cpu"), nullptr) << mpc_rt_last_error();
  options.device = "tpu";
  EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_NOT_FOUND);
  options.device = "cpu";
  options.isa = MPC_RT_ISA_X86_64_V3; // the table has none
  EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_FAILED_PRECONDITION);
  options.isa = 3;
  EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_FAILED_PRECONDITION);
  options.isa = -1;
  options.struct_size = 4;
  EXPECT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_INVALID_ARGUMENT);
  EXPECT_EQ(context, nullptr);
  mpc_rt_model_release(model);
}

// A version of a level has the same numbers, so that nobody asks for it; who asks for a level gets
// that.
TEST(Context, TakesTheVersionForCpusThatHaveMoreThanALevel) {
  mpc_rt_executable_t copy = *mpc_rt_executable_query(MPC_RT_ABI_VERSION);
  const std::vector<mpc_rt_kernel_fn> more(copy.kernel_tables[1].kernels,
                                           copy.kernel_tables[1].kernels + copy.kernel_count);
  const mpc_rt_kernel_table_t tables[] = {{mpc::rules::isaV4WithBFloat16, 0, more.data()},
                                          copy.kernel_tables[0],
                                          copy.kernel_tables[1]};
  copy.kernel_tables = tables;
  copy.kernel_table_count = 3;
  const bool hasV4 =
      mpc_rt_context_isa(fake::Context().handle) == MPC_RT_ISA_X86_64_V4; // of the table's two
  const bool hasMore = hasV4 && __builtin_cpu_supports("avx512bf16");
  for (int32_t isa : {-1, int32_t{MPC_RT_ISA_X86_64_V2}, int32_t{MPC_RT_ISA_X86_64_V4}}) {
    if (isa == MPC_RT_ISA_X86_64_V4 && !hasV4)
      continue;
    mpc_rt_model_t *model = nullptr;
    ASSERT_EQ(mpc_rt_model_from_executable(&copy, &model), MPC_RT_OK) << mpc_rt_last_error();
    mpc_rt_context_options_t options;
    mpc_rt_context_options_init(&options);
    options.isa = isa;
    mpc_rt_context_t *context = nullptr;
    ASSERT_EQ(mpc_rt_context_create(model, &options, &context), MPC_RT_OK) << mpc_rt_last_error();
    const int32_t level = isa >= 0 ? isa : hasV4 ? MPC_RT_ISA_X86_64_V4 : MPC_RT_ISA_X86_64_V2;
    EXPECT_EQ(mpc_rt_context_isa(context), level);
    EXPECT_EQ(context->kernels, isa < 0 && hasMore              ? more.data()
                                : level == MPC_RT_ISA_X86_64_V4 ? tables[2].kernels
                                                                : tables[1].kernels);
    mpc_rt_context_release(context);
    mpc_rt_model_release(model);
  }
}

TEST(Context, SaysWhatItIs) {
  fake::Context context(3, nullptr, 0, MPC_RT_ISA_X86_64_V2);
  EXPECT_EQ(mpc_rt_context_threads(context.handle), 3u);
  EXPECT_EQ(mpc_rt_context_isa(context.handle), MPC_RT_ISA_X86_64_V2);
  EXPECT_EQ(mpc_rt_context_computes(context.handle), 1);
  mpc_rt_memory_t memory = {};
  EXPECT_EQ(mpc_rt_context_memory(context.handle, &memory), MPC_RT_INVALID_ARGUMENT);
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(mpc_rt_context_memory(context.handle, &memory), MPC_RT_OK);
  EXPECT_EQ(memory.variable_bytes, 9u * 64);
  EXPECT_EQ(memory.arena_allocated_bytes, 0u);
}

TEST(Context, RefusesPartsThatItCannotCompute) {
  fake::Context context;
  for (uint32_t parts : {3u, 12u, 2048u})
    EXPECT_EQ(mpc_rt_context_set_parts(context.handle, nullptr, parts), MPC_RT_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "expected a power of two up to 1024"), nullptr);
  EXPECT_EQ(mpc_rt_context_set_parts(nullptr, nullptr, 2), MPC_RT_INVALID_ARGUMENT);
  // Its step takes no rows.
  EXPECT_EQ(mpc_rt_context_set_parts(context.handle, nullptr, 2), MPC_RT_FAILED_PRECONDITION);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "--batch=dynamic"), nullptr) << mpc_rt_last_error();
  EXPECT_EQ(mpc_rt_context_set_parts(context.handle, nullptr, 0), MPC_RT_OK);
}

TEST(LastError, BelongsToTheThread) {
  mpc_rt_context_t *none = nullptr;
  EXPECT_EQ(mpc_rt_context_run(none, 0, nullptr, nullptr, 1), MPC_RT_INVALID_ARGUMENT);
  std::string mine = mpc_rt_last_error();
  EXPECT_FALSE(mine.empty());
  std::thread([] { EXPECT_STREQ(mpc_rt_last_error(), ""); }).join();
}

} // namespace
