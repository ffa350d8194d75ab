// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How one-shot bufferize treats library calls, concatenations and scatters: in place in their
// destinations.
#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mpc::mpcrt;

static Value allocateLike(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> extents;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      extents.push_back(memref::DimOp::create(builder, loc, buffer, dim));
  return memref::AllocOp::create(builder, loc,
                                 MemRefType::get(type.getShape(), type.getElementType()), extents);
}

namespace {
template <typename Op>
struct ServiceCallBufferization
    : public DstBufferizableOpInterfaceExternalModel<ServiceCallBufferization<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return isRead(op, operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto destination = cast<DestinationStyleOpInterface>(op);
    if (cast<BufferizedCallOpInterface>(op).isBufferized())
      return success();
    // The library takes dense operands: a strided view (some slices) is copied, before or after.
    SmallVector<Value> buffers, results;
    SmallVector<std::pair<Value, Value>> copiesAfter;
    for (OpOperand &operand : op->getOpOperands()) {
      const bool isInit = destination.isDpsInit(&operand);
      OpBuilder::InsertionGuard guard(rewriter);
      if (!isInit)
        rewriter.setInsertionPoint(findPlaceOfCopy(operand));
      FailureOr<Value> buffer = getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
      if (isInit)
        results.push_back(*buffer);
      if (mpc::mpcrt::detail::isDense(cast<MemRefType>(buffer->getType()), isInit))
        continue;
      buffers.back() = allocateLike(rewriter, op->getLoc(), *buffer);
      if (isRead(op, operand))
        memref::CopyOp::create(rewriter, op->getLoc(), *buffer, buffers.back());
      if (isInit)
        copiesAfter.emplace_back(buffers.back(), *buffer);
    }
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(), op->getAttrs());
    rewriter.create(onBuffers);
    for (auto [from, to] : copiesAfter)
      memref::CopyOp::create(rewriter, op->getLoc(), from, to);
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }

private:
  /// In front of the loops that the operand does not depend on: from its definition to its last
  /// use its buffer holds the value.
  static Operation *findPlaceOfCopy(OpOperand &operand) {
    Operation *outermost = operand.getOwner();
    while (auto loop = outermost->getParentOfType<LoopLikeOpInterface>()) {
      if (!loop.isDefinedOutsideOfLoop(operand.get()))
        break;
      outermost = loop;
    }
    return outermost;
  }
  static bool isRead(Operation *op, OpOperand &operand) {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) ||
           cast<BufferizedCallOpInterface>(op).readsInit(operand);
  }
};

/// Reads its operands and writes none of them.
struct TraceBufferization
    : public BufferizableOpInterface::ExternalModel<TraceBufferization, TraceOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    if (isa<MemRefType>(op->getOperand(0).getType()))
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
      if (mpc::mpcrt::detail::isDense(cast<MemRefType>(buffer->getType()), /*isInit=*/false))
        continue;
      buffers.back() = allocateLike(rewriter, op->getLoc(), *buffer);
      memref::CopyOp::create(rewriter, op->getLoc(), *buffer, buffers.back());
    }
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(), op->getAttrs());
    rewriter.create(onBuffers);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Views with static strides are fine: the op becomes loops or copies.
template <typename Op>
struct StridedBufferization
    : public DstBufferizableOpInterfaceExternalModel<StridedBufferization<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) ||
           cast<BufferizedCallOpInterface>(op).readsInit(operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    if (cast<BufferizedCallOpInterface>(op).isBufferized())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    OperationState onBuffers(op->getLoc(), op->getName(), buffers, TypeRange(), op->getAttrs());
    rewriter.create(onBuffers);
    // The one destination is the last operand.
    replaceOpWithBufferizedValues(rewriter, op, buffers.back());
    return success();
  }
};
} // namespace

void mpc::mpcrt::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MpcrtDialect *) {
    ContractOp::attachInterface<ServiceCallBufferization<ContractOp>>(*context);
    ConvolveOp::attachInterface<ServiceCallBufferization<ConvolveOp>>(*context);
    AttendOp::attachInterface<ServiceCallBufferization<AttendOp>>(*context);
    AttendGradientOp::attachInterface<ServiceCallBufferization<AttendGradientOp>>(*context);
    TraceOp::attachInterface<TraceBufferization>(*context);
    AllReduceOp::attachInterface<ServiceCallBufferization<AllReduceOp>>(*context);
    ConcatenateOp::attachInterface<StridedBufferization<ConcatenateOp>>(*context);
    ScatterAddOp::attachInterface<StridedBufferization<ScatterAddOp>>(*context);
    TurnOp::attachInterface<ServiceCallBufferization<TurnOp>>(*context);
    CompactOp::attachInterface<ServiceCallBufferization<CompactOp>>(*context);
    SelectBoxesOp::attachInterface<ServiceCallBufferization<SelectBoxesOp>>(*context);
  });
}
