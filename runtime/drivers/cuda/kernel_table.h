// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a model on one GPU.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_KERNEL_TABLE_H
#define MPC_RUNTIME_DRIVERS_CUDA_KERNEL_TABLE_H

#include "mpc-rt/cuda.h"
#include "mpc-rt/executable.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cuda/device_session.h"

#include <map>
#include <string>
#include <utility>
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

  // This driver's mpc_rt_call_t.kernels: handles that only launch() understands.
  const mpc_rt_kernel_fn *handles() const { return handleTable.data(); }

  // `arguments` as services->parallel_for has them. The launch waits until flush(): what follows it
  // may become one kernel with it. `waits`: for all before it; else it is independent of the
  // launches since the last one that waits.
  void launch(mpc_rt_kernel_fn handle, void *const *arguments, int64_t count, bool waits = true);
  // Puts waiting launches on the stream; before anything else goes there.
  mpc_rt_status_t flush();
  // Forgets them.
  void discard() noexcept { waiting.clear(); }

  // One of the driver's own kernels (LibraryKernels.cpp), with all of its parameters; the last one
  // is `count`.
  mpc_rt_status_t launchNamed(const char *name, void **parameters, int64_t count);
  // x = max(x, 0) that keeps NaN, on `count` numbers of a floating dtype.
  mpc_rt_status_t launchRelu(mpc_rt_dtype_t dtype, void *values, int64_t count);
  // The same on a matrix, and a bit per element: whether it is positive (mpc-rt/executable.h).
  mpc_rt_status_t launchReluMask(const Contraction &shape, void *values, uint8_t *mask);
  // 0 where the bit is not set.
  mpc_rt_status_t launchWhere(const Contraction &shape, void *values, const uint8_t *where);
  // y = gelu(x), where y may be x, and y times the derivative of gelu at x.
  mpc_rt_status_t launchGelu(mpc_rt_dtype_t dtype, void *y, const void *x, int64_t count);
  mpc_rt_status_t launchGeluGradient(mpc_rt_dtype_t dtype, void *y, const void *x, int64_t count);
  // The sums of the columns of a product's right operand, in shape.sumsDtype().
  mpc_rt_status_t launchColumnSums(const Contraction &shape, const void *rhs, void *sums);

private:
  struct Kernel {
    Function function = nullptr;
    const mpc_rt_cuda_kernel_t *info = nullptr;
  };
  struct Group {
    Function function = nullptr;
    const mpc_rt_cuda_group_t *info = nullptr;
  };
  struct Launch {
    uint32_t kernel;
    std::vector<uint64_t> words; // of each argument: an address, or a scalar in its first bytes
    int64_t count;
    bool waits;
  };
  mpc_rt_status_t loadGroups();
  // Launches that follow each other, from `first` on: stages of a group from `stage` on; or one of
  // them alone, without a group.
  struct Piece {
    size_t first, length = 1;
    const Group *group = nullptr;
    size_t stage = 0;
  };
  // The longest piece of narrow launches from `first` on, of several the one that waits least
  // often. Without a group and a function of its own nothing fits.
  Piece pieceFrom(size_t first) const;
  // How many launches from `first` on the group's stages from `stage` on can do; adds up waits.
  size_t matchLaunches(const Group &group, size_t stage, size_t first, size_t &waits) const;
  bool isAlone(const Launch &launch) const;
  mpc_rt_status_t launchAlone(Launch &launch);
  mpc_rt_status_t launchTogether(const Piece &piece);
  const mpc_rt_cuda_image_t *chooseImage() const;
  // `wanted`: threads that have work.
  mpc_rt_status_t launch(Function function, unsigned threads, void **parameters, int64_t wanted,
                         const char *name);

  DeviceSession &session;
  const mpc_rt_cuda_program_t &program;
  Module module = nullptr;
  std::vector<Kernel> kernels;
  std::vector<Group> groups;
  std::vector<Launch> waiting;
  std::vector<mpc_rt_kernel_fn> handleTable;
  std::map<std::string, Function> named;
};

} // namespace mpc::rt::cuda

#endif
