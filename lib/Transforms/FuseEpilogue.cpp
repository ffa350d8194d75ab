// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bias and relu in the epilogue of a contraction or convolution. These ops define their epilogue as
// the roundings of the separate ops, so that the result is the same bit for bit.
#include "lib/Transforms/Fusion.h"

using namespace mlir;
using namespace mpc;

/// The bias that is added to the product's last dimensions, or why there is none.
static FailureOr<Value> biasOf(EpilogueOpInterface op, AddOp add, StringRef &reason) {
  Value product = op->getResult(0);
  Value bias = add.getLhs() == product ? add.getRhs() : add.getLhs();
  auto type = tensorTypeOf(bias), productType = tensorTypeOf(product);
  const int64_t rank = type.getRank();
  reason = op.findBiasObstacle(rank);
  if (bias == product)
    reason = "the product is added to itself";
  else if (rank == 0 || rank >= productType.getRank() || !type.hasStaticShape() ||
           type.getShape() != productType.getShape().take_back(rank))
    reason = "what is added is no vector along the last dimension";
  else if (reason.empty())
    return bias;
  return failure();
}

/// Puts `op` with the given epilogue where `last`, the op that it absorbs, stands.
static EpilogueOpInterface replaceWithEpilogue(IRRewriter &rewriter, EpilogueOpInterface op,
                                               Operation *last, Value bias, Activation activation) {
  rewriter.setInsertionPoint(last);
  Operation *fused = op.createWithEpilogue(rewriter, bias, activation);
  rewriter.replaceOp(last, fused->getResults());
  rewriter.eraseOp(op);
  return cast<EpilogueOpInterface>(fused);
}

void mpc::fuseEpilogue(IRRewriter &rewriter, EpilogueOpInterface op) {
  if (op.getEpilogueActivation() != Activation::None)
    return;
  Value product = op->getResult(0);
  if (!op.getEpilogueBias()) {
    AddOp add;
    for (Operation *user : product.getUsers())
      if (auto candidate = dyn_cast<AddOp>(user))
        add = candidate;
    if (add) {
      StringRef reason = "the product has other uses";
      FailureOr<Value> bias = failure();
      if (product.hasOneUse())
        bias = biasOf(op, add, reason);
      if (succeeded(bias)) {
        op = replaceWithEpilogue(rewriter, op, add, *bias, Activation::None);
        remark::passed(op.getLoc(), fusionRemark("bias-epilogue"))
            << ("bias added by " + op->getName().getStringRef()).str();
      } else {
        remark::missed(op.getLoc(), fusionRemark("bias-epilogue"))
            << "addition not in the epilogue: " << reason;
        return;
      }
    }
  }
  product = op->getResult(0);
  ReluOp relu;
  for (Operation *user : product.getUsers())
    if (auto candidate = dyn_cast<ReluOp>(user))
      relu = candidate;
  if (!relu)
    return;
  if (!product.hasOneUse()) {
    remark::missed(op.getLoc(), fusionRemark("relu-epilogue"))
        << "relu not in the epilogue: its operand has other uses";
    return;
  }
  op = replaceWithEpilogue(rewriter, op, relu, op.getEpilogueBias(), Activation::Relu);
  remark::passed(op.getLoc(), fusionRemark("relu-epilogue"))
      << ("relu applied by " + op->getName().getStringRef()).str();
}
