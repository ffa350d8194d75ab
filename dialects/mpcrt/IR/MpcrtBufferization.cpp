// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How one-shot bufferize treats mpcrt.contract: in place in `out`, whose old content counts as read
// only when the product is added to it.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mpc::mpcrt;

namespace {
struct ContractBufferization
    : public DstBufferizableOpInterfaceExternalModel<ContractBufferization, ContractOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    auto contract = cast<ContractOp>(op);
    return !contract.isDpsInit(&operand) || contract.getAccumulate();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto contract = cast<ContractOp>(op);
    if (contract.isBufferized())
      return success();
    // The library takes dense matrices: a strided view (a slice) is copied first.
    auto dense = [&](Value tensor) -> FailureOr<Value> {
      FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
      if (failed(buffer))
        return failure();
      auto type = cast<MemRefType>(buffer->getType());
      if (type.getLayout().isIdentity())
        return *buffer;
      Value copy = allocateLike(rewriter, op->getLoc(), *buffer);
      memref::CopyOp::create(rewriter, op->getLoc(), *buffer, copy);
      return copy;
    };
    FailureOr<Value> lhs = dense(contract.getLhs()), rhs = dense(contract.getRhs());
    FailureOr<Value> bias =
        contract.getBias() ? dense(contract.getBias()) : FailureOr<Value>(Value());
    FailureOr<Value> out = getBuffer(rewriter, contract.getOut(), options, state);
    if (failed(lhs) || failed(rhs) || failed(bias) || failed(out))
      return failure();
    Value target = *out;
    if (!cast<MemRefType>(target.getType()).getLayout().isIdentity()) {
      target = allocateLike(rewriter, op->getLoc(), *out);
      if (contract.getAccumulate())
        memref::CopyOp::create(rewriter, op->getLoc(), *out, target);
    }
    ContractOp::create(rewriter, op->getLoc(), TypeRange(), *lhs, *rhs, *bias, target,
                       contract.getTransposeLhs(), contract.getTransposeRhs(),
                       contract.getAccumulate(), contract.getActivation(), contract.getLayer());
    if (target != *out)
      memref::CopyOp::create(rewriter, op->getLoc(), target, *out);
    replaceOpWithBufferizedValues(rewriter, op, *out);
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
} // namespace

void mpc::mpcrt::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MpcrtDialect *) {
    ContractOp::attachInterface<ContractBufferization>(*context);
  });
}
