// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choice of an image, and launches.
#include "runtime/drivers/cuda/kernel_table.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::cuda {

// A cubin for the same major number and at most this minor one; else the newest PTX that is not
// newer than the device, which its driver compiles.
const mpc_rt_cuda_image_t *KernelTable::chooseImage() const {
  const mpc_rt_cuda_image_t *best = nullptr;
  for (uint32_t i = 0; i < program.image_count; ++i) {
    const mpc_rt_cuda_image_t &image = program.images[i];
    int offered = static_cast<int>(image.architecture);
    if (offered > session.architecture ||
        (!image.is_ptx && offered / 10 != session.architecture / 10))
      continue;
    bool better = !best || (best->is_ptx && !image.is_ptx) ||
                  (best->is_ptx == image.is_ptx && best->architecture < image.architecture);
    if (better)
      best = &image;
  }
  return best;
}

KernelTable::~KernelTable() {
  if (!module)
    return;
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
  session.cuda.moduleUnload(module);
}

mpc_rt_status_t KernelTable::load() {
  const mpc_rt_cuda_image_t *image = chooseImage();
  if (!image)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "the model has no kernels for this GPU (compute capability %d.%d); compile it with "
                "--target=cuda:sm_%d",
                session.architecture / 10, session.architecture % 10, session.architecture);
  if (auto status =
          session.check(session.cuda.moduleLoadData(&module, image->data), "loading the kernels"))
    return status;
  kernels.resize(program.kernel_count);
  // A model without kernels has a table all the same: null would be no table.
  handleTable.resize(std::max<size_t>(1, kernels.size()));
  for (uint32_t i = 0; i < program.kernel_count; ++i) {
    kernels[i].info = &program.kernels[i];
    if (auto status = session.check(
            session.cuda.moduleGetFunction(&kernels[i].function, module, program.kernels[i].name),
            program.kernels[i].name))
      return status;
    handleTable[i] = reinterpret_cast<mpc_rt_kernel_fn>(&kernels[i]);
  }
  return MPC_RT_OK;
}

mpc_rt_status_t KernelTable::launch(Function function, unsigned threads, void **parameters,
                                    int64_t count, const char *name) {
  // Enough blocks to fill the GPU several times over; a thread then takes more than one iteration.
  constexpr int64_t blocksPerMultiprocessor = 32;
  int64_t blocks = (count + threads - 1) / threads;
  blocks = std::min<int64_t>(blocks, session.multiprocessors * blocksPerMultiprocessor);
  return session.check(session.cuda.launchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                                                 threads, 1, 1, 0, session.stream, parameters,
                                                 nullptr),
                       name);
}

mpc_rt_status_t KernelTable::launch(mpc_rt_kernel_fn handle, void *const *arguments,
                                    int64_t count) {
  if (count <= 0)
    return MPC_RT_OK;
  auto &kernel = *reinterpret_cast<const Kernel *>(handle);
  size_t size = std::strlen(kernel.info->arguments);
  // A buffer's parameter is its address; a scalar already stands where the array points.
  std::vector<void *> parameters(size + 1);
  for (size_t i = 0; i < size; ++i)
    parameters[i] =
        kernel.info->arguments[i] == 'p' ? const_cast<void **>(&arguments[i]) : arguments[i];
  parameters[size] = &count;
  return launch(kernel.function, kernel.info->block_threads, parameters.data(), count,
                kernel.info->name);
}

mpc_rt_status_t KernelTable::launchNamed(const char *name, void **parameters, int64_t count) {
  if (count <= 0)
    return MPC_RT_OK;
  Function &function = named[name];
  if (!function && session.cuda.moduleGetFunction(&function, module, name))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "the model's library has no kernel %s, which this runtime needs; compile the model "
                "again with this version",
                name);
  constexpr unsigned threads = 256;
  return launch(function, threads, parameters, count, name);
}

mpc_rt_status_t KernelTable::launchRelu(mpc_rt_dtype_t dtype, void *values, int64_t count) {
  void *parameters[] = {&values, &count};
  return launchNamed(dtype == MPC_RT_FLOAT32    ? "mpc_relu_f32"
                     : dtype == MPC_RT_FLOAT64  ? "mpc_relu_f64"
                     : dtype == MPC_RT_BFLOAT16 ? "mpc_relu_bf16"
                                                : "mpc_relu_f16",
                     parameters, count);
}

} // namespace mpc::rt::cuda
