// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batch assembly.
#include "data/gather.h"

#include "data/convert.h"

namespace mpc::data {

static int64_t elementsPerRow(const Column &column) {
  int64_t count = 1;
  for (int64_t dim : column.spec.dims)
    count *= dim;
  return count;
}

size_t rowBytes(const Column &column) {
  return static_cast<size_t>(elementsPerRow(column)) * dtypeInfo(column.spec.dtype)->bytes;
}

/// float32(byte) / divisor, one IEEE division per value, then to the tensor's type.
static void scaleBytes(const uint8_t *from, int64_t count, float divisor, void *to,
                       mpc_rt_dtype_t dtype) {
  constexpr int64_t block = 1024;
  float scaled[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t part = std::min(block, count - begin);
    for (int64_t i = 0; i < part; ++i)
      scaled[i] = static_cast<float>(from[begin + i]) / divisor;
    convertElements(scaled, MPC_RT_FLOAT32,
                    static_cast<uint8_t *>(to) +
                        static_cast<size_t>(begin) * dtypeInfo(dtype)->bytes,
                    dtype, part, Conversion::ThroughFloat32);
  }
}

void gatherRows(const Column &column, const int64_t *rows, int64_t count, void *out) {
  int64_t perRow = elementsPerRow(column);
  size_t sourceRow = static_cast<size_t>(perRow) * dtypeInfo(column.array.dtype())->bytes;
  size_t targetRow = rowBytes(column);
  uint8_t *target = static_cast<uint8_t *>(out);
  for (int64_t i = 0; i < count;) {
    // Neighbouring rows go in one piece: without shuffling a batch is one conversion.
    int64_t run = 1;
    while (i + run < count && rows[i + run] == rows[i] + run)
      ++run;
    const uint8_t *from =
        column.array.data() + static_cast<size_t>(column.firstRow + rows[i]) * sourceRow;
    if (column.divisor != 0)
      scaleBytes(from, perRow * run, column.divisor, target, column.spec.dtype);
    else
      convertElements(from, column.array.dtype(), target, column.spec.dtype, perRow * run,
                      Conversion::ThroughFloat32);
    target += static_cast<size_t>(run) * targetRow;
    i += run;
  }
}

} // namespace mpc::data
