// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of contraction descriptors, shared by all drivers.
#include "runtime/drivers/contraction.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace mpc::rt {
namespace {

bool evaluate(const mpc_rt_extent_t &extent, int64_t batch, int64_t &value) {
  int64_t scaled;
  return !__builtin_mul_overflow(extent.per_sample, batch, &scaled) &&
         !__builtin_add_overflow(extent.fixed, scaled, &value) && value >= 0;
}

bool fits(int64_t a, int64_t b, int64_t c) {
  int64_t elements, bytes;
  return !__builtin_mul_overflow(a, b, &elements) &&
         !__builtin_mul_overflow(elements, c, &elements) &&
         !__builtin_mul_overflow(elements, int64_t{8}, &bytes);
}

bool hasNarrowRhs(const Contraction &c) {
  return c.rhs == MPC_RT_INT8 && isFloating(c.lhs) && c.lhs != MPC_RT_FLOAT64;
}

mpc_rt_status_t evaluateExtents(const mpc_rt_contract_t &descriptor, const char *layer,
                                int64_t batch, Contraction &c) noexcept {
  if (!evaluate(descriptor.batch, batch, c.batch) || !evaluate(descriptor.m, batch, c.m) ||
      !evaluate(descriptor.n, batch, c.n) || !evaluate(descriptor.k, batch, c.k) ||
      !fits(c.batch, c.m, c.k) || !fits(c.batch, c.k, c.n) || !fits(c.batch, c.m, c.n))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: contraction extents overflow or are negative with batch %lld; use a smaller "
                "batch",
                layer, static_cast<long long>(batch));
  return MPC_RT_OK;
}

mpc_rt_status_t takeDtypes(const mpc_rt_contract_t &descriptor, const char *layer,
                           Contraction &c) noexcept {
  c.lhs = descriptor.lhs_dtype;
  c.rhs = descriptor.rhs_dtype;
  c.out = descriptor.out_dtype;
  c.hasBias = descriptor.has_bias != 0;
  c.bias = c.hasBias ? descriptor.bias_dtype : c.out;
  const bool isInteger = c.lhs == MPC_RT_INT8 && c.rhs == MPC_RT_INT8 && c.out == MPC_RT_INT32;
  if (isInteger && (c.hasBias || descriptor.activation != MPC_RT_ACTIVATION_NONE))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a contraction of int8 takes neither bias nor activation; compile the model "
                "again",
                layer);
  const bool isPair = isFloat8(c.lhs) && isFloat8(c.rhs) && c.out == MPC_RT_FLOAT32 &&
                      (c.lhs == MPC_RT_FLOAT8_E4M3FN || c.rhs == MPC_RT_FLOAT8_E4M3FN);
  if (isPair && (c.hasBias || descriptor.activation != MPC_RT_ACTIVATION_NONE ||
                 descriptor.flags & MPC_RT_CONTRACT_ACCUMULATE))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a contraction of float8 takes neither bias nor activation and is added to "
                "nothing; compile the model again",
                layer);
  if (!isInteger && !isPair &&
      (!isFloating(c.lhs) || !(isFloating(c.rhs) || hasNarrowRhs(c)) || !isFloating(c.out) ||
       !isFloating(c.bias)))
    return fail(
        MPC_RT_INVALID_ARGUMENT,
        "%s: contraction of %s by %s to %s (bias %s); all must be floating (or rhs int8), int8 by "
        "int8 to int32, or float8 (one e4m3fn at least) to float32",
        layer, dtypeName(c.lhs), dtypeName(c.rhs), dtypeName(c.out), dtypeName(c.bias));
  return MPC_RT_OK;
}

mpc_rt_status_t takeFlags(const mpc_rt_contract_t &descriptor, const char *layer, bool areGroups,
                          Contraction &c) noexcept {
  constexpr uint32_t knownFlags = MPC_RT_CONTRACT_TRANSPOSE_LHS | MPC_RT_CONTRACT_TRANSPOSE_RHS |
                                  MPC_RT_CONTRACT_ACCUMULATE | MPC_RT_CONTRACT_PACKED_RHS |
                                  MPC_RT_CONTRACT_CONSUMED | MPC_RT_CONTRACT_ROUND_LHS |
                                  MPC_RT_CONTRACT_ROUND_SUMS;
  if ((descriptor.flags & ~knownFlags) || descriptor.activation > MPC_RT_ACTIVATION_RELU)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: contraction flags %#x, activation %u are newer than this runtime; update "
                "libmpcrt",
                layer, descriptor.flags, descriptor.activation);
  c.transposeLhs = descriptor.flags & MPC_RT_CONTRACT_TRANSPOSE_LHS;
  c.transposeRhs = descriptor.flags & MPC_RT_CONTRACT_TRANSPOSE_RHS;
  c.accumulate = descriptor.flags & MPC_RT_CONTRACT_ACCUMULATE;
  c.packedRhs = descriptor.flags & MPC_RT_CONTRACT_PACKED_RHS;
  c.roundsLhs = descriptor.flags & MPC_RT_CONTRACT_ROUND_LHS;
  c.relu = descriptor.activation == MPC_RT_ACTIVATION_RELU;
  if (c.packedRhs && (!hasNarrowRhs(c) || c.transposeRhs != areGroups || c.batch != 1))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: only one int8 rhs can be packed, and only groups of weights are transposed "
                "then; compile the model again",
                layer);
  return MPC_RT_OK;
}

// What is multiplied is then of the rhs dtype.
mpc_rt_status_t roundLhs(const char *layer, Contraction &c) noexcept {
  if (c.lhs != MPC_RT_FLOAT32 || (c.rhs != MPC_RT_BFLOAT16 && c.rhs != MPC_RT_FLOAT16))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a lhs of %s is not rounded to a rhs of %s; only float32 is, to bfloat16 or "
                "float16; compile the model again",
                layer, dtypeName(c.lhs), dtypeName(c.rhs));
  c.lhs = c.rhs;
  return MPC_RT_OK;
}

} // namespace

static mpc_rt_status_t resolve(const mpc_rt_contract_t &descriptor, const void *lhs,
                               const void *rhs, const void *bias, const void *out, int64_t batch,
                               bool areGroups, Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (descriptor.struct_size < sizeof(mpc_rt_contract_t))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: contraction descriptor of %u bytes; this runtime needs %zu; compile the model "
                "again",
                layer, descriptor.struct_size, sizeof(mpc_rt_contract_t));
  Contraction c;
  if (auto status = evaluateExtents(descriptor, layer, batch, c))
    return status;
  if (auto status = takeDtypes(descriptor, layer, c))
    return status;
  if (auto status = takeFlags(descriptor, layer, areGroups, c))
    return status;
  if (c.roundsLhs)
    if (auto status = roundLhs(layer, c))
      return status;
  const bool needsOut = c.outElements() && !(descriptor.flags & MPC_RT_CONTRACT_CONSUMED);
  if ((c.lhsElements() && !lhs) || (c.rhsElements() && !rhs) || (needsOut && !out) ||
      (c.hasBias && c.n && !bias))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: contraction with a null operand", layer);
  result = c;
  return MPC_RT_OK;
}

mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Contraction &result) noexcept {
  return resolve(descriptor, lhs, rhs, bias, out, batch, /*areGroups=*/false, result);
}

mpc_rt_status_t resolveBlocks(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                              const BlockScales &blocks, const void *bias, const void *out,
                              int64_t batch, Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (auto status = resolve(descriptor, lhs, rhs, bias, out, batch, blocks.areGroups, result))
    return status;
  result.unsignedRhs = blocks.areGroups && !result.packedRhs;
  if (result.accumulate || result.batch != 1 || result.rhs != MPC_RT_INT8 ||
      result.lhs == MPC_RT_INT8 || (!result.packedRhs && !result.unsignedRhs) ||
      (result.unsignedRhs && !result.transposeRhs))
    return fail(
        MPC_RT_INVALID_ARGUMENT,
        "%s: blocks of weights that are neither packed nor transposed bytes, or added to a result; "
        "compile the model again",
        layer);
  if (blocks.count < 1 || !blocks.scale || !blocks.zero || !blocks.places)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: blocks of weights with a null operand", layer);
  for (int64_t k = 0; k < result.k; ++k)
    if (!(blocks.places[k] >= 0 && blocks.places[k] < static_cast<float>(blocks.count)))
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "%s: row %lld of the weights is in block %g (g_idx), but there are %lld blocks; "
                  "quantize the model again",
                  layer, static_cast<long long>(k), static_cast<double>(blocks.places[k]),
                  static_cast<long long>(blocks.count));
  return MPC_RT_OK;
}

mpc_rt_status_t resolveBits(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                            const void *bias, const ReluBits &bits, const void *out, int64_t batch,
                            Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, result))
    return status;
  result.makesMask = bits.mask != nullptr;
  result.readsMask = bits.where != nullptr;
  const bool isEpilogue = result.readsMask ? !result.relu && !result.hasBias : result.relu;
  if (result.makesMask == result.readsMask || !isEpilogue || result.batch != 1 ||
      result.accumulate || !isFloating(result.out))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: bits of relu are made by one matrix with relu, or read by one without "
                "bias and activation; compile the model again",
                layer);
  return MPC_RT_OK;
}

mpc_rt_status_t resolveSums(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                            const void *out, int64_t batch, Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (auto status = resolveContraction(descriptor, lhs, rhs, /*bias=*/nullptr, out, batch, result))
    return status;
  if (result.transposeRhs || result.batch != 1 || result.rhs > MPC_RT_FLOAT16)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: columns are summed of one rhs of float32, bfloat16 or float16 that is not "
                "transposed; compile the model again",
                layer);
  result.sumsColumns = true;
  result.roundsSums = descriptor.flags & MPC_RT_CONTRACT_ROUND_SUMS;
  if (result.roundsSums && result.out != MPC_RT_BFLOAT16 && result.out != MPC_RT_FLOAT16)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: sums are rounded to bfloat16 or float16, not to %s; compile the model again",
                layer, dtypeName(result.out));
  return MPC_RT_OK;
}

mpc_rt_status_t resolveGelu(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                            const void *bias, const GeluArguments &gelu, const void *out,
                            int64_t batch, Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, result))
    return status;
  result.geluGradient = gelu.at != nullptr;
  result.gelu = !result.geluGradient;
  result.keepsArgument = gelu.kept != nullptr;
  if (result.batch != 1 || result.accumulate || result.relu || !isFloating(result.out) ||
      isFloat8(result.lhs) || (result.geluGradient && (result.hasBias || result.keepsArgument)))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: gelu is of one matrix without activation, its derivative of one without bias "
                "that keeps nothing; compile the model again",
                layer);
  return MPC_RT_OK;
}

} // namespace mpc::rt
