// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks the driver once. Ratios are peaks of NVIDIA's data sheets, dense: Tensor Cores against the
// float32 units of the same GPU.
#include "runtime/device/cuda_devices.h"
#include "runtime/drivers/cuda/cuda_api.h"
#include "runtime/drivers/cuda/cudnn_api.h"

#include <cstdlib>
#include <cstring>

namespace mpc::rt {
namespace {

struct Found {
  std::vector<CudaDevice> devices;
  const char *advice = "";
};

Found find() {
  Found found;
  const cuda::Api *cuda = cuda::api(found.advice);
  int count = 0;
  if (!cuda)
    return found;
  if (cuda->deviceGetCount(&count) || count == 0) {
    found.advice = "the NVIDIA driver finds no GPU; use --device cpu";
    return found;
  }
  for (int i = 0; i < count; ++i) {
    cuda::Device device = 0;
    char name[256] = "";
    int major = 0, minor = 0, multiprocessors = 0;
    size_t bytes = 0;
    if (cuda->deviceGet(&device, i))
      continue;
    cuda->deviceGetName(name, sizeof name, device);
    cuda->deviceGetAttribute(&major, cuda::computeCapabilityMajor, device);
    cuda->deviceGetAttribute(&minor, cuda::computeCapabilityMinor, device);
    cuda->deviceGetAttribute(&multiprocessors, cuda::multiprocessorCount, device);
    cuda->deviceTotalMem(&bytes, device);
    int architecture = major * 10 + minor;
    found.devices.push_back({"cuda:" + std::to_string(i), name,
                             "sm_" + std::to_string(architecture), architecture,
                             static_cast<uint32_t>(multiprocessors), bytes});
  }
  return found;
}

// float16 on Tensor Cores over float32 without them.
double halfRatio(int architecture) {
  if (architecture >= 100)
    return architecture >= 120 ? 4 : 30; // consumer and data-centre Blackwell
  if (architecture >= 90)
    return 14.8; // H100: 990 against 67 TFLOP/s
  if (architecture == 80)
    return 16; // A100: 312 against 19.5
  if (architecture >= 80)
    return 4; // other Ampere and Ada
  return 8;   // Volta and Turing: 125 against 15.7
}

} // namespace

const std::vector<CudaDevice> &cudaDevices(const char *&advice) {
  static const Found found = find();
  advice = found.advice;
  return found.devices;
}

const char *cudaHint() {
  static const std::string hint = [] {
    const char *problem = "";
    return cuda::dnn::api(problem)
               ? std::string()
               : std::string("convolutions run without cuDNN, as products of columns, and "
                             "attention with its scores in memory: ") +
                     problem;
  }();
  return hint.c_str();
}

int cudaOrdinal(const char *name) noexcept {
  if (std::strcmp(name, "cuda") == 0)
    return 0;
  if (std::strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9')
    return -1;
  char *end = nullptr;
  long ordinal = std::strtol(name + 5, &end, 10);
  return *end || ordinal > 1023 ? -1 : static_cast<int>(ordinal);
}

void describeCuda(int architecture, mpc_rt_dtype_t compute, mpc_rt_policy_gain_t &gain) noexcept {
  gain.native = 1;
  gain.peak_ratio = 1;
  gain.memory_ratio = compute == MPC_RT_FLOAT32 ? 1 : 0.5;
  gain.warning = "";
  if (compute == MPC_RT_FLOAT32) {
    gain.summary = "float32 everywhere: the reference speed.";
  } else if (architecture < 70) {
    gain.native = 0;
    gain.summary = "No Tensor Cores: products are not faster; activations take half the memory.";
    gain.warning = "16-bit policies will likely run slowly on this GPU: its compute capability is "
                   "below 7.0, so it has no Tensor Cores. Use a GPU with compute capability 7.0 or "
                   "higher.";
  } else if (compute == MPC_RT_BFLOAT16 && architecture < 80) {
    gain.native = 0;
    gain.summary = "No bfloat16 on these Tensor Cores; activations take half the memory.";
    gain.warning =
        "bfloat16 policies will likely run slowly on this GPU: its compute capability is "
        "below 8.0. Use mixed_float16 here, or a GPU with compute capability 8.0 or "
        "higher.";
  } else {
    gain.peak_ratio = halfRatio(architecture);
    gain.summary = compute == MPC_RT_BFLOAT16 ? "Tensor Cores multiply bfloat16."
                                              : "Tensor Cores multiply float16.";
  }
}

} // namespace mpc::rt
