// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions on the CPU. Every product is summed in float32, by oneDNN or a micro-kernel; what
// the contract of mpc_rt_contract_t asks beyond that (rounding to the out dtype before and after
// the bias, a relu that keeps NaN, which oneDNN's does not) is one vectorised pass per block of
// rows, while the block is still in cache.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/blocking.h"
#include "runtime/drivers/cpu/vnni_int8.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace mpc::rt {
namespace {

using onednn::Element;

mpc_rt_dtype_t dtypeOf(Element element) {
  return element == Element::int8       ? MPC_RT_INT8
         : element == Element::bfloat16 ? MPC_RT_BFLOAT16
                                        : MPC_RT_FLOAT32;
}

// The low bytes: as wide as an element.
void storeLargest(mpc_rt_dtype_t dtype, uint64_t bits, void *largest) {
  std::memcpy(largest, &bits, dtypeSize(dtype));
}

uint64_t largestFloat64(const void *values, uint64_t count) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < count; ++i)
    most = std::max(most, static_cast<const uint64_t *>(values)[i] << 1 >> 1);
  return most;
}

} // namespace

Contractor::Contractor(ThreadTeam &team, int isa, bool nativeBFloat16, bool exactInt8,
                       bool ownKernels)
    : team(team), kernels(vectorKernels(isa)), nativeBFloat16(nativeBFloat16), exactInt8(exactInt8),
      vectors256(isa >= MPC_RT_ISA_X86_64_V3),
      useAmx(ownKernels && bfloat16MicroKernel(isa) == &amxBFloat16),
      useVnni(ownKernels && multipliesInt8(isa)) {
  if (ownKernels)
    for (int dtype : {MPC_RT_FLOAT32, MPC_RT_BFLOAT16, MPC_RT_FLOAT16})
      weightKernels[dtype] = weightKernel(isa, dtype);
  auto make = [&](const MicroKernel *kernel) {
    return kernel && ownKernels ? std::make_unique<BlockedProduct>(team, kernels, *kernel)
                                : nullptr;
  };
  if (nativeBFloat16)
    bfloat16Product = make(bfloat16MicroKernel(isa));
  float32Product = make(float32MicroKernel(isa));
}

uint64_t Contractor::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + tileScratch.size() +
                   orderedRows.size() + orderedSteps.size() + consumedResult.size() +
                   lhsRounded.size();
  for (auto &entry : weights)
    total += entry.second.buffer.size();
  for (auto &entry : tiles)
    total += entry.second.buffer.size();
  for (auto &entry : dequantized)
    total += entry.second.buffer.size();
  for (auto &entry : blockWeights)
    total += entry.second.bytes();
  for (auto &product : rowProducts)
    total += product.ownRhs.size() + product.ownBias.size();
  for (auto *product : {bfloat16Product.get(), float32Product.get()})
    total += product ? product->bytes() : 0;
  return total;
}

mpc_rt_status_t Contractor::contract(const mpc_rt_contract_t &descriptor, const void *lhs,
                                     const void *rhs, const void *bias, void *out,
                                     const ContractionExtras &extras, int64_t batch, bool byRows) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape))
    return status;
  shape.makesMask = extras.bits.mask;
  shape.readsMask = extras.bits.where;
  if (extras.largest)
    std::memset(extras.largest, 0, dtypeSize(shape.out));
  if (shape.outElements() == 0) {
    if (extras.rhsSums)
      sumColumns(shape, rhs, extras.rhsSums);
    return MPC_RT_OK;
  }
  if (shape.lhs == MPC_RT_INT8) {
    out = placeOf(shape, out);
    if (extras.largest)
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: the largest of int32 is not computed",
                  descriptor.layer ? descriptor.layer : "contraction");
    list(descriptor, shape, batch, contractIntegers(descriptor, shape, lhs, rhs, out, batch));
    finish(shape, rhs, out, extras);
    return MPC_RT_OK;
  }
  if (isFloat8(shape.lhs) || shape.lhs == MPC_RT_FLOAT64 || shape.rhs == MPC_RT_FLOAT64 ||
      shape.out == MPC_RT_FLOAT64 || shape.bias == MPC_RT_FLOAT64) {
    out = placeOf(shape, out);
    contractFloat64(team, shape, roundLhs(shape, lhs), rhs, bias, out);
    list(descriptor, shape, batch, "");
    finish(shape, rhs, out, extras);
    return MPC_RT_OK;
  }
  if (!extras.largest && readsTiles(descriptor, shape, /*scales=*/nullptr)) {
    out = placeOf(shape, out);
    contractTiles(descriptor, shape, lhs, rhs, /*blocks=*/nullptr, bias, out);
    list(descriptor, shape, batch, "integer_tiles");
    finish(shape, rhs, out, extras);
    return MPC_RT_OK;
  }
  // bfloat16 holds the integers, and its products are faster than float32's.
  if (shape.rhs == MPC_RT_INT8 && shape.lhs == MPC_RT_BFLOAT16 && nativeBFloat16 &&
      shape.batch == 1)
    return contractCopy(descriptor, shape, lhs, rhs, /*blocks=*/nullptr, bias, out, extras, batch);
  if (shape.rhs != MPC_RT_INT8 && isFewRows(descriptor, shape)) {
    out = placeOf(shape, out);
    contractRows(shape, lhs, rhs, bias, out);
    list(descriptor, shape, batch, "streamed_weights");
    finish(shape, rhs, out, extras);
    return MPC_RT_OK;
  }
  if (tuning)
    measure(descriptor, shape, lhs, rhs, bias, extras.bits, batch);
  execute(findPlan(descriptor, shape, extras.largest, extras.kernel, batch, byRows), descriptor,
          lhs, rhs, bias, out, extras);
  list(descriptor, shape, batch, kernelOf(descriptor, batch));
  return MPC_RT_OK;
}

void Contractor::finish(const Contraction &c, const void *rhs, void *out,
                        const ContractionExtras &extras) {
  if (extras.rhsSums)
    sumColumns(c, rhs, extras.rhsSums);
  if (c.makesMask || c.readsMask)
    applyBits(c, extras.bits, 0, out, c.m);
  if (extras.largest)
    storeLargest(c.out,
                 c.out == MPC_RT_FLOAT64
                     ? largestFloat64(out, c.outElements())
                     : largestOf(c.out, out, static_cast<int64_t>(c.outElements())),
                 extras.largest);
  if (extras.kernel)
    extras.kernel->run(team, out, c.outElements());
}

// Row by row, as a blocked product does while it packs.
void Contractor::sumColumns(const Contraction &c, const void *rhs, float *sums) {
  constexpr int64_t columns = 64; // some lines of memory of each row
  const int64_t grain = std::max<int64_t>(conversionGrain / std::max<int64_t>(c.k * columns, 1), 1);
  team.forRange(ceilDivide(c.n, columns), grain, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * columns, count = std::min(end * columns, c.n) - first;
    std::fill_n(sums + first, count, 0.0f);
    kernels.addRows[c.rhs](at(rhs, first, c.rhs), static_cast<size_t>(c.n),
                           static_cast<size_t>(c.k), sums + first, static_cast<size_t>(count));
  });
}

void Contractor::applyBits(const Contraction &c, const ReluBits &bits, int64_t first, void *values,
                           int64_t rows) {
  const auto keepWhere = c.out == MPC_RT_FLOAT32 ? kernels.keepWhere32 : kernels.keepWhere16;
  const auto maskPositive = kernels.maskPositive[c.out];
  const auto count = static_cast<size_t>(c.n);
  const int64_t grain = std::max<int64_t>(conversionGrain / c.n, 1);
  team.forRange(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      auto *own = const_cast<uint8_t *>(at(values, row * c.n, c.out));
      const int64_t byte = (first + row) * c.maskRowBytes();
      if (bits.where)
        keepWhere(bits.where + byte, own, count);
      else
        maskPositive(own, bits.mask + byte, count);
    }
  });
}

const char *Contractor::contractIntegers(const mpc_rt_contract_t &descriptor,
                                         const Contraction &shape, const void *lhs, const void *rhs,
                                         void *out, int64_t batch) {
  const auto *rows = static_cast<const int8_t *>(lhs), *numbers = static_cast<const int8_t *>(rhs);
  if (useVnni && weightsConstant && descriptor.rhs_variable >= 0 && shape.batch == 1 &&
      shape.k > 0 && !shape.transposeLhs && !shape.accumulate) {
    const int8_t *packed = findTiles(descriptor, shape, TileLayout::vnni, rhs, nullptr);
    reserve(sumBlock, static_cast<uint64_t>(shape.m) * sizeof(int32_t));
    vnni::multiply(team, shape, rows, packed, reinterpret_cast<int32_t *>(sumBlock.data()),
                   static_cast<int32_t *>(out));
    return "vnni_int8";
  }
  if (shape.k > 0 && exactInt8) {
    team.prepareWorkers();
    Plan &plan = findPlan(descriptor, shape, /*findLargest=*/false, /*launches=*/false, batch);
    if (plan.body->isFast()) {
      execute(plan, descriptor, lhs, rhs, /*bias=*/nullptr, out, /*extras=*/{});
      return plan.body->kernel();
    }
  }
  contractInt8(team, vectors256, shape, rows, numbers, static_cast<int32_t *>(out));
  return "";
}

// ---- Execution ----------------------------------------------------------------------------------

void Contractor::execute(Plan &plan, const mpc_rt_contract_t &descriptor, const void *lhs,
                         const void *rhs, const void *bias, void *out,
                         const ContractionExtras &extras) {
  const Contraction &c = plan.shape;
  if (plan.blocked)
    return executeBlocked(plan, descriptor, lhs, rhs, bias, out, extras);
  lhs = roundLhs(c, lhs);
  if (extras.rhsSums)
    sumColumns(c, rhs, extras.rhsSums);
  team.prepareWorkers();
  out = placeOf(c, out);
  uint32_t most = 0;
  const void *ready = c.k > 0 ? prepareRhs(plan, descriptor.rhs_variable, rhs) : nullptr;
  const float *wideBias = prepareBias(c, bias);
  int64_t unitRows = plan.batched ? c.m : 1;
  int64_t rhsElements = plan.batched ? c.k * c.n : 0;
  bool zero = c.k == 0; // an empty sum: no product, zeros into the epilogue
  bool scratch = plan.throughScratch || (zero && c.accumulate);
  if (scratch)
    reserve(sumBlock, static_cast<uint64_t>(plan.block * unitRows * c.n) * sizeof(float));

  for (int64_t first = 0; first < plan.units; first += plan.block) {
    int64_t units = std::min(plan.block, plan.units - first);
    int64_t rows = units * unitRows;
    auto *target = const_cast<uint8_t *>(at(out, first * unitRows * c.n, c.out));
    auto *sums = reinterpret_cast<float *>(scratch ? sumBlock.data() : target);
    if (zero)
      std::memset(sums, 0, static_cast<size_t>(rows * c.n) * sizeof(float));
    else {
      auto &product = units == plan.block ? *plan.body : *plan.tail;
      product.run(prepareLhs(plan, lhs, first, units),
                  at(ready, first * rhsElements, dtypeOf(plan.element)), wideBias, sums,
                  libraryScratch);
    }
    if (plan.epilogue || zero)
      applyEpilogue(c, sums, wideBias, target, rows);
    if (c.makesMask || c.readsMask)
      applyBits(c, extras.bits, first, target, rows);
    if (plan.findLargest)
      most = std::max(most, largestOf(c.out, target, rows * c.n));
  }
  if (extras.largest)
    storeLargest(c.out, most, extras.largest);
  if (extras.kernel)
    extras.kernel->run(team, out, c.outElements());
}

void *Contractor::placeOf(const Contraction &c, void *out) {
  if (out)
    return out;
  reserve(consumedResult, c.outElements() * dtypeSize(c.out));
  return consumedResult.data();
}

void Contractor::executeBlocked(Plan &plan, const mpc_rt_contract_t &descriptor, const void *lhs,
                                const void *rhs, const void *bias, void *out,
                                const ContractionExtras &extras) {
  BlockedProduct &product = *plan.blocked;
  const Contraction &c = plan.shape;
  const int32_t variable = descriptor.rhs_variable;
  const void *packed = nullptr;
  uint32_t most = 0;
  const bool isConsumed = descriptor.flags & MPC_RT_CONTRACT_CONSUMED;
  BlockedProduct::Result result{out,           extras.largest ? &most : nullptr,
                                extras.kernel, isConsumed,
                                extras.bits,   extras.rhsSums};
  if (!product.storesNothing(c, result))
    result.out = placeOf(c, out);
  // What is kept packed is not packed again, and sums are made while it is.
  if (variable >= 0 && c.batch == 1 && !extras.rhsSums) {
    PackedWeights &entry = weights[{variable, c.transposeRhs, c.k, c.n, &product}];
    bool keep = false;
    packed = findPacked(entry, keep);
    if (!packed && (keep || product.packsRhsFirst(c, result)))
      packed = packInto(&entry, keep, product.packedBytes(c),
                        [&](uint8_t *to) { product.packRhs(c, rhs, to); });
  }
  product.run(c, lhs, rhs, packed, prepareBias(c, bias), result);
  if (extras.largest)
    storeLargest(c.out, most, extras.largest);
}

uint32_t Contractor::largestOf(mpc_rt_dtype_t dtype, const void *values, int64_t count) {
  std::atomic<uint32_t> most{0}; // a maximum: the same for every order
  team.forRange(count, conversionGrain, [&](int64_t begin, int64_t end) {
    const void *first = at(values, begin, dtype);
    auto length = static_cast<size_t>(end - begin);
    uint32_t own = dtype == MPC_RT_FLOAT32
                       ? kernels.largest32(static_cast<const uint32_t *>(first), length)
                       : kernels.largest16(static_cast<const uint16_t *>(first), length);
    uint32_t before = most.load(std::memory_order_relaxed);
    while (before < own && !most.compare_exchange_weak(before, own, std::memory_order_relaxed)) {
    }
  });
  return most.load(std::memory_order_relaxed);
}

const void *Contractor::findPacked(PackedWeights &entry, bool &keep) {
  keep = false;
  if (entry.keptVersion == weightVersion)
    return entry.buffer.data();
  if (packedOnceHolds == &entry && entry.packedVersion == weightVersion)
    return packedOnce.data();
  // Packed before in this run, and something else since: a loop over time with several products.
  keep = weightsConstant || entry.packedVersion == weightVersion;
  entry.packedVersion = weightVersion;
  return nullptr;
}

const void *Contractor::packForSteps(int32_t variable, const Contraction &c,
                                     BlockedProduct &product, const void *rhs, bool packs) {
  PackedWeights &entry = weights[{variable, c.transposeRhs, c.k, c.n, &product}];
  if (entry.keptVersion == weightVersion)
    return entry.buffer.data();
  return packInto(&entry, /*keep=*/true, product.packedBytes(c), [&](uint8_t *to) {
    if (packs)
      product.packRhs(c, rhs, to);
  });
}

const void *Contractor::prepareRhs(Plan &plan, int32_t variable, const void *rhs) {
  const Contraction &c = plan.shape;
  PackedWeights *entry = nullptr;
  bool keep = false;
  if (variable >= 0 && plan.packed) {
    entry = &weights[{variable, c.transposeRhs, c.k, c.n, plan.packed.get()}];
    if (const void *ready = findPacked(*entry, keep))
      return ready;
  }
  if (plan.widenRhs) {
    reserve(rhsWhole, c.rhsElements() * sizeof(float));
    auto *wide = reinterpret_cast<float *>(rhsWhole.data());
    if (c.rhs == MPC_RT_INT8)
      widenIntegers(team, c, static_cast<const int8_t *>(rhs), wide);
    else
      widen(c.rhs, rhs, wide, c.rhsElements());
    rhs = rhsWhole.data();
  }
  if (!plan.packed)
    return rhs;
  auto from = plan.element == Element::int8                ? Element::int8
              : c.rhs == MPC_RT_BFLOAT16 && !plan.widenRhs ? Element::bfloat16
                                                           : Element::float32;
  return packInto(entry, keep, plan.packed->bytes(), [&](uint8_t *to) {
    plan.packed->pack(rhs, from, c.transposeRhs, to, libraryScratch);
  });
}

const void *Contractor::prepareLhs(const Plan &plan, const void *lhs, int64_t first,
                                   int64_t units) {
  const Contraction &c = plan.shape;
  bool columns = c.transposeLhs && !plan.batched; // rows of the block are columns in memory
  int64_t offset = plan.batched ? first * c.m * c.k : columns ? first : first * c.k;
  const void *block = at(lhs, offset, c.lhs);
  if (!plan.widenLhs)
    return block;
  int64_t elements = units * (plan.batched ? c.m * c.k : c.k);
  reserve(lhsBlock, static_cast<uint64_t>(elements) * sizeof(float));
  auto *wide = reinterpret_cast<float *>(lhsBlock.data());
  if (!columns) {
    widen(c.lhs, block, wide, static_cast<uint64_t>(elements));
    return wide;
  }
  auto convert = c.lhs == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16;
  int64_t grain = std::max<int64_t>(conversionGrain / units, 1);
  team.forRange(c.k, grain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      convert(static_cast<const uint16_t *>(block) + k * c.m, wide + k * units,
              static_cast<size_t>(units));
  });
  return wide;
}

const float *Contractor::prepareBias(const Contraction &c, const void *bias) {
  if (!c.hasBias || c.bias == MPC_RT_FLOAT32)
    return static_cast<const float *>(bias);
  reserve(biasWide, static_cast<uint64_t>(c.n) * sizeof(float));
  auto *wide = reinterpret_cast<float *>(biasWide.data());
  widen(c.bias, bias, wide, static_cast<uint64_t>(c.n));
  return wide;
}

void Contractor::applyEpilogue(const Contraction &c, const float *sums, const float *bias,
                               void *out, int64_t rows) {
  uint32_t flags = (c.hasBias ? epilogueBias : 0u) | (c.relu ? epilogueRelu : 0u) |
                   (c.accumulate ? epilogueAccumulate : 0u);
  EpilogueRow row = kernels.epilogue[c.out][flags];
  if (!c.hasBias) { // no row structure needed
    team.forRange(rows * c.n, conversionGrain, [&](int64_t begin, int64_t end) {
      row(sums + begin, nullptr, const_cast<uint8_t *>(at(out, begin, c.out)),
          static_cast<size_t>(end - begin));
    });
    return;
  }
  int64_t grain = std::max<int64_t>(conversionGrain / c.n, 1);
  team.forRange(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      row(sums + m * c.n, bias, const_cast<uint8_t *>(at(out, m * c.n, c.out)),
          static_cast<size_t>(c.n));
  });
}

const void *Contractor::roundLhs(const Contraction &c, const void *lhs) {
  if (!c.roundsLhs)
    return lhs;
  reserveRounded(c);
  const auto round = c.lhs == MPC_RT_BFLOAT16 ? kernels.roundBFloat16 : kernels.roundFloat16;
  auto *rounded = reinterpret_cast<uint16_t *>(lhsRounded.data());
  team.forRange(static_cast<int64_t>(c.lhsElements()), conversionGrain,
                [&](int64_t begin, int64_t end) {
                  round(static_cast<const float *>(lhs) + begin, rounded + begin,
                        static_cast<size_t>(end - begin));
                });
  return rounded;
}

void Contractor::widen(mpc_rt_dtype_t dtype, const void *from, float *to, uint64_t count) {
  auto total = static_cast<int64_t>(count);
  team.forRange(total, conversionGrain, [&](int64_t begin, int64_t end) {
    auto length = static_cast<size_t>(end - begin);
    if (dtype == MPC_RT_FLOAT32)
      std::memcpy(to + begin, static_cast<const float *>(from) + begin, length * sizeof(float));
    else
      (dtype == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16)(
          static_cast<const uint16_t *>(from) + begin, to + begin, length);
  });
}

} // namespace mpc::rt
