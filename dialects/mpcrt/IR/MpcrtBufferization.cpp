// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How one-shot bufferize treats library calls and scatters: in place in `out`. The old content of a
// call's counts as read only when the result is added to it.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mpc::mpcrt;

static bool addsToOut(ContractOp op) { return op.getAccumulate(); }
static bool addsToOut(ConvolveOp) { return false; }

namespace {
/// `Op` has operands lhs, rhs, bias and out.
template <typename Op>
struct LibraryCallBufferization
    : public DstBufferizableOpInterfaceExternalModel<LibraryCallBufferization<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    auto call = cast<Op>(op);
    return !call.isDpsInit(&operand) || addsToOut(call);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto call = cast<Op>(op);
    if (call.isBufferized())
      return success();
    SmallVector<Value> buffers;
    for (OpOperand &operand : op->getOpOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    // The library takes dense operands: a strided view (a slice) is copied, before or after.
    Value out = buffers.back();
    for (auto [operand, buffer] : llvm::zip_equal(op->getOpOperands(), buffers)) {
      if (cast<MemRefType>(buffer.getType()).getLayout().isIdentity())
        continue;
      Value strided = buffer;
      buffer = allocateLike(rewriter, op->getLoc(), strided);
      if (!call.isDpsInit(&operand) || addsToOut(call))
        memref::CopyOp::create(rewriter, op->getLoc(), strided, buffer);
    }
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(), op->getAttrs());
    rewriter.create(onBuffers);
    if (buffers.back() != out)
      memref::CopyOp::create(rewriter, op->getLoc(), buffers.back(), out);
    replaceOpWithBufferizedValues(rewriter, op, out);
    return success();
  }

private:
  static Value allocateLike(OpBuilder &builder, Location loc, Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<Value> extents;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        extents.push_back(memref::DimOp::create(builder, loc, buffer, dim));
    return memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()), extents);
  }
};

/// Views with static strides are fine: the op becomes loops.
struct ScatterAddBufferization
    : public DstBufferizableOpInterfaceExternalModel<ScatterAddBufferization, ScatterAddOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto scatter = cast<ScatterAddOp>(op);
    if (scatter.isBufferized())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : scatter.getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    ScatterAddOp::create(rewriter, op->getLoc(), TypeRange(), buffers[0], buffers[1], buffers[2]);
    replaceOpWithBufferizedValues(rewriter, op, buffers[2]);
    return success();
  }
};
} // namespace

void mpc::mpcrt::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MpcrtDialect *) {
    ContractOp::attachInterface<LibraryCallBufferization<ContractOp>>(*context);
    ConvolveOp::attachInterface<LibraryCallBufferization<ConvolveOp>>(*context);
    ScatterAddOp::attachInterface<ScatterAddBufferization>(*context);
  });
}
