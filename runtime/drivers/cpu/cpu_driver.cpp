// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU driver: a thread team, and what contracts, convolves and attends on it.
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/cpu_kernels.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/prepared_weights.h"
#include "runtime/threads/thread_team.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace mpc::rt {
namespace {

class PreparedOnHost final : public PreparedMemory {
public:
  mpc_rt_status_t reserve(uint64_t bytes, bool &grew) override {
    const uint64_t before = memory.size();
    rt::reserve(memory, bytes);
    grew = memory.size() != before;
    return MPC_RT_OK;
  }
  void *data() const noexcept override { return memory.data(); }
  uint64_t size() const noexcept override { return memory.size(); }

private:
  Buffer memory;
};

class CpuDriver final : public Driver {
public:
  explicit CpuDriver(const DriverOptions &options)
      : team(options.threads), cpuKernels(team, options.isa) {}

  const char *name() const noexcept override { return "cpu"; }
  bool computes() const noexcept override { return true; }
  unsigned threads() const noexcept override { return team.threads(); }

  mpc_rt_status_t begin(WeightUse use) override {
    cpuKernels.followFork();
    weightUse = use;
    cpuKernels.setWeightsConstant(use == WeightUse::constant);
    team.begin();
    return MPC_RT_OK;
  }

  void end() noexcept override {
    team.end();
    if (weightUse == WeightUse::updated)
      variablesChanged();
  }

  void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                   int64_t grain) override {
    if (!reserves)
      team.parallelFor(kernel, arguments, count, grain);
  }

  // Each thread takes its part of all grains, which cost about the same, launch after launch.
  void parallelForAll(const mpc_rt_launch_t *launches, uint32_t count) override {
    if (reserves)
      return;
    auto grainsOf = [](const mpc_rt_launch_t &launch) {
      return launch.count > 0 ? 1 + (launch.count - 1) / std::max<int64_t>(launch.grain, 1) : 0;
    };
    int64_t grains = 0;
    for (uint32_t i = 0; i < count; ++i)
      grains += grainsOf(launches[i]);
    team.forRange(grains, /*grain=*/1, [&](int64_t begin, int64_t end) {
      for (uint32_t i = 0; i < count; ++i) {
        const mpc_rt_launch_t &launch = launches[i];
        const int64_t own = grainsOf(launch), grain = std::max<int64_t>(launch.grain, 1);
        const int64_t first = std::clamp<int64_t>(begin, 0, own);
        const int64_t last = std::clamp<int64_t>(end, 0, own);
        if (first < last)
          launch.kernel(launch.arguments, first * grain, std::min(last * grain, launch.count));
        begin -= own;
        end -= own;
      }
    });
  }

  mpc_rt_status_t runRows(const RowLoop &loop) override {
    // Each thread gets this number of rows, since a micro-kernel computes as many at a time. If
    // there are no more rows, threads share large products by columns.
    constexpr int64_t fewestRows = 8, largeProducts = 1 << 21;
    const bool isShared = team.threads() == 1 || loop.count > fewestRows;
    if (ThreadTeam::insideRegion() ||
        !cpuKernels.contractor->prepareRows(loop, isShared ? INT64_MAX : largeProducts,
                                            /*packs=*/!reserves))
      return Driver::runRows(loop);
    if (reserves)
      return MPC_RT_OK;
    std::atomic<int32_t> failure{MPC_RT_OK};
    rowLoop = &loop;
    splitsRows = true;
    // Each part reads all weights in each step, so that there is one per thread.
    const int64_t grain = team.grainOfOneChunk(loop.count, fewestRows);
    team.forRange(loop.count, grain, [&](int64_t begin, int64_t end) {
      if (const int32_t status = loop.body(loop.call, begin, end))
        failure = status;
    });
    splitsRows = false;
    rowLoop = nullptr;
    return static_cast<mpc_rt_status_t>(failure.load());
  }
  void launchRows(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin, int64_t end,
                  int64_t grain) override {
    if (splitsRows)
      kernel(arguments, begin, end);
    else
      Driver::launchRows(kernel, arguments, begin, end, grain);
  }
  mpc_rt_status_t contractRows(uint32_t product, const void *lhs, void *out, int64_t begin,
                               int64_t end) override {
    const mpc_rt_rows_product_t &own = rowLoop->products[product];
    if (splitsRows) {
      cpuKernels.contractor->contractRows(product, lhs, out, begin, end);
      return MPC_RT_OK;
    }
    const mpc_rt_contract_call_t call = contractCall(lhs, own.rhs, own.bias, out, rowLoop->batch);
    Contraction shape;
    if (auto status = resolveContraction(*own.descriptor, call, shape))
      return status;
    return reserves
               ? cpuKernels.contractor->reserveFor(*own.descriptor, shape, call, /*byRows=*/true)
               : cpuKernels.contractor->contract(*own.descriptor, shape, call, /*byRows=*/true);
  }

  mpc_rt_status_t contractMaster(const mpc_rt_contract_t &descriptor,
                                 const mpc_rt_contract_call_t &call, bool &done) override {
    return cpuKernels.contractor->contractMaster(descriptor, call, done);
  }

  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call) override {
    return reserves ? cpuKernels.convolver->reserveFor(descriptor, call)
                    : cpuKernels.convolver->convolve(descriptor, call);
  }
  // Micro-kernels compute attention, or loops where there are none.
  mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor,
                         const mpc_rt_attend_call_t &call) override {
    Attention shape;
    if (auto status = resolveAttention(descriptor, call, shape))
      return status;
    const char *kernel = cpuKernels.attender->kernelOf(shape);
    cpuKernels.log.note(descriptor.id, call.batch, descriptor.layer, shape, shape.isGradient,
                        kernel ? kernel : "loop", cpuKernels.attender->reasonOf(shape));
    if (reserves) {
      if (kernel)
        cpuKernels.attender->reserveFor(shape, shape.isGradient);
      return MPC_RT_OK;
    }
    if (!kernel)
      return Driver::attend(descriptor, call);
    if (shape.isGradient)
      cpuKernels.attender->attendGradient(shape, gradientOperandsOf(descriptor, call));
    else
      cpuKernels.attender->attend(shape, operandsOf(descriptor, call));
    return MPC_RT_OK;
  }

  bool setReserving(bool wanted) noexcept override {
    reserves = wanted;
    return true;
  }

  KernelSelection &kernels() noexcept override { return cpuKernels; }
  mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                      uint32_t variableCount, uint64_t arenaBytes,
                      const DeviceTensors *onDevice) override {
    prepared.begin(&entry);
    return Driver::run(entry, call, variableCount, arenaBytes, onDevice);
  }

  // Values of weights alone are computed again where these have changed.
  mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                          void *&memory) override {
    return prepared.prepare(call, fill, bytes, /*keeps=*/!reserves, memory);
  }

  void variablesChanged() noexcept override {
    prepared.variablesChanged();
    cpuKernels.forgetWeights();
  }
  uint64_t libraryBytes() const noexcept override { return cpuKernels.bytes() + prepared.bytes(); }

protected:
  mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call) override {
    return reserves ? cpuKernels.contractor->reserveFor(descriptor, shape, call)
                    : cpuKernels.contractor->contract(descriptor, shape, call);
  }
  bool takes(const Contraction &shape, const mpc_rt_contract_call_t &call) const override {
    return Contractor::takes(shape, call);
  }

private:
  ThreadTeam team;
  CpuKernels cpuKernels;
  PreparedWeights prepared{[] { return std::make_unique<PreparedOnHost>(); }};
  bool reserves = false;   // instead of computing
  bool splitsRows = false; // a loop runs whose threads have rows of their own
  WeightUse weightUse = WeightUse::updated;
};

} // namespace

std::unique_ptr<Driver> makeCpuDriver(const DriverOptions &options) {
  return std::make_unique<CpuDriver>(options);
}

} // namespace mpc::rt
