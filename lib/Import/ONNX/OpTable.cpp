// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/OpTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace mpc::onnx {

using TableFn = llvm::ArrayRef<OpEntry> (*)();

static constexpr TableFn kTables[] = {
    getElementwiseOps,
    getLogicOps,
    getActivationOps,
    getReductionOps,
    getMovementOps,
    getShapeOps,
    getContractionOps,
    getConvolutionOps,
    getPoolingOps,
    getNormalizationOps,
    getIndexingOps,
    getLossOps,
    getQuantizationOps,
    getRecurrentOps,
    getControlOps,
    getSequenceOps,
    getPaddingOps,
    getResizeOps,
    getAttentionOps,
    getQuantizedConvolutionOps,
    getSequentialOps,
    getTrainingOps,
    getRandomOps,
    getSelectionOps,
    getUniqueOps,
    getFourierOps,
    getSamplingOps,
    getUnpoolingOps,
    getQuantizedArithmeticOps,
    getFlexAttentionOps,
    getGradientOps,
    getFeatureOps,
    getDeformedOps,
    getSoftmaxAttentionOps,
};

const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  static const llvm::StringMap<llvm::SmallVector<const OpEntry *, 1>> byName = [] {
    llvm::StringMap<llvm::SmallVector<const OpEntry *, 1>> rows;
    for (TableFn table : kTables)
      for (const OpEntry &entry : table())
        rows[entry.name].push_back(&entry);
    return rows;
  }();
  const OpEntry *best = nullptr;
  auto found = byName.find(name);
  if (found == byName.end())
    return nullptr;
  for (const OpEntry *entry : found->second)
    if (entry->domain == domain && entry->since <= opset && (!best || entry->since > best->since))
      best = entry;
  return best;
}

} // namespace mpc::onnx
