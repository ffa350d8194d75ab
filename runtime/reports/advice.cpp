// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/advice.h"

namespace mpc::reports {
namespace {

/// `"policy_map": {"dense": "float32"}`: what --policy takes.
std::string inFloat32(const std::string &layer) {
  return "compute this layer in float32: put \"" + layer +
         "\": \"float32\" into the \"policy_map\" of --policy's JSON file";
}

std::string ofData(const TracedValue &value) {
  return "the data have infinite or missing numbers in '" + value.layer +
         "'; clean or scale them before the model";
}

std::string againstOverflow(const TracedValue &value, bool hasLossScale) {
  if (value.dtype == MPC_RT_FLOAT32 || value.dtype == MPC_RT_FLOAT64)
    return "float32 overflows, too: a lower learning rate, clipped gradients (clipnorm), or a "
           "normalization in front of '" +
           value.layer + "' keep numbers small";
  if (value.direction == MPC_RT_TRACE_OPTIMIZER)
    return "keep this variable in float32: a policy mixed_float16 in place of float16";
  if (value.direction == MPC_RT_TRACE_BACKWARD)
    return (hasLossScale
                ? std::string("a smaller initial loss scale (--loss-scale=dynamic:1024:2000)"
                              ", or ")
                : std::string()) +
           inFloat32(value.layer) + ", or use bfloat16, which has float32's range";
  if (value.op == "reduce" || value.op == "moments")
    return "the sum is larger than the format's largest number: " + inFloat32(value.layer) +
           ", or take a mean of fewer elements";
  return inFloat32(value.layer) +
         ", use bfloat16, which has float32's range, or normalize (LayerNormalization) in front "
         "of it; a mask of -1e9 must be -3e4 in float16";
}

std::string againstUnderflow(const TracedValue &value, bool hasLossScale) {
  switch (value.direction) {
  case MPC_RT_TRACE_BACKWARD:
    return hasLossScale ? "a larger initial loss scale (--loss-scale=dynamic:16777216:2000), or " +
                              inFloat32(value.layer)
                        : "scale the loss (--loss-scale=dynamic:32768:2000), or " +
                              inFloat32(value.layer) + ", or use bfloat16";
  case MPC_RT_TRACE_OPTIMIZER:
    return "the variable's format is too coarse for its updates: keep it in float32 (mixed_float16 "
           "or mixed_bfloat16 in place of float16 or bfloat16), or raise the learning rate";
  default:
    return inFloat32(value.layer) +
           ", or scale its values up; an epsilon below 6e-8 is 0 in float16";
  }
}

} // namespace

std::string advise(const std::vector<TracedValue> &values, const Fault &fault, bool hasLossScale) {
  const TracedValue &value = values[fault.value];
  if (value.op == "input")
    return ofData(value);
  switch (fault.kind) {
  case FaultKind::Overflow:
    return againstOverflow(value, hasLossScale);
  case FaultKind::Underflow:
    return againstUnderflow(value, hasLossScale);
  case FaultKind::Division:
    return "the divisor has zeros: add an epsilon that the format holds (float16: 1e-4), or " +
           inFloat32(value.layer);
  case FaultKind::NotANumber:
    return "operands lie outside of what the op is defined for; clip them, or " +
           inFloat32(value.layer);
  case FaultKind::Cancellation:
    return "nearly equal numbers are subtracted: " + inFloat32(value.layer);
  }
  return "";
}

} // namespace mpc::reports
