// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU driver: a thread team, and what contracts, convolves and attends on it.
#include "runtime/base/fork_watch.h"
#include "runtime/drivers/cpu/attend/attender.h"
#include "runtime/drivers/cpu/contract/contractor.h"
#include "runtime/drivers/cpu/convolve/convolver.h"
#include "runtime/drivers/driver.h"
#include "runtime/threads/thread_team.h"

#include <algorithm>
#include <atomic>
#include <optional>

namespace mpc::rt {
namespace {

class CpuDriver final : public Driver {
public:
  explicit CpuDriver(const DriverOptions &options) : isa(options.isa), team(options.threads) {
    makeKernels();
  }

  const char *name() const noexcept override { return "cpu"; }
  bool computes() const noexcept override { return true; }
  unsigned threads() const noexcept override { return team.threads(); }
  bool allocate(uint64_t bytes, Buffer &buffer) noexcept override { return buffer.allocate(bytes); }

  mpc_rt_status_t begin(WeightUse use) override {
    followFork();
    weightUse = use;
    contractor->setWeightsConstant(use == WeightUse::constant);
    convolver->setWeightsConstant(use == WeightUse::constant);
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
        !contractor->prepareRows(loop, isShared ? INT64_MAX : largeProducts, /*packs=*/!reserves))
      return Driver::runRows(loop);
    if (reserves)
      return MPC_RT_OK;
    std::atomic<int32_t> failure{MPC_RT_OK};
    rowLoop = &loop;
    splitsRows = true;
    team.forRange(loop.count, fewestRows, [&](int64_t begin, int64_t end) {
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
      contractor->contractRows(product, lhs, out, begin, end);
      return MPC_RT_OK;
    }
    const mpc_rt_contract_call_t call = contractCall(lhs, own.rhs, own.bias, out, rowLoop->batch);
    Contraction shape;
    if (auto status = resolveContraction(*own.descriptor, call, shape))
      return status;
    return reserves ? contractor->reserveFor(*own.descriptor, shape, call, /*byRows=*/true)
                    : contractor->contract(*own.descriptor, shape, call, /*byRows=*/true);
  }

  mpc_rt_status_t contractMaster(const mpc_rt_contract_t &descriptor,
                                 const mpc_rt_contract_call_t &call, bool &done) override {
    return contractor->contractMaster(descriptor, call, done);
  }

  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call) override {
    return reserves ? convolver->reserveFor(descriptor, call.lhs, call.rhs, call.bias, call.out,
                                            call.batch)
                    : convolver->convolve(descriptor, call.lhs, call.rhs, call.bias, call.out,
                                          call.batch);
  }
  // Micro-kernels compute attention, or loops where there are none.
  mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor,
                         const mpc_rt_attend_call_t &call) override {
    Attention shape;
    if (auto status = resolveAttention(descriptor, call, shape))
      return status;
    const char *kernel = attender->kernelOf(shape);
    log.note(descriptor.id, call.batch, descriptor.layer, shape, shape.isGradient,
             kernel ? kernel : "loop", attender->reasonOf(shape));
    if (reserves) {
      if (kernel)
        attender->reserveFor(shape, shape.isGradient);
      return MPC_RT_OK;
    }
    if (!kernel)
      return Driver::attend(descriptor, call);
    if (shape.isGradient)
      attender->attendGradient(shape, gradientOperandsOf(descriptor, call));
    else
      attender->attend(shape, operandsOf(descriptor, call));
    return MPC_RT_OK;
  }

  bool setReserving(bool wanted) noexcept override {
    reserves = wanted;
    return true;
  }

  void tune() noexcept override {
    choices.startMeasuring();
    forgetPlans();
  }
  std::string kernelChoices() const override { return choices.text(); }
  mpc_rt_status_t setKernelChoices(const char *text) override {
    KernelChoices wanted = choices;
    if (!wanted.parse(text))
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "choices of kernels: expected lines of [convolution] ID BATCH kept|changing "
                  "KERNEL, as mpc_rt_context_kernel_choices gives");
    for (auto &[product, kernel] : wanted.all()) {
      const bool has = product.operation == KernelChoices::Operation::convolution
                           ? convolver->hasKernel(kernel)
                           : contractor->hasKernel(kernel);
      if (kernel != libraryKernel && !has)
        return fail(MPC_RT_UNAVAILABLE,
                    "choices of kernels: '%s' does not run on this CPU; measure here again",
                    kernel.c_str());
    }
    choices = std::move(wanted);
    forgetPlans();
    return MPC_RT_OK;
  }
  void recordKernels() noexcept override { log.start(); }
  std::string usedKernels() const override { return log.text(); }

  void variablesChanged() noexcept override {
    contractor->forgetWeights();
    convolver->forgetWeights();
  }
  uint64_t libraryBytes() const noexcept override {
    return contractor->bytes() + convolver->bytes() + attender->bytes();
  }

protected:
  mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call) override {
    return reserves ? contractor->reserveFor(descriptor, shape, call)
                    : contractor->contract(descriptor, shape, call);
  }
  bool takes(const Contraction &shape, const mpc_rt_contract_call_t &call) const override {
    return Contractor::takes(shape, call);
  }

private:
  void makeKernels() {
    contractor.emplace(team, isa, choices, log);
    convolver.emplace(team, isa, choices, log);
    attender.emplace(team, isa, onednn::hasNativeBFloat16());
    forks = forksSeen();
    isForkedThread = cameOutOfFork();
  }
  // oneDNN's primitives are made for a number of threads, of which a fork leaves one: what the
  // parent made, or another thread of the child, is made again.
  void followFork() {
    if (forks != forksSeen() || isForkedThread != cameOutOfFork())
      makeKernels();
  }
  void forgetPlans() noexcept {
    contractor->forgetPlans();
    convolver->forgetPlans();
  }

  const int isa;
  ThreadTeam team;
  KernelChoices choices;
  KernelLog log;
  std::optional<Contractor> contractor;
  std::optional<Convolver> convolver;
  std::optional<Attender> attender;
  unsigned forks = 0;
  bool isForkedThread = false;
  bool reserves = false;   // instead of computing
  bool splitsRows = false; // a loop runs whose threads have rows of their own
  WeightUse weightUse = WeightUse::updated;
};

} // namespace

std::unique_ptr<Driver> makeCpuDriver(const DriverOptions &options) {
  return std::make_unique<CpuDriver>(options);
}

} // namespace mpc::rt
