// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of this machine and what each policy gains on them.
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda_devices.h"
#include "runtime/drivers/cpu/kernels/cpu_kind.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

using namespace mpc::rt;

namespace {

enum class Compute { float32, bfloat16, float16 };

struct Policy {
  const char *name;
  Compute compute;
};
constexpr Policy policies[] = {{"float32", Compute::float32},
                               {"mixed_bfloat16", Compute::bfloat16},
                               {"bfloat16", Compute::bfloat16},
                               {"mixed_float16", Compute::float16},
                               {"float16", Compute::float16}};

// Peak multiply-adds per cycle relative to float32 with the same CPU's vector units. AMX: 1024
// bfloat16 against 64 float32 multiply-adds; vdpbf16ps: twice float32 where it is full rate.
void describeCpu(Compute compute, mpc_rt_policy_gain_t &gain) {
  bool amx = cpu().features & MPC_RT_FEATURE_AMX_BF16;
  bool dot = cpu().features & MPC_RT_FEATURE_AVX512_BF16;
  gain.native = 1;
  gain.peak_ratio = 1;
  gain.memory_ratio = compute == Compute::float32 ? 1 : 0.5;
  gain.warning = "";
  if (compute == Compute::float32) {
    gain.summary = "float32 everywhere: the reference speed.";
  } else if (compute == Compute::bfloat16 && amx) {
    gain.peak_ratio = 16;
    gain.summary = "AMX multiplies bfloat16 at up to 16 times the float32 rate.";
  } else if (compute == Compute::bfloat16 && dot) {
    gain.peak_ratio = 2;
    gain.summary = "AVX512-BF16 multiplies bfloat16 at up to twice the float32 rate.";
  } else {
    gain.native = 0;
    gain.summary = compute == Compute::bfloat16
                       ? "No bfloat16 instructions: products are computed in float32; activations "
                         "take half the memory."
                       : "No float16 products on this CPU: they are computed in float32; "
                         "activations take half the memory.";
    gain.warning = compute == Compute::bfloat16
                       ? "This CPU has neither AMX nor AVX512-BF16: the policy will not run faster "
                         "than float32 here. It still halves the memory of activations."
                       : "float16 policies may run slowly on this device, because products are "
                         "computed in float32. Use mixed_bfloat16 on CPUs with AMX or AVX512-BF16, "
                         "or a GPU with compute capability 7.0 or higher.";
  }
}

mpc_rt_status_t describeCpu(mpc_rt_device_info_t &info) {
  const Cpu &found = cpu();
  info.name = info.kind = "cpu";
  info.model = found.model;
  info.available = found.isa >= 0;
  info.isa = found.isa >= 0 ? isaName(found.isa) : nullptr;
  info.isa_level = found.isa;
  info.cores = found.cores;
  info.features = found.features;
  info.memory_bytes = found.memoryBytes;
  info.advice = found.isa >= 0 ? "" : "this CPU is older than x86-64-v2; use a newer machine";
  info.cpu_kind = kindName(cpuKind());
  return MPC_RT_OK;
}

mpc_rt_status_t describeGpu(uint32_t index, mpc_rt_device_info_t &info) {
  const char *advice = nullptr;
  auto &gpus = cudaDevices(advice);
  info.name = "cuda:0";
  info.kind = "cuda";
  info.model = "";
  info.isa_level = -1;
  info.advice = advice;
  if (index >= gpus.size())
    return MPC_RT_OK;
  const CudaDevice &gpu = gpus[index];
  info.name = gpu.name.c_str();
  info.model = gpu.model.c_str();
  info.isa = gpu.capability.c_str();
  info.available = 1;
  info.cores = gpu.multiprocessors;
  info.memory_bytes = gpu.memoryBytes;
  return guard("mpc_rt_device_info", [&] {
    info.advice = cudaHint();
    return MPC_RT_OK;
  });
}

} // namespace

extern "C" {

// Device 0 is the CPU; the GPUs follow, or one that says why there is none.
uint32_t mpc_rt_device_count(void) {
  const char *advice = nullptr;
  auto gpus = static_cast<uint32_t>(cudaDevices(advice).size());
  return 1 + (gpus ? gpus : 1);
}

mpc_rt_status_t mpc_rt_device_info(uint32_t index, mpc_rt_device_info_t *info) {
  constexpr size_t firstSize = offsetof(mpc_rt_device_info_t, cpu_kind);
  if (!info || info->struct_size < firstSize)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_device_info: info is null, or info.struct_size is not set");
  if (index >= mpc_rt_device_count())
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_device_info: no device %u; there are %u", index,
                mpc_rt_device_count());
  mpc_rt_device_info_t found = {};
  found.struct_size = info->struct_size;
  const mpc_rt_status_t status = index == 0 ? describeCpu(found) : describeGpu(index - 1, found);
  if (status == MPC_RT_OK)
    std::memcpy(info, &found, std::min<size_t>(info->struct_size, sizeof found));
  return status;
}

mpc_rt_status_t mpc_rt_device_policy_gain(uint32_t device_index, const char *policy,
                                          mpc_rt_policy_gain_t *gain) {
  if (!policy || !gain || gain->struct_size < sizeof(*gain) ||
      device_index >= mpc_rt_device_count())
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_device_policy_gain: a null argument, no such device, or gain.struct_size "
                "is not set");
  const char *advice = nullptr;
  auto &gpus = cudaDevices(advice);
  if (device_index > gpus.size())
    return fail(MPC_RT_UNAVAILABLE, "cuda:0: %s", advice);
  for (const Policy &known : policies) {
    if (std::strcmp(known.name, policy) != 0)
      continue;
    if (device_index == 0)
      describeCpu(known.compute, *gain);
    else
      describeCuda(gpus[device_index - 1].architecture,
                   known.compute == Compute::bfloat16  ? MPC_RT_BFLOAT16
                   : known.compute == Compute::float16 ? MPC_RT_FLOAT16
                                                       : MPC_RT_FLOAT32,
                   *gain);
    return MPC_RT_OK;
  }
  return fail(
      MPC_RT_NOT_FOUND,
      "no policy '%s'; expected float32, mixed_bfloat16, bfloat16, mixed_float16 or float16",
      policy);
}

mpc_rt_status_t mpc_rt_device_check(const char *name) {
  if (!name)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_device_check: name is null");
  if (std::strcmp(name, "cpu") == 0 || std::strcmp(name, "null") == 0)
    return MPC_RT_OK;
  int ordinal = cudaOrdinal(name);
  if (ordinal < 0)
    return fail(MPC_RT_NOT_FOUND, "no device '%s'; expected cpu or cuda:N", name);
  const char *advice = nullptr;
  auto &gpus = cudaDevices(advice);
  if (gpus.empty())
    return fail(MPC_RT_UNAVAILABLE, "%s: %s", name, advice);
  if (static_cast<size_t>(ordinal) >= gpus.size())
    return fail(MPC_RT_NOT_FOUND, "no device '%s'; this machine has %zu GPU%s, from cuda:0 on",
                name, gpus.size(), gpus.size() == 1 ? "" : "s");
  return MPC_RT_OK;
}

} // extern "C"
