// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of attention descriptors, shared by all drivers.
#include "runtime/drivers/attention.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"

#include <cmath>

namespace mpc::rt {
namespace {

// Whether these extents have a product that counts bytes.
bool fits(std::initializer_list<int64_t> extents) {
  int64_t bytes = 8;
  for (int64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return false;
  return true;
}

// Whether there is one where the descriptor wants it, and only there.
bool fitsMask(const mpc_rt_attention_t &descriptor, const uint8_t *mask) {
  return (mask != nullptr) == ((descriptor.flags & MPC_RT_ATTENTION_MASK) != 0);
}

// Dropout needs the bytes of what is kept, and a scale that is not less than 1.
bool fitsDropout(const mpc_rt_attention_t &descriptor, const uint8_t *kept) {
  return descriptor.flags & MPC_RT_ATTENTION_DROPOUT
             ? kept && descriptor.keep_scale >= 1 && std::isfinite(descriptor.keep_scale)
             : !kept;
}

bool fitsGradient(const mpc_rt_attention_t &descriptor, const mpc_rt_attend_call_t &call) {
  return !(descriptor.flags & MPC_RT_ATTENTION_GRADIENT) ||
         (call.cotangent && call.query_gradient && call.key_gradient && call.value_gradient);
}

AttentionDropout dropoutOf(const mpc_rt_attention_t &descriptor, const mpc_rt_attend_call_t &call) {
  if (!(descriptor.flags & MPC_RT_ATTENTION_DROPOUT))
    return {};
  return {call.kept, descriptor.keep_scale, /*drops=*/true};
}

mpc_rt_status_t resolve(const mpc_rt_attention_t &descriptor, int64_t batch, bool hasOperands,
                        Attention &result) {
  const char *layer = descriptor.layer ? descriptor.layer : "attention";
  const bool hasHiddenScore = descriptor.flags & MPC_RT_ATTENTION_HIDDEN_SCORE;
  if (auto status = checkDescriptor(layer, descriptor))
    return status;
  constexpr uint32_t ofMask = MPC_RT_ATTENTION_MASK | MPC_RT_ATTENTION_MASK_OF_SAMPLE |
                              MPC_RT_ATTENTION_MASK_OF_HEAD | MPC_RT_ATTENTION_MASK_OF_TARGET;
  if (descriptor.flags & ~(MPC_RT_ATTENTION_CAUSAL | MPC_RT_ATTENTION_HIDDEN_SCORE |
                           MPC_RT_ATTENTION_DROPOUT | MPC_RT_ATTENTION_GRADIENT | ofMask))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: attention flags %u are newer than this runtime; update libmpcrt", layer,
                descriptor.flags);
  Attention a;
  a.dtype = descriptor.dtype;
  a.causal = (descriptor.flags & MPC_RT_ATTENTION_CAUSAL) != 0;
  a.isGradient = (descriptor.flags & MPC_RT_ATTENTION_GRADIENT) != 0;
  a.mask = descriptor.flags & ofMask;
  if (a.mask && (a.causal || !(a.mask & MPC_RT_ATTENTION_MASK)))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: attention flags %u, which exclude each other; compile the model again", layer,
                descriptor.flags);
  if (hasHiddenScore)
    a.hiddenScore = descriptor.hidden_score;
  if (a.hiddenScore && (!(a.causal || a.mask) || !std::isfinite(*a.hiddenScore)))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: attention that hides nothing with a score, or an infinite one; compile the "
                "model again",
                layer);
  a.targets = descriptor.targets, a.sources = descriptor.sources, a.heads = descriptor.heads;
  a.width = descriptor.width, a.valueWidth = descriptor.value_width;
  a.scale = descriptor.scale;
  if (!isFloating(a.dtype))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: attention of %s; it must be floating", layer,
                dtypeName(a.dtype));
  if (a.targets < 1 || a.sources < 1 || a.heads < 1 || a.width < 1 || a.valueWidth < 1 ||
      !std::isfinite(a.scale))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: attention with extents that are not positive or an infinite scale; compile "
                "the model again",
                layer);
  int64_t scaled;
  if (__builtin_mul_overflow(descriptor.batch.per_sample, batch, &scaled) ||
      __builtin_add_overflow(descriptor.batch.fixed, scaled, &a.batch) || a.batch < 0 ||
      !fits({a.batch, a.targets, a.heads, a.width}) ||
      !fits({a.batch, a.sources, a.heads, a.width}) ||
      !fits({a.batch, a.sources, a.heads, a.valueWidth}) ||
      !fits({a.batch, a.targets, a.heads, a.valueWidth}) ||
      !fits({a.batch, a.targets, a.heads, a.sources}))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: attention extents overflow or are negative with batch %lld; use a smaller "
                "batch",
                layer, static_cast<long long>(batch));
  if (a.batch && !hasOperands)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: attention with a null operand, a mask that its flags do not tell of, or "
                "a dropout that keeps nothing or scales it down",
                layer);
  result = a;
  return MPC_RT_OK;
}

} // namespace

AttentionOperands operandsOf(const mpc_rt_attention_t &descriptor,
                             const mpc_rt_attend_call_t &call) noexcept {
  return {call.query,
          call.key,
          call.value,
          call.out,
          call.log_sums,
          call.mask,
          dropoutOf(descriptor, call)};
}

AttentionGradientOperands gradientOperandsOf(const mpc_rt_attention_t &descriptor,
                                             const mpc_rt_attend_call_t &call) noexcept {
  return {call.cotangent,
          call.out,
          call.log_sums,
          call.query,
          call.key,
          call.value,
          call.query_gradient,
          call.key_gradient,
          call.value_gradient,
          call.mask,
          dropoutOf(descriptor, call)};
}

mpc_rt_status_t resolveAttention(const mpc_rt_attention_t &descriptor,
                                 const mpc_rt_attend_call_t &call, Attention &result) noexcept {
  return resolve(descriptor, call.batch,
                 call.query && call.key && call.value && call.out && call.log_sums &&
                     fitsMask(descriptor, call.mask) && fitsDropout(descriptor, call.kept) &&
                     fitsGradient(descriptor, call),
                 result);
}

} // namespace mpc::rt
