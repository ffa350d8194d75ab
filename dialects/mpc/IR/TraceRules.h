// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules that mpc.trace and mpcrt.trace have in common.
#ifndef MPC_DIALECTS_MPC_IR_TRACERULES_H
#define MPC_DIALECTS_MPC_IR_TRACERULES_H

#include "dialects/mpc/IR/Float8.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mpc {

/// Traces write the runtime's record, which no value is.
struct TraceResource : mlir::SideEffects::Resource::Base<TraceResource> {
  llvm::StringRef getName() final { return "mpc.trace"; }
};

/// The most sources that a trace names.
inline constexpr unsigned kMostTraceSources = 6;

/// Shapes agree, only a narrowing cast or a rounding to float8 has a value before it, and sources
/// come before the slot.
/// `isChange`: of one type, the value before it is what it was.
template <typename Op> llvm::LogicalResult verifyTrace(Op op, bool isChange = false) {
  auto width = [](mlir::Value value) {
    return mlir::getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  };
  auto shape = [](mlir::Value value) {
    return llvm::cast<mlir::ShapedType>(value.getType()).getShape();
  };
  mlir::Value before = op.getBefore();
  if (isChange && (!before || before.getType() != op.getValue().getType()))
    return op.emitOpError("reports a change, but not from a value of its type");
  if (before) {
    if (shape(before) != shape(op.getValue()))
      return op.emitOpError("has a value before the cast of another shape");
    if (op.getFormat() && before.getType() != op.getValue().getType())
      return op.emitOpError("has a value before it was rounded to float8 of another type");
    if (!isChange && !op.getFormat() && width(before) <= width(op.getValue()))
      return op.emitOpError("has a value before the cast that is no wider than the one after it");
  }
  if (op.getFormat() && !isFloat8(*op.getFormat()))
    return op.emitOpError("has a format that is no float8");
  if (op.getSources().size() > kMostTraceSources)
    return op.emitOpError() << "names " << op.getSources().size() << " sources; at most "
                            << kMostTraceSources << " expected";
  for (int64_t source : op.getSources())
    if (source < 0 || source >= static_cast<int64_t>(op.getSlot()))
      return op.emitOpError() << "has source " << source << "; expected slots before its own, "
                              << op.getSlot();
  return llvm::success();
}

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_TRACERULES_H
