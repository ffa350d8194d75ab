// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ops IR of a phase can have: what passes ask before they rewrite, in one walk and without
// the phase's verifier, whose contract holds at the end of the phase only.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/PhasePass.h"

using namespace mlir;
using namespace mpc;

/// Namespaces of the dialects beside builtin and func, whose ops all phases have, and mpc.
static ArrayRef<StringRef> dialectsOf(Phase phase) {
  static const StringRef tensors[] = {"affine", "arith", "linalg", "math",
                                      "mpcrt",  "scf",   "tensor"};
  static const StringRef buffers[] = {"affine", "arith", "linalg", "math",
                                      "memref", "mpcrt", "scf"};
  static const StringRef kernels[] = {"arith", "llvm", "math", "memref", "mpcrt", "scf"};
  static const StringRef code[] = {"llvm"};
  switch (phase) {
  case Phase::Tensors:
    return tensors;
  case Phase::Buffers:
    return buffers;
  case Phase::Kernels:
    return kernels;
  case Phase::Module:
    return code;
  default: // graphs are of mpc alone
    return {};
  }
}

LogicalResult mpc::verifyPhaseOfOps(ModuleOp module, Phase phase, StringRef pass) {
  MLIRContext *context = module.getContext();
  llvm::SmallPtrSet<Dialect *, 12> known;
  for (StringRef name : dialectsOf(phase))
    known.insert(context->getLoadedDialect(name));
  known.insert(context->getLoadedDialect("builtin"));
  known.insert(context->getLoadedDialect("func"));
  known.erase(nullptr);
  Dialect *mpcDialect = context->getLoadedDialect<MpcDialect>();
  const bool isGraph = phase < Phase::Tensors;
  auto belongs = [&](Operation *op) {
    Dialect *dialect = op->getDialect();
    // Behind the graph, declarations of variables and of what trains them are left of the dialect.
    if (dialect == mpcDialect)
      return dialect && (isGraph || op->getParentOp() == module);
    // A module in a module has symbols of its own.
    if (isa<ModuleOp>(op))
      return op == module;
    // Code generation makes these of functions; no phase before has them.
    if (phase == Phase::Kernels && isa<FunctionOpInterface>(op))
      return isa<func::FuncOp>(op);
    return known.contains(dialect);
  };
  // From here on passes rewrite entries, and kernels and loops of these, alone.
  auto isLeftAlone = [&](Operation *op) {
    return (phase == Phase::Fusion || phase == Phase::Tensors) && isa<func::FuncOp>(op) &&
           !isEntry(op);
  };
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (isLeftAlone(op))
      return WalkResult::skip();
    if (auto entry = dyn_cast<func::FuncOp>(op);
        entry && isEntry(entry) && !llvm::hasSingleElement(entry.getBody()))
      return op->emitError() << "entry @" << entry.getSymName() << " has several blocks; " << pass
                             << " takes those of one";
    if (belongs(op))
      return WalkResult::advance();
    return op->emitError() << "op '" << op->getName() << "' does not belong to phase "
                           << stringifyPhase(phase) << ", of which " << pass
                           << " takes IR; expected what mpcc --compile-to=" << stringifyPhase(phase)
                           << " prints";
  });
  return failure(result.wasInterrupted());
}
