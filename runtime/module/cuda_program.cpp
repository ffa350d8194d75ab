// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finding and checking the CUDA tables of a model.
#include "runtime/base/status.h"
#include "runtime/module/model.h"

#include <dlfcn.h>

namespace mpc::rt {

mpc_rt_status_t cudaProgram(const mpc_rt_model_t &model,
                            const mpc_rt_cuda_program_t *&program) noexcept {
  const mpc_rt_executable_t &executable = *model.executable;
  // A linked model has no handle of its own: the library or program that its tables are in has.
  void *library = model.library;
  Dl_info where;
  if (!library && dladdr(&executable, &where) && where.dli_fname)
    library = dlopen(where.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  auto query =
      library ? reinterpret_cast<mpc_rt_cuda_query_fn>(dlsym(library, MPC_RT_CUDA_QUERY_SYMBOL))
              : nullptr;
  if (library && library != model.library)
    dlclose(library); // it stays loaded: the tables are in it
  if (!query)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: compiled for the CPU only; compile it with --target=cuda, or use --device cpu",
                executable.model_name);
  const mpc_rt_cuda_program_t *found = query();
  if (!found || found->struct_size < sizeof(*found) || found->version != MPC_RT_CUDA_VERSION)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: its CUDA tables have another version than this runtime's (%u); compile the "
                "model again",
                executable.model_name, MPC_RT_CUDA_VERSION);
  bool isSound = found->fp32_precision <= MPC_RT_FP32_TF32X3 &&
                 found->kernel_count == executable.kernel_count && found->image_count > 0 &&
                 found->images && (found->kernel_count == 0 || found->kernels);
  for (uint32_t i = 0; isSound && i < found->image_count; ++i)
    isSound = found->images[i].data && found->images[i].bytes;
  for (uint32_t i = 0; isSound && i < found->kernel_count; ++i)
    isSound = found->kernels[i].name && found->kernels[i].arguments &&
              found->kernels[i].block_threads >= 1 && found->kernels[i].block_threads <= 1024 &&
              found->kernels[i].lanes >= 1 &&
              found->kernels[i].block_threads % found->kernels[i].lanes == 0;
  isSound = isSound && (found->group_count == 0 || found->groups);
  for (uint32_t i = 0; isSound && i < found->group_count; ++i) {
    const mpc_rt_cuda_group_t &group = found->groups[i];
    isSound = group.name && group.kernels && group.waits && group.kernel_count >= 2 &&
              group.block_threads >= 1 && group.block_threads <= 1024;
    for (uint32_t k = 0; isSound && k < group.kernel_count; ++k)
      isSound = group.kernels[k] < found->kernel_count;
  }
  if (!isSound)
    return fail(MPC_RT_DATA_LOSS,
                "%s: its CUDA tables contradict each other; the library is damaged; compile the "
                "model again",
                executable.model_name);
  program = found;
  return MPC_RT_OK;
}

} // namespace mpc::rt
