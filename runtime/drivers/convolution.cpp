// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of convolution descriptors, shared by all drivers.
#include "runtime/drivers/convolution.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/call_struct.h"
#include "runtime/drivers/result_kernel.h"
#include "runtime/rules/integer_windows.h"

namespace mpc::rt {
namespace {

// A number of a window above this has no use, and two of them multiply without overflow.
constexpr int64_t mostExtent = int64_t{1} << 31;

// Whether a buffer of these extents has a size in bytes.
bool fits(int64_t batch, const Convolution::Extents &extents, int64_t last) {
  int64_t bytes = 8;
  for (int64_t factor : {batch, extents[0], extents[1], extents[2], last})
    if (__builtin_mul_overflow(bytes, factor, &bytes))
      return false;
  return true;
}

// "" or what disagrees.
const char *checkWindow(const Convolution &c) {
  if (c.groups < 1 || c.channels < 1 || c.filters < 1 || c.groups > mostExtent ||
      c.channels > mostExtent || c.filters > mostExtent || c.channels % c.groups != 0 ||
      c.filters % c.groups != 0)
    return "channels, filters and groups disagree";
  for (size_t d = 0; d < MPC_RT_MAX_SPATIAL; ++d) {
    int64_t numbers[] = {c.images[d],    c.kernel[d],  c.outputs[d], c.strides[d],
                         c.dilations[d], c.low[d] + 1, c.high[d] + 1};
    for (int64_t number : numbers)
      if (number < 1 || number > mostExtent)
        return "extents are not positive or too large";
    int64_t room = c.images[d] + c.low[d] + c.high[d];
    int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    if (reach > room || (room - reach) / c.strides[d] + 1 != c.outputs[d])
      return "extents disagree with the window";
  }
  return "";
}

// Integers have sums in int32 of a forward convolution.
bool areIntegers(const Convolution &c, int32_t border) {
  return c.lhs == MPC_RT_INT8 && c.rhs == MPC_RT_INT8 && c.out == MPC_RT_INT32 &&
         c.direction == MPC_RT_CONVOLUTION_FORWARD && !c.hasBias && !c.relu && border >= INT8_MIN &&
         border <= INT8_MAX;
}

bool areFloating(const Convolution &c, int32_t border) {
  return isFloating(c.lhs) && isFloating(c.rhs) && isFloating(c.out) && isFloating(c.bias) &&
         border == 0;
}

} // namespace

mpc_rt_status_t resolveConvolution(const mpc_rt_convolution_t &descriptor,
                                   const mpc_rt_convolve_call_t &call,
                                   Convolution &result) noexcept {
  const char *layer = descriptor.layer ? descriptor.layer : "convolution";
  if (auto status = checkDescriptor(layer, descriptor))
    return status;
  if (descriptor.direction > MPC_RT_CONVOLUTION_FILTER_GRADIENT ||
      descriptor.activation > MPC_RT_ACTIVATION_RELU)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: convolution direction %u, activation %u are newer than this runtime; update "
                "libmpcrt",
                layer, descriptor.direction, descriptor.activation);
  if (descriptor.spatial_rank < 1 || descriptor.spatial_rank > MPC_RT_MAX_SPATIAL)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: convolution of %u spatial dimensions; expected 1 to %u", layer,
                descriptor.spatial_rank, unsigned{MPC_RT_MAX_SPATIAL});
  Convolution c;
  c.direction = static_cast<mpc_rt_convolution_direction_t>(descriptor.direction);
  c.lhs = descriptor.lhs_dtype;
  c.rhs = descriptor.rhs_dtype;
  c.out = descriptor.out_dtype;
  c.hasBias = descriptor.has_bias != 0;
  c.bias = c.hasBias ? descriptor.bias_dtype : c.out;
  c.relu = descriptor.activation == MPC_RT_ACTIVATION_RELU;
  c.groups = descriptor.groups;
  if (!areIntegers(c, descriptor.border) && !areFloating(c, descriptor.border))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: convolution of %s by %s to %s (bias %s), border %d; all must be floating and "
                "the border 0, or int8 to int32, forward, without bias and activation",
                layer, dtypeName(c.lhs), dtypeName(c.rhs), dtypeName(c.out), dtypeName(c.bias),
                descriptor.border);
  c.border = static_cast<int8_t>(descriptor.border);
  if (c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT && (c.hasBias || c.relu))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the gradient of a filter has no bias and activation",
                layer);
  c.channels = descriptor.channels;
  c.filters = descriptor.filters;
  c.spatial = descriptor.spatial_rank;
  c.images = c.kernel = c.outputs = c.strides = c.dilations = {1, 1, 1};
  for (uint32_t d = 0; d < c.spatial; ++d) {
    size_t to = MPC_RT_MAX_SPATIAL - c.spatial + d;
    c.images[to] = descriptor.images[d];
    c.kernel[to] = descriptor.kernel[d];
    c.outputs[to] = descriptor.outputs[d];
    c.strides[to] = descriptor.strides[d];
    c.dilations[to] = descriptor.dilations[d];
    c.low[to] = descriptor.padding_low[d];
    c.high[to] = descriptor.padding_high[d];
  }
  if (const char *problem = checkWindow(c); *problem)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: convolution %s; compile the model again", layer,
                problem);
  if (c.isInteger() && !rules::areIntegerGroups(c.groups, c.channels, c.filters, c.spatial,
                                                Convolution::product(c.kernel)))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: convolution of int8 in %lld groups; expected one, or one filter of one or two "
                "dimensions and at most %lld elements for each channel",
                layer, static_cast<long long>(c.groups),
                static_cast<long long>(rules::mostIntegerTaps));
  int64_t scaled;
  if (__builtin_mul_overflow(descriptor.batch.per_sample, call.batch, &scaled) ||
      __builtin_add_overflow(descriptor.batch.fixed, scaled, &c.batch) || c.batch < 0 ||
      !fits(c.batch, c.images, c.channels) || !fits(c.batch, c.outputs, c.filters) ||
      !fits(c.channels, c.kernel, c.filters))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: convolution extents overflow or are negative with batch %lld; use a smaller "
                "batch",
                layer, static_cast<long long>(call.batch));
  if ((c.lhsElements() && !call.lhs) || (c.rhsElements() && !call.rhs) ||
      (c.outElements() && !call.out && !call.kernel) || (c.hasBias && !call.bias))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: convolution with a null operand", layer);
  if (call.kernel && c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: a kernel on the gradient of a filter", layer);
  if (auto status = checkResultKernel(call, c.out, layer))
    return status;
  result = c;
  return MPC_RT_OK;
}

mpc_rt_status_t resolveConvolution(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Convolution &result) noexcept {
  return resolveConvolution(descriptor,
                            convolveCall(lhs, rhs, bias, const_cast<void *>(out), batch), result);
}

} // namespace mpc::rt
