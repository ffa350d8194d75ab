// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a model on one GPU.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_KERNEL_TABLE_H
#define MPC_RUNTIME_DRIVERS_CUDA_KERNEL_TABLE_H

#include "mpc-rt/cuda.h"
#include "mpc-rt/executable.h"
#include "runtime/drivers/cuda/device_session.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::rt::cuda {

class KernelTable {
public:
  KernelTable(DeviceSession &session, const mpc_rt_cuda_program_t &program)
      : session(session), program(program) {}
  ~KernelTable();
  KernelTable(const KernelTable &) = delete;
  KernelTable &operator=(const KernelTable &) = delete;

  // Loads the image for this GPU and finds every kernel in it.
  mpc_rt_status_t load();

  // What mpc_rt_call_t.kernels is for this driver: handles that only launch() understands.
  const mpc_rt_kernel_fn *handles() const { return handleTable.data(); }

  // `arguments` as services->parallel_for has them.
  mpc_rt_status_t launch(mpc_rt_kernel_fn handle, void *const *arguments, int64_t count);

  // One of the driver's own kernels (LibraryKernels.cpp), with all of its parameters; the last one
  // is `count`.
  mpc_rt_status_t launchNamed(const char *name, void **parameters, int64_t count);
  // x = max(x, 0) that keeps NaN, on `count` numbers of a floating dtype.
  mpc_rt_status_t launchRelu(mpc_rt_dtype_t dtype, void *values, int64_t count);

private:
  struct Kernel {
    Function function = nullptr;
    const mpc_rt_cuda_kernel_t *info = nullptr;
  };
  const mpc_rt_cuda_image_t *chooseImage() const;
  mpc_rt_status_t launch(Function function, unsigned threads, void **parameters, int64_t count,
                         const char *name);

  DeviceSession &session;
  const mpc_rt_cuda_program_t &program;
  Module module = nullptr;
  std::vector<Kernel> kernels;
  std::vector<mpc_rt_kernel_fn> handleTable;
  std::map<std::string, Function> named;
};

} // namespace mpc::rt::cuda

#endif
