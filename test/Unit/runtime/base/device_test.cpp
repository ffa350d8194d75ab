// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of what the runtime says about devices.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace {

mpc_rt_device_info_t infoOf(uint32_t index) {
  mpc_rt_device_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(mpc_rt_device_info(index, &info), MPC_RT_OK) << mpc_rt_last_error();
  return info;
}

mpc_rt_policy_gain_t gainOf(const char *policy) {
  mpc_rt_policy_gain_t gain = {};
  gain.struct_size = sizeof(gain);
  EXPECT_EQ(mpc_rt_device_policy_gain(0, policy, &gain), MPC_RT_OK) << mpc_rt_last_error();
  return gain;
}

TEST(Device, CpuComesFirst) {
  auto info = infoOf(0);
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_EQ(info.available, 1);
  EXPECT_GE(info.isa_level, MPC_RT_ISA_X86_64_V2);
  EXPECT_GE(info.cores, 1u);
  EXPECT_GT(info.memory_bytes, uint64_t{1} << 28);
  EXPECT_GT(std::strlen(info.model), 3u);
}

TEST(Device, KnowsItsKindOfCpu) {
  const std::set<std::string> kinds = {"zen3",       "zen4",      "zen5",   "intel",
                                       "intel-bf16", "intel-amx", "unknown"};
  EXPECT_TRUE(kinds.count(infoOf(0).cpu_kind)) << infoOf(0).cpu_kind;
  EXPECT_EQ(infoOf(1).cpu_kind, nullptr);
}

// A program of before the field has a smaller struct, behind which lies what is not the runtime's.
TEST(Device, LeavesWhatASmallerStructHasNot) {
  mpc_rt_device_info_t info = {};
  const char own[] = "own";
  info.struct_size = offsetof(mpc_rt_device_info_t, cpu_kind);
  info.cpu_kind = own;
  EXPECT_EQ(mpc_rt_device_info(0, &info), MPC_RT_OK) << mpc_rt_last_error();
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_EQ(info.struct_size, offsetof(mpc_rt_device_info_t, cpu_kind));
  EXPECT_EQ(info.cpu_kind, own);
  info.struct_size -= 1;
  EXPECT_EQ(mpc_rt_device_info(0, &info), MPC_RT_INVALID_ARGUMENT);
}

// The kernel's own list, an independent reading of CPUID.
TEST(Device, FeaturesAgreeWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line) && flags.empty();)
    if (line.rfind("flags", 0) == 0)
      flags = line + " ";
  ASSERT_FALSE(flags.empty());
  auto info = infoOf(0);
  struct Row {
    uint64_t feature;
    const char *flag;
  };
  const Row rows[] = {{MPC_RT_FEATURE_AVX2, " avx2 "},
                      {MPC_RT_FEATURE_FMA, " fma "},
                      {MPC_RT_FEATURE_F16C, " f16c "},
                      {MPC_RT_FEATURE_AVX512F, " avx512f "},
                      {MPC_RT_FEATURE_AVX512_VNNI, " avx512_vnni "},
                      {MPC_RT_FEATURE_AVX512_BF16, " avx512_bf16 "},
                      {MPC_RT_FEATURE_AVX512_FP16, " avx512_fp16 "},
                      {MPC_RT_FEATURE_AMX_BF16, " amx_bf16 "},
                      {MPC_RT_FEATURE_AMX_INT8, " amx_int8 "}};
  for (auto &row : rows)
    EXPECT_EQ((info.features & row.feature) != 0, flags.find(row.flag) != std::string::npos)
        << row.flag;
}

TEST(Device, CudaSaysWhatToDo) {
  auto info = infoOf(1);
  EXPECT_STREQ(info.kind, "cuda");
  EXPECT_EQ(info.available, 0);
  EXPECT_NE(std::strstr(info.advice, "--device cpu"), nullptr);
  EXPECT_EQ(mpc_rt_device_check("cuda:1"), MPC_RT_UNAVAILABLE);
  EXPECT_EQ(mpc_rt_device_check("cpu"), MPC_RT_OK);
  EXPECT_EQ(mpc_rt_device_check("abacus"), MPC_RT_NOT_FOUND);
}

TEST(Device, TellsWhatPoliciesGain) {
  auto info = infoOf(0);
  bool fast = info.features & (MPC_RT_FEATURE_AMX_BF16 | MPC_RT_FEATURE_AVX512_BF16);
  EXPECT_EQ(gainOf("float32").peak_ratio, 1.0);
  EXPECT_STREQ(gainOf("float32").warning, "");
  EXPECT_EQ(gainOf("mixed_bfloat16").native, fast);
  EXPECT_EQ(gainOf("mixed_bfloat16").peak_ratio > 1, fast);
  EXPECT_EQ(std::strlen(gainOf("mixed_bfloat16").warning) > 0, !fast);
  EXPECT_STRNE(gainOf("mixed_float16").warning, "");
  EXPECT_EQ(gainOf("mixed_float16").memory_ratio, 0.5);
  mpc_rt_policy_gain_t gain = {};
  EXPECT_EQ(mpc_rt_device_policy_gain(0, "float32", &gain), MPC_RT_INVALID_ARGUMENT);
  gain.struct_size = sizeof(gain);
  EXPECT_EQ(mpc_rt_device_policy_gain(0, "int4", &gain), MPC_RT_NOT_FOUND);
  EXPECT_EQ(mpc_rt_device_policy_gain(1, "float32", &gain), MPC_RT_UNAVAILABLE);
}

} // namespace
