// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The structs of calls that services take, as include/mpc-rt/services.h declares them.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLSTRUCT_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLSTRUCT_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Emitter.h"
#include "lib/Support/CField.h"

namespace mpc {

/// A struct that generated code fills in memory of the stack, field by field.
class StackStruct {
public:
  /// No value: null.
  void set(CField field, mlir::Value value) {
    if (value)
      fields.push_back({field, value});
  }
  /// Stores the fields, null between them, and the size in front if the struct begins with it: it
  /// ends behind the last field that is set, but has `minimum` bytes. Returns the address. The
  /// memory is taken in `prologue`: a call in a loop must not grow the stack.
  mlir::Value store(Emitter &emit, mlir::Block *prologue, size_t minimum, bool startsWithSize);

private:
  llvm::SmallVector<std::pair<CField, mlir::Value>> fields;
};

/// A field of a call's struct holds the address of a buffer, the batch, the address of a kernel on
/// the result, or a number.
struct CallField {
  enum class Holds { buffer, batch, kernel, number };
  CField field;
  Holds holds;
  mlir::Value buffer;
  int64_t number = 0;
};

/// The fields that a call sets, and how many bytes its struct has at least.
struct CallFields {
  llvm::SmallVector<CallField> fields;
  size_t minimum = 0;
};
CallFields fieldsOf(mlir::Operation *op, bool hasKernel);

/// The address of the struct of this call, filled; `batch` is the call's, `kernel` the address of
/// an mpc_rt_result_kernel_t, or null.
mlir::Value storeCall(Emitter &emit, mlir::Block *prologue, mlir::Operation *op, mlir::Value batch,
                      mlir::Value kernel);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLSTRUCT_H
