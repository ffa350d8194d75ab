// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of operations on texts. A text is the last dimension of a tensor of code points.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_TEXTPARTS_H
#define MPC_LIB_IMPORT_ONNX_OPS_TEXTPARTS_H

#include "lib/Import/ONNX/CodePoints.h"
#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// The shape of the tensor of texts.
inline llvm::ArrayRef<int64_t> textShapeOf(mlir::Value texts) {
  return ValueBuilder::shapeOf(texts).drop_back();
}
inline int64_t textWidthOf(mlir::Value texts) { return ValueBuilder::shapeOf(texts).back(); }

/// Input `i`, which must be of texts; null after an error.
mlir::Value getTexts(NodeBuilder &b, unsigned i);

/// Zeros behind the texts up to `width`.
mlir::Value padTexts(NodeBuilder &b, mlir::Value texts, int64_t width);

/// A constant of int32.
mlir::Value makeNumbers(NodeBuilder &b, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> numbers);
mlir::Value makeNumber(NodeBuilder &b, int64_t number);
/// 0, 1, … up to below `count`.
mlir::Value makePlaces(NodeBuilder &b, int64_t count);

/// Texts of attributes as a constant [count, width]; null after an error.
mlir::Value makeTexts(NodeBuilder &b, llvm::ArrayRef<std::string> texts);

/// The table's number of each code point.
mlir::Value lookUp(NodeBuilder &b, mlir::Value points, const CodePointTable &table);

/// How many code points each text has, with a last dimension of 1.
mlir::Value measureTexts(NodeBuilder &b, mlir::Value texts);

/// Whether texts are equal; their shapes broadcast.
mlir::Value compareTexts(NodeBuilder &b, mlir::Value x, mlir::Value y);

/// With a dimension of 1 at `axis`.
mlir::Value insertAxis(NodeBuilder &b, mlir::Value x, int64_t axis);

/// `numbers` of the last axis of `table`, whose other dimensions they share; zeros where an index
/// is behind its end.
mlir::Value takeAlongLast(NodeBuilder &b, mlir::Value table, mlir::Value numbers);

/// 1 where the condition holds, else 0, in int32.
mlir::Value countTrue(NodeBuilder &b, mlir::Value condition);

/// A state of every text, a number, from its first code point to its last.
struct TextScan {
  mlir::Value last;    ///< [texts…]
  mlir::Value outputs; ///< [texts…, code points]
};
/// `step` makes the next state and an output of a state and what `points` has at a place.
TextScan scanTexts(
    NodeBuilder &b, mlir::Value points, int64_t first,
    llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value state, mlir::Value own)>
        step);

/// Result `i`, of which as many along `axis` count as `count` says: the others are zeros.
void setCounted(NodeBuilder &b, unsigned i, mlir::Value value, int64_t axis, mlir::Value count);

/// Along the last axis, the sum of the elements up to each.
mlir::Value sumUpTo(NodeBuilder &b, mlir::Value x);

} // namespace mpc::onnx

#endif
