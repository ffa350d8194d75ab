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

static const OpEntry *findBest(llvm::ArrayRef<const OpEntry *> rows, llvm::StringRef domain,
                               int64_t opset) {
  const OpEntry *best = nullptr;
  for (const OpEntry *entry : rows)
    if (entry->domain == domain && entry->since <= opset && (!best || entry->since > best->since))
      best = entry;
  return best;
}

const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  static const llvm::StringMap<llvm::SmallVector<const OpEntry *, 1>> byName = [] {
    llvm::StringMap<llvm::SmallVector<const OpEntry *, 1>> rows;
    for (TableFn table : kTables)
      for (const OpEntry &entry : table())
        rows[entry.name].push_back(&entry);
    return rows;
  }();
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : findBest(found->second, domain, opset);
}

const OpEntry *findTextOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  llvm::SmallVector<const OpEntry *, 1> rows;
  for (const OpEntry &entry : getTextOps())
    if (entry.name == name)
      rows.push_back(&entry);
  const OpEntry *best = findBest(rows, domain, opset);
  return best && !best->import && !best->importWhole ? findOp(domain, name, opset) : best;
}

} // namespace mpc::onnx
