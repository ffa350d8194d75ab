// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-finite-test: the test whether a gradient is finite, in the contraction that produces it.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSEFINITETEST
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Whether the op is the maximum over all elements' bit patterns without the sign, from 0 on.
static bool isLargestMagnitude(GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != 0 || !op.getIndexingMapsArray()[0].isIdentity())
    return false;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_Zero()))
    return false;
  Value element = op.getRegionInputArgs()[0], most = op.getRegionOutputArgs()[0];
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  auto maximum = yield.getValues()[0].getDefiningOp<arith::MaxUIOp>();
  if (!maximum || (maximum.getLhs() != most && maximum.getRhs() != most))
    return false;
  Value magnitude = maximum.getLhs() == most ? maximum.getRhs() : maximum.getLhs();
  auto mask = magnitude.getDefiningOp<arith::AndIOp>();
  llvm::APInt kept;
  if (!mask || !matchPattern(mask.getRhs(), m_ConstantInt(&kept)) || !kept.isMaxSignedValue())
    return false;
  auto bits = mask.getLhs().getDefiningOp<arith::BitcastOp>();
  return bits && bits.getIn() == element;
}

/// The contraction whose result the value is, as it is or in another shape.
static mpcrt::ContractOp producerOf(Value value) {
  value = skipReshapes(value);
  auto contract = value.getDefiningOp<mpcrt::ContractOp>();
  return contract && value == contract.getResult(0) ? contract : mpcrt::ContractOp();
}

static void fuse(IRRewriter &rewriter, GenericOp test) {
  mpcrt::ContractOp contract = producerOf(test.getDpsInputs()[0]);
  auto refuse = [&](StringRef reason) {
    remark::missed(test.getLoc(), fusionRemark("finite-test")) << remark::reason("{0}", reason);
  };
  if (!contract)
    return refuse("the gradient is not what a contraction writes");
  if (contract->getBlock() != test->getBlock())
    return refuse("the contraction runs in a loop");
  if (auto obstacle = contract.findObstacle(mpcrt::ContractPart::Largest))
    return refuse("the contraction " + describe(*obstacle).str());
  rewriter.setInsertionPoint(contract);
  auto bits = cast<RankedTensorType>(test.getResultTypes()[0]);
  Value largest =
      tensor::EmptyOp::create(rewriter, test.getLoc(), bits.getShape(), bits.getElementType());
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.largest = largest;
  auto merged = contract.cloneWith(rewriter, extras);
  remark::passed(contract.getLoc(), fusionRemark("finite-test"))
      << "tested while the contraction's result is in cache";
  rewriter.replaceOp(test, merged.getLargestResult());
  rewriter.replaceOp(contract, merged.getResult(0));
}

namespace {
struct FuseFiniteTestPass : mpc::impl::FuseFiniteTestBase<FuseFiniteTestPass> {
  void runOnModule() override {
    SmallVector<GenericOp> tests;
    getOperation().walk([&](GenericOp op) {
      if (isLargestMagnitude(op))
        tests.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (GenericOp test : tests)
      fuse(rewriter, test);
  }
};
} // namespace
