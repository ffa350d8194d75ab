// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shorthands for LLVM ops in host functions.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_EMITTER_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_EMITTER_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mpc {

/// Builds LLVM ops at one insertion point.
struct Emitter {
  mlir::OpBuilder builder;
  mlir::Location loc;

  mlir::Type pointer() { return mlir::LLVM::LLVMPointerType::get(builder.getContext()); }
  mlir::Value i64(int64_t value) {
    return mlir::LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                          builder.getI64IntegerAttr(value));
  }
  mlir::Value i32(int64_t value) {
    return mlir::LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                          builder.getI32IntegerAttr(value));
  }
  mlir::Value offset(mlir::Value base, int64_t bytes) {
    return mlir::LLVM::GEPOp::create(
        builder, loc, pointer(), builder.getI8Type(), base,
        llvm::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  /// Field of a struct, or element of a table.
  mlir::Value load(mlir::Value base, int64_t bytes, mlir::Type type) {
    return mlir::LLVM::LoadOp::create(builder, loc, type, offset(base, bytes));
  }
  mlir::Value cast(mlir::Value value, mlir::Type type) {
    return value.getType() == type
               ? value
               : mlir::UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_EMITTER_H
