// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prelude, constant arrays, kernels.
#include "lib/Codegen/CUDA/KernelSource.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Codegen/CUDA/KernelPrinter.h"
#include "lib/Codegen/CUDA/LaunchGroups.h"
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "lib/Codegen/CUDA/Prelude.h"
#include "lib/Codegen/CUDA/ScalarExpression.h"
#include "lib/Codegen/CUDA/ThreadKernel.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

static std::string signatureOf(func::FuncOp kernel) {
  std::string signature;
  for (Type type : kernel.getArgumentTypes().drop_back(2))
    if (isa<MemRefType>(type))
      signature += 'p';
    else
      signature +=
          char('0' + (type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)));
  return signature;
}

static LogicalResult printGlobal(memref::GlobalOp global, llvm::raw_ostream &os) {
  auto values = dyn_cast_or_null<DenseElementsAttr>(global.getInitialValue().value_or(Attribute()));
  if (!values || !global.getConstant())
    return global.emitOpError("is not a dense constant");
  Type element = values.getElementType();
  os << "__device__ const " << cudaStorageType(element) << " " << global.getSymName() << "["
     << std::max<int64_t>(1, values.getNumElements()) << "] = {";
  for (auto [i, value] : llvm::enumerate(values.getValues<Attribute>()))
    os << (i ? ", " : "") << (i % 8 == 7 ? "\n    " : "") << cudaLiteral(value);
  os << "};\n";
  return success();
}

FailureOr<CudaSource> mpc::printCudaKernels(ModuleOp module, Fp32Precision fp32Precision) {
  CudaSource source;
  std::string kernels;
  llvm::SetVector<StringAttr> globals;
  bool failedOnce = false;
  llvm::MapVector<Operation *, OwningOpRef<func::FuncOp>> threads;
  llvm::DenseMap<Operation *, unsigned> lanes;
  ThreadKernels maker(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(mpcrt::MpcrtDialect::kKernelAttr)) {
      OwningOpRef<func::FuncOp> &thread = threads[kernel] = maker.make(kernel);
      lanes[kernel] = KernelPrinter(*thread).lanes();
    }
  // A kernel that is nowhere launched alone is only a stage.
  auto groups = findLaunchGroups(module, [&](func::FuncOp kernel) { return lanes.at(kernel); });
  llvm::DenseSet<Operation *> alone;
  for (auto &group : groups)
    if (group.size() == 1)
      alone.insert(group.front().kernel);
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::DenseSet<Operation *> stages;
  for (auto &group : groups)
    if (group.size() > 1)
      for (LaunchStage &stage : group)
        stages.insert(stage.kernel);
  for (auto &[operation, thread] : threads) {
    auto kernel = cast<func::FuncOp>(operation);
    numbers[kernel] = source.kernels.size();
    bool isStage = stages.contains(kernel), isAlone = alone.contains(kernel) || !isStage;
    source.kernels.push_back(
        {kernel.getSymName().str(), signatureOf(kernel), !isAlone, lanes.at(kernel)});
    for (bool asStage : {false, true}) {
      if (!(asStage ? isStage : isAlone))
        continue;
      KernelPrinter printer(*thread);
      if (failed(printer.print(asStage))) {
        failedOnce = true;
        break;
      }
      kernels += "\n" + printer.str();
      globals.insert(printer.getGlobals().begin(), printer.getGlobals().end());
    }
  }
  for (auto &group : groups) {
    if (group.size() == 1)
      continue;
    CudaGroup made{"mpc_group_" + std::to_string(source.groups.size()), {}, {}};
    for (LaunchStage &stage : group) {
      made.kernels.push_back(numbers.lookup(stage.kernel));
      made.waits.push_back(stage.waits);
    }
    kernels += "\n" + printLaunchGroup(made.name, group);
    source.groups.push_back(made);
  }
  llvm::raw_string_ostream os(source.text);
  os << getCudaPrelude() << getCudaLibraryKernels(module, fp32Precision);
  for (StringAttr name : globals) {
    os << "\n";
    failedOnce |= failed(printGlobal(module.lookupSymbol<memref::GlobalOp>(name), os));
  }
  os << kernels;
  if (failedOnce)
    return failure();
  return source;
}
