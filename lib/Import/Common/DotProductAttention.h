// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The computation that attention layers and keras.ops.dot_product_attention share.
#ifndef MPC_LIB_IMPORT_COMMON_DOTPRODUCTATTENTION_H
#define MPC_LIB_IMPORT_COMMON_DOTPRODUCTATTENTION_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

struct DotProductAttention {
  mlir::Value query, key, value; ///< [batch, places, heads, width]
  mlir::Value bias = {}; ///< added to the logits [batch, heads, targets, sources]; may be null
  mlir::Value mask = {}; ///< i1, broadcasts to the logits; null: everything counts
  double scale = 1.0;
  bool causal = false;

  /// TensorFlow's backend of Keras (nn.py, _dot_product_attention_xla): the logits round to the
  /// common dtype of query, key and value, are scaled, masked and normalised in float32, and the
  /// probabilities round back. Null after an error.
  mlir::Value build(ValueBuilder &b) const;
};

/// Either mask where the other is null, else both.
mlir::Value makeAnd(ValueBuilder &b, mlir::Value lhs, mlir::Value rhs);
/// `value` with each head of dimension 2 repeated `times` times in place.
mlir::Value repeatHeads(ValueBuilder &b, mlir::Value value, int64_t times);

} // namespace mpc

#endif
