// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-form-attention: softmax of products of queries and keys, times values, as one op.
#include "lib/Transforms/AttentionMatch.h"
#include "lib/Transforms/Fusion.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FORMATTENTION
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// [batch, length, width] as one head.
static Value withHeads(IRRewriter &rewriter, Location loc, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  if (type.getRank() == 4)
    return value;
  ArrayRef<int64_t> shape = type.getShape();
  return ReshapeOp::create(rewriter, loc, type.clone({shape[0], shape[1], 1, shape[2]}), value);
}

/// The mask as [batch, heads, targets, sources], with extents of 1 where it had none.
static Value withAllExtents(IRRewriter &rewriter, Location loc, AttentionMatch &match) {
  if (!match.mask)
    return {};
  RankedTensorType type = tensorTypeOf(match.mask);
  SmallVector<int64_t> shape(match.scores.getType().getRank() - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  if (shape.size() == 3)
    shape.insert(shape.begin() + 1, 1);
  if (ArrayRef(shape) == type.getShape())
    return match.mask;
  return ReshapeOp::create(rewriter, loc, type.clone(shape), match.mask);
}

static void form(IRRewriter &rewriter, AttentionMatch &match) {
  ContractOp product = match.product, scores = match.scores;
  Operation *last = match.transpose ? match.transpose.getOperation() : product.getOperation();
  Location loc = product.getLoc();
  rewriter.setInsertionPoint(last);
  auto attention = AttentionOp::create(
      rewriter, loc, withHeads(rewriter, loc, scores.getLhs()),
      withHeads(rewriter, loc, scores.getRhs()), withHeads(rewriter, loc, product.getRhs()),
      withAllExtents(rewriter, loc, match), match.dropout ? match.dropout.getState() : Value(),
      rewriter.getF64FloatAttr(match.scale), match.causal ? rewriter.getUnitAttr() : UnitAttr(),
      match.hiddenScore, match.dropout ? match.dropout.getRateAttr() : FloatAttr(),
      match.dropout ? match.dropout.getStreamAttr() : IntegerAttr());
  Value result = attention.getResult();
  if (result.getType() != last->getResult(0).getType())
    result = ReshapeOp::create(rewriter, loc, last->getResult(0).getType(), result);
  // Each of the ops between has one user.
  SmallVector<Operation *> chain;
  for (Operation *op = scores; op != last; op = onlyUser(op->getResult(0)))
    chain.push_back(op);
  rewriter.replaceOp(last, result);
  for (Operation *op : llvm::reverse(chain))
    rewriter.eraseOp(op);
}

namespace {
struct FormAttentionPass : mpc::impl::FormAttentionBase<FormAttentionPass> {
  using FormAttentionBase::FormAttentionBase;

  void runOnModule() override {
    const bool isCuda = device == Device::cuda;
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<SoftmaxOp> candidates;
      // The bodies of loops over time stay as they are.
      for (Block &block : function.getBody())
        llvm::append_range(candidates, block.getOps<SoftmaxOp>());
      for (SoftmaxOp softmax : candidates) {
        AttentionMatch match;
        StringRef obstacle;
        if (!matchAttention(softmax, isCuda, match, obstacle))
          continue;
        const bool isWide = elementTypeOf(match.scores.getResult()).isF32();
        if (obstacle.empty() && !isCuda &&
            !hasScores(match.scores, late && isWide ? fewestWideScores : fewestScores))
          obstacle = "its heads have few scores";
        Location loc = match.scores.getLoc();
        if (!obstacle.empty() && late)
          continue;
        if (!obstacle.empty()) {
          remark::missed(loc, fusionRemark("attention"))
              << "attention is products and a softmax: " << obstacle;
          continue;
        }
        remark::passed(loc, fusionRemark("attention"))
            << (Twine("attention is one call") + (late ? " where nothing trains" : "") +
                (match.dropout ? ": of its scores a byte each in memory, for dropout"
                               : ": no scores in memory") +
                (isCuda ? " where cuDNN has an engine for it" : ""))
                   .str();
        form(rewriter, match);
      }
    }
  }
};
} // namespace
