// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops around a softmax that mpc-form-attention looks for.
#ifndef MPC_LIB_TRANSFORMS_ATTENTIONMATCH_H
#define MPC_LIB_TRANSFORMS_ATTENTIONMATCH_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// The ops from queries and keys to the product with values.
struct AttentionMatch {
  ContractOp scores;
  double scale = 1;
  SelectOp hiding; ///< of scores from the softmax; null without
  bool causal = false;
  mlir::Value mask; ///< what else tells which sources count; broadcasts to the scores
  mlir::FloatAttr
      hiddenScore;   ///< of the sources that do not, whose probabilities become 0; or null
  DropoutOp dropout; ///< of the probabilities; null without
  ContractOp product;
  TransposeOp transpose; ///< back to [batch, targets, heads, width]; null for one head
};

/// Whether the softmax is of products of rows with rows, for each sample (and head). `obstacle`
/// then says why the target has no attention of this kind, or what stands in it that attention has
/// not; else it stays empty.
bool matchAttention(SoftmaxOp softmax, bool isCuda, AttentionMatch &match,
                    llvm::StringRef &obstacle);

/// Whether a head has so many scores, or an unknown number of them.
bool hasScores(ContractOp scores, int64_t fewest);

/// The only op that reads `value`; null when several do.
mlir::Operation *onlyUser(mlir::Value value);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_ATTENTIONMATCH_H
