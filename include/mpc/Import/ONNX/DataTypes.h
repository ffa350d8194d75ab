// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and widths of ONNX's element types, by their numbers.
#ifndef MPC_IMPORT_ONNX_DATATYPES_H
#define MPC_IMPORT_ONNX_DATATYPES_H

#include "mpc-rt/dtype.h"
#include "mpc/Import/ONNX/Model.h"

namespace mpc::onnx {

/// Bits of an element in `Tensor::bytes`: less than 8 for packed types, 0 for texts, for undefined
/// types and for numbers that no type has.
unsigned elementBits(DataType type);

/// ONNX's name in small letters ("float8e4m3fn"), "undefined" for what has none.
llvm::StringRef dataTypeName(DataType type);

/// Bytes that `elements` packed elements take; none where the number exceeds 64 bits.
std::optional<uint64_t> packedBytes(DataType type, uint64_t elements);

/// The type that a file of weights stores; nothing for those that it has not.
std::optional<mpc_rt_dtype_t> storedType(DataType type);

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_DATATYPES_H
