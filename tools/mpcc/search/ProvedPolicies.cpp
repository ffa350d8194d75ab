// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/ProvedPolicies.h"
#include "tools/mpcc/search/PolicyFile.h"
#include <cmath>

using namespace mpc;

llvm::Expected<std::map<size_t, std::string>>
ProvedPolicies::findUnproved(const PolicyAssignment &assignment) {
  llvm::Expected<std::string> map = runner.writeMap(writePolicyMap(model, assignment));
  if (!map)
    return map.takeError();
  CompileOptions narrowed = options;
  narrowed.pipeline.policy = *map;
  narrowed.mode = Mode::Infer;
  narrowed.quiet = true;
  narrowed.verbose = false;
  narrowed.explain = Explain::Off;
  std::vector<LayerProof> proofs;
  if (ExitCode code = proveModel(narrowed, ranges, proofs); code != kExitDone)
    return llvm::make_error<PrintedError>(code);
  std::map<size_t, std::string> unproved;
  for (size_t layer = 0; layer < assignment.size(); ++layer)
    for (const LayerProof &proof : proofs) {
      if (!assignment[layer] || proof.layer != model.getLayers()[layer].path)
        continue;
      const llvm::StringRef type = model.getPolicies()[assignment[layer]].getComputeDType();
      if (type == "float16" ? !proof.fitsFloat16 : !std::isfinite(proof.largest))
        unproved[layer] = "its values cannot be shown to fit " + type.str();
    }
  return unproved;
}

llvm::Error ProvedPolicies::restrict(std::vector<std::vector<unsigned>> &allowed,
                                     std::map<std::string, std::string> &refusals) {
  for (bool changes = true; changes;) {
    PolicyAssignment assignment = model.allWide();
    for (size_t layer = 0; layer < allowed.size(); ++layer)
      assignment[layer] = allowed[layer].back();
    llvm::Expected<std::map<size_t, std::string>> unproved = findUnproved(assignment);
    if (!unproved)
      return unproved.takeError();
    for (const auto &[layer, reason] : *unproved) {
      allowed[layer].pop_back();
      refusals[model.getLayers()[layer].path] = reason;
    }
    changes = !unproved->empty();
  }
  return llvm::Error::success();
}
