// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes mpc ops at one place, and the constants among their operands.
#ifndef MPC_LIB_IMPORT_COMMON_CONSTANTBUILDER_H
#define MPC_LIB_IMPORT_COMMON_CONSTANTBUILDER_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

class ConstantBuilder {
public:
  ConstantBuilder(mlir::OpBuilder builder, mlir::Location location)
      : builder(builder), location(location) {}

  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)->getResult(0);
  }
  mlir::Value makeConstant(double value);
  /// A floating constant of this shape.
  mlir::Value makeConstant(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values);
  /// A scalar of any element type; a floating one is weak.
  mlir::Value makeScalar(mlir::Type elementType, double value);
  /// A scalar of an integer type, whose lowest bits `value` has.
  mlir::Value makeInteger(mlir::Type elementType, int64_t value);
  /// An int32 constant of this shape.
  mlir::Value makeIndices(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> values);
  mlir::Value makeMask(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<bool> values);
  /// A scalar zero (false) of any element type.
  mlir::Value makeZero(mlir::Type elementType) { return makeScalar(elementType, 0); }

  mlir::OpBuilder builder;
  mlir::Location location;
};

} // namespace mpc

#endif
