// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch costs microseconds, and many kernels of a step less: what stands between two library
// calls becomes one kernel.
#include "lib/Codegen/CUDA/LaunchGroups.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc-rt/cuda.h"
#include "mpc/Analysis/BatchExtent.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;
using namespace mpc;

/// Bytes of parameters that every driver takes, with room for alignment.
static constexpr size_t kParameterBytes = 3584;

/// A launch of so many threads fills a GPU: as a stage it would have to do with those that fit with
/// the registers of the hungriest one.
static constexpr int64_t kWideThreads = MPC_RT_CUDA_WIDE_THREADS, kLargeBatch = 16384;

static size_t parameterBytes(func::FuncOp kernel) {
  return 8 * (kernel.getNumArguments() - 1); // begin and end are one count
}

/// Threads of a launch; the batch counts as `batch`.
static int64_t countThreads(mpcrt::LaunchOp launch, unsigned lanes, int64_t batch) {
  auto count = evaluateIndex(launch.getCount());
  return count ? (count->fixed + batch * count->perSample) * lanes : 0;
}

std::vector<SmallVector<func::FuncOp>>
mpc::findLaunchGroups(ModuleOp module, function_ref<unsigned(func::FuncOp)> lanesOf) {
  std::vector<SmallVector<func::FuncOp>> groups;
  std::set<SmallVector<Operation *>> seen;
  SymbolTable symbols(module);
  SmallVector<func::FuncOp> run;
  size_t bytes = 0;
  auto addGroup = [&](SmallVector<func::FuncOp> group) {
    SmallVector<Operation *> key(group.begin(), group.end());
    if (!group.empty() && seen.insert(key).second)
      groups.push_back(std::move(group));
  };
  auto finish = [&] {
    addGroup(run);
    run.clear();
    bytes = 0;
  };
  module.walk([&](Block *block) {
    auto entry = dyn_cast<func::FuncOp>(block->getParentOp());
    if (entry && entry->hasAttr(mpcrt::MpcrtDialect::kKernelAttr))
      return;
    for (Operation &op : *block) {
      auto launch = dyn_cast<mpcrt::LaunchOp>(op);
      if (!launch) {
        if (!isMemoryEffectFree(&op))
          finish();
        continue;
      }
      auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
      const unsigned lanes = lanesOf(kernel);
      // A launch that fills a GPU with any batch is no stage; one that fills it with a large batch
      // is both, and the runtime decides.
      const bool isAlone = countThreads(launch, lanes, 0) >= kWideThreads;
      if (!isAlone && countThreads(launch, lanes, kLargeBatch) >= kWideThreads)
        addGroup({kernel});
      if (isAlone || bytes + parameterBytes(kernel) > kParameterBytes)
        finish();
      run.push_back(kernel);
      bytes += parameterBytes(kernel);
      if (isAlone)
        finish();
    }
    finish();
  });
  return groups;
}

std::string mpc::printLaunchGroup(StringRef name, ArrayRef<func::FuncOp> group) {
  std::string parameters, stages;
  for (size_t s = 0; s < group.size(); ++s) {
    func::FuncOp kernel = group[s];
    std::string prefix = "s" + std::to_string(s) + "_", arguments;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes().drop_back(2))) {
      std::string argument = prefix + std::to_string(i);
      auto buffer = dyn_cast<MemRefType>(type);
      parameters += buffer ? cudaStorageType(buffer.getElementType()) + " *" + argument + ", "
                           : "const " + cudaType(type) + " " + argument + ", ";
      arguments += argument + ", ";
    }
    parameters += "const index " + prefix + "count,\n    ";
    stages += "  MPC_STAGE(" + std::to_string(s) + ") " + kernel.getSymName().str() + "_body(" +
              arguments + prefix + "count);\n";
  }
  return ("extern \"C\" __global__ void __launch_bounds__(256) " + name + "(" + parameters +
          "const int first_stage, const int end_stage) {\n" + stages + "}\n")
      .str();
}
