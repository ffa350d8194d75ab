// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Dtype.h"

#include "mpc/Support/Dtype.h"

namespace mpc::keras {

mlir::Type dtypeElement(mlir::Builder &builder, llvm::StringRef dtype) {
  // Python's type, which has 64 bits on TensorFlow.
  return parseDtype(builder.getContext(), dtype == "int" ? "int64" : dtype);
}

std::optional<bool> readFlag(const llvm::json::Value *value) {
  if (!value)
    return std::nullopt;
  if (std::optional<double> number = value->getAsNumber())
    return *number != 0.0;
  return value->getAsBoolean();
}

bool isWrittenAsFloat(const llvm::json::Value &value) {
  // json::Value reads unsigned integers only from what was written as one; of negative numbers it
  // does not show the difference, and whole ones are taken for integers.
  const std::optional<int64_t> integer = value.getAsInteger();
  return value.getAsNumber() && !value.getAsUINT64() && !(integer && *integer < 0);
}

} // namespace mpc::keras
