// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loaded model: its tables, and the library that they live in.
#ifndef MPC_RUNTIME_MODULE_MODEL_H
#define MPC_RUNTIME_MODULE_MODEL_H

#include "mpc-rt/cuda.h"
#include "mpc-rt/model.h"
#include "runtime/module/archive.h"

#include <atomic>
#include <memory>
#include <string>

// Counted: the creator holds one reference, each context another.
struct mpc_rt_model_t {
  const mpc_rt_executable_t *executable = nullptr;
  std::string path;        // "" for a linked model
  void *library = nullptr; // from dlopen; null for a linked model, and in an archive
  std::shared_ptr<mpc::rt::Archive> archive; // null unless the model is one file
  std::atomic<unsigned> references{1};
};

namespace mpc::rt {

// Checks the tables of an executable against each other, so that nothing later indexes out of
// bounds. FAILED_PRECONDITION for another ABI, DATA_LOSS for contradictions; `where` begins the
// message.
mpc_rt_status_t checkTables(const mpc_rt_executable_t *executable, const char *where) noexcept;

// The table for this mpc_rt_isa_t; null where there is none, or no kernel at all.
const mpc_rt_kernel_fn *findKernels(const mpc_rt_executable_t &executable, int isa) noexcept;

// Where the result of a metric of kind 2 is: an output of the entry "metric_results".
struct MetricResult {
  uint32_t entry, output;
  const mpc_rt_tensor_info_t *tensor; // null when there is none
};
MetricResult findMetricResult(const mpc_rt_executable_t &executable, const char *name) noexcept;

// The loss scale that the model was compiled with; 1 when none or unknown.
float fixedLossScale(const mpc_rt_executable_t &executable) noexcept;

// Bytes of a static shape that checkTables has passed.
uint64_t tensorBytes(const mpc_rt_tensor_info_t &tensor) noexcept;
// Whether its first dimension is the batch.
inline bool hasRows(const mpc_rt_tensor_info_t &tensor) noexcept {
  return tensor.rank && tensor.dims[0] == MPC_RT_DYNAMIC;
}
// Bytes with so many rows, where it has them; false on overflow.
bool batchBytes(const mpc_rt_tensor_info_t &tensor, int64_t rows, uint64_t &bytes) noexcept;

// arena_fixed + batch * arena_per_sample; false on overflow.
bool arenaBytes(const mpc_rt_entry_info_t &entry, int64_t batch, uint64_t &bytes) noexcept;

// The model's kernels for CUDA. FAILED_PRECONDITION when it was not compiled for it.
mpc_rt_status_t cudaProgram(const mpc_rt_model_t &model,
                            const mpc_rt_cuda_program_t *&program) noexcept;

inline mpc_rt_model_t *retain(mpc_rt_model_t *model) {
  model->references.fetch_add(1, std::memory_order_relaxed);
  return model;
}

} // namespace mpc::rt

#endif
