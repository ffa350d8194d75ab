// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"

namespace mpc::rt {
namespace {

int32_t attend(void *context, const mpc_rt_attention_t *descriptor, int64_t batch,
               const AttentionOperands &operands) {
  return guard(descriptor->layer ? descriptor->layer : "attention", [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->attend(*descriptor, operands, batch);
  });
}

int32_t runAttend(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                  const void *key, const void *value, void *out, void *logSums, int64_t batch) {
  return attend(context, descriptor, batch, {query, key, value, out, logSums});
}

int32_t runAttendMasked(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                        const void *key, const void *value, void *out, void *logSums,
                        const uint8_t *mask, int64_t batch) {
  return attend(context, descriptor, batch, {query, key, value, out, logSums, mask});
}

int32_t runAttendDropped(void *context, const mpc_rt_attention_t *descriptor, const void *query,
                         const void *key, const void *value, void *out, void *logSums,
                         const uint8_t *mask, const uint8_t *kept, double keepScale,
                         int64_t batch) {
  return attend(context, descriptor, batch,
                {query, key, value, out, logSums, mask, {kept, keepScale, /*drops=*/true}});
}

int32_t attendGradient(void *context, const mpc_rt_attention_t *descriptor, int64_t batch,
                       const AttentionGradientOperands &operands) {
  return guard(descriptor->layer ? descriptor->layer : "attention", [&] {
    return static_cast<mpc_rt_context_t *>(context)->driver->attendGradient(*descriptor, operands,
                                                                            batch);
  });
}

int32_t runAttendGradient(void *context, const mpc_rt_attention_t *descriptor,
                          const void *cotangent, const void *out, const void *logSums,
                          const void *query, const void *key, const void *value,
                          void *queryGradient, void *keyGradient, void *valueGradient,
                          int64_t batch) {
  return attendGradient(
      context, descriptor, batch,
      {cotangent, out, logSums, query, key, value, queryGradient, keyGradient, valueGradient});
}

int32_t runAttendMaskedGradient(void *context, const mpc_rt_attention_t *descriptor,
                                const void *cotangent, const void *out, const void *logSums,
                                const void *query, const void *key, const void *value,
                                void *queryGradient, void *keyGradient, void *valueGradient,
                                const uint8_t *mask, int64_t batch) {
  return attendGradient(context, descriptor, batch,
                        {cotangent, out, logSums, query, key, value, queryGradient, keyGradient,
                         valueGradient, mask});
}

int32_t runAttendDroppedGradient(void *context, const mpc_rt_attention_t *descriptor,
                                 const void *cotangent, const void *out, const void *logSums,
                                 const void *query, const void *key, const void *value,
                                 void *queryGradient, void *keyGradient, void *valueGradient,
                                 const uint8_t *mask, const uint8_t *kept, double keepScale,
                                 int64_t batch) {
  return attendGradient(context, descriptor, batch,
                        {cotangent,
                         out,
                         logSums,
                         query,
                         key,
                         value,
                         queryGradient,
                         keyGradient,
                         valueGradient,
                         mask,
                         {kept, keepScale, /*drops=*/true}});
}

} // namespace

void setAttention(mpc_rt_services_t &services) noexcept {
  services.attend = runAttend;
  services.attend_gradient = runAttendGradient;
  services.attend_masked = runAttendMasked;
  services.attend_masked_gradient = runAttendMaskedGradient;
  services.attend_dropped = runAttendDropped;
  services.attend_dropped_gradient = runAttendDroppedGradient;
}

} // namespace mpc::rt
