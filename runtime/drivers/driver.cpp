// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults of Driver, in terms of its other functions.
#include "runtime/drivers/driver.h"
#include "runtime/base/dtype.h"
#include "runtime/base/element.h"
#include "runtime/drivers/gelu.h"

#include <algorithm>
#include <atomic>
#include <new>

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
  if (!driver.computes() || shape.outElements() == 0)
    return;
  ResultRows<Operands> rows{shape, operands, out};
  void *arguments[] = {&rows};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        finishRows(*static_cast<const ResultRows<Operands> *>(given[0]), begin, end);
      },
      arguments, shape.m, std::max<int64_t>(1, grainElements / shape.n));
}

} // namespace

mpc_rt_status_t Driver::prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                                void *&memory) {
  reserve(prepared, bytes);
  memory = prepared.data();
  return static_cast<mpc_rt_status_t>(fill(&call, memory));
}

void Driver::parallelForAll(const mpc_rt_launch_t *launches, uint32_t count) {
  for (const mpc_rt_launch_t *launch = launches; launch != launches + count; ++launch)
    parallelFor(launch->kernel, launch->arguments, launch->count, launch->grain);
}

mpc_rt_status_t Driver::contractAndLaunch(const mpc_rt_contract_t &descriptor, const void *lhs,
                                          const void *rhs, const void *bias, void *out,
                                          const ResultKernel &kernel, int64_t batch) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape))
    return status;
  out = placeOf(shape, out);
  if (auto status = contract(descriptor, lhs, rhs, bias, out, /*largest=*/nullptr, batch))
    return status;
  kernel.run(*this, out, shape.outElements());
  return MPC_RT_OK;
}

void *Driver::placeOf(const Contraction &shape, void *out) {
  if (out || shape.outElements() == 0)
    return out;
  reserve(consumedResult, shape.outElements() * dtypeSize(shape.out));
  return consumedResult.data();
}

mpc_rt_status_t Driver::runRows(const RowLoop &loop) {
  rowLoop = &loop;
  const int32_t status = loop.body(loop.call, 0, loop.count);
  rowLoop = nullptr;
  return static_cast<mpc_rt_status_t>(status);
}

void Driver::launchRows(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t /*begin*/,
                        int64_t end, int64_t grain) {
  parallelFor(kernel, arguments, end, grain);
}

mpc_rt_status_t Driver::contractRows(uint32_t product, const void *lhs, void *out,
                                     int64_t /*begin*/, int64_t /*end*/) {
  const mpc_rt_rows_product_t &own = rowLoop->products[product];
  return contract(*own.descriptor, lhs, own.rhs, own.bias, out, /*largest=*/nullptr,
                  rowLoop->batch);
}

mpc_rt_status_t Driver::contractWithBits(const mpc_rt_contract_t &descriptor, const void *lhs,
                                         const void *rhs, const void *bias, const ReluBits &bits,
                                         void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveBits(descriptor, lhs, rhs, bias, bits, out, batch, shape))
    return status;
  if (auto status = contract(descriptor, lhs, rhs, bias, out, /*largest=*/nullptr, batch))
    return status;
  finishResult(*this, shape, bits, out, /*grainElements=*/1 << 14);
  return MPC_RT_OK;
}

namespace {
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
} // namespace

mpc_rt_status_t Driver::contractAndSum(const mpc_rt_contract_t &descriptor, const void *lhs,
                                       const void *rhs, void *out, const ContractionExtras &extras,
                                       int64_t batch) {
  Contraction shape;
  if (auto status = resolveSums(descriptor, lhs, rhs, out, batch, shape))
    return status;
  out = placeOf(shape, out);
  if (auto status = contract(descriptor, lhs, rhs, /*bias=*/nullptr, out, extras.largest, batch))
    return status;
  if (!computes())
    return MPC_RT_OK;
  ColumnSums sums{shape, rhs, extras.rhsSums};
  void *arguments[] = {&sums};
  parallelFor(sumColumns, arguments, shape.n, /*grain=*/64);
  if (extras.kernel)
    extras.kernel->run(*this, out, shape.outElements());
  return MPC_RT_OK;
}

mpc_rt_status_t Driver::contractWithGelu(const mpc_rt_contract_t &descriptor, const void *lhs,
                                         const void *rhs, const void *bias,
                                         const GeluArguments &gelu, void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveGelu(descriptor, lhs, rhs, bias, gelu, out, batch, shape))
    return status;
  if (auto status = contract(descriptor, lhs, rhs, bias, gelu.kept ? gelu.kept : out,
                             /*largest=*/nullptr, batch))
    return status;
  finishResult(*this, shape, gelu, out, /*grainElements=*/1 << 10);
  return MPC_RT_OK;
}

namespace {
// Attention of pairs of sample and head, or its derivative.
template <typename Operands> struct Heads {
  const Attention &shape;
  const Operands &operands;
  std::atomic<bool> isOutOfMemory{false}; // no exception may leave a thread
};

void runHeads(const Heads<AttentionOperands> &heads, int64_t begin, int64_t end) {
  attendDirectly(heads.shape, heads.operands, begin, end);
}
void runHeads(const Heads<AttentionGradientOperands> &heads, int64_t begin, int64_t end) {
  attendGradientDirectly(heads.shape, heads.operands, begin, end);
}

template <typename Operands>
mpc_rt_status_t attendByLoops(Driver &driver, const mpc_rt_attention_t &descriptor,
                              const Operands &operands, int64_t batch) {
  Attention shape;
  if (auto status = resolveAttention(descriptor, operands, batch, shape))
    return status;
  if (!driver.computes())
    return MPC_RT_OK;
  Heads<Operands> heads{shape, operands};
  void *arguments[] = {&heads};
  driver.parallelFor(
      [](void *const *given, int64_t begin, int64_t end) {
        auto &own = *static_cast<Heads<Operands> *>(given[0]);
        try {
          runHeads(own, begin, end);
        } catch (const std::bad_alloc &) {
          own.isOutOfMemory = true;
        }
      },
      arguments, shape.batch * shape.heads, /*grain=*/1);
  if (heads.isOutOfMemory)
    throw std::bad_alloc(); // as where the caller's own memory ends
  return MPC_RT_OK;
}
} // namespace

mpc_rt_status_t Driver::attend(const mpc_rt_attention_t &descriptor,
                               const AttentionOperands &operands, int64_t batch) {
  return attendByLoops(*this, descriptor, operands, batch);
}

mpc_rt_status_t Driver::attendGradient(const mpc_rt_attention_t &descriptor,
                                       const AttentionGradientOperands &operands, int64_t batch) {
  return attendByLoops(*this, descriptor, operands, batch);
}

} // namespace mpc::rt
