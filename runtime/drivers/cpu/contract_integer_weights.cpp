// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating rows by integer weights, with scales per block or none: by the tiles that are kept of
// them, else by a copy in the type of the left operand.
#include "runtime/drivers/cpu/contractor.h"

namespace mpc::rt {

void Contractor::contractTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                               const void *lhs, const void *rhs, const BlockScales *blocks,
                               const void *bias, void *out) {
  const float *wideBias = prepareBias(c, bias);
  if (c.out != MPC_RT_FLOAT32)
    reserve(sumBlock, c.outElements() * sizeof(float));
  auto *sums = static_cast<float *>(c.out == MPC_RT_FLOAT32 ? out : sumBlock.data());
  integerWeights.multiply(descriptor, c, lhs, rhs, blocks, sums);
  if (c.out != MPC_RT_FLOAT32 || c.hasBias || c.relu)
    applyEpilogue(c, sums, wideBias, out, c.m);
}

mpc_rt_status_t Contractor::contractCopy(const mpc_rt_contract_t &descriptor,
                                         const Contraction &shape, const void *lhs, const void *rhs,
                                         const BlockScales *blocks, const void *bias, void *out,
                                         const ContractionExtras &extras, int64_t batch) {
  const void *copy = integerWeights.findCopy(descriptor, shape, rhs, blocks);
  mpc_rt_contract_t wide = descriptor;
  wide.rhs_dtype = descriptor.lhs_dtype;
  wide.flags &= ~static_cast<uint32_t>(MPC_RT_CONTRACT_PACKED_RHS | MPC_RT_CONTRACT_TRANSPOSE_RHS);
  return contract(wide, lhs, copy, bias, out, extras, batch);
}

mpc_rt_status_t Contractor::contractBlocks(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *rhs, const BlockScales &blocks,
                                           const void *bias, void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveBlocks(descriptor, lhs, rhs, blocks, bias, out, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  if (shape.unsignedRhs && state.keeps(descriptor))
    shape.packedRhs = integerWeights.haveFourBits(descriptor, shape, rhs);
  if (shape.packedRhs && integerWeights.readsTiles(descriptor, shape, &blocks)) {
    contractTiles(descriptor, shape, lhs, rhs, &blocks, bias, out);
    list(descriptor, shape, batch, "integer_blocks");
    return MPC_RT_OK;
  }
  return contractCopy(descriptor, shape, lhs, rhs, &blocks, bias, out, /*extras=*/{}, batch);
}

} // namespace mpc::rt
