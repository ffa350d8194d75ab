// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch costs microseconds, and many kernels of a step less: what stands between two library
// calls becomes one kernel.
#include "lib/Codegen/CUDA/LaunchGroups.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/LaunchWidth.h"
#include "llvm/ADT/SetVector.h"
#include <set>

using namespace mlir;
using namespace mpc;

/// Bytes of parameters that every driver takes, with room for alignment.
static constexpr size_t kParameterBytes = 3584;

static size_t parameterBytes(func::FuncOp kernel) {
  return 8 * (kernel.getNumArguments() - 1); // begin and end are one count
}

bool LaunchStage::operator<(const LaunchStage &other) const {
  return std::pair(kernel.getAsOpaquePointer(), waits) <
         std::pair(other.kernel.getAsOpaquePointer(), other.waits);
}

std::vector<SmallVector<LaunchStage>>
mpc::findLaunchGroups(ModuleOp module, function_ref<unsigned(func::FuncOp)> lanesOf) {
  std::vector<SmallVector<LaunchStage>> groups;
  std::set<SmallVector<LaunchStage>> seen;
  SymbolTable symbols(module);
  SmallVector<LaunchStage> run;
  size_t bytes = 0;
  auto addGroup = [&](SmallVector<LaunchStage> group) {
    if (group.empty())
      return;
    group.front().waits = true; // a kernel begins with it
    if (seen.insert(group).second)
      groups.push_back(std::move(group));
  };
  auto finish = [&] {
    addGroup(run);
    run.clear();
    bytes = 0;
  };
  auto addLaunch = [&](mpcrt::LaunchOp launch, bool waits) {
    auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
    const LaunchStage stage{kernel, waits, lanesOf(kernel)};
    // A launch that fills a GPU with any batch is no stage; one that fills it with a large batch is
    // both, and the runtime decides.
    const LaunchWidth width = launchWidthOf(launch, stage.lanes);
    const bool isAlone = width == LaunchWidth::wide;
    if (width == LaunchWidth::wideForLargeBatch)
      addGroup({stage});
    if (isAlone || bytes + parameterBytes(kernel) > kParameterBytes)
      finish();
    run.push_back(stage);
    bytes += parameterBytes(kernel);
    if (isAlone)
      finish();
  };
  module.walk([&](Block *block) {
    auto entry = dyn_cast<func::FuncOp>(block->getParentOp());
    if (isa<mpcrt::LaunchAllOp>(block->getParentOp()) ||
        (entry && entry->hasAttr(mpcrt::MpcrtDialect::kKernelAttr)))
      return;
    for (Operation &op : *block) {
      if (auto all = dyn_cast<mpcrt::LaunchAllOp>(op)) {
        bool waits = true;
        for (auto launch : all.getBody().getOps<mpcrt::LaunchOp>())
          addLaunch(launch, std::exchange(waits, false));
      } else if (auto launch = dyn_cast<mpcrt::LaunchOp>(op)) {
        addLaunch(launch, /*waits=*/true);
      } else if (!isMemoryEffectFree(&op)) {
        finish();
      }
    }
    finish();
  });
  return groups;
}

std::string mpc::printLaunchGroup(StringRef name, ArrayRef<LaunchStage> group) {
  std::string parameters, stages;
  for (size_t s = 0; s < group.size(); ++s) {
    func::FuncOp kernel = group[s].kernel;
    const bool isFollowed = s + 1 < group.size() && !group[s + 1].waits;
    std::string prefix = "s" + std::to_string(s) + "_", arguments;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes().drop_back(2))) {
      std::string argument = prefix + std::to_string(i);
      auto buffer = dyn_cast<MemRefType>(type);
      parameters += buffer ? cudaStorageType(buffer.getElementType()) + " *" + argument + ", "
                           : "const " + cudaType(type) + " " + argument + ", ";
      arguments += argument + ", ";
    }
    parameters += "const index " + prefix + "count,\n    ";
    // Stages of a fork begin at blocks of their own, so that they run beside each other.
    const std::string first = group[s].waits ? "0u" : "next_block";
    stages += (group[s].waits ? "  MPC_STAGE(" : "  MPC_BESIDE(") + std::to_string(s) + ") " +
              kernel.getSymName().str() + "_body(" + arguments + prefix + "count, " + first +
              ");\n";
    if (isFollowed)
      stages += "  next_block = " + first + " + blocks_of(" + prefix + "count" +
                (group[s].lanes > 1 ? " * " + std::to_string(group[s].lanes) : "") + ");\n";
  }
  return ("extern \"C\" __global__ void __launch_bounds__(256) " + name + "(" + parameters +
          "const int first_stage, const int end_stage) {\n" +
          (llvm::all_of(group, [](const LaunchStage &stage) { return stage.waits; })
               ? ""
               : "  unsigned next_block;\n") +
          stages + "}\n")
      .str();
}
