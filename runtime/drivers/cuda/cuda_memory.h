// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the host and the GPU outside of runs; they say what is stale afterwards.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDA_MEMORY_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDA_MEMORY_H

#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/cuda/next_inputs.h"
#include "runtime/drivers/cuda/step_graphs.h"
#include "runtime/drivers/cuda/variable_mirror.h"
#include "runtime/drivers/device_memory.h"
#include "runtime/drivers/prepared_weights.h"

namespace mpc::rt::cuda {

class CudaMemory final : public DeviceMemory {
public:
  CudaMemory(DeviceSession &session, KernelTable &table, VariableMirror &variables,
             PreparedWeights &prepared, NextInputs &nextInputs, StepGraphs &graphs,
             ValueCounter &counts)
      : session(session), table(table), variables(variables), prepared(prepared),
        nextInputs(nextInputs), graphs(graphs), counts(counts) {}

  bool isApart() const noexcept override { return true; }
  mpc_rt_status_t bindVariables(uint8_t *host, uint64_t bytes,
                                const std::vector<MemoryBlock> &blocks) override;
  mpc_rt_status_t fetchVariables(uint64_t offset, uint64_t bytes) override;
  mpc_rt_status_t storeVariables(uint64_t offset, uint64_t bytes) override;
  mpc_rt_status_t storeFetchedVariables() override;
  mpc_rt_status_t prefetch(const mpc_rt_entry_info_t &entry, int64_t batch,
                           mpc_rt_fill_inputs_fn fill, void *user) override;
  bool hasInputs(const mpc_rt_entry_info_t &entry, int64_t batch) const noexcept override;
  mpc_rt_status_t clear(void *data, uint64_t bytes) override;
  mpc_rt_status_t bring(void *to, const void *from, uint64_t bytes) override;
  mpc_rt_status_t arrive() override {
    graphs.waitsForHost();
    return session.synchronize();
  }
  mpc_rt_status_t give(void *to, const void *from, uint64_t bytes) override;
  void waitsForHost() noexcept override { graphs.waitsForHost(); }
  ValueCounter *valueCounter() noexcept override { return &counts; }
  void forgetRuns() noexcept override { graphs.forget(); }
  mpc_rt_status_t copyToHost(void *to, const void *from, uint64_t bytes) override;
  // Our stream does not wait for what the caller queued on the default stream.
  mpc_rt_status_t waitForCaller();

private:
  DeviceSession &session;
  KernelTable &table;
  VariableMirror &variables;
  PreparedWeights &prepared;
  NextInputs &nextInputs;
  StepGraphs &graphs;
  ValueCounter &counts;
};

} // namespace mpc::rt::cuda

#endif
