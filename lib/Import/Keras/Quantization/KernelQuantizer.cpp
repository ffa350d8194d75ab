// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras quantizes in NumPy, in the variable's dtype (of bfloat16 in float32, see below), one
// rounding per operation. Here each operation is in double and then rounded, which is the same:
// double has more than twice the significant bits.
#include "lib/Import/Keras/Quantization/KernelQuantizer.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::keras {
namespace {

constexpr double kEpsilon = 1e-7; // keras.backend.epsilon()

const llvm::fltSemantics &semanticsOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return llvm::APFloat::IEEEhalf();
  case MPC_RT_BFLOAT16:
    return llvm::APFloat::BFloat();
  case MPC_RT_FLOAT64:
    return llvm::APFloat::IEEEdouble();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

/// Arithmetic in one floating dtype.
struct Rounding {
  mpc_rt_dtype_t dtype;

  double operator()(double value) const {
    if (dtype == MPC_RT_FLOAT32)
      return static_cast<float>(value);
    if (dtype == MPC_RT_FLOAT64)
      return value;
    llvm::APFloat number(value);
    bool losesInfo = false;
    number.convert(semanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble();
  }
};

template <typename T> double readAs(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return static_cast<double>(value);
}

double readFloat(const StoredTensor &tensor, size_t index) {
  switch (tensor.dtype) {
  case MPC_RT_FLOAT32:
    return readAs<float>(&tensor.bytes[index * 4]);
  case MPC_RT_FLOAT64:
    return readAs<double>(&tensor.bytes[index * 8]);
  default: {
    uint16_t bits;
    std::memcpy(&bits, &tensor.bytes[index * 2], sizeof(bits));
    return llvm::APFloat(semanticsOf(tensor.dtype), llvm::APInt(16, bits)).convertToDouble();
  }
  }
}

StoredTensor makeTensor(mpc_rt_dtype_t dtype, llvm::ArrayRef<int64_t> dims, size_t elementBytes) {
  StoredTensor tensor;
  tensor.dtype = dtype;
  tensor.dims.assign(dims.begin(), dims.end());
  size_t count = 1;
  for (int64_t extent : dims)
    count *= size_t(extent);
  tensor.bytes.resize(count * elementBytes);
  return tensor;
}

/// Values of the variable's dtype; kept as float32 where that is exact, which the model's own
/// conversion narrows again.
StoredTensor storeFloats(llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> dims,
                         mpc_rt_dtype_t dtype) {
  const bool isWide = dtype == MPC_RT_FLOAT64;
  StoredTensor tensor = makeTensor(isWide ? MPC_RT_FLOAT64 : MPC_RT_FLOAT32, dims, isWide ? 8 : 4);
  for (auto [i, value] : llvm::enumerate(values)) {
    const float narrow = static_cast<float>(value);
    if (isWide)
      std::memcpy(&tensor.bytes[i * 8], &value, 8);
    else
      std::memcpy(&tensor.bytes[i * 4], &narrow, 4);
  }
  return tensor;
}

StoredTensor storeBytes(llvm::ArrayRef<int8_t> values, llvm::ArrayRef<int64_t> dims) {
  StoredTensor tensor = makeTensor(MPC_RT_INT8, dims, 1);
  if (!values.empty())
    std::memcpy(tensor.bytes.data(), values.data(), values.size());
  return tensor;
}

/// keras/src/quantizers/quantizers.py, pack_int4 of a matrix along its first axis.
StoredTensor packRows(llvm::ArrayRef<int8_t> values, llvm::ArrayRef<int64_t> shape) {
  const size_t columns = size_t(shape[1]);
  StoredTensor tensor = makeTensor(MPC_RT_INT8, {(shape[0] + 1) / 2, shape[1]}, 1);
  for (auto [i, value] : llvm::enumerate(values)) {
    const size_t row = i / columns, column = i % columns;
    tensor.bytes[row / 2 * columns + column] |= uint8_t((uint8_t(value) & 15) << (row % 2 ? 4 : 0));
  }
  return tensor;
}

/// The same along the last axis.
StoredTensor packInt4(llvm::ArrayRef<int8_t> values, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> dims(shape);
  const size_t columns = size_t(shape.back()), bytes = (columns + 1) / 2;
  dims.back() = int64_t(bytes);
  StoredTensor tensor = makeTensor(MPC_RT_INT8, dims, 1);
  for (auto [i, value] : llvm::enumerate(values)) {
    const size_t row = i / columns, column = i % columns;
    tensor.bytes[row * bytes + column / 2] |=
        uint8_t((uint8_t(value) & 15) << (column % 2 ? 4 : 0));
  }
  return tensor;
}

} // namespace

static size_t product(llvm::ArrayRef<int64_t> extents) {
  size_t count = 1;
  for (int64_t extent : extents)
    count *= size_t(extent);
  return count;
}

std::vector<double> readFloats(const StoredTensor &tensor) {
  std::vector<double> values(product(tensor.dims));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = readFloat(tensor, i);
  return values;
}

static llvm::SmallVector<size_t> findSteps(const KernelQuantizer &q) {
  llvm::SmallVector<size_t> steps(q.shape.size(), 0);
  const int64_t divided = q.blockSize ? q.reducedAxes.front() : -1;
  size_t step = 1;
  for (int64_t axis : llvm::reverse(q.scaleAxes)) {
    steps[axis] = step;
    step *=
        size_t(axis == divided ? (q.shape[axis] + q.blockSize - 1) / q.blockSize : q.shape[axis]);
  }
  return steps;
}

/// The scale of each element: a step of the scale's index for each axis, and with blocks the
/// divided axis counts in blocks.
std::vector<uint32_t> KernelQuantizer::findScales() const {
  const llvm::SmallVector<size_t> steps = findSteps(*this);
  const int64_t divided = blockSize ? reducedAxes.front() : -1;
  const size_t count = product(shape);
  std::vector<uint32_t> scaleOf(count);
  llvm::SmallVector<int64_t> at(shape.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    size_t index = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      index += steps[axis] * size_t(int64_t(axis) == divided ? at[axis] / blockSize : at[axis]);
    scaleOf[i] = uint32_t(index);
    for (size_t axis = shape.size(); axis-- > 0 && ++at[axis] == shape[axis];)
      at[axis] = 0;
  }
  return scaleOf;
}

std::vector<double> KernelQuantizer::dequantize(const StoredTensor &values,
                                                const StoredTensor &scale,
                                                const StoredTensor *zero) const {
  const std::vector<uint32_t> scaleOf = findScales();
  const std::vector<double> factors = readFloats(scale);
  const size_t columns = size_t(shape.back());
  std::vector<double> result(scaleOf.size());
  for (size_t i = 0; i < result.size(); ++i) {
    size_t place = i;
    unsigned shift = 0;
    if (isInt4 && packsRows) {
      place = i / columns / 2 * columns + i % columns;
      shift = i / columns % 2 ? 4 : 0;
    } else if (isInt4) {
      place = i / columns * ((columns + 1) / 2) + i % columns / 2;
      shift = i % columns % 2 ? 4 : 0;
    }
    int number = int8_t(values.bytes[place]);
    if (isInt4)
      number = (((number >> shift) & 15) ^ 8) - 8;
    const double factor = factors[scaleOf[i]];
    const Rounding round{dtype};
    if (!blockSize)
      result[i] = round(number / factor);
    else
      result[i] = round((number - (hasFloatZero ? readFloat(*zero, scaleOf[i])
                                                : int8_t(zero->bytes[scaleOf[i]]))) *
                        factor);
  }
  return result;
}

KernelQuantizer::Result KernelQuantizer::quantize(const StoredTensor &weight) const {
  // NumPy promotes bfloat16 and a Python number to float32.
  const Rounding own{dtype}, round{dtype == MPC_RT_BFLOAT16 ? MPC_RT_FLOAT32 : dtype};
  const size_t count = product(shape), scales = product(scaleShape);
  const std::vector<uint32_t> scaleOf = findScales();
  const llvm::SmallVector<size_t> steps = findSteps(*this);
  const int64_t divided = blockSize ? reducedAxes.front() : -1;
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = own(readFloat(weight, i));
  std::vector<double> scale(scales), zero;
  std::vector<int8_t> numbers(count);
  const double low = isInt4 ? -8 : -127, high = isInt4 ? 7 : 127;
  auto quantized = [&](double value) {
    return static_cast<int8_t>(std::isnan(value) ? 0 : std::clamp(value, low, high));
  };
  if (!blockSize) {
    std::vector<double> amax(scales, 0);
    for (size_t i = 0; i < count; ++i)
      if (double magnitude = std::fabs(values[i]); !(magnitude <= amax[scaleOf[i]]))
        amax[scaleOf[i]] = magnitude; // NaN stays
    for (size_t s = 0; s < scales; ++s)
      scale[s] = round(high / round(amax[s] + round(kEpsilon)));
    for (size_t i = 0; i < count; ++i)
      numbers[i] = quantized(std::nearbyint(round(values[i] * scale[scaleOf[i]])));
  } else {
    // The last block is filled up with zeros.
    const bool isPartial = shape[divided] % blockSize != 0;
    const int64_t last = shape[divided] / blockSize;
    std::vector<double> least(scales, HUGE_VAL), most(scales, -HUGE_VAL);
    const size_t blocks = size_t((shape[divided] + blockSize - 1) / blockSize);
    for (size_t s = 0; s < scales; ++s)
      if (isPartial && int64_t(s / steps[divided] % blocks) == last)
        least[s] = most[s] = 0;
    for (size_t i = 0; i < count; ++i) {
      least[scaleOf[i]] = std::min(least[scaleOf[i]], values[i]);
      most[scaleOf[i]] = std::max(most[scaleOf[i]], values[i]);
    }
    zero.resize(scales);
    for (size_t s = 0; s < scales; ++s) {
      scale[s] = round(round(own(most[s] - least[s]) + round(kEpsilon)) / (high - low));
      zero[s] = std::clamp(std::nearbyint(round(-least[s] / scale[s])) + low, low, high);
    }
    for (size_t i = 0; i < count; ++i)
      numbers[i] =
          quantized(std::nearbyint(round(values[i] / scale[scaleOf[i]])) + zero[scaleOf[i]]);
  }

  Result result;
  result.values = !isInt4     ? storeBytes(numbers, shape)
                  : packsRows ? packRows(numbers, shape)
                              : packInt4(numbers, shape);
  result.scale = storeFloats(scale, scaleShape, dtype);
  if (blockSize) {
    result.zero = hasFloatZero
                      ? storeFloats(zero, scaleShape, dtype)
                      : storeBytes(std::vector<int8_t>(zero.begin(), zero.end()), scaleShape);
    std::vector<double> groups(static_cast<size_t>(shape[divided]));
    for (size_t i = 0; i < groups.size(); ++i) {
      const int64_t group = static_cast<int64_t>(i) / blockSize;
      groups[i] = static_cast<double>(group);
    }
    result.groups = storeFloats(groups, {shape[divided]}, MPC_RT_FLOAT32);
  }
  return result;
}

} // namespace mpc::keras
