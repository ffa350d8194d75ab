// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DLPack's types of what Keras names so.
#include "python/src/dtypes.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace mpc::python {
namespace {

const struct {
  const char *name;
  nb::dlpack::dtype_code code;
  uint8_t bits;
} known[] = {{"float32", nb::dlpack::dtype_code::Float, 32},
             {"float64", nb::dlpack::dtype_code::Float, 64},
             {"float16", nb::dlpack::dtype_code::Float, 16},
             {"bfloat16", nb::dlpack::dtype_code::Bfloat, 16},
             {"bool", nb::dlpack::dtype_code::Bool, 8},
             {"int8", nb::dlpack::dtype_code::Int, 8},
             {"int16", nb::dlpack::dtype_code::Int, 16},
             {"int32", nb::dlpack::dtype_code::Int, 32},
             {"int64", nb::dlpack::dtype_code::Int, 64},
             {"uint8", nb::dlpack::dtype_code::UInt, 8},
             {"uint16", nb::dlpack::dtype_code::UInt, 16},
             {"uint32", nb::dlpack::dtype_code::UInt, 32},
             {"uint64", nb::dlpack::dtype_code::UInt, 64}};

} // namespace

nb::dlpack::dtype dlpackType(const std::string &name) {
  for (const auto &row : known)
    if (name == row.name)
      return {static_cast<uint8_t>(row.code), row.bits, 1};
  refuse("dtype '" + name + "' has no DLPack type");
}

std::string nameOf(nb::dlpack::dtype type) {
  for (const auto &row : known)
    if (static_cast<uint8_t>(row.code) == type.code && row.bits == type.bits && type.lanes == 1)
      return row.name;
  refuse("the tensor has a dtype that models do not take (DLPack code " +
         std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits)");
}

} // namespace mpc::python
