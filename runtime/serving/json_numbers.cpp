// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of JSON and their conversion.
#include "runtime/serving/json_numbers.h"

#include "mpc-rt/executable.h"
#include "runtime/data/convert.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mpc::serving {

using data::Array;
using data::Failure;
using data::Result;

uint64_t JsonNumbers::bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

bool JsonNumbers::openArray() {
  const size_t depth = counts_.size() + 1;
  if (depth > MPC_RT_MAX_RANK || (leafDepth_ && depth > leafDepth_))
    return false;
  if (!counts_.empty())
    ++counts_.back();
  counts_.push_back(0);
  if (extents_.size() < depth)
    extents_.push_back(-1);
  return true;
}

bool JsonNumbers::closeArray() {
  int64_t &extent = extents_[counts_.size() - 1];
  const bool fits = extent < 0 || extent == counts_.back();
  extent = counts_.back();
  counts_.pop_back();
  return fits;
}

bool JsonNumbers::add(Kind kind, uint64_t bits) {
  if (counts_.empty() || (leafDepth_ && leafDepth_ != counts_.size()) ||
      counts_.size() != extents_.size())
    return false;
  leafDepth_ = counts_.size();
  ++counts_.back();
  bits_.push_back(bits);
  kinds_.push_back(kind);
  return true;
}

double JsonNumbers::asDouble(size_t index) const {
  if (kinds_[index] == Kind::Signed)
    return static_cast<double>(static_cast<int64_t>(bits_[index]));
  if (kinds_[index] != Kind::Real)
    return static_cast<double>(bits_[index]);
  double value;
  std::memcpy(&value, &bits_[index], sizeof value);
  return value;
}

std::string JsonNumbers::shown(size_t index) const {
  const std::string value = kinds_[index] == Kind::Signed
                                ? std::to_string(static_cast<int64_t>(bits_[index]))
                            : kinds_[index] == Kind::Unsigned ? std::to_string(bits_[index])
                            : kinds_[index] == Kind::Truth    ? bits_[index] ? "true" : "false"
                                                              : std::to_string(asDouble(index));
  return "element " + std::to_string(index) + " is " + value.substr(0, 40);
}

/// Little-endian, as everything that the runtime computes on.
template <typename T> static void put(uint8_t *out, T value) {
  std::memcpy(out, &value, sizeof value);
}

bool JsonNumbers::putInteger(size_t index, mpc_rt_dtype_t dtype, uint8_t *out) const {
  const Kind kind = kinds_[index];
  const uint64_t bits = bits_[index];
  const bool isNegative = kind == Kind::Signed && static_cast<int64_t>(bits) < 0;
  if (kind == Kind::Real || (kind == Kind::Truth && dtype != MPC_RT_BOOL))
    return false;
  auto fit = [&](auto example) {
    using T = decltype(example);
    using Limits = std::numeric_limits<T>;
    if (isNegative
            ? !Limits::is_signed || static_cast<int64_t>(bits) < static_cast<int64_t>(Limits::min())
            : bits > static_cast<uint64_t>(Limits::max()))
      return false;
    put(out, static_cast<T>(bits));
    return true;
  };
  switch (dtype) {
  case MPC_RT_BOOL:
    *out = bits == 1;
    return bits <= 1;
  case MPC_RT_INT8:
    return fit(int8_t());
  case MPC_RT_UINT8:
    return fit(uint8_t());
  case MPC_RT_INT16:
    return fit(int16_t());
  case MPC_RT_UINT16:
    return fit(uint16_t());
  case MPC_RT_INT32:
    return fit(int32_t());
  case MPC_RT_UINT32:
    return fit(uint32_t());
  case MPC_RT_INT64:
    return fit(int64_t());
  case MPC_RT_UINT64:
    return fit(uint64_t());
  default:
    return false;
  }
}

Result<Array> JsonNumbers::toArray(mpc_rt_dtype_t dtype, const std::vector<int64_t> &shape) const {
  const data::DtypeInfo &info = *data::dtypeInfo(dtype);
  const std::optional<uint64_t> bytes = data::byteSize(shape, info.bytes);
  const bool isFlat = extents_.size() == 1;
  if (!bytes || *bytes / info.bytes != bits_.size() || (!isFlat && extents_ != shape))
    return Failure("has " + std::to_string(bits_.size()) + " elements in arrays of " +
                   data::formatShape(extents_) + "; expected as many as its shape " +
                   data::formatShape(shape) + " has, flat or nested so");
  Result<Array> array = Array::allocate(dtype, shape);
  if (!array)
    return array;
  for (size_t i = 0; i < bits_.size(); ++i) {
    uint8_t *out = array->data() + i * info.bytes;
    if (!data::isFloating(dtype)) {
      if (!putInteger(i, dtype, out))
        return Failure(shown(i) + "; expected a value that " + info.keras + " holds");
      continue;
    }
    const double value = asDouble(i);
    if (kinds_[i] == Kind::Truth)
      return Failure(shown(i) + "; expected a number");
    data::convertElements(&value, MPC_RT_FLOAT64, out, dtype, 1, data::Conversion::Direct);
    if (!std::isfinite(data::elementAsDouble(*array, static_cast<int64_t>(i))))
      return Failure(shown(i) + "; expected a value that " + info.keras + " holds");
  }
  return array;
}

} // namespace mpc::serving
