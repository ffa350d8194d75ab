// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of the phases and the passes of each, with the reason for its place.
#include "mpc/Pipelines/Phases.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mpc;

static const StringRef kPhaseNames[] = {"import", "policy",  "casts",   "autodiff", "scaling",
                                        "fusion", "tensors", "buffers", "kernels",  "module"};

StringRef mpc::getPhaseName(Phase phase) { return kPhaseNames[size_t(phase)]; }

std::optional<Phase> mpc::parsePhase(StringRef name) {
  const auto *it = llvm::find(kPhaseNames, name);
  if (it == std::end(kPhaseNames))
    return std::nullopt;
  return Phase(it - std::begin(kPhaseNames));
}

std::string mpc::listPhases() { return llvm::join(ArrayRef(kPhaseNames), " "); }
