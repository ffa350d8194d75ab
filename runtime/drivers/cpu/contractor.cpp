// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contractions on the CPU. Every product is summed in float32, by oneDNN or a micro-kernel; what
// the contract of mpc_rt_contract_t asks beyond that (rounding to the out dtype before and after
// the bias, a relu that keeps NaN, which oneDNN's does not) is one vectorised pass per block of
// rows, while the block is still in cache.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

#include <algorithm>
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

} // namespace

Contractor::Contractor(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
                       bool nativeBFloat16, bool exactInt8, bool ownKernels)
    : team(team), kernels(vectorKernels(isa)), choices(choices), log(log),
      nativeBFloat16(nativeBFloat16), exactInt8(exactInt8), vectors256(isa >= MPC_RT_ISA_X86_64_V3),
      int8Kernel(ownKernels ? rt::int8Kernel(isa) : nullptr),
      integerWeights(team, isa, state, ownKernels) {
  auto make = [&](const MicroKernel *kernel) {
    return kernel && ownKernels
               ? std::make_unique<BlockedProduct>(team, kernels, *kernel, packsColumnsOnce(*kernel))
               : nullptr;
  };
  if (nativeBFloat16)
    bfloat16Product = make(bfloat16MicroKernel(isa));
  float32Product = make(float32MicroKernel(isa));
}

uint64_t Contractor::bytes() const noexcept {
  uint64_t total = lhsBlock.size() + rhsWhole.size() + packedOnce.size() + sumBlock.size() +
                   biasWide.size() + libraryScratch.size() + consumedResult.size() +
                   lhsRounded.size() + integerWeights.bytes();
  for (auto &entry : weights)
    total += entry.second.buffer.size();
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
  if (!extras.largest && integerWeights.readsTiles(descriptor, shape, /*scales=*/nullptr)) {
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
    contractRows(shape, lhs, rhs, bias, out, extras.kernel);
    list(descriptor, shape, batch, "streamed_weights");
    ContractionExtras rest = extras;
    rest.kernel = nullptr;
    finish(shape, rhs, out, rest);
    return MPC_RT_OK;
  }
  const bool keep = state.keeps(descriptor);
  if (choices.toBeMeasured({KernelChoices::Operation::contraction, descriptor.id, batch, keep}))
    measure(descriptor, shape, lhs, rhs, bias, extras.bits, batch);
  execute(findPlan(descriptor, shape, extras.largest, extras.kernel, batch, byRows), descriptor,
          lhs, rhs, bias, out, extras);
  list(descriptor, shape, batch, kernelOf(descriptor, batch));
  return MPC_RT_OK;
}

const char *Contractor::contractIntegers(const mpc_rt_contract_t &descriptor,
                                         const Contraction &shape, const void *lhs, const void *rhs,
                                         void *out, int64_t batch) {
  const auto *rows = static_cast<const int8_t *>(lhs), *numbers = static_cast<const int8_t *>(rhs);
  auto *sums = static_cast<int32_t *>(out);
  if (takesInt8Kernel(descriptor, shape) &&
      choices.toBeMeasured({KernelChoices::Operation::contraction, descriptor.id, batch,
                            /*rhsKept=*/true}))
    measureIntegers(descriptor, shape, rows, numbers, batch);
  if (runsInt8Kernel(descriptor, shape, batch)) {
    multiplyInt8(descriptor, shape, rows, numbers, sums);
    return int8Kernel->name;
  }
  if (Plan *plan = findInt8Plan(descriptor, shape, batch)) {
    execute(*plan, descriptor, lhs, rhs, /*bias=*/nullptr, out, /*extras=*/{});
    return plan->body->kernel();
  }
  contractInt8(team, vectors256, shape, rows, numbers, sums);
  return "";
}

bool Contractor::takesInt8Kernel(const mpc_rt_contract_t &descriptor, const Contraction &c) const {
  return int8Kernel && state.keeps(descriptor) && c.batch == 1 && c.k > 0 && !c.transposeLhs &&
         !c.accumulate;
}

bool Contractor::runsInt8Kernel(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                int64_t batch) const {
  if (!takesInt8Kernel(descriptor, c))
    return false;
  const std::string *chosen =
      choices.find({KernelChoices::Operation::contraction, descriptor.id, batch, /*rhsKept=*/true});
  if (chosen)
    return *chosen == int8Kernel->name;
  constexpr int64_t manyRows = 1024;
  return c.m < manyRows || c.n >= int8Kernel->fewestColumns ||
         !onednn::multipliesTerms(onednn::Element::int8, c.k);
}

void Contractor::multiplyInt8(const mpc_rt_contract_t &descriptor, const Contraction &c,
                              const int8_t *lhs, const int8_t *rhs, int32_t *out) {
  const int8_t *packed = integerWeights.findTiles(*int8Kernel, descriptor, c, rhs);
  reserve(sumBlock, int8Kernel->scratchBytes(c));
  int8Kernel->multiply(team, c, lhs, packed, sumBlock.data(), out);
}

Contractor::Plan *Contractor::findInt8Plan(const mpc_rt_contract_t &descriptor,
                                           const Contraction &shape, int64_t batch) {
  if (shape.k == 0 || !exactInt8 || !onednn::multipliesTerms(onednn::Element::int8, shape.k))
    return nullptr;
  team.prepareWorkers();
  Plan &plan = findPlan(descriptor, shape, /*findLargest=*/false, /*launches=*/false, batch);
  return plan.body->isFast() ? &plan : nullptr;
}

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
      std::memset(sums, 0,
                  static_cast<size_t>(rows * c.n) *
                      dtypeSize(plan.roundsSums ? c.out : mpc_rt_dtype_t{MPC_RT_FLOAT32}));
    else {
      auto &product = units == plan.block ? *plan.body : *plan.tail;
      product.run(prepareLhs(plan, lhs, first, units),
                  at(ready, first * rhsElements, dtypeOf(plan.element)), wideBias, sums,
                  libraryScratch);
    }
    if (plan.epilogue || zero)
      applyEpilogue(c, plan.roundsSums ? nullptr : sums, wideBias, target, rows);
    if (c.makesMask || c.readsMask)
      applyBits(c, extras.bits, first, target, rows);
    if (plan.findLargest)
      most = std::max(most, largestOf(c.out, target, rows * c.n));
    if (extras.kernel)
      extras.kernel->run(team, target, c.out, first * unitRows * c.n, rows * c.n);
  }
  if (extras.largest)
    storeLargest(c.out, most, extras.largest);
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
                                extras.bits,   static_cast<float *>(extras.rhsSums)};
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

} // namespace mpc::rt
