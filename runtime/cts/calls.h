// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a driver's services with the parts that a test is about.
#ifndef MPC_RUNTIME_CTS_CALLS_H
#define MPC_RUNTIME_CTS_CALLS_H

#include "runtime/drivers/driver.h"
#include "runtime/drivers/result_kernel.h"

namespace mpc::rt::cts {

inline mpc_rt_result_kernel_t kernelOf(const ResultKernel &kernel) {
  return {kernel.function, kernel.arguments, kernel.argumentCount, kernel.result, kernel.grain};
}

inline mpc_rt_status_t callContract(Driver &driver, const mpc_rt_contract_t &descriptor,
                                    const void *lhs, const void *rhs, const void *bias, void *out,
                                    void *largest, int64_t batch) {
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, bias, out, batch);
  call.largest = largest;
  return driver.contract(descriptor, call);
}

inline mpc_rt_status_t callContractAndLaunch(Driver &driver, const mpc_rt_contract_t &descriptor,
                                             const void *lhs, const void *rhs, const void *bias,
                                             void *out, const ResultKernel &kernel, int64_t batch) {
  const mpc_rt_result_kernel_t own = kernelOf(kernel);
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, bias, out, batch);
  call.kernel = &own;
  call.requantization = kernel.requantization;
  return driver.contract(descriptor, call);
}

// With `where` its activation is the derivative of relu, else that of the descriptor.
inline mpc_rt_status_t callContractWithBits(Driver &driver, mpc_rt_contract_t descriptor,
                                            const void *lhs, const void *rhs, const void *bias,
                                            const ReluBits &bits, void *out, int64_t batch) {
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, bias, out, batch);
  call.where = bits.where, call.mask = bits.mask;
  if (bits.where)
    descriptor.activation = MPC_RT_ACTIVATION_RELU_GRADIENT;
  return driver.contract(descriptor, call);
}

inline mpc_rt_status_t callContractAndSum(Driver &driver, const mpc_rt_contract_t &descriptor,
                                          const void *lhs, const void *rhs, void *out,
                                          const ContractionExtras &extras, int64_t batch) {
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, /*bias=*/nullptr, out, batch);
  const mpc_rt_result_kernel_t kernel =
      extras.kernel ? kernelOf(*extras.kernel) : mpc_rt_result_kernel_t{};
  call.largest = extras.largest, call.sums = extras.rhsSums;
  call.kernel = extras.kernel ? &kernel : nullptr;
  return driver.contract(descriptor, call);
}

inline mpc_rt_status_t callContractWithGelu(Driver &driver, mpc_rt_contract_t descriptor,
                                            const void *lhs, const void *rhs, const void *bias,
                                            const GeluArguments &gelu, void *out, int64_t batch) {
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, bias, out, batch);
  call.gelu_at = gelu.at, call.kept = gelu.kept;
  descriptor.activation = gelu.at ? MPC_RT_ACTIVATION_GELU_GRADIENT : MPC_RT_ACTIVATION_GELU;
  return driver.contract(descriptor, call);
}

inline mpc_rt_status_t callContractBlocks(Driver &driver, const mpc_rt_contract_t &descriptor,
                                          const void *lhs, const void *rhs,
                                          const BlockScales &blocks, const void *bias, void *out,
                                          int64_t batch) {
  mpc_rt_contract_call_t call = contractCall(lhs, rhs, bias, out, batch);
  call.scale = blocks.scale, call.zero = blocks.zero, call.places = blocks.places;
  call.divisors = blocks.divisors, call.blocks = blocks.count;
  return driver.contract(descriptor, call);
}

inline mpc_rt_status_t callConvolve(Driver &driver, const mpc_rt_convolution_t &descriptor,
                                    const void *lhs, const void *rhs, const void *bias, void *out,
                                    int64_t batch) {
  return driver.convolve(descriptor, convolveCall(lhs, rhs, bias, out, batch));
}

inline mpc_rt_status_t callConvolveAndLaunch(Driver &driver, const mpc_rt_convolution_t &descriptor,
                                             const void *lhs, const void *rhs, const void *bias,
                                             void *out, const ResultKernel &kernel, int64_t batch) {
  const mpc_rt_result_kernel_t own = kernelOf(kernel);
  mpc_rt_convolve_call_t call = convolveCall(lhs, rhs, bias, out, batch);
  call.kernel = &own;
  call.requantization = kernel.requantization;
  return driver.convolve(descriptor, call);
}

inline void setDropout(const AttentionDropout &dropout, mpc_rt_attention_t &descriptor,
                       mpc_rt_attend_call_t &call) {
  descriptor.flags |= dropout.drops ? MPC_RT_ATTENTION_DROPOUT : 0u;
  descriptor.keep_scale = dropout.scale;
  call.kept = dropout.kept;
}

inline mpc_rt_status_t callAttend(Driver &driver, mpc_rt_attention_t descriptor,
                                  const AttentionOperands &o, int64_t batch) {
  mpc_rt_attend_call_t call = {};
  call.struct_size = sizeof call;
  call.batch = batch;
  call.query = o.query, call.key = o.key, call.value = o.value;
  call.out = o.out, call.log_sums = o.logSums, call.mask = o.mask;
  setDropout(o.dropout, descriptor, call);
  return driver.attend(descriptor, call);
}

inline mpc_rt_status_t callAttendGradient(Driver &driver, mpc_rt_attention_t descriptor,
                                          const AttentionGradientOperands &o, int64_t batch) {
  mpc_rt_attend_call_t call = {};
  call.struct_size = sizeof call;
  call.batch = batch;
  call.query = o.query, call.key = o.key, call.value = o.value;
  call.out = const_cast<void *>(o.out), call.log_sums = const_cast<void *>(o.logSums);
  call.mask = o.mask, call.cotangent = o.cotangent;
  call.query_gradient = o.queryGradient, call.key_gradient = o.keyGradient;
  call.value_gradient = o.valueGradient;
  descriptor.flags |= MPC_RT_ATTENTION_GRADIENT;
  setDropout(o.dropout, descriptor, call);
  return driver.attend(descriptor, call);
}

} // namespace mpc::rt::cts

#endif
