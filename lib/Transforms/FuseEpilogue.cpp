// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bias and relu in the epilogue of the contraction. mpc.contract defines its epilogue as the
// roundings of the separate ops, so that the result is the same bit for bit.
#include "Fusion.h"

using namespace mlir;
using namespace mpc;

/// The vector that is added to the contraction's last dimension, or why there is none.
static FailureOr<Value> biasOf(ContractOp contract, AddOp add, StringRef &reason) {
  Value product = contract.getResult();
  Value bias = add.getLhs() == product ? add.getRhs() : add.getLhs();
  auto type = tensorTypeOf(bias);
  if (bias == product)
    reason = "the product is added to itself";
  else if (type.getRank() != 1 || type.getDimSize(0) != contract.getType().getShape().back())
    reason = "what is added is no vector along the last dimension";
  else if (contract.getRhsFree().size() != 1)
    reason = "the last dimension is not the only free one of the right operand";
  else
    return bias;
  return failure();
}

/// Puts `contract` with the given epilogue where `last`, the op that it absorbs, stands.
static ContractOp replaceWithEpilogue(IRRewriter &rewriter, ContractOp contract, Operation *last,
                                      Value bias, Activation activation) {
  rewriter.setInsertionPoint(last);
  auto fused = ContractOp::create(
      rewriter, contract.getLoc(), contract.getType(), contract.getLhs(), contract.getRhs(), bias,
      contract.getLhsBatch(), contract.getRhsBatch(), contract.getLhsContracting(),
      contract.getRhsContracting(), contract.getAccumulateAttr(), activation);
  rewriter.replaceOp(last, fused.getResult());
  rewriter.eraseOp(contract);
  return fused;
}

void mpc::fuseEpilogue(IRRewriter &rewriter, ContractOp contract) {
  if (contract.getActivation() != Activation::None)
    return;
  Value product = contract.getResult();
  if (!contract.getBias()) {
    AddOp add;
    for (Operation *user : product.getUsers())
      if (auto candidate = dyn_cast<AddOp>(user))
        add = candidate;
    if (add) {
      StringRef reason = "the product has other uses";
      FailureOr<Value> bias = failure();
      if (product.hasOneUse())
        bias = biasOf(contract, add, reason);
      if (succeeded(bias)) {
        contract = replaceWithEpilogue(rewriter, contract, add, *bias, Activation::None);
        remark::passed(contract.getLoc(), fusionRemark("bias-epilogue"))
            << "bias added by the contraction";
      } else {
        remark::missed(contract.getLoc(), fusionRemark("bias-epilogue"))
            << "addition not in the epilogue: " << reason;
        return;
      }
    }
  }
  product = contract.getResult();
  ReluOp relu;
  for (Operation *user : product.getUsers())
    if (auto candidate = dyn_cast<ReluOp>(user))
      relu = candidate;
  if (!relu)
    return;
  if (!product.hasOneUse()) {
    remark::missed(contract.getLoc(), fusionRemark("relu-epilogue"))
        << "relu not in the epilogue: its operand has other uses";
    return;
  }
  contract = replaceWithEpilogue(rewriter, contract, relu, contract.getBias(), Activation::Relu);
  remark::passed(contract.getLoc(), fusionRemark("relu-epilogue"))
      << "relu applied by the contraction";
}
