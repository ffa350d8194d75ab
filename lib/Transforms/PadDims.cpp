// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-pad-dims: dimensions of contractions as multiples of what matrix units want. Zeros on both
// sides of the contracted dimensions add nothing to the sums; padded results are sliced off at
// once. Products of integers also get the right operand in the one order that cuBLASLt takes.
#include "Fusion.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_PADDIMS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Tensor Cores read operands in vectors of 16 bytes (CUDA, cuBLAS guide, section 2.1.11).
static constexpr int64_t kCudaVectorBits = 128;

static Value padTo(OpBuilder &builder, Location loc, Value value, int64_t axis, int64_t extent) {
  int64_t high = extent - tensorTypeOf(value).getDimSize(axis);
  if (high == 0)
    return value;
  return PadOp::create(builder, loc, value, axis, /*low=*/0, high, llvm::APFloat(0.0));
}

namespace {
struct PadDims : mpc::impl::PadDimsBase<PadDims> {
  using PadDimsBase::PadDimsBase;

  void runOnOperation() override {
    if (multiple < 0) {
      getOperation().emitError() << "multiple=" << int64_t(multiple)
                                 << ": expected a positive number, or 0";
      return signalPassFailure();
    }
    const bool isCuda = StringRef(target).starts_with("cuda");
    SmallVector<ContractOp> contracts;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(MpcDialect::kEntryAttr))
        function.walk([&](ContractOp contract) { contracts.push_back(contract); });
    IRRewriter rewriter(&getContext());
    for (ContractOp contract : contracts) {
      const unsigned width = elementTypeOf(contract.getLhs()).getIntOrFloatBitWidth();
      if (isCuda && width == 8)
        orderForIntegers(rewriter, contract);
      int64_t step = multiple;
      if (step == 0 && isCuda)
        step = kCudaVectorBits / std::min(width, 16u);
      if (step > 1)
        pad(rewriter, contract, step);
      else
        remark::missed(contract.getLoc(), fusionRemark("not-padded"))
            << "no dimension padded: a CPU gains nothing from it";
    }
  }

  /// Brings the right operand to [batch, free, contracted]: of integers cuBLASLt multiplies rows
  /// with rows only (its "TN" form).
  static void orderForIntegers(IRRewriter &rewriter, ContractOp contract) {
    SmallVector<int64_t> order(contract.getRhsBatch());
    llvm::append_range(order, contract.getRhsFree());
    llvm::append_range(order, contract.getRhsContracting());
    auto type = tensorTypeOf(contract.getRhs());
    if (llvm::is_sorted(order) || !type.hasStaticShape())
      return;
    rewriter.setInsertionPoint(contract);
    Value ordered = TransposeOp::create(rewriter, contract.getLoc(), contract.getRhs(), order);
    auto places = [&](size_t first, size_t count) {
      return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
    };
    const size_t batch = contract.getRhsBatch().size(), sums = contract.getRhsContracting().size();
    rewriter.modifyOpInPlace(contract, [&] {
      contract.getRhsMutable().assign(ordered);
      contract.setRhsBatch(places(0, batch));
      contract.setRhsContracting(places(order.size() - sums, sums));
    });
  }

  static void pad(IRRewriter &rewriter, ContractOp contract, int64_t step) {
    Location loc = contract.getLoc();
    Type element = elementTypeOf(contract.getLhs());
    if (element.getIntOrFloatBitWidth() > 16) {
      remark::missed(loc, fusionRemark("not-padded"))
          << "no dimension padded: only 16-bit and 8-bit operands gain from it";
      return;
    }
    rewriter.setInsertionPoint(contract);
    Value lhs = contract.getLhs(), rhs = contract.getRhs(), bias = contract.getBias();
    auto paddedExtent = [&](StringRef what, RankedTensorType type, int64_t axis) {
      int64_t extent = type.getDimSize(axis);
      if (ShapedType::isDynamic(extent)) {
        remark::missed(loc, fusionRemark("not-padded"))
            << what << " is the batch, known at run time only";
        return extent;
      }
      int64_t target = llvm::alignTo(extent, step);
      if (target != extent)
        remark::passed(loc, fusionRemark("padded"))
            << what << remark::metric("from", extent) << remark::metric("to", target);
      return target;
    };
    // Neighbours in one group would merge into a dimension with holes; each is padded for itself,
    // which keeps the group's extent a multiple too.
    auto lhsType = tensorTypeOf(lhs), rhsType = tensorTypeOf(rhs);
    if (!contract.getLhsContracting().empty()) {
      int64_t l = contract.getLhsContracting().back(), r = contract.getRhsContracting().back();
      int64_t extent = paddedExtent("contracted dimension", lhsType, l);
      if (!ShapedType::isDynamic(extent)) {
        lhs = padTo(rewriter, loc, lhs, l, extent);
        rhs = padTo(rewriter, loc, rhs, r, extent);
      }
    }
    auto padFree = [&](StringRef what, Value &operand, RankedTensorType type,
                       ArrayRef<int64_t> free) {
      if (free.empty())
        return;
      int64_t extent = paddedExtent(what, type, free.back());
      if (!ShapedType::isDynamic(extent))
        operand = padTo(rewriter, loc, operand, free.back(), extent);
    };
    SmallVector<int64_t> lhsFree = contract.getLhsFree(), rhsFree = contract.getRhsFree();
    padFree("free dimension of the left operand", lhs, lhsType, lhsFree);
    padFree("free dimension of the right operand", rhs, rhsType, rhsFree);
    if (lhs == contract.getLhs() && rhs == contract.getRhs())
      return;

    auto type = contract.getType();
    SmallVector<int64_t> shape(type.getShape());
    int64_t lhsAxis = contract.getLhsBatch().size() + lhsFree.size() - 1,
            rhsAxis = type.getRank() - 1;
    if (!lhsFree.empty())
      shape[lhsAxis] = tensorTypeOf(lhs).getDimSize(lhsFree.back());
    if (!rhsFree.empty())
      shape[rhsAxis] = tensorTypeOf(rhs).getDimSize(rhsFree.back());
    if (bias)
      bias = padTo(rewriter, loc, bias, 0, shape.back());
    Value result = ContractOp::create(rewriter, loc, type.clone(shape), lhs, rhs, bias,
                                      contract.getLhsBatch(), contract.getRhsBatch(),
                                      contract.getLhsContracting(), contract.getRhsContracting(),
                                      contract.getAccumulateAttr(), contract.getActivation());
    for (auto [axis, extent] : llvm::enumerate(type.getShape()))
      if (extent != shape[axis])
        result = SliceOp::create(rewriter, loc, result, axis, /*offset=*/0, extent);
    rewriter.replaceOp(contract, result);
  }
};
} // namespace
