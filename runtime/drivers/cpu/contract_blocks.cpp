// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed weights with scales per block: read as they are stored where tiles of them are kept, else
// dequantized to the type of the left operand.
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/blocking.h"
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>

namespace mpc::rt {

void Contractor::dequantize(const Contraction &c, const int8_t *rhs, const BlockScales *blocks,
                            void *to) {
  if (!c.packedRhs) {
    team.forRange(static_cast<int64_t>(c.rhsElements()), conversionGrain,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      storeElement(c.lhs, to, i, rhs[i]);
                  });
    return;
  }
  const int64_t stored = (c.n + 1) / 2;
  team.forRange(c.k, std::max<int64_t>(conversionGrain / c.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t n = 0; n < c.n; ++n) {
        const int byte = rhs[k * stored + n / 2];
        double number = n % 2 ? byte >> 4 : ((byte & 15) ^ 8) - 8;
        if (blocks) {
          const int64_t place = blocks->blockOf(k) * c.n + n;
          number = (number - blocks->zero[place]) * loadElement(c.lhs, blocks->scale, place);
        }
        storeElement(c.lhs, to, k * c.n + n, number);
      }
  });
}

mpc_rt_status_t Contractor::contractCopy(const mpc_rt_contract_t &descriptor,
                                         const Contraction &shape, const void *lhs, const void *rhs,
                                         const BlockScales *blocks, const void *bias, void *out,
                                         void *largest, int64_t batch, const ResultKernel *kernel) {
  PackedWeights &copy = dequantized[{descriptor.rhs_variable, shape.lhs}];
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  if (!keep || copy.keptVersion != weightVersion) {
    reserve(copy.buffer, shape.rhsElements() * dtypeSize(shape.lhs));
    copy.keptVersion = 0;
    dequantize(shape, static_cast<const int8_t *>(rhs), blocks, copy.buffer.data());
    if (keep)
      copy.keptVersion = weightVersion;
  }
  mpc_rt_contract_t wide = descriptor;
  wide.rhs_dtype = descriptor.lhs_dtype;
  wide.flags &= ~static_cast<uint32_t>(MPC_RT_CONTRACT_PACKED_RHS);
  return contract(wide, lhs, copy.buffer.data(), bias, out, largest, batch, kernel);
}

mpc_rt_status_t Contractor::contractBlocks(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *rhs, const BlockScales &blocks,
                                           const void *bias, void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveBlocks(descriptor, lhs, rhs, blocks, bias, out, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  if (readsTiles(descriptor, shape)) {
    contractTiles(descriptor, shape, lhs, rhs, &blocks, bias, out);
    list(descriptor, shape, batch, "integer_blocks");
    return MPC_RT_OK;
  }
  return contractCopy(descriptor, shape, lhs, rhs, &blocks, bias, out, /*largest=*/nullptr, batch,
                      /*kernel=*/nullptr);
}

} // namespace mpc::rt
