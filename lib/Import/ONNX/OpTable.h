// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations that there are: a row for each and each opset from which it means something else.
#ifndef MPC_LIB_IMPORT_ONNX_OPTABLE_H
#define MPC_LIB_IMPORT_ONNX_OPTABLE_H

#include "mpc/Import/ONNX/Model.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpc::onnx {

class GraphImporter;
class NodeAttributes;
class NodeBuilder;
class Scope;
struct NodeValue;

/// Where an operation takes the open batch.
enum class OpenBatch {
  first,    ///< as the first dimension of a tensor
  anywhere, ///< as any dimension, or a part of one: the import computes with no extent that could
            ///< be it
  moved     ///< and as an extent, too: elements are moved, and nothing is computed with them
};

struct OpEntry {
  llvm::StringLiteral name;
  int64_t since; ///< the opset from which this row holds
  /// Emits the ops of one node into its mpc.layer and sets its results; errors are reported to the
  /// builder.
  void (*import)(NodeBuilder &) = nullptr;
  /// Instead: an operation on values of the graph that no layer computes (a shape, a list, a
  /// branch). False after an error.
  bool (*importWhole)(GraphImporter &, const Node &, Scope &, llvm::StringRef path,
                      const NodeAttributes &) = nullptr;
  OpenBatch batch = OpenBatch::first;
  llvm::StringLiteral domain = "";
  /// `importWhole` knows inputs whose extent a count of values says; those of `import` are followed
  /// through the ops that it emits.
  bool takesBounded = false;
};

// A table for each file in Ops.
llvm::ArrayRef<OpEntry> getElementwiseOps();
llvm::ArrayRef<OpEntry> getLogicOps();
llvm::ArrayRef<OpEntry> getActivationOps();
llvm::ArrayRef<OpEntry> getReductionOps();
llvm::ArrayRef<OpEntry> getMovementOps();
llvm::ArrayRef<OpEntry> getShapeOps();
llvm::ArrayRef<OpEntry> getContractionOps();
llvm::ArrayRef<OpEntry> getConvolutionOps();
llvm::ArrayRef<OpEntry> getPoolingOps();
llvm::ArrayRef<OpEntry> getNormalizationOps();
llvm::ArrayRef<OpEntry> getIndexingOps();
llvm::ArrayRef<OpEntry> getLossOps();
llvm::ArrayRef<OpEntry> getQuantizationOps();
llvm::ArrayRef<OpEntry> getRecurrentOps();
llvm::ArrayRef<OpEntry> getControlOps();
llvm::ArrayRef<OpEntry> getSequenceOps();
llvm::ArrayRef<OpEntry> getPaddingOps();
llvm::ArrayRef<OpEntry> getAttentionOps();
llvm::ArrayRef<OpEntry> getResizeOps();
llvm::ArrayRef<OpEntry> getQuantizedConvolutionOps();
llvm::ArrayRef<OpEntry> getSequentialOps();
llvm::ArrayRef<OpEntry> getTrainingOps();
llvm::ArrayRef<OpEntry> getRandomOps();
llvm::ArrayRef<OpEntry> getSelectionOps();
llvm::ArrayRef<OpEntry> getUniqueOps();
llvm::ArrayRef<OpEntry> getFlexAttentionOps();
llvm::ArrayRef<OpEntry> getFourierOps();
llvm::ArrayRef<OpEntry> getQuantizedArithmeticOps();
llvm::ArrayRef<OpEntry> getSamplingOps();
llvm::ArrayRef<OpEntry> getUnpoolingOps();
llvm::ArrayRef<OpEntry> getGradientOps();
llvm::ArrayRef<OpEntry> getFeatureOps();
llvm::ArrayRef<OpEntry> getDeformedOps();
llvm::ArrayRef<OpEntry> getSoftmaxAttentionOps();

/// Rows of operations that take texts: those without a function do as they do with numbers.
llvm::ArrayRef<OpEntry> getTextOps();

/// The row that holds in `opset`; null where there is none.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset);
/// The row of a node that reads text; most operations have none.
const OpEntry *findTextOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset);

} // namespace mpc::onnx

#endif
