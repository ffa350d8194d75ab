// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, shapes, the ABI's layout, epilogue rows.
#include "mpc-rt/executable.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/vector_kernels.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

using namespace mpc::rt;

extern "C" size_t mpc_test_contract_size(void);
extern "C" size_t mpc_test_call_size(void);
extern "C" size_t mpc_test_executable_size(void);

namespace {

TEST(Abi, HasTheLayoutThatGeneratedCodeWasMadeFor) {
  static_assert(offsetof(mpc_rt_call_t, inputs) == 16 && offsetof(mpc_rt_call_t, arena) == 40 &&
                offsetof(mpc_rt_call_t, context) == 64);
  EXPECT_EQ(mpc_test_call_size(), 72u);
  EXPECT_EQ(mpc_test_contract_size(), 112u);
  EXPECT_EQ(mpc_test_executable_size(), 184u);
  EXPECT_EQ(sizeof(mpc_rt_executable_t), 184u);
  EXPECT_EQ(MPC_RT_EXECUTABLE_MINIMUM, 120u);
}

TEST(Shape, CountsElementsWithoutOverflow) {
  uint64_t count = 0;
  int64_t dims[] = {3, 4, 5};
  EXPECT_TRUE(countElements(dims, 3, count));
  EXPECT_EQ(count, 60u);
  EXPECT_TRUE(countElements(nullptr, 0, count));
  EXPECT_EQ(count, 1u);
  int64_t negative[] = {3, -1}, large[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FALSE(countElements(negative, 2, count));
  EXPECT_FALSE(countElements(large, 2, count));
}

TEST(Memory, GrowsAndMoves) {
  Buffer buffer;
  ASSERT_TRUE(buffer.reserve(100));
  uint8_t *first = buffer.data();
  ASSERT_TRUE(buffer.reserve(50));
  EXPECT_EQ(buffer.data(), first);
  ASSERT_TRUE(buffer.reserve(10 << 20));
  EXPECT_EQ(buffer.size(), uint64_t{10} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20), 0u) << "huge pages fit";
  Buffer other = std::move(buffer);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_NE(other.data(), nullptr);
}

TEST(Status, SaysHowMuchMemoryWasWanted) {
  auto take = []() -> mpc_rt_status_t {
    Buffer buffer;
    reserve(buffer, uint64_t{1} << 62);
    return MPC_RT_OK;
  };
  EXPECT_EQ(guard("work", take), MPC_RT_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(mpc_rt_last_error(),
               "work: out of memory; 4611686018427387904 bytes were wanted; free some");
}

TEST(Status, KeepsExceptionsInside) {
  EXPECT_EQ(guard("work", []() -> mpc_rt_status_t { throw std::bad_alloc(); }),
            MPC_RT_RESOURCE_EXHAUSTED);
  EXPECT_EQ(guard("work", []() -> mpc_rt_status_t { throw std::runtime_error("boom"); }),
            MPC_RT_INTERNAL);
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "work: boom"), nullptr);
  EXPECT_EQ(guard("work", []() -> mpc_rt_status_t { throw 7; }), MPC_RT_INTERNAL);
  // A message that quotes the message before it.
  fail(MPC_RT_INTERNAL, "outer: %s", mpc_rt_last_error());
  EXPECT_NE(std::strstr(mpc_rt_last_error(), "outer: work: "), nullptr);
  std::string lengthy(10000, 'x');
  EXPECT_EQ(fail(MPC_RT_NOT_FOUND, "%s", lengthy.c_str()), MPC_RT_NOT_FOUND);
}

// One row with every flag, against scalar arithmetic; the vector loops of each ISA.
TEST(Epilogue, RoundsWhereTheContractSays) {
  for (int isa = 0; isa <= cpu().isa; ++isa)
    for (uint32_t flags = 0; flags < epilogueFlagCount; ++flags) {
      std::vector<float> sum(77), bias(77), out(77, 0.25f);
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] = static_cast<float>(i) * 1.37f - 50.0f;
        bias[i] = static_cast<float>(i % 5) * 0.3f;
      }
      sum[7] = NAN, sum[8] = INFINITY, sum[9] = -INFINITY;
      auto row = vectorKernels(isa).epilogue[MPC_RT_FLOAT32][flags];
      row(sum.data(), bias.data(), out.data(), sum.size());
      for (size_t i = 0; i < sum.size(); ++i) {
        volatile float want = sum[i];
        if (flags & epilogueBias)
          want = want + bias[i];
        if (flags & epilogueRelu)
          want = want < 0 ? 0 : want;
        if (flags & epilogueAccumulate)
          want = want + 0.25f;
        float expected = want;
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(out[i])) << isa << " " << flags;
        else
          ASSERT_EQ(out[i], expected) << isa << " " << flags << " " << i;
      }
    }
}

} // namespace
