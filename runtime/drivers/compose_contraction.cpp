// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions with parts that a driver does not do together: the product by the driver, then one
// pass over the host's memory for each part, in the order of mpc_rt_contract_call_t.
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/driver.h"
#include "runtime/drivers/gelu.h"
#include "runtime/drivers/result_kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace mpc::rt {
namespace {

// A product's result, whose rows wait for an epilogue with these operands: a kernel's only
// argument.
template <typename Operands> struct ResultRows {
  const Contraction &shape;
  const Operands &operands;
  void *out;
};

// `Pattern` holds an element of a floating dtype, whose sign is its first bit: numbers above 0 are
// the patterns from 1 to infinity's.
template <typename Pattern>
void applyBits(const ResultRows<ReluBits> &rows, Pattern infinity, int64_t begin, int64_t end) {
  const int64_t n = rows.shape.n, bytes = rows.shape.maskRowBytes();
  for (int64_t row = begin; row < end; ++row) {
    Pattern *values = static_cast<Pattern *>(rows.out) + row * n;
    if (const uint8_t *where = rows.operands.where) {
      for (int64_t i = 0; i < n; ++i)
        values[i] = where[row * bytes + i / 8] >> i % 8 & 1 ? values[i] : Pattern{0};
      continue;
    }
    uint8_t *mask = rows.operands.mask + row * bytes;
    std::fill_n(mask, bytes, uint8_t{0});
    for (int64_t i = 0; i < n; ++i)
      mask[i / 8] |= static_cast<uint8_t>((values[i] > 0 && values[i] <= infinity) << i % 8);
  }
}

void finishRows(const ResultRows<ReluBits> &rows, int64_t begin, int64_t end) {
  switch (rows.shape.out) {
  case MPC_RT_FLOAT64:
    return applyBits<int64_t>(rows, 0x7FF0000000000000, begin, end);
  case MPC_RT_FLOAT32:
    return applyBits<int32_t>(rows, 0x7F800000, begin, end);
  case MPC_RT_BFLOAT16:
    return applyBits<int16_t>(rows, 0x7F80, begin, end);
  default:
    return applyBits<int16_t>(rows, 0x7C00, begin, end);
  }
}

void finishRows(const ResultRows<GeluArguments> &rows, int64_t begin, int64_t end) {
  applyGelu(rows.shape, rows.operands, rows.out, begin, end);
}

// The epilogue of a product that is in memory. `grainElements`: more work than handing it over
// costs.
template <typename Operands>
void finishResult(Driver &driver, const Contraction &shape, const Operands &operands, void *out,
                  int64_t grainElements) {
  if (shape.outElements() == 0)
    return;
  ResultRows<Operands> rows{shape, operands, out};
  void *arguments[] = {&rows};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        finishRows(*static_cast<const ResultRows<Operands> *>(given[0]), begin, end);
      },
      arguments, shape.m, std::max<int64_t>(1, grainElements / shape.n));
}

// Columns of rhs, as a kernel's only argument.
struct ColumnSums {
  const Contraction &shape;
  const void *rhs;
  void *sums; // of shape.sumsDtype()
};

void sumColumns(void *const *arguments, int64_t begin, int64_t end) {
  const auto &own = *static_cast<const ColumnSums *>(arguments[0]);
  constexpr int64_t width = 64; // columns that are summed together
  for (int64_t first = begin; first < end; first += width) {
    const int64_t count = std::min(width, end - first);
    float sums[width] = {};
    for (int64_t k = 0; k < own.shape.k; ++k)
      for (int64_t n = 0; n < count; ++n)
        sums[n] +=
            static_cast<float>(loadElement(own.shape.rhs, own.rhs, k * own.shape.n + first + n));
    for (int64_t n = 0; n < count; ++n)
      storeElement(own.shape.sumsDtype(), own.sums, first + n, sums[n]);
  }
}

void sumColumns(Driver &driver, const Contraction &shape, const mpc_rt_contract_call_t &call) {
  ColumnSums sums{shape, call.rhs, call.sums};
  void *arguments[] = {&sums};
  driver.parallelFor(sumColumns, arguments, shape.n, /*grain=*/64);
}

// A result that is added to another one.
struct Addition {
  mpc_rt_dtype_t dtype;
  const void *from;
  void *to;
};

void add(Driver &driver, const Contraction &shape, const void *from, void *to) {
  Addition addition{shape.out, from, to};
  void *arguments[] = {&addition};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        const auto &own = *static_cast<const Addition *>(given[0]);
        for (int64_t i = begin; i < end; ++i)
          storeElement(own.dtype, own.to, i,
                       loadElement(own.dtype, own.to, i) + loadElement(own.dtype, own.from, i));
      },
      arguments, static_cast<int64_t>(shape.outElements()), /*grain=*/1 << 14);
}

struct Largest {
  size_t width; // of an element, in bytes
  const void *values;
  std::atomic<uint64_t> most{0}; // a maximum: the same for every order

  uint64_t magnitudeAt(int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const uint8_t *>(values) + static_cast<size_t>(i) * width,
                width);
    return bits & ~uint64_t{0} >> (65 - 8 * width);
  }
};

// A driver that reserves memory runs no loop, and nothing is written then.
void findLargest(Driver &driver, const Contraction &shape, const void *values, void *to) {
  Largest largest{dtypeSize(shape.out), values};
  void *arguments[] = {&largest, to};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        auto &own = *static_cast<Largest *>(given[0]);
        uint64_t most = 0;
        for (int64_t i = begin; i < end; ++i)
          most = std::max(most, own.magnitudeAt(i));
        uint64_t before = own.most.load(std::memory_order_relaxed);
        while (before < most &&
               !own.most.compare_exchange_weak(before, most, std::memory_order_relaxed)) {
        }
      },
      arguments, static_cast<int64_t>(shape.outElements()), /*grain=*/1 << 14);
  driver.parallelFor(
      [](void *const *given, int64_t, int64_t) {
        const auto &own = *static_cast<const Largest *>(given[0]);
        const uint64_t most = own.most.load(std::memory_order_relaxed);
        std::memcpy(given[1], &most, own.width);
      },
      arguments, /*count=*/1, /*grain=*/1);
}

// The call without what is done afterwards. A sum to which more is done is added to `out` last.
mpc_rt_contract_t withoutParts(mpc_rt_contract_t descriptor, bool isAddedLast) {
  descriptor.flags &= ~uint32_t{MPC_RT_CONTRACT_CONSUMED | MPC_RT_CONTRACT_ROUND_SUMS};
  if (isAddedLast)
    descriptor.flags &= ~uint32_t{MPC_RT_CONTRACT_ACCUMULATE};
  if (descriptor.activation > MPC_RT_ACTIVATION_RELU)
    descriptor.activation = MPC_RT_ACTIVATION_NONE;
  return descriptor;
}

} // namespace

mpc_rt_status_t Driver::compose(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                const mpc_rt_contract_call_t &call) {
  const auto memoryFor = [&](void *given, Buffer &buffer) -> void * {
    if (given || shape.outElements() == 0)
      return given;
    reserve(buffer, shape.outElements() * dtypeSize(shape.out));
    return buffer.data();
  };
  const bool hasActivation = shape.readsMask || shape.gelu || shape.geluGradient;
  const bool isAddedLast = shape.accumulate && (hasActivation || call.scale);
  void *out = memoryFor(call.out, consumedResult);
  void *result = isAddedLast ? memoryFor(nullptr, addedResult) : out;
  const mpc_rt_contract_t alone = withoutParts(descriptor, isAddedLast);
  mpc_rt_contract_call_t product = contractCall(
      call.lhs, call.rhs, call.bias, shape.keepsArgument ? call.kept : result, call.batch);
  product.scale = call.scale, product.zero = call.zero, product.places = call.places;
  product.divisors = call.divisors, product.blocks = call.blocks;
  Contraction own;
  if (auto status = resolveContraction(alone, product, own))
    return status;
  if (auto status = multiply(alone, own, product))
    return status;
  if (!computes())
    return MPC_RT_OK;
  if (shape.makesMask || shape.readsMask)
    finishResult(*this, shape, bitsOf(call), result, /*grainElements=*/1 << 14);
  if (shape.gelu || shape.geluGradient)
    finishResult(*this, shape, geluArgumentsOf(call), result, /*grainElements=*/1 << 10);
  if (isAddedLast)
    add(*this, shape, result, out);
  if (call.sums)
    sumColumns(*this, shape, call);
  if (call.largest)
    findLargest(*this, shape, out, call.largest);
  if (call.kernel)
    resultKernelOf(call).run(*this, out, shape.outElements());
  return MPC_RT_OK;
}

} // namespace mpc::rt
