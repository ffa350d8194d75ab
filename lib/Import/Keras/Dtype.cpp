// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dtype.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {

mlir::Type dtypeElement(mlir::Builder &builder, llvm::StringRef dtype) {
  if (mlir::Type floating = llvm::StringSwitch<mlir::Type>(dtype)
                                .Case("float16", builder.getF16Type())
                                .Case("bfloat16", builder.getBF16Type())
                                .Case("float32", builder.getF32Type())
                                .Case("float64", builder.getF64Type())
                                .Default(mlir::Type()))
    return floating;
  if (dtype == "bool")
    return builder.getI1Type();
  if (dtype == "int")
    return builder.getI64Type(); // on TensorFlow
  llvm::StringRef width = dtype;
  const bool isUnsigned = width.consume_front("u");
  unsigned bits = 0;
  if (!width.consume_front("int") || width.getAsInteger(10, bits) ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, bits))
    return {};
  return mlir::IntegerType::get(builder.getContext(), bits,
                                isUnsigned ? mlir::IntegerType::Unsigned
                                           : mlir::IntegerType::Signless);
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
