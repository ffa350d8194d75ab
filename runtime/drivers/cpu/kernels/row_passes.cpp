// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/row_passes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

void widenElements(ThreadTeam &team, const VectorKernels &kernels, mpc_rt_dtype_t dtype,
                   const void *from, float *to, int64_t count) {
  team.forRange(count, conversionGrain, [&](int64_t begin, int64_t end) {
    auto length = static_cast<size_t>(end - begin);
    if (dtype == MPC_RT_FLOAT32)
      std::memcpy(to + begin, static_cast<const float *>(from) + begin, length * sizeof(float));
    else
      (dtype == MPC_RT_BFLOAT16 ? kernels.widenBFloat16 : kernels.widenFloat16)(
          static_cast<const uint16_t *>(from) + begin, to + begin, length);
  });
}

namespace {

// `run` on the elements of each row, or on more of them where rows do not matter.
template <typename Run>
void forEachRow(ThreadTeam &team, bool rowsMatter, int64_t rows, int64_t columns, const Run &run) {
  if (!rowsMatter)
    return team.forRange(rows * columns, conversionGrain, run);
  team.forRange(rows, std::max<int64_t>(conversionGrain / columns, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t m = begin; m < end; ++m)
                    run(m * columns, (m + 1) * columns);
                });
}

} // namespace

void applyToRows(ThreadTeam &team, EpilogueRow row, const float *sums, const float *bias,
                 mpc_rt_dtype_t dtype, void *out, int64_t rows, int64_t columns) {
  forEachRow(team, bias != nullptr, rows, columns, [&](int64_t begin, int64_t end) {
    row(sums + begin, bias, const_cast<uint8_t *>(at(out, begin, dtype)),
        static_cast<size_t>(end - begin));
  });
}

void finishBFloat16Rows(ThreadTeam &team, const VectorKernels &kernels, uint32_t flags,
                        const float *bias, void *out, int64_t rows, int64_t columns) {
  const FinishRow finish = kernels.finishBFloat16[flags];
  if (!finish)
    return;
  forEachRow(team, bias != nullptr, rows, columns, [&](int64_t begin, int64_t end) {
    finish(bias, const_cast<uint8_t *>(at(out, begin, MPC_RT_BFLOAT16)),
           static_cast<size_t>(end - begin));
  });
}

} // namespace mpc::rt
