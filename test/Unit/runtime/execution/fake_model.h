// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written model, and contexts of it for tests.
#ifndef MPC_TEST_UNIT_RUNTIME_EXECUTION_FAKE_MODEL_H
#define MPC_TEST_UNIT_RUNTIME_EXECUTION_FAKE_MODEL_H

#include "mpc-rt/model.h"
#include <gtest/gtest.h>

extern "C" const mpc_rt_executable_t *mpc_rt_executable_query(uint32_t maxAbiVersion);

namespace fake {

enum Variable {
  kernel,
  bias,
  kernelMomentum,
  iteration,
  biasMomentum,
  shadow,
  random,
  total,
  seen
};
enum Entry {
  predict,
  trainStep,
  evaluate,
  flush,
  failing,
  huge,
  metricResults,
  rowsOfFloat32,
  rowsOfFloat64,
  rowsOfFloat16,
  rowsOfBFloat16,
  predictOfSix
};

struct Context {
  explicit Context(uint32_t threads = 2, const char *device = nullptr, uint64_t seed = 0,
                   int32_t isa = -1) {
    mpc_rt_model_t *model = nullptr;
    EXPECT_EQ(mpc_rt_model_from_executable(mpc_rt_executable_query(MPC_RT_ABI_VERSION), &model),
              MPC_RT_OK);
    mpc_rt_context_options_t options;
    mpc_rt_context_options_init(&options);
    options.threads = threads;
    options.device = device;
    options.seed = seed;
    options.isa = isa;
    EXPECT_EQ(mpc_rt_context_create(model, &options, &handle), MPC_RT_OK) << mpc_rt_last_error();
    mpc_rt_model_release(model); // the context keeps it
  }
  ~Context() { mpc_rt_context_release(handle); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  template <typename Type> Type *variable(uint32_t index) {
    return static_cast<Type *>(mpc_rt_context_variable(handle, index, nullptr));
  }
  mpc_rt_context_t *handle = nullptr;
};

} // namespace fake

#endif
