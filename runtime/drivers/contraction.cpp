// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of contraction descriptors, shared by all drivers.
#include "runtime/drivers/contraction.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/drivers/result_kernel.h"

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

mpc_rt_status_t takeFlags(const mpc_rt_contract_t &descriptor, const char *layer, bool hasScales,
                          Contraction &c) noexcept {
  constexpr uint32_t knownFlags = MPC_RT_CONTRACT_TRANSPOSE_LHS | MPC_RT_CONTRACT_TRANSPOSE_RHS |
                                  MPC_RT_CONTRACT_ACCUMULATE | MPC_RT_CONTRACT_PACKED_RHS |
                                  MPC_RT_CONTRACT_CONSUMED | MPC_RT_CONTRACT_ROUND_LHS |
                                  MPC_RT_CONTRACT_ROUND_SUMS | MPC_RT_CONTRACT_SUMMED_BY_PARTS;
  if ((descriptor.flags & ~knownFlags) || descriptor.activation > MPC_RT_ACTIVATION_GELU_GRADIENT)
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
  c.readsMask = descriptor.activation == MPC_RT_ACTIVATION_RELU_GRADIENT;
  c.gelu = descriptor.activation == MPC_RT_ACTIVATION_GELU;
  c.geluGradient = descriptor.activation == MPC_RT_ACTIVATION_GELU_GRADIENT;
  if (c.packedRhs && (!hasNarrowRhs(c) || (c.transposeRhs && !hasScales) || c.batch != 1))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: only one int8 rhs can be packed, and only groups of weights are transposed "
                "then; compile the model again",
                layer);
  return MPC_RT_OK;
}

// The operand that is multiplied then has the dtype of rhs.
mpc_rt_status_t roundLhs(const char *layer, Contraction &c) noexcept {
  if (c.lhs != MPC_RT_FLOAT32 || (c.rhs != MPC_RT_BFLOAT16 && c.rhs != MPC_RT_FLOAT16))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a lhs of %s is not rounded to a rhs of %s; only float32 is, to bfloat16 or "
                "float16; compile the model again",
                layer, dtypeName(c.lhs), dtypeName(c.rhs));
  c.lhs = c.rhs;
  return MPC_RT_OK;
}

mpc_rt_status_t refuse(const char *layer, const char *what) noexcept {
  return fail(MPC_RT_INVALID_ARGUMENT, "%s: %s; compile the model again", layer, what);
}

// Bits of relu and arguments of gelu: each has its activation.
mpc_rt_status_t takeActivation(const mpc_rt_contract_call_t &call, const char *layer,
                               Contraction &c) noexcept {
  c.makesMask = call.mask != nullptr;
  c.keepsArgument = call.kept != nullptr;
  const bool isMatrix = c.batch == 1 && isFloating(c.out) && !isFloat8(c.lhs);
  if ((call.where != nullptr) != c.readsMask || (c.makesMask && (!c.relu || c.accumulate)) ||
      ((c.makesMask || c.readsMask) && !isMatrix))
    return refuse(layer, "bits of relu are made by one matrix with relu that is added to nothing, "
                         "or read by one with its derivative");
  if ((call.gelu_at != nullptr) != c.geluGradient || (c.keepsArgument && !c.gelu) ||
      ((c.gelu || c.geluGradient) && !isMatrix))
    return refuse(layer, "gelu is of one matrix, its derivative of one that has the arguments and "
                         "keeps none");
  return MPC_RT_OK;
}

mpc_rt_status_t takeSums(const mpc_rt_contract_t &descriptor, const mpc_rt_contract_call_t &call,
                         const char *layer, Contraction &c) noexcept {
  c.sumsColumns = call.sums != nullptr;
  c.roundsSums = descriptor.flags & MPC_RT_CONTRACT_ROUND_SUMS;
  if (!c.sumsColumns)
    return c.roundsSums ? refuse(layer, "sums are rounded, but not made") : MPC_RT_OK;
  if (c.transposeRhs || c.batch != 1 || c.rhs > MPC_RT_FLOAT16)
    return refuse(layer, "columns are summed of one rhs of float32, bfloat16 or float16 that is "
                         "not transposed");
  if (c.roundsSums && c.out != MPC_RT_BFLOAT16 && c.out != MPC_RT_FLOAT16)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: sums are rounded to bfloat16 or float16, not to %s; compile the model again",
                layer, dtypeName(c.out));
  return MPC_RT_OK;
}

mpc_rt_status_t takeScales(const mpc_rt_contract_call_t &call, const char *layer,
                           Contraction &c) noexcept {
  if (!call.scale && !call.zero && !call.places && !call.divisors && !call.blocks)
    return MPC_RT_OK;
  c.unsignedRhs = c.transposeRhs && !c.packedRhs;
  if (c.batch != 1 || c.rhs != MPC_RT_INT8 || c.lhs == MPC_RT_INT8 ||
      (!c.packedRhs && !c.unsignedRhs) || (call.divisors && !c.transposeRhs))
    return refuse(layer, "blocks of weights that are neither packed nor transposed bytes, or "
                         "divisors of weights that are not transposed");
  if (call.blocks < 1 || !call.scale || !call.zero || !call.places)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: blocks of weights with a null operand", layer);
  for (int64_t k = 0; k < c.k; ++k)
    if (!(call.places[k] >= 0 && call.places[k] < static_cast<float>(call.blocks)))
      return fail(MPC_RT_INVALID_ARGUMENT,
                  "%s: row %lld of the weights is in block %g (g_idx), but there are %lld blocks; "
                  "quantize the model again",
                  layer, static_cast<long long>(k), static_cast<double>(call.places[k]),
                  static_cast<long long>(call.blocks));
  return MPC_RT_OK;
}

mpc_rt_status_t checkOperands(const mpc_rt_contract_t &descriptor,
                              const mpc_rt_contract_call_t &call, const char *layer,
                              const Contraction &c) noexcept {
  const bool needsOut = c.outElements() && !(descriptor.flags & MPC_RT_CONTRACT_CONSUMED);
  if ((c.lhsElements() && !call.lhs) || (c.rhsElements() && !call.rhs) || (needsOut && !call.out) ||
      (c.hasBias && c.n && !call.bias))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: contraction with a null operand", layer);
  if (call.largest && c.lhs == MPC_RT_INT8 && c.outElements())
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the largest of int32 is not computed", layer);
  return MPC_RT_OK;
}

} // namespace

mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor,
                                   const mpc_rt_contract_call_t &call,
                                   Contraction &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "contraction";
  if (auto status = checkDescriptor(layer, descriptor))
    return status;
  Contraction c;
  if (auto status = evaluateExtents(descriptor, layer, call.batch, c))
    return status;
  if (auto status = takeDtypes(descriptor, layer, c))
    return status;
  if (auto status = takeFlags(descriptor, layer, call.scale != nullptr, c))
    return status;
  if (c.roundsLhs)
    if (auto status = roundLhs(layer, c))
      return status;
  if (auto status = checkOperands(descriptor, call, layer, c))
    return status;
  if (auto status = takeActivation(call, layer, c))
    return status;
  if (auto status = takeSums(descriptor, call, layer, c))
    return status;
  if (auto status = takeScales(call, layer, c))
    return status;
  if (auto status = checkResultKernel(call, c.out, layer))
    return status;
  result = c;
  return MPC_RT_OK;
}

mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Contraction &result) noexcept {
  return resolveContraction(descriptor,
                            contractCall(lhs, rhs, bias, const_cast<void *>(out), batch), result);
}

} // namespace mpc::rt
