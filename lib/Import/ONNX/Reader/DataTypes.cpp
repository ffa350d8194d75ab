// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of element types.
#include "mpc/Import/ONNX/DataTypes.h"

using namespace mpc::onnx;

namespace {
struct Row {
  const char *name;
  unsigned bits;
};
} // namespace

/// By the numbers of DataType.
static constexpr Row kRows[] = {
    {"undefined", 0},      {"float", 32},       {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"double", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},        {"int2", 2},           {"float6e2m3", 6},
    {"float6e3m2", 6},
};

static const Row &rowOf(DataType type) {
  const auto number = static_cast<uint32_t>(type);
  return kRows[number < std::size(kRows) ? number : 0];
}

unsigned mpc::onnx::elementBits(DataType type) { return rowOf(type).bits; }

llvm::StringRef mpc::onnx::dataTypeName(DataType type) { return rowOf(type).name; }

std::optional<uint64_t> mpc::onnx::packedBytes(DataType type, uint64_t elements) {
  uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, uint64_t{elementBits(type)}, &bits) || bits > UINT64_MAX - 7)
    return std::nullopt;
  return (bits + 7) / 8;
}

std::optional<mpc_rt_dtype_t> mpc::onnx::storedType(DataType type) {
  switch (type) {
  case DataType::Float:
    return MPC_RT_FLOAT32;
  case DataType::BFloat16:
    return MPC_RT_BFLOAT16;
  case DataType::Float16:
    return MPC_RT_FLOAT16;
  case DataType::Double:
    return MPC_RT_FLOAT64;
  case DataType::Int8:
    return MPC_RT_INT8;
  case DataType::UInt8:
    return MPC_RT_UINT8;
  case DataType::Int16:
    return MPC_RT_INT16;
  case DataType::UInt16:
    return MPC_RT_UINT16;
  case DataType::Int32:
    return MPC_RT_INT32;
  case DataType::UInt32:
    return MPC_RT_UINT32;
  case DataType::Int64:
    return MPC_RT_INT64;
  case DataType::UInt64:
    return MPC_RT_UINT64;
  default:
    return std::nullopt;
  }
}
